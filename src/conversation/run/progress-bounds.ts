import { isObject, parseJson } from '../../contract/json.ts'
import { typeOfLine } from '../../wire/events.ts'
import { type EventRow, numberOf } from '../store/events.ts'

/** The most characters of progress that are stored of one call, and of a run. */
const MOST_OF_CALL = 1024 * 1024
const MOST_OF_RUN = 8 * 1024 * 1024
/** A shorter line counts as this many characters, so that the number of lines is bounded too. */
const LEAST = 256
/** The most characters of a line with its `data`. */
const MOST_LINE = 128 * 1024

/** What of a call's progress is stored. */
interface CallProgress {
  size: number
  /** The number of the newest event, once there is too much progress to store all. */
  newest?: number
}

/**
 * Bounds what a run stores of the progress of its calls: 1 MiB of a call and 8 MiB in all, and from then on the newest
 * report of each call alone. Readers who follow the run see all of it.
 */
export class ProgressBounds {
  readonly #calls = new Map<string, CallProgress>()
  #size = 0

  /** `rows`: what is stored of the run so far. */
  constructor(rows: Iterable<EventRow>) {
    for (const { lines } of rows) {
      for (const line of lines) {
        if (typeOfLine(line) !== 'call.progress') continue
        const event = parseJson(line)
        if (isObject(event)) this.add(String(event['callId']), line)
      }
    }
  }

  /** Counts a line. Returns the number of the event that it takes the place of; undefined if there is none. */
  add(callId: string, line: string): number | undefined {
    const call = this.#calls.get(callId) ?? { size: 0 }
    this.#calls.set(callId, call)
    const size = Math.max(LEAST, line.length)
    if (call.size + size > MOST_OF_CALL || this.#size + size > MOST_OF_RUN) {
      const replaced = call.newest
      call.newest = numberOf(line)
      return replaced
    }
    call.size += size
    this.#size += size
    return undefined
  }
}

/** Whether the line of a progress report is too long to be stored with its data. */
export function isLongProgress(line: string): boolean {
  return line.length > MOST_LINE
}
