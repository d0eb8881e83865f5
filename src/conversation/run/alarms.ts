import { AlarmClock, type AlarmClockPorts } from '../../contract/alarm-clock.ts'
import { makeSpend } from '../../contract/budget.ts'
import type { ConversationOwner } from '../../contract/conversation.ts'
import { isObject } from '../../contract/json.ts'
import { isTerminal, type RunRecord, type RunRequest, type RunWait } from '../../contract/run.ts'
import { withDeadline } from '../../contract/time-limit.ts'
import type { Setup } from '../../contract/setup.ts'
import type { Usage } from '../../contract/usage.ts'
import { shardOf } from '../../contract/placement.ts'
import { FIRST_BYTES } from '../../contract/quotas.ts'
import { recordOf } from '../../loop/record.ts'
import { ownUsage, type RunState } from '../../loop/state.ts'
import { removeChildren } from './children.ts'
import { isWaiting } from './open-runs.ts'
import { nextParkedDue } from './parked-runs.ts'
import type { Runner } from './runner.ts'
import { type DueTimes, FIRST_WATCH_MS, isDue, MOST_STAY_MS, nextDue, PRUNE_MS, WATCHDOG_MS } from './schedule.ts'
import { reportGrowth } from './storage-quota.ts'
import type { Store } from '../store/store.ts'
import { REPORT_MS, reportDueSpend, type ReportPorts, reportRuns } from './report-runs.ts'

/** How long the creation of a conversation waits for its listing, in milliseconds. */
const LISTING_MS = 1000

export interface AlarmPorts extends Pick<AlarmClockPorts, 'setAlarm' | 'getAlarm'> {
  readonly setup: Setup
  readonly store: Store
  readonly runner: () => Runner
  /** Keeps the object in memory until some work ends, which no alarm waits for. */
  readonly waitUntil: (work: Promise<unknown>) => void
}

/** The duties of a conversation that become due, and the one alarm for all of them. */
export class Alarms {
  readonly #ports: AlarmPorts
  /** The unfinished runs that this instance has reported. */
  readonly #reportedRuns = new Set<string>()
  readonly #clock: AlarmClock
  /** Whether what is due is being sent. */
  #isSending = false
  /** The current reporting of ended runs. */
  #reporting: Promise<void> | undefined

  constructor(ports: AlarmPorts) {
    this.#ports = ports
    const { setAlarm, getAlarm, setup } = ports
    this.#clock = new AlarmClock({ setAlarm, getAlarm, nextDue: () => nextDue(this.#dueTimes()), report: setup.report })
  }

  /** Sets the alarm to ring at a time, in epoch milliseconds, unless it rings earlier. */
  wakeAt(time: number): void {
    this.#clock.wakeAt(time)
  }

  /** Sets the alarm if it is lost, or would ring after something stored is due. */
  restore(): Promise<void> {
    return this.#clock.restore()
  }

  /** Forgets the alarm's time, after a transaction that may have set it was rolled back. */
  forget(): void {
    this.#clock.forget()
  }

  /**
   * Reports the runs that are due by a time; without one, those that the current transaction adds, after it. If this is
   * lost, the alarm reports them.
   */
  sendSoon(by?: number): void {
    this.watch()
    void this.#reportSoon(by)
  }

  /** Makes sure that the alarm rings within some milliseconds, by default ten seconds. */
  watch(ms = WATCHDOG_MS): void {
    this.wakeAt(Date.now() + ms)
  }

