import * as fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { agentSource } from '../../src/agent.ts'
import { contentText, type Message } from '../../src/contract/message.ts'
import type { ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import type { Tool, ToolSource } from '../../src/contract/tool.ts'
import { requestOf, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'
import { knowledgeOf, type Refusal, textOf, WindowModel } from './window-model.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

/** What a user asks for in one turn, and what happens to the conversation between two. */
type Turn =
  | { readonly do: 'say'; readonly characters: number }
  /** Each step makes some payments, whose arguments and results have these sizes. */
  | {
      readonly do: 'pay'
      readonly steps: number
      readonly each: number
      readonly memo: number
      readonly receipt: number
    }
  | { readonly do: 'read'; readonly characters: number }
  /** A program makes so many payments, or an agent that asks an agent that asks one which pays. */
  | { readonly do: 'program' | 'agent'; readonly payments: number; readonly receipt: number }
  /** A person puts another payment in the place of one. */
  | { readonly do: 'change'; readonly memo: number }
  | { readonly do: 'restart' }
  /** It continues in another conversation: a fork without so many of the last turns, or one that is restored from a copy. */
  | { readonly do: 'fork'; readonly without: number }
  | { readonly do: 'restore'; readonly isSigned: boolean }
  | { readonly do: 'regenerate' }
  | { readonly do: 'model'; readonly name: string; readonly contextTokens: number }

const size = (most: number) => fc.oneof(fc.nat(200), fc.nat(most))

const turn: fc.Arbitrary<Turn> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('say' as const), characters: size(12_000) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('pay' as const),
      steps: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 40 })),
      each: fc.integer({ min: 1, max: 4 }),
      memo: size(3000),
      receipt: size(30_000),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('read' as const), characters: size(60_000) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('program' as const, 'agent' as const),
      payments: fc.oneof(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 50 })),
      receipt: size(3000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('change' as const), memo: size(3000) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('fork' as const), without: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restore' as const), isSigned: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('regenerate' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('model' as const),
      name: fc.constantFrom('test/a', 'test/b'),
      contextTokens: fc.constantFrom(9000, 16_000, 60_000, 10_000_000, 10_000_000),
    }),
  },
)

const refusal = fc.constantFrom<Refusal>('exact', 'without a figure', 'with a wrong figure')

/** What the operator of the edge has set for what a model sees of earlier turns. */
const memory = fc.constantFrom<Readonly<Record<string, string>>>(
  {},
  { MEMORY_SUMMARY: 'on' },
  { MEMORY_MESSAGES: '12' },
  { MEMORY_TOKENS: '2000' },
  { MEMORY_MESSAGES: '30', MEMORY_SUMMARY: 'on' },
)

/** What a model says that is asked for a summary: so many characters, none of which tell of a payment. Default: it fails. */
const summary = fc.option(fc.oneof(fc.nat(2000), fc.nat(60_000)), { nil: undefined })

const LIMITS = { steps: 200, calls: 1000, callsPerTool: 1000, resultBytes: 262_144 } as const

function call(index: number, name: string, args: object): ModelEvent {
  return { type: 'call', index, tool: name, arguments: JSON.stringify(args, null, 1) }
}

test('each call that took effect is in the prompt or in notes that can be read from it, at every step', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({ words: refusal, vars: memory, summary }),
      fc.array(turn, { minLength: 3, maxLength: 25 }),
      async (setting, turns) => {
        const failures = await playTurns(setting, turns)
        expect(failures).toEqual([])
      },
    ),
    { numRuns: Number(process.env['RUNS'] ?? 8) },
  )
}, 300_000)

interface Setting {
  readonly words: Refusal
  readonly vars?: Readonly<Record<string, string>>
  readonly summary?: number | undefined
}

