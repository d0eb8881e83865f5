import type { RunRecord } from '../../contract/run.ts'
import { within } from '../../contract/time-limit.ts'

/** The requests that wait for the records of runs. */
export class Waiters {
  readonly #waiters = new Map<string, Set<(record?: RunRecord) => void>>()

  /** Returns the record of a run once `tell` gives it; undefined after `waitMs`, or once `end` is called. */
  async wait(run: string, waitMs: number): Promise<RunRecord | undefined> {
    const { promise, resolve } = Promise.withResolvers<RunRecord | undefined>()
    const waiters = this.#waiters.get(run) ?? new Set()
    this.#waiters.set(run, waiters.add(resolve))
    const record = await within(waitMs, promise, undefined)
    waiters.delete(resolve)
    if (waiters.size === 0) this.#waiters.delete(run)
    return record
  }

  /** Releases all requests that wait, without a record. */
  end(): void {
    for (const waiters of this.#waiters.values()) for (const resolve of waiters) resolve()
  }

  tell(run: string, record: RunRecord): void {
    for (const resolve of this.#waiters.get(run) ?? []) resolve(record)
  }
}
