import type { ToolContext, ToolService } from '../contract/tool.ts'

/** The service of a tool Worker, as far as the checks need it. */
export interface TestedService extends ToolService {
  /**
   * Calls, and says after some time that the outcome is not wanted any more. Resolves with an outcome; over HTTP, where
   * nobody reads that, once the server answers again. Default: neither timeout nor cancellation is checked.
   */
  callAborted?(request: Parameters<ToolService['call']>[0], abort: Abort): Promise<unknown>
}

export interface Abort {
  readonly afterMs: number
  readonly reason: 'timeout' | 'cancelled'
}

type ToolArguments = Readonly<Record<string, unknown>>

/** How a tool is called with effect. */
export interface ToolCase {
  /** Arguments of a call that succeeds, or a function that returns those of another call each time. */
  readonly arguments: ToolArguments | (() => ToolArguments)
  /** Replaces parts of what the tool is told beside its arguments. */
  readonly context?: Partial<ToolContext>
  /** Counts the effects so far. Default: effects are not counted. */
  readonly effects?: () => number | Promise<number>
  /**
   * Resolves once the call of the check `crash` has got as far as it should when the Worker is lost, such as between an
   * effect and its record. Default: as soon as it was sent.
   */
  readonly untilCrash?: () => Promise<unknown>
}

export interface ConformanceOptions {
  /** How tools are called with effect, by name. Tools without a case are called in ways that must fail alone. */
  readonly cases?: Readonly<Record<string, ToolCase>>
  /** Loses the Worker with all calls in flight, and starts it again on its storage. Default: the check is left out. */
  readonly crash?: () => Promise<unknown>
  /** How long a refusal, or a call that is not wanted any more, may take, in milliseconds. Default: 10 seconds. */
  readonly settleMs?: number
}
