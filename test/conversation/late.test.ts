import { expect, test } from 'vitest'
import type { ToolOutcome } from '../../src/contract/tool.ts'
import { ask, id, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'
import { settle } from '../fixtures/settle.ts'

test('an outcome that comes too late is recorded and not shown to a model', async () => {
  const slow = Promise.withResolvers<ToolOutcome>()
  const answerFor = (hasResult: boolean) => (hasResult ? say('It took too long.') : ask(['pay']))
  const conversation = new TestConversation(
    ({ messages }) => answerFor(messages.some(({ role }) => role === 'tool')),
    [tool('pay', () => slow.promise, { timeoutMs: 1 })],
  )
  await conversation.run(0)
  slow.resolve({ ok: true, content: [{ type: 'text', text: 'paid' }] })
  await settle()
  const reply = await conversation.object.record(runId(0), 0)
  expect(reply.ok && reply.record).toMatchObject({
    answer: 'It took too long.',
    calls: [{ id: id(1, 0), ok: false, error: { code: 'timeout' }, late: { ok: true } }],
  })
  expect(conversation.rows('SELECT * FROM wholes')).toEqual([
    { call: `late/${runId(0)}/${id(1, 0)}`, content: '{"ok":true}' },
  ])
  expect(JSON.stringify(conversation.requests)).not.toContain('paid')
  expect(conversation.journal(0).slice(-2)).toMatchObject([
    { type: 'run.finished' },
    { type: 'call.late', callId: id(1, 0), tool: 'pay', ok: true },
  ])
  const seqs = (await conversation.events(0)).map(({ seq }) => seq)
  expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b))
})

test('a deleted conversation does not store a late outcome', async () => {
  const slow = Promise.withResolvers<ToolOutcome>()
  const conversation = new TestConversation(() => ask(['pay']), [tool('pay', () => slow.promise)])
  await conversation.start(0)
  await conversation.object.remove()
  slow.resolve({ ok: true, content: [] })
  await settle()
  expect(conversation.rows('SELECT count(*) AS n FROM wholes')).toEqual([{ n: 0 }])
})

test('an outcome that comes too late while the run continues is an event of the run', async () => {
  const slow = Promise.withResolvers<ToolOutcome>()
  const rest = Promise.withResolvers<void>()
  const conversation = new TestConversation(
    async function* ({ messages }) {
      if (messages.length === 1) return yield* ask(['pay'])
      await rest.promise
      yield* say('It took too long.')
    },
    [tool('pay', () => slow.promise, { timeoutMs: 1 })],
  )
  await conversation.start(0)
  while (conversation.requests.length < 2) await settle()
  slow.resolve({ ok: false, error: { code: 'tool_failed', message: 'No.' } })
  slow.resolve({ ok: true, content: [] })
  await settle()
  rest.resolve()
  const events = await conversation.events(0)
  expect(events.filter(({ type }) => type === 'call.late')).toMatchObject([{ callId: id(1, 0), ok: false }])
  expect(events.at(-1)?.type).toBe('run.finished')
})
