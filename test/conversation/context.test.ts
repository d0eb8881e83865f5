import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Message } from '../../src/contract/message.ts'
import type { ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import type { Tool } from '../../src/contract/tool.ts'
import { requestOf, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'
import { countTokens, knowledgeOf, type Refusal, textOf, WindowModel } from './window-model.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

/** Pays an amount: a call with an effect. Its result has as many characters as its arguments say. */
function payTool(paid: string[]): Tool {
  return tool('pay', ({ id, size = 20 }) => {
    paid.push(String(id))
    return `paid ${String(id)} ${'word '.repeat(Math.ceil(Number(size) / 5))}`.slice(0, Number(size))
  })
}

/** Obeys the last user message: `pay <id> <size>` and `work <times>` are calls; whatever else is answered. */
function obey({ messages, tools }: ModelRequest): readonly ModelEvent[] {
  const last = messages.findLastIndex(({ role }) => role === 'user')
  const results = messages.slice(last).filter(({ role }) => role === 'tool').length
  const [verb, id = '', amount = ''] = textOf(messages[last] as Message).split(' ')
  const done = Number(/so far: (\d+)/.exec(textOf(messages.at(-1) as Message))?.[1] ?? results)
  if (tools.length === 0) return say('I may not.')
  if (verb === 'pay' && results === 0) return call('pay', { id, size: Number(amount) })
  if (verb === 'look' && results === 0) return call('look', { size: Number(id) })
  if (verb === 'work' && done < Number(id)) return call('step', { number: done + 1, size: Number(amount) })
  return say(`done with ${verb} ${id}`)
}

function call(name: string, args: object): readonly ModelEvent[] {
  return [
    { type: 'call', index: 0, tool: name, arguments: JSON.stringify(args) },
    { type: 'finish', finish: 'tool_calls' },
  ]
}

/** Says how many steps were made, so that a model which has forgotten its calls can go on. */
function stepTool(): Tool {
  let steps = 0
  return tool('step', ({ size = 20 }) => `so far: ${++steps} ${'x y '.repeat(Math.ceil(Number(size) / 4))}`)
}

/** Reads text of a size. */
const lookTool = tool('look', ({ size }) => 'z y '.repeat(Number(size) / 4), { annotations: { readOnly: true } })

const WINDOW = 15_000

function conversationOf(refusal: Refusal, { isKnown = false, vars = {} }: { isKnown?: boolean; vars?: object } = {}) {
  const paid: string[] = []
  const model = new WindowModel(WINDOW, refusal, obey)
  const conversation = new TestConversation(model.stream, [payTool(paid), stepTool(), lookTool], { ...vars })
  conversation.modelWindow = { contextTokens: isKnown ? WINDOW : 128_000 }
  return { conversation, model, paid }
}

async function statusOf(conversation: TestConversation, name: string | number): Promise<string | undefined> {
  const reply = await conversation.object.record(runId(name), 0)
  return reply.ok ? reply.record.status : reply.code
}

/** Text of five characters a word, as many as given. */
const words = (characters: number) => 'lorem '.repeat(Math.ceil(characters / 6))

const LIMITS = { steps: 200, calls: 200, callsPerTool: 200, resultBytes: 262_144 } as const

async function turn(conversation: TestConversation, name: number, text: string): Promise<void> {
  const request = { input: [{ role: 'user', content: text } as const], limits: { ...requestOf({}).limits, ...LIMITS } }
  await conversation.start(name, { request })
  await conversation.object.record(runId(name), 60_000)
}

describe.each<[Refusal, boolean]>([
  ['exact', true],
  ['exact', false],
  ['without a figure', false],
  ['with a wrong figure', false],
  ['by silence', true],
])('a conversation with a model that refuses %s (window known: %s)', (refusal, isKnown) => {
  test('never ends by its length, and forgets no call that took effect', async () => {
    const { conversation, model, paid } = conversationOf(refusal, { isKnown })
    const statuses: (string | undefined)[] = []
    for (let name = 1; name <= 60; name++) {
      const text =
        name % 3 === 0 ? `pay p${name} ${200 * (name % 7) + 20_000 * Number(name % 15 === 0)}` : `say ${words(3000)}`
      await turn(conversation, name, text)
      statuses.push(await statusOf(conversation, name))
      const knowledge = knowledgeOf(conversation.store, model.requests.at(-1))
      const missing = paid.filter((id) => !knowledge.includes(`"${id}"`))
      expect({ name, missing }).toEqual({ name, missing: [] })
    }
    expect(new Set(statuses)).toEqual(new Set(['completed']))
    expect(model.refused).toBeLessThan(6)
    expect(paid).toHaveLength(20)
  })
})

test('a run of sixty steps with large results is completed within a small window', async () => {
  const { conversation, model } = conversationOf('exact', { isKnown: true })
  await turn(conversation, 1, 'work 60 20000')
  expect(await statusOf(conversation, 1)).toBe('completed')
  expect(model.refused).toBe(0)
  for (const request of model.requests) expect(countTokens(request)).toBeLessThanOrEqual(WINDOW)
  await turn(conversation, 2, 'say thanks')
  expect(await statusOf(conversation, 2)).toBe('completed')
})

test('a thousand turns with results of up to 200 kB, and a run of sixty steps in between, all complete', async () => {
  const { conversation, model, paid } = conversationOf('exact')
  const failed: number[] = []
  for (let name = 1; name <= 1000; name++) {
    const size = 1000 * (1 + ((name * 37) % 200))
    const text =
      name === 500 ? 'work 60 2000' : name % 4 === 0 ? `pay p${name} ${size}` : `say ${words((name * 97) % 1500)}`
    await turn(conversation, name, text)
    if ((await statusOf(conversation, name)) !== 'completed') failed.push(name)
  }
  expect(failed).toEqual([])
  expect(paid).toHaveLength(249)
  const knowledge = knowledgeOf(conversation.store, model.requests.at(-1))
  expect(paid.filter((id) => !knowledge.includes(`"${id}"`))).toEqual([])
  expect(model.refused).toBeLessThan(4)
})

test('the window that a refusal has told is stored for its model alone, and holds in another isolate', async () => {
  const narrow = new WindowModel(WINDOW, 'exact', obey)
  const wide = new WindowModel(100_000, 'exact', obey)
  const conversation = new TestConversation(
    (request) => (conversation.modelNames.at(-1) === 'test/wide' ? wide : narrow).stream(request),
    [],
  )
  const say = async (name: number, model: string) => {
    // Another isolate has learnt nothing.
    conversation.modelWindow = { contextTokens: 128_000 }
    const request = { model, input: [{ role: 'user', content: `say ${words(12_000)}` } as const] }
    await conversation.start(name, { request })
    await conversation.object.record(runId(name), 60_000)
    expect([name, await statusOf(conversation, name)]).toEqual([name, 'completed'])
  }
  for (let name = 1; name <= 5; name++) await say(name, 'test/narrow')
  expect(narrow.refused).toBe(1)
  conversation.live()
  for (let name = 6; name <= 12; name++) await say(name, 'test/wide')
  expect(Math.max(...wide.requests.map(countTokens))).toBeGreaterThan(WINDOW)
  expect(wide.refused).toBe(0)
  conversation.live()
  for (let name = 13; name <= 16; name++) await say(name, 'test/narrow')
  expect(narrow.refused).toBe(1)
})

test.each([
  ['a full window', true, 250],
  ['as many messages as a model is shown by default', false, 400],
])(
  'of what was sent, at least 95 % is sent again as the beginning of the next request, with %s',
  async (_, isKnown, size) => {
    const { conversation, model } = conversationOf('exact', { isKnown })
    for (let name = 1; name <= 200; name++) await turn(conversation, name, `say ${words(size)}`)
    const prompts = model.requests.map(({ tools, messages }) => JSON.stringify([tools, messages]).slice(0, -2))
    let shared = 0
    let all = 0
    for (const [index, prompt] of prompts.entries()) {
      const before = prompts[index - 1]
      if (index < 100 || before === undefined) continue
      shared += commonPrefix(before, prompt)
      all += before.length
    }
    expect(shared / all).toBeGreaterThan(0.95)
  },
)

function commonPrefix(a: string, b: string): number {
  let length = 0
  while (length < a.length && a[length] === b[length]) length += 1
  return length
}

describe('a reduction', () => {
  test('is the same after a crash at any commit, and is what the request of the step shows', async () => {
    const play = async (dieAt?: number) => {
      const { conversation, model } = conversationOf('exact', { isKnown: true })
      for (let name = 1; name <= 3; name++) await turn(conversation, name, `say ${words(15_000)}`)
      let commits = 0
      let isDead = false
      conversation.onTransaction = (moment) => {
        if (isDead || (moment === 'before' && ++commits === dieAt)) {
          isDead = true
          throw new Error('the object is gone')
        }
      }
      await conversation
        .start(4, { request: { input: [{ role: 'user', content: `look 9000` }] } })
        .then(() => conversation.object.record(runId(4), 1000))
        .catch(() => {})
      const total = commits
      if (isDead) {
        isDead = false
        conversation.onTransaction = () => {}
        conversation.live()
        if (conversation.store.runs.row(runId(4)) === undefined) return { total, prompts: undefined }
        // Recovery may take several alarms; what is under way between them ends within microtasks.
        while ((await statusOf(conversation, 4)) !== 'completed') {
          if (conversation.alarmAt < Infinity) await conversation.ring()
          await conversation.object.record(runId(4), 50)
        }
      }
      const requests = model.requests.slice(3)
      const reply = await conversation.object.stepRequest(runId(4), 2)
      const messages = reply.ok && reply.request.messages
      return { total, status: await statusOf(conversation, 4), prompts: requests.map(promptOf), messages }
    }
    const first = await play()
    expect(first.status).toBe('completed')
    expect(first.prompts).toHaveLength(2)
    expect(JSON.stringify(first.messages) === first.prompts?.at(-1)).toBe(true)
    const events = first.total
    for (let dieAt = 1; dieAt <= events; dieAt++) {
      const { status, prompts, messages } = await play(dieAt)
      if (prompts === undefined) continue
      expect({ dieAt, status }).toEqual({ dieAt, status: 'completed' })
      expect({ dieAt, isSame: JSON.stringify([...new Set(prompts)]) === JSON.stringify(first.prompts) }).toEqual({
        dieAt,
        isSame: true,
      })
      expect(JSON.stringify(messages) === JSON.stringify(first.messages)).toBe(true)
    }
  })
})

function promptOf({ messages }: ModelRequest): string {
  return JSON.stringify(messages)
}

test.each([false, true])(
  'notes of a turn that was replaced (with all later ones: %s) are shown to no later run, and a step shows its own request',
  async (onward) => {
    const { conversation, model } = conversationOf('exact', { isKnown: true })
    const messages = () => model.requests.at(-1)?.messages ?? []
    const text = () => messages().map(textOf).join(' ')
    const step = (name: number) => conversation.object.stepRequest(runId(name), 1)
    for (let name = 1; name <= 30; name++) await turn(conversation, name, `say secret${name}. ${words(3000)}`)
    expect(text()).toContain('secret15')

    const input = [{ role: 'user', content: 'say other' }] as const
    await conversation.start(31, { request: { input }, replaces: runId(15), onward })
    await conversation.object.record(runId(31), 60_000)
    expect(text()).not.toContain('secret15')
    expect(await step(31)).toMatchObject({ ok: true, request: { messages: messages() } })

    await turn(conversation, 32, 'say more')
    expect(text()).not.toContain('secret15')
    expect(await step(32)).toMatchObject({ ok: true, request: { messages: messages() } })
  },
)
