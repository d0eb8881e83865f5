import type { Continuation } from '../../contract/conversation.ts'
import { begin } from '../../contract/occupancy.ts'
import type { RunFact } from '../../contract/event.ts'
import type { ToolOutcome } from '../../contract/tool.ts'
import type { Message } from '../../contract/message.ts'
import { isWaitingForOthers, windDown } from '../../loop/decide/decide.ts'
import { recordOf } from '../../loop/record.ts'
import { nextFence, startedCalls } from '../../loop/recover.ts'
import type { CallState, RunState } from '../../loop/state.ts'
import { within } from '../../contract/time-limit.ts'
import { expiryEvent, waitsUntil } from './answers.ts'
import { newWait } from './children.ts'
import type { JournalPorts } from './journal.ts'
import {
  commit,
  abandonDrive,
  giveUpEvents,
  isAtRest,
  isHanging,
  isReady,
  isWaiting,
  NO_PROGRESS,
  type OpenRun,
  OpenRuns,
  type PerformPorts,
  performRun,
  reasonToEnd,
  restsUntil,
} from './open-runs.ts'
import { FIRST_WATCH_MS, WATCHDOG_MS } from './schedule.ts'
import { dueParkedRuns, type ParkingPorts, parkRun, unparkRun } from './parked-runs.ts'
import type { Waiters } from './cancel-run.ts'

/** After so many instances in a row that did not survive resuming a run, the run is parked. */
const MOST_RESUMES = 3
/** After this time a run is tried again whose tools or key could not be read, in milliseconds; each time twice as long. */
const FIRST_RETRY_MS = 1000
/** How long a cancelled run may take to end by itself. */
const MOST_CANCEL_MS = 5000

export interface RunnerPorts extends JournalPorts, PerformPorts, ParkingPorts {
  /** Has the object woken at a time, in epoch milliseconds, or earlier. */
  readonly wakeAt: (time: number) => void
  /** Reports the status of an unfinished run. */
  readonly reportUnended: (run: string) => void
  /** The requests that wait for the records of runs. */
  readonly waiters: Waiters
}

/** Drives the runs of a conversation, one at a time, in the order of their acceptance. */
export class Runner {
  /** The unfinished runs in memory. */
  readonly runs: OpenRuns
  readonly #ports: RunnerPorts
  /** How many subrequests the runs have made in this invocation. */
  #subrequests = 0
  /** Before this time, in epoch milliseconds, no alarm resumes a run. */
  #heldUntil = 0

  constructor(ports: RunnerPorts) {
    this.#ports = ports
    this.runs = new OpenRuns({ ...ports, addFact: (run, fact) => this.addFact(run, fact) })
  }

