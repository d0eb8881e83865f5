import type { Compat } from '../contract/run.ts'
import type { Caller, Progress, ToolContext, ToolControl, ToolRequest } from '../contract/tool.ts'
import { signalOf } from './control.ts'

/** What `run` gets beside its input. */
export interface RunContext<Env = unknown> {
  /** The bindings and variables of the tool's own Worker. */
  readonly env: Env
  /** Aborts when nobody wants the outcome any more: the run was cancelled, or the call's time is up. */
  readonly signal: AbortSignal
  /** Tells readers of the run how far the call is. Never fails, and never reaches a model. */
  readonly progress: (progress: Progress | string) => void
  /** The tool context of the request, such as `{ tenantId, timeZone }`. Its values come from the caller: check them. */
  readonly values: Readonly<Record<string, unknown>>
  /** What the edge's own setup says; no caller can send or change it. */
  readonly trusted?: Readonly<Record<string, unknown>>
  /** What the model saw before this call, for a tool with `history: true`. */
  readonly history?: NonNullable<ToolContext['history']>
  /** Whose way to write results the run asks for; seen to where they are written. */
  readonly compat?: Compat
  /** Whose key asked; verified by the edge. */
  readonly caller: Caller
  readonly conversationId?: string
  readonly runId: string
  readonly callId: string
  /** The same for every attempt at this call: keep it beside an effect so that the effect happens once. */
  readonly idempotencyKey: string
  readonly attempt: number
  /** Epoch milliseconds after which nobody waits for the outcome. */
  readonly deadline: number
}

/** What `run` gets for a request. */
export function runContext<Env>({ context }: ToolRequest, env: Env, control?: ToolControl): RunContext<Env> {
  return {
    ...context,
    env,
    signal: signalOf(control),
    progress: (news) => {
      // Nobody is left to be told where the host is gone.
      control?.progress(typeof news === 'string' ? { message: news } : news).catch(() => {})
    },
  }
}
