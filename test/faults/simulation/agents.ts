import type { AgentOptions } from '../../../src/contract/agent.ts'
import type { RunEvent } from '../../../src/contract/event.ts'
import { contentText } from '../../../src/contract/message.ts'
import type { ModelEvent, ModelRequest } from '../../../src/contract/model.ts'
import { isTerminal } from '../../../src/contract/run.ts'
import { failure, type Tool } from '../../../src/contract/tool.ts'
import { Family, HOME, instructions, TENANT } from '../../conversation/family.ts'
import { ask, say, tool } from '../../fixtures/play.ts'
import { Chance } from '../chance.ts'
import { onceFaults } from './oracle.ts'
import { settle } from '../../fixtures/settle.ts'

interface Simulated {
  /** What is against the contract. */
  readonly faults: string[]
  /** The runs of agents that were started. */
  readonly children: number
  /** What was done, and the ends of the runs: the same for the same seed. */
  readonly trace: readonly string[]
}

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000]
const KEY = '0123456789ab'
/** How often a call of each class may be delivered: docs/tools.md. */
const MOST_DELIVERIES: Readonly<Record<string, number>> = { plain: 1, idempotent: 3, pays: 1 }
/** The tools that a question has a run call: those of a step together, step by step. */
const PLANS = {
  '': ['boss', 'boss plain', 'clerk;boss', 'boss clerk', 'plain;clerk', 'helper', 'helper helper;clerk'],
  boss: ['clerk', 'clerk clerk', 'pays;clerk', 'clerk;idempotent', 'plain clerk', 'broken'],
  clerk: ['pays', 'plain', 'idempotent pays', 'broken;pays', 'pays pays', ''],
  helper: ['plain', 'pays', ''],
} as const
/** Hours after which all must have ended once nothing goes wrong any more. */
const MOST_HOURS = 24 * 8

/** Plays the random program of a seed against runs that call agents, then lets all end, and judges what is left. */
export async function simulateAgents(seed: number): Promise<Simulated> {
  const program = new Program(new Chance(seed))
  try {
    return await program.play()
  } catch (error) {
    return { faults: [error instanceof Error ? (error.stack ?? error.message) : String(error)], children: 0, trace: [] }
  } finally {
    program.close()
  }
}

interface Delivery {
  readonly call: string
  readonly tool: string
  readonly key: string
}

class Program {
  readonly #chance: Chance
  readonly #family: Family
  readonly #faults: string[] = []
  readonly #trace: string[] = []
  readonly #deliveries: Delivery[] = []
  readonly #approved = new Set<string>()
  readonly #cancelled = new Set<string>()
  readonly #posted = new Set<number>()
  /** Models and tools that wait; each is let go on by a call. */
  #held: (() => void)[] = []
  #isCalm = false
  /** The requests between objects that will still fail, and when. */
  #failures = 0
  #failsAfter = false

