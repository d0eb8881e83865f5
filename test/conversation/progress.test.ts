import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Tool, ToolOutcome } from '../../src/contract/tool.ts'
import { ask, id, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

const KIB = 1024
const [FIRST, SECOND] = [id(1, 0), id(1, 1)]
const laterOutcome: ToolOutcome = {
  ok: false,
  error: { code: 'later', message: 'Later.' },
  later: { within: 60_000 },
}

/** A conversation with a run that waits for two calls. */
async function waitingConversation() {
  const conversation = new TestConversation(
    ({ messages }) => (messages.some(({ role }) => role === 'tool') ? say('Done.') : ask(['render'], ['render'])),
    [tool('render', () => laterOutcome, { later: true })],
    {},
    { make: async ({ call }) => ({ token: call }), read: async () => undefined, filter: undefined },
  )
  await conversation.run(0)
  const rows = () => Number(conversation.rows('SELECT count(*) AS n FROM events')[0]?.n)
  const report = (call: string, message: string) =>
    conversation.object.report(runId(0), call, { progress: { message } })
  return { conversation, report, rows, progress: () => progressOf(conversation) }
}

/** The messages of the stored progress, by call, and the size of the journal. */
function progressOf(conversation: TestConversation) {
  const events = conversation.journal(0).filter((event) => event.type === 'call.progress')
  const of = (call: string) => events.filter(({ callId }) => callId === call).map(({ message = '' }) => message)
  const [{ size = 0 } = {}] = conversation.rows('SELECT sum(length(lines)) AS size FROM events')
  return { first: of(FIRST), second: of(SECOND), size: Number(size) }
}

const text = (at: number) => `${at} ${'x'.repeat(KIB)}`

test('1 MiB of the progress of a call is stored, and then its newest report alone, also by the next instance', async () => {
  const { conversation, report, rows, progress } = await waitingConversation()
  const rowsBefore = rows()
  for (let at = 0; at < 2000; at++) await report(FIRST, text(at))
  const before = progress()
  expect(before.size).toBeLessThan(1.1 * KIB * KIB)
  expect([before.first[0], before.first[1], before.first.at(-1)]).toEqual([text(0), text(1), text(1999)])
  await report(SECOND, 'half')
  expect(progress()).toMatchObject({ first: before.first, second: ['half'] })
  conversation.live()
  for (let at = 2000; at < 2100; at++) await report(FIRST, text(at))
  expect(progress()).toMatchObject({ first: [...before.first.slice(0, -1), text(2099)], second: ['half'] })
  expect(rows()).toBe(rowsBefore + before.first.length + 1)
})

test('the newest report takes the place of the one before it, also where other news is stored with that', async () => {
  const long = 'x'.repeat(100 * KIB)
  const render: Tool = {
    ...tool('render'),
    call: async (_request, control) => {
      for (let at = 0; at < 100; at++) {
        await control.progress({ message: `${at} ${long}` })
      }
      return { ok: true, content: [] }
    },
  }
  const conversation = new TestConversation(
    ({ messages }) => (messages.some(({ role }) => role === 'tool') ? say('Done.') : ask(['render'], ['render'])),
    [render],
  )
  await conversation.run(0)
  const { first, second, size } = progressOf(conversation)
  expect([first.length, second.length, first.at(-1), second.at(-1)]).toEqual([11, 11, `99 ${long}`, `99 ${long}`])
  expect(size).toBeLessThan(2.5 * KIB * KIB)
})

test('short reports count as 256 characters', async () => {
  const { report, progress } = await waitingConversation()
  for (let at = 0; at < 5000; at++) await report(FIRST, String(at))
  expect(progress().first).toEqual([...Array.from({ length: 4096 }, (_, at) => String(at)), '4999'])
})

test('a reader gets what is stored in order, and continues after any event', async () => {
  const { conversation, report } = await waitingConversation()
  for (let at = 0; at < 1500; at++) await report(FIRST, text(at))
  await conversation.object.report(runId(0), FIRST, { outcome: { ok: true, content: [] } })
  await conversation.object.report(runId(0), SECOND, { outcome: { ok: true, content: [] } })
  await conversation.object.record(runId(0), 5000)
  const events = await conversation.events(0)
  const numbers = events.map(({ seq }) => seq)
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
  expect(events.at(-1)).toMatchObject({ type: 'run.finished', answer: 'Done.' })
  const removed = Math.max(...numbers.filter((seq, at) => numbers[at + 1] !== undefined && numbers[at + 1] !== seq + 1))
  expect((await conversation.events(0, removed + 1)).map(({ seq }) => seq)).toEqual(
    numbers.filter((seq) => seq > removed),
  )
})

test('progress of a call that runs is bounded in the same way', async () => {
  const many = tool('count', async (_, __, control) => {
    for (let at = 0; at < 3000; at++) await control?.progress({ message: text(at) })
    await control?.progress({ message: 'm'.repeat(2000), data: 'd'.repeat(200 * KIB), fraction: 1 })
    return 'counted'
  })
  const conversation = new TestConversation(
    ({ messages }) => (messages.some(({ role }) => role === 'tool') ? say('Done.') : ask(['count'])),
    [many],
  )
  await conversation.run(0)
  const { first, size } = progressOf(conversation)
  expect(size).toBeLessThan(1.1 * KIB * KIB)
  expect([first[0], first.at(-1)]).toEqual([text(0), 'm'.repeat(1000)])
  expect(conversation.journal(0).at(-1)).toMatchObject({ type: 'run.finished', answer: 'Done.' })
})
