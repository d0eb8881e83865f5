import { describe, expect, test, vi } from 'vitest'
import type { ModelEvent } from '../../src/contract/model.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { type KeptEdge, keptEdge } from './kept-edge.ts'

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

describe('a chat completion that handed calls out', () => {
  test('is the same again for its Idempotency-Key, also when its run has gone on since', async () => {
    const edge = keptEdge({ script: [ask(['clock'], ['pick']), say('Done.')], tools: [clock] })
    const headers = { 'idempotency-key': 'once' }
    const { first, messages } = await handed(edge, headers)
    const second = await (await edge.post(CHAT, { messages, tools })).json<any>()
    expect(second.choices[0].message.content).toBe('Done.')
    const { first: again } = await handed(edge, headers)
    expect({ ...again, created: 0 }).toEqual({ ...first, created: 0 })
  })

  test('and goes on to fail is not sent again by SDKs: its results are taken', async () => {
    const edge = keptEdge({ script: [ask(['clock'], ['pick']), failing], tools: [clock] })
    const { messages } = await handed(edge)
    const response = await edge.post(CHAT, { messages, tools })
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([502, 'false'])
  })

  test('takes their results once: SDKs do not send them again and again', async () => {
    const edge = keptEdge({ script: [ask(['clock'], ['pick']), say('Done.')], tools: [clock] })
    const { messages } = await handed(edge)
    await edge.post(CHAT, { messages, tools })
    const response = await edge.post(CHAT, { messages, tools })
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([409, 'false'])
  })
})

describe('results that come with the next message', () => {
  const next = { role: 'user', content: 'And?' }

  test('are history where no run waits for them', async () => {
    const edge = keptEdge({ script: [ask(['pick']), say('Done.')] })
    const { messages } = await handed(edge)
    const response = await edge.post(CHAT, { messages: [...messages, next], tools })
    expect(response.status).toBe(200)
    expect(edge.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
  })

  test('are left out of a conversation whose run was cancelled meanwhile', async () => {
    const edge = keptEdge({ script: [ask(['pick']), say('Done.')] })
    const headers = { 'x-conversation-id': 'c' }
    const { first, messages } = await handed(edge, headers)
    await edge.post(`/conversations/c/runs/${first.edgecall.runId}/cancel`, {})
    const response = await edge.post(CHAT, { messages: [...messages, next], tools }, headers)
    expect(response.status).toBe(200)
    expect(edge.requests[1]?.messages.at(-1)).toEqual(next)
  })

  test.each([{}, { 'x-conversation-id': 'c' }])(
    'are refused where a run waits: its answer comes first (%j)',
    async (headers) => {
      const edge = keptEdge({ script: [ask(['clock'], ['pick'])], tools: [clock] })
      const { messages } = await handed(edge, headers)
      const response = await edge.post(CHAT, { messages: [...messages, next], tools }, headers)
      expect([response.status, (await response.json<any>()).error.code]).toEqual([400, 'unknown_call'])
    },
  )
})

test('a run whose events break off after a tool call is not begun again by SDKs', async () => {
  const edge = keptEdge({ script: [ask(['clock']), say('Done.')], tools: [clock] })
  await edge.post('/conversations', { id: 'c' })
  const object = edge.objects.get('v1/local/c')!
  const events = object.events.bind(object)
  vi.spyOn(object, 'events').mockImplementation(async (run, after) => {
    const reply = await events(run, after)
    return reply.ok ? { ...reply, stream: brokenAfter(after === 0 ? 'call.started' : undefined, reply.stream) } : reply
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