  constructor(chance: Chance) {
    this.#chance = chance
    const limits = { runMs: chance.pick([2 * HOUR, DAY, 5 * DAY]) }
    const agent = (name: string, tools: readonly string[], terms: Partial<AgentOptions> = {}): AgentOptions => {
      return { name, description: `Is the ${name}.`, instructions: name, tools, durable: true, limits, ...terms }
    }
    const effects = ['plain', 'idempotent', 'pays', 'broken']
    this.#family = new Family({
      answer: (request) => this.#answer(request),
      agents: [
        agent('boss', ['clerk', ...effects]),
        agent('clerk', effects),
        agent('helper', effects, { memory: 'conversation' }),
      ],
      tools: effects.map((name) => this.#tool(name)),
    })
    this.#family.onRequest = (moment) => {
      if (this.#failures === 0 || (moment === 'after') !== this.#failsAfter) return
      this.#failures -= 1
      throw new Error('The connection was lost')
    }
  }

  close(): void {
    this.#family.close()
  }

  async play(): Promise<Simulated> {
    const family = this.#family
    const actions: readonly [number, string, () => unknown][] = [
      [5, 'post', () => this.#post(this.#posted.size)],
      [1, 'post again', () => this.#posted.size > 0 && this.#post(this.#chance.between(0, this.#posted.size - 1))],
      [3, 'decide', () => this.#decide()],
      [1, 'cancel', () => this.#cancel()],
      [4, 'let go on', () => this.#letGoOn()],
      [3, 'evict', () => family.lose(this.#someConversation())],
      [1, 'evict all', () => family.loseAll()],
      [4, 'lose at a commit', () => this.#loseSoon()],
      [2, 'fail between objects', () => this.#failSoon()],
      [3, 'wait', () => family.pass(this.#chance.pick([SECOND, 10 * SECOND, 40 * SECOND, 11 * MINUTE]))],
      [1, 'wait for long', () => family.pass(this.#chance.between(1, 12) * HOUR)],
    ]
    const bag = actions.flatMap(([weight, name, act]) => Array.from({ length: weight }, () => ({ name, act })))
    const length = this.#chance.between(8, 26)
    for (let step = 0; step < length; step++) {
      const { name, act } = bag[this.#chance.between(0, bag.length - 1)] ?? { name: '', act: () => {} }
      this.#trace.push(name)
      await act()
      await settle()
    }
    await this.#calmDown()
    this.#judge()
    return { faults: this.#faults, children: family.children().length, trace: this.#trace }
  }

  /** Asks an object, which may be lost meanwhile: then there is no answer. */
  async #ask<Value>(
    id: string,
    request: (object: ReturnType<Family['at']>) => Promise<Value>,
  ): Promise<Value | undefined> {
    let reply: Value | undefined
    try {
      void request(this.#family.at(id)).then(
        (value) => (reply = value),
        () => {},
      )
    } catch {
      // It was lost while it was made.
    }
    await settle()
    return reply
  }

  async #post(number: number): Promise<void> {
    this.#posted.add(number)
    const text = new Chance(number + 1).pick(PLANS[''])
    const caller = { tenant: TENANT, key: KEY, scopes: ['chat'] }
    await this.#family.start(number, `${number}: ${text}`, { caller, budget: {}, fingerprint: 'f' }).catch(() => {})
  }

  async #decide(): Promise<void> {
    for (const { conversation, run, call } of await this.#waits()) {
      if (!this.#isCalm && this.#chance.isHit(0.3)) continue
      this.#approved.add(call)
      await this.#ask(conversation, (object) => object.answer(run, { [call]: { decision: 'approve' } }))
    }
  }

  /** The calls that wait for a person: as their own conversations tell of them or, in some cases, as the runs above do. */
  async #waits(): Promise<{ conversation: string; run: string; call: string }[]> {
    const all: { conversation: string; run: string; call: string }[] = []
    const isFromAbove = this.#chance.isHit(0.3)
    for (const conversation of isFromAbove ? [HOME] : this.#conversations()) {
      for (const run of this.#runs(conversation)) {
        const reply = await this.#ask(conversation, (object) => object.record(run, 0))
        const calls = reply?.ok ? reply.record.calls : []
        for (const call of calls) {
          if (call.status === 'approval') all.push({ conversation, run, call: call.id })
          for (const wait of call.child?.waits ?? []) all.push({ conversation, run, call: wait.call })
        }
      }
    }
    return all
  }

  async #cancel(): Promise<void> {
    const runs = this.#runs(HOME)
    const run = runs[this.#chance.between(0, Math.max(0, runs.length - 1))]
    if (run === undefined) return
    const reply = await this.#ask(HOME, (object) => object.cancel(run))
    if (reply?.ok && reply.status === 'cancelled') this.#cancelled.add(run)
  }

  #loseSoon(): void {
    this.#family.commitsToLoss = this.#chance.between(1, 12)
    this.#family.losesCommit = this.#chance.isHit(0.5)
  }

  #failSoon(): void {
    this.#failures = this.#chance.between(1, 4)
    this.#failsAfter = this.#chance.isHit(0.5)
  }

  #letGoOn(): void {
    for (const release of this.#held.splice(0)) release()
  }

  async #hold(): Promise<void> {
    if (this.#isCalm || !this.#chance.isHit(0.2)) return
    await new Promise<void>((resolve) => this.#held.push(resolve))
  }

  /** From here on nothing goes wrong, and people decide: all runs must end, and all that they owe be told. */
  async #calmDown(): Promise<void> {
    this.#isCalm = true
    this.#failures = 0
    this.#family.commitsToLoss = Infinity
    for (const id of this.#conversations()) await this.#ask(id, (object) => object.messages({ limit: 1 }))
    for (let hours = 0; this.#underWay().length > 0; hours++) {
      if (hours > MOST_HOURS) return void this.#faults.push(`runs do not end: ${this.#underWay().join(', ')}`)
      this.#letGoOn()
      await settle()
      await this.#decide()
      await this.#family.pass(hours < 4 ? 10 * MINUTE : HOUR)
    }
    await this.#family.pass(2 * HOUR)
  }

  #underWay(): string[] {
    return this.#conversations().flatMap((id) =>
      this.#runs(id).filter((run) => !isTerminal(this.#family.store(id).runs.row(run)?.status ?? 'completed')),
    )
  }

  #conversations(): string[] {
    const all = [HOME, ...this.#family.children()]
    return all.filter((id) => this.#family.store(id).life() === 'open')
  }

  #someConversation(): string {
    const all = this.#conversations()
    return all[this.#chance.between(0, Math.max(0, all.length - 1))] ?? HOME
  }

  #runs(id: string): string[] {
    return this.#family.store(id).life() === 'open' ? this.#family.runs(id) : []
  }

  #judge(): void {
    const starts = new Map<string, number>()
    for (const id of this.#conversations()) {
      const store = this.#family.store(id)
      if (store.outbox.nextDue() < Infinity) this.#faults.push(`${id} still has something to tell`)
      for (const run of this.#runs(id)) {
        const events = this.#family.journal(run, id)
        const agent = store.runs.request(run)?.agent?.path.at(-1)
        if (agent) starts.set(agent.call, (starts.get(agent.call) ?? 0) + 1)
        this.#faults.push(...onceFaults(run, events), ...this.#runFaults(id, run, events))
        this.#trace.push(`${id} ${run} ${events.map(({ type }) => type).join(' ')}`)
      }
    }
    for (const [call, count] of starts) if (count > 1) this.#faults.push(`${call} has started ${count} runs`)
    for (const [call, all] of Map.groupBy(this.#deliveries, (delivery) => delivery.call)) {
      const name = all[0]?.tool ?? ''
      if (all.length > (MOST_DELIVERIES[name] ?? 1))
        this.#faults.push(`the ${name} call ${call} was delivered ${all.length} times`)
      if (new Set(all.map(({ key }) => key)).size > 1) this.#faults.push(`${call} was delivered with several keys`)
      if (name === 'pays' && !this.#approved.has(call)) this.#faults.push(`${call} was delivered without an approval`)
    }
  }

  #runFaults(id: string, run: string, events: readonly RunEvent[]): string[] {
    const faults: string[] = []
    const finished = events.filter((event) => event.type === 'run.finished')
    const [end] = finished
    if (finished.length !== 1 || end?.type !== 'run.finished') return [`${run} has ${finished.length} ends`]
    if (this.#cancelled.has(run) && end.status !== 'cancelled') faults.push(`${run} was cancelled and is ${end.status}`)
    const own = end.usage.inputTokens + end.usage.outputTokens - sumOf(end.agentUsage)
    const steps = events.filter((event) => event.type === 'step.answered').length
    const cuts = events.reduce((sum, event) => sum + (event.type === 'answer.cut' ? sumOf(event.usage) : 0), 0)
    if (own !== steps * 15 + cuts) faults.push(`${run} has used ${own} tokens itself, in ${steps} steps`)
    const counted = this.#family.spent.get(run)?.tokens
    if (counted !== own) faults.push(`${run} has used ${own} tokens, and ${counted} are counted`)
    const places = new Map(
      events.flatMap((event) =>
        event.type === 'call.deferred' && event.child ? [[event.callId, event.child] as const] : [],
      ),
    )
    for (const event of events) {
      const place = event.type === 'call.settled' ? places.get(event.callId) : undefined
      if (event.type !== 'call.settled' || !place) continue
      const child = this.#family.store(place.conversation)
      const status = child.life() === 'open' ? child.runs.row(place.run)?.status : undefined
      if (event.ok && status !== 'completed')
        faults.push(`${event.callId} succeeded, and the run of its agent is ${status}`)
      if (status !== undefined && !isTerminal(status))
        faults.push(`${event.callId} is settled, and the run of its agent is ${status}`)
      const answer = this.#family.journal(place.run, place.conversation).findLast(({ type }) => type === 'run.finished')
      if (event.ok && answer?.type === 'run.finished' && contentText(event.content ?? []) !== answer.answer)
        faults.push(`${event.callId} has another answer than the run of its agent`)
    }
    const parent = this.#family.store(id).runs.request(run)?.agent?.path.at(-1)
    if (parent === undefined && id !== HOME) faults.push(`${run} is in the conversation of an agent, and is none of it`)
    return faults
  }

  async *#answer(request: ModelRequest): AsyncGenerator<ModelEvent> {
    const name = instructions(request)
    const at = request.messages.findLastIndex(({ role }) => role === 'user')
    const question = contentText(request.messages[at]?.content ?? '')
    await this.#hold()
    const draw = new Chance(
      Array.from(question).reduce((sum, char) => (sum * 31 + (char.codePointAt(0) ?? 0)) >>> 0, 7),
    )
    const plan = name === '' ? (question.split(': ')[1] ?? '') : draw.pick(plansOf(name))
    const round = request.messages.slice(at).filter((message) => message.role === 'assistant' && message.calls).length
    const step = plan.split(';')[round] ?? ''
    yield* step === ''
      ? say(`Done ${question}`)
      : ask(
          ...step
            .split(' ')
            .map((each, index): [string, object] => [each, { question: `${question}/${round}.${index}` }]),
        )
  }

  #tool(name: string): Tool {
    const terms = {
      annotations: name === 'idempotent' ? { idempotent: true } : {},
      ...(name === 'pays' && { approval: 'always' as const }),
    }
    return tool(
      name,
      async (_args, { callId: call, idempotencyKey: key }) => {
        this.#deliveries.push({ call, tool: name, key })
        await this.#hold()
        return name === 'broken' ? failure('broken', 'It broke.') : 'done'
      },
      terms,
    )
  }
}

function plansOf(name: string): readonly [string, ...string[]] {
  return name === 'boss' || name === 'clerk' || name === 'helper' ? PLANS[name] : ['']
}

function sumOf(usage?: { readonly inputTokens: number; readonly outputTokens: number }): number {
  return usage ? usage.inputTokens + usage.outputTokens : 0
}
