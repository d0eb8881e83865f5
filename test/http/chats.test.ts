import { describe, expect, test } from 'vitest'
import { gatedTool } from '../fixtures/gated.ts'
import { ask, say, sayInTwo, tool } from '../fixtures/play.ts'
import { dataOf, type KeptEdge, keptEdge } from './kept-edge.ts'

const clock = tool('clock', () => '12:00')
const danger = tool('danger', () => 'boom', { approval: 'always' })
const pick = { name: 'pick', description: 'Picks', inputSchema: { type: 'object' } }

type Chunk = { readonly type: string } & Readonly<Record<string, any>>

async function chunksOf(response: Response): Promise<Chunk[]> {
  const text = await response.text()
  expect({ status: response.status, text: response.ok ? '' : text }).toEqual({ status: 200, text: '' })
  return dataOf(text) as Chunk[]
}

const typesOf = (chunks: readonly Chunk[]) => chunks.map((chunk) => chunk.type ?? chunk)

/** What the model was shown last: roles, and the texts of results. */
function lastShown(edge: KeptEdge): unknown[] {
  const { messages } = edge.requests.at(-1)!
  return messages.map(({ role, content }) => [role, typeof content === 'string' ? content : JSON.stringify(content)])
}

async function problemOf(response: Response): Promise<object> {
  const { status, code } = (await response.json()) as { status: number; code: string }
  return { status, code }
}

describe('a chat of useChat', () => {
  const user = (text: string) => ({ id: 'm', role: 'user', parts: [{ type: 'text', text }] })
  const post = (edge: KeptEdge, messages: object[], rest: object = {}) =>
    edge.post('/chat', { id: 'chat-1', trigger: 'submit-message', messages, ...rest })

  test('is a conversation that is created for it and receives only new messages', async () => {
    const edge = keptEdge({ script: [ask(['clock']), say('Noon.'), say('Yes.')], tools: [clock] })
    const response = await post(edge, [user('What time is it?')])
    expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1')
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    const chunks = await chunksOf(response)
    expect(typesOf(chunks)).toEqual([
      'start',
      'start-step',
      'tool-input-available',
      'tool-output-available',
      'finish-step',
      'start-step',
      'text-start',
      'text-delta',
      'text-end',
      'finish-step',
      'finish',
      '[DONE]',
    ])
    expect(chunks[0]?.['messageId']).toBe(response.headers.get('x-run-id'))
    expect(await (await edge.fetch('/conversations')).json()).toEqual([{ id: 'chat-1' }])
    const answer = { id: 'a', role: 'assistant', parts: [{ type: 'text', text: 'Noon.' }] }
    await chunksOf(await post(edge, [user('What time is it?'), answer, user('Sure?')]))
    expect(lastShown(edge).map((message) => (message as string[])[0])).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
    ])
  })

  test('answers approvals and calls, and continues in the same message', async () => {
    const edge = keptEdge({ script: [ask(['danger'], ['pick']), say('Done.')], tools: [danger] })
    const edgecall = { clientTools: [pick] }
    const first = await chunksOf(await post(edge, [user('Go')], { edgecall }))
    expect(typesOf(first).slice(2, 7)).toEqual([
      'tool-input-start',
      'tool-input-start',
      'tool-input-available',
      'tool-approval-request',
      'tool-input-available',
    ])
    const { approvalId } = first[5]!
    const { toolCallId, messageId } = { ...first[0], ...first[6] } as Chunk
    const approved = {
      type: 'tool-danger',
      toolCallId: approvalId,
      state: 'approval-responded',
      input: {},
      approval: { id: approvalId, approved: true },
    }
    const picked = { type: 'tool-pick', toolCallId, state: 'output-available', input: {}, output: 'left' }
    const answer = { id: messageId, role: 'assistant', parts: [{ type: 'step-start' }, approved, picked] }
    const second = await chunksOf(await post(edge, [user('Go'), answer], { messageId, edgecall }))
    expect(second[0]).toMatchObject({ type: 'start', messageId })
    expect(typesOf(second).slice(1, 3)).toEqual(['tool-output-available', 'start-step'])
    expect(lastShown(edge).slice(-2)).toEqual([
      ['tool', '[{"type":"text","text":"boom"}]'],
      ['tool', '[{"type":"text","text":"left"}]'],
    ])
    const lateResponse = await post(edge, [user('Go'), answer], { messageId })
    expect(await problemOf(lateResponse)).toEqual({ status: 409, code: 'call_already_answered' })
  })

  test('asks again for the answers that are still missing', async () => {
    const edge = keptEdge({ script: [ask(['danger'], ['pick']), say('Done.')], tools: [danger] })
    const first = await chunksOf(await post(edge, [user('Go')], { edgecall: { clientTools: [pick] } }))
    const { toolCallId } = first[6]!
    const parts = [{ type: 'tool-pick', toolCallId, state: 'output-available', input: {}, output: 'left' }]
    const second = await chunksOf(await post(edge, [user('Go'), { id: 'a', role: 'assistant', parts }]))
    expect(typesOf(second)).toEqual(['start', 'tool-approval-request', 'finish', '[DONE]'])
  })

  test('whose answer is in progress is streamed again from its start, and any other gives 204', async () => {
    const { slow, start, letGo } = gatedTool()
    const edge = keptEdge({ script: [ask(['slow']), say('Done.')], tools: [slow] })
    const first = post(edge, [user('Go')])
    await start
    const repeat = edge.fetch('/chat/chat-1/stream')
    const other = await edge.fetch('/chat/chat-2/stream')
    expect(other.status).toBe(204)
    letGo()
    expect(await chunksOf(await repeat)).toEqual(await chunksOf(await first))
    expect((await edge.fetch('/chat/chat-1/stream')).status).toBe(204)
  })

  test('regenerates an answer in place of the old one', async () => {
    const edge = keptEdge({ script: [say('One.'), say('Two.'), say('Three.')] })
    const [start] = await chunksOf(await post(edge, [user('Go')]))
    const repeat = { trigger: 'regenerate-message', messageId: start!['messageId'] }
    const second = await chunksOf(await post(edge, [user('Go')], repeat))
    expect(second.find((chunk) => chunk.type === 'text-delta')).toMatchObject({ delta: 'Two.' })
    await chunksOf(await post(edge, [user('Go')], { trigger: 'regenerate-message' }))
    expect(edge.requests.map(({ messages }) => messages)).toEqual([
      edge.requests[0]!.messages,
      edge.requests[0]!.messages,
      edge.requests[0]!.messages,
    ])
  })

  test('that is malformed, or fails before the first visible event, gives an error response', async () => {
    const failing = [{ type: 'error', error: { code: 'model_unreachable', message: 'No.', retryable: true } }] as const
    const edge = keptEdge({ script: [failing] })
    expect(await problemOf(await post(edge, []))).toEqual({ status: 400, code: 'invalid_request' })
    expect(await problemOf(await post(edge, [user('Hi')]))).toEqual({ status: 502, code: 'model_unreachable' })
  })
})

