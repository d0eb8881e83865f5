import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { say } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'

const BEGIN = 60_000
const owner = { tenant: 'acme', id: 'conv_1', settings: {} }

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: BEGIN }))
afterEach(() => void vi.useRealTimers())

const quiet = () => new TestConversation(() => say('Done.'))
const overloaded = () => {
  throw Object.assign(new Error('Durable Object is overloaded.'), { overloaded: true })
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
}

describe('a new conversation', () => {
  test('is listed once by its own object, when it is created or when its first run is accepted', async () => {
    const created = quiet()
    await created.object.create(owner)
    expect([created.listed, created.alarmAt]).toEqual([['acme/conv_1'], Infinity])
    const started = quiet()
    await started.run(0)
    await started.run(1)
    while (started.alarmAt < Infinity) await started.ring()
    expect(started.listed).toEqual(['acme/conv_1'])
  })

  test('accepts its run while the directory refuses, and is listed by the alarm', async () => {
    const there = quiet()
    there.onList = overloaded
    await there.run(0)
    expect(there.store.runs.record(runId(0))?.answer).toBe('Done.')
    await there.ring()
    expect([there.listed, there.reports[0]]).toEqual([
      [],
      {
        event: 'report.failed',
        reporter: 'listing',
        runId: '',
        attempts: 1,
        detail: 'Durable Object is overloaded.',
      },
    ])
    there.onList = () => {}
    while (there.alarmAt < Infinity && there.listed.length === 0) await there.ring()
    expect(there.listed).toEqual(['acme/conv_1'])
  })

  test('is listed by the next instance if its object is lost before the directory has answered', async () => {
    const there = quiet()
    there.onList = () => new Promise(() => {})
    await there.start(0)
    await settle()
    there.onList = () => {}
    there.live()
    while (there.alarmAt < Infinity) await there.ring()
    expect(there.listed).toEqual(['acme/conv_1'])
  })

  test('is created within about a second while the directory does not answer', async () => {
    const there = quiet()
    const answer = Promise.withResolvers<void>()
    there.onList = () => answer.promise
    expect(await there.object.create(owner)).toEqual({ ok: true, created: true })
    expect([there.listed, there.alarmAt]).toEqual([[], BEGIN + 10_000])
    answer.resolve()
    await settle()
    expect(there.listed).toEqual(['acme/conv_1'])
  })

  test('gets its alarms although the directory never answers', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: BEGIN })
    const there = quiet()
    there.onList = () => new Promise(() => {})
    await there.start(0)
    await vi.advanceTimersByTimeAsync(0)
    const alarm = there.ring()
    await vi.advanceTimersByTimeAsync(20_000)
    await alarm
    expect(there.reports).toMatchObject([{ event: 'report.failed', detail: 'no answer within 10000 ms' }])
    expect(there.alarmAt).toBeLessThan(Infinity)
  })

  test('is not listed if it has a fixed end', async () => {
    const there = quiet()
    await there.start(0, { expires: BEGIN + 3_600_000 })
    await there.object.record(runId(0), 10_000)
    await there.ring()
    const branch = quiet()
    await branch.object.create({ ...owner, expires: BEGIN + 1000 })
    while (branch.alarmAt < Infinity) await branch.ring()
    expect([there.listed, branch.listed, branch.store.life()]).toEqual([[], [], 'none'])
  })

  test('is not listed any more once it is deleted', async () => {
    const there = quiet()
    there.onList = overloaded
    await there.object.create(owner)
    there.onList = () => {}
    expect(await there.object.remove()).toEqual({ ok: true })
    while (there.alarmAt < Infinity) await there.ring()
    expect([there.listed, there.store.life()]).toEqual([[], 'deleted'])
  })
})
