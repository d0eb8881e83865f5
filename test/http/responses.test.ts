import OpenAI, { APIError } from 'openai'
import { describe, expect, test } from 'vitest'
import type { Hook } from '../../src/contract/hook.ts'
import type { ModelEvent } from '../../src/contract/model.ts'
import { gatedTool } from '../fixtures/gated.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { type KeptEdge, keptEdge } from './kept-edge.ts'

const clock = tool('clock', () => '12:00')
const danger = tool('danger', () => 'boom', { approval: 'always' })
const pick = { type: 'function', name: 'pick', strict: null, parameters: { type: 'object', properties: {} } } as const

function clientOf(edge: KeptEdge): OpenAI {
  return new OpenAI({
    apiKey: 'none',
    maxRetries: 0,
    baseURL: 'http://127.0.0.1:8787/v1',
    fetch: (input, init) => edge.fetch(input, init),
  })
}

/** What the model was shown, shortened to roles and texts. */
function visibleTexts(edge: KeptEdge): string[][] {
  const textOf = (content: unknown) => (typeof content === 'string' ? content : JSON.stringify(content))
  return edge.requests.map(({ messages }) => messages.map(({ role, content }) => `${role}: ${textOf(content)}`))
}

async function errorOf(promise: Promise<unknown>): Promise<object> {
  const error: unknown = await promise.catch((error: unknown) => error)
  if (!(error instanceof APIError)) throw error
  const { status, code, param } = error
  return { status, code, param }
}

test('a response has the answer after the edge’s own calls', async () => {
  const edge = keptEdge({ script: [ask(['clock']), say('Noon.')], tools: [clock] })
  const { data, response } = await clientOf(edge)
    .responses.create({ model: 'test/scripted', input: 'What time is it?', instructions: 'Be short.' })
    .withResponse()
  expect(data.output_text).toBe('Noon.')
  expect(data).toMatchObject({
    status: 'completed',
    model: 'test/scripted',
    instructions: 'Be short.',
    output: [{ type: 'mcp_call', name: 'clock', output: '12:00' }, { type: 'message' }],
    usage: { total_tokens: 30 },
    edgecall: { steps: 2, finish: 'stop' },
  })
  expect(response.headers.get('x-run-id')).toMatch(/^run_/)
  expect(visibleTexts(edge)[0]).toEqual(['system: Be short.', 'user: What time is it?'])
})

test('a streamed response adds up to the same response', async () => {
  const edge = keptEdge({ script: [ask(['clock']), say('Noon.')], tools: [clock] })
  const stream = clientOf(edge).responses.stream({ input: 'What time is it?' })
  const deltas: string[] = []
  stream.on('response.output_text.delta', ({ delta }) => deltas.push(delta))
  const response = await stream.finalResponse()
  expect(deltas).toEqual(['Noon.'])
  expect(response.output.map(({ type }) => type)).toEqual(['mcp_call', 'message'])
})

test('a WebSocket is refused by the status that clients know, and embeddings by a model that there is not in OpenAI’s form', async () => {
  const edge = keptEdge({ script: [] })
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
  const refusal = await edge.fetch('/v1/responses', { headers: upgrade })
  const message = 'This edge has no WebSockets: send the request over HTTP.'
  expect([refusal.status, await refusal.json()]).toEqual([
    426,
    { error: { message, type: 'invalid_request_error', param: null, code: 'websocket_unsupported' } },
  ])
  const plain = await edge.fetch('/v1/responses')
  expect(plain.status).toBe(404)
  const embedding = clientOf(edge).embeddings.create({ model: 'text-embedding-3-small', input: 'Hi' })
  expect(await errorOf(embedding)).toEqual({ status: 404, code: 'model_not_found', param: 'model' })
})

