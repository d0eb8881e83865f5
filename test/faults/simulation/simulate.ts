import type { CallAnswer } from '../../../src/contract/conversation.ts'
import type { RunEvent } from '../../../src/contract/event.ts'
import type { ModelEvent, ModelRequest } from '../../../src/contract/model.ts'
import { contentText } from '../../../src/contract/message.ts'
import type { OnBusy } from '../../../src/contract/run.ts'
import { failure, type Tool } from '../../../src/contract/tool.ts'
import { ask, requestOf, say, tool } from '../../fixtures/play.ts'
import { Chance } from '../chance.ts'
import {
  answerFaults,
  cancelFaults,
  deliveryFaults,
  endFaults,
  factFaults,
  historyFaults,
  isOver,
  newLedger,
  onceFaults,
} from './oracle.ts'
import { settle, World } from './world.ts'

interface Simulated {
  /** What is against the contract. */
  readonly faults: string[]
  /** The runs that were accepted. */
  readonly runs: number
  /** What was done, and the ends of the runs: the same for the same seed. */
  readonly trace: readonly string[]
}

const HOUR = 3_600_000
/** What a message asks the model for: the run that it began, and the tools to call. */
const PLAN = /^(run_\d+): (.*)$/
/** Alarms within which all runs must end once nothing goes wrong any more. */
const MOST_ALARMS = 300

/** Plays the random program of a seed against one conversation, then lets all end, and judges what is left. */
export async function simulate(seed: number): Promise<Simulated> {
  const program = new Program(new Chance(seed))
  try {
    return await program.play()
  } finally {
    program.close()
  }
}

class Program {
  readonly #chance: Chance
  readonly #world: World
  readonly #ledger = newLedger()
  readonly #faults: string[] = []
  readonly #trace: string[] = []
  readonly #journals = new Map<string, RunEvent[]>()
  /** Models and tools that wait; each is let go on by a call. */
  #held: (() => void)[] = []
  #isCalm = false
  #posted = 0

  constructor(chance: Chance) {
    this.#chance = chance
    const mostSubrequests = chance.pick([9000, 9000, 1, 2, 5])
    this.#world = new World({ tools: this.#tools(), answer: (request) => this.#answer(request), mostSubrequests })
  }

  close(): void {
    this.#world.close()
  }

