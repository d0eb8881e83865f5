import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { RunEvent } from '../../src/contract/event.ts'
import { DEFAULT_LIMITS } from '../../src/contract/limits.ts'
import type { ChatModel, ModelError, ModelEvent } from '../../src/contract/model.ts'
import { memoryJournal } from '../../src/loop/running.ts'
import { run } from '../../src/loop/drive.ts'
import { newState } from '../../src/loop/state.ts'
import { fallingBack, OutageGate, retrying } from '../../src/model/retry.ts'
import { requestOf } from '../fixtures/play.ts'
import { say } from '../fixtures/scripted.ts'

beforeEach(() => vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => vi.useRealTimers())

const RUNS = 20

const FAILURES: Readonly<Record<string, ModelError>> = {
  '429': { code: 'model_rate_limited', message: 'Slow down.', status: 429, retryable: true },
  '503': { code: 'model_unavailable', message: 'Overloaded.', status: 503, retryable: true },
  'a refused connection': { code: 'model_unreachable', message: 'No connection.', retryable: true },
}

const failed: ModelError = { code: 'model_unavailable', message: 'Overloaded.', status: 503, retryable: true }

/** A provider that fails until a time, after these words of an answer, and counts the requests. */
function provider(error: ModelError, until: number, words = '') {
  const requestedAt: number[] = []
  const model: ChatModel = {
    name: 'test/model',
    stream: async function* (): AsyncGenerator<ModelEvent> {
      requestedAt.push(Date.now())
      if (Date.now() >= until) return yield* say('Hello.')
      if (words !== '') yield { type: 'text', text: words }
      yield { type: 'error', error }
    },
  }
  return { model, requestedAt }
}

/** Performs a run that is not stored, as the edge does. */
async function perform(model: ChatModel, modelWaitMs = DEFAULT_LIMITS.modelWaitMs) {
  const events: RunEvent[] = []
  const state = newState(requestOf({ limits: { modelWaitMs } }), new Map())
  await run(state, {
    model,
    tools: new Map(),
    history: [],
    journal: memoryJournal('run_0000000000000000000000', (event) => void events.push(event)),
    signal: new AbortController().signal,
    now: () => Date.now(),
    report: () => {},
  })
  return { events, finished: state.finished }
}

describe.each(Object.keys(FAILURES))('an outage with %s', (name) => {
  const failure = FAILURES[name] ?? { code: '', message: '', retryable: true }

  describe.each([undefined, 1000])('and Retry-After %s ms', (retryAfterMs) => {
    const error = { ...failure, ...(retryAfterMs !== undefined && { retryAfterMs }) }

    test.each([
      // Requests in all, those that were answered among them.
      { seconds: 2, most: 60 },
      { seconds: 5, most: 60 },
      { seconds: 60, most: 80 },
    ])('of $seconds s fails none of 20 runs, and asks at most $most times', async ({ seconds, most }) => {
      const { model, requestedAt } = provider(error, Date.now() + seconds * 1000)
      const gated = retrying(new OutageGate().guard(model))
      const runs = Array.from({ length: RUNS }, () => perform(gated))
      await vi.advanceTimersByTimeAsync(DEFAULT_LIMITS.modelWaitMs)
      const statuses = (await Promise.all(runs)).map(({ finished }) => finished?.status)
      expect(statuses).toEqual(Array(RUNS).fill('completed'))
      expect(requestedAt.length).toBeLessThanOrEqual(most)
    })
  })
})

