import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { say } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'
import { eventually } from '../fixtures/eventually.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_000_000 }))
afterEach(() => void vi.useRealTimers())

const NAMES = Array.from({ length: 21 }, (_, index) => index + 1)

/** A model that never answers: what its instance has under way ends with the instance. */
async function* silence() {
  await new Promise(() => {})
  yield* say('')
}

/** A conversation in which one run is under way and 20 wait for it. */
async function crowded(): Promise<TestConversation> {
  const conversation = new TestConversation(silence)
  for (const name of NAMES)
    await conversation.start(name, { request: { input: [{ role: 'user', content: `No. ${name}` }] } })
  await eventually(() => expect(conversation.requests).toHaveLength(1))
  return conversation
}

/** The outcome of each run: its status, its answer and how often it started and ended. */
async function outcomes(conversation: TestConversation): Promise<unknown[]> {
  const records = []
  for (const name of NAMES) {
    const reply = await conversation.object.record(runId(name), 10_000)
    const types = conversation.journal(name).map(({ type }) => type)
    const count = (type: string) => types.filter((each) => each === type).length
    records.push([
      reply.ok && reply.record.status,
      reply.ok && reply.record.answer,
      count('run.started'),
      count('run.finished'),
    ])
  }
  return records
}

const ONCE = NAMES.map((name) => ['completed', `To no. ${name}`, 1, 1])

/** Answers each run by what it asked. */
const answering: TestConversation['answer'] = ({ messages }) => {
  const { content } = messages.at(-1) ?? {}
  return say(`To no. ${typeof content === 'string' ? content.replace('No. ', '') : ''}`)
}

describe('a conversation in which 20 runs wait', () => {
  test('ends each of them once, in their order, after its object was lost', async () => {
    const conversation = await crowded()
    conversation.answer = answering
    conversation.live()
    expect(await outcomes(conversation)).toEqual(ONCE)
    const users = conversation.requests.map(({ messages }) => messages.at(-1)?.content)
    expect(users).toEqual(['No. 1', ...NAMES.map((name) => `No. ${name}`)])
  })

  test('ends each of them once if the object is lost twice more while it recovers', async () => {
    const conversation = await crowded()
    for (const requests of [2, 3]) {
      conversation.live()
      await eventually(() => expect(conversation.requests).toHaveLength(requests))
    }
    conversation.answer = answering
    conversation.live()
    expect(await outcomes(conversation)).toEqual(ONCE)
    expect(conversation.journal(1).filter(({ type }) => type === 'step.restarted')).toHaveLength(3)
  })

  test('parks the run that is lost with its object each time, and ends the others', async () => {
    const conversation = await crowded()
    for (const requests of [2, 3, 4]) {
      conversation.live()
      await eventually(() => expect(conversation.requests).toHaveLength(requests))
    }
    conversation.answer = answering
    conversation.live()
    const [first, ...others] = await outcomes(conversation)
    expect(first).toEqual(['parked', '', 1, 0])
    expect(others).toEqual(ONCE.slice(1))
  })
})

describe('storage that fails in the alarm', () => {
  test('is tried again by the next alarm, and nothing is lost', async () => {
    const conversation = new TestConversation(answering)
    for (const name of NAMES.slice(0, 3)) await conversation.run(name, `No. ${name}`)
    while (conversation.alarmAt - Date.now() < 5 * 60_000) await conversation.ring()
    let failures = 0
    conversation.onTransaction = (moment) => {
      if (moment === 'after') return
      failures += 1
      throw new Error('database or disk is full')
    }
    await conversation.ring()
    expect(failures).toBeGreaterThan(0)
    expect(conversation.reports).toMatchObject([
      { event: 'conversation.failed', detail: 'Error: database or disk is full' },
    ])
    expect(conversation.alarmAt).toBeLessThan(Infinity)
    expect(conversation.rows('SELECT pruned FROM runs')).toEqual([{ pruned: null }, { pruned: null }, { pruned: null }])
    conversation.onTransaction = () => {}
    await conversation.ring()
    expect(conversation.rows('SELECT count(pruned) AS pruned FROM runs')).toEqual([{ pruned: 3 }])
    for (const name of NAMES.slice(0, 3)) {
      expect(await conversation.object.record(runId(name), 0)).toMatchObject({ record: { status: 'completed' } })
    }
  })
})
