/** The work that the check of a value may still take, and the results that it reuses. */
export interface Work {
  /** How many units are left. A unit is about the check of one keyword on one small value. */
  unitsLeft: number
  /** How many steps the regular-expression engine may still take. */
  steps: number
  /** The canonical texts of objects and arrays that were compared with others. */
  readonly texts: Map<object, string>
  /** The patterns that were run: the first run of a pattern compiles it. */
  readonly patterns: Set<string>
}

export function startWork(unitsLeft = MOST_WORK): Work {
  return { unitsLeft, steps: MOST_STEPS, texts: new Map(), patterns: new Set() }
}

/** The steps that the regular-expression engine may take in the check of one value: some hundredths of a second. */
export const MOST_STEPS = 1e7

/** The units that the check of a value may take; the pass that collects reasons may take as many again. */
export const MOST_WORK = 200_000

/** The reason given for a value that is refused because its check would take too long. It never changes. */
export const TOO_MUCH_WORK = 'the schema and the value together take too much work'

/** Thrown when a check has used up its work. */
export class WorkError extends RangeError {
  constructor() {
    super(TOO_MUCH_WORK)
  }
}

export function spend(work: Work, units: number): void {
  if ((work.unitsLeft -= units) < 0) throw new WorkError()
}

/** How many characters of a text are read for one unit of work. */
const CHARACTERS = 32

/** Accounts for work that reads all of a text. */
export function spendText(work: Work, text: string): void {
  spend(work, 1 + text.length / CHARACTERS)
}
