import { describe, expect, test } from 'vitest'
import { say } from '../fixtures/play.ts'
import { keptEdge, type KeptEdge } from './kept-edge.ts'

const LOST = Object.assign(new Error('Network connection lost.'), { retryable: true, remote: true })
const OVERLOADED = Object.assign(new Error('Too many requests queued.'), {
  overloaded: true,
  retryable: true,
  remote: true,
})

/** An edge with the conversation "c", whose object fails in this way: `after` it did what it was asked, or before. */
async function failing(method: string, error: Error, { times = 1, after = false } = {}) {
  const edge = keptEdge({ script: [say('One.'), say('Two.')] })
  await edge.post('/conversations', { id: 'c' })
  const object = [...edge.objects.values()][0] as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
  const calls = { count: 0 }
  const original = object[method]!.bind(object)
  object[method] = async (...args) => {
    calls.count += 1
    const isFailing = calls.count <= times
    if (isFailing && !after) throw error
    const result = await original(...args)
    if (isFailing) throw error
    return result
  }
  return { edge, calls }
}

const runsOf = async (edge: KeptEdge) => (await edge.fetch('/conversations/c/runs')).json<any[]>()

describe('an object that is overloaded', () => {
  test.each([
    ['start', '/conversations/c/runs', { input: 'Hi' }],
    ['create', '/conversations', { id: 'c' }],
  ])('at %s is a 503 with Retry-After, and is not retried', async (method, path, body) => {
    const { edge, calls } = await failing(method, OVERLOADED, { times: 9 })
    const response = await edge.post(path, body)
    expect([response.status, response.headers.get('retry-after'), response.headers.get('x-should-retry')]).toEqual([
      503,
      '5',
      'true',
    ])
    expect([await response.json<any>(), calls.count]).toMatchObject([{ code: 'conversation_overloaded' }, 1])
  })

  test('is an error in the format of OpenAI on its surfaces', async () => {
    const { edge } = await failing('start', OVERLOADED, { times: 9 })
    const body = { messages: [{ role: 'user', content: 'Hi' }] }
    const response = await edge.post('/v1/chat/completions', body, { 'x-conversation-id': 'c' })
    expect([response.status, await response.json()]).toMatchObject([
      503,
      { error: { code: 'conversation_overloaded' } },
    ])
  })
})

describe('an object that is lost', () => {
  test.each([
    ['before it accepted a message', false],
    ['after it accepted a message', true],
  ])('receives %s once in the end, with or without an Idempotency-Key', async (_, after) => {
    for (const headers of [{}, { 'idempotency-key': 'k' }] as Record<string, string>[]) {
      const { edge } = await failing('start', LOST, { after, times: 2 })
      const response = await edge.post('/conversations/c/runs', { input: 'Hi' }, headers)
      expect([response.status, await response.json()]).toMatchObject([200, { answer: 'One.' }])
      expect(await runsOf(edge)).toHaveLength(1)
    }
  })

  test('after a message has joined a run receives it once', async () => {
    const { edge } = await failing('start', LOST, { after: true })
    await edge.post('/conversations/c/runs', { input: 'Hi', onBusy: 'steer' })
    expect(await runsOf(edge)).toHaveLength(1)
  })

  test.each(['record', 'events', 'runs', 'messages', 'usage'])('at %s is asked again', async (method) => {
    const { edge } = await failing(method, LOST, { times: 2 })
    const { id } = await (await edge.post('/conversations/c/runs', { input: 'Hi' })).json<any>()
    const paths: Record<string, string> = { record: `runs/${id}`, events: `runs/${id}/events` }
    expect((await edge.fetch(`/conversations/c/${paths[method] ?? method}`)).status).toBe(200)
  })

  test('repeatedly is a 503 after three requests', async () => {
    const { edge, calls } = await failing('messages', LOST, { times: 99 })
    const response = await edge.fetch('/conversations/c/messages')
    expect([response.status, await response.json(), calls.count]).toMatchObject([503, { code: 'conversation_lost' }, 3])
  })

  test('at an answer to a call is not asked again, and the caller is told not to repeat it blindly', async () => {
    const { edge, calls } = await failing('answer', LOST, { times: 99 })
    const { id } = await (await edge.post('/conversations/c/runs', { input: 'Hi' })).json<any>()
    const response = await edge.post(`/conversations/c/runs/${id}/calls/call_1`, { decision: 'approve' })
    expect([response.status, response.headers.get('x-should-retry'), calls.count]).toEqual([503, 'false', 1])
  })

  test('whose tables cannot be read is told apart, and not asked again', async () => {
    const { edge, calls } = await failing('messages', new Error('no such table: messages: SQLITE_ERROR'), { times: 99 })
    const response = await edge.fetch('/conversations/c/messages')
    expect([response.status, await response.json(), calls.count]).toMatchObject([
      500,
      { code: 'conversation_damaged' },
      1,
    ])
    expect(response.headers.get('x-should-retry')).toBe('false')
  })

  test('because of an error in its own code is an internal error', async () => {
    const { edge, calls } = await failing('messages', Object.assign(new Error('a bug'), { remote: true }), {
      times: 99,
    })
    const response = await edge.fetch('/conversations/c/messages')
    expect([response.status, calls.count]).toEqual([500, 1])
  })
})