/** Plays the turns. Returns what the model was not told, and which turns failed. */
async function playTurns({ words, vars = {}, summary }: Setting, turns: readonly Turn[]): Promise<readonly string[]> {
  const failures: string[] = []
  /** The payments of each turn that models may see. */
  const paid = new Map<number, string[]>()
  let name = 0
  let current: Exclude<Turn, { do: 'restart' | 'fork' | 'restore' | 'regenerate' | 'model' }> = {
    do: 'say',
    characters: 0,
  }
  let step = 0
  let contextTokens = 16_000
  let modelName = 'test/a'

  const answer = (request: ModelRequest): readonly ModelEvent[] => {
    if (textOf(request.messages[0] ?? { role: 'system', content: '' }).startsWith('You keep the memory')) {
      if (summary !== undefined) return say(`Notes: ${'u v '.repeat(summary / 4)}`)
      return [{ type: 'error', error: { code: 'model_error', message: 'Broken.', status: 400, retryable: false } }]
    }
    const knowledge = knowledgeOf(conversation.store, request)
    const { store } = conversation
    const isReduced = store.reductions.get(store.runs.row(runId(name))?.place ?? 0) !== undefined
    const isSliding = 'MEMORY_MESSAGES' in vars || 'MEMORY_TOKENS' in vars
    for (const id of [...paid.values()].flat()) {
      // What a program made is told once its prompt is reduced.
      if (!isReduced && !isSliding && id.startsWith('inner')) continue
      if (!knowledge.includes(`"${id}"`)) failures.push(`turn ${name}, step ${step}: ${id} is forgotten`)
    }
    step += 1
    if (request.tools.length === 0) return say('I may not.')
    if (current.do === 'pay' && step <= current.steps) {
      const { each, memo, receipt } = current
      const ids = Array.from({ length: each }, (_, index) => `p${name}-${step}-${index}`)
      const calls = ids.map((id, index) => call(index, 'pay', { memo: 'm e '.repeat(memo / 4), id, receipt }))
      return [...calls, { type: 'finish', finish: 'tool_calls' }]
    }
    if ((current.do === 'program' || current.do === 'agent') && step === 1) {
      const ids = Array.from({ length: current.payments }, (_, index) => `inner${name}-${index}`)
      const question = JSON.stringify({ ids, receipt: current.receipt })
      const wanted =
        current.do === 'program' ? call(0, 'batch', { ids, receipt: current.receipt }) : call(0, 'desk', { question })
      return [wanted, { type: 'finish', finish: 'tool_calls' }]
    }
    if (current.do === 'change' && step === 1)
      return [
        call(0, 'order', { memo: 'm e '.repeat(current.memo / 4), id: 'mistaken' }),
        { type: 'finish', finish: 'tool_calls' },
      ]
    if (current.do === 'read' && step === 1)
      return [call(0, 'read', { characters: current.characters }), { type: 'finish', finish: 'tool_calls' }]
    return say(`Done with ${current.do}.`)
  }
  const pay = tool('pay', ({ id, receipt }) => {
    paid.set(name, [...(paid.get(name) ?? []), String(id)])
    return `paid ${String(id)} ${'r e '.repeat(Number(receipt) / 4)}`
  })
  const tools = [
    pay,
    batchTool(),
    ...(await agentTools(pay)),
    tool('order', ({ id }) => void paid.set(name, [...(paid.get(name) ?? []), String(id)]), { approval: 'always' }),
    tool('read', ({ characters }) => 'z y '.repeat(Number(characters) / 4), { annotations: { readOnly: true } }),
  ]
  let model = new WindowModel(contextTokens, words, answer)
  let conversation = newConversation()
  let conversations = 1

  function newConversation(): TestConversation {
    const conversation = new TestConversation((request) => model.stream(request), tools, vars)
    conversation.modelWindow = { contextTokens: 128_000 }
    return conversation
  }

  /** Continues in a fork, as `POST …/fork` makes it. */
  async function fork(count: number): Promise<void> {
    const page = await conversation.object.messages({ limit: 10_000, fullResults: true })
    if (!page.ok) throw new Error(page.code)
    const names = Array.from({ length: count }, (_, index) => name - index)
    const without = names.map((each) => runId(each))
    const messages = page.messages.filter(({ run, replaced }) => !replaced && !without.includes(run))
    for (const each of names) paid.delete(each)
    const target = newConversation()
    await target.object.create({ tenant: 'acme', id: `fork_${conversations++}`, settings: {} })
    await target.object.adopt(messages)
    conversation = target
  }

  /** Continues in a conversation that is restored from a copy. */
  async function restore(isSigned: boolean): Promise<void> {
    const reply = await conversation.object.backup({ do: 'copy' })
    if (!reply.ok || !reply.copy) throw new Error('There is no copy')
    const target = newConversation()
    const caller = { tenant: 'acme', key: 'k', scopes: ['chat', 'backup'] }
    const id = `copy_${conversations++}`
    const restored = await target.object.backup({ do: 'restore', caller, id, copy: reply.copy, isSigned })
    if (!restored.ok) throw new Error(restored.message)
    conversation = target
  }

  async function ask(input: readonly Message[], replaces?: string): Promise<void> {
    name += 1
    step = 0
    const request = { input, model: modelName, limits: { ...requestOf({}).limits, ...LIMITS } }
    await conversation.start(name, { request, ...(replaces !== undefined && { replaces }) })
    await conversation.object.record(runId(name), 60_000)
    let reply = await conversation.object.record(runId(name), 0)
    const waiting = reply.ok ? reply.record.calls.find(({ status }) => status === 'approval') : undefined
    if (waiting) {
      const changed = JSON.stringify({ memo: `changed ${'m e '.repeat(400)}`, id: `changed${name}` })
      await conversation.object.answer(runId(name), { [waiting.id]: { decision: 'approve', arguments: changed } })
      await conversation.object.record(runId(name), 60_000)
      reply = await conversation.object.record(runId(name), 0)
    }
    if (!reply.ok || reply.record.status !== 'completed')
      failures.push(`turn ${name} of ${current.do} ended: ${JSON.stringify(reply.ok ? reply.record.error : reply)}`)
  }

  const textOfTurn = (each: Turn) =>
    'characters' in each && each.do === 'say' ? 'lorem '.repeat(each.characters / 6) : ''
  for (const each of turns) {
    if (each.do === 'restart') conversation.live()
    else if (each.do === 'fork') {
      if (name > 0) await fork(each.without)
    } else if (each.do === 'restore') {
      if (name > 0) await restore(each.isSigned)
    } else if (each.do === 'model') {
      ;({ contextTokens, name: modelName } = each)
      model = new WindowModel(contextTokens, words, answer)
      conversation.modelWindow = { contextTokens: 128_000 }
    } else if (each.do === 'regenerate') {
      // A fork has messages of earlier runs, which cannot be run again there.
      if (name === 0 || !conversation.store.runs.row(runId(name))) continue
      const replaced = name
      paid.delete(replaced)
      await ask([{ role: 'user', content: `again ${textOfTurn(current)}` }], runId(replaced))
    } else {
      current = each
      await ask([{ role: 'user', content: `${each.do} ${textOfTurn(each)}` }])
    }
  }
  return failures
}