  /**
   * Handles the alarm: performs the duties that are due, and stays while a run is being driven. The alarm is set again even
   * if a duty fails.
   */
  async onAlarm(): Promise<void> {
    this.#clock.ring()
    const last = Date.now() + MOST_STAY_MS
    try {
      do await this.#performDuties()
      while (await this.#stay(last))
    } catch (error) {
      this.reportFailure(error)
      this.watch()
    }
  }

  /** Stays until a duty is due or the run is not driven any more. Returns false, with the alarm set, if it is over then. */
  async #stay(last: number): Promise<boolean> {
    const { store } = this.#ports
    const runner = this.#ports.runner()
    if (store.life() !== 'open') return false
    const { completion } = runner
    if (completion && Date.now() < last && (await this.#clock.stay(completion, nextDue(this.#dueTimes())))) return true
    if (store.life() !== 'open') return false
    const due = nextDue(this.#dueTimes())
    const isUnattended = runner.completion !== undefined && !this.#clock.isSet
    this.wakeAt(isUnattended ? Math.min(due, Date.now() + FIRST_WATCH_MS) : due)
    return false
  }

  reportFailure(error: unknown): void {
    this.#ports.setup.report({ event: 'conversation.failed', detail: String(error) })
  }

  async #performDuties(): Promise<void> {
    const { store } = this.#ports
    const runner = this.#ports.runner()
    const now = Date.now()
    const due = this.#dueTimes()
    if (isDue(due, 'expire', now)) return this.#expire()
    runner.retryParked()
    runner.checkCurrent()
    runner.pump()
    if (isDue(due, 'prune', now)) {
      store.prune(now - PRUNE_MS)
      store.faults.removeUpTo(now - this.#faultsMs())
    }
    this.#reportLongRuns(now - WATCHDOG_MS)
    if (isDue(due, 'send', now)) this.#ports.waitUntil(this.#sendDue(now))
  }

  /** Sends and reports what is due. The next alarm rings meanwhile, since a host or a directory may take its time. */
  async #sendDue(now: number): Promise<void> {
    this.#isSending = true
    try {
      await Promise.all([this.#sendWebhooks(now), this.#reportDue()]).finally(() => (this.#isSending = false))
      // An object that was lost by now throws at its first read.
      if (this.#ports.store.life() === 'open') this.wakeAt(nextDue(this.#dueTimes()))
    } catch (error) {
      // The alarm that was set in case the object is lost does it again.
      this.reportFailure(error)
    }
  }

  /** Sends the webhook messages that are due; an edge without webhooks drops them. */
  async #sendWebhooks(now: number): Promise<void> {
    const { store, setup } = this.#ports
    const { outbox } = store
    if (setup.webhooks) return setup.webhooks.send(outbox, store.settings().webhook ?? '')
    for (const message of outbox.dueMessages(now)) outbox.drop(message)
  }

  /** Reports the usage and the runs that are due. */
  async #reportDue(): Promise<void> {
    await reportDueSpend(this.#ports, () => this.reportSpend())
    await this.reportRuns()
  }

  #dueTimes(): DueTimes {
    const { store } = this.#ports
    const runner = this.#ports.runner()
    const run = runner.dueAt()
    const open = runner.runs.current()
    const unpruned = store.runs.unpruned()
    const prune = Math.min(unpruned ? unpruned.ended + PRUNE_MS : Infinity, store.faults.oldest() + this.#faultsMs())
    const isOwing = store.unreportedSpend().length > 0
    const isReporting = store.outbox.hasReports()
    const expires = Math.min(store.time('expires'), store.time('idle'))
    return {
      run: Math.min(run, nextParkedDue(store)),
      // A current or queued run delays expiry; one that waits for others does not. Usage and runs that are not reported
      // yet are reported first, and the conversation is listed before it is removed from the list.
      expire: isOwing || isReporting ? Infinity : open && !isWaiting(open) ? Math.max(expires, run) : expires,
      // A conversation with a fixed end is deleted soon, so pruning it is not worth the effort.
      prune: store.time('expires') === Infinity ? prune : Infinity,
      // In case the object is lost while it sends, the alarm rings anyway.
      send: this.#isSending
        ? Date.now() + WATCHDOG_MS
        : Math.min(isOwing ? store.spendRetry().due : Infinity, store.outbox.nextDue()),
    }
  }

  /** How long faults are stored, in milliseconds. */
  #faultsMs(): number {
    return this.#ports.setup.config.faultDays * 24 * 60 * 60 * 1000
  }

  /** Schedules reports of unfinished runs that were accepted up to a time. */
  #reportLongRuns(acceptedBy: number): void {
    const { store } = this.#ports
    for (const id of store.runs.unfinished()) {
      if (!this.#reportedRuns.has(id) && store.runs.acceptedAt(id) <= acceptedBy) this.reportUnended(id, false)
    }
  }

  /**
   * Creates the conversation at once, and then has it listed, unless it has a fixed end. The alarm repeats the listing
   * until it succeeds. Resolves when the conversation is listed, when that has failed, or after a second.
   */
  create(owner: ConversationOwner, init?: () => void): Promise<void> {
    const { store, setup } = this.#ports
    const { tenant, id, expires, parent } = owner
    const listBy = Date.now() + WATCHDOG_MS
    store.create(() => {
      init?.()
      const shard = shardOf(id, setup.config.directoryShards)
      const optional = { ...(shard > 0 && { shard }), parent }
      store.setMeta('owner', { tenant, id, created: Date.now(), ...optional })
      if (expires === undefined) store.outbox.addListing(listBy)
      else store.setMeta('expires', expires)
    })
    if (expires !== undefined) return Promise.resolve()
    // If the object is lost before that, the caller has had no reply, and creates the conversation again.
    const watch = () => this.watch()
    return withDeadline(LISTING_MS, this.#reportSoon(listBy))
      .catch(watch)
      .catch((error: unknown) => this.reportFailure(error))
  }

  /** Schedules a report of the status of an unfinished run, to those that want it. `isNews`: as in `addUnendedReport`. */
  reportUnended(id: string, isNews?: boolean): void {
    this.#reportedRuns.add(id)
    if (this.#ports.store.addUnendedReport(id, Date.now(), isNews)) this.sendSoon()
  }

  #reportPorts(): ReportPorts {
    const { store, setup, runner } = this.#ports
    return {
      ...{ store, setup },
      findRun: (id) => runner().runs.find(id),
      addFact: (...fact) => runner().addFact(...fact),
      list: () => this.#addToDirectory(),
    }
  }

  /**
   * Reports all usage and runs that are not reported yet, before the conversation is deleted. Throws as `reportSpend`
   * does.
   */
  async reportAll(): Promise<void> {
    this.#ports.store.outbox.dropListing()
    await this.reportSpend()
    await this.reportRuns(Infinity)
  }

  /** Reports the runs that are due by a time, after those that are being reported, and cancels those of agents. */
  async reportRuns(by?: number): Promise<void> {
    const work = (this.#reporting ?? Promise.resolve()).then(() => reportRuns(this.#reportPorts(), by))
    // A failure is that of this report alone, not of those after it.
    this.#reporting = work.catch(() => {})
    await work
  }

  /**
   * Reports the usage that is not reported yet to the tenant's directory. Throws if that fails; usage that is reported
   * twice counts once.
   */
  async reportSpend(): Promise<void> {
    const { store, setup } = this.#ports
    for (const unreportedSpend of store.unreportedSpend()) {
      await withDeadline(REPORT_MS, setup.directories.getByName(unreportedSpend.tenant).count(unreportedSpend.spend))
      const remainder = store.unreportedSpend().filter((each) => each !== unreportedSpend)
      store.setMeta('owed', remainder)
    }
  }

  /**
   * Reports the conversation's size, and the runs that are to be reported, after the current transaction. If this is
   * lost, the alarm reports the runs, and the next run the size.
   */
  async #reportSoon(by?: number): Promise<void> {
    const { store, setup } = this.#ports
    await this.reportSize()
    try {
      // An object that was lost by now throws at its first read.
      if (store.life() !== 'open') return
      if (by === undefined && !setup.reporters?.length && store.parent() === undefined) return
      await this.reportRuns(by)
      if (store.life() === 'open') this.wakeAt(store.outbox.nextDue())
    } catch (error) {
      this.reportFailure(error)
    }
  }

  /** Reports the conversation's size after the current transaction. If this is lost, the next growth is reported. */
  async reportSize(): Promise<void> {
    const { store, setup } = this.#ports
    await Promise.resolve()
    try {
      if (store.life() === 'open') await reportGrowth(store, setup)
    } catch (error) {
      this.reportFailure(error)
    }
  }

  async #addToDirectory(): Promise<unknown> {
    const { store, setup } = this.#ports
    const owner = store.meta('owner')
    if (!isObject(owner)) return undefined
    const directory = setup.directories.getByName(String(owner.tenant))
    // The conversation of an agent is not listed, and counts all the same.
    return store.parent() === undefined
      ? directory.add(String(owner.id), store.shard())
      : directory.resize(String(owner.id), FIRST_BYTES, store.countedUntil(), store.shard())
  }

  async #expire(): Promise<void> {
    const { store, setup } = this.#ports
    // Their usage is reported first.
    if (store.endParkedRuns()) return this.watch()
    await removeChildren({ store, setup, now: () => Date.now() })
    if (store.life() !== 'open') return
    const owner = store.meta('owner')
    // A conversation with a fixed end is in no directory.
    if (store.time('expires') === Infinity && store.parent() === undefined && isObject(owner)) {
      const directory = setup.directories.getByName(String(owner.tenant))
      // The directory comes first: if that fails, the whole expiry is tried again.
      await directory.remove(String(owner.id))
      if (store.life() !== 'open') return
      if (!isDue(this.#dueTimes(), 'expire', Date.now())) {
        // The conversation was used in the meantime.
        await directory.add(String(owner.id), store.shard())
        return this.watch()
      }
    }
    this.#ports.runner().runs.clear()
    await store.deleteAll()
  }

  /** Notes activity in the conversation: its idle time starts again. */
  touch(): void {
    const { store } = this.#ports
    const { ttlSeconds } = store.settings()
    if (ttlSeconds === undefined) return
    const idle = Date.now() + ttlSeconds * 1000
    store.setMeta('idle', idle)
    this.wakeAt(idle)
  }

  /**
   * Handles a change of a run's status, or of what it waits for, by an event, within the transaction that stores the
   * event. `before`: what it waited for.
   */
  onStatus(state: RunState, eventId: string, before: RunWait | undefined): void {
    const { store } = this.#ports
    this.touch()
    const now = Date.now()
    const { request, status, wait } = state
    // A run whose agents are at work is itself at work, for everybody else.
    const isAtRest = status === 'waiting' && wait?.for !== 'agent'
    // An answer of a person or the caller is reported where it is taken; that of a tool, here.
    const continues = before?.for === 'tool' && status === 'running'
    // A run that waits may do so for long, so its usage so far is counted now.
    if (isTerminal(status) || isAtRest) this.#owe(request, ownUsage(state), now)
    if (isAtRest && store.addWaitReport(eventId, now)) this.sendSoon()
    if (isAtRest || (request.agent && continues)) this.reportUnended(request.runId)
    if (isTerminal(status)) this.#reportEnd(request.runId)
    this.#notify(() => store.children.describe(recordOf(state)), eventId)
  }

  /** Notes what a run has used of the budget of its key, so that it is counted. */
  #owe({ budget, caller, runId }: RunRequest, usage: Usage, now: number): void {
    const { store } = this.#ports
    const { key, tenant } = caller
    if (!budget || key === undefined) return
    store.setMeta('owed', [...store.unreportedSpend(), { tenant, spend: makeSpend(key, runId, usage, now) }])
    this.wakeAt(now)
  }

  /** Handles the end of a run whose state is not folded, within the transaction that stores it. `ownUsage`: without agents. */
  onEndUnread(record: RunRecord, ownUsage: Usage, eventId: string): void {
    const request = this.#ports.store.runs.request(record.id)
    if (request) this.#owe(request, ownUsage, Date.now())
    this.#reportEnd(record.id)
    this.#notify(() => record, eventId)
  }

  /** Handles a run that is parked, within the transaction that stores it. */
  onParked(record: RunRecord, eventId: string): void {
    this.watch()
    this.#notify(() => record, eventId)
  }

  #reportEnd(run: string): void {
    this.#reportedRuns.delete(run)
    this.sendSoon()
  }

  /** Adds the webhook message about a run, if the conversation has a webhook and a message is sent at this status. */
  #notify(record: () => RunRecord, eventId: string): void {
    const { store, setup } = this.#ports
    const now = Date.now()
    const body = store.settings().webhook === undefined ? undefined : setup.webhooks?.bodyOf(record(), now)
    if (body === undefined) return
    store.outbox.add(eventId, body, now)
    this.wakeAt(now)
  }
}
