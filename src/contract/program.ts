/** The name of the tool with which a model runs a program. */
export const RUN_CODE = 'run_code'

/** How many programs of a run are under way at once: as many as Cloudflare lets a request run. */
export const MOST_PROGRAMS = 4

/** What a program asks its run for, numbered from 0 in the order in which it asks. */
export type ProgramAsk =
  | { readonly do: 'call'; readonly tool: string; readonly arguments: string }
  | { readonly do: 'wait'; readonly ms: number }

/**
 * The answer to one of these, released to the program. `at`: the time of the program from here on, in epoch milliseconds.
 */
export interface ProgramRelease {
  readonly ask: number
  readonly at: number
  readonly value?: unknown
  /** Set if a call failed. */
  readonly error?: { readonly code: string; readonly message: string }
}

/**
 * What a program can do in its run. Each of its calls is a call of the run. A program may be run several times, each time
 * from its start: it is then released the same answers as before, in the same order.
 */
export interface ProgramCalls {
  /** The time at which the program first started, in epoch milliseconds. */
  readonly startedAt: number
  /** The same each time. Random numbers are made from it. */
  readonly seed: string
  /** Whether the program has asked for something in an earlier pass: it may have had effects, and is not refused any more. */
  readonly isResumed: boolean
  /** Takes what the program asks for next. Throws a `ProgramStopped` if the program must end. */
  ask(asks: readonly ProgramAsk[]): void
  /**
   * Waits for answers, and returns them in the order in which they are to be released. Empty: nothing that the program has
   * asked for is open. Undefined: the program must stop here, since its run has ended, or will run it again later.
   */
  next(): Promise<readonly ProgramRelease[] | undefined>
}

/** Why a program must end, as a failure of its call. */
export class ProgramStopped extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.name = 'ProgramStopped'
    this.code = code
  }
}