/** A program, as the loop knows it: it makes the payments that its arguments name, and says how many. */
function batchTool(): Tool {
  return {
    ...tool('batch'),
    makesCalls: true,
    call: async ({ arguments: { ids, receipt } }, { calls }) => {
      if (!Array.isArray(ids) || !calls) throw new Error('no program')
      calls.ask(ids.map((id) => ({ do: 'call', tool: 'pay', arguments: JSON.stringify({ receipt, id }) })))
      for (let rest = ids.length; rest > 0;) rest -= (await calls.next())?.length ?? rest
      return { ok: true, content: [{ type: 'text', text: `${ids.length} payments made` }] }
    },
  }
}

/** An agent that asks an agent that asks one which pays. */
async function agentTools(pay: Tool): Promise<Tool[]> {
  const stream = async function* (request: ModelRequest): AsyncGenerator<ModelEvent> {
    const [instructions = '', question = ''] = request.messages.map(({ content }) => contentText(content))
    if (request.messages.length > 2) yield* say('All is paid.')
    else if (instructions !== 'pay') {
      yield call(0, instructions, { question })
      yield { type: 'finish', finish: 'tool_calls' }
    } else {
      const { ids, receipt } = JSON.parse(question)
      for (const [index, id] of ids.entries()) yield call(index, 'pay', { receipt, id })
      yield { type: 'finish', finish: 'tool_calls' }
    }
  }
  const agent = (name: string, next: string) => ({
    ...{ name, description: name, instructions: next, tools: [next], durable: false },
    limits: { calls: 100, callsPerTool: 100 },
  })
  const model = { name: 'test/agent', stream }
  const source = agentSource([agent('desk', 'clerk'), agent('clerk', 'teller'), agent('teller', 'pay')], {
    models: { resolve: () => ({ ok: true, name: model.name, model }), list: () => [] },
    tools: () => toolSource([pay]),
    config: { limits: { ...requestOf({}).limits, ...LIMITS }, taintRule: true },
  })
  return [...(await source.find(['desk']))]
}

function toolSource(tools: readonly Tool[]): ToolSource {
  const find = async (names: readonly string[]) => tools.filter(({ definition }) => names.includes(definition.name))
  return { find, list: async () => ({ tools, unavailable: [] }), offered: async () => tools }
}

test('a call before a turn of more messages than earlier turns may have is not forgotten', async () => {
  const pay = { do: 'pay', memo: 0, receipt: 0 } as const
  const turns: Turn[] = [
    { do: 'model', name: 'test/a', contextTokens: 10_000_000 },
    { ...pay, steps: 1, each: 1 },
    { ...pay, steps: 110, each: 4 },
    { do: 'say', characters: 10 },
  ]
  expect(await playTurns({ words: 'exact' }, turns)).toEqual([])
})
