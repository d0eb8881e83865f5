import { FEATURES } from '../../fixtures/setup.ts'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { mock } from 'node:test'
import type { Spend } from '../../../src/contract/budget.ts'
import { readConfig } from '../../../src/contract/config.ts'
import type { ConversationService } from '../../../src/contract/conversation.ts'
import type { RunEvent } from '../../../src/contract/event.ts'
import type { Message } from '../../../src/contract/message.ts'
import type { ModelEvent, ModelRequest } from '../../../src/contract/model.ts'
import type { RunStatus } from '../../../src/contract/run.ts'
import type { Setup } from '../../../src/contract/setup.ts'
import type { Tool } from '../../../src/contract/tool.ts'
import { conversation } from '../../../src/conversation/conversation.ts'
import { stepRequest } from '../../../src/conversation/run/run-reader.ts'
import { webhookSender } from '../../../src/conversation/run/webhook.ts'
import { Store } from '../../../src/conversation/store/store.ts'
import { decodeLine } from '../../../src/wire/events.ts'
import { durableState, memoryStorage } from '../../fixtures/sqlite.ts'
import { settle } from '../../fixtures/settle.ts'
import { releaseClock, setClock } from './clock.ts'

type Conversation = ConversationService & { alarm(): Promise<void> }

/** What a simulated crash or a failing disk throws. */
class SimulatedFault extends Error {}

interface Ports {
  /** How many subrequests a run makes before an alarm continues it. */
  readonly mostSubrequests: number
  readonly tools: readonly Tool[]
  readonly answer: (request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelEvent>
  /** The context window that the edge knows of its model. Default: one that no program fills. */
  readonly windowTokens: number | undefined
  /** Receives webhooks. */
  readonly receive: (init: RequestInit) => Promise<Response>
  /** Called before all that is stored is deleted. */
  readonly onDelete: () => void
  /** The id of the object. */
  readonly id: string
}

/** Where webhooks go. */
export const RECEIVER = new URL('https://hooks.example.com/')
const START = 60_000
/** How often the alarm may ring within a second. */
const MOST_RINGS = 100
/** How far the time passes at once while an alarm's handler is at work, in milliseconds. */
const LOOK_MS = 10_000
/** Milliseconds after which the platform repeats an alarm whose handler failed. */
const REPEAT_MS = 2000

/**
 * One conversation on a simulated platform: its clock, timers, disk and alarm, and the loss of its object. Nothing in it
 * happens by itself. One world at a time, since the clock is the process's.
 */
export class World {
  /** When the alarm rings, in epoch milliseconds. */
  alarmAt = Infinity
  lives = 0
  /** How often something has failed: the object, its disk, the directory. */
  disturbances = 0
  /** The commits that are left before the object is lost. */
  commitsToLoss = Infinity
  /** Whether it is lost before that commit is on disk, or when the code next waits. */
  losesCommit = false
  /** The transactions that will still fail. */
  failures = 0
  readonly #database = new DatabaseSync(':memory:')
  /** How much time has passed in which the alarm was lost and no request had set it again, in milliseconds. */
  withoutAlarmMs = 0
  #isAlarmLost = false
  /** Whether the handler of an alarm is at work. */
  #isStaying = false
  /** Whether the tenant's directory lists the conversation. */
  isListed = false
  /** The runs whose usage the tenant's directory has been told. */
  readonly countedRuns = new Set<string>()
  /** The requests to the directory that will still fail. */
  directoryFailures = 0
  readonly #directory = this.#makeDirectory()
  readonly #ports: Ports
  readonly #restoreGlobals: () => void
  #object: Conversation | undefined
  #isLost = false

  constructor(ports: Ports) {
    this.#ports = ports
    this.#database.prepare = prepareOnce(this.#database)
    setClock(START)
    this.#restoreGlobals = replaceGlobals(async (init) => {
      if (this.#isLost) throw new SimulatedFault('The object is gone')
      return ports.receive(init)
    })
  }

