import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { Hook } from '../../src/contract/hook.ts'
import { type Message, contentText } from '../../src/contract/message.ts'
import type { ModelEvent } from '../../src/contract/model.ts'
import { gatedTool } from '../fixtures/gated.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { dataOf, type KeptEdge, keptEdge } from './kept-edge.ts'

const CHAT = '/v1/chat/completions'
const clock = tool('clock', () => '12:00')
const tools = [{ type: 'function', function: { name: 'pick', parameters: { type: 'object' } } }]
const question = { role: 'user', content: 'Go' }
const failing: ModelEvent[] = [
  { type: 'error', error: { code: 'model_unavailable', message: 'Gone.', retryable: true } },
]

/** The first answer to the question, which hands a call out, and the messages that give its result. */
async function handed(edge: KeptEdge, headers: Record<string, string> = {}) {
  const first = await (await edge.post(CHAT, { messages: [question], tools }, headers)).json<any>()
  const { message } = first.choices[0]
  const result = { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'left' }
  return { first, messages: [question, message, result] }
}

describe('a chat completion that handed calls to its caller', () => {
  test('is replayed for its Idempotency-Key, even after its run has continued', async () => {
    const edge = keptEdge({ script: [ask(['clock'], ['pick']), say('Done.')], tools: [clock] })
    const headers = { 'idempotency-key': 'once' }
    const { first, messages } = await handed(edge, headers)
    const second = await (await edge.post(CHAT, { messages, tools })).json<any>()
    expect(second.choices[0].message.content).toBe('Done.')
    const { first: again } = await handed(edge, headers)
    expect({ ...again, created: 0 }).toEqual({ ...first, created: 0 })
  })

  test('and whose run then fails is not retried by SDKs, because its results were accepted', async () => {
    const edge = keptEdge({ script: [ask(['clock'], ['pick']), failing], tools: [clock] })
    const { messages } = await handed(edge)
    const response = await edge.post(CHAT, { messages, tools })
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([502, 'false'])
  })

  test('accepts their results once and replays the outcome if they are sent again', async () => {
    const edge = keptEdge({ script: [ask(['clock'], ['pick']), say('Done.')], tools: [clock] })
    const { messages } = await handed(edge)
    const first = await (await edge.post(CHAT, { messages, tools })).json<any>()
    const repeat = await (await edge.post(CHAT, { messages, tools })).json<any>()
    expect(first.choices[0].message.content).toBe('Done.')
    expect({ ...repeat, created: 0 }).toEqual({ ...first, created: 0 })
    expect(edge.requests).toHaveLength(2)
  })

  test('accepts results once from two concurrent requests and answers both with the outcome', async () => {
    const edge = keptEdge({ script: [ask(['clock'], ['pick']), say('Done.')], tools: [clock] })
    const { messages } = await handed(edge)
    const both = await Promise.all([1, 2].map(() => edge.post(CHAT, { messages, tools })))
    const answers = await Promise.all(both.map((response) => response.json<any>()))
    expect(answers.map(({ choices, error }) => error ?? choices[0].message.content)).toEqual(['Done.', 'Done.'])
    expect(edge.requests).toHaveLength(2)
  })

  test('and is still running when the results are sent again is waited for', async () => {
    const { slow, start, letGo } = gatedTool()
    const edge = keptEdge({ script: [ask(['clock'], ['pick']), ask(['slow']), say('Done.')], tools: [clock, slow] })
    const { messages } = await handed(edge)
    const first = edge.post(CHAT, { messages, tools })
    await start
    const repeat = edge.post(CHAT, { messages, tools, stream: true })
    letGo()
    expect((await (await first).json<any>()).choices[0].message.content).toBe('Done.')
    expect(await (await repeat).text()).toContain('Done.')
    expect(edge.requests).toHaveLength(3)
  })

  test('and received answers in several steps replays the outcome of the last', async () => {
    const edge = keptEdge({ script: [ask(['clock'], ['pick']), ask(['pick']), say('Done.')], tools: [clock] })
    const { first, messages } = await handed(edge)
    const { id, choices } = await (await edge.post(CHAT, { messages, tools })).json<any>()
    const [call] = choices[0].message.tool_calls
    expect(await (await edge.post(CHAT, { messages, tools })).json<any>()).toMatchObject({ id, choices })
    const more = [...messages, choices[0].message, { role: 'tool', tool_call_id: call.id, content: 'right' }]
    for (const _ of [1, 2]) {
      const last = await edge.post(CHAT, { messages: more, tools, stream: true })
      const chunks = dataOf(await last.text()) as any[]
      expect(chunks.flatMap((chunk) => chunk.choices?.[0].delta.content || [])).toEqual(['Done.'])
      // Some clients keep the answers of a thread by their ids.
      expect(new Set([first.id, id, chunks[0].id]).size).toBe(3)
    }
  })
})

