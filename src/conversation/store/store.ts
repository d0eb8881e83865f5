import type { UnfinishedRestore } from '../../contract/backup-ports.ts'
import type { TokenCount } from '../../contract/context.ts'
import type { Spend } from '../../contract/budget.ts'
import type { ConversationSettings, StoredMessage } from '../../contract/conversation.ts'
import { type RunFact, type RunFinished, timestamps } from '../../contract/event.ts'
import { isObject, parseJson } from '../../contract/json.ts'
import type { RunReporter } from '../../contract/report.ts'
import { type Content, type DataMark, marksAmong, type Message, type PartRefusal } from '../../contract/message.ts'
import { runOfCall } from '../../contract/id.ts'
import { isTerminal, type RunRecord, type RunRequest } from '../../contract/run.ts'
import { FIRST_BYTES } from '../../contract/quotas.ts'
import { addUsage, NO_USAGE, subtractUsage, type Usage } from '../../contract/usage.ts'
import { encodeLine, eventId } from '../../wire/events.ts'
import type { FeatureRules } from '../../loop/state.ts'
import { EventTable, FaultTable } from './events.ts'
import { Database, hasSchema, migrate, type OnBroken } from './database.ts'
import { FullResultTable, LAST_PLACE, MessageTable, positionOf } from './messages.ts'
import { ChildTable } from './children.ts'
import { CHILD, Outbox, PARENT } from './outbox.ts'
import { isPartRefusal, isTokenCount, isUnfinishedRestore, isUsage, readableSettings } from './shapes.ts'
import { Reductions } from './reductions.ts'
import { type RunRow, RunTable, type StoredRun } from './runs.ts'

/** The names of the values that are stored for a conversation as a whole. */
export type MetaKey =
  | 'agentsKey'
  | 'bytes'
  | 'full'
  | 'deleted'
  | 'expires'
  | 'idle'
  | 'marks'
  | 'owed'
  | 'owner'
  | 'parked'
  | 'reduction'
  | 'refusals'
  | 'replacements'
  | 'restore'
  | 'settings'
  | 'spendRetry'
  | 'summary'
  | 'usage'

/** A time, in epoch milliseconds, that no conversation reaches. */
const NO_END = Date.UTC(9999, 0)

/** How many refused parts of messages a conversation remembers. */
const MOST_REFUSED = 200

/** Of how many models a conversation remembers what it has learnt, those that were asked last. */
const MOST_COUNTS = 4

export interface StoreOptions {
  readonly onBroken?: OnBroken
  /** Called after a transaction that failed. */
  readonly onRollback?: () => void
  /** Called within a transaction, each time that so much was written that the conversation may have doubled. */
  readonly onGrowth?: () => void
  /** Called within the transaction that ends a run whose journal is not read, with the id of the event of its end. */
  readonly onEndUnread?: (record: RunRecord, ownUsage: Usage, eventId: string) => void
  /** The features by which its journals are folded. Default: none. */
  readonly features?: readonly FeatureRules[] | undefined
  /** To which runs are reported. Default: none. */
  readonly reporters?: readonly RunReporter[]
}

/**
 * The tables of one conversation. Rows of runs and messages are projections of the events, written with them. Content
 * that cannot be read is set aside and reported to `onBroken`, so that it does not prevent the conversation from
 * opening.
 */
export class Store {
  readonly runs: RunTable
  readonly events: EventTable
  readonly messages: MessageTable
  readonly outbox: Outbox
  readonly fullResults: FullResultTable
  readonly faults: FaultTable
  readonly children: ChildTable
  readonly reductions: Reductions
  readonly #storage: DurableObjectStorage
  readonly #database: Database
  /** A cache of the facts that were read or written. It is never stale, because only this instance writes them. */
  readonly #metaCache = new Map<MetaKey, unknown>()
  readonly #onRollback: () => void
  readonly #onEndUnread: (record: RunRecord, ownUsage: Usage, eventId: string) => void
  readonly features: readonly FeatureRules[]
  readonly #reporters: readonly RunReporter[]
  #exists = false

