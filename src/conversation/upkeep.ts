import { spendOf } from '../contract/budget.ts'
import { isObject } from '../contract/json.ts'
import { isTerminal } from '../contract/run.ts'
import type { Setup } from '../contract/setup.ts'
import type { RunState } from '../loop/state.ts'
import { waits } from './open-run.ts'
import type { Runner } from './runner.ts'
import { type DueTimes, isDue, nextDue, PRUNE_MS, WATCHDOG_MS } from './schedule.ts'
import type { Store } from './store.ts'
import { notice, sendNotices } from './webhook.ts'

export interface UpkeepPorts {
  readonly setup: Setup
  readonly store: Store
  readonly setAlarm: (time: number) => void
}

/** What becomes due in a conversation, and the one alarm that sees to it. */
export class Upkeep {
  readonly #ports: UpkeepPorts
  /** When the alarm rings, as far as this life of the object knows. */
  #alarmAt = Infinity

  constructor(ports: UpkeepPorts) {
    this.#ports = ports
  }

  /** Makes sure that the alarm rings by then, in epoch milliseconds. */
  wakeAt(time: number): void {
    if (time >= this.#alarmAt) return
    this.#alarmAt = time
    this.#ports.setAlarm(time)
  }

  /** Makes sure that somebody looks after a run soon. */
  watch(): void {
    this.wakeAt(Date.now() + WATCHDOG_MS)
  }

  /** The alarm: whatever is due is done, and nothing that fails keeps it from ringing again. */
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
      // Should the object be lost while it sends.
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
      // What runs, or is about to, is not torn off; what waits for people is. What is owed is told before it is forgotten.
      expire: isOwing ? Infinity : open && !waits(open) ? Math.max(expires, run) : expires,
      // What is removed soon as a whole is not worth pruning.
      prune: unpruned && store.time('expires') === Infinity ? unpruned.ended + PRUNE_MS : Infinity,
      send: isOwing ? 0 : store.notices.nextDue(),
    }
  }

  /** Tells what runs used, for the keys of their callers. Throws where that fails; what was told twice counts once. */
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
    // One that is kept until a time is on no list.
    if (store.time('expires') === Infinity && isObject(owner)) {
      const list = setup.directories.getByName(String(owner.tenant))
      // First: where that fails, all of it is tried again.
      await list.remove(String(owner.id))
      if (store.life() !== 'open') return
      if (!isDue(this.#dueTimes(runner), 'expire', Date.now())) {
        // It was used meanwhile.
        await list.add(String(owner.id))
        return this.watch()
      }
    }
    runner.runs.clear()
    await store.forget()
  }

  /** Something happened in the conversation: its time without activity begins anew. */
  used(): void {
    const { store } = this.#ports
    const { ttlSeconds } = store.settings()
    if (ttlSeconds === undefined) return
    const idle = Date.now() + ttlSeconds * 1000
    store.setFact('idle', idle)
    this.wakeAt(idle)
  }

  /** A run's status has changed, by that event; within the transaction that keeps it. */
  changed(state: RunState, eventId: string): void {
    const { store } = this.#ports
    this.used()
    const now = Date.now()
    const { request, status, usage } = state
    const { key, tenant } = request.caller
    // One that waits may wait for long, so it is counted up to there.
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
