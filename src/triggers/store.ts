import { isStrings } from '../contract/api-key.ts'
import { isObject, parseJson } from '../contract/json.ts'
import { LazySchema, migrateTables } from '../contract/lazy-schema.ts'
import type { ScheduleDefinition, ScheduleEntry, ScheduleOutcome } from '../contract/schedule.ts'
import type { Caller } from '../contract/tool.ts'
import type { OnBroken } from '../conversation/store/database.ts'

/** Append new migrations, never edit old ones. Each is applied completely or not at all. */
const MIGRATIONS: readonly string[] = [
  // stored: when the times were stored, from which everySeconds counts. wake: when the schedule needs attention.
  // claims: the due times that are being handled, one row for many. counts: what due times came to, for metrics.
  `CREATE TABLE schedules (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, definition TEXT NOT NULL,
     caller TEXT NOT NULL, stored INTEGER NOT NULL);
   CREATE TABLE states (id INTEGER PRIMARY KEY, wake INTEGER, state TEXT NOT NULL, history TEXT NOT NULL);
   CREATE INDEX states_by_wake ON states (wake) WHERE wake IS NOT NULL;
   CREATE TABLE claims (id INTEGER PRIMARY KEY, occurrences TEXT NOT NULL);
   CREATE TABLE counts (outcome TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;`,
]

/** The most characters of what a schedule asks that lists show. */
const MOST_QUESTION = 200
/** The most entries of the history of a schedule. */
const MOST_ENTRIES = 30

/** What changes of a schedule with time. */
export interface ScheduleState {
  readonly paused: boolean
  /** The next due time, in epoch milliseconds; absent if there is none. */
  readonly next?: number
  /** The due time for which a run is still to be started. */
  readonly waiting?: WaitingTime
}

export interface WaitingTime {
  readonly due: number
  readonly missedFrom?: number
  /** How often a run could not be started for it. */
  readonly attempts: number
  /** How often in a row the run before had not ended. */
  readonly looks?: number
  /** Why the run was not started yet. */
  readonly code: string
  readonly message: string
  /** The schedule as it was, if it was stored again since and the run may have been started. */
  readonly before?: ScheduleTerms
}

/** What the runs of a schedule are, and as whom they are started. */
export interface ScheduleTerms {
  readonly definition: ScheduleDefinition
  readonly caller: Caller
}

/** A schedule as it is stored. */
export interface ScheduleRow extends ScheduleTerms {
  readonly id: number
  readonly name: string
  readonly stored: number
  readonly state: ScheduleState
  readonly history: readonly ScheduleEntry[]
}

/** A due time that is being handled, or a run that a request has asked for. */
export interface Occurrence {
  /** The id of the schedule's row. */
  readonly schedule: number
  readonly due: number
  readonly missedFrom?: number
  /** Set if the time has passed for too long, and the schedule does not make up for that. */
  readonly isMissed?: boolean
  readonly attempts: number
  /** How often in a row the run before had not ended. */
  readonly looks?: number | undefined
  /** The key of a run that a request has asked for. */
  readonly manual?: string
  /** The schedule as it was then, if it was replaced since. */
  readonly before?: ScheduleTerms
}

export interface Claim {
  readonly id: number
  readonly occurrences: readonly Occurrence[]
}

/** What a schedule is after one of its due times was handled. `wake`: when it needs attention next, Infinity for never. */
export interface ScheduleChange {
  readonly id: number
  readonly state: ScheduleState
  readonly wake: number
  readonly entry?: ScheduleEntry | undefined
}

/** The tables of a tenant's schedules. Times are in epoch milliseconds. */
export class ScheduleStore {
  readonly #storage: DurableObjectStorage
  readonly #schema: LazySchema
  readonly #onBroken: OnBroken
  /** The number of schedules; undefined while it is not known, since counting reads them all. */
  #count: number | undefined

  constructor(storage: DurableObjectStorage, onBroken: OnBroken = () => {}) {
    this.#storage = storage
    this.#onBroken = onBroken
    this.#schema = new LazySchema(storage.sql, 'schedules', () => migrateTables(storage, MIGRATIONS))
  }

  get(name: string): ScheduleRow | undefined {
    return this.#schedules('WHERE name = ?', name)[0]
  }