describe('a compaction', () => {
  const input = [
    { role: 'developer', content: 'Be calm.' },
    { role: 'user', content: 'Which?' },
    { type: 'function_call', call_id: 'c1', name: 'pick', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: 'left' },
    { role: 'assistant', content: 'Left.' },
    { role: 'user', content: 'Sure?' },
    { role: 'assistant', content: 'Sure.' },
  ] satisfies OpenAI.Responses.ResponseInputItem[]
  const history = ['system: Be calm.', 'user: Which?', 'assistant: ', 'tool: [{"type":"text","text":"left"}]']
  const all = [...history, 'assistant: Left.', 'user: Sure?', 'assistant: Sure.']
  const request = expect.stringMatching(/^user: Write a summary/)
  const summary = 'user: A summary of the conversation so far:\nThe left “é” one.'

  test('is the messages of the user and a summary, which takes the place of all else', async () => {
    const edge = keptEdge({
      script: [say('The left “é” one.'), say('Still left.'), say('Left, twice.')],
      tools: [clock],
    })
    const { responses } = clientOf(edge)
    const compacted = await responses.compact({ model: 'test/scripted', input, instructions: 'Be short.' })
    expect(compacted).toEqual({
      id: expect.stringMatching(/^resp_/),
      object: 'response.compaction',
      created_at: expect.any(Number),
      output: [
        ...['Which?', 'Sure?'].map((text, index) => ({
          id: `msg_${index}_0`,
          type: 'message',
          role: 'user',
          status: 'completed',
          content: [{ type: 'input_text', text }],
        })),
        { id: expect.stringMatching(/^cmp_/), type: 'compaction', encrypted_content: expect.any(String) },
      ],
      usage: expect.objectContaining({ input_tokens: 10, output_tokens: 5, total_tokens: 15 }),
    })
    const next = [
      ...(compacted.output as OpenAI.Responses.ResponseInputItem[]),
      { role: 'user', content: 'Now?' } as const,
    ]
    expect((await responses.create({ input: next, store: false })).output_text).toBe('Still left.')
    const second = await responses.compact({ model: 'test/scripted', input: next })
    expect(second.output.map(({ type }) => type)).toEqual(['message', 'message', 'message', 'compaction'])
    const users = ['user: [{"type":"text","text":"Which?"}]', 'user: [{"type":"text","text":"Sure?"}]']
    expect(visibleTexts(edge)).toEqual([
      ['system: Be short.', ...all, request],
      [...users, summary, 'user: Now?'],
      [...users, summary, 'user: Now?', request],
    ])
    expect(edge.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([[], ['clock'], []])
  })

  test.each([[ask(['pick'])], [ask(['pay'])]])(
    'is refused while a run waits, whose calls it would lose',
    async (call) => {
      const pay = tool('pay', () => 'paid', { approval: 'always' })
      const edge = keptEdge({ script: [say('Hello.'), call, say('Done.'), say('All is done.')], tools: [pay] })
      const { responses, conversations } = clientOf(edge)
      const { id: conversation } = await conversations.create()
      await responses.create({ conversation, tools: [pick], input: 'Hi' })
      const { id, output } = await responses.create({ conversation, tools: [pick], input: 'Go' })
      const refusal = { status: 409, code: 'run_waiting' }
      const compact = (members: object) => edge.post('/v1/responses/compact', { model: 'test/scripted', ...members })
      expect((await compact({ conversation })).status).toBe(409)
      expect((await compact({ previous_response_id: id })).status).toBe(409)
      const trigger = { type: 'compaction_trigger' as const }
      await expect(responses.create({ conversation, input: [trigger] })).rejects.toMatchObject(refusal)
      const [item] = output
      const answer: OpenAI.Responses.ResponseInputItem =
        item?.type === 'function_call'
          ? { type: 'function_call_output', call_id: item.call_id, output: 'left' }
          : { type: 'mcp_approval_response', approval_request_id: item?.id ?? '', approve: true }
      await responses.create({ conversation, tools: [pick], input: [answer] })
      expect((await compact({ conversation })).status).toBe(200)
      expect(
        visibleTexts(edge)
          .at(-1)
          ?.some((text) => /left|paid/.test(text)),
      ).toBe(true)
    },
  )

  test('is the one item of a response that ends with a trigger, streamed or not', async () => {
    const texts = ['The left “é” one.', 'The left “é” one.', 'Go on.']
    const edge = keptEdge({ script: texts.map(say), tools: [clock] })
    const { responses } = clientOf(edge)
    const trigger = { type: 'compaction_trigger' } as const
    const items: OpenAI.Responses.ResponseInputItem[] = [...input, trigger]
    const response = await responses.create({ input: items, tools: [pick], store: false })
    const types: string[] = []
    const stream = responses.stream({ input: items, tools: [pick], store: false })
    stream.on('event', ({ type }) => void types.push(type))
    const streamed = await stream.finalResponse()
    expect(types).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.output_item.done',
      'response.completed',
    ])
    const item = { id: expect.stringMatching(/^cmp_/), type: 'compaction', encrypted_content: expect.any(String) }
    expect([response.output, streamed.output]).toEqual([[item], [item]])
    const next = [...input, ...(response.output as OpenAI.Responses.ResponseInputItem[])]
    await responses.create({ input: [...next, { role: 'user', content: 'On' }], store: false })
    expect(visibleTexts(edge)).toEqual([
      [...all, request],
      [...all, request],
      ['system: Be calm.', 'user: Which?', 'user: Sure?', summary, 'user: On'],
    ])
  })

  test('of a stored response has the messages before it', async () => {
    const edge = keptEdge({ script: [say('One.'), say('It was one.')] })
    const { responses } = clientOf(edge)
    const first = await responses.create({ input: 'First' })
    const { output } = await responses.compact({ model: 'test/scripted', previous_response_id: first.id })
    expect(output.map(({ type }) => type)).toEqual(['message', 'compaction'])
    expect(visibleTexts(edge)[1]).toEqual(['user: First', 'assistant: One.', request])
  })

  test('fails without a summary, is nothing for others’ models, and must be asked for last', async () => {
    const edge = keptEdge({ script: [say(' '), say(' '), say('Hello.')] })
    const { responses } = clientOf(edge)
    expect(await errorOf(responses.compact({ model: 'test/scripted', input: 'Hi' }))).toMatchObject({ status: 502 })
    const foreign = { type: 'compaction', encrypted_content: 'gAAAA' } as const
    const user = { role: 'user', content: 'Hi' } as const
    const { response } = await responses.create({ input: [user, foreign, user], store: false }).withResponse()
    expect(response.headers.get('edgecall-ignored')).toBe('input[1]')
    expect(visibleTexts(edge)[2]).toEqual(['user: Hi', 'user: Hi'])
    const early = responses.create({ input: [{ type: 'compaction_trigger' }, user] })
    expect(await errorOf(early)).toEqual({ status: 400, code: 'invalid_value', param: 'input[0]' })
  })
})

