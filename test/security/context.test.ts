import { expect, test } from 'vitest'
import { ask, say, tool } from '../fixtures/play.ts'
import { controlledEdge } from './controlled-edge.ts'

const KEY = 'acme: chat tools:read'

test('a request cannot override the fields of the tool context that the edge pins, whichever way it calls', async () => {
  const inputs: unknown[] = []
  const look = tool('look', (_, { values }) => void inputs.push(values))
  const { as } = controlledEdge({
    workers: { TOOL_LOOK: [look] },
    keys: [KEY],
    script: [ask(['look']), say('a'), ask(['look']), say('b')],
    vars: { TOOL_CONTEXT: { 'region!': 'eu', plan: 'free' } },
  })
  const context = { region: 'us', 'region!': 'us', plan: 'gold' }
  await as(KEY)('/runs', { json: { input: 'Hi', context } })
  await as(KEY)('/conversations', { json: { id: 'c', context } })
  await as(KEY)('/conversations/c/runs', { json: { input: 'Hi' } })
  await as(KEY)('/tools/look/call', { json: { arguments: {}, context } })
  const params = { name: 'look', arguments: {}, _meta: context }
  await as(KEY)('/mcp', { json: { jsonrpc: '2.0', id: 1, method: 'tools/call', params } })
  expect(inputs).toEqual(Array.from({ length: 4 }, () => ({ region: 'eu', 'region!': 'us', plan: 'gold' })))
})
