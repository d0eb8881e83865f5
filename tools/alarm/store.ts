/** The SQL table of one tenant's alarms. Times are epoch milliseconds; `now` is always a parameter. */
import { type Notice, retryDelay, TIMEOUT_MS } from './notify.ts'

/** An alarm as it was set. */
export interface Alarm {
  readonly id: string
  /** ISO 8601, as it was written. */
  readonly time: string
  readonly message: string
}

export interface NewAlarm {
  /** Requests with the same key set one alarm. */
  readonly key: string
  readonly tenant: string
  readonly message: string
  readonly time: string
  /** The same moment as epoch milliseconds. */
  readonly at: number
}

export type AlarmState = 'pending' | 'fired' | 'cancelled'

/** Why an alarm was not set. */
export type Refusal = 'past' | 'too-far' | 'too-many'

export interface ListedAlarm extends Alarm {
  readonly state: 'pending' | 'fired'
  /** ISO 8601 in UTC. */
  readonly firedAt?: string
  /** The state of the notice; absent if NOTIFY_URL is not set. */
  readonly delivery?: 'trying' | 'delivered' | 'failed'
}

const DAY = 86_400_000
/** How far ahead an alarm may be set. */
const HORIZON = 366 * DAY
/** How long an alarm is kept after it has ended. */
const MEMORY = 7 * DAY
export const MOST_PENDING = 100
const MOST_FIRED_LISTED = 20
/** The number of notices that are sent at once: a Worker may have six open connections. */
const BATCH = 6
/** The time after which an attempt without a recorded result counts as lost with its object. */
const LEASE = 2 * TIMEOUT_MS

/**
 * `due` is the time at which the object must next wake for the row: the alarm's own time while it is pending, then the
 * time of the next attempt to deliver its notice, and NULL when nothing is left to do.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS alarms (
    id TEXT PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    message TEXT NOT NULL,
    time TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'fired', 'cancelled')),
    due INTEGER,
    ended_at INTEGER,
    delivery TEXT CHECK (delivery IN ('trying', 'delivered', 'failed')),
    attempts INTEGER NOT NULL DEFAULT 0,
    problem TEXT
  ) STRICT;
  CREATE INDEX IF NOT EXISTS alarms_due ON alarms (due) WHERE due IS NOT NULL;
`

export function createTable(sql: SqlStorage): void {
  sql.exec(SCHEMA)
}

/**
 * Sets an alarm, or returns the one that its key has set before, whatever its state is now. Refuses a time that is past
 * or more than `HORIZON` ahead, and more than `MOST_PENDING` pending alarms.
 */
export function addAlarm(sql: SqlStorage, alarm: NewAlarm, now: number): Alarm | Refusal {
  const { key, tenant, message, time, at } = alarm
  const [existing] = rows(sql, 'SELECT id, time, message FROM alarms WHERE key = ?', key)
  if (existing) return toAlarm(existing)
  if (at <= now) return 'past'
  if (at > now + HORIZON) return 'too-far'
  const pending = rows(sql, `SELECT id FROM alarms WHERE state = 'pending' LIMIT ?`, MOST_PENDING).length
  if (pending === MOST_PENDING) return 'too-many'
  const id = crypto.randomUUID()
  const insert = 'INSERT INTO alarms (id, key, tenant, message, time, due) VALUES (?, ?, ?, ?, ?, ?)'
  sql.exec(insert, id, key, tenant, message, time, at)
  return { id, time, message }
}

/** Returns the pending alarms, the next one first, then the last ones that fired, newest first. */
export function readAlarms(sql: SqlStorage): ListedAlarm[] {
  const pending = rows(sql, `SELECT * FROM alarms WHERE state = 'pending' ORDER BY due, rowid`)
  const fired = rows(
    sql,
    `SELECT * FROM alarms WHERE state = 'fired' ORDER BY ended_at DESC, rowid DESC LIMIT ?`,
    MOST_FIRED_LISTED,
  )
  return [...pending, ...fired].map((row) => {
    const delivery = row.delivery ? { delivery: row.delivery } : {}
    return row.state === 'fired'
      ? { ...toAlarm(row), state: 'fired', firedAt: iso(row.ended_at), ...delivery }
      : { ...toAlarm(row), state: 'pending' }
  })
}

