import type { Beside } from '../contract/conversation.ts'
import type { RunFact } from '../contract/event.ts'
import type { Message } from '../contract/message.ts'
import { isWithOthers, windDown } from '../loop/decide.ts'
import { recordOf } from '../loop/record.ts'
import { fence } from '../loop/recover.ts'
import { within } from '../loop/within.ts'
import { expired } from './answers.ts'
import type { JournalPorts } from './journal.ts'
import { commit, givenUp, hangs, NO_PROGRESS, type OpenRun, reasonToEnd, waits } from './open-run.ts'
import { OpenRuns } from './open-runs.ts'
import { performRun, type PerformPorts } from './perform-run.ts'
import { WATCHDOG_MS } from './schedule.ts'
import type { Waiters } from './waiters.ts'

const AFTER_FENCE_MS = 1000
/** How long a run that is cancelled may take to end by itself. */
const MOST_CANCEL_MS = 5000
/** How long a run waits for people and for its caller. */
const MOST_WAIT_MS = 24 * 60 * 60 * 1000

export interface RunnerPorts extends JournalPorts, PerformPorts {
  /** Asks for a wake-up at that time, in epoch milliseconds. */
  readonly wakeAt: (time: number) => void
  /** Who waits for the records of runs. */
  readonly waiters: Waiters
}

/** Drives the runs of a conversation, one at a time, in the order of their acceptance. */
export class Runner {
  /** Those that it drives, in memory. */
  readonly runs: OpenRuns
  readonly #ports: RunnerPorts

  constructor(ports: RunnerPorts) {
    this.#ports = ports
    this.runs = new OpenRuns(ports)
  }

  /** Starts or goes on with the run whose turn it is, unless that is under way or waits for others. */
  pump(): void {
    const open = this.runs.current()
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
    this.runs.drop(open)
    readers.close(id)
  }

  /**
   * Cancels a run, durably: what is in flight is told, and nothing new starts. Resolves once it has ended, whether what
   * it waits for listens or not.
   */
  async cancel(open: OpenRun): Promise<void> {
    const { state, stored, abort } = open
    if (state.status !== 'cancelling') this.#change(open, () => commit(open, { type: 'run.cancelling' }))
    abort.abort(new Error('cancelled'))
    await this.#letEnd(open)
    // One that was lost on the way is another now.
    const left = this.runs.find(stored.id)
    if (left && !left.state.finished) await this.#letEnd(left)
  }

  /** Gives a run that is being cancelled its time to end by itself. */
  async #letEnd(open: OpenRun): Promise<void> {
    const driving = open.driving ?? this.#goOn(open)
    await within(MOST_CANCEL_MS, driving, undefined)
    if (driving === open.driving) this.#abandon(open, windDown(open.state, 'cancelled'))
  }

  /** Records answers to calls and what was said beside, and goes on where nothing else is waited for. */
  answer(open: OpenRun, events: readonly RunFact[], { input, terms }: Beside = { input: [] }): void {
    const { ledger, state, stored } = open
    this.#change(open, () => {
      if (terms) {
        state.request = { ...state.request, ...terms, chosenAt: state.rounds }
        // What the model is told of is read from it once.
        state.offered = new Map(state.offered)
        this.#ports.store.runs.setRequest(stored.id, state.request)
      }
      ledger.commit(events)
      if (input.length > 0) ledger.commit([{ type: 'input.added', messages: input }])
      if (state.status === 'waiting' && !waits(open)) ledger.commit([{ type: 'run.resumed', at: this.#ports.now() }])
      ledger.flush()
    })
    this.pump()
  }

  /** The run under way that may hear more; undefined where there is none. */
  joinable(): OpenRun | undefined {
    const open = this.runs.current()
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

  /** When the run whose turn it is wants to be looked at, in epoch milliseconds; Infinity where there is none. */
  dueAt(): number {
    const open = this.runs.current()
    if (!open) return Infinity
    return waits(open) ? (open.state.waitingSince ?? 0) + MOST_WAIT_MS : this.#ports.now() + WATCHDOG_MS
  }

  /**
   * Looks after the current run: refuses, in the place of those who did not answer in time, what it waits for, and gives
   * it up where it has not got ahead for too long.
   */
  tend(): void {
    const open = this.runs.current()
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
    this.#change(open, () => commit(open, ...end))
    open.abort.abort(new Error('given up'))
    this.#rest(open)
  }

  /** A run has ended, which gives its turn to the next, or waits for others, and then its turn stays. */
  #rest(open: OpenRun): void {
    const { readers, waiters } = this.#ports
    const { id } = open.stored
    waiters.tell(id, recordOf(open.state))
    if (open.state.finished) this.runs.drop(open)
    readers.close(id)
    if (open.state.finished) this.pump()
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
