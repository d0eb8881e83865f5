import type { RunFact } from '../contract/event.ts'
import type { Message } from '../contract/message.ts'
import { isTerminal, type RunRecord } from '../contract/run.ts'
import { isWithOthers, windDown } from '../loop/decide.ts'
import { recordOf } from '../loop/record.ts'
import { fence } from '../loop/recover.ts'
import { within } from '../loop/within.ts'
import { expired } from './answers.ts'
import type { JournalPorts } from './journal.ts'
import { commit, givenUp, hangs, NO_PROGRESS, type OpenRun, openRun, reasonToEnd, waits } from './open-run.ts'
import { type Frames, pastFrames, pastRecord } from './past.ts'
import { performRun, type PerformPorts } from './perform-run.ts'
import type { StoredRun } from './runs.ts'
import { WATCHDOG_MS } from './schedule.ts'
import { Waiters } from './waiters.ts'

const AFTER_FENCE_MS = 1000
/** How long a run that is cancelled may take to end by itself. */
const MOST_CANCEL_MS = 5000
/** How long a run waits for people and for its caller. */
const MOST_WAIT_MS = 24 * 60 * 60 * 1000

export interface RunnerPorts extends JournalPorts, PerformPorts {
  /** Asks for a wake-up at that time, in epoch milliseconds. */
  readonly wakeAt: (time: number) => void
}

/** Drives the runs of a conversation, one at a time, in the order of their acceptance. */
export class Runner {
  readonly #ports: RunnerPorts
  /** The unfinished runs that are in memory: one of each. */
  readonly #open = new Map<string, OpenRun>()
  #current: OpenRun | undefined
  readonly #waiters = new Waiters()

  constructor(ports: RunnerPorts) {
    this.#ports = ports
  }

  /** Starts or goes on with the run whose turn it is, unless that is under way or waits for others. */
  pump(): void {
    const open = this.current()
    if (open && !open.driving && !waits(open)) void this.#goOn(open)
  }

  /** Drives a run on. What goes on is watched over, whoever woke the object. */
  #goOn(open: OpenRun): Promise<void> {
    const { wakeAt, now } = this.#ports
    wakeAt(now() + WATCHDOG_MS)
    const over = (isOver: boolean) => {
      delete open.driving
      if (!isOver) return
      // It may have been answered before all that stands around it was done.
      if (open.state.finished || waits(open)) this.#rest(open)
      else this.pump()
    }
    return (open.driving = this.#drive(open)
      .then(over)
      .catch((error: unknown) => this.#lose(open, error)))
  }

  /**
   * The journal could not be written, or the loop has a fault. What is kept tells how the run stands: it is folded anew
   * when the alarm rings. Who waits for its record waits on; who reads along reads on after the last event.
   */
  #lose(open: OpenRun, error: unknown): void {
    const { setup, readers } = this.#ports
    const { id } = open.stored
    delete open.driving
    // It may be another one by now.
    if (open.isLost) return
    open.isLost = true
    open.abort.abort(error)
    setup.report({ event: 'run.interrupted', runId: id, detail: String(error) })
    this.#drop(open)
    readers.close(id)
  }

