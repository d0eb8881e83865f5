import { expect, test, vi } from 'vitest'
import { ask, say, tool } from '../fixtures/play.ts'
import { dataOf, keptEdge } from './kept-edge.ts'

const danger = tool('danger', () => 'boom', { approval: 'always' })

test('who decided is kept with a decision, on whatever surface it was made', async () => {
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
  const answered = { id: runId, role: 'assistant', parts: [{ type: 'step-start' }, approved] }
  await (await edge.post('/chat', { id: 'c', trigger: 'submit-message', messages: [user, answered] })).text()
  const events = dataOf(await (await edge.fetch(`/conversations/c/runs/${runId}/events`)).text())
  expect(events.find((event: any) => event.type === 'approval.decided')).toMatchObject({
    decision: 'approve',
    by: 'local',
  })
})

test('a conversation that is deleted again is taken off the list, where that failed before', async () => {
  const edge = keptEdge({ script: [] })
  await edge.post('/conversations', { id: 'c' })
  const deleted = { ok: false, code: 'conversation_deleted', message: 'This conversation was deleted.' } as const
  vi.spyOn(edge.objects.get('v1/local/c')!, 'remove').mockResolvedValue(deleted)
  expect(await (await edge.fetch('/conversations')).json()).toEqual([{ id: 'c' }])
  expect((await edge.fetch('/conversations/c', { method: 'DELETE' })).status).toBe(410)
  expect(await (await edge.fetch('/conversations')).json()).toEqual([])
})
