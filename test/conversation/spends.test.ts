import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Spend } from '../../src/contract/budget.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { settle } from '../fixtures/settle.ts'
import { runId, TestConversation } from './object.ts'

const BEGIN = Date.parse('2026-01-01T00:00:00Z')

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: BEGIN }))
afterEach(() => void vi.useRealTimers())

const caller = { tenant: 'acme', key: '0123456789ab', scopes: ['chat'] }
const metered = { request: { caller, budget: { tokens: 1000 } } }
const spend = (tokens: number, at = BEGIN, run = 0): Spend => ({
  run: runId(run),
  key: caller.key,
  at,
  tokens,
  cost: 0,
})

/** A conversation whose spending is recorded in `spendReports`, unless that fails. */
function metering(conversation: TestConversation): { readonly spendReports: [string, Spend][]; failing: boolean } {
  const spendReports: [string, Spend][] = []
  const meter = { spendReports, failing: false }
  conversation.count = (tenant, each) => {
    if (meter.failing) throw new Error('The directory is away')
    spendReports.push([tenant, each])
  }
  return meter
}

async function run(conversation: TestConversation, name = 0): Promise<void> {
  await conversation.start(name, metered)
  await conversation.object.record(runId(name), 10_000)
}

const quiet = () => new TestConversation(() => say('Done.'))

