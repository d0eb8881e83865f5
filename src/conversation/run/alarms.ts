import { spendOf } from '../../contract/budget.ts'
import { isObject } from '../../contract/json.ts'
import { isTerminal } from '../../contract/run.ts'
import type { Setup } from '../../contract/setup.ts'
import type { RunState } from '../../loop/state.ts'
import { waits } from './open-run.ts'
import type { Runner } from './runner.ts'
import { type DueTimes, isDue, nextDue, PRUNE_MS, WATCHDOG_MS } from './schedule.ts'
import type { Store } from '../store/store.ts'
import { notice, sendNotices } from './webhook.ts'

export interface UpkeepPorts {
  readonly setup: Setup
  readonly store: Store
  readonly setAlarm: (time: number) => void
}

/** The duties of a conversation that become due, and the one alarm for all of them. */
export class Upkeep {
  readonly #ports: UpkeepPorts
  /** The time for which this instance has set the alarm, in epoch milliseconds. */
  #alarmAt = Infinity

  constructor(ports: UpkeepPorts) {
    this.#ports = ports
  }

  /** Makes sure that the alarm rings by a time, in epoch milliseconds. */
  wakeAt(time: number): void {
    if (time >= this.#alarmAt) return
    this.#alarmAt = time
    this.#ports.setAlarm(time)
  }

  /** Makes sure that the watchdog alarm rings. */
  watch(): void {
    this.wakeAt(Date.now() + WATCHDOG_MS)
  }

  /** Handles the alarm: performs the duties that are due. The alarm is set again even if one of them fails. */
  async ring(runner: Runner): Promise<void> {
    this.#alarmAt = Infinity
    try {
      await this.#perform(runner)
    } catch (error) {
      this.failed(error)
      this.watch()
    }
  }

  failed(error: unknown): void {
    this.#ports.setup.report({ event: 'conversation.failed', detail: String(error) })
  }

  async #perform(runner: Runner): Promise<void> {
    const { store, setup } = this.#ports
    const now = Date.now()
    const due = this.#dueTimes(runner)
    if (isDue(due, 'expire', now)) return this.#expire(runner)
    runner.tend()
    runner.pump()
    if (isDue(due, 'prune', now)) store.prune(now - PRUNE_MS)
    if (isDue(due, 'send', now)) {
      // The alarm is set first, in case the object is lost while it sends.
      this.watch()
      const { webhook, config, report } = setup
      const { webhook: url = '' } = store.settings()
      await sendNotices(store.notices, { url, webhook, isOpen: config.auth === 'open', now: () => Date.now(), report })
      await this.settle()
    }
    this.wakeAt(nextDue(this.#dueTimes(runner)))
  }

  #dueTimes(runner: Runner): DueTimes {
    const { store } = this.#ports
    const run = runner.dueAt()
    const open = runner.runs.current()
    const unpruned = store.runs.unpruned()
    const isOwing = store.owed().length > 0
    const expires = Math.min(store.time('expires'), store.time('idle'))
    return {
      run,
      // A run under way or queued holds off expiry; one that waits for others does not. Owed usage is reported first.
      expire: isOwing ? Infinity : open && !waits(open) ? Math.max(expires, run) : expires,
      // A conversation with a fixed end is deleted soon, so pruning it is not worth the effort.
      prune: unpruned && store.time('expires') === Infinity ? unpruned.ended + PRUNE_MS : Infinity,
      send: isOwing ? 0 : store.notices.nextDue(),
    }
  }

  /** Reports owed usage to the tenant's directory. Throws if that fails; usage that is reported twice counts once. */
  async settle(): Promise<void> {
    const { store, setup } = this.#ports
    for (const owed of store.owed()) {
      await setup.directories.getByName(owed.tenant).count(owed.spend)
      const left = store.owed().filter((each) => each !== owed)
      store.setFact('owed', left)
    }
  }

  async #expire(runner: Runner): Promise<void> {
    const { store, setup } = this.#ports
    const owner = store.fact('owner')
    // A conversation with a fixed end is in no directory.
    if (store.time('expires') === Infinity && isObject(owner)) {
      const list = setup.directories.getByName(String(owner.tenant))
      // The directory comes first: if that fails, the whole expiry is tried again.
      await list.remove(String(owner.id))
      if (store.life() !== 'open') return
      if (!isDue(this.#dueTimes(runner), 'expire', Date.now())) {
        // The conversation was used meanwhile.
        await list.add(String(owner.id))
        return this.watch()
      }
    }
    runner.runs.clear()
    await store.forget()
  }

  /** Notes activity in the conversation: its idle time begins anew. */
  used(): void {
    const { store } = this.#ports
    const { ttlSeconds } = store.settings()
    if (ttlSeconds === undefined) return
    const idle = Date.now() + ttlSeconds * 1000
    store.setFact('idle', idle)
    this.wakeAt(idle)
  }

  /** Handles a change of a run's status by an event, within the transaction that stores the event. */
  changed(state: RunState, eventId: string): void {
    const { store } = this.#ports
    this.used()
    const now = Date.now()
    const { request, status, usage } = state
    const { key, tenant } = request.caller
    // A run that waits may do so for long, so its usage so far is counted now.
    if (request.budget && key !== undefined && (isTerminal(status) || status === 'waiting')) {
      store.setFact('owed', [...store.owed(), { tenant, spend: spendOf(key, request.runId, usage, now) }])
      this.wakeAt(now)
    }
    const body = store.settings().webhook === undefined ? undefined : notice(state, now)
    if (body === undefined) return
    store.notices.add(eventId, body, now)
    this.wakeAt(now)
  }
}
