import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ask, bodies, id, play, say, tool } from '../fixtures/play.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const IDEMPOTENT = { annotations: { idempotent: true }, timeoutMs: 100 }
const pending = () => new Promise<never>(() => {})

/** Plays a run to its end, whatever time it takes. */
async function playOn(options: Parameters<typeof play>[0]) {
  const played = play({ now: () => Date.now(), ...options })
  await vi.advanceTimersByTimeAsync(10_000)
  return played
}

describe('a call that times out', () => {
  test('is sent again with the same key a second after its deadline, if its tool is idempotent', async () => {
    const deliveries: [string, number, number][] = []
    const begin = Date.now()
    const slow = tool(
      'slow',
      (_args, { idempotencyKey, attempt }) => {
        deliveries.push([idempotencyKey, attempt, Date.now() - begin])
        return attempt < 2 ? pending() : 'done'
      },
      IDEMPOTENT,
    )
    const { events, state } = await playOn({ script: [ask(['slow']), say('Done.')], tools: [slow] })
    expect(deliveries).toEqual([
      [id(1, 0), 1, 0],
      [id(1, 0), 2, 1100],
    ])
    const ofCall = events.filter(({ type }) => /^call\.(?:started|interrupted|settled)$/.test(type))
    expect(bodies(ofCall)).toMatchObject([
      { type: 'call.started', attempt: 1 },
      { type: 'call.interrupted', because: 'timeout' },
      { type: 'call.started', attempt: 2 },
      { type: 'call.settled', ok: true },
    ])
    expect(state.finished?.answer).toBe('Done.')
  })

  test('is sent at most three times, and then the model is told that it timed out', async () => {
    const slow = vi.fn(pending)
    const { state } = await playOn({ script: [ask(['slow']), say('Done.')], tools: [tool('slow', slow, IDEMPOTENT)] })
    expect(slow).toHaveBeenCalledTimes(3)
    expect(state.calls[0]?.result?.error?.code).toBe('timeout')
  })

  test('is left to the next invocation if a stored run has made its subrequests', async () => {
    const slow = vi.fn(pending)
    const tools = [tool('slow', slow, IDEMPOTENT)]
    const { state, events } = await playOn({
      ...{ script: [ask(['slow'])], tools, mostSubrequests: 2 },
      request: { conversation: 'c' },
    })
    expect(slow).toHaveBeenCalledOnce()
    expect(events.at(-1)).toMatchObject({ type: 'call.interrupted', because: 'timeout' })
    expect(state).toMatchObject({ status: 'running', step: { calls: [{ status: 'approved', attempt: 1 }] } })
  })

  test('is told to have timed out if a run that is not stored has made its subrequests', async () => {
    const slow = vi.fn(pending)
    const tools = [tool('slow', slow, IDEMPOTENT)]
    const { state } = await playOn({ script: [ask(['slow'])], tools, mostSubrequests: 2 })
    expect(slow).toHaveBeenCalledOnce()
    expect(state.calls[0]?.result?.error?.code).toBe('timeout')
    expect(state.finished?.error?.code).toBe('subrequest_limit')
  })

  test.each([
    ['its tool is neither idempotent nor read-only', { timeoutMs: 100 }, {}],
    ['the time of the run would be up', IDEMPOTENT, { limits: { runMs: 900 } }],
  ])('is sent once if %s', async (_, definition, request) => {
    const slow = vi.fn(pending)
    const { state } = await playOn({
      script: [ask(['slow']), say('Done.')],
      tools: [tool('slow', slow, definition)],
      request,
    })
    expect(slow).toHaveBeenCalledTimes(1)
    expect(state.calls[0]?.result?.error?.code).toBe('timeout')
  })

  test('is not sent again once the run is cancelled', async () => {
    const stop = new AbortController()
    const slow = vi.fn(pending)
    const played = play({
      script: [ask(['slow'])],
      tools: [tool('slow', slow, IDEMPOTENT)],
      signal: stop.signal,
      now: () => Date.now(),
    })
    await vi.advanceTimersByTimeAsync(500)
    stop.abort()
    await vi.advanceTimersByTimeAsync(5000)
    expect([(await played).state.status, slow.mock.calls.length]).toEqual(['cancelled', 1])
  })

  test('is sent again separately if it started before the model had answered', async () => {
    const attempts: number[] = []
    const slow = tool(
      'slow',
      (_args, { attempt }) => {
        attempts.push(attempt)
        return attempt < 2 ? pending() : 'done'
      },
      IDEMPOTENT,
    )
    const { state } = await playOn({ script: [ask(['slow']), say('Done.')], tools: [slow], request: { eager: true } })
    expect([attempts, state.finished?.answer]).toEqual([[1, 2], 'Done.'])
  })

  test('leaves no late outcome if the first attempt answers while the second is under way', async () => {
    const first = Promise.withResolvers<string>()
    const outcomes: unknown[] = []
    const slow = tool(
      'slow',
      async (_args, { attempt }) => {
        if (attempt === 1) return first.promise
        first.resolve('first')
        await new Promise((resolve) => setTimeout(resolve, 50))
        return 'second'
      },
      IDEMPOTENT,
    )
    const { state } = await playOn({
      script: [ask(['slow']), say('Done.')],
      tools: [slow],
      onLate: (...args) => void outcomes.push(args),
    })
    expect([state.calls[0]?.result?.content, outcomes]).toEqual([[{ type: 'text', text: 'second' }], []])
  })
})