describe('a previous response', () => {
  test('is continued with its messages of each role, and with the instructions of the new request alone', async () => {
    const edge = keptEdge({ script: [say('One.'), say('Two.'), say('Three.'), say('Four.')] })
    const { responses } = clientOf(edge)
    const input = [
      { role: 'developer', content: 'Be calm.' },
      { role: 'user', content: 'First' },
    ] as const
    const first = await responses.create({ input: [...input], instructions: 'Be kind.' })
    const second = await responses.create({ input: 'Second', previous_response_id: first.id })
    expect(second.previous_response_id).toBe(first.id)
    const third = await responses.create({
      input: [
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: 'Third' },
      ],
      previous_response_id: second.id,
    })
    await responses.create({ input: 'Fourth', instructions: 'Be warm.', previous_response_id: third.id })
    const history = ['system: Be calm.', 'user: First', 'assistant: One.', 'user: Second', 'assistant: Two.']
    expect(visibleTexts(edge)).toEqual([
      ['system: Be kind.', ...history.slice(0, 2)],
      history.slice(0, 4),
      [...history, 'system: Be brief.', 'user: Third'],
      ['system: Be warm.', ...history, 'system: Be brief.', 'user: Third', 'assistant: Three.', 'user: Fourth'],
    ])
  })

  test('that waits for a result is continued by all items sent again, each of which the model sees once', async () => {
    const edge = keptEdge({ script: [ask(['pick']), say('Left.'), say('Yes.')] })
    const { responses } = clientOf(edge)
    const input: OpenAI.Responses.ResponseInputItem[] = [
      { role: 'developer', content: 'Be calm.' },
      { role: 'user', content: 'Which?' },
    ]
    const first = await responses.create({ input, tools: [pick] })
    const call = first.output.find((item) => item.type === 'function_call')
    const output = { type: 'function_call_output', call_id: call?.call_id ?? '', output: 'left' } as const
    const all = [...input, ...(first.output as OpenAI.Responses.ResponseInputItem[]), output]
    const second = await responses.create({ input: all, tools: [pick] })
    await responses.create({ input: 'Sure?', previous_response_id: second.id })
    const history = ['system: Be calm.', 'user: Which?', 'assistant: ', 'tool: [{"type":"text","text":"left"}]']
    expect(visibleTexts(edge)).toEqual([history.slice(0, 2), history, [...history, 'assistant: Left.', 'user: Sure?']])
  })

  test('must have been stored to be continued', async () => {
    const edge = keptEdge({ script: [say('Alone.'), say('Kept.')] })
    const { responses } = clientOf(edge)
    const { id } = await responses.create({ input: 'Alone', store: false })
    for (const previous_response_id of [id, 'resp_68b0f1a2c3d4']) {
      const next = responses.create({ input: 'Next', previous_response_id })
      const param = 'previous_response_id'
      expect(await errorOf(next)).toEqual({ status: 400, code: 'previous_response_not_found', param })
    }
    const storedResponse = await responses.create({ input: 'Kept' })
    const previous_response_id = storedResponse.id.replace(/^resp_[^_]+/, `resp_${'0'.repeat(22)}`)
    const next = responses.create({ input: 'Next', previous_response_id })
    expect(await errorOf(next)).toMatchObject({ status: 404, code: 'unknown_run' })
  })

  test('that is not the latest is continued in a branch, and nothing else changes', async () => {
    const edge = keptEdge({ script: ['One.', 'Two.', 'Other.', 'Three.', 'More.', 'Deep.', 'Late.'].map(say) })
    const { responses } = clientOf(edge)
    const next = async (input: string, previous?: { id: string }) =>
      responses.create({ input, ...(previous && { previous_response_id: previous.id }) })
    const first = await next('First')
    const second = await next('Second', first)
    const other = await next('Another', first)
    await next('Third', second)
    await next('More', other)
    await next('Deeper', other)
    await next('Late', first)
    const history = ['user: First', 'assistant: One.']
    expect(visibleTexts(edge).slice(2)).toEqual([
      [...history, 'user: Another'],
      [...history, 'user: Second', 'assistant: Two.', 'user: Third'],
      [...history, 'user: Another', 'assistant: Other.', 'user: More'],
      [...history, 'user: Another', 'assistant: Other.', 'user: Deeper'],
      [...history, 'user: Late'],
    ])
    expect(other.previous_response_id).toBe(first.id)
    expect(await (await edge.fetch('/conversations')).json()).toEqual([])
  })

  test('has its calls answered again in a branch, with the results of each request', async () => {
    const edge = keptEdge({
      script: [ask(['clock'], ['pick']), ...['One.', 'Two.', 'Three.', 'More.'].map(say)],
      tools: [clock],
    })
    const { responses } = clientOf(edge)
    const first = await responses.create({ input: 'First', tools: [pick] })
    const call = first.output.find((item) => item.type === 'function_call')
    const next = (output: string, ...more: { role: 'user'; content: string }[]) => {
      const result = { type: 'function_call_output', call_id: call?.call_id ?? '', output } as const
      return responses.create({ input: [result, ...more], previous_response_id: first.id, tools: [pick] })
    }
    await next('left')
    const second = await next('right')
    expect(second.output_text).toBe('Two.')
    await next('right', { role: 'user', content: 'Why?' })
    await responses.create({ input: 'More', previous_response_id: second.id })
    const history = ['user: First', 'assistant: ', expect.stringContaining('12:00')]
    expect(visibleTexts(edge).slice(1)).toEqual(
      [['left'], ['right'], ['right', 'user: Why?'], ['right', 'assistant: Two.', 'user: More']].map(
        ([output, ...more]) => [...history, `tool: [{"type":"text","text":"${output}"}]`, ...more],
      ),
    )
  })

  test('has its calls answered again at the same time', async () => {
    const edge = keptEdge({ script: [ask(['pick']), ...['One.', 'Two.', 'Three.'].map(say)] })
    const { responses } = clientOf(edge)
    const first = await responses.create({ input: 'First', tools: [pick] })
    const [call] = first.output
    if (call?.type !== 'function_call') throw new Error('The response has no call.')
    const output = (text: string) => ({ type: 'function_call_output', call_id: call.call_id, output: text }) as const
    const inputs = [[output('left')], [output('right')], [output('up'), { role: 'user', content: 'Why?' } as const]]
    const next = (input: (typeof inputs)[number]) =>
      responses.create({ input, previous_response_id: first.id, tools: [pick] })
    const answers = await Promise.all(inputs.map(next))
    expect(answers.map(({ output_text }) => output_text).toSorted()).toEqual(['One.', 'Three.', 'Two.'])
    const history = ['user: First', 'assistant: ']
    const result = (text: string) => `tool: [{"type":"text","text":"${text}"}]`
    const texts = visibleTexts(edge).slice(1)
    expect(texts).toHaveLength(3)
    expect(texts).toEqual(
      expect.arrayContaining([
        [...history, result('left')],
        [...history, result('right')],
        [...history, result('up'), 'user: Why?'],
      ]),
    )
  })

  test('gets one branch for each concurrent continuation', async () => {
    const edge = keptEdge({ script: [say('One.'), say('Two.'), say('Three.')] })
    const { responses } = clientOf(edge)
    const first = await responses.create({ input: 'First' })
    const inputs = ['left', 'right']
    await Promise.all(inputs.map((input) => responses.create({ input, previous_response_id: first.id })))
    const history = ['user: First', 'assistant: One.']
    expect(
      visibleTexts(edge)
        .slice(1)
        .sort((a, b) => (String(a) < String(b) ? -1 : 1)),
    ).toEqual(inputs.map((input) => [...history, `user: ${input}`]))
  })

  test('in a conversation of the caller’s own is branched without changing that conversation', async () => {
    const edge = keptEdge({ script: [say('One.'), say('Two.'), say('Other.')] })
    const { responses } = clientOf(edge)
    const headers = { 'x-conversation-id': 'mine' }
    const first = await responses.create({ input: 'First' }, { headers })
    await responses.create({ input: 'Second' }, { headers })
    const messages = async () => (await edge.fetch('/conversations/mine/messages')).json()
    const before = await messages()
    const other = await responses.create({ input: 'Other', previous_response_id: first.id })
    expect(visibleTexts(edge).at(-1)).toEqual(['user: First', 'assistant: One.', 'user: Other'])
    expect([await messages(), other.conversation]).toEqual([before, undefined])
    expect(await (await edge.fetch('/conversations')).json()).toEqual([{ id: 'mine' }])
  })

  test('is branched once for one Idempotency-Key', async () => {
    const edge = keptEdge({ script: [say('One.'), say('Two.'), say('Other.'), say('More.')] })
    const { responses } = clientOf(edge)
    const first = await responses.create({ input: 'First' })
    await responses.create({ input: 'Second', previous_response_id: first.id })
    const branch = () =>
      responses.create({ input: 'Other', previous_response_id: first.id }, { headers: { 'idempotency-key': 'k1' } })
    const other = await branch()
    expect((await branch()).id).toBe(other.id)
    await responses.create({ input: 'More', previous_response_id: other.id })
    expect((await branch()).id).toBe(other.id)
    expect(edge.requests).toHaveLength(4)
  })

  test('that waits for approval is not branched before it has ended', async () => {
    const edge = keptEdge({ script: [ask(['pick']), say('Two.')] })
    const { responses } = clientOf(edge)
    const headers = { 'x-conversation-id': 'mine' }
    const first = await responses.create({ input: 'First', tools: [pick] }, { headers })
    await edge.post('/conversations/mine/runs', { input: 'Second' }, { prefer: 'respond-async' })
    const other = responses.create({ input: 'Other', previous_response_id: first.id })
    expect(await errorOf(other)).toMatchObject({ status: 409, code: 'conversation_busy' })
  })

  test('is continued by results and approvals in turn', async () => {
    const script = [ask(['danger', { a: 1 }], ['pick', { of: 2 }]), say('Done.')]
    const edge = keptEdge({ script, tools: [danger] })
    const { responses } = clientOf(edge)
    const first = await responses.create({ input: 'Go', tools: [pick] })
    expect(first.output.map(({ type }) => type)).toEqual(['mcp_approval_request', 'function_call'])
    const [approval, call] = first.output
    if (approval?.type !== 'mcp_approval_request' || call?.type !== 'function_call') throw new Error('other items')
    const second = await responses.create({
      input: [{ type: 'function_call_output', call_id: call.call_id, output: 'left' }],
      previous_response_id: first.id,
    })
    // What is still waited for is asked again.
    expect(second.output).toEqual([approval])
    const third = await responses.create({
      input: [{ type: 'mcp_approval_response', approval_request_id: approval.id, approve: true }],
      previous_response_id: second.id,
    })
    expect(third.output).toMatchObject([
      { type: 'mcp_call', name: 'danger', arguments: '{"a":1}', output: 'boom', approval_request_id: approval.id },
      { type: 'message' },
    ])
    expect(third.output_text).toBe('Done.')
    expect(new Set([first.id, second.id, third.id]).size).toBe(3)
    expect(edge.requests[1]?.messages.slice(-2)).toMatchObject([
      { role: 'tool', tool: 'danger', content: [{ text: 'boom' }] },
      { role: 'tool', tool: 'pick', content: [{ text: 'left' }] },
    ])
    const lateResponse = responses.create({
      input: [{ type: 'function_call_output', call_id: call.call_id, output: 'right' }],
      previous_response_id: third.id,
    })
    expect(await errorOf(lateResponse)).toMatchObject({ status: 409, code: 'call_already_answered' })
  })
})

