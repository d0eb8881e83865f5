import { describe, expect, test } from 'vitest'
import { contentText } from '../../src/contract/message.ts'
import type { Script } from '../fixtures/scripted.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { type KeptEdge, keptEdge } from './kept-edge.ts'

/** What a client sends, in the form of no protocol: messages, and what it asks of the model. */
interface Turn {
  readonly question?: string
  readonly result?: string
  /** What comes after the result. */
  readonly added?: { readonly role: 'system' | 'user'; readonly text: string }
  /** Another text of the answer that asked for the call. */
  readonly text?: string
  readonly model?: string
  readonly temperature?: number
}

/** A protocol: how a turn is sent in it, and what the model said. `first`: the answer that asks for the call. */
interface Protocol {
  readonly path: string
  readonly body: (turn: Turn, first: any) => object
  readonly answer: (body: any) => string
}

const SCHEMA = { type: 'object', properties: {} }

const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  'Chat Completions': {
    path: '/v1/chat/completions',
    body: ({ question = 'Go', result, added, text, ...terms }, first) => {
      const messages: object[] = [{ role: 'user', content: question }]
      if (first) {
        const { message } = first.choices[0]
        messages.push(text === undefined ? message : { ...message, content: text })
        messages.push({ role: 'tool', tool_call_id: message.tool_calls[0].id, content: result })
      }
      if (added) messages.push({ role: added.role, content: added.text })
      return { messages, tools: [{ type: 'function', function: { name: 'pick', parameters: SCHEMA } }], ...terms }
    },
    answer: ({ choices }) => choices[0].message.content,
  },
  Responses: {
    path: '/v1/responses',
    body: ({ question = 'Go', result, added, text, ...terms }, first) => {
      const input: object[] = [{ role: 'user', content: question }]
      if (first) {
        const { call_id } = first.output.find((item: any) => item.type === 'function_call')
        const items = first.output.map((item: any) =>
          text === undefined || item.type !== 'message' ? item : { ...item, content: [{ type: 'output_text', text }] },
        )
        input.push(...items, { type: 'function_call_output', call_id, output: result })
      }
      if (added) input.push({ role: added.role === 'system' ? 'developer' : 'user', content: added.text })
      const tools = [{ type: 'function', name: 'pick', strict: null, parameters: SCHEMA }]
      return { input, tools, store: false, ...terms }
    },
    answer: ({ output }) => output.findLast((item: any) => item.type === 'message').content[0].text,
  },
  Messages: {
    path: '/v1/messages',
    body: ({ question = 'Go', result, added, text, ...terms }, first) => {
      const messages: object[] = [{ role: 'user', content: question }]
      if (first) {
        const content = first.content.map((block: any) =>
          text === undefined || block.type !== 'text' ? block : { ...block, text },
        )
        const { id } = content.find((block: any) => block.type === 'tool_use')
        const reply = { type: 'tool_result', tool_use_id: id, content: result }
        const more = added?.role === 'user' ? [{ type: 'text', text: added.text }] : []
        messages.push({ role: 'assistant', content }, { role: 'user', content: [reply, ...more] })
        if (added?.role === 'system') messages.push({ role: 'system', content: added.text })
      }
      return { messages, max_tokens: 100, tools: [{ name: 'pick', input_schema: SCHEMA }], ...terms }
    },
    answer: ({ content }) => content.findLast((block: any) => block.type === 'text').text,
  },
}

/** Answers with all that it was sent after the question, and how. */
const repeat: Script = ({ messages, sampling }) => {
  const texts = messages.slice(messages.findIndex(({ role }) => role === 'user')).map((message) => {
    const calls = message.role === 'assistant' ? (message.calls ?? []).map(({ tool: name }) => ` ${name}()`) : []
    return `${message.role}: ${contentText(message.content)}${calls.join('')}`
  })
  const { temperature } = sampling ?? {}
  return say([...texts, ...(typeof temperature === 'number' ? [`at ${temperature}`] : [])].join(' | '))
}

const call: Script = ask(['clock'], ['pick'])
const clock = tool('clock', () => '12:00')
const KEYS = withKeys(apiKey('one', { scopes: ['chat'] }), apiKey('two', { scopes: ['chat'] }))