  byId(id: number): ScheduleRow | undefined {
    return this.#schedules('WHERE id = ?', id)[0]
  }

  list(after: string, limit: number): ScheduleRow[] {
    return this.#schedules('WHERE name > ? ORDER BY name LIMIT ?', after, limit)
  }

  /** Returns the schedules that need attention, the one that has waited longest first. */
  due(now: number, limit: number): ScheduleRow[] {
    return this.#schedules('WHERE wake <= ? ORDER BY wake, id LIMIT ?', now, limit)
  }

  count(): number {
    return (this.#count ??= this.#rows<{ count: number }>('SELECT count(*) AS count FROM schedules')[0]?.count ?? 0)
  }

  /** Returns the bytes of the object. */
  bytes(): number {
    return this.#storage.sql.databaseSize
  }

  /** Stores a schedule. The due times of an earlier one that are being handled keep to what it was. */
  put(row: Omit<ScheduleRow, 'id' | 'history'>, wake: number): void {
    const { name, definition, caller, stored, state } = row
    this.#schema.ensure()
    const before = this.get(name)
    const count = this.#count
    this.#count = undefined
    this.#storage.transactionSync(() => {
      if (before) this.#keepBefore(before)
      const values = [JSON.stringify(definition), JSON.stringify(caller), stored]
      const [{ id } = { id: 0 }] = this.#rows<{ id: number }>(
        `INSERT INTO schedules (name, definition, caller, stored) VALUES (?, ?, ?, ?) ON CONFLICT (name)
         DO UPDATE SET definition = excluded.definition, caller = excluded.caller, stored = excluded.stored RETURNING id`,
        name,
        ...values,
      )
      this.#rows(
        `INSERT INTO states VALUES (?, ?, ?, '[]') ON CONFLICT (id)
         DO UPDATE SET wake = excluded.wake, state = excluded.state`,
        id,
        wakeValue(wake),
        JSON.stringify(state),
      )
    })
    if (count !== undefined) this.#count = before ? count : count + 1
  }

  remove(name: string): boolean {
    const row = this.get(name)
    if (row) this.#storage.transactionSync(() => this.#removeRow(row.id))
    return row !== undefined
  }

  /** Notes that these due times are being handled, and removes schedules that are kept no longer. */
  claim(occurrences: readonly Occurrence[], ended: readonly number[] = []): Claim {
    return this.#storage.transactionSync(() => {
      for (const id of ended) this.#removeRow(id)
      if (occurrences.length === 0) return { id: 0, occurrences }
      const [{ id } = { id: 0 }] = this.#rows<{ id: number }>(
        'INSERT INTO claims (occurrences) VALUES (?) RETURNING id',
        JSON.stringify(occurrences),
      )
      return { id, occurrences }
    })
  }

  claims(): Claim[] {
    return this.#rows<{ id: number; occurrences: string }>('SELECT id, occurrences FROM claims ORDER BY id').map(
      ({ id, occurrences }) => {
        const values = parseJson(occurrences)
        return { id, occurrences: Array.isArray(values) ? values.filter(isOccurrence) : [] }
      },
    )
  }

  /** Stores what the due times of a claim came to. `changesOf` reads the schedules as they are now. */
  settle(claim: Pick<Claim, 'id'>, changesOf: () => readonly ScheduleChange[]): void {
    this.#storage.transactionSync(() => {
      const counts = new Map<ScheduleOutcome, number>()
      for (const { id, state, wake, entry } of changesOf()) {
        this.#change(id, state, wake, entry)
        if (entry) counts.set(entry.outcome, (counts.get(entry.outcome) ?? 0) + 1)
      }
      for (const [outcome, count] of counts) {
        const add = 'INSERT INTO counts VALUES (?1, ?2) ON CONFLICT (outcome) DO UPDATE SET count = count + ?2'
        this.#rows(add, outcome, count)
      }
      this.#rows('DELETE FROM claims WHERE id = ?', claim.id)
    })
  }

  setState(id: number, state: ScheduleState, wake: number): void {
    this.#rows('UPDATE states SET wake = ?, state = ? WHERE id = ?', wakeValue(wake), JSON.stringify(state), id)
  }

  /** Returns when a schedule needs attention next; Infinity for never. */
  nextWake(): number {
    const [row] = this.#rows<{ wake: number }>('SELECT wake FROM states WHERE wake IS NOT NULL ORDER BY wake LIMIT 1')
    return row?.wake ?? Infinity
  }

  /** Returns how often due times came to each outcome. */
  counts(): readonly { readonly outcome: string; readonly count: number }[] {
    return this.#rows('SELECT outcome, count FROM counts ORDER BY outcome')
  }

  #change(id: number, state: ScheduleState, wake: number, entry: ScheduleEntry | undefined): void {
    if (!entry) return this.setState(id, state, wake)
    const history = [entry, ...(this.byId(id)?.history ?? [])].slice(0, MOST_ENTRIES)
    this.#rows(
      'UPDATE states SET wake = ?, state = ?, history = ? WHERE id = ?',
      wakeValue(wake),
      JSON.stringify(state),
      JSON.stringify(history),
      id,
    )
  }

  #removeRow(id: number): void {
    this.#count = undefined
    this.#rows('DELETE FROM schedules WHERE id = ?', id)
    this.#rows('DELETE FROM states WHERE id = ?', id)
  }

  /** Adds a schedule that is about to be replaced to its due times that are being handled. */
  #keepBefore({ id: schedule, definition, caller }: ScheduleRow): void {
    for (const { id, occurrences } of this.claims()) {
      if (!occurrences.some((each) => each.schedule === schedule && !each.before)) continue
      const changed = occurrences.map((each) =>
        each.schedule === schedule && !each.before ? { ...each, before: { definition, caller } } : each,
      )
      this.#rows('UPDATE claims SET occurrences = ? WHERE id = ?', JSON.stringify(changed), id)
    }
  }

  #schedules(condition: string, ...values: SqlStorageValue[]): ScheduleRow[] {
    const query = `SELECT id, name, definition, caller, stored, state, history FROM schedules JOIN states USING (id) ${condition}`
    return this.#rows<StoredRow>(query, ...values).flatMap((row) => {
      const [definition, caller] = [parseJson(row.definition), parseJson(row.caller)]
      const [state, history] = [parseJson(row.state), parseJson(row.history)]
      const { id, name, stored } = row
      if (isDefinition(definition) && isCaller(caller) && isState(state) && isHistory(history))
        return [{ id, name, stored, definition, caller, state, history }]
      // It is read again when it is replaced or removed, and not each time that it would be due.
      this.#rows('UPDATE states SET wake = NULL WHERE id = ? AND wake IS NOT NULL', id)
      this.#onBroken({ table: 'schedules', key: name, reason: 'wrong shape' })
      return []
    })
  }

  #rows<Row extends Record<string, SqlStorageValue>>(query: string, ...values: SqlStorageValue[]): Row[] {
    return this.#schema.isCreated ? this.#storage.sql.exec<Row>(query, ...values).toArray() : []
  }
}

