import type { AgentControl } from './agent.ts'
import type { Judge } from './decision.ts'
import type { DefinitionIssue } from './definition.ts'
import type { RunFact } from './event.ts'
import type { JsonSchema } from './json.ts'
import type { DataMark, Message, Opaque, ToolCall } from './message.ts'
import type { ModelFinish, ModelRequest } from './model.ts'
import type { ProgramCalls } from './program.ts'
import type { Citation } from './provider-tool.ts'
import type { RunRequest } from './run.ts'
import type { ToolDefinition } from './tool-definition.ts'
import type { Progress, Tool, ToolFault, ToolOutcome, ToolRequest } from './tool.ts'
import type { Usage } from './usage.ts'

/** A complete answer of the model. */
export interface StepAnswer {
  readonly text: string
  readonly reasoning?: string
  readonly calls: readonly ToolCall[]
  readonly finish: ModelFinish
  /** The text of the request's `stop` at which the model stopped, where the provider tells. */
  readonly stopSequence?: string
  readonly usage?: Usage
  readonly opaque?: Opaque
  readonly citations?: readonly Citation[]
}

/** Tools of a step: names, and tools that the hook itself brings. */
export type ActiveTools = readonly (string | Tool)[]

/** What a hook is told about the run around it. */
export interface HookContext {
  readonly run: RunRequest
  /** The number of the current step, from 1; 0 before the first step. */
  readonly step: number
  /** The messages of the run so far: its input, answers and results. */
  readonly messages: readonly Message[]
  /** The messages of earlier turns that the model sees. */
  readonly history: readonly Message[]
  /** The marks of all data that the model has read, in this run or before it. */
  readonly marks: ReadonlySet<DataMark>
  /** Aborts when the run is cancelled or out of time. */
  readonly signal: AbortSignal
}

/** What a hook is told about the step around it. */
export interface StepContext extends HookContext {
  /** The edge's tools in the run, by name. */
  readonly offered: ReadonlyMap<string, ToolDefinition>
  /** Those of them that joined the run after its start, such as tools that a search has found. */
  readonly added: ReadonlySet<string>
  /** The tools that were on offer when earlier messages were last left out; empty if none were, or all tools were on offer. */
  readonly earlierTools: readonly string[]
  /** Finds tools by name that may join the run. */
  readonly find: (names: readonly string[]) => Promise<readonly Tool[]>
}

/**
 * A set of functions around the loop, for guards, advisors, tool providers and observers. Each is optional. Hooks are
 * ordered: the first is outermost. Their decisions are journalled, so a resumed run asks them again only about what was
 * not decided yet. A hook that throws fails the run with the code `hook_failed`; only operators see its error.
 */
export interface Hook {
  readonly name: string
  /**
   * Runs once, before a run is accepted, and returns the request to use. A string refuses the run: the caller gets it
   * in a 403 with the code `refused`, and nothing is stored.
   */
  accept?(request: RunRequest): RunRequest | string | Promise<RunRequest | string>
  /** Runs once per run and returns names of further tools to offer. Names that no source knows are left out. */
  offer?(request: RunRequest): readonly string[] | Promise<readonly string[]>
  /** The names of the tools that `activate` itself brings, which the limits of a request may name. Default: none. */
  readonly brings?: readonly string[]
  /**
   * Chooses the tools of the next step from those on offer. It may leave some out, or add others, which then join the
   * run: by a name that a source knows, or as a tool of its own. An empty list offers none.
   */
  activate?(names: readonly string[], context: StepContext): ActiveTools | Promise<ActiveTools>
  /** Wraps the run from its start, or from where it was resumed, until it ends or waits. Without `next` it fails. */
  run?(next: () => Promise<void>, context: HookContext): Promise<void>
  /**
   * Wraps a model call: may change the request or the answer, or ask again. Readers have seen the text of the answer by
   * then; if the model is asked again, they are told to drop it. `next` rejects if the model fails.
   */
  step?(
    request: ModelRequest,
    next: (request: ModelRequest) => Promise<StepAnswer>,
    context: HookContext,
  ): Promise<StepAnswer>
  /**
   * Wraps a tool call: may change its arguments, replace its outcome, or refuse it with an outcome of its own without
   * calling `next`. `next` never rejects.
   */
  call?(
    request: ToolRequest,
    next: (request: ToolRequest) => Promise<ToolOutcome>,
    context: HookContext & { readonly definition: ToolDefinition },
  ): Promise<ToolOutcome>
}

