import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { say } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'
import { settle } from '../fixtures/settle.ts'

const [SECOND, MINUTE] = [1000, 60_000]
/** When the outage ends. */
const AFTER = 2 * MINUTE

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 0 }))
afterEach(() => void vi.useRealTimers())

/** A conversation whose model was answering when an outage of two minutes began. */
async function interrupted(number: number): Promise<TestConversation> {
  vi.setSystemTime(0)
  const conversation = new TestConversation(async function* () {
    yield await new Promise<never>(() => {})
  })
  conversation.id = createHash('sha256').update(String(number)).digest('hex')
  await conversation.start(0)
  await settle()
  conversation.answer = () => say('Done.')
  vi.setSystemTime(AFTER)
  conversation.live()
  await settle()
  return conversation
}

/** How long after the outage its alarms alone complete the run, in milliseconds. */
async function recoveryTime(number: number): Promise<number> {
  const conversation = await interrupted(number)
  while (conversation.store.runs.record(runId(0))?.status !== 'completed') {
    await conversation.ring()
    await settle()
  }
  return Date.now() - AFTER
}

describe('after an outage of many conversations', () => {
  test('alarms resume their runs evenly spread over two seconds', async () => {
    const times: number[] = []
    for (let number = 0; number < 200; number++) times.push(await recoveryTime(number))
    const half = SECOND / 2
    const perHalf = [0, 1, 2, 3].map((at) => times.filter((time) => Math.floor(time / half) === at).length)
    expect(perHalf.reduce((sum, count) => sum + count)).toBe(200)
    expect(Math.min(...perHalf)).toBeGreaterThan(30)
    expect(Math.max(...perHalf)).toBeLessThan(70)
  })

  test('an alarm resumes the run of one conversation after the same time in each outage', async () => {
    expect(await recoveryTime(7)).toBe(await recoveryTime(7))
  })

  test('a request resumes the run of its conversation at once', async () => {
    for (let number = 0; number < 5; number++) {
      const conversation = await interrupted(number)
      expect(conversation.store.runs.record(runId(0))?.status).toBeUndefined()
      expect(await conversation.object.record(runId(0), SECOND)).toMatchObject({ record: { status: 'completed' } })
      expect(Date.now()).toBe(AFTER)
    }
  })
})
