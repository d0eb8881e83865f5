import { DurableObject } from 'cloudflare:workers'
import type {
  PendingApproval,
  ConversationService,
  CreateRequest,
  Refusal,
  Reply,
  StartReply,
  StartRequest,
  StoredMessage,
} from '../contract/conversation.ts'
import type { BackupPorts } from '../contract/backup-ports.ts'
import { newId } from '../contract/id.ts'
import type { Message } from '../contract/message.ts'
import { isTerminal, type RunRecord } from '../contract/run.ts'
import { type MakeSetup, type Setup, setupOf } from '../contract/setup.ts'
import type { CallReport } from '../contract/later.ts'
import type { Usage } from '../contract/usage.ts'
import { repeatedRequest, acceptRun } from './run/accept-run.ts'
import { answerEvents, pendingApproval, refuseAfterEnd, refuseNames, refuseUnseen } from './run/answers.ts'
import { answerBelow, approvalBelow, type FamilyPorts, parentOf, removeChildren } from './run/children.ts'
import { exportStream, windowOptions } from './history.ts'
import { turnsBefore } from './turns.ts'
import { isDamage } from '../contract/thrown.ts'
import { cancelRun, DELETED, PARKED, refusalOf, refuseGone, UNKNOWN, UNKNOWN_RUN, Waiters } from './run/cancel-run.ts'
import { positionOf } from './store/messages.ts'
import { Readers } from './run/readers.ts'
import { outcomeOfRun, reportCall } from './run/report-call.ts'
import { RunReader, stepRequest } from './run/run-reader.ts'
import { Runner } from './run/runner.ts'
import { recoveryDelay } from './run/schedule.ts'
import { Store } from './store/store.ts'
import { Alarms } from './run/alarms.ts'
import { countUnlisted, storageRefusal } from './run/storage-quota.ts'

/** The most characters of answers that are taken also from a tenant that stores too much, such as decisions. */
const MOST_OF_DECISION = 4096
/** How often the runs that are to be replaced are cancelled before a request is refused. */
const MOST_CANCELLATIONS = 10

/** The Durable Object of one conversation. Its methods are its RPC surface. */
export abstract class ConversationObject<Env> extends DurableObject<Env> implements ConversationService {
  readonly #setup: Setup
  readonly #store: Store
  readonly #alarms: Alarms
  readonly #runner: Runner
  readonly #view: RunReader
  /** Whether the conversation is being deleted. All requests are refused while its runs are cancelled. */
  #isDeleting = false