/** Cancels an alarm if it is pending. Returns the state of the alarm afterwards, or undefined if the id is unknown. */
export function endAlarm(sql: SqlStorage, id: string, now: number): AlarmState | undefined {
  const cancel = `UPDATE alarms SET state = 'cancelled', due = NULL, ended_at = ? WHERE id = ? AND state = 'pending'`
  sql.exec(cancel, now, id)
  return rows(sql, 'SELECT state FROM alarms WHERE id = ?', id)[0]?.state
}

/** Marks all alarms that are due as fired, and returns their notices in the order of their times. */
export function fireDue(sql: SqlStorage, now: number, notifies: boolean): Notice[] {
  const ready = rows(sql, `SELECT * FROM alarms WHERE state = 'pending' AND due <= ? ORDER BY due, rowid`, now)
  sql.exec(
    `UPDATE alarms SET state = 'fired', ended_at = ?, due = ?, delivery = ? WHERE state = 'pending' AND due <= ?`,
    now,
    notifies ? now : null,
    notifies ? 'trying' : null,
    now,
  )
  return ready.map((row) => toNotice({ ...row, ended_at: now }))
}

/**
 * Returns up to `BATCH` notices that are due, and counts an attempt for each before it is made. If the object dies
 * during the attempt, the next attempt follows when the lease ends; after the last one, the delivery counts as failed.
 */
export function bookAttempts(sql: SqlStorage, now: number): Notice[] {
  const ready = rows(sql, `SELECT * FROM alarms WHERE state = 'fired' AND due <= ? ORDER BY due LIMIT ?`, now, BATCH)
  const booked = ready.filter((row) => retryDelay(row.attempts) !== undefined)
  for (const row of ready) {
    if (!booked.includes(row)) recordAttempt(sql, row.id, 'the attempt was cut off', now)
  }
  for (const { id } of booked) {
    sql.exec('UPDATE alarms SET attempts = attempts + 1, due = ? WHERE id = ?', now + LEASE, id)
  }
  return booked.map(toNotice)
}

/** Records the result of an attempt. Without a problem the notice is delivered, else it is due again or has failed. */
export function recordAttempt(sql: SqlStorage, id: string, problem: string | undefined, now: number): void {
  const [row] = rows(sql, 'SELECT attempts FROM alarms WHERE id = ?', id)
  const delay = problem === undefined || !row ? undefined : retryDelay(row.attempts)
  const delivery = problem === undefined ? 'delivered' : delay === undefined ? 'failed' : 'trying'
  sql.exec(
    'UPDATE alarms SET delivery = ?, problem = ?, due = ? WHERE id = ?',
    delivery,
    problem ?? null,
    delay === undefined ? null : now + delay,
    id,
  )
}

/** Returns the time at which the object must wake next, or undefined if it need not. */
export function nextDue(sql: SqlStorage): number | undefined {
  return rows(sql, 'SELECT due FROM alarms WHERE due IS NOT NULL ORDER BY due LIMIT 1')[0]?.due ?? undefined
}

/** Deletes alarms that ended more than `MEMORY` ago. */
export function forgetOld(sql: SqlStorage, now: number): void {
  sql.exec('DELETE FROM alarms WHERE due IS NULL AND ended_at < ?', now - MEMORY)
}

interface Row extends Record<string, SqlStorageValue> {
  readonly id: string
  readonly tenant: string
  readonly message: string
  readonly time: string
  readonly state: AlarmState
  readonly due: number | null
  readonly ended_at: number
  readonly delivery: 'trying' | 'delivered' | 'failed' | null
  readonly attempts: number
}

function rows(sql: SqlStorage, query: string, ...bindings: SqlStorageValue[]): Row[] {
  return sql.exec<Row>(query, ...bindings).toArray()
}

function toAlarm({ id, time, message }: Row): Alarm {
  return { id, time, message }
}

function toNotice({ id, message, time, ended_at, tenant }: Row): Notice {
  return { id, message, time, firedAt: iso(ended_at), tenant }
}

function iso(time: number): string {
  return new Date(time).toISOString()
}
