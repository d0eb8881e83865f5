import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { COUNTS_TIMERS } from '../fixtures/counts-timers.ts'
import { ask, say, tool, types } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'

const DAY = 24 * 60 * 60 * 1000

const TIMERS = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', ...TIMERS], now: 0 }))
afterEach(() => void vi.useRealTimers())

describe('a run that waits for a person', () => {
  test('leaves nothing that keeps its object in memory, where duration is billed', COUNTS_TIMERS, async () => {
    let open = 0
    const conversation = new TestConversation(
      async function* ({ messages }) {
        open += 1
        try {
          yield* messages.length > 1 ? say('Sent.') : ask(['send', {}])
        } finally {
          open -= 1
        }
      },
      [tool('send', () => 'sent', { approval: 'always' })],
    )
    await conversation.start(1)
    const reply = await conversation.object.events(runId(1), 0)
    const record = conversation.object.record(runId(1), 60_000)
    // The stream of a reader ends, and a request for the record is answered.
    expect(types(await conversation.events(1)).at(-1)).toBe('run.waiting')
    expect(reply.ok && (await new Response(reply.stream).text())).toContain('run.waiting')
    expect(await record).toMatchObject({ record: { status: 'waiting' } })
    // Neither a timer, after those that gather events for readers, nor a model's stream, nor a watchdog.
    await vi.advanceTimersByTimeAsync(100)
    await conversation.ring()
    expect({ timers: vi.getTimerCount(), open, alarmAt: conversation.alarmAt }).toEqual({
      timers: 0,
      open: 0,
      alarmAt: DAY,
    })
  })
})