  /** The object, made anew if it was lost. */
  get object(): Conversation {
    if (this.#object) return this.#object
    this.lives += 1
    this.#isLost = false
    const Class = conversation<object>(() => this.#setup())
    const object = new Class(durableState(this.#storage(this.lives), this.#ports.id), {})
    // It may be lost while it is being made.
    if (!this.#isLost) this.#object = object
    return object
  }

  /** The object is lost, and all that it holds in memory: its timers, requests and calls. */
  lose(): void {
    this.disturbances += 1
    this.#object = undefined
    // The platform rings an alarm again whose handler had not ended.
    if (this.#isStaying) this.alarmAt = Math.min(this.alarmAt, Date.now() + REPEAT_MS)
    this.#isStaying = false
    this.#isLost = true
    this.commitsToLoss = Infinity
    setClock(Date.now())
  }

  /** The platform loses the alarm, and the object with it. The next request makes a new object. */
  loseAlarm(): void {
    this.lose()
    this.alarmAt = Infinity
    this.#isAlarmLost = true
  }

  /** Lets time pass, and rings each alarm that comes due. */
  async pass(ms: number): Promise<void> {
    const end = Date.now() + ms
    for (let [rings, since] = [0, 0]; ; rings++) {
      if (Date.now() >= since + 1000) [rings, since] = [0, Date.now()]
      if (rings > MOST_RINGS) throw new Error('The alarm rings again and again')
      const look = this.#isStaying ? Date.now() + LOOK_MS : Infinity
      if (Math.min(this.alarmAt, look) > end) break
      if (this.alarmAt <= look) await this.ring()
      else {
        mock.timers.tick(LOOK_MS)
        await settle()
      }
    }
    if (this.#isAlarmLost) this.withoutAlarmMs += Math.max(0, end - Date.now())
    mock.timers.tick(Math.max(0, end - Date.now()))
    await settle()
  }

  /** Lets the time come at which the alarm rings. */
  async ring(): Promise<void> {
    mock.timers.tick(Math.max(0, this.alarmAt - Date.now()))
    this.alarmAt = Infinity
    const { object, lives: life } = this
    let hasFailed = false
    this.#isStaying = true
    const leave = () => {
      if (this.lives === life) this.#isStaying = false
    }
    void object
      .alarm()
      .catch(() => (hasFailed = true))
      .finally(leave)
    await settle()
    if (hasFailed || this.#isLost || this.lives !== life) this.alarmAt = Math.min(this.alarmAt, Date.now() + REPEAT_MS)
  }

  /** Whether nothing is stored. */
  isEmpty(): boolean {
    return this.#database.prepare("SELECT 1 FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").get() === undefined
  }

  statuses(): { id: string; status: RunStatus }[] {
    if (this.isEmpty()) return []
    return this.#database.prepare('SELECT id, status FROM runs ORDER BY place').all() as {
      id: string
      status: RunStatus
    }[]
  }

  /** What the journal of a run holds. */
  journal(run: string): RunEvent[] {
    if (this.isEmpty()) return []
    const store = new Store(memoryStorage(this.#database), { features: FEATURES.features })
    return [...store.events.after(run, 0)].flatMap((row) => row.lines.flatMap((line) => decodeLine(line) ?? []))
  }

  /** What the model was sent in a step, as it can be read, without a request that would wake the object. */
  messagesOfStep(runId: string, step: number): readonly Message[] | undefined {
    const reply = stepRequest(
      this.#setup(),
      new Store(memoryStorage(this.#database), { features: FEATURES.features }),
      { runId, step },
    )
    return reply.ok ? reply.request.messages : undefined
  }

  close(): void {
    this.lose()
    this.#restoreGlobals()
    releaseClock()
    this.#database.close()
  }

  #makeDirectory(): object {
    const answer = async <Value>(work: () => Value) => {
      if (this.directoryFailures > 0) {
        this.directoryFailures -= 1
        this.disturbances += 1
        throw new SimulatedFault('The directory fails')
      }
      return work()
    }
    return {
      add: () => answer(() => void (this.isListed = true)),
      remove: () => answer(() => void (this.isListed = false)),
      count: ({ run }: Spend) => answer(() => void this.countedRuns.add(run)),
      resize: () => answer(() => ({ conversations: 1, storedBytes: 0 })),
    }
  }

  /** Whether the object of a life is lost, or another has taken its place. */
  #isGone(life: number): boolean {
    return this.lives !== life || this.#isLost
  }

  #storage(life: number): DurableObjectStorage {
    const disk = memoryStorage(this.#database)
    let isOpen = false
    const isGone = () => this.#isGone(life)
    const check = () => {
      if (isGone()) throw new SimulatedFault('The object is gone')
    }
    const lose = () => {
      if (!isGone()) this.lose()
    }
    const commit = <Result>(work: () => Result): Result => {
      if (isOpen) return work()
      if (this.failures > 0) {
        this.failures -= 1
        this.disturbances += 1
        throw new SimulatedFault('The disk fails')
      }
      const isLast = --this.commitsToLoss <= 0
      if (isLast && this.losesCommit) {
        lose()
        throw new SimulatedFault('The object is gone')
      }
      isOpen = true
      try {
        return work()
      } finally {
        isOpen = false
        if (isLast) queueMicrotask(lose)
      }
    }
    const storage = {
      sql: {
        get databaseSize() {
          return disk.sql.databaseSize
        },
        exec: (query: string, ...values: SqlStorageValue[]) => {
          check()
          const exec = () => disk.sql.exec(query, ...values)
          return /^\s*(?:SELECT|CREATE)/.test(query) ? exec() : commit(exec)
        },
      },
      transactionSync: <Result>(work: () => Result) => {
        check()
        const { alarmAt } = this
        try {
          return commit(() => disk.transactionSync(work))
        } catch (error) {
          this.alarmAt = alarmAt
          throw error
        }
      },
      setAlarm: async (time: number) => {
        // As workerd does.
        if (time <= 0) throw new TypeError('setAlarm() cannot be called with an alarm time <= 0')
        if (isGone()) return
        this.alarmAt = time
        this.#isAlarmLost = false
      },
      getAlarm: async () => (this.alarmAt === Infinity ? null : this.alarmAt),
      deleteAlarm: async () => {
        if (!isGone()) this.alarmAt = Infinity
      },
      deleteAll: async () => {
        check()
        commit(() => {
          this.#ports.onDelete()
          void disk.deleteAll()
        })
      },
      sync: async () => check(),
    }
    return storage as unknown as DurableObjectStorage
  }

  #setup(): Setup {
    const { lives: life } = this
    const { tools, mostSubrequests, windowTokens } = this.#ports
    const answer: Ports['answer'] = (request, signal) => {
      // What is left of a lost object in this process asks nobody any more.
      if (this.#isGone(life)) throw new SimulatedFault('The object is gone')
      // As `fetch` does.
      signal.throwIfAborted()
      return this.#ports.answer(request, signal)
    }
    const window = windowTokens === undefined ? {} : { window: { contextTokens: windowTokens } }
    const model = { name: 'test/scripted', stream: answer, ...window }
    return {
      isolate: {},
      config: readConfig({ MODEL: model.name, AUTH: 'open', MAX_SUBREQUESTS: mostSubrequests }),
      models: { resolve: () => ({ ok: true, name: model.name, model }), list: () => [] },
      tools: () => ({ find: async () => tools, list: async () => ({ tools, unavailable: [] }) }),
      webhooks: webhookSender({ secret: 'secret', hosts: [RECEIVER.hostname], isOpen: false, report: () => {} }),
      directories: { getByName: () => this.#directory },
      reportAddresses: { make: async () => ({ token: 'token' }), read: async () => undefined, filter: undefined },
      report: () => {},
      loop: FEATURES,
    } as unknown as Setup
  }
}

/**
 * Has requests go to the receiver of webhooks, and signatures be made at once: those of the process take real time.
 * Returns a function that takes this back.
 */
function replaceGlobals(receive: Ports['receive']): () => void {
  const replacements = [
    [globalThis, 'fetch', (_url: string, init: RequestInit) => receive(init)],
    [crypto.subtle, 'importKey', async () => ({})],
    [crypto.subtle, 'sign', async () => new ArrayBuffer(32)],
  ] as const
  const originals = replacements.map(([owner, name]) => Object.getOwnPropertyDescriptor(owner, name))
  for (const [owner, name, value] of replacements) Object.defineProperty(owner, name, { value, configurable: true })
  return () => {
    replacements.forEach(([owner, name], index) => {
      Reflect.deleteProperty(owner, name)
      const original = originals[index]
      if (original) Object.defineProperty(owner, name, original)
    })
  }
}

/** Prepares each query once, which takes most of the time of a small one. */
function prepareOnce(database: DatabaseSync): DatabaseSync['prepare'] {
  const prepare = database.prepare.bind(database)
  const statements = new Map<string, StatementSync>()
  return (query) => {
    const statement = statements.get(query) ?? prepare(query)
    statements.set(query, statement)
    return statement
  }
}
