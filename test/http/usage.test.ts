import { expect, test } from 'vitest'
import { ask, say, tool } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'

const content = [{ type: 'text', text: 'Asked.' }]
const agent = tool('agent', () => ({ ok: true, content, usage: { inputTokens: 100, outputTokens: 50 } }))

test('the usage of an answer includes models in tools and the summary of the history', async () => {
  const turns = Array.from({ length: 12 }, (_, turn) => say(`Answer ${turn}`))
  const edge = keptEdge({ script: [...turns, say('Notes.'), ask(['agent']), say('Done.')], tools: [agent] })
  await edge.post('/conversations', { id: 'c', window: { messages: 1, summary: true } })
  for (const turn of turns.keys()) await edge.post('/conversations/c/runs', { input: `Question ${turn}` })
  const response = await edge.post('/v1/responses', { conversation: 'c', input: 'And?' })
  const { usage, edgecall } = await response.json<any>()
  const { usage: used } = await (await edge.fetch(`/conversations/c/runs/${edgecall.runId}`)).json<any>()
  expect(used).toEqual({ inputTokens: 130, outputTokens: 65 })
  expect(usage).toMatchObject({ input_tokens: 130, output_tokens: 65 })
})
