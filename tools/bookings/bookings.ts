import { DurableObject } from 'cloudflare:workers'
import { onceInSql, type SqlOnce } from 'edgecall/tool'
import * as store from './store.ts'
import type { Booking, NewBooking } from './store.ts'

export interface BookingsEnv {
  readonly BOOKINGS: DurableObjectNamespace<Bookings>
}

/** The hotel of one tenant, with its bookings. */
export class Bookings extends DurableObject<BookingsEnv> {
  readonly #sql: SqlStorage
  readonly #once: SqlOnce

  constructor(ctx: DurableObjectState, env: BookingsEnv) {
    super(ctx, env)
    this.#sql = ctx.storage.sql
    this.#once = onceInSql(ctx.storage)
    store.createTable(this.#sql)
  }

  find(number: number): Booking | undefined {
    return store.readBooking(this.#sql, number)
  }

  /** Books a room. Requests with the same key make one booking, or all get the same refusal. */
  book(key: string, booking: NewBooking): Booking | 'full' {
    return this.#once.sync(key, () => store.addBooking(this.#sql, booking))
  }

  /** Returns the booking that a request with that key made, if there is one. */
  async madeBy(key: string): Promise<Booking | undefined> {
    if ((await this.#once.status(key)) !== 'done') return undefined
    // For a key that is done, this returns the stored result and does no work.
    const answer = this.#once.sync(key, (): Booking | 'full' => 'full')
    return answer === 'full' ? undefined : answer
  }

  cancel(number: number): Booking | undefined {
    return store.markCancelled(this.#sql, number)
  }
}
