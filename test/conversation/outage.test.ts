import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { DEFAULT_LIMITS } from '../../src/contract/limits.ts'
import type { ModelEvent } from '../../src/contract/model.ts'
import { ToolsUnavailable } from '../../src/contract/tool.ts'
import { say, tool, types } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'
import { settle } from '../fixtures/settle.ts'

const START = 60_000

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: START }))
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const BUSY: ModelEvent = {
  type: 'error',
  error: { code: 'model_rate_limited', message: 'Slow down.', status: 429, retryable: true, attempts: 3 },
}

/** A stored run whose model fails until the time `until`. */
async function started(until: number, error: ModelEvent = BUSY): Promise<TestConversation> {
  const conversation = new TestConversation(() => (Date.now() < until ? [error] : say('Hello.')))
  await conversation.start(0, { request: { limits: DEFAULT_LIMITS } as object })
  await settle()
  return conversation
}

const modelWait = async (conversation: TestConversation) => {
  const reply = await conversation.object.record(runId(0), 0)
  return reply.ok ? reply.record.modelWait : undefined
}

describe('a stored run whose model fails for now', () => {
  test('waits for an alarm, longer each time, and its readers and its caller stay', async () => {
    const conversation = await started(START + 5000)
    const awaited = conversation.object.record(runId(0), 60_000)
    const read = conversation.events(0)
    const waits: number[] = []
    while (conversation.requests.length < 20 && (await modelWait(conversation))) {
      const before = Date.now()
      const { until = 0 } = (await modelWait(conversation)) ?? {}
      waits.push(until - before)
      while (Date.now() < until) await conversation.ring()
      await settle()
    }
    expect(await awaited).toMatchObject({ ok: true, record: { status: 'completed', answer: 'Hello.' } })
    for (const [index, wait] of waits.entries()) {
      expect(wait).toBeGreaterThanOrEqual(500 * 2 ** index)
      expect(wait).toBeLessThanOrEqual(1000 * 2 ** index)
    }
    const between = waits.flatMap(() => ['model.waiting', 'step.restarted'])
    expect(types(await read)).toEqual([
      ...['run.started', 'step.started', ...between],
      ...['text.delta', 'step.answered', 'step.finished', 'run.finished'],
    ])
    expect(conversation.requests.map(({ waits: count = 0 }) => count)).toEqual([0, ...waits.map((_, at) => at + 1)])
  })

  test('waits as long as the provider asks, and asks nothing earlier, whatever wakes its object', async () => {
    const retryAfterMs = 30_000
    const conversation = await started(START + 1, { type: 'error', error: { ...BUSY.error, retryAfterMs } })
    const { until = 0 } = (await modelWait(conversation)) ?? {}
    expect(until).toBeGreaterThanOrEqual(START + retryAfterMs)
    expect(until).toBeLessThanOrEqual(START + retryAfterMs * 1.1 + 1)
    while (Date.now() < until) {
      expect([conversation.requests.length, types(conversation.journal(0)).at(-1)]).toEqual([1, 'model.waiting'])
      await conversation.object.settings()
      await conversation.ring()
      await settle()
    }
    expect([Date.now(), conversation.requests.length]).toEqual([until, 2])
    expect(conversation.store.runs.record(runId(0))).toMatchObject({ status: 'completed', answer: 'Hello.' })
  })

  test('waits on after its object is lost, and that counts as no interruption', async () => {
    const conversation = await started(START + 5000)
    const { until = 0 } = (await modelWait(conversation)) ?? {}
    for (let loss = 0; loss < 5; loss++) {
      conversation.live()
      await settle()
    }
    expect([conversation.requests.length, conversation.alarmAt <= until]).toEqual([1, true])
    vi.setSystemTime(START + 5000)
    await conversation.ring()
    await settle()
    expect(conversation.store.runs.record(runId(0))).toMatchObject({ status: 'completed' })
    expect(types(conversation.journal(0))).toEqual([
      ...['run.started', 'step.started', 'model.waiting', 'step.restarted'],
      ...['text.delta', 'step.answered', 'step.finished', 'run.finished'],
    ])
    expect(conversation.journal(0)[3]).toMatchObject({ type: 'step.restarted', because: 'waited', attempt: 2 })
  })

  test('is cancelled at once while it waits', async () => {
    const conversation = await started(Infinity)
    expect(await conversation.object.cancel(runId(0))).toEqual({ ok: true, status: 'cancelled' })
    expect(types(conversation.journal(0)).slice(-3)).toEqual(['model.waiting', 'run.cancelling', 'run.finished'])
    expect(conversation.requests).toHaveLength(1)
    expect(await modelWait(conversation)).toBeUndefined()
  })

  // By some of these, less than a tenth of a second is left before the last wait.
  test.each([0, 0.066, 0.333, 0.999])(
    'fails after two minutes, with the number of all requests: %f',
    async (random) => {
      vi.spyOn(Math, 'random').mockReturnValue(random)
      const conversation = await started(Infinity)
      while (await modelWait(conversation)) {
        await conversation.ring()
        await settle()
      }
      expect(Date.now()).toBe(START + 120_000)
      const attempts = 3 * conversation.requests.length
      const error = { code: 'model_rate_limited', message: 'Slow down.', attempts }
      expect(conversation.store.runs.record(runId(0))).toMatchObject({ status: 'failed', error })
      expect(conversation.requests.length).toBeLessThanOrEqual(20)
    },
  )
})

test('a stored run whose tools cannot be told now waits until they can', async () => {
  const conversation = await started(0)
  let isDown = true
  const clock = tool('clock')
  conversation.toolsOf = () => {
    if (isDown) throw new ToolsUnavailable('The stored tools of this edge cannot be read now.')
    return [clock]
  }
  await conversation.start(1, { tools: [clock.definition] })
  await settle()
  for (let alarm = 0; alarm < 8; alarm++) {
    await conversation.ring()
    await settle()
  }
  expect([conversation.store.runs.row(runId(1))?.status, conversation.requests.length]).toEqual(['running', 1])
  isDown = false
  await conversation.ring()
  await settle()
  expect(conversation.store.runs.record(runId(1))).toMatchObject({ status: 'completed', answer: 'Hello.' })
})
