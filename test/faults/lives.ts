import { FEATURES } from '../fixtures/setup.ts'
import { DatabaseSync } from 'node:sqlite'
import { vi } from 'vitest'
import { readConfig } from '../../src/contract/config.ts'
import type { ConversationService } from '../../src/contract/conversation.ts'
import type { RunEvent } from '../../src/contract/event.ts'
import type { Message } from '../../src/contract/message.ts'
import type { ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import { isTerminal, type RunRecord, type RunRequest } from '../../src/contract/run.ts'
import type { Setup } from '../../src/contract/setup.ts'
import type { Tool } from '../../src/contract/tool.ts'
import { conversation } from '../../src/conversation/conversation.ts'
import { Store } from '../../src/conversation/store/store.ts'
import { decodeEvents, decodeLine } from '../../src/wire/events.ts'
import { requestOf, RUN_ID } from '../fixtures/play.ts'
import { durableState, memoryStorage } from '../fixtures/sqlite.ts'
import { settle } from '../fixtures/settle.ts'

type ConversationLife = ConversationService & { alarm(): Promise<void> }

/** A commit of an object: the `number`th of its life, both from 1. `later`: what is done before the next wait is kept too. */
export interface Commit {
  readonly life: number
  readonly number: number
  readonly when: 'before' | 'after' | 'later'
}

/** Whether the object is lost right there. */
export type Dies = (commit: Commit) => boolean

/** What happens in a conversation, whatever becomes of its object. */
export interface Scene {
  readonly tools: readonly Tool[]
  readonly request?: Partial<Omit<RunRequest, 'limits'>>
  readonly answer: (request: ModelRequest) => Iterable<ModelEvent> | AsyncIterable<ModelEvent>
  /** The context window of the model, in tokens. Default: one that no scene fills. */
  readonly windowTokens?: number
  /** What people do about a run that waits for them. The object may be lost meanwhile. */
  readonly decide?: (object: ConversationService) => Promise<unknown>
}

/** Lives of the object within which a run must end. */
const MOST_LIVES = 40
/** After so many milliseconds the platform rings an alarm again whose object was lost. */
const AGAIN_MS = 2000
const HOUR = 3_600_000

/**
 * A conversation whose object is lost at its commits, over real SQLite. What a lost life still does comes to nothing;
 * the next begins with the alarm, or with people who decide. Tests fake `Date`.
 */
export class Lives {
  lives = 0
  /** Commits of the newest life. */
  commits = 0
  readonly #scene: Scene
  readonly #database = new DatabaseSync(':memory:')
  #alarmAt = Infinity
  #isLost = true
  #isAccepted = false
  #object: ConversationLife | undefined

  constructor(scene: Scene) {
    this.#scene = scene
  }

  /** The object as it lives now. */
  get object(): ConversationService {
    if (!this.#object) throw new Error('The object has not lived yet')
    return this.#object
  }

  /** Retries the parked run, and lives until it has ended. */
  async retry(): Promise<void> {
    const never = () => false
    await this.#begin(never).retry(RUN_ID)
    await this.#liveOn(never)
  }

  /** Posts the run, and lives until it has ended or is parked. Rejects where nobody looks after it any more. */
  async play(dies: Dies = () => false): Promise<void> {
    const object = this.#begin(dies)
    const run = requestOf({ conversation: 'conv_1', ...this.#scene.request })
    const tools = JSON.stringify(this.#scene.tools.map(({ definition }) => definition))
    await object.start({ run, tools, onBusy: 'queue', create: true })
    this.#isAccepted = true
    await this.#liveOn(dies)
  }

  async #liveOn(dies: Dies): Promise<void> {
    for (await settle(); !this.#hasEnded(); await settle()) {
      const isWaiting = this.#store().runs.row(RUN_ID)?.status === 'waiting'
      // People take their time: by then no alarm is left but the one that would refuse in their place.
      if (isWaiting && this.#alarmAt > Date.now() + HOUR) await this.#decide(dies)
      else await this.#ring(dies)
    }
  }

  /** What the journal of the run holds. */
  events(): RunEvent[] {
    const rows = [...this.#store().events.after(RUN_ID, 0)]
    return rows.flatMap((row) => row.lines.flatMap((line) => decodeLine(line) ?? []))
  }

  /** What is left in the end, as another life of the object tells it. */
  async answers(): Promise<{ record: RunRecord; stream: RunEvent[]; messages: Message[] }> {
    const object = this.#begin(() => false)
    const [record, events, page] = await Promise.all([
      object.record(RUN_ID, 0),
      object.events(RUN_ID, 0),
      object.messages({ limit: 1000 }),
    ])
    if (!record.ok || !events.ok || !page.ok) throw new Error('The run is not known any more')
    const stream: RunEvent[] = []
    for await (const event of decodeEvents(events.stream)) stream.push(event)
    return { record: record.record, stream, messages: page.messages.map(({ message }) => message) }
  }

  #store(): Store {
    return new Store(memoryStorage(this.#database), { features: FEATURES.features })
  }

  #hasEnded(): boolean {
    const { status } = this.#store().runs.row(RUN_ID) ?? {}
    return status !== undefined && (status === 'parked' || isTerminal(status))
  }

  #begin(dies: Dies): ConversationLife {
    this.lives += 1
    if (this.lives > MOST_LIVES) throw new Error('The run does not end')
    this.commits = 0
    this.#isLost = false
    const storage = this.#storage(this.lives, dies)
    const Class = conversation<object>(() => this.#setup())
    return (this.#object = new Class(durableState(storage), {}))
  }

  /** The alarm, which makes another life of a lost object. */
  async #ring(dies: Dies): Promise<void> {
    if (this.#alarmAt === Infinity) throw new Error('Nobody looks after the run')
    vi.setSystemTime(Math.max(Date.now(), this.#alarmAt))
    this.#alarmAt = Infinity
    const object = this.#isLost || !this.#object ? this.#begin(dies) : this.#object
    // It may stay as long as the run.
    const alarm = object.alarm().catch((error: unknown) => this.#unlessLost(error))
    await Promise.race([alarm, settle()])
    await settle()
    if (this.#isLost) this.#alarmAt = Math.min(this.#alarmAt, Date.now() + AGAIN_MS)
  }

  async #decide(dies: Dies): Promise<void> {
    const object = this.#isLost || !this.#object ? this.#begin(dies) : this.#object
    await settle()
    await this.#scene.decide?.(object).catch((error: unknown) => this.#unlessLost(error))
  }

  #unlessLost(error: unknown): void {
    if (!this.#isLost) throw error
  }

  /** The storage of one life. From the moment that it is lost on, nothing can be read or written in it. */
  #storage(life: number, dies: Dies): DurableObjectStorage {
    const memory = memoryStorage(this.#database)
    let isOpen = false
    const isOver = () => this.#isLost || this.lives !== life
    const loseAt = (when: Commit['when']) => {
      // Before it is accepted, it is for its caller to come again.
      const mayBeLost = this.#isAccepted || this.#alarmAt < Infinity
      if (!isOver() && mayBeLost && dies({ life, number: this.commits, when })) {
        if (when === 'later') return queueMicrotask(() => (this.#isLost ||= this.lives === life))
        this.#isLost = true
      }
      if (isOver()) throw new Error('The object is gone')
    }
    const commit = <Result>(work: () => Result): Result => {
      if (isOpen) return work()
      this.commits += 1
      loseAt('before')
      isOpen = true
      const result = finallyDo(work, () => (isOpen = false))
      loseAt('after')
      loseAt('later')
      return result
    }
    const storage = {
      sql: {
        exec: (query: string, ...values: SqlStorageValue[]) => {
          if (isOver()) throw new Error('The object is gone')
          const exec = () => memory.sql.exec(query, ...values)
          return /^\s*SELECT/.test(query) ? exec() : commit(exec)
        },
      },
      transactionSync: <Result>(work: () => Result) => commit(() => memory.transactionSync(work)),
      setAlarm: async (time: number) => void (isOver() || (this.#alarmAt = time)),
      getAlarm: async () => (this.#alarmAt === Infinity ? null : this.#alarmAt),
    }
    return storage as unknown as DurableObjectStorage
  }

  #setup(): Setup {
    const { tools, answer, windowTokens: contextTokens } = this.#scene
    const window = contextTokens === undefined ? {} : { window: { contextTokens } }
    const model = { name: 'test/scripted', stream: (request: ModelRequest) => streamOf(answer(request)), ...window }
    return {
      isolate: {},
      config: readConfig({ MODEL: model.name, AUTH: 'open' }),
      models: { resolve: () => ({ ok: true, name: model.name, model }), list: () => [] },
      tools: () => ({ find: async () => tools, list: async () => ({ tools, unavailable: [] }) }),
      directories: { getByName: () => ({ add: async () => ({ conversations: 1, storedBytes: 0 }) }) },
      report: () => {},
      loop: FEATURES,
    } as unknown as Setup
  }
}

function finallyDo<Result>(work: () => Result, last: () => unknown): Result {
  try {
    return work()
  } finally {
    last()
  }
}

async function* streamOf<Item>(items: Iterable<Item> | AsyncIterable<Item>): AsyncGenerator<Item> {
  yield* items
}
