import {
  type Deferral,
  type Progress,
  type ToolContext,
  type ToolControl,
  type ToolRequest,
  type ToolFailure,
  failure,
} from '../contract/tool.ts'
import { controlSignal } from '../contract/time-limit.ts'

/** The second argument of a tool's `run`: the context of the call, and what only the tool's own Worker can give. */
export interface RunContext<Env = unknown> extends ToolContext {
  /** The bindings and variables of the tool's own Worker. */
  readonly env: Env
  /** Aborts when the outcome is no longer wanted: the run was cancelled, or the call's time is up. */
  readonly signal: AbortSignal
  /** Tells readers of the run how far the call is. Never fails, and never reaches a model. */
  readonly progress: (progress: Progress | string) => void
  /**
   * Makes the answer of a call whose result comes later, for a tool with `later: true` or `poll`: `return
   * context.later({ within: 600_000 })`. The run waits for it, in a conversation; elsewhere the call fails.
   */
  readonly later: (deferral: Deferral) => Later
}

/** Makes the context that `run` gets for a request. */
export function runContext<Env>({ context }: ToolRequest, env: Env, control?: ToolControl): RunContext<Env> {
  let signal: AbortSignal | undefined
  return {
    ...context,
    env,
    // Made when it is first read: it asks the host, which most tools never need.
    get signal() {
      return (signal ??= controlSignal(control))
    },
    later: (deferral) => new Later(deferral),
    progress: (news) => {
      // If this fails, the host is gone, and no reader is left to tell.
      control?.progress(typeof news === 'string' ? { message: news } : news).catch(() => {})
    },
  }
}

/** What a tool returns instead of a result that comes later; made by `context.later(…)`. */
export class Later {
  readonly deferral: Deferral

  constructor(deferral: Deferral) {
    const { within, poll } = deferral
    if (!(within > 0 && (poll === undefined || poll > 0))) {
      throw new TypeError('context.later() needs { within }, in milliseconds above 0; so is `poll`')
    }
    this.deferral = deferral
  }
}

/** Returns the outcome of a call whose result comes later. */
export function laterOutcome({ deferral }: Later): ToolFailure {
  const message = 'The result comes later, and nobody can wait for it here. Do not call the tool again.'
  return { ...failure('later', message), later: deferral }
}
