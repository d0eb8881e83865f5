import { expect, test } from 'vitest'
import type { ToolOutcome } from '../../src/contract/tool.ts'
import { ask, id, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'

/** Lets all that is ready run. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

test('an outcome that comes too late is recorded and not shown to a model', async () => {
  const slow = Promise.withResolvers<ToolOutcome>()
  const answered = (seen: boolean) => (seen ? say('It took too long.') : ask(['pay']))
  const there = new TestConversation(
    ({ messages }) => answered(messages.some(({ role }) => role === 'tool')),
    [tool('pay', () => slow.promise, { timeoutMs: 1 })],
  )
  await there.run(0)
  slow.resolve({ ok: true, content: [{ type: 'text', text: 'paid' }] })
  await settle()
  const reply = await there.object.record(runId(0), 0)
  expect(reply.ok && reply.record).toMatchObject({
    answer: 'It took too long.',
    calls: [{ id: id(1, 0), ok: false, error: { code: 'timeout' }, late: { ok: true } }],
  })
  expect(there.rows('SELECT * FROM wholes')).toEqual([
    { call: `late/${runId(0)}/${id(1, 0)}`, content: '{"ok":true,"content":[{"type":"text","text":"paid"}]}' },
  ])
  expect(JSON.stringify(there.requests)).not.toContain('paid')
  expect(there.journal(0).slice(-2)).toMatchObject([
    { type: 'run.finished' },
    { type: 'call.late', callId: id(1, 0), tool: 'pay', ok: true },
  ])
  const seqs = (await there.events(0)).map(({ seq }) => seq)
  expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b))
})

test('a deleted conversation does not store a late outcome', async () => {
  const slow = Promise.withResolvers<ToolOutcome>()
  const there = new TestConversation(() => ask(['pay']), [tool('pay', () => slow.promise)])
  await there.start(0)
  await there.object.remove()
  slow.resolve({ ok: true, content: [] })
  await settle()
  expect(there.rows('SELECT count(*) AS n FROM wholes')).toEqual([{ n: 0 }])
})

test('an outcome that comes too late while the run continues is an event of the run', async () => {
  const slow = Promise.withResolvers<ToolOutcome>()
  const rest = Promise.withResolvers<void>()
  const there = new TestConversation(
    async function* ({ messages }) {
      if (messages.length === 1) return yield* ask(['pay'])
      await rest.promise
      yield* say('It took too long.')
    },
    [tool('pay', () => slow.promise, { timeoutMs: 1 })],
  )
  await there.start(0)
  while (there.requests.length < 2) await settle()
  slow.resolve({ ok: false, error: { code: 'tool_failed', message: 'No.' } })
  slow.resolve({ ok: true, content: [] })
  await settle()
  rest.resolve()
  const events = await there.events(0)
  expect(events.filter(({ type }) => type === 'call.late')).toMatchObject([{ callId: id(1, 0), ok: false }])
  expect(events.at(-1)?.type).toBe('run.finished')
})