interface StoredRow extends Record<string, SqlStorageValue> {
  readonly id: number
  readonly name: string
  readonly definition: string
  readonly caller: string
  readonly stored: number
  readonly state: string
  readonly history: string
}

function isDefinition(value: unknown): value is ScheduleDefinition {
  return isObject(value) && isObject(value['run'])
}

function isCaller(value: unknown): value is Caller {
  return isObject(value) && typeof value['tenant'] === 'string' && isStrings(value['scopes'])
}

function isState(value: unknown): value is ScheduleState {
  return isObject(value) && typeof value['paused'] === 'boolean'
}

function isHistory(value: unknown): value is ScheduleEntry[] {
  return Array.isArray(value) && value.every(isObject)
}

function isOccurrence(value: unknown): value is Occurrence {
  return isObject(value) && typeof value['schedule'] === 'number' && typeof value['due'] === 'number'
}

function wakeValue(wake: number): number | null {
  return wake === Infinity ? null : wake
}

/** Returns the beginning of the text that a run is asked: of its last message, if there are several. */
export function questionText(input: unknown): string {
  const last: unknown = Array.isArray(input)
    ? input.findLast((message) => isObject(message) && message['role'] === 'user')
    : input
  const content: unknown = isObject(last) ? last['content'] : last
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content]
  const texts = parts.map((part) => (isObject(part) ? part['text'] : part))
  return texts
    .filter((text) => typeof text === 'string')
    .join(' ')
    .slice(0, MOST_QUESTION)
}