describe('results that are sent with their calls', () => {
  /** A turn that is over, and the items of one that waits for its caller. */
  async function waiting(edge: KeptEdge) {
    const { responses } = clientOf(edge)
    const first = await responses.create({ input: 'Go', tools: [pick] })
    const second = await responses.create({ input: 'More', previous_response_id: first.id, tools: [pick] })
    const call = second.output.find((item) => item.type === 'function_call')!
    const { type, call_id, name, arguments: args } = call
    const result = { type: 'function_call_output', call_id, output: 'left' } as const
    return { first, second, call: { type, call_id, name, arguments: args } as const, result }
  }
  const script = () => [say('Gone.'), ask(['clock'], ['pick']), say('Done.')]
  const last = [
    ...['user: Go', 'assistant: Gone.', 'user: More', 'assistant: '],
    ...['12:00', 'left'].map((text) => `tool: ${JSON.stringify([{ type: 'text', text }])}`),
  ]
  const more = { role: 'user', content: 'More' } as const

  test('continue the run after `previous_response_id`', async () => {
    const edge = keptEdge({ script: script(), tools: [clock] })
    const { first, call, result } = await waiting(edge)
    const input = [more, call, result]
    const third = await clientOf(edge).responses.create({ input, previous_response_id: first.id, tools: [pick] })
    expect([third.output_text, visibleTexts(edge).at(-1)]).toEqual(['Done.', last])
  })

  test('continue the run after references to earlier items', async () => {
    const edge = keptEdge({ script: script(), tools: [clock] })
    const { first, call, result } = await waiting(edge)
    const reference = { type: 'item_reference', id: first.output[0]!.id! } as const
    const input = [{ role: 'user', content: 'Go' } as const, reference, more, call, result]
    const third = await clientOf(edge).responses.create({ input, tools: [pick] })
    expect([third.output_text, visibleTexts(edge).at(-1)]).toEqual(['Done.', last])
  })

  test('and the whole history continue the run, and replay its outcome when sent again', async () => {
    const edge = keptEdge({ script: script(), tools: [clock] })
    const { first, second, result } = await waiting(edge)
    // Some clients leave out what calls of the edge came to.
    const userMessages = second.output.map((item) => (item.type === 'mcp_call' ? { ...item, output: null } : item))
    const input: any[] = [{ role: 'user', content: 'Go' }, ...first.output, more, ...userMessages, result]
    const { responses } = clientOf(edge)
    const third = await responses.create({ input, tools: [pick] })
    expect([third.output_text, visibleTexts(edge).at(-1)]).toEqual(['Done.', last])
    expect(third.id.split('_').slice(3)).toEqual(second.id.split('_').slice(3))
    expect((await responses.create({ input, tools: [pick] })).output_text).toBe('Done.')
    expect(edge.requests).toHaveLength(3)
  })
})

