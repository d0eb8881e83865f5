import { DurableObject } from 'cloudflare:workers'
import { type Notice, notify } from './notify.ts'
import * as store from './store.ts'
import type { Alarm, AlarmState, ListedAlarm, NewAlarm, Refusal } from './store.ts'

export interface AlarmEnv {
  readonly ALARMS: DurableObjectNamespace<Alarms>
  readonly NOTIFY_URL?: string
}

/**
 * The alarms of one tenant. All state is in the table, and the storage alarm is set to the earliest due time, so the
 * object continues where it was after any restart.
 */
export class Alarms extends DurableObject<AlarmEnv> {
  constructor(ctx: DurableObjectState, env: AlarmEnv) {
    super(ctx, env)
    store.createTable(ctx.storage.sql)
  }

  async set(alarm: NewAlarm): Promise<Alarm | Refusal> {
    store.forgetOld(this.ctx.storage.sql, Date.now())
    const answer = store.addAlarm(this.ctx.storage.sql, alarm, Date.now())
    await this.#wakeWhenDue()
    return answer
  }

  list(): ListedAlarm[] {
    return store.readAlarms(this.ctx.storage.sql)
  }

  async cancel(id: string): Promise<AlarmState | undefined> {
    const state = store.endAlarm(this.ctx.storage.sql, id, Date.now())
    await this.#wakeWhenDue()
    return state
  }

  override async alarm(): Promise<void> {
    const { sql } = this.ctx.storage
    const now = Date.now()
    const url = this.env.NOTIFY_URL ?? ''
    for (const { id, tenant, time, firedAt } of store.fireDue(sql, now, url !== '')) {
      console.log(JSON.stringify({ event: 'alarm.fired', id, tenant, time, firedAt }))
    }
    const notices = store.bookAttempts(sql, now)
    // If this object dies while it delivers, the storage alarm wakes it again when the leases end.
    await this.#wakeWhenDue()
    await Promise.all(notices.map((notice) => this.#deliver(url, notice)))
    await this.#wakeWhenDue()
  }

  async #deliver(url: string, notice: Notice): Promise<void> {
    const problem = await notify(url, notice)
    store.recordAttempt(this.ctx.storage.sql, notice.id, problem, Date.now())
    if (problem === undefined) return
    console.warn(JSON.stringify({ event: 'alarm.delivery_failed', id: notice.id, tenant: notice.tenant, problem }))
  }

  async #wakeWhenDue(): Promise<void> {
    const due = store.nextDue(this.ctx.storage.sql)
    await (due === undefined ? this.ctx.storage.deleteAlarm() : this.ctx.storage.setAlarm(due))
  }
}
