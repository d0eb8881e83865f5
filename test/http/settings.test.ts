import { expect, test } from 'vitest'
import { say, tool } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'

test('what a conversation was made with holds on every surface, and a request wins over it', async () => {
  const edge = keptEdge({ script: [say('a'), say('b'), say('c')], tools: [tool('clock'), tool('alarm')] })
  await edge.post('/conversations', { id: 'c', system: 'Be brief.', tools: ['clock'], context: { a: 1 } })
  const chat = { messages: [{ role: 'user', content: 'Hello' }] }
  await edge.post('/v1/chat/completions', chat, { 'x-conversation-id': 'c' })
  await edge.post('/conversations/c/runs', { input: 'Hello', system: 'Be long.' })
  await edge.post('/v1/chat/completions', { ...chat, edgecall: { conversation: 'c', tools: ['alarm'] } })
  const told = edge.requests.map(({ messages, tools }) => [messages[0]?.content, tools.map(({ name }) => name)])
  expect(told).toEqual([
    ['Be brief.', ['clock']],
    ['Be long.', ['clock']],
    ['Be brief.', ['alarm']],
  ])
})