test.each([{}, { conversation: 'c' }])(
  'a decision of an earlier turn does not hide a result of the newest (%j)',
  async (place) => {
    const danger = tool('danger', () => 'boom', { approval: 'always' })
    const script = [ask(['danger']), say('Gone.'), ask(['clock'], ['pick']), say('Done.')]
    const edge = keptEdge({ script, tools: [clock, danger] })
    await edge.post('/conversations', { id: 'c' })
    const { responses } = clientOf(edge)
    const input: any[] = []
    const respond = async (...items: object[]) => {
      input.push(...items)
      const response = await responses.create({ input, tools: [pick], ...place })
      input.push(...response.output)
      return response
    }
    const { output } = await respond({ role: 'user', content: 'Go' })
    await respond({ type: 'mcp_approval_response', approval_request_id: output[0]!.id, approve: true })
    const third = await respond({ role: 'user', content: 'More' })
    const { call_id } = third.output.find((item) => item.type === 'function_call')!
    const last = await respond({ type: 'function_call_output', call_id, output: 'left' })
    expect(last.output_text).toBe('Done.')
    expect(last.id.split('_')[1]).toBe(third.id.split('_')[1])
  },
)

test('a picture in the result of a call of the client reaches the model as a picture', async () => {
  const edge = keptEdge({ script: [ask(['pick']), say('A cat.')] })
  const { responses } = clientOf(edge)
  const first = await responses.create({ input: 'Look', tools: [pick] })
  const call = first.output.find((item) => item.type === 'function_call')!
  const answer = (image_url: string) => {
    const output = [
      { type: 'input_text', text: 'Seen:' } as const,
      { type: 'input_image', image_url, detail: 'auto' } as const,
    ]
    const input = [{ type: 'function_call_output', call_id: call.call_id, output } as const]
    return responses.create({ input, previous_response_id: first.id, tools: [pick] })
  }
  const wrong = await errorOf(answer('data:image/png;base64,not base64'))
  expect(wrong).toMatchObject({ status: 400, code: 'invalid_request' })
  expect((await answer('data:image/png;base64,AAAA')).output_text).toBe('A cat.')
  expect(edge.requests.at(-1)?.messages.at(-1)).toMatchObject({
    role: 'tool',
    content: [
      { type: 'text', text: 'Seen:' },
      { type: 'image', mediaType: 'image/png', data: 'AAAA' },
    ],
  })
})

test('an answer to an unknown call starts nothing', async () => {
  const edge = keptEdge({ script: [say('To what?')] })
  const output = { type: 'function_call_output', call_id: 'call_of_another', output: 'left' } as const
  const approval = { type: 'mcp_approval_response', approval_request_id: 'mcpr_of_another', approve: true } as const
  for (const input of [[output], [approval]]) {
    const pendingResponse = clientOf(edge).responses.create({ input })
    expect(await errorOf(pendingResponse)).toMatchObject({ status: 409, code: 'call_already_answered' })
  }
  expect(edge.requests).toEqual([])
})

describe('an approval within the whole history', () => {
  const mine = { headers: { 'x-conversation-id': 'mine' } }

  test.each([
    { approvals: ['danger'] as const, options: {} },
    { approvals: ['danger'] as const, options: mine },
    { approvals: ['clock', 'danger', 'pick'] as const, options: {} },
    { approvals: ['clock', 'danger', 'pick'] as const, options: mine },
  ])('continues the run that asked for it (%j)', async ({ approvals, options }) => {
    const calls = approvals.map((name): [string] => [name])
    const edge = keptEdge({ script: [ask(...calls), say('Done.'), say('Bye.')], tools: [clock, danger] })
    const { responses } = clientOf(edge)
    const input: object[] = [{ role: 'user', content: 'Go' }]
    const next = async (...items: object[]) => {
      input.push(...items)
      const { output } = await responses.create({ input: input as never, tools: [pick] }, options)
      input.push(...output)
      return output
    }
    const answers = (await next()).flatMap((item) => {
      if (item.type === 'function_call') {
        return { type: 'function_call_output', call_id: item.call_id, output: 'left' }
      }
      const isAsked = item.type === 'mcp_approval_request'
      return isAsked ? { type: 'mcp_approval_response', approval_request_id: item.id, approve: true } : []
    })
    expect((await next(...answers)).map(({ type }) => type)).toEqual(['mcp_call', 'message'])
    const results = { clock: '12:00', danger: 'boom', pick: 'left' }
    expect(edge.requests[1]?.messages.filter(({ role }) => role === 'tool')).toMatchObject(
      approvals.map((name) => ({ tool: name, content: [{ text: results[name] }] })),
    )
    expect(await next({ role: 'user', content: 'Thanks' })).toMatchObject([{ type: 'message' }])
    expect(visibleTexts(edge)[2]?.at(-1)).toBe('user: Thanks')
    expect(edge.requests).toHaveLength(3)
  })
})

