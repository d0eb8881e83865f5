import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import type { Tool } from '../../src/contract/tool.ts'
import { ask, bodies, play, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'
import { settle } from '../fixtures/settle.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 60_000 }))
afterEach(() => void vi.useRealTimers())

/** Tools that note the calls they get. */
function countingTools(calls: string[], count = 5): Tool[] {
  return Array.from({ length: count }, (_, at) =>
    tool(`tool${at}`, ({ number }, { callId }) => {
      calls.push(callId)
      return `result ${String(number)}`
    }),
  )
}

/** Asks for this many calls in each of so many steps, then answers. */
function busyModel(steps: number, calls: number): (request: ModelRequest) => ModelEvent[] {
  return ({ messages }) => {
    const step = messages.slice(messages.findLastIndex(({ role }) => role === 'user')).filter(isAnswer).length
    if (step >= steps) return say('Done.')
    const numbers = Array.from({ length: calls }, (_, at) => step * calls + at)
    return ask(...numbers.map((number): [string, object] => [`tool${number % 5}`, { number }]))
  }
}
const isAnswer = ({ role }: { role: string }) => role === 'assistant'

/** Rings the alarm each time the run is put down, until it has ended. Returns how often that was. */
async function ringUntilEnd(conversation: TestConversation, name: string | number): Promise<number> {
  for (let rings = 0; ; rings += 1) {
    await settle()
    if (conversation.store.runs.row(runId(name))?.status === 'completed') return rings
    expect(conversation.alarmAt, 'the alarm that continues the run').toBe(Date.now() + 1)
    await conversation.ring()
  }
}

const continuations = (conversation: TestConversation) =>
  conversation.reports.filter(({ event }) => event === 'run.continued')

describe('a stored run that needs more subrequests than an invocation may make', () => {
  test('is continued by the alarm as often as it takes, with the same events and each call sent once', async () => {
    const calls: string[] = []
    const [bounded, unbounded] = [{ MAX_SUBREQUESTS: '40' }, {}].map(
      (vars) => new TestConversation(busyModel(50, 3), countingTools(calls), vars),
    ) as [TestConversation, TestConversation]
    await unbounded.start(1)
    expect(await ringUntilEnd(unbounded, 1)).toBe(0)
    calls.splice(0)

    await bounded.start(1)
    const followed = bounded.events(1)
    // 51 requests of the model and 150 calls, 40 in each invocation.
    expect(await ringUntilEnd(bounded, 1)).toBe(5)
    expect(calls).toHaveLength(150)
    expect(new Set(calls).size).toBe(150)
    const events = bodies(await followed)
    // Each alarm rings a millisecond after the invocation before it.
    const timeless = (each: readonly object[]) => each.map((event) => ({ ...event, at: 0, deadline: 0 }))
    expect(timeless(events)).toEqual(timeless(bodies(await unbounded.events(1))))
    expect(events.at(-1)).toMatchObject({ type: 'run.finished', status: 'completed', answer: 'Done.' })
    expect(continuations(bounded)).toEqual(
      Array.from({ length: 5 }, () => ({ event: 'run.continued', runId: runId(1), subrequests: 40 })),
    )
  })

  test('is not counted as interrupted', async () => {
    const conversation = new TestConversation(busyModel(20, 1), countingTools([]), { MAX_SUBREQUESTS: '2' })
    await conversation.start(1)
    // More often than a run may be interrupted without progress, and resumed by instances that do not survive it.
    for (let rings = 0; rings < 10; rings += 1) {
      await settle()
      expect(conversation.store.runs.row(runId(1))).toMatchObject({ status: 'running', resumes: 0 })
      expect(conversation.store.runs.get(runId(1))).toMatchObject({ interrupted: 0, idle: 0 })
      await conversation.ring()
    }
    await ringUntilEnd(conversation, 1)
    expect(conversation.reports.filter(({ event }) => event !== 'run.continued')).toEqual([])
  })

  test('sends a part of the calls of one step in each invocation', async () => {
    const calls: string[] = []
    const conversation = new TestConversation(busyModel(1, 100), countingTools(calls), { MAX_SUBREQUESTS: '40' })
    await conversation.start(1)
    const counts: number[] = []
    for (let rings = 0; rings < 2; rings += 1) {
      await settle()
      counts.push(calls.length)
      await conversation.ring()
    }
    await ringUntilEnd(conversation, 1)
    // The first invocation asks the model too.
    expect([...counts, calls.length]).toEqual([39, 79, 100])
    expect((await conversation.events(1)).filter(({ type }) => type === 'step.started')).toHaveLength(2)
  })

  test('shares the bound with the runs before it in the same invocation', async () => {
    const conversation = new TestConversation(busyModel(4, 1), countingTools([]), { MAX_SUBREQUESTS: '12' })
    for (const name of [1, 2, 3]) await conversation.start(name)
    // Nine subrequests each.
    expect(await ringUntilEnd(conversation, 3)).toBe(2)
    expect(continuations(conversation).map((entry) => entry['runId'])).toEqual([runId(2), runId(3)])
  })

  test('continues in a new life of the object that was lost before the alarm rang', async () => {
    const calls: string[] = []
    const conversation = new TestConversation(busyModel(10, 3), countingTools(calls), { MAX_SUBREQUESTS: '21' })
    await conversation.start(1)
    await settle()
    expect([calls.length, conversation.alarmAt]).toEqual([15, Date.now() + 1])
    conversation.live()
    await ringUntilEnd(conversation, 1)
    expect(new Set(calls).size).toBe(30)
    expect(calls).toHaveLength(30)
  })

  test('counts repeated requests of the model', async () => {
    let requests = 0
    const overloaded = { code: 'model_unavailable', message: 'Overloaded.', retryable: true }
    const conversation = new TestConversation(
      async function* (request) {
        requests += 1
        // Each step starts twice: the first answer breaks off.
        if (requests % 2 === 1) {
          yield { type: 'text', text: 'Well' }
          return yield { type: 'error', error: overloaded }
        }
        yield* busyModel(5, 1)(request)
      },
      countingTools([]),
      { MAX_SUBREQUESTS: '9' },
    )
    await conversation.start(1)
    // Six steps of two requests, and five calls.
    expect(await ringUntilEnd(conversation, 1)).toBe(1)
    expect(requests).toBe(12)
  })
})

describe('a run without a conversation that needs more subrequests than an invocation may make', () => {
  test('ends with an error before the platform cuts it off', async () => {
    const calls: string[] = []
    const script = Array.from({ length: 51 }, () => (request: ModelRequest) => busyModel(50, 3)(request))
    const { events } = await play({ script, tools: countingTools(calls), mostSubrequests: 40 })
    const message = 'The run needs too many subrequests. Run it in a conversation.'
    expect(events.at(-1)).toMatchObject({
      type: 'run.finished',
      status: 'failed',
      finish: 'error',
      error: { code: 'subrequest_limit', message },
    })
    expect(calls).toHaveLength(30)
  })

  test('gives each call that was not sent a result', async () => {
    const calls: string[] = []
    const { events } = await play({ script: [busyModel(1, 10)], tools: countingTools(calls), mostSubrequests: 5 })
    expect(calls).toHaveLength(4)
    const codes = events.flatMap((event) => (event.type === 'call.settled' ? [event.error?.code ?? 'ok'] : []))
    expect(codes).toEqual([...Array(4).fill('ok'), ...Array(6).fill('cancelled')])
  })
})
