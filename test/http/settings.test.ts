import { expect, test } from 'vitest'
import type { ModelEvent } from '../../src/contract/model.ts'
import { say, tool } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'

test('the settings of a conversation hold on every surface, and a request overrides them', async () => {
  const edge = keptEdge({ script: [say('a'), say('b'), say('c'), say('d')], tools: [tool('clock'), tool('alarm')] })
  await edge.post('/conversations', { id: 'c', system: 'Be brief.', tools: ['clock'], context: { a: 1 } })
  const chat = { messages: [{ role: 'user', content: 'Hello' }] }
  await edge.post('/v1/chat/completions', chat, { 'x-conversation-id': 'c' })
  await edge.post('/conversations/c/runs', { input: 'Hello', system: 'Be long.' })
  await edge.post('/v1/chat/completions', { ...chat, edgecall: { conversation: 'c', tools: ['alarm'] } })
  await edge.post('/v1/responses', { input: 'Hello', conversation: 'c' })
  const actual = edge.requests.map(({ messages, tools }) => [messages[0]?.content, tools.map(({ name }) => name)])
  expect(actual).toEqual([
    ['Be brief.', ['clock']],
    ['Be long.', ['clock']],
    ['Be brief.', ['alarm']],
    ['Be brief.', ['clock']],
  ])
})

test('a run that fails before the first visible event gives an error status, even after a summary was made for it', async () => {
  const error = { code: 'model_rate_limited', message: 'Slow down.', retryable: true, retryAfterMs: 2000 }
  const failing: ModelEvent[] = [{ type: 'error', error }]
  const turns = Array.from({ length: 12 }, (_, turn) => say(`Answer ${turn}`))
  const edge = keptEdge({ script: [...turns, say('Notes.'), failing] })
  await edge.post('/conversations', { id: 'c', window: { messages: 1, summary: true } })
  for (const turn of turns.keys()) await edge.post('/conversations/c/runs', { input: `Question ${turn}` })
  const chat = { messages: [{ role: 'user', content: 'And?' }], stream: true }
  const { status, headers } = await edge.post('/v1/chat/completions', chat, { 'x-conversation-id': 'c' })
  expect([status, headers.get('retry-after')]).toEqual([429, '2'])
  expect(edge.requests).toHaveLength(14)
})
