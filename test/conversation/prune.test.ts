import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { isNews } from '../../src/contract/event.ts'
import type { ModelEvent } from '../../src/contract/model.ts'
import { isDue, nextDue } from '../../src/conversation/run/schedule.ts'
import { ask, say, tool, types } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'

const [MINUTE, DAY] = [60_000, 24 * 60 * 60_000]

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 0 }))
afterEach(() => void vi.useRealTimers())

/** A run of two steps, the second of 2,000 tokens. */
function talkative(): TestConversation {
  const tokens = Array.from({ length: 2000 }, (_, at): ModelEvent => ({ type: 'text', text: `${at} ` }))
  return new TestConversation(
    ({ messages }) => (messages.length > 1 ? [...tokens, ...say('!')] : ask(['look', { at: 'it' }])),
    [tool('look')],
  )
}

/** Lets the alarm ring until nothing is due before a time. */
async function until(conversation: TestConversation, time: number): Promise<void> {
  while (conversation.alarmAt <= time) await conversation.ring()
  vi.setSystemTime(time)
}

describe('an answer of 2,000 tokens', () => {
  test('takes tens of rows, and one for each commit of facts after its deltas are pruned', async () => {
    const conversation = talkative()
    await conversation.run(0)
    const rows = () => conversation.rows('SELECT length(lines) AS size FROM events')
    expect(rows().length).toBeLessThan(20)
    expect(conversation.journal(0)).toHaveLength(2012)
    await until(conversation, 10 * MINUTE)
    // The start; the first answer, the call and its result; the second answer.
    expect(rows()).toHaveLength(4)
    expect(conversation.journal(0)).toHaveLength(10)
  })
})

describe('ten minutes after its end', () => {
  test('a run has lost its deltas and keeps its facts and its record', async () => {
    const conversation = talkative()
    await conversation.run(0)
    const facts = conversation.journal(0).filter(({ type }) => !/delta|proposed/.test(type))
    const before = await conversation.object.record(runId(0), 0)
    await until(conversation, 10 * MINUTE - 1)
    expect(conversation.journal(0)).toHaveLength(2012)
    await until(conversation, 10 * MINUTE)
    expect(conversation.journal(0)).toEqual(facts)
    expect(await conversation.object.record(runId(0), 0)).toEqual(before)
    expect(before).toMatchObject({ record: { calls: [{ tool: 'look', arguments: { at: 'it' }, ok: true }] } })
    expect(conversation.alarmAt).toBe(Infinity)
  })

  test('a reader still gets all facts, also a month later and after a deleted event', async () => {
    const conversation = talkative()
    await conversation.run(0)
    const all = await conversation.events(0)
    const facts = all.filter((event) => !isNews(event))
    const lastSeq = all.findLast(({ type }) => type === 'text.delta')!.seq
    for (const time of [10 * MINUTE, 30 * DAY]) {
      await until(conversation, time)
      for (const after of [0, 1, lastSeq - 1, lastSeq]) {
        expect(await conversation.events(0, after)).toEqual(facts.filter(({ seq }) => seq > after))
      }
      expect(types(await conversation.events(0, lastSeq + 1))).toEqual(['step.finished', 'run.finished'])
      conversation.live()
      expect(await conversation.events(0)).toEqual(facts)
    }
  })

  test('a run without deltas is replayed unchanged', async () => {
    const conversation = new TestConversation(() => [{ type: 'finish', finish: 'stop' }])
    await conversation.run(0)
    const all = await conversation.events(0)
    await until(conversation, 10 * MINUTE)
    expect(await conversation.events(0)).toEqual(all)
  })

  test('a run in a conversation with a fixed end is not pruned', async () => {
    const conversation = talkative()
    await conversation.start(0, { expires: 60 * MINUTE })
    await conversation.object.record(runId(0), 10_000)
    await until(conversation, 59 * MINUTE)
    expect(conversation.journal(0)).toHaveLength(2012)
    await until(conversation, 60 * MINUTE)
    expect(conversation.store.life()).toBe('none')
  })

  test('runs are pruned one after another, each in time, while others run', async () => {
    const conversation = talkative()
    await conversation.run(0)
    vi.setSystemTime(5 * MINUTE)
    await conversation.run(1)
    vi.setSystemTime(9 * MINUTE)
    conversation.answer = (_request, signal) => hanging(signal)
    await conversation.start(2)
    await until(conversation, 10 * MINUTE)
    expect([0, 1].map((run) => conversation.journal(run).length > 100)).toEqual([false, true])
    await until(conversation, 13 * MINUTE)
    await conversation.object.cancel(runId(2))
    await until(conversation, 15 * MINUTE)
    expect([0, 1].map((run) => conversation.journal(run).length > 100)).toEqual([false, false])
  })
})

