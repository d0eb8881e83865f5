import type { NewsFilter } from '../../contract/conversation.ts'
import { isTerminal, type RunRecord, type RunStatus } from '../../contract/run.ts'
import { recordOf } from '../../loop/record.ts'
import { isWaiting } from './open-run.ts'
import type { OpenRuns } from './open-runs.ts'
import { replayFrames, replayRecord } from './replay.ts'
import type { Readers } from './readers.ts'
import type { Store } from '../store/store.ts'
import type { Waiters } from './waiters.ts'

/** The most characters of a record: the platform passes at most 32 MiB between the object and the edge. */
const MOST_CHARACTERS = 8 * 1024 * 1024

/**
 * Returns a record as it is or, if it is too large to be passed on at once, marked `isPartial`: without preambles, and
 * without arguments and results of calls; its answer is cut. Messages and events of the run have the rest.
 */
export function fitRecord(record: RunRecord): RunRecord {
  if (JSON.stringify(record).length <= MOST_CHARACTERS) return record
  const { preambles: _preambles, calls, answer, ...rest } = record
  const light = calls.map(
    ({ arguments: _arguments, content: _content, structured: _structured, metadata: _metadata, ...call }) => ({
      ...call,
      arguments: null,
    }),
  )
  return { ...rest, answer: answer.slice(0, MOST_CHARACTERS / 4), calls: light, isPartial: true }
}

/** Whether a run has no further events, unless somebody retries it. */
function isSettled(status: RunStatus): boolean {
  return isTerminal(status) || status === 'parked'
}

export interface RunViewPorts {
  readonly store: Store
  readonly runs: OpenRuns
  readonly readers: Readers
  readonly waiters: Waiters
}

/** Reads runs, whether under way or finished. Never drives one. */
export class RunReader {
  readonly #ports: RunViewPorts

  constructor(ports: RunViewPorts) {
    this.#ports = ports
  }

  /** Returns the record of a run once the run has ended or waits, or after `waitMs` as it stands then. */
  async record(id: string, waitMs: number): Promise<RunRecord | undefined> {
    const { store, runs, waiters } = this.#ports
    const row = store.runs.row(id)
    if (!row) return undefined
    const isAwaited = waitMs > 0 && !isSettled(row.status) && !this.#isWaiting(id)
    const record = isAwaited ? await waiters.wait(id, waitMs) : undefined
    if (record) return fitRecord(record)
    const open = runs.inMemory(id)
    const current = open ? store.fullResults.withLateOutcomes(recordOf(open.state)) : replayRecord(store, id)
    return current && fitRecord(current)
  }

  /**
   * Streams the frames of a run after a number: past ones, then new ones until the run ends or waits. Returns undefined
   * if the run has no event of that number yet. `news`: which news to stream; past news are all streamed.
   */
  follow(id: string, after: number, news?: NewsFilter): ReadableStream<Uint8Array> | undefined {
    const { store, runs, readers } = this.#ports
    const last = runs.inMemory(id)?.journal.last ?? store.runs.lastNumber(id)
    if (after > last) return undefined
    const read = (from: number) => runs.inMemory(id)?.journal.read(from) ?? replayFrames(store, id, from)
    return readers.open(id, { read }, { after, isCurrent: after === last, isEnded: this.#isAtRest(id), news })
  }

  /** Ends all streams, and all waiting for records, because the conversation is gone. */
  end(): void {
    this.#ports.readers.end()
    this.#ports.waiters.end()
  }

  /** Whether a run yields no more events for now: it is gone, has ended, or waits for others. */
  #isAtRest(id: string): boolean {
    const row = this.#ports.store.runs.row(id)
    return row === undefined || isSettled(row.status) || (row.status === 'waiting' && this.#isWaiting(id))
  }

  /** Whether a run waits for others and is not being driven. */
  #isWaiting(id: string): boolean {
    const open = this.#ports.runs.find(id)
    return open !== undefined && !open.completion && isWaiting(open)
  }
}