describe('a thread of AG-UI', () => {
  const post = (edge: KeptEdge, messages: object[], rest: object = {}) =>
    edge.post('/ag-ui', {
      threadId: 'thread-1',
      runId: 'run-1',
      protocolVersion: '1.0',
      state: {},
      messages,
      tools: [{ ...pick, parameters: pick.inputSchema }],
      context: [],
      forwardedProps: {},
      ...rest,
    })
  const user = (content: string) => ({ id: 'u', role: 'user', content })

  test('is a conversation', async () => {
    const edge = keptEdge({ script: [ask(['clock']), say('Noon.')], tools: [clock] })
    const events = await chunksOf(await post(edge, [user('What time is it?')]))
    expect(typesOf(events)).toEqual([
      'RUN_STARTED',
      'STEP_STARTED',
      'TOOL_CALL_START',
      'TOOL_CALL_ARGS',
      'TOOL_CALL_END',
      'TOOL_CALL_RESULT',
      'STEP_FINISHED',
      'STEP_STARTED',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'STEP_FINISHED',
      'RUN_FINISHED',
    ])
    expect(events.at(-1)).toMatchObject({ threadId: 'thread-1', runId: 'run-1', outcome: { type: 'success' } })
    expect(await (await edge.fetch('/conversations')).json()).toEqual([{ id: 'thread-1' }])
  })

  test('continues with results, then with decisions, each in its own protocol run', async () => {
    const edge = keptEdge({ script: [ask(['danger'], ['pick']), say('Done.')], tools: [danger] })
    const first = await chunksOf(await post(edge, [user('Go')]))
    const { interrupts } = first.at(-1)!['outcome']
    const [, request] = first.filter((event) => event.type === 'TOOL_CALL_START')
    const history = [user('Go'), { id: 'a', role: 'assistant', toolCalls: [] }]
    const result = { id: 't', role: 'tool', toolCallId: request!['toolCallId'], content: 'left' }
    const second = await chunksOf(await post(edge, [...history, result], { runId: 'run-2' }))
    expect(typesOf(second)).toEqual(['RUN_STARTED', 'RUN_FINISHED'])
    expect(second.at(-1)).toMatchObject({ runId: 'run-2', outcome: { type: 'interrupt', interrupts } })
    const resume = [{ interruptId: interrupts[0].id, status: 'resolved', payload: { approved: true } }]
    // The result is sent once more, as clients do: it is among the messages.
    const third = await chunksOf(await post(edge, [...history, result], { runId: 'run-3', resume }))
    expect(typesOf(third).slice(0, 3)).toEqual(['RUN_STARTED', 'TOOL_CALL_RESULT', 'STEP_STARTED'])
    expect(third.at(-1)).toMatchObject({ runId: 'run-3', outcome: { type: 'success' } })
  })

  test('does not take results of the edge’s own calls as answers', async () => {
    const failing = [{ type: 'error', error: { code: 'model_failed', message: 'No.', retryable: false } }] as const
    const edge = keptEdge({ script: [ask(['clock']), failing, say('Again.')], tools: [clock] })
    const first = await chunksOf(await post(edge, [user('What time is it?')]))
    const { toolCallId } = first.find((event) => event.type === 'TOOL_CALL_RESULT')!
    const history = [
      user('What time is it?'),
      { id: 'a', role: 'assistant', toolCalls: [] },
      { id: 't', role: 'tool', toolCallId, content: '12:00' },
      user('Once more'),
    ]
    const second = await chunksOf(await post(edge, history, { runId: 'run-2' }))
    expect(second.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
    expect(lastShown(edge).at(-1)).toEqual(['user', 'Once more'])
  })

  test('applies answers before the messages that follow them', async () => {
    const edge = keptEdge({ script: [ask(['pick']), say('Done.')] })
    const first = await chunksOf(await post(edge, [user('Go')]))
    const [toolCallId] = first.at(-1)!['outcome'].pendingToolCallIds
    const history = [user('Go'), { id: 'a', role: 'assistant' }, { id: 't', role: 'tool', toolCallId, content: 'left' }]
    const chunks = await chunksOf(await post(edge, [...history, user('And?')]))
    expect(chunks.flatMap(({ delta }) => delta ?? [])).toEqual(['Done.'])
    expect(edge.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
  })
})

test.each(['ui-message', 'ag-ui'])(
  'a reader that joins in the middle of a text receives the rest of it once: %s',
  async (format) => {
    const gate = Promise.withResolvers<void>()
    const edge = keptEdge({ script: [sayInTwo('One, ', gate.promise, 'two.'), say('Three.')] })
    await edge.post('/conversations', { id: 'c' })
    const first = await edge.post('/conversations/c/runs', { input: 'Count' }, { accept: 'text/event-stream' })
    const reader = first.body!.pipeThrough(new TextDecoderStream()).getReader()
    for (let read = ''; !read.includes('One, ');) read += (await reader.read()).value ?? ''
    const joined = await edge.post(`/conversations/c/runs?format=${format}`, { input: 'And?', onBusy: 'steer' })
    expect(joined.headers.get('x-run-joined')).toBe('true')
    gate.resolve()
    const deltas = (await chunksOf(joined)).flatMap(({ delta }) => delta ?? [])
    expect(deltas).toEqual(['two.', 'Three.'])
    await reader.cancel()
  },
)

test.each([
  ['ui-message', { type: 'error', errorText: 'Slow down.' }],
  ['ag-ui', { type: 'RUN_ERROR', message: 'Slow down.', code: 'model_rate_limited' }],
])('a replayed failed run is shown as failed: %s', async (format, failure) => {
  const error = { code: 'model_rate_limited', message: 'Slow down.', retryable: true }
  const edge = keptEdge({ script: [[{ type: 'error', error }]] })
  await edge.post('/conversations', { id: 'c' })
  const failed = await edge.post(`/conversations/c/runs?format=${format}`, { input: 'Hello' })
  const { status, runId } = await failed.json<any>()
  expect(status).toBe(429)
  const actual = await edge.fetch(`/conversations/c/runs/${runId}/events?format=${format}`)
  expect(await chunksOf(actual)).toContainEqual(failure)
})