  constructor(
    storage: DurableObjectStorage,
    {
      onBroken = () => {},
      onRollback = () => {},
      onGrowth = () => {},
      onEndUnread = () => {},
      features = [],
      reporters = [],
    }: StoreOptions = {},
  ) {
    this.#storage = storage
    this.#onRollback = onRollback
    this.#onEndUnread = onEndUnread
    this.features = features
    this.#reporters = reporters
    this.#database = new Database(storage.sql, { onBroken, onGrowth })
    this.runs = new RunTable(this.#database)
    this.events = new EventTable(this.#database)
    this.messages = new MessageTable(this.#database)
    this.outbox = new Outbox(this.#database)
    this.fullResults = new FullResultTable(this.#database)
    this.faults = new FaultTable(this.#database)
    this.children = new ChildTable(this.#database)
    this.reductions = new Reductions(this)
    this.#exists = hasSchema(storage)
    if (this.#exists) migrate(storage)
  }

  /** `none`: not created yet (requests that only read create nothing), or expired. `deleted`: a tombstone, for ever. */
  life(): 'none' | 'open' | 'deleted' {
    if (!this.#exists) return 'none'
    return this.meta('deleted') === undefined ? 'open' : 'deleted'
  }

  /** Creates the tables and the first rows of a new conversation in one transaction. */
  create(init: () => void = () => {}): void {
    this.transaction(() => {
      migrate(this.#storage)
      init()
    })
    this.#exists = true
  }

  /** Deletes everything, as if the conversation had never existed. */
  async deleteAll(): Promise<void> {
    await this.#storage.deleteAlarm()
    await this.#storage.deleteAll()
    this.#forget()
    this.#exists = false
  }

  /** Deletes everything and leaves a tombstone. */
  async deleteForGood(): Promise<void> {
    await this.deleteAll()
    this.create()
    this.setMeta('deleted', true)
  }

  /** Returns what is known of a conversation that has been made of some parts of a copy; undefined of any other. */
  restoring(): UnfinishedRestore | undefined {
    const restore = this.life() === 'deleted' ? this.meta('restore') : undefined
    return isUnfinishedRestore(restore) ? restore : undefined
  }

  /** Deletes the parts of a copy that the conversation has been made of. */
  async discardRestore(): Promise<{ readonly ok: true }> {
    await (this.restoring()?.wasDeleted ? this.deleteForGood() : this.deleteAll())
    return { ok: true }
  }

  transaction<Result>(work: () => Result): Result {
    try {
      return this.#storage.transactionSync(work)
    } catch (error) {
      this.#forget()
      this.#onRollback()
      throw error
    }
  }

  #forget(): void {
    this.#metaCache.clear()
    this.runs.forget()
    this.messages.forget()
    this.faults.forget()
    this.children.forget()
  }

  meta(name: MetaKey): unknown {
    if (!this.#metaCache.has(name)) this.#metaCache.set(name, this.#readMeta(name))
    return this.#metaCache.get(name)
  }

  #readMeta(name: MetaKey): unknown {
    const [row] = this.#database.rows<{ value: string }>('SELECT value FROM meta WHERE key = ?', name)
    return row && parseJson(this.#database.text(row.value, { table: 'meta', key: name }) ?? '')
  }

  setMeta(name: MetaKey, value: unknown): void {
    const column = this.#database.chunks.keep(JSON.stringify(value))
    this.#database.rows('INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value', name, column)
    this.#metaCache.set(name, value)
  }

  dropMeta(name: MetaKey): void {
    this.#database.rows('DELETE FROM meta WHERE key = ?', name)
    this.#metaCache.delete(name)
  }

  /** Returns when the conversation expires, in any case or if idle, in epoch milliseconds; Infinity for never. */
  time(name: 'expires' | 'idle'): number {
    const time = this.meta(name)
    return typeof time === 'number' ? time : Infinity
  }

  settings(): ConversationSettings {
    return readableSettings(this.meta('settings'))
  }

  /** Returns the marks of all results that models have read in this conversation, in the window or not. */
  marks(): readonly DataMark[] {
    const marks = this.meta('marks')
    return Array.isArray(marks) ? marks.filter((mark) => mark === 'untrusted' || mark === 'private') : []
  }

  /** Returns the parts of messages that servers of models have refused, which are not sent to them again. */
  refusals(): readonly PartRefusal[] {
    const parts = this.meta('refusals')
    return Array.isArray(parts) ? parts.filter(isPartRefusal) : []
  }

  /** Adds to these; of very many, only the newest count. */
  addRefusals(parts: readonly PartRefusal[]): void {
    if (parts.length === 0) return
    const all = new Map([...this.refusals(), ...parts].map((part) => [JSON.stringify(part), part]))
    this.setMeta('refusals', [...all.values()].slice(-MOST_REFUSED))
  }

  /** Returns messages with what servers of models have refused of them. */
  withRefusals(messages: readonly StoredMessage[]): StoredMessage[] {
    const all = this.refusals()
    return messages.map((each) => ({ ...each, refusals: all.filter(({ position }) => position === each.position) }))
  }

  /** Stores messages that are of no run, with their marks and the complete content of results that were cut. */
  addMessages(messages: readonly StoredMessage[]): void {
    this.transaction(() => {
      this.messages.add(messages)
      this.mark(messages.map(({ message }) => message))
      this.addRefusals(messages.flatMap(({ refusals = [] }) => refusals))
      for (const { message, fullResult } of messages)
        if (fullResult && message.role === 'tool') this.fullResults.keep(message.callId, fullResult)
    })
  }

  /** Remembers the marks of these messages. */
  mark(messages: readonly Message[]): void {
    const previous = this.marks()
    const all = new Set([...previous, ...marksAmong(messages)])
    if (all.size > previous.length) this.setMeta('marks', [...all])
  }

  /** Whether the tenant stores too much, as its directory last said. */
  isFull(): boolean {
    return this.meta('full') === true
  }

  /** Returns the usage of runs that has not been reported to their tenant's directory yet. */
  unreportedSpend(): readonly UnreportedSpend[] {
    const spend = this.meta('owed')
    return isUnreportedSpend(spend) ? spend : []
  }

  /** Returns how often reporting that usage has failed in a row, and when it is tried again, in epoch milliseconds. */
  spendRetry(): { readonly attempts: number; readonly due: number } {
    const retry = this.meta('spendRetry')
    return isObject(retry)
      ? { attempts: Number(retry.attempts ?? 0), due: Number(retry.due ?? 0) }
      : { attempts: 0, due: 0 }
  }

  /** Returns the number of the object of its tenant's directory that lists the conversation. */
  shard(): number {
    const owner = this.meta('owner')
    return isObject(owner) ? Number(owner.shard ?? 0) : 0
  }

  /** Returns when the conversation was created, in epoch milliseconds; undefined if an earlier version did. */
  created(): number | undefined {
    const owner = this.meta('owner')
    return isObject(owner) && typeof owner.created === 'number' ? owner.created : undefined
  }

  /** Returns the conversation that has called the agent whose conversation this is; undefined for any other. */
  parent(): string | undefined {
    const owner = this.meta('owner')
    return isObject(owner) && typeof owner.parent === 'string' ? owner.parent : undefined
  }

  /**
   * Returns until when a conversation that is not listed counts for its tenant, in epoch milliseconds: that of an agent
   * until it is deleted. Infinity for one that is listed.
   */
  countedUntil(): number {
    const expires = this.time('expires')
    return expires === Infinity && this.parent() !== undefined ? NO_END : expires
  }

  /**
   * Notes that the call of an agent is settled. If the agent's run has not said how it ended, it is to be cancelled.
   * Returns whether that is to be done.
   */
  settleChild(call: string, now: number, hasReport = false): boolean {
    if (!this.children.of(call)) return false
    this.children.settle(call)
    if (!hasReport) this.outbox.addReports(call, [{ name: CHILD }], now)
    return !hasReport
  }

  /**
   * Returns the conversation's size if it has at least doubled since it was last reported to the tenant's directory.
   * `until`: its fixed end, in epoch milliseconds; a conversation with one is not listed, and counts once it is large.
   */
  growth():
    | { readonly tenant: string; readonly id: string; readonly bytes: number; readonly until?: number }
    | undefined {
    const bytes = this.#storage.sql.databaseSize
    // Most conversations never get so large, and read nothing for this.
    if (bytes < 2 * FIRST_BYTES) return undefined
    const owner = this.meta('owner')
    if (!isObject(owner)) return undefined
    const until = this.countedUntil()
    const reported = Number(this.meta('bytes') ?? (until === Infinity ? FIRST_BYTES : 0))
    if (bytes < 2 * reported) return undefined
    return { tenant: String(owner.tenant), id: String(owner.id), bytes, ...(until < Infinity && { until }) }
  }

  /** Returns the usage of all finished runs, and their number. */
  usage(): { readonly usage: Usage; readonly runs: number } {
    const sum = this.meta('usage')
    return isSum(sum) ? { usage: sum.usage, runs: sum.runs } : { usage: NO_USAGE, runs: 0 }
  }

  /** Returns what earlier runs have learnt of a model's count of tokens and its window. */
  tokens(model: string): TokenCount {
    const sum = this.meta('usage')
    const counts = isObject(sum) && isObject(sum.counts) ? sum.counts : {}
    const count = counts[model]
    return isTokenCount(count) ? count : {}
  }

  /** Returns the result of a call that a model may see; undefined if there is none. */
  resultOf(callId: string): readonly Content[] | undefined {
    const message = this.messagesOf(callId).find(({ role }) => role === 'tool')
    return message?.role === 'tool' ? message.content : undefined
  }

  /** Returns the messages about a call that a model may see: its result, and the answer that asked for it. */
  messagesOf(callId: string): readonly Message[] {
    const run = runOfCall(callId)
    const row = run === undefined ? undefined : this.runs.row(run)
    return this.messages.about(callId, row?.place)
  }

  /** Whether a call is of a turn that was replaced. */
  isReplaced(callId: string): boolean {
    const run = runOfCall(callId)
    const row = run === undefined ? undefined : this.runs.row(run)
    return row !== undefined && this.messages.isRetired(row.place)
  }

  /** Returns the unfinished run whose turn it is. Runs before it that cannot be read end as failed. */
  next(): StoredRun | undefined {
    for (const id of this.runs.unfinished()) {
      const run = this.runs.get(id)
      if (run) return run
      const row = this.runs.row(id)
      if (row) this.#giveUp(row)
    }
    return undefined
  }

  /**
   * Adds a report of the status of an unfinished run: also, unless it is not `news`, to the run that has called the
   * agent. Returns false if nobody wants it.
   */
  addUnendedReport(id: string, now: number, isNews = true): boolean {
    const reporters: { readonly name: string }[] = this.#reporters.filter((reporter) => 'reportUnended' in reporter)
    if (isNews && this.parent() !== undefined) reporters.push({ name: PARENT })
    this.outbox.addReports(id, reporters, now)
    return reporters.length > 0
  }

  /** Adds a report of a run until the event with which it has begun to wait. Returns false if nobody wants it. */
  addWaitReport(eventId: string, now: number): boolean {
    const reporters = this.#reporters.filter(({ reportsWaits }) => reportsWaits)
    this.outbox.addReports(eventId, reporters, now)
    return reporters.length > 0
  }

  /** Ends a run with its record. A run that has ended already is left unchanged. */
  end(record: RunRecord, now: number, learnt?: { readonly model: string; readonly tokens: TokenCount }): void {
    if (!this.runs.end(record, now)) return
    this.outbox.addReports(record.id, this.#reporters, now)
    if (this.parent() !== undefined) this.outbox.addReports(record.id, [{ name: PARENT }], now)
    const { usage, runs } = this.usage()
    const sum = this.meta('usage')
    const { [learnt?.model ?? '']: _, ...others } = isObject(sum) && isObject(sum.counts) ? sum.counts : {}
    const counts = Object.entries(others).concat(learnt ? [[learnt.model, learnt.tokens]] : [])
    this.setMeta('usage', {
      usage: addUsage(usage, record.usage),
      runs: runs + 1,
      ...(counts.length > 0 && { counts: Object.fromEntries(counts.slice(-MOST_COUNTS)) }),
    })
  }

  #giveUp({ id, status }: RunRow): void {
    if (isTerminal(status)) return
    const error = { code: 'run_lost', message: 'The request of this run cannot be read.' }
    this.endUnread(id, { status: 'failed', finish: 'error', error })
  }

  /** Ends the parked runs at a place and after it as cancelled. Returns whether there were any. */
  endParkedRuns(from = 0): boolean {
    const parked = this.runs.parkedFrom(from)
    for (const id of parked) this.endUnread(id, { status: 'cancelled', finish: 'cancelled' })
    return parked.length > 0
  }

  /** Ends a run whose state is not folded, with the usage that its journal tells of. */
  endUnread(id: string, end: Pick<RunFinished, 'status' | 'finish' | 'error'>): void {
    const { agentUsage, ...result } = { ...end, answer: '', ...this.events.usage(id) }
    const conversation = this.runs.request(id)?.conversation
    const record: RunRecord = { id, ...(conversation && { conversation }), steps: 0, calls: [], ...result }
    this.transaction(() => {
      const seq = this.appendFact(id, { type: 'run.finished', ...result, ...ofAgents(agentUsage) })
      for (const { call, settled } of this.children.ofRun(id)) if (settled === 0) this.settleChild(call, Date.now())
      this.end(record, Date.now())
      this.#onEndUnread(record, subtractUsage(result.usage, agentUsage), eventId(id, seq))
    })
  }

  /**
   * Cancels the runs that had not ended when they were copied, parked ones too, without folding their states. Nothing of
   * them is counted or reported: the original does that.
   */
  endCopiedRuns(): void {
    for (const id of [...this.runs.unfinished(), ...this.runs.parkedFrom(0)]) {
      const { usage, agentUsage } = this.events.usage(id)
      const end = { status: 'cancelled', finish: 'cancelled', answer: '', usage } as const
      this.appendFact(id, { type: 'run.finished', ...end, ...ofAgents(agentUsage) })
      this.runs.end({ id, steps: 0, calls: [], ...end }, Date.now())
    }
  }

  /** Adds a fact to the journal of a run that is not in memory. Returns its number. */
  appendFact(id: string, fact: RunFact): number {
    const seq = this.runs.lastNumber(id) + 1
    this.events.append(id, seq, seq, [encodeLine({ ...timestamps(Date.now)(fact), ...fact, runId: id, seq })])
    return seq
  }

  /** Deletes the news of the runs that ended up to a time, and the tool definitions that only such runs have. */
  prune(by: number): void {
    for (let run = this.runs.unpruned(); run && run.ended <= by; run = this.runs.unpruned()) {
      const { id } = run
      this.transaction(() => this.runs.setPruned(id, this.events.prune(id)))
    }
    this.transaction(() => this.runs.pruneToolsets())
  }

  /** Returns which run a request's input joined, by the id that a run of its own would have had. */
  joinedRun(id: string): { readonly run: string; readonly fingerprint: string } | undefined {
    return this.#database.rows<{ run: string; fingerprint: string }>(
      'SELECT run, fingerprint FROM joined WHERE id = ?',
      id,
    )[0]
  }

  setJoined({ runId, fingerprint = '' }: RunRequest, run: string): void {
    this.#database.rows('INSERT INTO joined VALUES (?, ?, ?)', runId, run, fingerprint)
  }

  /**
   * Hides the turn of a run from models and, if `onward`, all later turns. Discards what was made of any of them. `by`:
   * the place of the run that replaces it.
   */
  retire(place: number, { onward, by }: { readonly onward: boolean; readonly by: number }): void {
    // Parked runs would store their messages later.
    if (onward) this.endParkedRuns(place)
    this.messages.retire(place, onward ? LAST_PLACE : place + 1)
    const summary = this.meta('summary')
    if (isObject(summary) && Number(summary.upTo) > positionOf(place)) this.setMeta('summary', null)
    this.reductions.discard(place, by)
  }
}

/** Returns the usage of agents as `run.finished` tells of it: not at all if there is none. */
function ofAgents(agentUsage: Usage): { readonly agentUsage?: Usage } {
  return agentUsage === NO_USAGE ? {} : { agentUsage }
}

/** Usage of a run that is to be reported to its tenant's directory. */
export interface UnreportedSpend {
  readonly tenant: string
  readonly spend: Spend
}

function isUnreportedSpend(value: unknown): value is readonly UnreportedSpend[] {
  const isSpend = (each: unknown) => isObject(each) && typeof each.tenant === 'string' && isObject(each.spend)
  return Array.isArray(value) && value.every(isSpend)
}

function isSum(value: unknown): value is { usage: Usage; runs: number } {
  return isObject(value) && isUsage(value.usage) && typeof value.runs === 'number'
}