/** How one call is performed. */
export interface ExecuteOptions {
  /** Aborts when the run is cancelled or out of time. */
  readonly signal: AbortSignal
  /** In milliseconds. */
  readonly timeoutMs: number
  /** The most bytes of the result that are kept. */
  readonly resultBytes: number
  readonly progress: (progress: Progress) => void
  /** Receives an outcome that came after the call was given up. */
  readonly onLate?: (outcome: ToolOutcome) => void
  /** The calls that the tool can make in the run, if it is one with `makesCalls`. */
  readonly calls?: ProgramCalls
  /** Starts the run of an agent, if the tool is one with `startsRuns` in a run that is stored. */
  readonly startRun?: AgentControl['startRun']
}

/** A failed call, as `onFault` receives it. */
export interface CallFault extends ToolFault {
  readonly callId: string
  readonly tool: string
  /** The JSON text that the model wrote. */
  readonly arguments: string
}

/** Receives the facts of runs, for logs, traces and metrics. */
export type Observer = (event: RunFact, run: RunRequest) => void

/**
 * What an application may replace in the loop. An error thrown here fails the run, as one thrown by a hook does; one
 * thrown by `onFault` is also the outcome of its call.
 */
export interface LoopSetup {
  readonly hooks?: readonly Hook[]
  /** Performs one call. Contract: never rejects. Default: `execute` of `host/execute.ts`. */
  readonly execute?: (tool: Tool, request: ToolRequest, options: ExecuteOptions) => Promise<ToolOutcome>
  /**
   * Decides what becomes of a failed call, by its `code`: `unknown_tool`, `invalid_arguments`, `timeout`, or any of a
   * tool's own. A `message` is what the model reads instead, and the run continues, also where `compat` would fail it;
   * `fatal` fails the run with the message; undefined changes nothing.
   */
  readonly onFault?: (fault: CallFault) => { readonly message?: string; readonly fatal?: boolean } | undefined
  /** Whether a person must approve a call, by its arguments or its caller. A definition's own demand always holds. */
  readonly needsApproval?: (call: ToolCall, definition: ToolDefinition, run: RunRequest) => boolean
  /** Judges calls that a decision model may approve in a person's place. Default: a person is asked about each. */
  readonly judge?: Judge
  /** Whether the edge runs the calls of an answer, rather than the caller. Default: as the request says. */
  readonly runsCalls?: (answer: StepAnswer, request: RunRequest) => boolean
  /**
   * Receives the facts of a run once they are stored, each once and in order, but no deltas and no progress. An error
   * it throws is reported, and stops nothing.
   */
  readonly observe?: Observer
  /** Returns what is wrong with a structured answer; empty if it is valid. Default: answers are not checked. */
  readonly validate?: (schema: JsonSchema, value: unknown) => Promise<readonly DefinitionIssue[]>
}

/** Why a request may not run: what a hook has answered. */
export interface HookRefusal {
  /** The name of the hook. */
  readonly hook: string
  readonly refusal: string
}

/** Passes a request through the hooks, each of which may change it, until one refuses it. */
export async function acceptRequest(
  hooks: readonly Hook[] = [],
  request: RunRequest,
): Promise<RunRequest | HookRefusal> {
  let run = request
  for (const hook of hooks) {
    const next = await hook.accept?.(run)
    if (typeof next === 'string') return { hook: hook.name, refusal: next }
    if (next) run = next
  }
  return run
}
