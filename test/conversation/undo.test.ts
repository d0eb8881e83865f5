import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { failure } from '../../src/contract/tool.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'
import { settle } from '../fixtures/settle.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 60_000 }))
afterEach(() => void vi.useRealTimers())

test('an object that was lost while it undid calls names the failed call as the reason for the rest', async () => {
  let life = 1
  const undone: unknown[] = []
  const book = {
    ...tool('book', () => 'booked', { undo: true }),
    undo: async ({ arguments: { of } }: { arguments: { of?: unknown } }) => {
      if (life === 1 && of === 1) await new Promise<never>(() => {})
      undone.push(of)
      return { ok: true, content: [] } as const
    },
  }
  const broken = tool('broken', () => failure('broken', 'It broke.'))
  const conversation = new TestConversation(
    ({ messages }) => (messages.length > 1 ? say('Done.') : ask(['book', { of: 1 }], ['book', { of: 2 }], ['broken'])),
    [book, broken],
  )
  await conversation.start(0, { request: { compensate: true } })
  await settle()
  life = 2
  conversation.live()
  await settle()
  expect(undone).toEqual([2, 1])
  const call = (index: number) => `call_${runId(0).slice(4)}_1_${index}`
  expect(conversation.journal(0).filter(({ type }) => type === 'call.undone')).toMatchObject([
    { callId: call(1), ok: true, because: call(2) },
    { callId: call(0), ok: true, because: call(2) },
  ])
})