describe('a conversation', () => {
  test('of the caller’s own is continued by its id and created only by the header', async () => {
    const edge = keptEdge({ script: [say('One.'), say('Two.')] })
    const { responses } = clientOf(edge)
    const missing = responses.create({ input: 'First', conversation: 'mine' })
    const headers = { 'x-conversation-id': 'mine' }
    expect(await errorOf(missing)).toMatchObject({ status: 404, code: 'unknown_conversation' })
    const first = await responses.create({ input: 'First' }, { headers })
    const second = await responses.create({ input: 'Second', conversation: 'mine' })
    expect([first.conversation, second.conversation]).toEqual([{ id: 'mine' }, { id: 'mine' }])
    expect(visibleTexts(edge).at(-1)).toEqual(['user: First', 'assistant: One.', 'user: Second'])
    expect(await (await edge.fetch('/conversations')).json()).toEqual([{ id: 'mine' }])
  })

  test('is not listed unless the request named it', async () => {
    const edge = keptEdge({ script: [say('One.')] })
    const { data, response } = await clientOf(edge).responses.create({ input: 'First' }).withResponse()
    expect(data.conversation).toBeUndefined()
    expect(data.id.endsWith(response.headers.get('x-conversation-id')!)).toBe(true)
    expect(await (await edge.fetch('/conversations')).json()).toEqual([])
  })
})

describe('a response that is not stored', () => {
  test('leaves nothing stored and is continued by its items', async () => {
    const edge = keptEdge({ script: [ask(['clock']), say('Noon.'), say('Later.')], tools: [clock] })
    const { responses } = clientOf(edge)
    const first = await responses.create({ input: 'What time is it?', store: false })
    expect(edge.objects.size).toBe(0)
    const input = [
      { role: 'user', content: 'What time is it?' },
      ...first.output,
      { role: 'user', content: 'And now?' },
    ]
    await responses.create({ input: input as never, store: false })
    expect(edge.requests[2]?.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
    ])
  })

  test('finds its calls again, so that no call runs twice', async () => {
    let times = 0
    const once = tool('once', () => `${++times}`)
    const edge = keptEdge({ script: [ask(['once'], ['pick']), say('Done.')], tools: [once] })
    const { responses } = clientOf(edge)
    const first = await responses.create({ input: 'Go', tools: [pick], store: false })
    const call = first.output.find((item) => item.type === 'function_call')!
    const result = { type: 'function_call_output', call_id: call.call_id, output: 'left' }
    const input = [{ role: 'user', content: 'Go' }, ...first.output, result] as never
    const second = await responses.create({ input, tools: [pick], store: false })
    expect(second.output_text).toBe('Done.')
    expect(times).toBe(1)
    const repeat = await responses.create({ input, tools: [pick], store: false })
    expect(repeat.output_text).toBe('Done.')
    expect([times, edge.requests.length]).toEqual([1, 2])
  })
})

describe('the encrypted content of reasoning', () => {
  const opaque = (data: unknown) => ({ codec: 'test', data })
  /** An answer with what its provider wants back. */
  const thought = (events: readonly ModelEvent[], data: unknown, reasoning?: string): ModelEvent[] => [
    ...(reasoning === undefined ? [] : [{ type: 'reasoning', text: reasoning } as const]),
    ...events.map((event) => (event.type === 'finish' ? { ...event, opaque: opaque(data) } : event)),
  ]
  const script = [
    thought(ask(['clock']), ['é', 1], 'I need a clock.'),
    thought([{ type: 'text', text: 'A moment.' }, ...ask(['clock'])], 2),
    thought(say('Noon.'), 3),
    say('Later.'),
  ]
  const include = ['reasoning.encrypted_content' as const]

  async function firstResponse(edge: KeptEdge, isStreamed: boolean, more: object = { include }) {
    const body = { input: 'What time is it?', store: false, ...more } as const
    const { responses } = clientOf(edge)
    return isStreamed ? responses.stream(body).finalResponse() : responses.create(body)
  }

  test.each([false, true])('goes back to the provider with its answer (streamed: %s)', async (isStreamed) => {
    const edge = keptEdge({ script, tools: [clock] })
    const first = await firstResponse(edge, isStreamed)
    const { input } = {
      input: [{ role: 'user', content: 'What time is it?' }, ...first.output, { role: 'user', content: 'And now?' }],
    }
    await firstResponse(edge, isStreamed, { input, include })
    expect(edge.objects.size).toBe(0)
    const answers = edge.requests[3]?.messages.filter(({ role }) => role === 'assistant')
    const texts = isStreamed ? ['', 'A moment.', '\n\nNoon.'] : ['', '', 'Noon.']
    expect(answers).toMatchObject([
      { content: texts[0], reasoning: 'I need a clock.', calls: [{ tool: 'clock' }], opaque: opaque(['é', 1]) },
      { content: texts[1], calls: [{ tool: 'clock' }], opaque: opaque(2) },
      { content: texts[2], opaque: opaque(3) },
    ])
  })

  test('is streamed in events that add up to the response', async () => {
    const edge = keptEdge({ script, tools: [clock] })
    const stream = clientOf(edge).responses.stream({ input: 'What time is it?', store: false, include })
    const items: { readonly id?: string | null }[] = []
    stream.on('response.output_item.done', ({ item }) => void items.push(item))
    const { output } = await stream.finalResponse()
    const types = ['reasoning', 'mcp_call', 'reasoning', 'message', 'mcp_call', 'reasoning', 'message']
    expect(output.map(({ type }) => type)).toEqual(types)
    // Clients keep the items in the order in which they are complete.
    expect(items.map(({ id }) => id)).toEqual(output.map(({ id }) => id))
    expect(output).toEqual(expect.arrayContaining(items.map((item) => expect.objectContaining({ id: item.id }))))
    const contents = (all: readonly object[]) =>
      all.flatMap((item) => ('encrypted_content' in item ? [item.encrypted_content] : []))
    expect(contents(items)).toEqual(contents(output))
    expect(contents(output)).toHaveLength(3)
  })

  test('is returned only if the request asks for it', async () => {
    const { output } = await firstResponse(keptEdge({ script, tools: [clock] }), false, {})
    expect(output.filter(({ type }) => type === 'reasoning')).toEqual([
      { id: expect.any(String), type: 'reasoning', summary: [{ type: 'summary_text', text: 'I need a clock.' }] },
    ])
  })

  test('made by OpenAI is sent to a model of OpenAI, and unknown content does not fail', async () => {
    const edge = keptEdge({ script: [say('One.')] })
    const reasoning = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAAA' }
    const broken = { ...reasoning, encrypted_content: 'edgecall.%' }
    const user = { role: 'user', content: 'Hi' }
    const message = { type: 'message', role: 'assistant', content: 'Hello.' }
    await firstResponse(edge, false, { input: [user, reasoning, message, broken, message, user] as never })
    const item = { type: 'reasoning', summary: [], encrypted_content: 'gAAAA' }
    expect(edge.requests[0]?.messages[1]).toEqual({
      role: 'assistant',
      content: 'Hello.',
      opaque: { codec: 'openai-responses', data: [{ reasoning: item }] },
    })
  })
})

