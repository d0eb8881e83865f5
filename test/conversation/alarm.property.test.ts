import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { isTerminal, type RunStatus } from '../../src/contract/run.ts'
import { Chance } from '../faults/chance.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'

const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3_600_000]
const START = 60_000

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: START }))
afterEach(() => void vi.useRealTimers())

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
}

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
    expect(conversation.alarmAt, what).toBeLessThanOrEqual(Math.max(earliest, Date.now()))
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

  test('is never later than the earliest duty, after any events and evictions', async () => {
    for (let seed = 1; seed <= 60; seed++) {
      vi.setSystemTime(START)
      await play(seed)
    }
  }, 120_000)
})
