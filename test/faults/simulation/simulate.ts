import type { CallAnswer } from '../../../src/contract/conversation.ts'
import type { RunEvent } from '../../../src/contract/event.ts'
import type { OnBusy } from '../../../src/contract/run.ts'
import { requestOf } from '../../fixtures/play.ts'
import { Chance } from '../chance.ts'
import {
  approvalFaults,
  deletionFaults,
  type JudgedRun,
  newsFaults,
  pruningFaults,
  replacementFaults,
  type Terms,
  webhookFaults,
} from './duties.ts'
import { newLedger } from './ledger.ts'
import {
  answerFaults,
  cancelFaults,
  deliveryFaults,
  endFaults,
  factFaults,
  historyFaults,
  isOver,
  onceFaults,
  undoFaults,
} from './oracle.ts'
import { Outside, type Refusal } from './outside.ts'
import { RECEIVER, World } from './world.ts'
import { settle } from '../../fixtures/settle.ts'

interface Simulated {
  /** What is against the contract. */
  readonly faults: string[]
  /** The runs that were accepted. */
  readonly runs: number
  /** How often a prompt was reduced. */
  readonly reductions: number
  /** What was done, and the ends of the runs: the same for the same seed. */
  readonly trace: readonly string[]
}

const [MINUTE, HOUR] = [60_000, 3_600_000]
const TENANT = 'acme'
const CONVERSATION = 'conv_1'
const KEY = '0123456789ab'
/** The tools that a message has its run call: those of a step together, step by step. */
const PLANS = [
  'plain',
  'idempotent',
  'pays',
  'broken',
  'plain idempotent',
  'pays pays',
  'pays plain',
  '',
  'books broken',
  'books;plain;broken',
  'books books;pays;broken',
  'broken;books',
] as const
/** The same with tools that answer later. */
const LATE_PLANS = ['polled', 'polled patient', 'patient;polled', 'polled pays', 'patient'] as const
/** The ids of runs that repeat others begin here. */
const FIRST_REPEAT = 1_000_000
/** Every fourth program has a model with a small window. */
const REFUSALS: readonly (Refusal | undefined)[] = [
  ...[undefined, 'never, as the edge knows its window', undefined, undefined, undefined, 'with its window'],
  ...[undefined, undefined, undefined, 'without a figure', undefined, undefined],
] as const
/** Alarms within which all runs must end once nothing goes wrong any more. */
const MOST_ALARMS = 300

/** Plays the random program of a seed against one conversation, then lets all end, and judges what is left. */
export async function simulate(seed: number): Promise<Simulated> {
  const refusal = REFUSALS[seed % REFUSALS.length]
  const program = new Program(new Chance(seed), refusal)
  try {
    return await program.play()
  } catch (error) {
    return { faults: [String(error)], runs: 0, reductions: 0, trace: [] }
  } finally {
    program.close()
  }
}

class Program {
  readonly #chance: Chance
  readonly #world: World
  readonly #outside: Outside
  readonly #terms: Terms
  readonly #hasWebhook: boolean
  /** Whether people decide about calls at all. */
  readonly #isAttended: boolean
  /** What messages have beside their plan: much, if the model has a small window. */
  readonly #filler: string
  readonly #faults: string[] = []
  readonly #trace: string[] = []
  readonly #journals = new Map<string, RunEvent[]>()
  #ledger = newLedger()
  #isDeleted = false
  #runs = 0
  #reductions = 0
  #posted = 0
  #repeated = 0