test('the same Idempotency-Key gives the same response', async () => {
  const edge = keptEdge({ script: [say('Once.'), say('Twice.')] })
  const { responses } = clientOf(edge)
  const twice = async (body: object, key: string) => {
    const headers = { 'idempotency-key': key }
    const first = await responses.create(body, { headers })
    expect({ ...(await responses.create(body, { headers })), created_at: 0 }).toEqual({ ...first, created_at: 0 })
    expect(await errorOf(responses.create({ ...body, input: 'Other' }, { headers }))).toMatchObject({ status: 422 })
    return first.id
  }
  const first = await twice({ input: 'Hi' }, 'k1')
  await twice({ input: 'And?', previous_response_id: first }, 'k2')
  expect(edge.requests).toHaveLength(2)
})

describe('bad input gets a clear error', () => {
  const cases: [object, object][] = [
    [
      { input: 'Hi', model: 'test/other' },
      { status: 404, code: 'model_not_found', param: 'model' },
    ],
    [
      { input: 'Hi', truncation: 'disabled' },
      { status: 400, code: 'unsupported_parameter', param: 'truncation' },
    ],
    [
      { input: 'Hi', conversation: 'a/b' },
      { status: 400, code: 'invalid_value', param: 'conversation' },
    ],
    [
      { input: [{ type: 'function_call_output', call_id: `call_${'0'.repeat(22)}_1_0`, output: '' }] },
      { status: 409, code: 'call_already_answered' },
    ],
  ]
  test.each(cases)('%j', async (body, expected) => {
    const edge = keptEdge({ script: [], tools: [clock] })
    expect(await errorOf(clientOf(edge).responses.create(body))).toMatchObject(expected)
    expect(edge.requests).toEqual([])
  })

  test('for a run that fails before the first visible event it is an error status, streamed or not', async () => {
    const failing = [{ type: 'error', error: { code: 'model_unreachable', message: 'No.', retryable: true } }] as const
    const edge = keptEdge({ script: [failing, failing] })
    for (const stream of [false, true]) {
      const error = errorOf(clientOf(edge).responses.create({ input: 'Hi', stream }))
      expect(await error).toMatchObject({ status: 502, code: 'model_unreachable' })
    }
  })
})

test('a response that branches passes the accept hooks once', async () => {
  const ids: string[] = []
  const counts: Hook = { name: 'counts', accept: (run) => (ids.push(run.runId), run) }
  const script = [say('One.'), say('Two.'), say('Other.')]
  const edge = keptEdge({ script, setup: { loop: { hooks: [counts] } } })
  const { responses } = clientOf(edge)
  const first = await responses.create({ input: 'First' })
  await responses.create({ input: 'Second', previous_response_id: first.id })
  const other = await responses.create({ input: 'Other', previous_response_id: first.id })
  expect([other.output_text, ids.length]).toEqual(['Other.', 3])
})