describe('a run that failed after it received results', () => {
  const work = (edge: KeptEdge) =>
    edge.requests.at(-1)?.messages.map((message) => [message.role, 'tool' in message ? message.tool : message.content])
  const done = [
    ['user', 'Go'],
    ['assistant', ''],
    ['tool', 'once'],
    ['tool', 'pick'],
  ]
  let times = 0
  const once = tool('once', () => `${++times}`)
  beforeEach(() => {
    times = 0
  })

  test('resumes when the same request is sent again, however often it fails, and no call runs twice', async () => {
    const edge = keptEdge({
      script: [ask(['once'], ['pick']), failing, ask(['once']), failing, ask(['pick']), failing, say('Done.')],
      tools: [once],
    })
    const { messages } = await handed(edge)
    const send = async (items: object[]) => edge.post(CHAT, { messages: items, tools })
    expect((await send(messages)).status).toBe(502)
    const failed = await send(messages)
    expect([failed.status, failed.headers.get('x-should-retry'), times]).toEqual([502, 'false', 2])
    const { message } = (await (await send(messages)).json<any>()).choices[0]
    const result = { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'right' }
    expect((await send([...messages, message, result])).status).toBe(502)
    const last = await (await send([...messages, message, result])).json<any>()
    expect([last.choices[0].message.content, times]).toEqual(['Done.', 2])
    expect(work(edge)).toEqual([...done, ['assistant', ''], ['tool', 'once'], ['assistant', ''], ['tool', 'pick']])
    expect((await (await send([...messages, message, result])).json<any>()).choices).toEqual(last.choices)
  })

  test('keeps its data marks: an outward call needs approval in the run that resumes it', async () => {
    const mail = tool('mail', () => 'written', { annotations: { untrusted: true, private: true, openWorld: false } })
    const edge = keptEdge({
      script: [ask(['mail'], ['pick']), failing, ask(['once']), say('Done.')],
      tools: [mail, once],
    })
    const { messages } = await handed(edge)
    await edge.post(CHAT, { messages, tools })
    const { edgecall } = await (await edge.post(CHAT, { messages, tools })).json<any>()
    expect([edgecall.calls, times]).toMatchObject([[{ tool: 'once', ok: false }], 0])
  })

  test('is resumed once for two concurrent requests', async () => {
    const edge = keptEdge({ script: [ask(['once'], ['pick']), failing, say('Done.')], tools: [once] })
    const { messages } = await handed(edge)
    await edge.post(CHAT, { messages, tools })
    const both = await Promise.all([1, 2].map(() => edge.post(CHAT, { messages, tools })))
    const answers = await Promise.all(both.map((response) => response.json<any>()))
    expect(answers.map(({ choices }) => choices[0].message.content)).toEqual(['Done.', 'Done.'])
    expect(edge.requests).toHaveLength(3)
  })

  test('is part of the history of the next message, with all its calls', async () => {
    const edge = keptEdge({ script: [ask(['once'], ['pick']), failing, say('Done.')], tools: [once] })
    const { messages } = await handed(edge)
    await edge.post(CHAT, { messages, tools })
    const answer = await edge.post(CHAT, { messages: [...messages, { role: 'user', content: 'Try again' }], tools })
    expect([answer.status, times]).toEqual([200, 1])
    expect(work(edge)).toEqual([...done, ['user', 'Try again']])
  })

  test.each([false, true])('is resumed over the Responses API too; stored: %s', async (store) => {
    const edge = keptEdge({ script: [ask(['once'], ['pick']), failing, say('Done.')], tools: [once] })
    const respond = async (input: unknown, store: boolean) => {
      const pick = { type: 'function', name: 'pick', strict: null, parameters: { type: 'object', properties: {} } }
      return (await edge.post('/v1/responses', { input, tools: [pick], store })).json<any>()
    }
    const { output } = await respond('Go', false)
    const { call_id } = output.find((item: any) => item.type === 'function_call')
    const input = [question, ...output, { type: 'function_call_output', call_id, output: 'left' }]
    expect((await respond(input, store)).error.code).toBe('model_unavailable')
    expect((await respond(input, store)).output.at(-1)).toMatchObject({ content: [{ text: 'Done.' }] })
    expect([work(edge), times]).toEqual([done, 1])
  })
})

