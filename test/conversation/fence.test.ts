import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { CallStatus, Tool } from '../../src/contract/tool.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { settle } from '../fixtures/settle.ts'
import { runId, TestConversation } from './object.ts'

const SECOND = 1000
/** When the calls are sent; each may take 30 seconds. */
const START = 60 * SECOND
const FENCE = START + 31 * SECOND

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: START }))
afterEach(() => void vi.useRealTimers())

interface World {
  readonly conversation: TestConversation
  /** The tools that were sent a call, with the number of the attempt. */
  readonly attempts: string[]
  /** The tools that were asked about one. */
  readonly questions: string[]
  /** What they answer. */
  status: CallStatus
}

/** A conversation whose object is lost while calls of these tools are under way, a second after they were sent. */
async function interrupted(
  definitions: Readonly<Record<string, Tool['definition']['annotations'] | 'reconcile'>>,
): Promise<World> {
  const [attempts, questions]: [string[], string[]] = [[], []]
  const tools = Object.entries(definitions).map(([name, kind]): Tool => {
    const isAsked = kind === 'reconcile'
    const work = (_: unknown, { attempt }: { attempt: number }) => {
      attempts.push(`${name} ${attempt}`)
      return attempt === 1 ? new Promise<never>(() => {}) : `did ${name}`
    }
    const status = async () => {
      questions.push(name)
      return world.status
    }
    const terms = isAsked ? { reconcile: true } : { annotations: kind }
    return { ...tool(name, work, terms), ...(isAsked && { status }) }
  })
  let answers = 0
  const calls = tools.map(({ definition }) => [definition.name] as [string])
  const conversation = new TestConversation(() => (answers++ === 0 ? ask(...calls) : say('Done.')), tools)
  const world: World = { conversation, attempts, questions, status: 'unknown' }
  await conversation.start(0)
  await settle()
  vi.setSystemTime(START + SECOND)
  return world
}

async function resume({ conversation, attempts }: World): Promise<void> {
  attempts.length = 0
  conversation.live()
  await settle()
}

/** Rings the alarms up to the fence of the calls, and returns when the run ended. */
async function ringUntilEnd({ conversation }: World): Promise<number> {
  while (conversation.alarmAt <= FENCE && !conversation.store.runs.record(runId(0))) {
    await conversation.ring()
    await settle()
  }
  expect(conversation.store.runs.record(runId(0))?.status).toBe('completed')
  return Date.now()
}

/** What each call was settled with, in the order of that. */
function outcomes({ conversation }: World): readonly string[] {
  return conversation.journal(0).flatMap((event) => {
    return event.type === 'call.settled' ? [`${event.tool} ${event.ok ? 'ok' : event.error?.code}`] : []
  })
}

describe('calls in flight as their object was lost', () => {
  test('continue each by what its tool declares: only one that repeats an effect waits until its deadline', async () => {
    const world = await interrupted({
      book: { idempotent: true },
      look: { readOnly: true },
      pay: 'reconcile',
      send: {},
    })
    world.status = { ok: true, content: [{ type: 'text', text: 'paid' }] }
    await resume(world)
    expect(outcomes(world)).toEqual(['pay ok', 'send outcome_unknown', 'look ok'])
    expect([world.attempts, world.questions]).toEqual([['look 2'], ['pay']])
  })

  test('have their idempotent one sent again by the alarm of its fence, if it is the only one that is open', async () => {
    const world = await interrupted({ book: { idempotent: true } })
    await resume(world)
    expect(world.attempts).toEqual([])
    expect([await ringUntilEnd(world), world.attempts]).toEqual([FENCE, ['book 2']])
  })

  test('are looked up at once, and again after their fence before one that is absent is sent', async () => {
    const world = await interrupted({ pay: 'reconcile' })
    world.status = 'absent'
    await resume(world)
    expect([world.questions, world.attempts, outcomes(world)]).toEqual([['pay'], [], []])
    expect(await ringUntilEnd(world)).toBe(FENCE)
    expect([world.questions, world.attempts]).toEqual([['pay', 'pay'], ['pay 2']])
  })

  test('are not sent if they took effect after they were looked up for the first time', async () => {
    const world = await interrupted({ pay: 'reconcile' })
    world.status = 'absent'
    await resume(world)
    world.status = 'done'
    expect(await ringUntilEnd(world)).toBe(FENCE)
    expect([world.attempts, outcomes(world)]).toEqual([[], ['pay ok']])
  })

  test('are no interruptions of their run while it rests, however often its object is lost', async () => {
    const world = await interrupted({ book: { idempotent: true } })
    for (let loss = 0; loss < 8; loss++) await resume(world)
    expect(world.conversation.store.runs.row(runId(0))).toMatchObject({ interrupted: 0, resumes: 0 })
    expect(await ringUntilEnd(world)).toBe(FENCE)
  })

  test('are left alone once their run is cancelled, also while one waits for its fence', async () => {
    const world = await interrupted({ book: { idempotent: true }, look: { readOnly: true } })
    await resume(world)
    expect(await world.conversation.object.cancel(runId(0))).toEqual({ ok: true, status: 'cancelled' })
    expect(world.attempts).toEqual(['look 2'])
  })
})
