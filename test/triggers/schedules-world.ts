import { DatabaseSync } from 'node:sqlite'
import { vi } from 'vitest'
import type { ScheduleService } from '../../src/contract/schedule.ts'
import type { Setup } from '../../src/contract/setup.ts'
import { edge, type EdgeWorker } from '../../src/http/app/edge.ts'
import type { Surface } from '../../src/http/surface.ts'
import { schedulesObject } from '../../src/triggers/schedules.ts'
import { type KeptEdge, keptEdge } from '../http/kept-edge.ts'
import { say } from '../fixtures/play.ts'
import type { Script } from '../fixtures/scripted.ts'
import type { TestSetup } from '../fixtures/setup.ts'
import { durableState, memoryStorage } from '../fixtures/sqlite.ts'
import { settle } from '../fixtures/settle.ts'

type SchedulesLife = ScheduleService & { alarm(): Promise<void> }

export interface ScheduledRun {
  readonly conversation: string
  readonly run: string
}

/**
 * An edge in plain Node with real conversations and one tenant’s object of schedules over SQLite, whose alarm rings when a
 * test says so. Tests fake `Date`.
 */
export class SchedulesWorld {
  readonly database = new DatabaseSync(':memory:')
  readonly reports: Record<string, unknown>[] = []
  readonly edge: KeptEdge
  /** When the alarm rings, in epoch milliseconds. */
  alarmAt = Infinity
  /** Told before the alarm is set; what it throws refuses that. */
  onSetAlarm: (time: number) => void = () => {}
  /** Told before a conversation is asked to start a run and after it has; what it throws is what the asker gets. */
  onStart: (moment: 'before' | 'after') => void | Promise<void> = () => {}
  /** The runs that conversations have accepted, in this order, each as often as it was. */
  readonly accepted: ScheduledRun[] = []
  object: SchedulesLife
  #endLife: () => void = () => {}

  constructor({
    script = Array.from({ length: 20_000 }, () => say('Hello.')),
    setup = {},
    ...parts
  }: { script?: readonly Script[]; setup?: Partial<Setup> } & Omit<TestSetup, 'others'> = {}) {
    this.edge = keptEdge({
      script,
      setup: {
        report: (entry) => void this.reports.push(entry),
        schedules: { getByName: () => this.object },
        ...setup,
      },
      ...parts,
    })
    this.object = this.live()
  }

  /** Another life of the object. That before loses its storage, as if its machine were lost. */
  live(): SchedulesLife {
    this.#endLife()
    let isOver = false
    this.#endLife = () => void (isOver = true)
    const storage = {
      ...memoryStorage(this.database),
      setAlarm: async (time: number) => {
        if (!isOver) this.#setAlarm(time)
      },
      getAlarm: async () => (this.alarmAt === Infinity ? null : this.alarmAt),
    }
    const { sql } = storage
    const guarded = new Proxy(sql, {
      get: (target, name) => {
        if (isOver) throw new Error('This object is no longer valid.')
        return Reflect.get(target, name, target)
      },
    })
    const Class = schedulesObject<object>(() => ({ ...this.edge.setup, conversations: this.#conversations() }))
    const ctx = durableState({ ...storage, sql: guarded })
    this.object = Object.assign(new Class(ctx, {}), { ctx })
    return this.object
  }

  /** Lets the time come at which the alarm rings. */
  async ring(): Promise<void> {
    if (this.alarmAt === Infinity) throw new Error('No alarm is set')
    vi.setSystemTime(Math.max(Date.now(), this.alarmAt))
    this.alarmAt = Infinity
    await this.object.alarm()
    await settle()
  }

  /** Lets the alarm ring until none is due up to a time, and the time pass. */
  async passUntil(time: number): Promise<void> {
    while (this.alarmAt <= time) await this.ring()
    vi.setSystemTime(Math.max(Date.now(), time))
  }

  async ask(
    path: string,
    { method = 'GET', json, headers = {} }: AskOptions = {},
  ): Promise<{ status: number; body: any }> {
    const response = await this.edge.fetch(path, {
      method,
      headers: { ...(json !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }

  put(name: string, json: object, headers?: Record<string, string>) {
    return this.ask(`/schedules/${name}`, { method: 'PUT', json, ...(headers && { headers }) })
  }

  /** Copies a schedule past the object until there are so many of it. */
  multiply(name: string, count: number): void {
    const copies = `WITH RECURSIVE copies(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM copies WHERE n < ${count - 1})`
    const [{ first } = { first: 0 }] = this.database
      .prepare('SELECT id AS first FROM schedules WHERE name = ?')
      .all(name)
    this.database.exec(`INSERT INTO schedules (name, definition, caller, stored) ${copies}
      SELECT name || '-' || n, definition, caller, stored FROM schedules, copies WHERE id = ${Number(first)}`)
    this.database.exec(`INSERT INTO states SELECT copy.id, wake, state, history FROM states, schedules AS copy
      WHERE states.id = ${Number(first)} AND copy.name LIKE '${name}-%'`)
  }

  /** How many rows of tables the object has written, without those of indexes. */
  rowsWritten(): number {
    return Number(this.database.prepare('SELECT total_changes() AS sum').get()?.['sum'])
  }

  #setAlarm(time: number): void {
    // As workerd does.
    if (time <= 0) throw new TypeError('setAlarm() cannot be called with an alarm time <= 0')
    this.onSetAlarm(time)
    this.alarmAt = time
  }

  /** The conversations of the edge, which note what they accept. */
  #conversations(): Setup['conversations'] {
    return {
      getByName: (name, options) => {
        const object = this.edge.setup.conversations.getByName(name, options)
        return new Proxy(object, {
          get: (target, method) => {
            const member: unknown = Reflect.get(target, method)
            if (method !== 'start') return typeof member === 'function' ? member.bind(target) : member
            return async (...args: Parameters<typeof target.start>) => {
              await this.onStart('before')
              const reply = await target.start(...args)
              if (reply.ok && !reply.replayed)
                this.accepted.push({ conversation: name.replace(/^v1\/[^/]+\//, ''), run: reply.runId })
              await this.onStart('after')
              return reply
            }
          },
        })
      },
    }
  }
}

interface AskOptions {
  readonly method?: string
  readonly json?: unknown
  readonly headers?: Record<string, string>
}

/** The handler of an edge with one more surface. */
export function workerOf(setup: Setup, surface: Surface): EdgeWorker<object> {
  return edge(() => setup, [surface])
}
