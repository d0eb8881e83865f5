import { FEATURES } from '../fixtures/setup.ts'
import { createHash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { mock } from 'node:test'
import { agentSource } from '../../src/agent.ts'
import type { AgentOptions } from '../../src/contract/agent.ts'
import type { Spend } from '../../src/contract/budget.ts'
import { readConfig } from '../../src/contract/config.ts'
import type { ConversationService } from '../../src/contract/conversation.ts'
import type { RunEvent } from '../../src/contract/event.ts'
import { contentText } from '../../src/contract/message.ts'
import type { ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import type { RunRecord, RunRequest } from '../../src/contract/run.ts'
import type { Setup } from '../../src/contract/setup.ts'
import type { Tool, ToolSource } from '../../src/contract/tool.ts'
import { conversation } from '../../src/conversation/conversation.ts'
import { backUpConversation } from '../../src/conversation/backup/backup.ts'
import { Store } from '../../src/conversation/store/store.ts'
import { memoryDirectories } from '../fixtures/directories.ts'
import { requestOf } from '../fixtures/play.ts'
import { durableState, memoryStorage } from '../fixtures/sqlite.ts'
import { decodeLine } from '../../src/wire/events.ts'
import { releaseClock, setClock } from '../faults/simulation/clock.ts'
import { settle } from '../fixtures/settle.ts'

type Conversation = ConversationService & { alarm(): Promise<void> }
type Answer = (request: ModelRequest) => Iterable<ModelEvent> | AsyncIterable<ModelEvent>

export const TENANT = 'acme'
/** The conversation of the outermost run. */
export const HOME = 'conv_home'
/** When a family's time begins, in epoch milliseconds. */
export const START = 1_000_000

/** Milliseconds after which the platform repeats an alarm whose handler failed. */
const REPEAT_MS = 2000
/** How far the time passes at once while an alarm's handler waits, in milliseconds. */
const TICK_MS = 100
/** More alarms than any test passes, and more ticks than any handler takes: beyond them, something would go round for ever. */
const MOST_ALARMS = 20_000
const MOST_TICKS = 20_000

/** One of the objects, with what the platform stores of it. */
interface Member {
  database: DatabaseSync
  /** What was stored at earlier times, which `remember` has noted, the oldest first. */
  readonly past: { readonly at: number; readonly database: DatabaseSync }[]
  alarmAt: number
  lives: number
  object: Conversation | undefined
}

export interface FamilyOptions {
  /** Answers for all models, which the system text tells apart: that of an agent is its instructions. */
  readonly answer: Answer
  readonly agents: readonly AgentOptions[]
  readonly tools?: readonly Tool[]
  readonly vars?: Readonly<Record<string, unknown>>
  readonly setup?: Partial<Setup>
}

/**
 * The conversations of a tenant over real SQLite, which reach one another as the platform has them: a run, and those of the
 * agents below it. Their clock stands until it is set, and each can be lost at any time. One family at a time, since
 * the clock is the process's: close it at the end.
 */
export class Family {
  readonly members = new Map<string, Member>()
  readonly reports: Record<string, unknown>[] = []
  readonly requests: ModelRequest[] = []
  /** What was counted for budgets: the last report of each run. */
  readonly spent = new Map<string, Spend>()
  readonly directories = memoryDirectories()
  /** Told before each request of one object to another, and after it; what it throws is what the asking object gets. */
  onRequest: (moment: 'before' | 'after', method: string, conversation: string) => void | Promise<void> = () => {}
  /** The commits of all objects that are left before the one that makes the last of them is lost. */
  commitsToLoss = Infinity
  /** Whether that object is lost before the commit is on disk, or when its code next waits. */
  losesCommit = false
  readonly setup: Setup
  readonly #tools: readonly Tool[]
  readonly #releaseTime = holdTime(START)

  constructor({ answer, agents, tools = [], vars = {}, setup = {} }: FamilyOptions) {
    this.#tools = tools
    const all: ToolSource = {
      find: async (names) => this.#tools.filter(({ definition }) => names.includes(definition.name)),
      list: async () => ({ tools: this.#tools, unavailable: [] }),
      offered: async () => this.#tools,
    }
    const model = {
      name: 'test/scripted',
      stream: (request: ModelRequest) => {
        this.requests.push(structuredClone(request))
        return streamOf(answer(request))
      },
    }
    this.setup = {
      config: readConfig({ MODEL: model.name, AUTH: 'open', MODEL_WAIT_MS: '1', ...vars }),
      isolate: {},
      models: { resolve: () => ({ ok: true, name: model.name, model }), list: () => [] },
      tools: () => ({
        ...all,
        find: async (names) => [...(await all.find(names)), ...(await this.#agents.find(names))],
      }),
      conversations: { getByName: (name: string) => this.#asked(name) },
      directories: {
        getByName: (tenant: string) => {
          const directory = this.directories.getByName(tenant)
          return {
            add: (id: string) => directory.add(id),
            resize: (id: string, bytes: number, until?: number) => directory.resize(id, bytes, until),
            room: (id: string) => directory.room(id),
            remove: (id: string) => directory.remove(id),
            count: async (spend: Spend) => void this.spent.set(spend.run, spend),
          }
        },
      },
      backups: backUpConversation,
      loop: FEATURES,
      report: (entry) => void this.reports.push(entry),
      ...setup,
    } as Setup
    this.#agents = agentSource(agents, this.setup)
  }
  readonly #agents: ToolSource

  close(): void {
    this.loseAll()
    this.#releaseTime()
    for (const { database } of this.members.values()) database.close()
  }

  /** The object of a conversation, another one if it was lost. */
  at(id = HOME): Conversation {
    const member = this.#member(`v1/${TENANT}/${id}`)
    if (member.object) return member.object
    const life = member.lives
    const object = this.#live(member)
    // It may be lost while it is being made.
    if (member.lives === life) member.object = object
    return object
  }

  #member(name: string): Member {
    const current = this.members.get(name)
    if (current) return current
    const member: Member = {
      database: new DatabaseSync(':memory:'),
      past: [],
      alarmAt: Infinity,
      lives: 0,
      object: undefined,
    }
    this.members.set(name, member)
    return member
  }

  /** An object is lost, with all that it holds in memory. What it still does reaches neither its storage nor others. */
  lose(id = HOME): void {
    this.#lose(this.#member(`v1/${TENANT}/${id}`))
  }

  #lose(member: Member): void {
    member.lives += 1
    member.object = undefined
  }

  /** Has the platform know later what a conversation stores now. */
  remember(id = HOME): void {
    const member = this.#member(`v1/${TENANT}/${id}`)
    const database = new DatabaseSync(':memory:')
    database.exec('PRAGMA foreign_keys = OFF')
    const query = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type = 'index'"
    for (const { name, sql } of member.database.prepare(query).all()) {
      database.exec(String(sql))
      if (!String(sql).startsWith('CREATE TABLE')) continue
      for (const row of member.database.prepare(`SELECT * FROM ${String(name)}`).all()) {
        const values = Object.values(row)
        database.prepare(`INSERT INTO ${String(name)} VALUES (${values.map(() => '?').join()})`).run(...values)
      }
    }
    database.exec('PRAGMA foreign_keys = ON')
    member.past.push({ at: Date.now(), database })
  }

  loseAll(): void {
    for (const name of this.members.keys()) this.lose(idOf(name))
  }

  /** Rings each alarm that is due by a time, in the order in which they are, and lets the time come. */
  async passUntil(time: number): Promise<void> {
    for (let alarms = 0; ; alarms++) {
      const [name, member] =
        [...this.members].toSorted(([, a], [, b]) => a.alarmAt - b.alarmAt).find(([, each]) => each.alarmAt <= time) ??
        []
      if (!name || !member) break
      if (alarms > MOST_ALARMS) throw new Error(`the alarm of ${name} is always due, now at ${member.alarmAt}`)
      mock.timers.tick(Math.max(0, member.alarmAt - Date.now()))
      await settle()
      member.alarmAt = Infinity
      const end = { isReached: false, hasFailed: false }
      const alarm = this.at(idOf(name)).alarm()
      void alarm.catch(() => (end.hasFailed = true)).finally(() => (end.isReached = true))
      let ticks = 0
      for (await settle(); !end.isReached; await settle()) {
        if (ticks++ > MOST_TICKS) throw new Error(`the alarm of ${name} does not end`)
        mock.timers.tick(TICK_MS)
      }
      // As the platform does.
      if (end.hasFailed) member.alarmAt = Math.min(member.alarmAt, Date.now() + REPEAT_MS)
    }
    mock.timers.tick(Math.max(0, time - Date.now()))
    await settle()
  }

  pass(ms: number): Promise<void> {
    return this.passUntil(Date.now() + ms)
  }

  start(name: string | number, text: string, request: Partial<Omit<RunRequest, 'limits'>> = {}): Promise<unknown> {
    const run = requestOf({
      runId: runId(name),
      conversation: HOME,
      input: [{ role: 'user', content: text }],
      ...request,
    })
    return this.#definitions().then((tools) =>
      this.at(run.conversation).start({ run, tools, onBusy: 'queue', create: true }),
    )
  }

  async #definitions(): Promise<string> {
    const { tools } = await this.#agents.list()
    return JSON.stringify([...this.#tools, ...tools].map(({ definition }) => definition))
  }

  async record(name: string | number, id = HOME): Promise<RunRecord> {
    return this.recordOf(runId(name), id)
  }

  async recordOf(run: string, id: string): Promise<RunRecord> {
    const reply = await this.at(id).record(run, 0)
    if (!reply.ok) throw new Error(reply.code)
    return reply.record
  }

  /** The conversations of agents, by their ids, in the order in which they were made. */
  children(): string[] {
    return [...this.members.keys()].map(idOf).filter((id) => id !== HOME && this.store(id).life() === 'open')
  }

  /** The tables of a conversation, read past its object. */
  store(id = HOME): Store {
    return new Store(memoryStorage(this.#member(`v1/${TENANT}/${id}`).database))
  }

  journal(run: string, id = HOME): RunEvent[] {
    return [...this.store(id).events.after(run, 0)].flatMap((row) =>
      row.lines.flatMap((line) => decodeLine(line) ?? []),
    )
  }

  /** The runs of a conversation. */
  runs(id: string): string[] {
    return [...this.store(id).runs.all()].map((run) => run.id)
  }

  #live(member: Member): Conversation {
    const life = member.lives
    const check = () => {
      if (member.lives !== life) throw new Error('This object is no longer valid.')
    }
    const disk = memoryStorage(member.database)
    let isOpen = false
    const commit = <Result>(work: () => Result): Result => {
      if (isOpen) return work()
      const isLast = --this.commitsToLoss <= 0
      if (isLast) this.commitsToLoss = Infinity
      if (isLast && this.losesCommit) {
        this.#lose(member)
        check()
      }
      isOpen = true
      try {
        return work()
      } finally {
        isOpen = false
        if (isLast) queueMicrotask(() => this.#lose(member))
      }
    }
    const sql = {
      get databaseSize() {
        return disk.sql.databaseSize
      },
      exec: (query: string, ...values: SqlStorageValue[]) => {
        check()
        const exec = () => disk.sql.exec(query, ...values)
        return /^\s*(?:SELECT|CREATE)/.test(query) ? exec() : commit(exec)
      },
    }
    const storage = {
      ...disk,
      sql,
      transactionSync: <Result>(work: () => Result) => {
        check()
        return commit(() => disk.transactionSync(work))
      },
      setAlarm: async (time: number) => {
        if (member.lives === life) member.alarmAt = time
      },
      getAlarm: async () => (member.alarmAt === Infinity ? null : member.alarmAt),
      deleteAlarm: async () => {
        if (member.lives === life) member.alarmAt = Infinity
      },
    }
    let restored: DatabaseSync | undefined
    const recovery = {
      getBookmarkForTime: async (time: number) => String(member.past.findLastIndex(({ at }) => at <= time)),
      onNextSessionRestoreBookmark: async (bookmark: string) => {
        restored = member.past[Number(bookmark)]?.database
        if (!restored) throw new Error('Nothing was stored then.')
        return bookmark
      },
    }
    const abort = () => {
      this.#lose(member)
      member.database = restored ?? member.database
    }
    const conversations = { getByName: (name: string) => this.#asked(name, check) }
    const Class = conversation<object>(() => ({ ...this.setup, conversations }))
    const ctx = Object.assign(durableState({ ...storage, ...recovery }), { abort })
    return Object.assign(new Class(ctx, {}), { ctx })
  }

  /** What another object is asked through: an object that is lost meanwhile asks nobody any more, and gets no answer. */
  #asked(name: string, check: () => void = () => {}): ConversationService {
    return new Proxy({} as ConversationService, {
      get: (_, method) => {
        return async (...args: unknown[]) => {
          check()
          const id = idOf(name)
          await this.onRequest('before', String(method), id)
          const object = this.at(id)
          const { lives } = this.#member(name)
          const reply: unknown = await Reflect.apply(Reflect.get(object, method), object, structuredClone(args))
          if (this.#member(name).lives !== lives) throw new Error('The object was reset because it was lost.')
          await this.onRequest('after', String(method), id)
          check()
          return reply
        }
      },
    })
  }
}

/** The id of a run that a test posts. */
function runId(name: string | number): string {
  return `run_${String(name).padStart(22, '0')}`
}

function idOf(name: string): string {
  return name.split('/').at(-1) ?? ''
}

async function* streamOf(items: Iterable<ModelEvent> | AsyncIterable<ModelEvent>): AsyncGenerator<ModelEvent> {
  yield* items
}

/**
 * Has time stand still until a test lets it pass, and hashes be made at once: those of the process take real time. Returns
 * a function that takes this back.
 */
function holdTime(now: number): () => void {
  setClock(now)
  const value = async (_algorithm: unknown, data: ArrayBuffer) =>
    new Uint8Array(createHash('sha256').update(new Uint8Array(data)).digest()).buffer
  Object.defineProperty(crypto.subtle, 'digest', { value, configurable: true })
  return () => {
    Reflect.deleteProperty(crypto.subtle, 'digest')
    releaseClock()
  }
}

/** The text of the last message of a request. */
export function lastText({ messages }: ModelRequest): string {
  const last = messages.at(-1)
  return last ? contentText(last.content) : ''
}

/** The system text of a request, by which agents are told apart; empty for the outermost run. */
export function instructions({ messages: [first] }: ModelRequest): string {
  return first?.role === 'system' ? first.content : ''
}