describe.each(Object.entries(PROTOCOLS))('%s: a turn is answered from what was sent', (_, { path, body, answer }) => {
  function world(script: readonly Script[] = [call, ...Array<Script>(6).fill(repeat)]) {
    const edge = keptEdge({ script, tools: [clock], vars: { ...KEYS, MODELS: 'test/*' } })
    const send = async (turn: Turn, first?: any, key = 'one'): Promise<any> =>
      (await edge.post(path, body(turn, first), bearer(key))).json()
    return { edge, send, start: () => send({}) }
  }
  const askedModels = ({ requests }: KeptEdge) => requests.length
  const transcript = (result: string, ...more: string[]) =>
    ['user: Go', 'assistant:  clock() pick()', 'tool: 12:00', `tool: ${result}`, ...more].join(' | ')
  const sorted = (text: string) => text.replace('pick() clock()', 'clock() pick()')

  const FORKS: readonly (readonly [name: string, turn: Turn, answer: string])[] = [
    ['with another result', { result: 'forty-three' }, transcript('forty-three')],
    ['with another temperature', { result: 'forty-two', temperature: 0.5 }, transcript('forty-two', 'at 0.5')],
    ['with another model', { result: 'forty-two', model: 'test/b' }, transcript('forty-two')],
    [
      'with an instruction after the result',
      { result: 'forty-two', added: { role: 'system', text: '[cut]' } },
      transcript('forty-two', 'system: [cut]'),
    ],
    [
      'with a further question',
      { result: 'forty-two', added: { role: 'user', text: 'Summarize.' } },
      transcript('forty-two', 'user: Summarize.'),
    ],
    [
      'with another question before',
      { question: 'Stay', result: 'forty-two' },
      transcript('forty-two').replace('Go', 'Stay'),
    ],
  ]

  test.each(FORKS)('a fork %s, after the turn, before it, and at the same time', async (__, fork, expected) => {
    const turn = { result: 'forty-two' }
    const orders = [
      async (send: (turn: Turn) => Promise<any>) => [await send(turn), await send(fork)],
      async (send: (turn: Turn) => Promise<any>) => [await send(fork), await send(turn)].toReversed(),
      async (send: (turn: Turn) => Promise<any>) => Promise.all([send(turn), send(fork)]),
    ]
    for (const order of orders) {
      const { edge, send, start } = world()
      const first = await start()
      const answers = await order((each) => send(each, first))
      expect(answers.map((each) => sorted(answer(each)))).toEqual([transcript('forty-two'), expected])
      expect(askedModels(edge)).toBe(3)
    }
  })

  test('a fork of a fork knows what the edge has called in the first run', async () => {
    if (path !== '/v1/chat/completions') return
    const { edge, send, start } = world([call, ask(['pick']), ask(['pick']), repeat])
    const first = await start()
    await send({ result: 'forty-two' }, first)
    const second = await send({ question: 'Stay', result: 'forty-two' }, first)
    const messages: object[] = [{ role: 'user', content: 'Stay' }, first.choices[0].message]
    messages.push({ role: 'tool', tool_call_id: first.choices[0].message.tool_calls[0].id, content: '[cut]' })
    messages.push(second.choices[0].message)
    messages.push({ role: 'tool', tool_call_id: second.choices[0].message.tool_calls[0].id, content: 'last' })
    const request = { ...body({}, undefined), messages }
    expect(sorted(answer(await (await edge.post(path, request, bearer('one'))).json()))).toBe(
      transcript('[cut]', 'assistant:  pick()', 'tool: last').replace('Go', 'Stay'),
    )
  })

  test('an equal request gets the same answer, and the model is not asked again', async () => {
    const { edge, send, start } = world()
    const first = await start()
    const turns = await Promise.all([1, 2].map(() => send({ result: 'forty-two' }, first)))
    const third = await send({ result: 'forty-two' }, first)
    expect([...turns, third].map(answer)).toEqual(Array(3).fill(transcript('forty-two')))
    expect(askedModels(edge)).toBe(2)
  })

  test('another key of the tenant gets an answer of its own, without what the edge did for the first', async () => {
    const { edge, send, start } = world()
    const first = await start()
    expect(answer(await send({ result: 'forty-two' }, first))).toBe(transcript('forty-two'))
    const other = answer(await send({ result: 'forty-two' }, first, 'two'))
    // A response shows its caller what the edge has called; the others do not.
    expect(other).toBe(
      path === '/v1/responses' ? transcript('forty-two') : 'user: Go | assistant:  pick() | tool: forty-two',
    )
    expect(askedModels(edge)).toBe(3)
  })

  test('an earlier result that the caller has cut is read as it was sent', async () => {
    const { edge, send, start } = world([call, ask(['pick']), ...Array<Script>(3).fill(repeat)])
    const first = await start()
    const second = await send({ result: 'forty-two' }, first)
    const next: any = body({ result: 'forty-two' }, first)
    const list = next.messages ?? next.input
    if (second.choices) {
      const { message } = second.choices[0]
      list.push(message, { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'last' })
    } else if (second.output) {
      const item = second.output.find((each: any) => each.type === 'function_call')
      list.push(...second.output, { type: 'function_call_output', call_id: item.call_id, output: 'last' })
    } else {
      const { id } = second.content.find((block: any) => block.type === 'tool_use')
      const content = [{ type: 'tool_result', tool_use_id: id, content: 'last' }]
      list.push({ role: 'assistant', content: second.content }, { role: 'user', content })
    }
    const cut = JSON.parse(JSON.stringify(next).replace('forty-two', '[cut]'))
    const answers = await Promise.all(
      [cut, next].map(async (each) => answer(await (await edge.post(path, each, bearer('one'))).json())),
    )
    expect(answers.map(sorted)).toEqual([
      transcript('[cut]', 'assistant:  pick()', 'tool: last'),
      transcript('forty-two', 'assistant:  pick()', 'tool: last'),
    ])
  })
})
