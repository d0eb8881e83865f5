import { expect, test } from 'vitest'
import type { ModelRequest } from '../../src/contract/model.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'

const CHAT = '/v1/chat/completions'

test('a result that is sent while an approval is open is accepted, and the answer lists what the run still waits for', async () => {
  const edge = keptEdge({
    script: [ask(['danger'], ['pick', { a: 1 }]), say('Done.')],
    tools: [tool('danger', () => 'boom', { approval: 'always' })],
  })
  const headers = { 'x-conversation-id': 'mixed' }
  const tools = [{ type: 'function', function: { name: 'pick', parameters: { type: 'object' } } }]
  const question = { role: 'user', content: 'Go on' }
  const first = await (await edge.post(CHAT, { messages: [question], tools }, headers)).json<any>()
  const { message, finish_reason } = first.choices[0]
  expect([finish_reason, message.tool_calls.length]).toEqual(['tool_calls', 1])

  const result = { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'picked' }
  const response = await edge.post(CHAT, { messages: [question, message, result], tools }, headers)
  const second = await response.json<any>()
  expect([response.status, second.choices[0].finish_reason]).toEqual([200, 'stop'])
  expect(second.choices[0].message.content).toContain('Waiting for approval of "danger"')

  const run = `/conversations/mixed/runs/${second.edgecall.runId}`
  const waiting = await (await edge.fetch(run)).json<any>()
  const danger = waiting.calls.find((call: { tool: string }) => call.tool === 'danger')
  await edge.post(`${run}/calls/${danger.id}`, { decision: 'approve' })
  const record = await (await edge.fetch(`${run}/events`)).text()
  expect(record).toContain('"answer":"Done."')
})

test('a model that repeats one call for ever is asked six times, by every door', async () => {
  const messages = [{ role: 'user', content: 'Go' }]
  for (const [path, body] of [
    ['/runs', { input: 'Go' }],
    ['/conversations/again/runs', { input: 'Go' }],
    [CHAT, { messages }],
    ['/v1/responses', { input: 'Go' }],
  ] as const) {
    const repeat = ({ tools }: ModelRequest) => (tools.length > 0 ? ask(['look', { at: 1 }]) : say('I have seen it.'))
    const edge = keptEdge({ script: Array.from({ length: 60 }, () => repeat), tools: [tool('look', () => 'seen')] })
    await edge.post('/conversations', { id: 'again' })
    const response = await edge.post(path, body)
    const text = await response.text()
    expect([path, response.status, edge.requests.length]).toEqual([path, 200, 6])
    expect(text).toContain('I have seen it.')
  }
})
