import { describe, expect, test, vi } from 'vitest'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { keptEdge } from '../http/kept-edge.ts'

const guesser = bearer('guesser')
const other = bearer('other')

/** The paths that ask for a conversation, a run or a response. */
const PATHS: readonly ((id: string) => string)[] = [
  (id) => `/conversations/${id}/runs`,
  (id) => `/conversations/${id}/messages`,
  (id) => `/conversations/${id}/usage`,
  (id) => `/conversations/${id}/export`,
  (id) => `/conversations/${id}/runs/run_x`,
  (id) => `/conversations/${id}/runs/run_x/events`,
  (id) => `/chat/${id}/stream`,
  (id) => `/v1/responses/resp_${id}`,
]

describe('asking for conversations that do not exist', () => {
  test('does not count those that are created by the same request', async () => {
    const script = Array.from({ length: 120 }, () => say('Hi.'))
    const edge = keptEdge({ vars: withKeys(apiKey('guesser')), script })
    const json = { messages: [{ role: 'user', content: 'Hi' }] }
    const statuses = new Set<number>()
    for (let chat = 0; chat < 120; chat++) {
      const headers = { ...guesser, 'x-conversation-id': `chat${chat}` }
      statuses.add((await edge.post('/v1/chat/completions', json, headers)).status)
    }
    expect([...statuses]).toEqual([200])
  })

  test('does not count results of calls whose run was not stored, and starts no object for them', async () => {
    const parameters = { type: 'object', properties: {} }
    const tools = [{ type: 'function', function: { name: 'add', parameters } }]
    for (const terms of [{ tools, edgecall: { tools: [] } }, { edgecall: { execution: 'caller' } }]) {
      const script = Array.from({ length: 121 }, () => ask(['add']))
      const edge = keptEdge({ vars: withKeys(apiKey('guesser')), script, tools: [tool('add')] })
      const statuses = new Set<number>()
      const messages: object[] = [{ role: 'user', content: 'Add on.' }]
      for (let step = 0; step < 121; step++) {
        const response = await edge.post('/v1/chat/completions', { messages, ...terms }, guesser)
        statuses.add(response.status)
        if (!response.ok) break
        const { choices }: any = await response.json()
        const { message } = choices[0]
        messages.push(message, { role: 'tool', tool_call_id: message.tool_calls[0].id, content: '3' })
      }
      expect([[...statuses], edge.objects.size]).toEqual([[200], 0])
    }
  })

  test('starts at most 100 objects in a minute for a key, by any route, and takes nothing from other keys', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const edge = keptEdge({ vars: withKeys(apiKey('guesser'), apiKey('other')), script: [say('Hi.')] })
    await edge.post('/conversations', { id: 'mine' }, guesser)
    expect(edge.objects.size).toBe(1)
    const statuses = new Map<number, number>()
    for (let guess = 0; guess < 2000; guess++) {
      const path = PATHS[guess % PATHS.length]?.(`guess${guess}`) ?? ''
      const { status, headers } = await edge.fetch(path, { headers: guesser })
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (status === 429) expect(headers.get('retry-after')).toBe('60')
    }
    expect(edge.objects.size).toBeLessThanOrEqual(101)
    expect(statuses.get(429)).toBeGreaterThan(1500)
    const refusal = await edge.fetch('/conversations/guess/runs', { headers: guesser })
    expect([refusal.status, await refusal.json()]).toMatchObject([429, { code: 'too_many_unknown', limit: 100 }])

    // A conversation that exists is answered, and other keys are not affected.
    expect((await edge.fetch('/conversations/mine/runs', { headers: guesser })).status).toBe(200)
    expect((await edge.fetch('/conversations/guess/runs', { headers: other })).status).toBe(404)
    vi.setSystemTime(Date.now() + 60_000)
    expect((await edge.fetch('/conversations/guess/runs', { headers: guesser })).status).toBe(404)
    vi.useRealTimers()
  })
})
