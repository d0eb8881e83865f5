import type { WindowOptions } from '../contract/conversation.ts'
import type { RunFact } from '../contract/event.ts'
import type { Message } from '../contract/message.ts'
import { isTerminal, type RunError, type RunRecord } from '../contract/run.ts'
import type { Setup } from '../contract/setup.ts'
import type { Tool } from '../contract/tool.ts'
import { cutShort, isWithOthers } from '../loop/decide.ts'
import { recordOf } from '../loop/record.ts'
import { fence } from '../loop/recover.ts'
import { run } from '../loop/run.ts'
import { observe, type RunPorts } from '../loop/running.ts'
import { fold, type RunState } from '../loop/state.ts'
import { failedRun } from '../loop/verdict.ts'
import { pinTools } from '../tool/pin.ts'
import { expired } from './answers.ts'
import { historyBefore } from './history.ts'
import { hangs, NO_PROGRESS, type OpenRun, openRun, reasonToEnd, waits } from './open-run.ts'
import { type Frames, pastFrames, pastRecord } from './past.ts'
import type { Readers } from './readers.ts'
import { recall } from './recall.ts'
import type { StoredRun } from './runs.ts'
import { WATCHDOG_MS } from './schedule.ts'
import type { Store } from './store.ts'
import { Waiters } from './waiters.ts'

const AFTER_FENCE_MS = 1000
/** How long a run waits for people and for its caller. */
const MOST_WAIT_MS = 24 * 60 * 60 * 1000

export interface RunnerPorts {
  readonly setup: Setup
  readonly store: Store
  readonly readers: Readers
  readonly now: () => number
  /** Asks for a wake-up at that time, in epoch milliseconds. */
  readonly wakeAt: (time: number) => void
  /** What a model sees of the turns before. */
  readonly window: () => WindowOptions
  /** Told within the transaction that changes a run's status. */
  readonly onStatus?: (state: RunState, eventId: string) => void
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

  #goOn(open: OpenRun): Promise<void> {
    return (open.driving = this.#drive(open).then((isAtRest) => {
      delete open.driving
      if (isAtRest) this.#rest(open)
    }))
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

  /** Cancels a run, durably: what is in flight is told, and nothing new starts. Resolves once it has ended. */
  async cancel(open: OpenRun): Promise<void> {
    if (open.state.status !== 'cancelling') this.#commit(open, [{ type: 'run.cancelling' }])
    open.abort.abort(new Error('cancelled'))
    while (open.driving) await open.driving
    if (!open.state.finished) await this.#goOn(open)
  }

  /** Records answers to calls, and goes on where nothing else is waited for. */
  answer(open: OpenRun, events: readonly RunFact[]): void {
    this.#commit(open, events)
    if (!waits(open)) this.#commit(open, [{ type: 'run.resumed', at: this.#ports.now() }])
    this.pump()
  }

  /** Lets the run under way hear these messages too; undefined where there is none. `after`: the event before them. */
  join(messages: readonly Message[]): { readonly open: OpenRun; readonly after: number } | undefined {
    const open = this.current()
    if (!open || open.state.status === 'cancelling') return undefined
    const after = open.journal.last
    this.#commit(open, [{ type: 'input.added', messages }])
    return { open, after }
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
    this.#giveUp(open, NO_PROGRESS)
    open.abort.abort(new Error(NO_PROGRESS.code))
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
    return open ? this.#ports.store.withLate(recordOf(open.state)) : pastRecord(this.#ports.store, id)
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

  #commit({ state, journal }: OpenRun, events: readonly RunFact[]): void {
    for (const event of events) fold(state, event)
    journal.commit(events, state)
    observe(events, state, this.#loopPorts(state))
  }

  /** What the loop gets from the setup. */
  #loopPorts({ request }: RunState): Pick<RunPorts, 'loop' | 'report'> {
    const { loop, report } = this.#ports.setup
    return {
      ...(loop && { loop }),
      report: (fault) => report({ event: 'call.failed', runId: request.runId, ...fault }),
    }
  }

  #load(stored: StoredRun): OpenRun {
    const open = openRun(this.#ports, stored)
    this.#open.set(stored.id, open)
    return open
  }

  /** Goes on with a run. True where it has ended or waits for others, false where it must be looked at again. */
  async #drive(open: OpenRun): Promise<boolean> {
    const { setup, now, wakeAt } = this.#ports
    const { stored, state } = open
    try {
      // One that is being cancelled has nothing to wait for.
      if (open.interrupted && state.status === 'running') {
        const fencedUntil = fence(state) + AFTER_FENCE_MS
        if (fencedUntil > now()) {
          wakeAt(fencedUntil)
          return false
        }
        open.interrupted = false
        open.journal.countInterruption()
      }
      const error = reasonToEnd(open, now())
      if (error) this.#giveUp(open, error)
      else await this.#run(open)
      return true
    } catch (error) {
      // The journal could not be written, or the loop has a fault. What is kept tells how the run stands: it is folded
      // anew when the alarm rings. Who waits for its record waits on; who reads along reads on after the last event.
      setup.report({ event: 'run.interrupted', runId: stored.id, detail: String(error) })
      this.#drop(open)
      this.#ports.readers.close(stored.id)
      return false
    }
  }

  async #run(open: OpenRun): Promise<void> {
    const { setup, store, now, window } = this.#ports
    const { stored, state, journal, abort } = open
    const model = setup.models.resolve(state.request.model)
    if (!model.ok) return this.#giveUp(open, model)
    const tools = await this.#tools(state)
    const options = window()
    const { messages, dropped, filled, from } = historyBefore(store.messages, stored.place, options)
    if (dropped + filled > 0) this.#commit(open, [{ type: 'history.repaired', dropped, filled }])
    const recalled = options.summary ? await recall(store, model.model, { from, signal: abort.signal }) : undefined
    if (recalled?.made) this.#commit(open, [recalled.made])
    await run(state, {
      model: model.model,
      tools,
      find: (names) => setup.tools.find(names),
      history: [...(recalled?.messages ?? []), ...messages],
      journal,
      signal: abort.signal,
      now,
      ...this.#loopPorts(state),
    })
  }

  #giveUp(open: OpenRun, { code, message }: RunError): void {
    this.#commit(open, cutShort(open.state, message, failedRun(open.state, { code, message })))
  }

  /** The tools on offer, those that joined the run among them. */
  async #tools({ offered, request }: RunState): Promise<ReadonlyMap<string, Tool>> {
    if (offered.size === 0 || request.execution === 'caller') return new Map()
    return pinTools([...offered.values()], await this.#ports.setup.tools.find([...offered.keys()]))
  }
}
