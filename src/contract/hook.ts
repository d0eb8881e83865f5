import type { DefinitionIssue } from './definition.ts'
import type { RunFact } from './event.ts'
import type { JsonSchema } from './json.ts'
import type { Message, Opaque, ToolCall } from './message.ts'
import type { ModelFinish, ModelRequest } from './model.ts'
import type { RunRequest } from './run.ts'
import type { Progress, Tool, ToolDefinition, ToolFault, ToolOutcome, ToolRequest } from './tool.ts'
import type { Usage } from './usage.ts'

/** A whole answer of the model. */
export interface StepAnswer {
  readonly text: string
  readonly reasoning?: string
  readonly calls: readonly ToolCall[]
  readonly finish: ModelFinish
  readonly usage?: Usage
  readonly opaque?: Opaque
}

export type ActiveTools = readonly (string | Tool)[]

/** Where in a run a hook stands. */
export interface HookContext {
  readonly run: RunRequest
  /** From 1; 0 before the first. */
  readonly step: number
  /** What the run has seen and said so far. */
  readonly messages: readonly Message[]
  /** What the model sees of earlier turns. */
  readonly history: readonly Message[]
  /** Aborts when the run is cancelled or out of time. */
  readonly signal: AbortSignal
}

export interface StepContext extends HookContext {
  /** The edge's tools in the run, by name. */
  readonly offered: ReadonlyMap<string, ToolDefinition>
  /** The tools of these names that may join the run. */
  readonly find: (names: readonly string[]) => Promise<readonly Tool[]>
}

/**
 * What stands around the loop: guards, advisors, providers, observers. Each part is optional. Hooks are ordered: the
 * first is outermost. What they decide is journalled, so a resumed run asks them again only about what had not been
 * decided. One that throws fails the run with the code `hook_failed`; its error goes to operators alone.
 */
export interface Hook {
  readonly name: string
  /**
   * Before a run is accepted, once: gives the request as it shall be. A text refuses it: its caller reads that in a 403
   * with the code `refused`, and nothing is stored.
   */
  accept?(request: RunRequest): RunRequest | string | Promise<RunRequest | string>
  /** Names of further tools for a run, once: the provider of a request. Names that no source knows are left out. */
  offer?(request: RunRequest): readonly string[] | Promise<readonly string[]>
  /**
   * Which tools are on offer in the next step, of those that are: fewer, or others, which then join the run: by a name
   * that a source knows, or as a tool of the hook's own. An empty list offers none.
   */
  activate?(names: readonly string[], context: StepContext): ActiveTools | Promise<ActiveTools>
  /** Around the run, from its start, or from where it was resumed, until it ends or waits. One without `next` fails it. */
  run?(next: () => Promise<void>, context: HookContext): Promise<void>
  /**
   * Around a model call: may change the request, the answer, or ask again. Readers have seen the text of an answer by
   * then; asked again, they are told to drop it. `next` rejects where the model fails.
   */
  step?(
    request: ModelRequest,
    next: (request: ModelRequest) => Promise<StepAnswer>,
    context: HookContext,
  ): Promise<StepAnswer>
  /**
   * Around a tool call: may change its arguments, replace its outcome, or refuse it with an outcome of its own without
   * calling `next`. `next` never rejects.
   */
  call?(
    request: ToolRequest,
    next: (request: ToolRequest) => Promise<ToolOutcome>,
    context: HookContext & { readonly definition: ToolDefinition },
  ): Promise<ToolOutcome>
}

export interface ExecuteOptions {
  /** Aborts when the run is cancelled or out of time. */
  readonly signal: AbortSignal
  /** Milliseconds. */
  readonly timeoutMs: number
  /** Bytes of the result that are kept. */
  readonly resultBytes: number
  readonly progress: (progress: Progress) => void
  /** Told of an outcome that came after nobody waited for it any more. */
  readonly onLate?: (outcome: ToolOutcome) => void
}

/** A failed call as the strategy for faults sees it. */
export interface CallFault extends ToolFault {
  readonly callId: string
  readonly tool: string
  /** As the model wrote them. */
  readonly arguments: string
}

/** Takes what happens in runs: for logs, traces, counts. */
export type Observer = (event: RunFact, run: RunRequest) => void

/**
 * What an application may put in the place of the loop's own ways. What throws here fails the run as a hook does; a call
 * whose `onFault` throws has failed with that.
 */
export interface LoopSetup {
  readonly hooks?: readonly Hook[]
  /** Performs one call. Contract: never rejects. Default: `execute` of `tool/execute.ts`. */
  readonly execute?: (tool: Tool, request: ToolRequest, options: ExecuteOptions) => Promise<ToolOutcome>
  /**
   * What becomes of a call that failed, by the fault's `code`: `unknown_tool`, `invalid_arguments`, `timeout`, any of a
   * tool's. A text is what the model reads instead; `fatal` fails the run with it; undefined leaves it as it is.
   */
  readonly onFault?: (fault: CallFault) => { readonly message?: string; readonly fatal?: boolean } | undefined
  /** Whether a person must agree to a call, by its arguments or who asks; what a definition demands holds in any case. */
  readonly needsApproval?: (call: ToolCall, definition: ToolDefinition, run: RunRequest) => boolean
  /** Whether the edge runs the calls of an answer; else they are handed to the caller. Default: as the request says. */
  readonly runsCalls?: (answer: StepAnswer, request: RunRequest) => boolean
  /**
   * Told of a run's facts once they are kept, each once and in order; deltas and progress are not among them. What it
   * throws is reported, and stops nothing.
   */
  readonly observe?: Observer
  /** What is wrong with a structured answer; nothing where it fits. Default: answers are not checked. */
  readonly validate?: (schema: JsonSchema, value: unknown) => Promise<readonly DefinitionIssue[]>
}
