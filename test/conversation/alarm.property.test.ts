import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { isTerminal, type RunStatus } from '../../src/contract/run.ts'
import { Chance } from '../faults/chance.ts'
import type { Deferral, Tool, ToolOutcome } from '../../src/contract/tool.ts'
import { ask, id, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'
import { settle } from '../fixtures/settle.ts'

const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3_600_000]
const START = 60_000

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: START }))
afterEach(() => void vi.useRealTimers())

/** The times at which the contract promises something, computed from the rows alone. */
function dueTimes(conversation: TestConversation): Record<string, number> {
  const { store } = conversation
  if (store.life() !== 'open') return {}
  const runs = conversation.rows('SELECT id, status, ended, pruned FROM runs ORDER BY place') as {
    id: string
    status: RunStatus
    ended: number | null
    pruned: number | null
  }[]
  const current = runs.find(({ status }) => !isTerminal(status))
  const waits = current && conversation.journal(current.id.slice(4)).filter((event) => event.type === 'run.waiting')
  const expires = Math.min(store.time('expires'), store.time('idle'))
  const unpruned = runs.filter(({ ended, pruned }) => ended !== null && pruned === null).map(({ ended }) => ended ?? 0)
  return {
    watchdog: current && current.status !== 'waiting' ? Date.now() + 10 * SECOND : Infinity,
    approval: current?.status === 'waiting' ? (waits?.at(-1)?.at ?? 0) + 24 * HOUR : Infinity,
    expiry: current && current.status !== 'waiting' ? Infinity : expires,
    pruning: store.time('expires') < Infinity ? Infinity : Math.min(...unpruned) + 10 * MINUTE,
    webhook: store.outbox.nextDue(),
  }
}

/** Lets the alarm ring. Returns when that was. */
async function ringAt(conversation: TestConversation): Promise<number> {
  await conversation.ring()
  await settle()
  return Date.now()
}

/** Lets random things happen to a conversation, and compares the alarm with what is due after each. */
async function play(seed: number): Promise<void> {
  const chance = new Chance(seed)
  const done: string[] = []
  const conversation = new TestConversation(
    ({ messages }) => {
      const last = messages.at(-1)
      if (last?.role === 'tool') return say('Done.')
      return last?.content === 'pay' ? ask(['pays', { a: 1 }], ['pays', { a: 2 }]) : say('Hello.')
    },
    [tool('pays', () => 'paid', { approval: 'always' })],
  )
  conversation.webhook = { secret: 'secret', hosts: [] }
  await conversation.object.create({
    tenant: 'acme',
    id: 'conv_1',
    settings: {
      ...(chance.isHit(0.7) && { ttlSeconds: chance.pick([600, 3600, 72 * 3600]) }),
      ...(chance.isHit(0.3) && { webhook: 'https://hooks.example.com/' }),
    },
    ...(chance.isHit(0.2) && { expires: START + 90 * HOUR }),
  })
  let runs = 0
  const isOpen = () => conversation.store.life() === 'open'
  const things: readonly [string, () => unknown][] = [
    ['start', () => conversation.start(runs++, { request: { input: [{ role: 'user', content: 'hi' }] } })],
    ['pay', () => conversation.start(runs++, { request: { input: [{ role: 'user', content: 'pay' }] } })],
    ['steer', () => conversation.start(runs++, { onBusy: 'steer' })],
    ['decide', () => decideOne(conversation)],
    ['cancel', () => runs > 0 && conversation.object.cancel(runId(chance.between(0, runs - 1)))],
    ['read', () => conversation.object.messages({ limit: 10 })],
    ['evict', () => conversation.live()],
    ['lose the alarm and evict', () => ((conversation.alarmAt = Infinity), conversation.live())],
    ['fail to store', () => failOnce(conversation)],
    ['wait', () => vi.setSystemTime(Math.min(conversation.alarmAt, Date.now() + chance.between(1, 30 * HOUR)))],
    ['ring', () => (conversation.alarmAt < Infinity ? conversation.ring() : undefined)],
  ]
  for (let step = 0; step < 25 && isOpen(); step++) {
    const [name, happen] = things[chance.between(0, things.length - 1)]!
    done.push(name)
    await Promise.resolve(happen()).catch(() => {})
    await settle()
    const due = dueTimes(conversation)
    const earliest = Math.min(Infinity, ...Object.values(due))
    const what = `seed ${seed}, after ${done.join(', ')}: ${JSON.stringify(due)} at ${Date.now()}`
    expect(conversation.alarmAt, what).toBeLessThanOrEqual(Math.max(earliest, Date.now() + 1))
  }
}

async function decideOne(conversation: TestConversation): Promise<void> {
  for (const { id } of conversation.rows("SELECT id FROM runs WHERE status = 'waiting'") as { id: string }[]) {
    const reply = await conversation.object.record(id, 0)
    const call = reply.ok ? reply.record.calls.find(({ status }) => status === 'approval') : undefined
    if (call) await conversation.object.answer(id, { [call.id]: { decision: 'approve' } })
  }
}

/** The disk fails when a transaction is committed, which undoes all that it did, the alarm included. */
async function failOnce(conversation: TestConversation): Promise<void> {
  const { alarmAt } = conversation
  const exec = conversation.database.exec.bind(conversation.database)
  const spy = vi.spyOn(conversation.database, 'exec').mockImplementation((query) => {
    if (query !== 'RELEASE level_0') return exec(query)
    spy.mockRestore()
    conversation.alarmAt = alarmAt
    throw new Error('no disk')
  })
  await conversation.start('failing').catch(() => {})
  spy.mockRestore()
}