describe('the request that sends results sets the terms of the continued run', () => {
  const other = { type: 'function', function: { name: 'other', parameters: { type: 'object' } } }
  const messagesTo = ({ requests }: KeptEdge) =>
    requests.map(({ messages, tools, toolChoice, sampling }) => ({
      messages: messages.map((message) => ('tool' in message ? message.tool : message.content)),
      tools: tools.map(({ name }) => name),
      toolChoice,
      sampling,
    }))
  const first = {
    messages: ['You are A.', 'Go'],
    tools: ['clock', 'pick'],
    toolChoice: 'required',
    sampling: { temperature: 0 },
  }

  test('in a chat whose history the caller keeps', async () => {
    const edge = keptEdge({
      script: [ask(['clock']), ask(['pick']), say('Done.')],
      tools: [clock],
      vars: { MODELS: 'test/*' },
    })
    const body = { model: 'test/a', temperature: 0, tool_choice: 'required', tools }
    const messages = [{ role: 'system', content: 'You are A.' }, question]
    const { choices } = await (await edge.post(CHAT, { ...body, messages })).json<any>()
    const { message } = choices[0]
    const result = { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'left' }
    const next = [{ role: 'system', content: 'You are B.' }, question, message, result]
    const request = {
      model: 'test/b',
      messages: next,
      tools: [other],
      tool_choice: { type: 'function', function: other.function },
    }
    const answer = await (await edge.post(CHAT, request)).json<any>()
    expect([answer.model, answer.choices[0].message.content]).toEqual(['test/b', 'Done.'])
    expect(messagesTo(edge)).toEqual([
      first,
      { ...first, messages: [...first.messages, '', 'clock'], toolChoice: undefined },
      {
        messages: ['You are B.', 'Go', '', 'clock', '', 'pick'],
        tools: ['clock', 'other'],
        toolChoice: { tool: 'other' },
        sampling: undefined,
      },
    ])
  })

  test('in a conversation, where omitted terms are unchanged', async () => {
    const edge = keptEdge({ script: [ask(['pick']), ask(['pick']), say('Done.')], tools: [clock] })
    const respond = async (body: object) => (await edge.post('/v1/responses', body)).json<any>()
    const goOn = (response: any, body: object) => {
      const { call_id } = response.output.at(-1)
      const input = [{ type: 'function_call_output', call_id, output: 'left' }]
      return respond({ input, previous_response_id: response.id, ...body })
    }
    const request = { input: 'Go', instructions: 'You are A.', temperature: 0, tool_choice: 'required' }
    const firstResponse = await respond({
      ...request,
      tools: tools.map((each) => ({ type: 'function', ...each.function })),
    })
    const repeat = await goOn(firstResponse, {
      instructions: 'You are B.',
      tools: [
        { type: 'function', ...other.function, name: 'pick' },
        { type: 'function', ...other.function },
      ],
    })
    await goOn(repeat, {})
    const second = {
      messages: ['You are B.', 'Go', '', 'pick'],
      tools: ['clock', 'pick', 'other'],
      toolChoice: undefined,
      sampling: { temperature: 0 },
    }
    expect(messagesTo(edge)).toEqual([first, second, { ...second, messages: [...second.messages, '', 'pick'] }])
  })
})

describe('the accept hook of a request that continues a run', () => {
  const next = { role: 'user', content: 'It is 1234.' }
  const inConversation = { 'x-conversation-id': 'c' }
  const masking = (hook: Partial<Hook>) => ({ loop: { hooks: [{ name: 'guard', ...hook }] } })

  test.each([{}, inConversation])('may change the messages beside the results (%j)', async (headers) => {
    const mask = (message: Message): Message =>
      message.role === 'user' ? { ...message, content: contentText(message.content).replace('1234', '****') } : message
    const guard = masking({ accept: (run) => ({ ...run, input: run.input.map(mask) }) })
    const edge = keptEdge({ script: [ask(['clock'], ['pick']), say('Done.')], tools: [clock], setup: guard })
    const { messages } = await handed(edge, headers)
    expect((await edge.post(CHAT, { messages: [...messages, next], tools }, headers)).status).toBe(200)
    expect(edge.requests[1]?.messages.at(-1)).toEqual({ role: 'user', content: 'It is ****.' })
  })

  test.each([{}, inConversation])('may refuse it, and then no result is accepted (%j)', async (headers) => {
    const guard = masking({
      accept: (run) => (run.input.some(({ content }) => content === next.content) ? 'No.' : run),
    })
    const edge = keptEdge({ script: [ask(['clock'], ['pick']), say('Done.')], tools: [clock], setup: guard })
    const { messages } = await handed(edge, headers)
    const refusal = await edge.post(CHAT, { messages: [...messages, next], tools }, headers)
    expect([refusal.status, (await refusal.json<any>()).error.code]).toEqual([403, 'refused'])
    const answer = await (await edge.post(CHAT, { messages, tools }, headers)).json<any>()
    expect([answer.choices[0].message.content, edge.requests.length]).toEqual(['Done.', 2])
  })

  test.each([
    ['unknown_model', { model: 'test/other' }],
    ['tool_name_conflict', { tools: [{ type: 'function', function: { name: 'clock', parameters: {} } }] }],
    ['unknown_tool', { tool_choice: { type: 'function', function: { name: 'gone' } } }],
  ])('refuses it with all its results: %s', async (code, terms) => {
    for (const headers of [{}, inConversation]) {
      const edge = keptEdge({ script: [ask(['clock'], ['pick']), say('Done.')], tools: [clock] })
      const { messages } = await handed(edge, headers)
      const refusal = await edge.post(CHAT, { messages, tools, ...terms }, headers)
      const { error } = await refusal.json<any>()
      expect(error.edgecall ?? error.code).toBe(code)
      const answer = await (await edge.post(CHAT, { messages, tools }, headers)).json<any>()
      expect([answer.choices[0].message.content, edge.requests.length]).toEqual(['Done.', 2])
    }
  })

  test('does not require a model if the run has one', async () => {
    const edge = keptEdge({ script: [ask(['pick']), say('Done.')], vars: { MODEL: undefined, MODELS: 'test/*' } })
    const pick = { type: 'function', name: 'pick', strict: null, parameters: { type: 'object', properties: {} } }
    const first = await (
      await edge.post('/v1/responses', { model: 'test/scripted', input: 'Go', tools: [pick] })
    ).json<any>()
    const input = [{ type: 'function_call_output', call_id: first.output.at(-1).call_id, output: 'left' }]
    const second = await edge.post('/v1/responses', { input, previous_response_id: first.id })
    expect((await second.json<any>()).output?.at(-1).content[0].text).toBe('Done.')
  })
})

