import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { contentText } from '../../src/contract/message.ts'
import { say } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'
import { WindowModel } from './window-model.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

const LONG = 'lorem '.repeat(1500)

/** A conversation whose model takes 4,000 tokens, on an edge that plans nothing. */
function unplanned(vars: Record<string, string> = {}) {
  const model = new WindowModel(4000, 'exact', () => say('ok'))
  const talked = new TestConversation((request) => model.stream(request), [], vars)
  talked.loop = { planner: undefined }
  talked.live()
  const last = () => (model.requests.at(-1)?.messages ?? []).map(({ content }) => contentText(content).slice(0, 6))
  return { talked, model, last }
}

test('without a planner a model is sent the newest turns within the window of the conversation', async () => {
  const { talked, last } = unplanned({ MEMORY_MESSAGES: '4' })
  for (const turn of [1, 2, 3, 4]) await talked.run(turn, `turn ${turn}`)
  expect(last()).toEqual(['turn 2', 'ok', 'turn 3', 'ok', 'turn 4'])
  expect(talked.requests.at(-1)?.tools).toEqual([])
})

test('without a planner a prompt that is too long fails, and tells what to do', async () => {
  const { talked, model } = unplanned()
  await talked.run(1, LONG)
  await talked.start(2, { request: { input: [{ role: 'user', content: LONG + LONG }] } })
  expect(await talked.object.record(runId(2), 10_000)).toMatchObject({
    ok: true,
    record: { status: 'failed', error: { code: 'model_context_exceeded' } },
  })
  expect([model.requests.length, model.refused]).toEqual([1, 1])
})

test('without a planner a conversation that was reduced before continues with its newest turns', async () => {
  const { talked, model, last } = unplanned({ MEMORY_MESSAGES: '4' })
  talked.loop = undefined
  talked.live()
  talked.modelWindow = { contextTokens: 4000 }
  for (const turn of [1, 2, 3]) await talked.run(turn, turn < 3 ? LONG : 'turn 3')
  const before = last()
  expect(talked.store.reductions.before(4)).toBeDefined()
  talked.loop = { planner: undefined }
  talked.live()
  await talked.run(4, 'turn 4')
  await talked.run(5, 'turn 5')
  expect([before.at(-1), last(), model.refused]).toEqual(['turn 3', ['turn 3', 'ok', 'turn 4', 'ok', 'turn 5'], 0])
})