describe('the alarm of a conversation', () => {
  test('stays at the expiry of a second approval when an evicted object is used again', async () => {
    const conversation = new TestConversation(
      ({ messages }) => (messages.at(-1)?.role === 'tool' ? say('Done.') : ask(['pays', { a: 1 }], ['pays', { a: 2 }])),
      [tool('pays', () => 'paid', { approval: 'always' })],
    )
    const settings = { ttlSeconds: 72 * 3600 }
    await conversation.object.create({ tenant: 'acme', id: 'conv_1', settings })
    await conversation.start(0)
    await settle()
    while (conversation.alarmAt < START + HOUR) await conversation.ring()
    expect(conversation.alarmAt).toBe(START + 24 * HOUR)
    vi.setSystemTime(START + HOUR)
    conversation.live()
    await settle()
    await decideOne(conversation)
    expect(conversation.alarmAt).toBe(START + 24 * HOUR)
  })

  test('rings for a poll although another tool of its step has reported during the poll before', async () => {
    const polls: PromiseWithResolvers<ToolOutcome>[] = []
    const lateTool = (name: string, deferral: Deferral, poll?: Tool['poll']): Tool => ({
      ...tool(name, () => ({ ok: false, error: { code: 'later', message: 'Later.' }, later: deferral }), {
        later: true,
      }),
      ...(poll && { poll }),
    })
    const poll = () => {
      const outcome = Promise.withResolvers<ToolOutcome>()
      polls.push(outcome)
      return outcome.promise
    }
    const conversation = new TestConversation(
      ({ messages }) => (messages.at(-1)?.role === 'tool' ? say('Done.') : ask(['polled'], ['patient'])),
      [lateTool('polled', { within: HOUR, poll: 3000 }, poll), lateTool('patient', { within: HOUR })],
      {},
      { make: async () => ({ token: 'token' }), read: async () => undefined, filter: undefined },
    )
    await conversation.run(0)
    while (polls.length === 0) await conversation.ring()
    await settle()
    const outcome: ToolOutcome = { ok: true, content: [] }
    await conversation.object.report(runId(0), id(1, 1), { outcome })
    // The watchdog, and another one if the object is lost now; the poll itself sets the alarm when it returns.
    const rings = [Date.now(), await ringAt(conversation), await ringAt(conversation)]
    expect(rings.map((at) => at - START)).toEqual([3000, 13_000, 46_000])
    polls[0]?.resolve({ ok: false, error: { code: 'timeout', message: 'No answer.' } })
    await settle()
    await ringAt(conversation)
    polls[1]?.resolve(outcome)
    await settle()
    expect(conversation.store.runs.row(runId(0))?.status).toBe('completed')
  })

  test('is set again and reported if the platform refuses it', async () => {
    const conversation = new TestConversation(() => say('Hello.'))
    await conversation.object.create({ tenant: 'acme', id: 'conv_1', settings: {} })
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: START })
    let refusals = 2
    conversation.onSetAlarm = () => {
      if (refusals-- > 0) throw new Error('The platform is busy.')
    }
    conversation.alarmAt = Infinity
    conversation.answer = async function* () {
      yield await new Promise<never>(() => {})
    }
    await conversation.start(0)
    for (let second = 0; second < 3; second++) {
      expect(conversation.alarmAt).toBe(Infinity)
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(conversation.alarmAt).toBe(START + 3000 + 10 * SECOND)
    expect(conversation.reports.filter(({ event }) => event === 'alarm.failed')).toEqual([
      { event: 'alarm.failed', detail: 'The platform is busy.' },
      { event: 'alarm.failed', detail: 'The platform is busy.' },
    ])
  })

  test.each(['messages', 'record'] as const)('that was lost is set again by a request for the %s', async (request) => {
    const conversation = new TestConversation(
      ({ messages }) => (messages.at(-1)?.role === 'tool' ? say('Done.') : ask(['pays', {}])),
      [tool('pays', () => 'paid', { approval: 'always' })],
    )
    await conversation.start(0)
    await settle()
    while (conversation.alarmAt < START + HOUR) await ringAt(conversation)
    conversation.alarmAt = Infinity
    vi.setSystemTime(START + 25 * HOUR)
    await (request === 'record' ? conversation.object.record(runId(0), 0) : conversation.object.messages({ limit: 1 }))
    await settle()
    expect(conversation.alarmAt).toBe(START + 25 * HOUR + 1)
  })

  test('rings for usage that was left unreported without an alarm, after any request', async () => {
    const conversation = new TestConversation(() => say('Hello.'))
    const counted: unknown[] = []
    conversation.count = (_tenant, { tokens }) => void counted.push(tokens)
    const caller = { tenant: 'acme', key: '0123456789ab', scopes: ['chat'] }
    await conversation.start(0, { request: { budget: { tokens: 1000 }, caller } })
    await settle()
    conversation.alarmAt = Infinity
    conversation.live()
    await conversation.object.messages({ limit: 1 })
    await settle()
    await ringAt(conversation)
    expect(counted).toEqual([15])
  })

  test('is never later than the earliest duty, after any events and evictions', async () => {
    for (let seed = 1; seed <= 60; seed++) {
      vi.setSystemTime(START)
      await play(seed)
    }
  })
})