  constructor(chance: Chance, refusal: Refusal | undefined) {
    this.#chance = chance
    this.#filler = refusal === undefined ? '' : `\n${'word '.repeat(300)}`
    this.#outside = new Outside({
      chance,
      refusal,
      underWay: () => {
        const runs = this.#world.statuses()
        const isRetried = (id: string) => this.#world.journal(id).at(-1)?.type === 'run.retried'
        // A parked run that is tried again waits until the current one has ended.
        const index = runs.findIndex(({ id, status }) => status === 'running' && !isRetried(id))
        const run = runs[index]?.id
        if (run === undefined) return undefined
        const isBehind = runs.slice(index + 1).some(({ id }) => this.#ledger.repeats.has(id))
        return { run, events: this.#world.journal(run), isBehind }
      },
      messagesOfStep: (run, step) => this.#world.messagesOfStep(run, step),
      ledger: () => this.#ledger,
      addFaults: (...faults) => void this.#faults.push(...faults),
      disturbances: () => this.#world.disturbances,
      isStarted: (run, call, attempt) =>
        this.#world
          .journal(run)
          .some((event) => event.type === 'call.started' && event.callId === call && event.attempt === attempt),
    })
    const ends: readonly [Terms, ...Terms[]] = [
      {},
      {},
      {},
      { ttlSeconds: 1800 },
      { ttlSeconds: 72 * 3600 },
      { expires: chance.between(1, 40) * HOUR },
    ]
    this.#terms = chance.pick(ends)
    this.#hasWebhook = chance.isHit(0.5)
    this.#isAttended = chance.isHit(0.8)
    this.#world = new World({
      tools: this.#outside.tools,
      answer: (request) => this.#outside.answer(request),
      windowTokens: this.#outside.windowTokens,
      receive: this.#outside.receive,
      onDelete: () => this.#onDelete(),
      mostSubrequests: chance.pick([9000, 9000, 1, 2, 5]),
      id: chance
        .between(0, 2 ** 32 - 1)
        .toString(16)
        .padStart(64, '0'),
    })
  }

  close(): void {
    this.#world.close()
  }

  async play(): Promise<Simulated> {
    const actions: readonly [number, string, () => unknown][] = [
      [6, 'post', () => this.#post(this.#posted++)],
      [1, 'post again', () => this.#posted > 0 && this.#post(this.#chance.between(0, this.#posted - 1))],
      [2, 'run a turn again', () => this.#repeat()],
      [3, 'decide', () => this.#decide()],
      [1, 'report', () => this.#report()],
      [1, 'lose the alarm', () => this.#world.loseAlarm()],
      [1, 'cancel', () => this.#cancel()],
      [4, 'let go on', () => this.#outside.letGoOn()],
      [2, 'evict', () => this.#world.lose()],
      [3, 'lose at a commit', () => this.#loseSoon()],
      [1, 'fail to store', () => (this.#world.failures = this.#chance.between(1, 3))],
      [1, 'fail to list', () => (this.#world.directoryFailures = this.#chance.between(1, 3))],
      [2, 'ring', () => (this.#world.alarmAt < Infinity ? this.#world.ring() : undefined)],
      [2, 'wait', () => this.#world.pass(this.#chance.pick([1000, 10_000, 40_000, 200_000, 11 * MINUTE]))],
      [1, 'wait for long', () => this.#world.pass(this.#chance.between(1, 30) * HOUR)],
      [2, 'look', () => this.#look()],
    ]
    const bag = actions.flatMap(([weight, name, act]) => Array.from({ length: weight }, () => ({ name, act })))
    await this.#create()
    const length = this.#chance.between(8, 30)
    for (let step = 0; step < length; step++) {
      const { name, act } = bag[this.#chance.between(0, bag.length - 1)] ?? { name: '', act: () => {} }
      this.#trace.push(name)
      await act()
      await settle()
      this.#compareJournals()
    }
    await this.#calmDown()
    await this.#judge()
    await this.#awaitDuties()
    return { faults: this.#faults, runs: this.#runs, reductions: this.#reductions, trace: this.#trace }
  }

  /** Asks the object, which may be lost meanwhile: then there is no answer. */
  async #ask<Value>(request: (object: World['object']) => Promise<Value>): Promise<Value | undefined> {
    let reply: Value | undefined
    void request(this.#world.object).then(
      (value) => (reply = value),
      () => {},
    )
    await settle()
    return reply
  }

  async #create(): Promise<void> {
    const { ttlSeconds, expires } = this.#terms
    const settings = {
      ...(ttlSeconds !== undefined && { ttlSeconds }),
      ...(this.#hasWebhook && { webhook: RECEIVER.href }),
    }
    this.#trace.push(JSON.stringify({ ...this.#terms, ...settings }))
    const owner = { tenant: TENANT, id: CONVERSATION, ...(expires !== undefined && { expires }) }
    await this.#ask((object) => object.create({ ...owner, settings }))
  }

  async #post(number: number): Promise<void> {
    const id = runId(number)
    // What is posted again under the same key is the same.
    const draw = new Chance(number + 1)
    const plainPlan = draw.pick(PLANS)
    const onBusy = this.#chance.pick<OnBusy>(['queue', 'queue', 'steer', 'interrupt', 'reject'])
    const compensate = draw.isHit(0.6)
    const plan = draw.isHit(0.25) ? draw.pick(LATE_PLANS) : plainPlan
    const isMetered = draw.isHit(0.4)
    const run = requestOf({
      runId: id,
      conversation: CONVERSATION,
      fingerprint: 'f',
      input: [{ role: 'user', content: `${id}: ${plan}${this.#filler}` }],
      compensate,
      caller: { tenant: TENANT, key: KEY, scopes: ['chat'] },
      ...(isMetered && { budget: { tokens: 1_000_000 } }),
    })
    if (isMetered) this.#ledger.metered.add(id)
    if (run.compensate) this.#ledger.compensating.add(id)
    const tools = JSON.stringify(this.#outside.tools.map(({ definition }) => definition))
    // Whoever posts again may be accepted now, and not hear of it.
    this.#ledger.refusals.delete(id)
    const reply = await this.#ask((object) => object.start({ run, tools, onBusy, create: true }))
    if (!reply) return
    const { requests, refusals } = this.#ledger
    if (!reply.ok) {
      if (requests.has(id)) this.#faults.push(`${id} was accepted, and is refused with ${reply.code}`)
      refusals.add(id)
      return
    }
    const before = requests.get(id)
    const joins = reply.runId === id ? {} : { joins: reply.runId }
    if (before && before.joins !== joins.joins) this.#faults.push(`${id} was accepted twice`)
    if (!before) this.#runs += 1
    requests.set(id, joins)
    // A replay of a run is no use of its conversation.
    if (!reply.replayed) this.#ledger.usedAt = Date.now()
  }

  /** Runs the turn of a run again, with the turns after it or without them. */
  async #repeat(): Promise<void> {
    const runs = this.#world.statuses()
    const of = runs[this.#chance.between(0, Math.max(0, runs.length - 1))]?.id
    if (of === undefined) return
    const id = runId(FIRST_REPEAT + this.#repeated++)
    const onward = this.#chance.isHit(0.4)
    const { requests, refusals, repeats, compensating } = this.#ledger
    repeats.set(id, { of, onward })
    if (compensating.has(of)) compensating.add(id)
    const caller = { tenant: TENANT, key: KEY, scopes: ['chat'] }
    const reply = await this.#ask((object) => object.regenerate(of, { runId: id, caller }, { onward }))
    if (!reply) return
    if (!reply.ok) return void refusals.add(id)
    this.#runs += 1
    requests.set(id, {})
    this.#ledger.usedAt = Date.now()
  }

  async #decide(): Promise<void> {
    if (!this.#isAttended) return
    const { approved, rejected } = this.#ledger
    for (const { id } of this.#world.statuses().filter(({ status }) => status === 'waiting')) {
      const reply = await this.#ask((object) => object.record(id, 0))
      const calls = reply?.ok ? reply.record.calls.filter(({ status }) => status === 'approval') : []
      const answers: Record<string, CallAnswer> = {}
      for (const call of calls) {
        if (!this.#outside.isCalm && this.#chance.isHit(0.3)) continue
        // People do not change their minds: what was lost on its way is said again.
        const decision = approved.has(call.id) || (!rejected.has(call.id) && this.#chance.isHit(0.7))
        ;(decision ? approved : rejected).add(call.id)
        answers[call.id] = { decision: decision ? 'approve' : 'reject' }
      }
      if (Object.keys(answers).length > 0) await this.#ask((object) => object.answer(id, answers))
    }
  }

  /** Somebody reports the outcome of each call that waits for that. */
  async #report(): Promise<void> {
    for (const { id } of this.#world.statuses()) {
      for (const event of this.#world.journal(id)) {
        if (event.type !== 'call.deferred' || event.tool !== 'patient') continue
        const outcome = { ok: true, content: [{ type: 'text', text: 'reported' }] } as const
        await this.#ask((object) => object.report(id, event.callId, { outcome }))
      }
    }
  }

  async #cancel(): Promise<void> {
    const runs = this.#world.statuses()
    const id = runs[this.#chance.between(0, Math.max(0, runs.length - 1))]?.id
    if (id === undefined) return
    const reply = await this.#ask((object) => object.cancel(id))
    if (reply?.ok && reply.status === 'cancelled') this.#ledger.cancelled.add(id)
  }

  #loseSoon(): void {
    this.#world.commitsToLoss = this.#chance.between(1, 8)
    this.#world.losesCommit = this.#chance.isHit(0.5)
  }

  /** Notes the ends that a caller has seen. */
  async #look(): Promise<void> {
    for (const { id } of this.#world.statuses()) {
      const reply = await this.#ask((object) => object.record(id, 0))
      if (reply?.ok && isOver(reply.record.status) && !this.#ledger.ends.has(id))
        this.#ledger.ends.set(id, reply.record)
    }
  }

  /** From here on nothing goes wrong, people decide, and somebody retries what is parked: all runs must end. */
  async #calmDown(): Promise<void> {
    this.#outside.isCalm = true
    this.#world.failures = 0
    this.#world.directoryFailures = 0
    this.#world.commitsToLoss = Infinity
    // Any request sets an alarm that was lost.
    await this.#ask((object) => object.messages({ limit: 1 }))
    const isUnderWay = () => this.#world.statuses().some(({ status }) => !isOver(status))
    for (let alarms = 0; isUnderWay(); alarms++) {
      if (alarms > MOST_ALARMS) return void this.#faults.push(`runs do not end: ${this.#statusText()}`)
      this.#outside.letGoOn()
      await settle()
      await this.#decide()
      const parked = this.#world.statuses().filter(({ status }) => status === 'parked')
      for (const { id } of parked) await this.#ask((object) => object.retry(id))
      if (!isUnderWay()) return
      if (this.#world.alarmAt === Infinity)
        return void this.#faults.push(`nobody looks after the runs: ${this.#statusText()}`)
      await this.#world.ring()
    }
  }

  #statusText(): string {
    return this.#world
      .statuses()
      .map(({ id, status }) => `${id} ${status}`)
      .join(', ')
  }

  #compareJournals(): void {
    for (const { id } of this.#world.statuses()) {
      const journal = this.#world.journal(id)
      this.#faults.push(...factFaults(id, this.#journals.get(id) ?? [], journal))
      this.#journals.set(id, journal)
    }
  }

  #judgedRuns(): JudgedRun[] {
    return this.#world.statuses().map((run) => ({ ...run, events: this.#world.journal(run.id) }))
  }

  /** The conversation expires: whatever is posted after that makes a new one, without settings. */
  #onDelete(): void {
    const runs = this.#judgedRuns()
    const terms = this.#isDeleted ? {} : this.#terms
    const { isListed } = this.#world
    this.#faults.push(...deletionFaults(this.#ledger, terms, { now: Date.now(), runs, isListed }))
    this.#judgeRuns(runs)
    this.#trace.push('deleted')
    this.#ledger = newLedger()
    this.#journals.clear()
    this.#outside.attempts.length = 0
    this.#outside.prompts.clear()
    this.#isDeleted = true
  }

  /** What must hold of runs at any time. */
  #judgeRuns(runs: readonly JudgedRun[]): void {
    const { disturbances } = this.#world
    for (const run of runs) {
      const { id, events } = run
      this.#faults.push(
        ...onceFaults(id, events),
        ...cancelFaults(this.#ledger, id, events),
        ...answerFaults(this.#ledger, id, events),
        ...undoFaults(this.#ledger, id, events, disturbances),
        ...approvalFaults(this.#ledger, run, this.#world.withoutAlarmMs),
        ...newsFaults(run, Date.now()),
      )
      this.#reductions += events.filter(({ type }) => type === 'context.reduced').length
    }
    this.#faults.push(...deliveryFaults(this.#ledger), ...webhookFaults(this.#outside.attempts, runs, false))
  }

  async #judge(): Promise<void> {
    this.#compareJournals()
    const runs = this.#judgedRuns()
    const ids = runs.map(({ id }) => id)
    for (const [id, { joins }] of this.#ledger.requests)
      if (!ids.includes(joins ?? id)) this.#faults.push(`${id} was accepted and is gone`)
    for (const { id, events } of runs) {
      this.#faults.push(...endFaults(this.#ledger, id, events))
      this.#trace.push(`${id} ${events.map(({ type }) => type).join(' ')}`)
    }
    this.#judgeRuns(runs)
    const page = ids.length > 0 ? await this.#ask((object) => object.messages({ limit: 1000 })) : undefined
    if (page?.ok) {
      this.#faults.push(
        ...historyFaults(
          'the conversation',
          page.messages.map(({ message }) => message),
        ),
        ...replacementFaults(this.#ledger, ids, page.messages),
      )
    }
  }

  /** Lets the time pass after which news is deleted, messages are delivered and the conversation expires. */
  async #awaitDuties(): Promise<void> {
    const { ttlSeconds, expires } = this.#isDeleted ? {} : this.#terms
    if (expires === undefined) {
      await this.#world.pass(11 * MINUTE)
      this.#compareJournals()
      this.#faults.push(...this.#judgedRuns().flatMap((run) => pruningFaults(run)))
    }
    if (expires === undefined && ttlSeconds === undefined) {
      await this.#world.pass(18 * HOUR)
      if (this.#hasWebhook && !this.#isDeleted)
        this.#faults.push(...webhookFaults(this.#outside.attempts, this.#judgedRuns(), true))
      // Of one that was made by a request without an answer nobody knows.
      const isKnown = !this.#isDeleted || this.#ledger.requests.size > 0
      for (const { id, status, events } of this.#judgedRuns()) {
        // Of a parked run nobody knows what it has used.
        const isCounted = this.#world.countedRuns.has(id) || events.some(({ type }) => type === 'run.parked')
        if (this.#ledger.metered.has(id) && isOver(status) && !isCounted)
          this.#faults.push(`the usage of ${id} was never counted`)
      }
      if (isKnown && !this.#world.isListed) this.#faults.push('the conversation is not listed')
      return
    }
    await this.#world.pass((ttlSeconds ?? 0) * 1000 + Math.max(0, (expires ?? 0) - Date.now()) + HOUR)
    if (!this.#world.isEmpty()) this.#faults.push('the conversation has not expired')
  }
}

function runId(number: number): string {
  return `run_${String(number).padStart(22, '0')}`
}