  async play(): Promise<Simulated> {
    const actions: readonly [number, string, () => unknown][] = [
      [6, 'post', () => this.#post(this.#posted++)],
      [1, 'post again', () => this.#posted > 0 && this.#post(this.#chance.between(0, this.#posted - 1))],
      [3, 'decide', () => this.#decide()],
      [1, 'cancel', () => this.#posted > 0 && this.#cancel(runId(this.#chance.between(0, this.#posted - 1)))],
      [4, 'let go on', () => this.#letGoOn()],
      [2, 'evict', () => this.#world.lose()],
      [3, 'lose at a commit', () => this.#loseSoon()],
      [1, 'fail to store', () => (this.#world.failures = this.#chance.between(1, 3))],
      [2, 'ring', () => (this.#world.alarmAt < Infinity ? this.#world.ring() : undefined)],
      [2, 'wait', () => this.#world.pass(this.#chance.pick([1000, 10_000, 40_000, 200_000]))],
      [1, 'wait for long', () => this.#world.pass(this.#chance.between(1, 30) * HOUR)],
      [2, 'look', () => this.#look()],
    ]
    const bag = actions.flatMap(([weight, name, act]) => Array.from({ length: weight }, () => ({ name, act })))
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
    return { faults: this.#faults, runs: this.#ledger.requests.size, trace: this.#trace }
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

  async #post(number: number): Promise<void> {
    const id = runId(number)
    const plan = ['plain', 'idempotent', 'pays', 'broken', 'plain idempotent', 'pays pays', 'pays plain', '']
    // What is posted again under the same key is the same.
    const input = new Chance(number + 1).pick(plan as [string, ...string[]])
    const onBusy = this.#chance.pick<OnBusy>(['queue', 'queue', 'steer', 'interrupt', 'reject'])
    const run = requestOf({
      runId: id,
      conversation: 'conv_1',
      fingerprint: 'f',
      input: [{ role: 'user', content: `${id}: ${input}` }],
    })
    const tools = JSON.stringify(this.#tools().map(({ definition }) => definition))
    const { requests, refusals } = this.#ledger
    // Whoever posts again may be accepted now, and not hear of it.
    refusals.delete(id)
    const reply = await this.#ask((object) => object.start({ run, tools, onBusy, create: true }))
    if (!reply) return
    if (!reply.ok) {
      if (requests.has(id)) this.#faults.push(`${id} was accepted, and is refused with ${reply.code}`)
      refusals.add(id)
      return
    }
    const before = requests.get(id)
    const joins = reply.runId === id ? {} : { joins: reply.runId }
    if (before && before.joins !== joins.joins) this.#faults.push(`${id} was accepted twice`)
    requests.set(id, joins)
  }

  async #decide(): Promise<void> {
    const { approved, rejected } = this.#ledger
    for (const { id } of this.#world.statuses().filter(({ status }) => status === 'waiting')) {
      const reply = await this.#ask((object) => object.record(id, 0))
      const calls = reply?.ok ? reply.record.calls.filter(({ status }) => status === 'approval') : []
      const answers: Record<string, CallAnswer> = {}
      for (const call of calls) {
        if (!this.#isCalm && this.#chance.isHit(0.3)) continue
        // People do not change their minds: what was lost on its way is said again.
        const decision = approved.has(call.id) || (!rejected.has(call.id) && this.#chance.isHit(0.7))
        ;(decision ? approved : rejected).add(call.id)
        answers[call.id] = { decision: decision ? 'approve' : 'reject' }
      }
      if (Object.keys(answers).length > 0) await this.#ask((object) => object.answer(id, answers))
    }
  }

  async #cancel(id: string): Promise<void> {
    const reply = await this.#ask((object) => object.cancel(id))
    if (reply?.ok && reply.status === 'cancelled') this.#ledger.cancelled.add(id)
  }

  #letGoOn(): void {
    const releases = this.#held
    this.#held = []
    for (const goOn of releases) goOn()
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
    this.#isCalm = true
    this.#world.failures = 0
    this.#world.commitsToLoss = Infinity
    const isUnderWay = () => this.#world.statuses().some(({ status }) => !isOver(status))
    for (let alarms = 0; isUnderWay(); alarms++) {
      if (alarms > MOST_ALARMS) return void this.#faults.push(`runs do not end: ${this.#statusText()}`)
      this.#letGoOn()
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

  async #judge(): Promise<void> {
    this.#compareJournals()
    const ids = new Set(this.#world.statuses().map(({ id }) => id))
    for (const [id, { joins }] of this.#ledger.requests)
      if (!ids.has(joins ?? id)) this.#faults.push(`${id} was accepted and is gone`)
    for (const id of ids) {
      const events = this.#world.journal(id)
      this.#faults.push(
        ...endFaults(this.#ledger, id, events),
        ...onceFaults(id, events),
        ...cancelFaults(this.#ledger, id, events),
        ...answerFaults(this.#ledger, id, events),
      )
      this.#trace.push(`${id} ${events.map(({ type }) => type).join(' ')}`)
    }
    this.#faults.push(...deliveryFaults(this.#ledger))
    const page = ids.size > 0 ? await this.#ask((object) => object.messages({ limit: 1000 })) : undefined
    if (page?.ok) {
      const messages = page.messages.map(({ message }) => message)
      this.#faults.push(...historyFaults('the conversation', messages))
    }
  }

  /** Does not return before it is let go on, in some cases. */
  async #hold(): Promise<void> {
    if (this.#isCalm || !this.#chance.isHit(0.3)) return
    await new Promise<void>((resolve) => this.#held.push(resolve))
  }

  async *#answer({ messages }: ModelRequest): AsyncGenerator<ModelEvent> {
    this.#faults.push(...historyFaults('a request to the model', messages))
    const fails = !this.#isCalm && this.#chance.isHit(0.1)
    await this.#hold()
    const at = messages.findLastIndex(({ role, content }) => role === 'user' && PLAN.test(contentText(content)))
    const [, run = '', plan = ''] = PLAN.exec(contentText(messages[at]?.content ?? '')) ?? []
    const hasCalled = messages.slice(at).some(({ role }) => role === 'tool')
    const events = plan === '' || hasCalled ? say(`Done ${run}.`) : ask(...plan.split(' ').map(callOf))
    const [first, ...rest] = events
    if (first) yield first
    await this.#hold()
    if (fails) yield { type: 'error', error: { code: 'model_stream_cut', message: 'It broke off.', retryable: true } }
    else yield* rest
  }

  #tools(): Tool[] {
    const deliver = (name: string) =>
      tool(
        name,
        async (_args, { callId, idempotencyKey, runId: run, attempt }) => {
          this.#ledger.deliveries.push({ call: callId, tool: name, key: idempotencyKey })
          const isStarted = this.#world
            .journal(run)
            .some((event) => event.type === 'call.started' && event.callId === callId && event.attempt === attempt)
          if (!isStarted) this.#faults.push(`${callId} was delivered before its start was on disk`)
          await this.#hold()
          if (name === 'broken') return failure('broken', 'It broke.')
          return 'done'
        },
        {
          annotations: name === 'idempotent' ? { idempotent: true } : {},
          ...(name === 'pays' && { approval: 'always' as const }),
        },
      )
    return ['plain', 'idempotent', 'pays', 'broken'].map(deliver)
  }
}

function callOf(name: string, index: number): [string, object] {
  return [name, { index }]
}

function runId(number: number): string {
  return `run_${String(number).padStart(22, '0')}`
}
