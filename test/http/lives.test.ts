import { describe, expect, test, vi } from 'vitest'
import type { Script } from '../fixtures/scripted.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { dataOf, keptEdge } from './kept-edge.ts'

const danger = tool('danger', () => 'boom', { approval: 'always' })

test('a decision is recorded with its author on every surface', async () => {
  const edge = keptEdge({ script: [ask(['danger']), say('Done.')], tools: [danger] })
  const user = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Go' }] }
  const first = await edge.post('/chat', { id: 'c', trigger: 'submit-message', messages: [user] })
  const runId = first.headers.get('x-run-id')!
  const { approvalId } = dataOf(await first.text()).find((chunk: any) => chunk.type === 'tool-approval-request') as {
    approvalId: string
  }
  const approved = {
    type: 'tool-danger',
    toolCallId: approvalId,
    state: 'approval-responded',
    input: {},
    approval: { id: approvalId, approved: true },
  }
  const answer = { id: runId, role: 'assistant', parts: [{ type: 'step-start' }, approved] }
  await (await edge.post('/chat', { id: 'c', trigger: 'submit-message', messages: [user, answer] })).text()
  const events = dataOf(await (await edge.fetch(`/conversations/c/runs/${runId}/events`)).text())
  expect(events.find((event: any) => event.type === 'approval.decided')).toMatchObject({
    decision: 'approve',
    by: 'local',
  })
})

test('deleting a conversation again removes it from the list if that failed before', async () => {
  const edge = keptEdge({ script: [] })
  await edge.post('/conversations', { id: 'c' })
  const deleted = { ok: false, code: 'conversation_deleted', message: 'This conversation was deleted.' } as const
  vi.spyOn(edge.objects.get('v1/local/c')!, 'remove').mockResolvedValue(deleted)
  expect(await (await edge.fetch('/conversations')).json()).toEqual([{ id: 'c' }])
  expect((await edge.fetch('/conversations/c', { method: 'DELETE' })).status).toBe(410)
  expect(await (await edge.fetch('/conversations')).json()).toEqual([])
})

test('runs are listed by pages from the newest on, and an unknown `before` is an error', async () => {
  const edge = keptEdge({ script: [say('A.'), say('B.'), say('C.')] })
  await edge.post('/conversations', { id: 'c' })
  const ids: string[] = []
  for (const input of ['a', 'b', 'c']) {
    ids.push((await (await edge.post('/conversations/c/runs', { input })).json<any>()).id)
  }
  const idsOf = async (query: string) =>
    (await (await edge.fetch(`/conversations/c/runs?${query}`)).json<any[]>()).map(({ id }) => id)
  expect([await idsOf('limit=2'), await idsOf(`limit=2&before=${ids[1]}`), await idsOf(`before=${ids[0]}`)]).toEqual([
    ids.slice(1),
    ids.slice(0, 1),
    [],
  ])
  const unknown = await edge.fetch('/conversations/c/runs?before=run_none')
  expect([unknown.status, (await unknown.json<any>()).code]).toEqual([404, 'unknown_run'])
})

describe('a truncated result can be read to its end', () => {
  const long = tool('long', () => `${'a'.repeat(1000)}The rest.`, { maxResultBytes: 1000 })
  const readOn: Script = ({ messages }) => {
    const result = messages.find((message) => message.role === 'tool')
    return ask(['read_result', { id: result?.callId, offset: 1000 }])
  }
  const rest = { tool: 'read_result', ok: true, content: [{ text: 'The rest.\n[1000 to 1009 of 1009 characters]' }] }

  test('in a fork, even after the original conversation is deleted', async () => {
    const edge = keptEdge({ script: [ask(['long']), say('So.'), readOn, say('Read.')], tools: [long] })
    await edge.post('/conversations', { id: 'c' })
    await edge.post('/conversations/c/runs', { input: 'Read it.' })
    const messages = await (await edge.fetch('/conversations/c/messages')).json<any[]>()
    await edge.post('/conversations/c/fork', { id: 'fork', at: messages.at(-1).position })
    await edge.fetch('/conversations/c', { method: 'DELETE' })
    await edge.post('/conversations/fork/runs', { input: 'And then?' })
    expect(edge.requests[3]?.messages.at(-1)).toMatchObject(rest)
  })

  test('in a branch', async () => {
    const script = [ask(['long']), say('So.'), say('More.'), readOn, say('Read.')]
    const edge = keptEdge({ script, tools: [long] })
    const respond = async (body: object) => (await edge.post('/v1/responses', body)).json<any>()
    const first = await respond({ input: 'Read it.' })
    for (const input of ['Go on.', 'And then?']) await respond({ input, previous_response_id: first.id })
    expect(edge.requests[4]?.messages.at(-1)).toMatchObject(rest)
  })
})

test('a fork inherits the data marks of the messages that it copies', async () => {
  const mail = tool('mail', () => 'written', { annotations: { untrusted: true, private: true, openWorld: false } })
  const script = [say('Hello.'), ask(['mail']), say('Read.'), ask(['send']), ask(['send']), say('Sent.')]
  const edge = keptEdge({ script, tools: [mail, tool('send', () => 'sent')] })
  await edge.post('/conversations', { id: 'c' })
  for (const input of ['Hi', 'Read my mail.']) await edge.post('/conversations/c/runs', { input })
  const messages = await (await edge.fetch('/conversations/c/messages')).json<any[]>()
  const statuses: string[] = []
  for (const [id, { position }] of Object.entries({ after: messages.at(-1), before: messages[1] })) {
    await edge.post('/conversations/c/fork', { id, at: position })
    const run = await (await edge.post(`/conversations/${id}/runs`, { input: 'Send it.' })).json<any>()
    statuses.push(run.status)
  }
  expect(statuses).toEqual(['waiting', 'completed'])
})
