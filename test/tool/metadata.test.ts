import * as v from 'valibot'
import { expect, test } from 'vitest'
import type { Hook } from '../../src/contract/hook.ts'
import { content, defineTool, withMetadata } from '../../src/tool.ts'
import { carried, native } from '../conformance/scene.ts'
import { ask, say } from '../fixtures/play.ts'
import { testEdge } from '../fixtures/edge.ts'

function booking(value: unknown, metadata: object, name = 'book') {
  return defineTool({ name, description: 'Books', input: v.object({}), run: () => withMetadata(value, metadata) })
}

test('metadata of a result reaches hooks and the caller, and never the model', async () => {
  const inputs: unknown[] = []
  const hook: Hook = {
    name: 'watch',
    call: async (request, next) => {
      const outcome = await next(request)
      inputs.push(outcome.ok && outcome.metadata)
      return outcome
    },
  }
  const tools = await carried(
    booking({ room: 7 }, { id: 'B-7', at: new Date(0) }),
    booking(content('Done'), {}, 'other'),
  )
  const scene = { script: [ask(['book'], ['other']), say('ok')], tools, setup: { loop: { hooks: [hook] } } }
  const { json, requests } = await native(scene)
  const metadata = { id: 'B-7', at: '1970-01-01T00:00:00.000Z' }
  expect(json.calls).toMatchObject([
    { tool: 'book', structured: { room: 7 }, metadata },
    { tool: 'other', content: [{ type: 'text', text: 'Done' }], metadata: {} },
  ])
  expect(inputs).toEqual(expect.arrayContaining([metadata, {}]))
  expect(JSON.stringify(requests)).not.toContain('B-7')
})

test('metadata of a result is in the answer of a call by hand, and `_meta` over MCP', async () => {
  const tools = await carried(booking('Booked.', { id: 'B-7' }))
  const edge = testEdge({ tools })
  const outcome = await (await edge.ask('/tools/book/call', { json: { arguments: {} } })).json()
  expect(outcome).toMatchObject({ ok: true, metadata: { id: 'B-7' } })
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'book', arguments: {} } }
  const headers = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' }
  const text = await (await edge.ask('/mcp', { json: message, headers })).text()
  expect(text).toContain('"_meta":{"id":"B-7"}')
})

test('metadata that is larger than a result may be is left out', async () => {
  const tools = await carried(booking('Booked.', { id: 'x'.repeat(200) }))
  const scene = { script: [ask(['book']), say('ok')], tools, body: { limits: { resultBytes: 100 } } }
  const { json } = await native(scene)
  expect(json.calls[0]).toMatchObject({ ok: true, content: [{ type: 'text', text: 'Booked.' }] })
  expect(json.calls[0]).not.toHaveProperty('metadata')
})

test('metadata that has no JSON form is a failure of the call', async () => {
  const tools = await carried(booking('Booked.', { run: () => 1 }))
  const { json } = await native({ script: [ask(['book']), say('ok')], tools })
  expect(json.calls[0]).toMatchObject({ ok: false, error: { code: 'unserialisable' } })
})
