import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { say } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'
import { settle } from '../fixtures/settle.ts'

const BEGIN = 60_000
const owner = { tenant: 'acme', id: 'conv_1', settings: {} }

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: BEGIN }))
afterEach(() => void vi.useRealTimers())

const quiet = () => new TestConversation(() => say('Done.'))
const overloaded = () => {
  throw Object.assign(new Error('Durable Object is overloaded.'), { overloaded: true })
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
    const conversation = quiet()
    conversation.onList = overloaded
    await conversation.run(0)
    expect(conversation.store.runs.record(runId(0))?.answer).toBe('Done.')
    await conversation.ring()
    expect([conversation.listed, conversation.reports[0]]).toEqual([
      [],
      {
        event: 'report.failed',
        reporter: 'listing',
        runId: '',
        attempts: 1,
        detail: 'Durable Object is overloaded.',
      },
    ])
    conversation.onList = () => {}
    while (conversation.alarmAt < Infinity && conversation.listed.length === 0) await conversation.ring()
    expect(conversation.listed).toEqual(['acme/conv_1'])
  })

  test('is listed although the storage has failed during an attempt to list it', async () => {
    const conversation = quiet()
    conversation.onList = overloaded
    await conversation.run(0)
    conversation.onList = () => {
      conversation.database.exec('ALTER TABLE notices RENAME TO elsewhere')
      conversation.onList = () => {}
    }
    while (conversation.rows("SELECT name FROM sqlite_master WHERE name = 'elsewhere'").length === 0)
      await conversation.ring()
    conversation.database.exec('ALTER TABLE elsewhere RENAME TO notices')
    conversation.onList = () => {}
    conversation.listed.length = 0
    for (let rings = 0; rings < 5 && conversation.listed.length === 0; rings += 1) await conversation.ring()
    expect(conversation.listed).toEqual(['acme/conv_1'])
  })

  test('is listed by the next instance if its object is lost before the directory has answered', async () => {
    const conversation = quiet()
    conversation.onList = () => new Promise(() => {})
    await conversation.start(0)
    await settle()
    conversation.onList = () => {}
    conversation.live()
    while (conversation.alarmAt < Infinity) await conversation.ring()
    expect(conversation.listed).toEqual(['acme/conv_1'])
  })

  test('is created within about a second while the directory does not answer', async () => {
    const conversation = quiet()
    const answer = Promise.withResolvers<void>()
    conversation.onList = () => answer.promise
    expect(await conversation.object.create(owner)).toEqual({ ok: true, created: true })
    expect([conversation.listed, conversation.alarmAt]).toEqual([[], BEGIN + 10_000])
    answer.resolve()
    await settle()
    expect(conversation.listed).toEqual(['acme/conv_1'])
  })

  test('gets its alarms although the directory never answers', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: BEGIN })
    const conversation = quiet()
    conversation.onList = () => new Promise(() => {})
    await conversation.start(0)
    await vi.advanceTimersByTimeAsync(0)
    const alarm = conversation.ring()
    await vi.advanceTimersByTimeAsync(20_000)
    await alarm
    expect(conversation.reports).toMatchObject([{ event: 'report.failed', detail: 'no answer within 10000 ms' }])
    expect(conversation.alarmAt).toBeLessThan(Infinity)
  })

  test('is not listed if it has a fixed end', async () => {
    const conversation = quiet()
    await conversation.start(0, { expires: BEGIN + 3_600_000 })
    await conversation.object.record(runId(0), 10_000)
    await conversation.ring()
    const branch = quiet()
    await branch.object.create({ ...owner, expires: BEGIN + 1000 })
    while (branch.alarmAt < Infinity) await branch.ring()
    expect([conversation.listed, branch.listed, branch.store.life()]).toEqual([[], [], 'none'])
  })

  test('is not listed any more once it is deleted', async () => {
    const conversation = quiet()
    conversation.onList = overloaded
    await conversation.object.create(owner)
    conversation.onList = () => {}
    expect(await conversation.object.remove()).toEqual({ ok: true })
    while (conversation.alarmAt < Infinity) await conversation.ring()
    expect([conversation.listed, conversation.store.life()]).toEqual([[], 'deleted'])
  })
})