describe('a stored response', () => {
  const plain = (response: object) => JSON.parse(JSON.stringify({ ...response, created_at: 0 })) as object

  test('is returned as it was', async () => {
    const edge = keptEdge({ script: [ask(['clock']), say('Noon.')], tools: [clock] })
    const { responses } = clientOf(edge)
    const response = await responses.create({ input: 'What time is it?' })
    const repeat = await responses.retrieve(response.id)
    expect(plain(repeat)).toEqual(plain(response))
    expect(repeat.output_text).toBe('Noon.')
  })

  test('has no text of a repeated attempt', async () => {
    const twice: Hook = {
      name: 'twice',
      step: async (request, next) => {
        await next(request)
        return next(request)
      },
    }
    const edge = keptEdge({ script: [say('Draft.'), say('Noon.')], setup: { loop: { hooks: [twice] } } })
    const { responses } = clientOf(edge)
    const response = await responses.create({ input: 'What time is it?' })
    const repeat = await responses.retrieve(response.id)
    expect([response.output_text, repeat.output_text]).toEqual(['Noon.', 'Noon.'])
  })

  test('is streamed again from the first event or after a given one', async () => {
    const edge = keptEdge({ script: [ask(['clock']), say('Noon.')], tools: [clock] })
    const { responses } = clientOf(edge)
    const events = async (stream: AsyncIterable<object>) => {
      const list: any[] = []
      for await (const event of stream) list.push('response' in event ? { ...event, response: '' } : event)
      return list
    }
    const { data, response } = await responses.create({ input: 'What time is it?', stream: true }).withResponse()
    const run = response.headers.get('x-run-id')?.slice(4)
    const actual = await events(data)
    const id = `resp_${run}_0_${response.headers.get('x-conversation-id')}`
    expect(await events(await responses.retrieve(id, { stream: true }))).toEqual(actual)
    const rest = await events(await responses.retrieve(id, { stream: true, starting_after: 4 }))
    expect([rest, rest[0].sequence_number]).toEqual([actual.slice(5), 5])
    const wrong = edge.fetch(`/v1/responses/${id}?stream=true&starting_after=x`)
    expect(await (await wrong).json()).toMatchObject({ error: { code: 'invalid_request', param: 'starting_after' } })
  })

  test('ends where it ended, even if its run continued', async () => {
    const script = [ask(['danger', { at: 'dawn' }], ['clock']), say('Done.')]
    const edge = keptEdge({ script, tools: [danger, clock] })
    const { responses } = clientOf(edge)
    const first = await responses.create({ input: 'Go' })
    const request = first.output.find(({ type }) => type === 'mcp_approval_request')
    const input = [{ type: 'mcp_approval_response', approval_request_id: request?.id ?? '', approve: true } as const]
    const second = await responses.create({ input, previous_response_id: first.id })
    const [one, two] = [await responses.retrieve(first.id), await responses.retrieve(second.id)]
    expect([one.output, two.output]).toEqual([first.output, second.output])
    expect([one.usage, two.usage]).toEqual([first.usage, second.usage])
    expect(two.output[0]).toMatchObject({ approval_request_id: request?.id, arguments: '{"at":"dawn"}' })
  })

  test('is returned as it stands while in progress', async () => {
    const { slow, start, letGo } = gatedTool()
    const edge = keptEdge({ script: [ask(['slow']), say('Done.')], tools: [slow] })
    const { responses } = clientOf(edge)
    const { data } = await responses.create({ input: 'Go', stream: true }).withResponse()
    let id = ''
    for await (const event of data) {
      if (event.type === 'response.created') id = event.response.id
      break
    }
    await start
    expect(await responses.retrieve(id)).toMatchObject({
      status: 'in_progress',
      model: 'test/scripted',
      output: [{ type: 'mcp_call', name: 'slow', status: 'in_progress' }],
    })
    letGo()
    await edge.settle()
    expect(await responses.retrieve(id)).toMatchObject({ status: 'completed', output: [{ output: 'so' }, {}] })
  })

  test('that is cancelled while in progress has the status cancelled, and a complete one stays as it is', async () => {
    const { slow, start } = gatedTool()
    const edge = keptEdge({ script: [ask(['slow']), say('Done.')], tools: [slow] })
    const { responses } = clientOf(edge)
    const { data } = await responses.create({ input: 'Go', stream: true }).withResponse()
    const events = data[Symbol.asyncIterator]()
    const { value } = await events.next()
    const id = value?.type === 'response.created' ? value.response.id : ''
    await start
    expect(await responses.cancel(id)).toMatchObject({ id, status: 'cancelled', error: { edgecall: 'run_cancelled' } })
    expect(await responses.cancel(id)).toMatchObject({ id, status: 'cancelled' })
    expect(await responses.retrieve(id)).toMatchObject({ id, status: 'cancelled' })
    const complete = await responses.create({ input: 'Go on' })
    expect(await responses.cancel(complete.id)).toMatchObject({ status: 'completed', output: complete.output })
    expect(await errorOf(responses.cancel('resp_none'))).toMatchObject({ status: 404, code: 'response_not_found' })
  })

  test('that failed has the status failed', async () => {
    const error = { code: 'model_unavailable', message: 'Down.', retryable: false } as const
    const edge = keptEdge({ script: [ask(['clock']), [{ type: 'error', error }]], tools: [clock] })
    const { responses } = clientOf(edge)
    const answer = await edge.post('/v1/responses', { input: 'Go' })
    expect(answer.status).toBe(502)
    const id = `resp_${answer.headers.get('x-run-id')?.slice(4)}_0_${answer.headers.get('x-conversation-id')}`
    expect(await responses.retrieve(id)).toMatchObject({ id, status: 'failed', error: { message: 'Down.' } })
  })

  test('does not exist if it was not stored', async () => {
    const edge = keptEdge({ script: [say('One.')] })
    const { responses } = clientOf(edge)
    const loose = await responses.create({ input: 'Go', store: false })
    const none = { status: 404, code: 'response_not_found', param: null }
    const others = ['resp_none', `resp_${'a'.repeat(22)}_0_conv_none`]
    for (const id of [loose.id, ...others]) expect(await errorOf(responses.retrieve(id))).toEqual(none)
  })
})

test('a request for other handling of long contexts is refused, and how they are handled is told', async () => {
  const edge = keptEdge({ script: [say('One.'), say('Two.')] })
  const ask = async (members: object) => {
    const response = await edge.post('/v1/responses', { input: 'Hi', store: false, ...members })
    return [response.status, await response.json()]
  }
  expect(await ask({})).toMatchObject([200, { truncation: 'auto' }])
  expect(await ask({ truncation: 'auto' })).toMatchObject([200, { truncation: 'auto' }])
  for (const members of [{ truncation: 'disabled' }, { truncation: 'middle' }])
    expect(await ask(members)).toMatchObject([
      400,
      { error: { code: 'unsupported_parameter', param: Object.keys(members)[0] } },
    ])
})