describe('an outage in which answers begin and then break off', () => {
  const CUT = { code: 'model_stream_cut', message: 'Cut.', retryable: true }

  test.each([
    { name: 'the connection', error: CUT, seconds: 5, runs: 20, most: 80 },
    { name: 'the connection', error: CUT, seconds: 60, runs: 20, most: 80 },
    { name: 'the connection', error: CUT, seconds: 60, runs: 80, most: 220 },
    { name: 'an error event', error: { ...CUT, code: 'model_unavailable' }, seconds: 5, runs: 20, most: 80 },
  ])('by $name, of $seconds s, fails none of $runs runs', async ({ error, seconds, runs: count, most }) => {
    const { model, requestedAt } = provider(error, Date.now() + seconds * 1000, 'Hel')
    const gated = retrying(new OutageGate().guard(model))
    const runs = Array.from({ length: count }, () => perform(gated))
    await vi.advanceTimersByTimeAsync(DEFAULT_LIMITS.modelWaitMs)
    const answers = (await Promise.all(runs)).map(({ finished }) => finished?.answer)
    expect(answers).toEqual(Array(count).fill('Hello.'))
    expect(requestedAt.length).toBeLessThanOrEqual(most)
  })

  test('makes a run ask again at once three times, then wait, and drop each beginning', async () => {
    const { model } = provider(CUT, Date.now() + 1, 'Hel')
    const played = perform(retrying(model))
    await vi.advanceTimersByTimeAsync(1000)
    const { events } = await played
    const restart = ['text.delta', 'step.restarted']
    expect(events.map(({ type }) => type)).toEqual([
      ...[
        'run.started',
        'step.started',
        ...restart,
        ...restart,
        ...restart,
        'text.delta',
        'model.waiting',
        'step.restarted',
      ],
      ...['text.delta', 'step.answered', 'step.finished', 'run.finished'],
    ])
  })

  test('is over for a run as soon as one of its models answers, whichever broke off last', async () => {
    const first = provider(CUT, Date.now() + 1, 'Hel')
    const second = provider(CUT, Infinity, 'Hel')
    const played = perform(retrying(fallingBack([first.model, second.model])))
    await vi.advanceTimersByTimeAsync(1000)
    expect((await played).finished).toMatchObject({ status: 'completed', answer: 'Hello.' })
    expect([first.requestedAt.length, second.requestedAt.length]).toEqual([3, 2])
  })
})

test('a run that is not stored waits within its request, and says so', async () => {
  const { model } = provider(FAILURES['503'] ?? failed, Date.now() + 900)
  const played = perform(model)
  await vi.advanceTimersByTimeAsync(4000)
  const { events } = await played
  const waiting = { type: 'model.waiting', step: 1, code: 'model_unavailable', status: 503, attempts: 1 }
  const times = events.flatMap((event) => (event.type === 'model.waiting' ? [event.until - event.at] : []))
  expect(events.map(({ type }) => type)).toEqual([
    'run.started',
    'step.started',
    ...times.flatMap(() => ['model.waiting', 'step.restarted']),
    'text.delta',
    'step.answered',
    'step.finished',
    'run.finished',
  ])
  expect(events[2]).toEqual(expect.objectContaining(waiting))
  expect(events[3]).toMatchObject({ type: 'step.restarted', step: 1, attempt: 2, because: 'waited' })
  expect(times[0]).toBeGreaterThanOrEqual(500)
  expect(times[0]).toBeLessThanOrEqual(1000)
})

describe('a run waits for its first model while the second one', () => {
  const failure = { code: 'model_unauthorized', message: 'No.', retryable: false }

  test.each<[string, ModelError]>([
    ['refuses the key of the edge', { ...failure, status: 401 }],
    ['does not exist', { ...failure, code: 'model_not_found', status: 404 }],
    ['refuses the request', { ...failure, code: 'model_refused_request', status: 400 }],
    ['asks for more time than the run has', { ...failed, retryAfterMs: 3_600_000 }],
  ])('%s', async (_, error) => {
    const first = provider(failed, Date.now() + 5000)
    const second = provider(error, Infinity)
    const model = retrying(new OutageGate().guard(fallingBack([first.model, second.model])))
    const played = perform(model)
    await vi.advanceTimersByTimeAsync(DEFAULT_LIMITS.modelWaitMs)
    expect((await played).finished).toMatchObject({ status: 'completed', answer: 'Hello.' })
  })
})