  /** The unfinished run whose turn it is, in memory. */
  current(): OpenRun | undefined {
    if (this.#current && !this.#current.state.finished) return this.#current
    const next = this.#ports.store.next()
    this.#current = next && (this.#open.get(next.id) ?? this.#load(next))
    return this.#current
  }

  /** An unfinished run in memory. */
  find(id: string): OpenRun | undefined {
    const open = this.#open.get(id)
    if (open) return open
    const row = this.#ports.store.runs.row(id)
    const stored = row && !isTerminal(row.status) ? this.#ports.store.runs.get(id) : undefined
    return stored && this.#load(stored)
  }

  /** The next frames of a run after a number, whether it is under way or over. */
  frames(id: string, after: number): Frames {
    return this.#open.get(id)?.journal.read(after) ?? pastFrames(this.#ports.store, id, after)
  }

  /**
   * Cancels a run, durably: what is in flight is told, and nothing new starts. Resolves once it has ended, whether what
   * it waits for listens or not.
   */
  async cancel(open: OpenRun): Promise<void> {
    const { state, stored, abort, driving } = open
    if (state.status !== 'cancelling') this.#change(open, () => commit(open, { type: 'run.cancelling' }))
    abort.abort(new Error('cancelled'))
    if (driving) await within(MOST_CANCEL_MS, driving, undefined)
    if (driving && driving === open.driving) this.#abandon(open, windDown(state, 'cancelled'))
    // One that was lost on the way is another now.
    const left = this.find(stored.id)
    if (left && !left.state.finished) await (left.driving ?? this.#goOn(left))
  }

  /** Records answers to calls, and goes on where nothing else is waited for. */
  answer(open: OpenRun, events: readonly RunFact[]): void {
    const { ledger, state } = open
    this.#change(open, () => {
      ledger.commit(events)
      if (state.status === 'waiting' && !waits(open)) ledger.commit([{ type: 'run.resumed', at: this.#ports.now() }])
      ledger.flush()
    })
    this.pump()
  }

  /** The run under way that may hear more; undefined where there is none. */
  joinable(): OpenRun | undefined {
    const open = this.current()
    return open?.state.status === 'cancelling' ? undefined : open
  }

  /** Lets it hear these messages too. `after`: the event before them. */
  join(open: OpenRun, messages: readonly Message[]): { readonly open: OpenRun; readonly after: number } {
    const after = open.journal.last
    this.#change(open, () => commit(open, { type: 'input.added', messages }))
    return { open, after }
  }

  /** Changes a run from outside of it. Where that cannot be kept, the run is lost, to be folded anew. */
  #change(open: OpenRun, work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#lose(open, error)
      throw error
    }
  }

  /** Knows nothing of any run any more: all that was kept has been removed. */
  forget(): void {
    this.#open.clear()
    this.#current = undefined
  }

  /** When the run whose turn it is wants to be looked at, in epoch milliseconds; Infinity where there is none. */
  dueAt(): number {
    const open = this.current()
    if (!open) return Infinity
    return waits(open) ? (open.state.waitingSince ?? 0) + MOST_WAIT_MS : this.#ports.now() + WATCHDOG_MS
  }

  /**
   * Looks after the current run: refuses, in the place of those who did not answer in time, what it waits for, and gives
   * it up where it has not got ahead for too long.
   */
  tend(): void {
    const open = this.current()
    if (!open) return
    const now = this.#ports.now()
    if (waits(open)) {
      const late = this.dueAt() <= now ? (open.state.step?.calls.filter(isWithOthers) ?? []) : []
      if (late.length > 0) this.answer(open, late.map(expired))
      return
    }
    if (!open.driving || !hangs(open, now)) return
    this.#abandon(open, givenUp(open, NO_PROGRESS))
  }

  /** Ends a run that does not come to its end: whatever it waits for is heard no more. */
  #abandon(open: OpenRun, end: readonly RunFact[]): void {
    commit(open, ...end)
    open.abort.abort(new Error('given up'))
    this.#rest(open)
  }

  /** The record of a run once it has ended or waits, or as it stands after `waitMs`. */
  async record(id: string, waitMs: number): Promise<RunRecord | undefined> {
    const row = this.#ports.store.runs.row(id)
    if (!row) return undefined
    const waits = waitMs > 0 && !isTerminal(row.status) && !this.#isWaiting(id)
    const record = waits ? await this.#waiters.wait(id, waitMs) : undefined
    if (record) return record
    const open = this.#open.get(id)
    return open ? this.#ports.store.wholes.withLate(recordOf(open.state)) : pastRecord(this.#ports.store, id)
  }

  /** Whether a run waits for others, and nothing of it is under way. */
  #isWaiting(id: string): boolean {
    const open = this.find(id)
    return open !== undefined && !open.driving && waits(open)
  }

  /** Whether readers of a run have nothing more to expect for now. */
  isAtRest(id: string): boolean {
    const row = this.#ports.store.runs.row(id)
    return row === undefined || isTerminal(row.status) || (row.status === 'waiting' && this.#isWaiting(id))
  }

  /** A run has ended, which gives its turn to the next, or waits for others, and then its turn stays. */
  #rest(open: OpenRun): void {
    const { id } = open.stored
    this.#waiters.tell(id, recordOf(open.state))
    if (open.state.finished) this.#drop(open)
    this.#ports.readers.close(id)
    if (open.state.finished) this.pump()
  }

  #drop(open: OpenRun): void {
    if (this.#open.get(open.stored.id) === open) this.#open.delete(open.stored.id)
    if (this.#current === open) this.#current = undefined
  }

  #load(stored: StoredRun): OpenRun {
    const open = openRun(this.#ports, stored)
    this.#open.set(stored.id, open)
    return open
  }

  /** True where the run has come to its end or to a wait, false where it must be looked at again. */
  async #drive(open: OpenRun): Promise<boolean> {
    const { now, wakeAt } = this.#ports
    // One that is being cancelled has nothing to wait for.
    if (open.interrupted && open.state.status === 'running') {
      const fencedUntil = fence(open.state) + AFTER_FENCE_MS
      if (fencedUntil > now()) {
        wakeAt(fencedUntil)
        return false
      }
      open.interrupted = false
      open.journal.countInterruption()
    }
    const error = reasonToEnd(open, now()) ?? (await performRun(open, this.#ports))
    if (error) commit(open, ...givenUp(open, error))
    return true
  }
}