  constructor(ctx: DurableObjectState, env: Env, setup: Setup) {
    super(ctx, env)
    const store = new Store(ctx.storage, {
      onBroken: (row) => setup.report({ event: 'row.set_aside', ...row }),
      onRollback: () => alarms.forget(),
      onGrowth: () => void alarms.reportSize(),
      onEndUnread: (...end) => alarms.onEndUnread(...end),
      reporters: setup.reporters,
      features: setup.loop?.features,
    })
    const alarms = new Alarms({
      setup,
      store,
      runner: () => this.#runner,
      waitUntil: (work) => ctx.waitUntil(work),
      setAlarm: (time) => ctx.storage.setAlarm(time),
      getAlarm: () => ctx.storage.getAlarm(),
    })
    const [readers, waiters] = [new Readers(), new Waiters()]
    this.#setup = setup
    this.#store = store
    this.#alarms = alarms
    this.#runner = new Runner({
      setup,
      store,
      readers,
      waiters,
      now: () => Date.now(),
      wakeAt: (time) => alarms.wakeAt(time),
      reportUnended: (run) => alarms.reportUnended(run),
      window: () => windowOptions(setup, store),
      onStatus: (state, ...change) => alarms.onStatus(state, ...change),
      onChildLeft: () => alarms.sendSoon(Date.now()),
      onParked: (record, eventId) => alarms.onParked(record, eventId),
    })
    this.#view = new RunReader({ store, runs: this.#runner.runs, readers, waiters })
    try {
      if (store.life() === 'open') this.#wake(ctx)
    } catch (error) {
      alarms.reportFailure(error)
    }
  }

  /**
   * Resumes a run that an earlier instance left unfinished: at once if a request started this instance, and after the
   * delay of this conversation if an alarm did, as after an outage alarms ring for many conversations at once.
   */
  #wake(ctx: DurableObjectState): void {
    const resume = () => {
      this.#runner.pump()
      void this.#alarms.restore()
    }
    this.#runner.retryParked()
    if (!this.#runner.countResume()) return resume()
    this.#runner.hold(recoveryDelay(ctx.id.toString()))
    void ctx.blockConcurrencyWhile(async () => {
      try {
        await ctx.storage.sync()
        resume()
      } catch (error) {
        this.#alarms.reportFailure(error)
      }
    })
  }

  async create({ tenant, id, settings, expires }: CreateRequest): Promise<Reply<{ created: boolean }>> {
    const life = this.#life()
    if (life === 'deleted') return refuseGone(this.#store)
    if (life === 'open') return { ok: true, created: false }
    await this.#alarms.create({ tenant, id, expires }, () => {
      if (Object.keys(settings).length > 0) this.#store.setMeta('settings', settings)
      this.#alarms.touch()
      if (expires !== undefined) this.#alarms.wakeAt(expires)
    })
    return { ok: true, created: true }
  }

  async settings(): ReturnType<ConversationService['settings']> {
    return this.#whenOpen(async () => {
      const created = this.#store.created()
      return { ok: true, settings: this.#store.settings(), created }
    })
  }

  async adopt(messages: readonly StoredMessage[]): Promise<Reply<object>> {
    return this.#whenRoom(true, async () => {
      this.#store.addMessages(messages)
      return { ok: true }
    })
  }

  async append(messages: readonly Message[]): Promise<Reply<{ messages: readonly StoredMessage[] }>> {
    return this.#whenRoom(true, async () => {
      const { runs } = this.#store
      if (runs.unfinished().length > 0)
        return refusalOf('conversation_busy', 'A run of this conversation is in progress.')
      const run = newId('run')
      const first = positionOf(runs.nextPlace())
      const storedMessages = messages.map((message, index) => ({ position: first + index, run, message }))
      this.#store.addMessages(storedMessages)
      this.#alarms.touch()
      return { ok: true, messages: storedMessages }
    })
  }

  async export(): Promise<Reply<{ stream: ReadableStream<Uint8Array> }>> {
    // Resumes no run: what that reads may be damaged, while other parts can still be read.
    return this.#refusal() ?? { ok: true, stream: exportStream(this.#store, this.#store.settings()) }
  }

  async backup(request: Parameters<ConversationService['backup']>[0]): ReturnType<ConversationService['backup']> {
    const store = this.#store
    const cancelAll = async (since: number) => {
      await this.#runner.cancelAll(store.runs.unfinished())
      store.endParkedRuns()
      // At that time, nothing will be known of them.
      await removeChildren(this.#family, store.children.since(since))
    }
    const countBytes: BackupPorts['countBytes'] = (...size) => countUnlisted(this.#setup, ...size)
    const { config, copySigner: signer } = this.#setup
    const own = { ctx: this.ctx, store, alarms: this.#alarms, limits: config.limits, signer }
    const ports = { ...own, life: () => this.#life(), cancelAll, countBytes }
    return this.#setup.backups?.(request, ports) ?? UNKNOWN
  }

  async regenerate(
    ...[runId, repeat, options = {}]: Parameters<ConversationService['regenerate']>
  ): Promise<Reply<StartReply>> {
    return this.#whenOpen(async () => {
      const storedRun = this.#store.runs.get(runId)
      if (!storedRun) return UNKNOWN_RUN
      if (!options.onward && !isTerminal(storedRun.status))
        return refusalOf('conversation_busy', 'This run has not ended yet.')
      const request = await repeatedRequest(this.#setup, storedRun, repeat)
      if ('ok' in request) return request
      return this.start({ ...request, onBusy: 'queue', create: false, replaces: runId, ...options })
    })
  }

  async turnAfter(runId: string): Promise<Reply<{ run: string | undefined }>> {
    return this.#whenOpen(async () => {
      const row = this.#store.runs.row(runId)
      if (!row && runId !== '') return UNKNOWN_RUN
      return { ok: true, run: this.#store.messages.firstRun((row?.place ?? 0) + 1) }
    })
  }

  async start(request: StartRequest): Promise<Reply<StartReply>> {
    const life = this.#life()
    if (life === 'deleted') return refuseGone(this.#store)
    if (life === 'none' && !request.create) return UNKNOWN
    this.#attend(life)
    const { replaces = '', onward, run, expires, follow } = request
    const parent = parentOf(run)
    if (life === 'none') {
      void this.#alarms.create({ tenant: run.caller.tenant, id: run.conversation ?? run.runId, expires, parent })
    } else if (parent !== undefined && parent !== this.#store.parent()) {
      return refusalOf('conversation_exists', 'The conversation of the agent is that of somebody else.')
    }
    const isKnown = this.#store.runs.row(run.runId) !== undefined
    if (request.begins && life !== 'none' && !isKnown)
      return refusalOf('conversation_exists', 'The conversation of this run was made by somebody else.')
    const full = isKnown ? undefined : await storageRefusal(this.#store, this.#setup)
    if (full) return full
    // Cancelled runs still store their messages; that must happen before `acceptRun` hides these from models.
    // Runs that are accepted meanwhile are cancelled too, and those whose cancellation could not be stored again.
    const { runs } = this.#store
    const isNew = () => this.#life() === 'open' && runs.row(replaces) && !runs.row(run.runId)
    const toCancel = () => (onward && isNew() ? runs.unfinished() : [])
    for (let tries = 0; toCancel().length > 0; tries++) {
      if (tries === MOST_CANCELLATIONS) return refusalOf('conversation_busy', 'Later runs could not be cancelled.')
      await this.#runner.cancelAll(toCancel())
    }
    // The conversation may have been deleted meanwhile, or a deletion may have begun.
    if (this.#life() !== 'open') return DELETED
    const acceptReply = acceptRun(request, {
      store: this.#store,
      runner: this.#runner,
      alarms: this.#alarms,
      setup: this.#setup,
    })
    if (!acceptReply.ok) return acceptReply
    if (acceptReply.toCancel) await this.#runner.cancelAll(acceptReply.toCancel)
    // A reader that follows before the run begins receives its events directly, and need not read the journal.
    const stream = follow && this.#view.follow(acceptReply.reply.runId, acceptReply.reply.joinedAfter ?? 0, follow)
    this.#runner.pump()
    return { ok: true, ...acceptReply.reply, created: life === 'none', ...(stream && { stream }) }
  }

  async record(runId: string, waitMs: number): Promise<Reply<{ record: RunRecord }>> {
    return this.#whenOpen(async () => {
      const record = await this.#view.record(runId, waitMs)
      return record ? { ok: true, record } : UNKNOWN_RUN
    })
  }

  async callerRun(...args: Parameters<ConversationService['callerRun']>): ReturnType<ConversationService['callerRun']> {
    return this.#whenOpen(async () => this.#view.callerRun(...args))
  }

  async events(...args: Parameters<ConversationService['events']>): ReturnType<ConversationService['events']> {
    return this.#whenOpen(async () => this.#view.events(...args))
  }

  async stepRequest(runId: string, step: number): ReturnType<ConversationService['stepRequest']> {
    return this.#whenOpen(async () => stepRequest(this.#setup, this.#store, { runId, step }))
  }

  async faults(runId: string): ReturnType<ConversationService['faults']> {
    return this.#whenOpen(async () =>
      this.#store.runs.row(runId) ? { ok: true, faults: this.#store.faults.of(runId) } : UNKNOWN_RUN,
    )
  }

  async runs({ before, limit }: Parameters<ConversationService['runs']>[0]): ReturnType<ConversationService['runs']> {
    return this.#whenOpen(async () => {
      if (before !== undefined && !this.#store.runs.row(before)) return UNKNOWN_RUN
      return { ok: true, runs: this.#store.runs.list(before, limit) }
    })
  }

  async messages(page: Parameters<ConversationService['messages']>[0]): Promise<Reply<{ messages: StoredMessage[] }>> {
    const { before, upTo, limit, fullResults } = page
    return this.#whenOpen(async () => {
      const row = upTo === undefined ? undefined : this.#store.runs.row(upTo)
      if (upTo !== undefined && !row) return UNKNOWN_RUN
      if (row && !isTerminal(row.status)) return refusalOf('conversation_busy', 'This run has not ended yet.')
      const end = before ?? (row ? positionOf(row.place + 1) : Number.MAX_SAFE_INTEGER)
      const messages = this.#store.messages.page(end, limit, fullResults && this.#store.fullResults)
      return { ok: true, messages: fullResults ? this.#store.withRefusals(messages) : messages }
    })
  }

  async turns(page: Parameters<ConversationService['turns']>[0]): ReturnType<ConversationService['turns']> {
    return this.#whenOpen(async () => turnsBefore(this.#store, page))
  }

  async usage(): Promise<Reply<{ usage: Usage; runs: number }>> {
    return this.#whenOpen(async () => ({ ok: true, ...this.#store.usage() }))
  }

  async cancel(runId: string): ReturnType<ConversationService['cancel']> {
    const ports = { store: this.#store, cancel: (id: string) => this.#runner.cancelAll([id]) }
    return this.#whenOpen(async () => cancelRun(runId, ports))
  }

  async retry(runId: string): Promise<Reply<{ record: RunRecord }>> {
    return this.#whenOpen(async () => {
      const { status } = this.#store.runs.row(runId) ?? {}
      if (status !== 'parked') return status ? refusalOf('run_not_parked', 'This run is not parked.') : UNKNOWN_RUN
      this.#runner.retry(runId)
      return this.record(runId, 0)
    })
  }

  async approval(runId: string, callId: string): Promise<Reply<{ approval: PendingApproval }>> {
    return this.#whenOpen(async () => {
      if (!this.#store.runs.row(runId)) return UNKNOWN_RUN
      const own = await pendingApproval(this.#runner.runs.find(runId), callId)
      const approval = own ?? (await approvalBelow(runId, callId, this.#family))
      return approval
        ? { ok: true, approval }
        : refusalOf('unknown_call', `This run has no call "${callId}" to decide about.`)
    })
  }

  async answer(
    ...[runId, answers, continuation]: Parameters<ConversationService['answer']>
  ): ReturnType<ConversationService['answer']> {
    const isLarge = JSON.stringify([answers, continuation]).length > MOST_OF_DECISION
    return this.#whenRoom(isLarge, async () => {
      if (!this.#store.runs.row(runId)) return UNKNOWN_RUN
      const { own, refusal } = await answerBelow(runId, answers, this.#family)
      const fault = refusal ?? (await refuseUnseen(this.#runner.runs.find(runId), own))
      if (fault) return fault
      const open = this.#runner.runs.find(runId)
      const isBelow = Object.keys(own).length === 0 && Object.keys(answers).length > 0
      const last = open?.journal.last ?? 0
      if (isBelow && open) this.#runner.reviewWait(open)
      if (isBelow && !continuation?.input.length) return { ...(await this.record(runId, 0)), after: last }
      if (this.#store.runs.row(runId)?.status === 'parked') return PARKED
      if (!open || open.state.status === 'cancelling') return refuseAfterEnd(own, await this.#view.record(runId, 0))
      const isOwn = continuation?.key === open.stored.request.caller.key
      if (!isOwn && continuation?.input.length)
        return refusalOf('run_waiting', 'Another API key started this run; send only the answers to its calls.')
      const events = answerEvents(open, own, this.#setup.config)
      if ('ok' in events) return events
      const conflict = isOwn && refuseNames(open, continuation?.terms)
      if (conflict) return conflict
      const after = open.journal.last
      this.#runner.answer(open, events, isOwn ? continuation : undefined)
      this.#alarms.touch()
      return { ...(await this.record(runId, 0)), after }
    })
  }

  async report(runId: string, callId: string, report: CallReport): Promise<Reply<object>> {
    const ports = { store: this.#store, runner: this.#runner, alarms: this.#alarms }
    // Progress that there is no room for is shown and not stored.
    return this.#whenRoom('outcome' in report, async () => reportCall(ports, { runId, callId }, report))
  }

  async runWaitingFor(callId: string): ReturnType<ConversationService['runWaitingFor']> {
    return this.#whenOpen(async () => {
      const run = this.#store.children.runWaitingFor(callId)
      return run === undefined ? UNKNOWN_RUN : { ok: true, run }
    })
  }

  async agentOutcome(runId: string): ReturnType<ConversationService['agentOutcome']> {
    return this.#whenOpen(async () => outcomeOfRun({ store: this.#store, alarms: this.#alarms }, runId))
  }

  async children(page: Parameters<ConversationService['children']>[0]): ReturnType<ConversationService['children']> {
    return this.#whenOpen(async () => {
      const rows = this.#store.children.conversations(page.after, page.limit)
      const children = rows.map(({ conversation: id, agent, run: calledBy, call, child: run }) => {
        return { id, agent, calledBy, call, run }
      })
      return { ok: true, children }
    })
  }

  async remove(options?: { readonly of: string }): Promise<Reply<object>> {
    if (this.#store.restoring()) return this.#store.discardRestore()
    const refusal = this.#refusal()
    if (refusal) return refusal
    if (options && options.of !== this.#store.parent()) return UNKNOWN
    this.#isDeleting = true
    try {
      await this.#endAll()
      await removeChildren(this.#family)
      await this.#store.deleteForGood()
    } finally {
      this.#isDeleting = false
    }
    return { ok: true }
  }

  get #family(): FamilyPorts {
    return { store: this.#store, setup: this.#setup, now: () => Date.now() }
  }

  /** Cancels all runs and reports what is not reported yet. Of a damaged conversation only what can be read. */
  async #endAll(): Promise<void> {
    try {
      this.#attend('open')
      await this.#runner.cancelAll(this.#store.runs.unfinished())
      this.#store.endParkedRuns()
      await this.#alarms.reportAll()
    } catch (error) {
      if (!isDamage(error)) throw error
      this.#alarms.reportFailure(error)
    }
  }

  override async alarm(): Promise<void> {
    if (this.#store.life() === 'open') await this.#alarms.onAlarm()
    if ((this.#store.restoring()?.until ?? Infinity) <= Date.now()) await this.#store.discardRestore()
    if (this.#store.life() === 'none') this.#view.end()
  }

  async #whenOpen<Value>(answer: () => Promise<Reply<Value>>): Promise<Reply<Value>> {
    const refusal = this.#refusal()
    if (refusal) return refusal
    this.#attend('open')
    return answer()
  }

  /** Returns why a conversation cannot be asked; undefined if it exists. */
  #refusal(): Refusal | undefined {
    const life = this.#life()
    if (life === 'open') return undefined
    return life === 'deleted' ? refuseGone(this.#store) : UNKNOWN
  }

  /** A request resumes the run whose turn it is at once, and sets the alarm if that is lost. */
  #attend(life: 'none' | 'open'): void {
    this.#runner.release()
    if (life === 'open') void this.#alarms.restore()
  }

  /** Answers a request. One that stores what it brings is refused if the tenant stores too much. */
  async #whenRoom<Value>(stores: boolean, answer: () => Promise<Reply<Value>>): Promise<Reply<Value>> {
    return this.#whenOpen(async () => {
      const full = stores ? await storageRefusal(this.#store, this.#setup) : undefined
      return full ?? (this.#life() === 'open' ? answer() : DELETED)
    })
  }

  #life(): ReturnType<Store['life']> {
    return this.#isDeleting ? 'deleted' : this.#store.life()
  }
}

/** Makes the base of the class to export: `export class Conversation extends conversation(setup) {}`. */
export function conversation<Env extends object>(
  makeSetup: MakeSetup<Env>,
): new (ctx: DurableObjectState, env: Env) => ConversationObject<Env> {
  return class extends ConversationObject<Env> {
    constructor(ctx: DurableObjectState, env: Env) {
      super(ctx, env, setupOf(makeSetup, env))
    }
  }
}