describe('a run fails at once', () => {
  test.each<[string, ModelError]>([
    ['if the request is at fault', { code: 'model_refused_request', message: 'No.', status: 400, retryable: false }],
    ['if the key is refused', { code: 'model_unauthorized', message: 'No.', status: 401, retryable: false }],
    ['if the quota is used up', { code: 'model_quota_exceeded', message: 'No.', status: 429, retryable: false }],
    ['if the model wrote no valid answer', { code: 'model_unavailable', message: 'No.', status: 400, retryable: true }],
    ['if the answer was empty', { code: 'model_bad_response', message: 'No.', retryable: true }],
    ['if the provider asks for more time than it has', { ...failed, retryAfterMs: 120_001 }],
  ])('%s', async (_, error) => {
    const { model, requestedAt } = provider(error, Infinity)
    const { finished } = await perform(model)
    expect(finished).toMatchObject({ status: 'failed', error: { code: error.code } })
    expect(requestedAt).toHaveLength(1)
  })
})

test('a run fails after all the time that it may wait, and counts its requests', async () => {
  const { model, requestedAt } = provider(failed, Infinity)
  const start = Date.now()
  const played = perform(model, 10_000)
  await vi.advanceTimersByTimeAsync(10_000)
  const { finished } = await played
  expect(finished).toMatchObject({ status: 'failed', error: { code: failed.code, attempts: requestedAt.length } })
  // The last request is made at the end of that time.
  expect([Math.round(((requestedAt.at(-1) ?? 0) - start) / 100), requestedAt.length < 10]).toEqual([100, true])
})

test('a provider that is back gets more requests with every answer, and then all of them', async () => {
  const gate = new OutageGate({ random: () => 0 })
  const { model, requestedAt } = provider(failed, Date.now() + 300)
  const guarded = gate.guard(model)
  const ask = async () => {
    const request = { messages: [], tools: [] }
    for await (const event of guarded.stream(request, new AbortController().signal)) return event
    return undefined
  }
  for (let request = 0; request < 5; request++) await ask()
  expect(await ask()).toEqual({ type: 'error', error: { ...failed, attempts: 0, retryAfterMs: 250 } })
  expect(requestedAt).toHaveLength(5)
  for (const ms of [250, 500, 250, 125, 62.5, 31.25]) {
    await vi.advanceTimersByTimeAsync(Math.ceil(ms))
    await ask()
  }
  expect(requestedAt).toHaveLength(11)
  for (let request = 0; request < 5; request++) expect(await ask()).toMatchObject({ type: 'text' })
})

test('a provider whose answers break off gets more requests only with whole answers', async () => {
  const gate = new OutageGate({ random: () => 0 })
  const cut = { code: 'model_stream_cut', message: 'Cut.', retryable: true }
  const { model, requestedAt } = provider(cut, Date.now() + 500, 'Hel')
  const guarded = gate.guard(model)
  const start = () => guarded.stream({ messages: [], tools: [] }, new AbortController().signal)[Symbol.asyncIterator]()
  const finish = async (events = start()) => {
    let last
    for (let next = await events.next(); !next.done; next = await events.next()) last = next.value
    return last
  }
  for (let request = 0; request < 5; request++) await finish()
  expect(await finish()).toEqual({ type: 'error', error: { ...cut, attempts: 0, retryAfterMs: 250 } })
  await vi.advanceTimersByTimeAsync(250)
  expect(await finish()).toEqual({ type: 'error', error: cut })
  await vi.advanceTimersByTimeAsync(500)
  const answer = start()
  await answer.next()
  // The answer has begun, as those that broke off had.
  expect(await finish()).toEqual({ type: 'error', error: { ...cut, attempts: 0, retryAfterMs: 500 } })
  expect(await finish(answer)).toMatchObject({ type: 'finish' })
  expect(await finish()).toEqual({ type: 'error', error: { ...cut, attempts: 0, retryAfterMs: 250 } })
  expect(requestedAt).toHaveLength(7)
})

test('answers that a model has written badly do not have its provider spared', async () => {
  const garbled = { code: 'model_unavailable', message: 'Invalid call.', status: 400, retryable: true }
  const { model, requestedAt } = provider(garbled, Infinity)
  const guarded = new OutageGate().guard(model)
  for (let request = 0; request < 9; request++) {
    for await (const _ of guarded.stream({ messages: [], tools: [] }, new AbortController().signal));
  }
  expect(requestedAt).toHaveLength(9)
})
