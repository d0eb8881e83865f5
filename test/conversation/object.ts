import { FEATURES } from '../fixtures/setup.ts'
import { DatabaseSync } from 'node:sqlite'
import { vi } from 'vitest'
import { readConfig } from '../../src/contract/config.ts'
import { readIdentityProviders } from '../../src/contract/identity-provider.ts'
import type { Spend } from '../../src/contract/budget.ts'
import type { ConversationService, Reply, StartReply, StartRequest } from '../../src/contract/conversation.ts'
import type { RunEvent } from '../../src/contract/event.ts'
import type { LoopSetup } from '../../src/contract/hook.ts'
import type { ReportAddresses } from '../../src/contract/later.ts'
import type { ModelEvent, ModelRequest, ModelWindow } from '../../src/contract/model.ts'
import type { RunReporter } from '../../src/contract/report.ts'
import type { RunRequest } from '../../src/contract/run.ts'
import type { Setup } from '../../src/contract/setup.ts'
import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import type { Caller, Tool } from '../../src/contract/tool.ts'
import { backUpConversation } from '../../src/conversation/backup/backup.ts'
import { conversation } from '../../src/conversation/conversation.ts'
import { modelSummaries } from '../../src/conversation/history.ts'
import { type WebhookOptions, webhookSender } from '../../src/conversation/run/webhook.ts'
import { Store } from '../../src/conversation/store/store.ts'
import { decodeEvents, decodeLine } from '../../src/wire/events.ts'
import { requestOf } from '../fixtures/play.ts'
import { durableState, memoryStorage } from '../fixtures/sqlite.ts'
import { dropStays, endStay, nextStay, untilStay } from './stays.ts'

type Answer = (request: ModelRequest, signal: AbortSignal) => Iterable<ModelEvent> | AsyncIterable<ModelEvent>

/** The id of a test's run. */
export function runId(name: string | number): string {
  return `run_${String(name).padStart(22, '0')}`
}

/** The object of one conversation over real SQLite, on a clock that stands until it is set. Tests fake `Date`. */
export class TestConversation {
  database = new DatabaseSync(':memory:')
  readonly reports: Record<string, unknown>[] = []
  readonly requests: ModelRequest[] = []
  /** The names of the models that got them. */
  readonly modelNames: string[] = []
  /** When the alarm is set to ring, in epoch milliseconds. */
  #alarmAt = Infinity
  /** Told before the alarm is set; what it throws refuses that. */
  onSetAlarm: (time: number) => void = () => {}
  /** Told before and after each transaction; what it throws fails that. */
  onTransaction: (moment: 'before' | 'after') => void = () => {}
  answer: Answer
  /** The id of the deployed version of the edge. */
  deployment: string | undefined
  webhook: Pick<WebhookOptions, 'secret' | 'hosts'> | undefined
  /** Takes what is told of spending; may throw. */
  count: (tenant: string, spend: Spend) => void | Promise<void> = () => {}
  /** The tools that a caller may know of. Default: all of them. */
  toolsOf: (caller: Caller) => readonly Tool[] = () => this.#tools
  /** Tells which keys are disabled, in the next life. Default: none. */
  keyStates: Setup['keyStates']
  storedKeys: Setup['storedKeys']
  /** Of the next life. */
  reporters: readonly RunReporter[] = []
  /** The context window of its model: by default too large for any test to fill. */
  modelWindow: ModelWindow = { contextTokens: 1_000_000_000 }
  /** Whether its model is one of the edge's; may throw. */
  hasModel: () => boolean = () => true
  /** Of the next life. */
  loop: LoopSetup | undefined
  /** Conversations that were put on their tenant's list, in this order. */
  readonly listed: string[] = []
  /** Called before that; may throw. */
  onList: () => unknown = () => {}
  /** Conversations that were taken off their tenant's list. */
  readonly unlisted: string[] = []
  /** Told before that; may throw. */
  onUnlist: () => unknown = () => {}
  object: ConversationService & { alarm(): Promise<void> }
  /** The id of the object, of the next life. Default: one that recovers as soon as its alarm rings. */
  id: string | undefined
  /** Point-in-time recovery, as the platform has it. Default: none. */
  recovery: Partial<Pick<DurableObjectStorage, 'getBookmarkForTime' | 'onNextSessionRestoreBookmark'>> = {
    getBookmarkForTime: async () => {
      throw new Error("This Durable Object's storage back-end does not implement point-in-time recovery.")
    },
  }
  /** Why the object ended itself. */
  readonly aborts: (string | undefined)[] = []
  /** What alarms do not wait for. */
  readonly #afterwards: Promise<unknown>[] = []
  readonly #tools: readonly Tool[]
  readonly #vars: Record<string, unknown>
  readonly #reportAddresses: ReportAddresses | undefined

  constructor(
    answer: Answer,
    tools: readonly Tool[] = [],
    vars: Record<string, unknown> = {},
    reportAddresses?: ReportAddresses,
  ) {
    this.answer = answer
    this.#tools = tools
    this.#vars = vars
    this.#reportAddresses = reportAddresses
    this.object = this.live()
  }

