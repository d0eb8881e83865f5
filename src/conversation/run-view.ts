import { isTerminal, type RunRecord } from '../contract/run.ts'
import { recordOf } from '../loop/record.ts'
import { waits } from './open-run.ts'
import type { OpenRuns } from './open-runs.ts'
import { pastFrames, pastRecord } from './past.ts'
import type { Readers } from './readers.ts'
import type { Store } from './store.ts'
import type { Waiters } from './waiters.ts'

export interface RunViewPorts {
  readonly store: Store
  readonly runs: OpenRuns
  readonly readers: Readers
  readonly waiters: Waiters
}

/** What is read of runs, whether they are under way or over. It drives none. */
export class RunView {
  readonly #ports: RunViewPorts

  constructor(ports: RunViewPorts) {
    this.#ports = ports
  }

  /** The record of a run once it has ended or waits, or as it stands after `waitMs`. */
  async record(id: string, waitMs: number): Promise<RunRecord | undefined> {
    const { store, runs, waiters } = this.#ports
    const row = store.runs.row(id)
    if (!row) return undefined
    const isAwaited = waitMs > 0 && !isTerminal(row.status) && !this.#isWaiting(id)
    const record = isAwaited ? await waiters.wait(id, waitMs) : undefined
    if (record) return record
    const open = runs.held(id)
    return open ? store.wholes.withLate(recordOf(open.state)) : pastRecord(store, id)
  }

  /**
   * The frames of a run after a number: those that are, then those that come until it has ended or waits. Undefined after
   * a number that is yet to come.
   */
  follow(id: string, after: number): ReadableStream<Uint8Array> | undefined {
    const { store, runs, readers } = this.#ports
    if (after > (runs.held(id)?.journal.last ?? store.runs.lastNumber(id))) return undefined
    const read = (from: number) => runs.held(id)?.journal.read(from) ?? pastFrames(store, id, from)
    return readers.open(id, { read }, { after, ended: this.#isAtRest(id) })
  }

  /** No run is there any more: nobody reads or waits on. */
  end(): void {
    this.#ports.readers.end()
    this.#ports.waiters.end()
  }

  /** Whether readers of a run have nothing more to expect for now. */
  #isAtRest(id: string): boolean {
    const row = this.#ports.store.runs.row(id)
    return row === undefined || isTerminal(row.status) || (row.status === 'waiting' && this.#isWaiting(id))
  }

  /** Whether a run waits for others, and nothing of it is under way. */
  #isWaiting(id: string): boolean {
    const open = this.#ports.runs.find(id)
    return open !== undefined && !open.driving && waits(open)
  }
}