test('the faults of a run are deleted 30 days after they happened, whatever was pruned before', async () => {
  const conversation = new TestConversation(
    ({ messages }) => (messages.at(-1)?.role === 'tool' ? say('!') : ask(['look', {}])),
    [
      tool('look', () => {
        throw new Error('It is dark.')
      }),
    ],
  )
  await conversation.run(0)
  const faults = async (run = 0) => {
    const reply = await conversation.object.faults(runId(run))
    return reply.ok ? reply.faults.map(({ detail }) => detail) : undefined
  }
  expect(await faults()).toEqual([expect.stringContaining('It is dark.')])
  await until(conversation, 20 * DAY)
  await conversation.run(1)
  for (const time of [11 * MINUTE + 20 * DAY, 30 * DAY - 1]) {
    await until(conversation, time)
    expect(await faults()).toEqual([expect.stringContaining('It is dark.')])
  }
  await until(conversation, 30 * DAY)
  expect(await faults()).toEqual([])
  expect(await faults(1)).toEqual([expect.stringContaining('It is dark.')])
  await until(conversation, 50 * DAY)
  expect(await faults(1)).toEqual([])
  expect(conversation.alarmAt).toBe(Infinity)
})

describe('the definitions of tools', () => {
  /** Two finished runs with one list of tools, of 280,000 characters, and a third with another. */
  async function finished(): Promise<TestConversation> {
    const conversation = talkative()
    const { definition } = tool('look', () => 'seen', { description: 'Looks. '.repeat(40_000) })
    for (const run of [0, 1]) {
      await conversation.start(run, { tools: [definition] })
      await conversation.object.record(runId(run), 10_000)
    }
    await conversation.run(2)
    return conversation
  }

  test('of pruned runs are shortened to names and annotations, but for those of the latest run', async () => {
    const conversation = await finished()
    const sizes = () =>
      conversation.rows('SELECT length(definitions) AS size FROM toolsets').map(({ size }) => Number(size))
    const parts = () => conversation.rows('SELECT id FROM chunks').length
    expect([sizes().length, parts()]).toEqual([2, 2])
    const latest = sizes()[1]
    const before = await Promise.all([0, 1, 2].map(async (run) => conversation.object.record(runId(run), 0)))
    await until(conversation, 11 * MINUTE)
    expect(parts()).toBe(0)
    expect(sizes()).toEqual([expect.toSatisfy((size: number) => size < 200), latest])
    expect(await Promise.all([0, 1, 2].map(async (run) => conversation.object.record(runId(run), 0)))).toEqual(before)
  })

  test('of a pruned run are marked as short in the request of a step, whose messages are complete', async () => {
    const conversation = await finished()
    const requestOf = async (run: number) => {
      const reply = await conversation.object.stepRequest(runId(run), 1)
      return reply.ok ? reply.request : undefined
    }
    const before = await requestOf(0)
    expect(before).not.toHaveProperty('hasShortTools')
    await until(conversation, 11 * MINUTE)
    const after = await requestOf(0)
    expect(after).toMatchObject({ hasShortTools: true, messages: before?.messages })
    expect(after?.tools.map(({ name, description }) => [name, description])).toEqual([['look', '']])
  })

  test('of a pruned run are read again when the run is regenerated', async () => {
    const conversation = await finished()
    await until(conversation, 11 * MINUTE)
    conversation.live()
    const repeat = { runId: runId(9), caller: { tenant: 'acme', scopes: ['chat'] } }
    expect(await conversation.object.regenerate(runId(0), repeat)).toMatchObject({ ok: true })
    await conversation.object.record(runId(9), 10_000)
    expect(conversation.requests.at(-1)?.tools.map(({ name }) => name)).toEqual(['look'])
  })
})

async function* hanging(signal: AbortSignal): AsyncGenerator<ModelEvent> {
  yield { type: 'text', text: 'Well' }
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
}

describe('the alarm', () => {
  test('fires for the earliest duty and returns the duties that are due', () => {
    const times = { run: 30, expire: Infinity, prune: 20, send: 25 }
    expect(nextDue(times)).toBe(20)
    expect(isDue(times, 'prune', 20)).toBe(true)
    expect(isDue(times, 'prune', 19)).toBe(false)
    expect(isDue(times, 'expire', 1e15)).toBe(false)
  })
})