describe('results that are sent with the next message', () => {
  const next = { role: 'user', content: 'And?' }

  test('are part of the history if no run waits for them', async () => {
    const edge = keptEdge({ script: [ask(['pick']), say('Done.')] })
    const { messages } = await handed(edge)
    const response = await edge.post(CHAT, { messages: [...messages, next], tools })
    expect(response.status).toBe(200)
    expect(edge.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
  })

  test('are ignored in a conversation whose run was cancelled meanwhile', async () => {
    const edge = keptEdge({ script: [ask(['pick']), say('Done.')] })
    const headers = { 'x-conversation-id': 'c' }
    const { first, messages } = await handed(edge, headers)
    await edge.post(`/conversations/c/runs/${first.edgecall.runId}/cancel`, {})
    const response = await edge.post(CHAT, { messages: [...messages, next], tools }, headers)
    expect(response.status).toBe(200)
    expect(edge.requests[1]?.messages.at(-1)).toEqual(next)
  })

  test.each<Record<string, string>>([{}, { 'x-conversation-id': 'c' }])(
    'are applied before it if a run waits for them (%j)',
    async (headers) => {
      const edge = keptEdge({ script: [ask(['clock'], ['pick']), say('Done.')], tools: [clock] })
      const { messages } = await handed(edge, headers)
      const answer = await (await edge.post(CHAT, { messages: [...messages, next], tools }, headers)).json<any>()
      expect(answer.choices[0].message.content).toBe('Done.')
      expect(edge.requests[1]?.messages.map((message) => ('tool' in message ? message.tool : message.content))).toEqual(
        ['Go', '', 'clock', 'pick', 'And?'],
      )
    },
  )
})

test('a run whose events end early after a tool call is not retried by SDKs', async () => {
  const edge = keptEdge({ script: [ask(['clock']), say('Done.')], tools: [clock] })
  await edge.post('/conversations', { id: 'c' })
  const object = edge.objects.get('v1/local/c')!
  const [start, events] = [object.start.bind(object), object.events.bind(object)]
  vi.spyOn(object, 'start').mockImplementation(async (request) => {
    const reply = await start(request)
    return reply.ok && reply.stream ? { ...reply, stream: brokenAfter('call.started', reply.stream) } : reply
  })
  vi.spyOn(object, 'events').mockImplementation(async (run, after) => {
    const reply = await events(run, after)
    return reply.ok ? { ...reply, stream: brokenAfter(undefined, reply.stream) } : reply
  })
  const response = await edge.post(CHAT, { messages: [question] }, { 'x-conversation-id': 'c' })
  expect([response.status, response.headers.get('x-should-retry'), await response.json()]).toEqual([
    502,
    'false',
    { error: expect.objectContaining({ code: 'run_interrupted' }) },
  ])
})

/** What a stream says up to this event, or nothing; then it breaks, as that of an object which is lost. */
function brokenAfter(type: string | undefined, stream: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  let isTold = false
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (isTold || type === undefined) throw new Error('The object was reset.')
    isTold = true
    const [head, rest = ''] = (await new Response(stream).text()).split(`event: ${type}\n`)
    const [frame] = rest.split('\n\n')
    controller.enqueue(new TextEncoder().encode(`${head}event: ${type}\n${frame}\n\n`))
  }
  return new ReadableStream({ pull }, { highWaterMark: 0 })
}