describe('the usage of a run', () => {
  test('is reported when the run has ended, for the key of its caller', async () => {
    const conversation = quiet()
    const { spendReports } = metering(conversation)
    await run(conversation)
    expect([spendReports, conversation.alarmAt]).toEqual([[], BEGIN + 1])
    await conversation.ring()
    expect(spendReports).toEqual([['acme', spend(15)]])
    await conversation.ring()
    expect([spendReports.length, conversation.store.unreportedSpend()]).toEqual([1, []])
  })

  test('is not reported for a key without a budget', async () => {
    const conversation = quiet()
    const { spendReports } = metering(conversation)
    await conversation.start(0, { request: { caller } })
    await conversation.object.record(runId(0), 10_000)
    await conversation.ring()
    expect(spendReports).toEqual([])
  })

  test('survives the object, because it is written with the end of the run', async () => {
    const conversation = quiet()
    const { spendReports } = metering(conversation)
    await run(conversation)
    conversation.live()
    await conversation.ring()
    expect(spendReports).toEqual([['acme', spend(15)]])
  })

  test('is reported until that succeeds, with the time of the usage', async () => {
    const conversation = quiet()
    const meter = metering(conversation)
    meter.failing = true
    await run(conversation)
    const at: number[] = []
    for (let before = 0; at.length < 10; before = conversation.reports.length) {
      await conversation.ring()
      if (conversation.reports.length > before) at.push(Date.now() - BEGIN)
      conversation.live()
    }
    // Half an hour apart in the end, and up to half as long again, as the id of the conversation says.
    const waits = at.slice(1).map((time, index) => Math.round((time - (at[index] ?? 0)) / 1000))
    expect(waits).toEqual([6, 38, 377, 2264, 2264, 2264, 2264, 2264, 2264])
    const entries = conversation.reports.map(({ event, reporter, attempts, detail }) => [
      event,
      reporter,
      attempts,
      detail,
    ])
    expect(entries).toEqual(
      at.map((_, index) => [
        index < 7 ? 'report.failed' : 'report.overdue',
        ...['spending', index + 1, 'The directory is away'],
      ]),
    )
    meter.failing = false
    while (meter.spendReports.length === 0) await conversation.ring()
    expect(meter.spendReports).toEqual([['acme', spend(15)]])
  })

  test('holds up no alarm while the directory hangs, and is reported again after ten seconds', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: BEGIN })
    const conversation = quiet()
    const { count } = conversation
    let attempts = 0
    conversation.count = () => ((attempts += 1), new Promise(() => {}))
    await conversation.start(0, metered)
    await settle()
    await conversation.ringAlone()
    await settle()
    expect([attempts, conversation.alarmAt]).toEqual([1, Date.now() + 10_000])
    await vi.advanceTimersByTimeAsync(10_000)
    expect(conversation.reports).toMatchObject([{ event: 'report.failed', detail: 'no answer within 10000 ms' }])
    conversation.count = count
    while (conversation.store.unreportedSpend().length > 0) await conversation.ring()
    expect(Date.now() - BEGIN).toBeLessThan(20_000)
  })

  test('is reported when the run waits, and the rest when it has ended', async () => {
    const conversation = new TestConversation(
      ({ messages }) => (messages.length > 1 ? say('Paid.') : ask(['pays'])),
      [tool('pays', () => 'paid', { approval: 'always' })],
    )
    const { spendReports } = metering(conversation)
    await run(conversation)
    await conversation.ring()
    const callId = `call_${runId(0).slice(4)}_1_0`
    await conversation.object.answer(runId(0), { [callId]: { decision: 'approve' } })
    await conversation.object.record(runId(0), 10_000)
    await conversation.ring()
    expect(spendReports.map(([, { tokens }]) => tokens)).toEqual([15, 30])
  })

  test('includes a cancelled answer, as the model reported it or estimated', async () => {
    const speaking = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
    const conversation = new TestConversation(async function* speak({ messages }, signal) {
      const isWhole = messages.at(-1)?.content === 'whole'
      yield* isWhole ? say('All of it.') : [{ type: 'text', text: 'Half of' } as const]
      speaking[isWhole ? 1 : 0].resolve()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
    const { spendReports } = metering(conversation)
    await conversation.start(0, metered)
    await speaking[0].promise
    await conversation.object.cancel(runId(0))
    const input = [{ role: 'user' as const, content: 'whole' }]
    await conversation.start(1, { request: { ...metered.request, input } })
    await speaking[1].promise
    await conversation.object.cancel(runId(1))
    await conversation.start(2, { request: { caller } })
    await conversation.object.cancel(runId(2))
    await conversation.ring()
    expect(spendReports.map(([, { tokens }]) => tokens)).toEqual([6 + 2, 15])
    expect(conversation.journal(0).map(({ type }) => type)).toContain('answer.cut')
    expect(conversation.journal(2).map(({ type }) => type)).not.toContain('answer.cut')
  })

  test('is reported for cancelled and failed runs', async () => {
    const calling = Promise.withResolvers<void>()
    const conversation = new TestConversation(
      ({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? [{ type: 'error', error: { code: 'model_failed', message: 'No.', retryable: false } }]
          : ask(['slow']),
      [
        tool('slow', (_args, { runId: id }, control) => {
          if (id === runId(1)) return 'done'
          calling.resolve()
          return control.whenAborted()
        }),
      ],
    )
    const { spendReports } = metering(conversation)
    await conversation.start(0, metered)
    await calling.promise
    await conversation.object.cancel(runId(0))
    await run(conversation, 1)
    await conversation.ring()
    expect(spendReports.map(([, each]) => each)).toEqual([spend(15), spend(15, BEGIN, 1)])
  })
})

describe('a conversation that is deleted', () => {
  test('first reports the usage of its runs, including those that the deletion cancels', async () => {
    const calling = Promise.withResolvers<void>()
    const conversation = new TestConversation(
      () => ask(['slow']),
      [
        tool('slow', (_args, _context, control) => {
          calling.resolve()
          return control.whenAborted()
        }),
      ],
    )
    const { spendReports } = metering(conversation)
    await conversation.start(0, metered)
    await calling.promise
    expect(await conversation.object.remove()).toEqual({ ok: true })
    expect([spendReports, conversation.store.life()]).toEqual([[['acme', spend(15)]], 'deleted'])
  })

  test('stays while the report fails', async () => {
    const conversation = quiet()
    const meter = metering(conversation)
    meter.failing = true
    await run(conversation)
    await expect(conversation.object.remove()).rejects.toThrow('The directory is away')
    expect(conversation.store.life()).toBe('open')
    meter.failing = false
    expect(await conversation.object.remove()).toEqual({ ok: true })
    expect(meter.spendReports).toHaveLength(1)
  })

  test('by its expiry reports usage first too', async () => {
    const conversation = quiet()
    const meter = metering(conversation)
    meter.failing = true
    await conversation.start(0, { ...metered, expires: BEGIN + 1000 })
    await conversation.object.record(runId(0), 10_000)
    while (Date.now() < BEGIN + 60_000) await conversation.ring()
    expect(conversation.store.life()).toBe('open')
    meter.failing = false
    while (conversation.alarmAt < Infinity) await conversation.ring()
    expect([conversation.store.life(), meter.spendReports.length]).toEqual(['none', 1])
  })
})