  /**
   * Counts that this instance is about to resume the run whose turn it is. A run that no instance has survived resuming
   * is parked instead. Returns whether there is a run to resume. Contract: called before any run is read, and the count
   * is on disk before the run is.
   */
  countResume(): boolean {
    const { store } = this.#ports
    for (const id of store.runs.unfinished()) {
      const { status = 'waiting', resumes = 0 } = store.runs.row(id) ?? {}
      if (status === 'waiting') return false
      if (resumes < MOST_RESUMES) {
        store.runs.countResume(id)
        return true
      }
      const reason = `The object was lost ${resumes} times while it resumed this run.`
      parkRun(this.#ports, id, reason)
    }
    return false
  }

  /** Has alarms leave interrupted runs alone for some milliseconds. A request releases them earlier. */
  hold(ms: number): void {
    this.#heldUntil = this.#ports.now() + ms
  }

  /** Ends that time, and resumes the run whose turn it is. */
  release(): void {
    if (this.#heldUntil === 0) return
    this.#heldUntil = 0
    this.pump()
  }

  /** Resumes a parked run, as a person wants. */
  retry(id: string): void {
    this.#unpark(id, 0)
    this.pump()
  }

  /**
   * Has the parked runs continue whose time has come, or that an earlier deployment of the edge could not resume. Contract:
   * called before any run is read, and before `countResume`.
   */
  retryParked(): void {
    for (const id of dueParkedRuns(this.#ports)) this.#unpark(id, MOST_RESUMES - 1)
  }

  #unpark(id: string, resumes: number): void {
    const { store, wakeAt, now, reportUnended } = this.#ports
    unparkRun(store, id, { now: now(), resumes })
    reportUnended(id)
    wakeAt(now() + WATCHDOG_MS)
  }

  /**
   * Starts or resumes the run whose turn it is, unless it is being driven or waits for others. Contract: called in an
   * invocation of its own, such as a request or an alarm.
   */
  pump(): void {
    if (this.#ports.now() < this.#heldUntil) return
    if (!this.runs.current()?.completion) this.#subrequests = 0
    this.#pump()
  }

  #pump(): void {
    const { setup, now, wakeAt } = this.#ports
    const open = this.runs.current()
    if (!open || open.completion) return
    // An instance in which the run rests has survived resuming it.
    if (restsUntil(open, now()) !== undefined) return open.journal.countIdle(true)
    if (!isReady(open, now())) return
    if (this.#subrequestsLeft() > 0) return void this.#resume(open)
    // The alarm is another invocation, which continues the run.
    setup.report({ event: 'run.continued', runId: open.stored.id, subrequests: this.#subrequests })
    wakeAt(now())
  }

  #subrequestsLeft(): number {
    return this.#ports.setup.config.maxSubrequests - this.#subrequests
  }

  /** Drives a run, with the alarm set that looks after it. */
  #resume(open: OpenRun): Promise<void> {
    const { wakeAt, now } = this.#ports
    // Polls are short, and made again if they are lost.
    wakeAt(now() + (isWaiting(open) ? WATCHDOG_MS : FIRST_WATCH_MS))
    const onDriven = (isOver: boolean) => {
      delete open.completion
      if (!isOver) return
      // The run may have been answered before the hooks around it returned: then it continues.
      if (!open.state.finished && isReady(open, now())) return this.#pump()
      this.#announceRest(open)
      if (!open.state.finished) wakeAt(this.dueAt())
    }
    const end = begin(this.#ports.setup, 'concurrentRuns', open.stored.request.caller)
    return (open.completion = this.#drive(open)
      .finally(end)
      .then(onDriven)
      .catch((error: unknown) => this.#dropLost(open, error)))
  }

  /**
   * Drops a run from memory after its journal could not be written or the loop threw. Its state is folded from the
   * journal again when the alarm rings. Requests that wait for the record keep waiting; the streams of readers end, and
   * readers that reconnect continue after the last event.
   */
  #dropLost(open: OpenRun, error: unknown): void {
    const { setup, readers } = this.#ports
    const { id } = open.stored
    delete open.completion
    // Already dropped; another OpenRun may have taken its place.
    if (open.isLost) return
    abandonDrive(open, error)
    setup.report({ event: 'run.interrupted', runId: id, detail: String(error) })
    this.runs.drop(open)
    readers.close(id)
  }

  /** Cancels runs as `cancel` does, the newest first, so that the end of one does not start another. */
  async cancelAll(ids: readonly string[]): Promise<void> {
    for (const id of ids.toReversed()) {
      const open = this.runs.find(id)
      if (open) await this.cancel(open)
    }
  }

  /**
   * Cancels a run durably: calls in flight are aborted, and no new ones start. Resolves once the run has ended, even if
   * the model and the tools do not react.
   */
  async cancel(open: OpenRun): Promise<void> {
    const { state, stored, abort } = open
    if (state.status !== 'cancelling') this.#change(open, () => commit(open, { type: 'run.cancelling' }))
    abort.abort(new Error('cancelled'))
    await this.#awaitEnd(open)
    // If the run was dropped in the meantime, a new OpenRun has taken its place.
    const successor = this.runs.find(stored.id)
    if (successor && !successor.state.finished) await this.#awaitEnd(successor)
  }

  /** Waits for a cancelled run to end by itself, and ends it if that takes too long. */
  async #awaitEnd(open: OpenRun): Promise<void> {
    const completion = open.completion ?? this.#resume(open)
    await within(MOST_CANCEL_MS, completion, undefined)
    if (completion === open.completion) this.#abandon(open, windDown(open.state, 'cancelled'))
  }

  /**
   * Records answers to calls, with the input and the terms that came with them. The run continues unless other calls
   * still wait for answers.
   */
  answer(open: OpenRun, events: readonly RunFact[], { input = [], terms }: Partial<Continuation> = {}): void {
    const { ledger, state, stored } = open
    const record = () => {
      const request = terms && { ...state.request, ...terms, ...(terms.toolChoice && { chosenAt: state.rounds }) }
      // Most clients send the same terms with each request, which need not be stored again.
      if (request && JSON.stringify(request) !== JSON.stringify(state.request)) {
        state.request = request
        // The loop caches the definitions for the model by this map: a new map brings in the new client tools.
        state.offered = new Map(state.offered)
        this.#ports.store.runs.setRequest(stored.id, request)
      }
      ledger.commit(events)
      if (input.length > 0) ledger.commit([{ type: 'input.added', messages: input }])
      if (state.status === 'waiting' && !isWaiting(open))
        ledger.commit([{ type: 'run.resumed', at: this.#ports.now() }])
      ledger.flush()
      this.#ports.reportUnended(stored.id)
    }
    this.#change(open, () => this.#ports.store.transaction(record))
    this.pump()
  }

  /** Notes what a run waits for, after the run of an agent that it has called has begun to stand otherwise. */
  reviewWait(open: OpenRun): void {
    if (!open.completion && isWaiting(open)) this.#announceRest(open)
  }

  /** Records the outcome of a call that its tool answers later, and continues the run. */
  report(open: OpenRun, { callId, tool }: CallState, outcome: ToolOutcome): void {
    const { store } = this.#ports
    this.#change(open, () =>
      store.transaction(() => {
        store.fullResults.keepReport(open.stored.id, callId, outcome)
        commit(open, { type: 'call.reported', callId, tool })
      }),
    )
    this.pump()
  }

  /** Returns the run that may take more input: the one whose turn it is, unless it is being cancelled. */
  joinable(): OpenRun | undefined {
    const open = this.runs.current()
    return open?.state.status === 'cancelling' ? undefined : open
  }

  /** Adds messages to the input of a run. `after`: the number of the last event before them. */
  join(open: OpenRun, messages: readonly Message[]): { readonly open: OpenRun; readonly after: number } {
    const after = open.journal.last
    this.#change(open, () => commit(open, { type: 'input.added', messages }))
    return { open, after }
  }

  /** Adds a fact that changes nothing about a run, which may have ended. */
  addFact(run: string, fact: RunFact): void {
    const open = this.runs.inMemory(run)
    if (open && !open.state.finished) this.#change(open, () => commit(open, fact))
    else this.#ports.store.appendFact(run, fact)
  }

  /** Changes a run from outside its drive. If the change cannot be stored, the run is dropped, to be folded again. */
  #change(open: OpenRun, work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#dropLost(open, error)
      throw error
    }
  }

  /** Returns what drives the current run, if anything does. */
  get completion(): Promise<void> | undefined {
    return this.runs.current()?.completion
  }

  /** Returns when the current run must be looked at next, in epoch milliseconds; Infinity if there is none. */
  dueAt(): number {
    const open = this.runs.current()
    if (!open) return Infinity
    const { step, request } = open.state
    const now = this.#ports.now()
    if (now < this.#heldUntil) return this.#heldUntil
    if (!isWaiting(open)) return restsUntil(open, now) ?? now + WATCHDOG_MS
    // Polls under way set the alarm when they have returned. Until then it rings only in case the object is lost.
    if (open.completion) return now + request.limits.callMs + shortestPoll(open.state)
    const until = waitsUntil(open.state)
    const times = step?.calls.flatMap((call) => (call.status === 'settled' ? [] : dueTime(call, until))) ?? []
    return Math.min(request.agent?.until ?? Infinity, ...times)
  }

  /**
   * Checks the current run. Calls that have waited too long for a person or the caller are rejected or fail; a run that
   * hangs while it is driven fails.
   */
  checkCurrent(): void {
    const open = this.runs.current()
    if (!open) return
    const now = this.#ports.now()
    if (isWaiting(open)) {
      const { step, request } = open.state
      const until = waitsUntil(open.state)
      // The run of an agent waits until its time is over.
      if (request.agent && until <= now) return this.#abandon(open, windDown(open.state, 'runMs'))
      const overdueCalls = until <= now ? (step?.calls.filter(isWaitingForOthers) ?? []) : []
      if (overdueCalls.length > 0) this.answer(open, overdueCalls.map(expiryEvent))
      return
    }
    if (!open.completion) return
    open.journal.countIdle(startedCalls(open.state).length > 0)
    if (!isHanging(open, now)) return
    this.#abandon(open, giveUpEvents(open, NO_PROGRESS))
  }

  /** Ends a run that does not end by itself. Later answers of the model or of tools are ignored. */
  #abandon(open: OpenRun, end: readonly RunFact[]): void {
    this.#change(open, () => commit(open, ...end))
    open.abort.abort(new Error('given up'))
    this.#announceRest(open)
  }

  /**
   * Tells waiters and readers that a run has ended or waits for others. While agents are at work for it, they wait on. If
   * it has ended, starts the next run.
   */
  #announceRest(open: OpenRun): void {
    const { store, readers, waiters, now } = this.#ports
    const { id } = open.stored
    const wait = isWaiting(open) ? newWait(open.state, store.children) : undefined
    if (wait) this.#change(open, () => commit(open, { type: 'run.waiting', ...wait, at: now() }))
    if (isWaiting(open) && !isAtRest(open)) return
    waiters.tell(id, recordOf(open.state))
    if (open.state.finished) this.runs.drop(open)
    readers.close(id, !open.state.finished)
    if (open.state.finished) this.#pump()
  }

  /**
   * Drives a run until it ends, waits, or has made as many subrequests as it may. Returns false if it must not continue
   * yet; an alarm is set for that.
   */
  async #drive(open: OpenRun): Promise<boolean> {
    const { now, wakeAt } = this.#ports
    if (open.wasInterrupted && open.state.status === 'running') {
      // A loss of the object while it rests is none of its doing.
      if (nextFence(open.state, now()) !== undefined) open.journal.countIdle(true)
      else open.journal.countInterruption()
      open.wasInterrupted = false
    }
    const earlierSubrequests = open.state.subrequests
    const error = reasonToEnd(open) ?? (await performRun(open, this.#ports, this.#subrequestsLeft()))
    if (error === 'unknown') {
      open.journal.countIdle(true)
      // A fault of a moment holds it up for a second, a longer one for ten.
      wakeAt(now() + Math.min(FIRST_RETRY_MS * 2 ** open.holdUps, WATCHDOG_MS))
      open.holdUps += 1
      return false
    }
    open.holdUps = 0
    this.#subrequests += open.state.subrequests - earlierSubrequests
    if (error) commit(open, ...giveUpEvents(open, error))
    const until = restsUntil(open, now())
    if (until === undefined) return true
    open.journal.countIdle(true)
    wakeAt(until)
    return false
  }
}

/** Returns the shortest time between two polls of a tool that a run waits for, in milliseconds. */
function shortestPoll({ step }: RunState): number {
  const polls = step?.calls.flatMap(({ status, later }) => (status === 'deferred' ? (later?.poll ?? []) : [])) ?? []
  return polls.length > 0 ? Math.min(...polls) : WATCHDOG_MS
}

/** Returns when a call must be looked at for which a run waits until then, in epoch milliseconds. */
function dueTime({ later, hasReport }: CallState, until: number): number {
  if (hasReport) return 0
  return later ? Math.min(later.until, later.pollAt) : until
}