  /** Another life of the object; the one before must have nothing under way. */
  live(): ConversationService & { alarm(): Promise<void> } {
    // The platform rings an alarm again that has stayed.
    if (dropStays()) this.#alarmAt = Math.min(this.#alarmAt, Date.now())
    const storage = {
      ...memoryStorage(this.database, (moment) => this.onTransaction(moment)),
      setAlarm: async (time: number) => this.#setAlarm(time),
      getAlarm: async () => (this.#alarmAt === Infinity ? null : this.#alarmAt),
      deleteAlarm: async () => void (this.#alarmAt = Infinity),
      deleteAll: async () => this.#deleteAll(),
      ...this.recovery,
    }
    const Class = conversation<object>(() => this.#setup())
    const ctx = Object.assign(durableState(storage, this.id), {
      abort: (reason?: string) => void this.aborts.push(reason),
      waitUntil: (work: Promise<unknown>) => void this.#afterwards.push(work),
    })
    this.object = Object.assign(new Class(ctx, {}), { ctx })
    return this.object
  }

  /** When the alarm rings, or the one that has rung and stays looks again, in epoch milliseconds. */
  get alarmAt(): number {
    return Math.min(this.#alarmAt, nextStay())
  }

  set alarmAt(time: number) {
    this.#alarmAt = time
  }

  /** The tables, read past the object. */
  get store(): Store {
    return new Store(memoryStorage(this.database))
  }

  /** Lets the time come at which the alarm rings, and waits for what that sends. */
  async ring(): Promise<void> {
    await this.ringAlone()
    await Promise.all(this.#afterwards.splice(0))
  }

  /** The same, without waiting for what the alarm sends. */
  async ringAlone(): Promise<void> {
    if (this.alarmAt === Infinity) throw new Error('No alarm is set')
    const isStay = nextStay() <= this.#alarmAt
    vi.setSystemTime(Math.max(Date.now(), this.alarmAt))
    if (isStay) return endStay()
    this.#alarmAt = Infinity
    await untilStay(this.object.alarm())
  }

  start(
    name: string | number,
    {
      request,
      tools = this.#tools.map((tool) => tool.definition),
      ...start
    }: Partial<Omit<StartRequest, 'run' | 'tools'>> & {
      request?: Partial<Omit<RunRequest, 'limits'>>
      tools?: readonly ToolDefinition[]
    } = {},
  ): Promise<Reply<StartReply>> {
    const run = requestOf({ runId: runId(name), conversation: 'conv_1', ...request })
    return this.object.start({ run, tools: JSON.stringify(tools), onBusy: 'queue', create: true, ...start })
  }

  /** Starts a run and waits for it. */
  async run(name: string | number, text = 'Hello'): Promise<void> {
    await this.start(name, { request: { input: [{ role: 'user', content: text }] } })
    await this.object.record(runId(name), 10_000)
  }

  /** What a reader after an event gets until the stream ends. */
  async events(name: string | number, after = 0): Promise<RunEvent[]> {
    const reply = await this.object.events(runId(name), after)
    if (!reply.ok) throw new Error(reply.code)
    const events: RunEvent[] = []
    for await (const event of decodeEvents(reply.stream)) events.push(event)
    return events
  }

  /** What the journal of a run holds. */
  journal(name: string | number): RunEvent[] {
    return eventsOf(this.store, runId(name))
  }

  rows(query: string): Record<string, unknown>[] {
    return this.database.prepare(query).all()
  }

  #setup(): Setup {
    const modelOf = (name: string) => ({
      name,
      window: this.modelWindow,
      learnWindow: (contextTokens: number) => void (this.modelWindow = { contextTokens }),
      stream: (request: ModelRequest, signal: AbortSignal) => {
        this.modelNames.push(name)
        this.requests.push(structuredClone(request))
        return streamOf(this.answer(request, signal))
      },
    })
    const vars = { MODEL: 'test/scripted', AUTH: 'open', ...this.#vars }
    const config = { ...readConfig(vars), identityProviders: readIdentityProviders(vars) }
    const report = (entry: Record<string, unknown>) => void this.reports.push(entry)
    return {
      config,
      deployment: this.deployment,
      isolate: {},
      models: {
        resolve: (name = 'test/scripted') =>
          this.hasModel()
            ? { ok: true, name, model: modelOf(name) }
            : { ok: false, code: 'model_not_configured', message: 'There is no such model.' },
        list: () => [],
      },
      tools: (caller: Caller) => {
        return {
          find: async () => this.toolsOf(caller),
          list: async () => ({ tools: this.toolsOf(caller), unavailable: [] }),
        }
      },
      keyStates: this.keyStates,
      storedKeys: this.storedKeys,
      webhooks: this.webhook && webhookSender({ ...this.webhook, isOpen: this.#vars['AUTH'] === 'open', report }),
      summaries: modelSummaries,
      reportAddresses: this.#reportAddresses,
      loop: { ...FEATURES, ...this.loop },
      backups: backUpConversation,
      reporters: this.reporters,
      directories: {
        getByName: (tenant: string) => ({
          add: async (id: string) => {
            await this.onList()
            this.listed.push(`${tenant}/${id}`)
            if (this.unlisted.includes(`${tenant}/${id}`)) this.unlisted.pop()
            return { conversations: 1, storedBytes: 0 }
          },
          remove: async (id: string) => {
            await this.onUnlist()
            this.unlisted.push(`${tenant}/${id}`)
          },
          resize: async () => ({ conversations: 1, storedBytes: 0 }),
          count: async (spend: Spend) => this.count(tenant, spend),
        }),
      },
      report,
    } as unknown as Setup
  }

  #setAlarm(time: number): void {
    // As workerd does.
    if (time <= 0) throw new TypeError('setAlarm() cannot be called with an alarm time <= 0')
    this.onSetAlarm(time)
    this.#alarmAt = time
  }

  #deleteAll(): void {
    for (const { name } of this.rows(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    ))
      this.database.exec(`DROP TABLE ${String(name)}`)
  }
}

async function* streamOf<Item>(items: Iterable<Item> | AsyncIterable<Item>): AsyncGenerator<Item> {
  yield* items
}

/** The journal of a run, as a store has it. */
export function eventsOf(store: Store, run: string): RunEvent[] {
  return [...store.events.after(run, 0)].flatMap((row) => row.lines.map((line) => decodeLine(line)!))
}
