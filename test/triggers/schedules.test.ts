import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { StartRequest } from '../../src/contract/conversation.ts'
import type { Setup } from '../../src/contract/setup.ts'
import { eventually } from '../fixtures/eventually.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { SchedulesWorld } from './schedules-world.ts'
import { settle } from '../fixtures/settle.ts'

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000]
/** A Thursday. */
const START = Date.parse('2026-01-01T00:00:00Z')
const iso = (time: number) => new Date(time).toISOString()
const RUN = { input: 'Write the report.' }

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: START }))
afterEach(() => void vi.useRealTimers())

/** The outcomes of a schedule, the oldest first. */
async function history(world: SchedulesWorld, name: string): Promise<any[]> {
  return (await world.ask(`/schedules/${name}`)).body.history.toReversed()
}

const outcomesOf = (entries: readonly any[]) => entries.map(({ outcome, due }) => [outcome, due])

describe('a schedule', () => {
  test('starts a run at each of its times in its time zone, and links to it', async () => {
    const world = new SchedulesWorld()
    const definition = { cron: '0 8 * * 1-5', timeZone: 'Europe/Berlin', run: RUN }
    expect(await world.put('report', definition)).toEqual({
      status: 201,
      body: {
        ...definition,
        name: 'report',
        overlap: 'skip',
        missed: 'once',
        paused: false,
        ...{ asks: RUN.input, recent: [] },
        identity: { scopes: expect.arrayContaining(['chat', 'schedules']) },
        next: '2026-01-01T07:00:00.000Z',
        history: [],
      },
    })
    await world.passUntil(START + 4 * DAY)
    const { body } = await world.ask('/schedules/report')
    expect(body.next).toBe('2026-01-05T07:00:00.000Z')
    expect(outcomesOf(body.history)).toEqual([
      ['started', '2026-01-02T07:00:00.000Z'],
      ['started', '2026-01-01T07:00:00.000Z'],
    ])
    expect(body.last).toEqual(body.history[0])
    expect(world.accepted).toEqual(
      body.history.toReversed().map(({ run, conversation }: any) => ({ run, conversation })),
    )
    const [{ run, conversation }] = body.history
    const record = await world.ask(`/conversations/${conversation}/runs/${run}`)
    expect(record).toMatchObject({ status: 200, body: { id: run, status: 'completed', answer: 'Hello.' } })
    // They are not listed among the tenant's conversations.
    expect((await world.ask('/conversations')).body).toEqual([])
  })

  test('starts one run at a time, and is removed a month later', async () => {
    const world = new SchedulesWorld()
    const { body } = await world.put('once', { at: '2026-01-01T01:00:00+01:00', run: RUN })
    expect(body).toMatchObject({ status: 400, code: 'time_passed' })
    expect((await world.put('once', { at: '2026-01-01T03:00:00+01:00', run: RUN })).body.next).toBe(
      iso(START + 2 * HOUR),
    )
    await world.passUntil(START + DAY)
    const after = (await world.ask('/schedules/once')).body
    expect(after).not.toHaveProperty('next')
    expect(outcomesOf(after.history)).toEqual([['started', iso(START + 2 * HOUR)]])
    await world.passUntil(START + 32 * DAY)
    expect((await world.ask('/schedules/once')).status).toBe(404)
    expect(world.alarmAt).toBe(Infinity)
  })

  test('starts a run every so many seconds, counted from when it was stored, also if it is stored again', async () => {
    const world = new SchedulesWorld()
    const definition = { everySeconds: 90, run: RUN, conversation: 'diary' }
    expect((await world.put('diary', definition)).body).toMatchObject({ code: 'unknown_conversation' })
    await world.ask('/conversations', { method: 'POST', json: { id: 'diary' } })
    await world.put('diary', definition)
    vi.setSystemTime(START + 80 * SECOND)
    const second = await world.put('diary', { ...definition, run: { input: 'Go on.' } })
    expect([second.status, second.body.next]).toEqual([200, iso(START + 90 * SECOND)])
    await world.passUntil(START + 5 * MINUTE)
    expect(outcomesOf(await history(world, 'diary'))).toEqual(
      [90, 180, 270].map((seconds) => ['started', iso(START + seconds * SECOND)]),
    )
    const messages = (await world.ask('/conversations/diary/messages')).body.map(({ message }: any) => message.content)
    expect(messages).toEqual(['Go on.', 'Hello.', 'Go on.', 'Hello.', 'Go on.', 'Hello.'])
  })

  test.each<[object, string, object]>([
    [{ cron: '0 8 * * *' }, 'run', { code: 'invalid_request', detail: expect.stringContaining('run') }],
    [{ run: RUN }, 'cron', { detail: expect.stringContaining('exactly one of') }],
    [
      { cron: '0 8 * * *', at: '2026-02-01T00:00Z', run: RUN },
      'cron',
      { detail: expect.stringContaining('exactly one') },
    ],
    [{ cron: '0 0 8 * * *', run: RUN }, 'cron', { detail: expect.stringContaining('five fields') }],
    [{ cron: '61 8 * * *', run: RUN }, 'cron', { detail: expect.stringContaining('61') }],
    [{ cron: '2026-02-01T00:00:00', run: RUN }, 'cron', { detail: expect.stringContaining('five fields') }],
    [{ cron: '0 8 * * *', timeZone: 'Mars/Base', run: RUN }, 'timeZone', { detail: expect.stringContaining('IANA') }],
    [{ everySeconds: 59, run: RUN }, 'everySeconds', { detail: expect.stringContaining('from 60') }],
    [{ everySeconds: 60, timeZone: 'UTC', run: RUN }, 'timeZone', {}],
    [{ at: '2026-02-30T00:00:00Z', run: RUN }, 'at', {}],
    [{ at: '2026-02-01T00:00:00', run: RUN }, 'at', { detail: expect.stringContaining('offset') }],
    [{ everySeconds: 60, run: { ...RUN, limits: { steps: 0 } } }, 'run.limits.steps', {}],
    [{ everySeconds: 60, run: RUN, conversation: 'x', keepDays: 3 }, 'keepDays', {}],
    [{ everySeconds: 60, run: RUN, overlap: 'all' }, 'overlap', {}],
  ])('is refused that is %j, because of %s', async (definition, param, problem) => {
    const world = new SchedulesWorld()
    expect(await world.put('report', definition)).toMatchObject({ status: 400, body: { param, ...problem } })
    expect(await world.ask('/schedules')).toEqual({ status: 200, body: [] })
    // Nothing is written by a request that is refused.
    expect(world.rowsWritten()).toBe(0)
  })

  test('is refused whose model the edge does not serve, and whose times never come', async () => {
    const world = new SchedulesWorld({ vars: { MODELS: 'test/scripted' } })
    const put = async (definition: object) => (await world.put('x', { run: RUN, ...definition })).body.code
    expect(await put({ everySeconds: 60, run: { ...RUN, model: 'acme/unknown' } })).toBe('unknown_model')
    expect(await put({ cron: '0 0 31 2 *' })).toBe('time_passed')
  })

  test('is listed by name, read, and removed', async () => {
    const world = new SchedulesWorld()
    for (const name of ['c', 'a', 'b']) await world.put(name, { everySeconds: 60, run: RUN })
    const names = async (query = '') => (await world.ask(`/schedules${query}`)).body.map(({ name }: any) => name)
    expect(await names()).toEqual(['a', 'b', 'c'])
    expect(await names('?after=a&limit=1')).toEqual(['b'])
    expect((await world.ask('/schedules')).body[0]).not.toHaveProperty('run')
    expect((await world.ask('/schedules/b', { method: 'DELETE' })).status).toBe(204)
    expect((await world.ask('/schedules/b', { method: 'DELETE' })).body.code).toBe('unknown_schedule')
    expect(await names()).toEqual(['a', 'c'])
  })

  test('misses no times while it is paused, and starts none', async () => {
    const world = new SchedulesWorld()
    const change = (paused: boolean) => world.ask('/schedules/report', { method: 'PATCH', json: { paused } })
    await world.put('report', { cron: '0 * * * *', run: RUN })
    await world.passUntil(START + HOUR)
    const { body } = await change(true)
    expect(body.paused).toBe(true)
    expect(body).not.toHaveProperty('next')
    await world.passUntil(START + 10.5 * HOUR)
    expect(await change(false)).toMatchObject({ status: 200, body: { paused: false, next: iso(START + 11 * HOUR) } })
    await world.passUntil(START + 11 * HOUR)
    expect(outcomesOf(await history(world, 'report'))).toEqual([
      ['started', iso(START + HOUR)],
      ['started', iso(START + 11 * HOUR)],
    ])
  })

  test('runs at once when it is asked to, once for each key, also while it is paused', async () => {
    const world = new SchedulesWorld()
    await world.put('report', { cron: '0 8 * * *', run: RUN, paused: true })
    const run = (headers = {}) => world.ask('/schedules/report/run', { method: 'POST', headers })
    const first = await run({ 'idempotency-key': 'a' })
    expect(first).toMatchObject({ status: 202, body: { outcome: 'started', manual: true, due: iso(START) } })
    expect((await run({ 'idempotency-key': 'a' })).body.run).toBe(first.body.run)
    const other = await run()
    expect(other.body.run).not.toBe(first.body.run)
    const runs = (await history(world, 'report')).map(({ run: id }: any) => id)
    expect(runs).toEqual([first.body.run, other.body.run])
    expect((await world.ask('/schedules/nothing/run', { method: 'POST' })).body.code).toBe('unknown_schedule')
  })
})

describe('a time at which the run before has not ended', () => {
  const approval = { run: { ...RUN, tools: ['pay'] } }
  const world = () =>
    new SchedulesWorld({
      script: [ask(['pay']), say('Paid.'), say('Second.'), say('Third.')],
      tools: [tool('pay', () => 'paid', { approval: 'always' })],
    })
  const approve = async (own: SchedulesWorld, entry: any) => {
    const path = `/conversations/${entry.conversation}/runs/${entry.run}`
    const [call] = (await own.ask(path)).body.calls
    const json = { decision: 'approve' }
    await own.ask(`${path}/calls/${call.id}`, { method: 'POST', json })
    await settle()
    expect((await own.ask(path)).body.status).toBe('completed')
  }

  test('is skipped', async () => {
    const own = world()
    await own.put('pay', { cron: '0 * * * *', ...approval })
    await own.passUntil(START + 3 * HOUR)
    const entries = await history(own, 'pay')
    expect(outcomesOf(entries)).toEqual([
      ['started', iso(START + HOUR)],
      ['skipped', iso(START + 2 * HOUR)],
      ['skipped', iso(START + 3 * HOUR)],
    ])
    expect(entries[1]).toMatchObject({ code: 'overlap', message: expect.stringContaining(entries[0].run) })
    await approve(own, entries[0])
    await own.passUntil(START + 4 * HOUR)
    expect((await history(own, 'pay')).at(-1)).toMatchObject({ outcome: 'started' })
  })

  test('waits for it with "queue", and times that come meanwhile are one run', async () => {
    const own = world()
    await own.put('pay', { cron: '0 * * * *', overlap: 'queue', ...approval })
    await own.passUntil(START + 4.5 * HOUR)
    const [first, ...others] = await history(own, 'pay')
    expect(others).toEqual([])
    expect((await own.ask('/schedules/pay')).body.waiting).toMatchObject({
      due: iso(START + 2 * HOUR),
      code: 'overlap',
    })
    await approve(own, first)
    await own.passUntil(START + 4.7 * HOUR)
    expect(await history(own, 'pay')).toMatchObject([
      { outcome: 'started', due: iso(START + HOUR) },
      { outcome: 'started', due: iso(START + 2 * HOUR) },
      { outcome: 'started', due: iso(START + 4 * HOUR), missedFrom: iso(START + 3 * HOUR) },
    ])
    expect((await own.ask('/schedules/pay')).body).not.toHaveProperty('waiting')
  })

  test('looks less and less often with "queue" whether it has ended', async () => {
    const own = world()
    const rings: number[] = []
    const ring = own.ring.bind(own)
    own.ring = async () => {
      await ring()
      rings.push(Date.now())
    }
    await own.put('pay', { cron: '0 * * * *', overlap: 'queue', ...approval })
    await own.passUntil(START + 26 * HOUR)
    // Since the second time was due, for a day.
    const looks = rings.filter((at) => at >= START + 2 * HOUR)
    expect(looks.slice(1, 5).map((at, n) => at - (looks[n] ?? 0))).toEqual([15_000, 22_500, 33_750, 50_625])
    expect(looks.slice(-2).map((at) => at - (looks.at(-2) ?? 0))).toEqual([0, 10 * MINUTE])
    expect(looks.length).toBeLessThan(160)
  })
})

test('a schedule that is stored while an hour is repeated is due within that hour, and not before', async () => {
  // 02:30 for the second time, in Berlin.
  const now = Date.parse('2026-10-25T01:30:00Z')
  vi.setSystemTime(now)
  const own = new SchedulesWorld()
  const next = async (cron: string) => (await own.put('s', { cron, timeZone: 'Europe/Berlin', run: RUN })).body.next
  expect(await next('*/15 * * * *')).toBe('2026-10-25T01:45:00.000Z')
  expect(await next('* * * * *')).toBe('2026-10-25T01:31:00.000Z')
  expect(await next('0 * * * *')).toBe('2026-10-25T02:00:00.000Z')
  // It has come, the first time.
  expect(await next('30 2 * * *')).toBe('2026-10-26T01:30:00.000Z')
  expect(await next(' 40\t2 * * * ')).toBe('2026-10-26T01:40:00.000Z')
})

describe('times that have passed because nothing was awake', () => {
  const wakeLate = async (missed: string | undefined, ms: number) => {
    vi.setSystemTime(START)
    const world = new SchedulesWorld()
    await world.put('report', { cron: '0 * * * *', run: RUN, ...(missed && { missed }) })
    vi.setSystemTime(START + 5 * HOUR + ms)
    await world.ring()
    return { world, entries: await history(world, 'report') }
  }

  test('are made up for by one run', async () => {
    const { world, entries } = await wakeLate(undefined, 10 * MINUTE)
    expect(entries).toMatchObject([
      {
        outcome: 'started',
        due: iso(START + 5 * HOUR),
        missedFrom: iso(START + HOUR),
        at: iso(START + 5 * HOUR + 10 * MINUTE),
      },
    ])
    expect(world.alarmAt).toBe(START + 6 * HOUR)
  })

  test('start nothing with "none", and a time that is a little late is not one of them', async () => {
    expect((await wakeLate('none', 10 * MINUTE)).entries).toMatchObject([
      { outcome: 'missed', due: iso(START + 5 * HOUR) },
    ])
    expect((await wakeLate('none', MINUTE)).entries).toMatchObject([
      { outcome: 'started', missedFrom: iso(START + HOUR) },
    ])
  })
})

describe('the key that has stored a schedule', () => {
  const KEY = apiKey('owner', { id: 'owner', scopes: ['chat', 'schedules', 'finance'] })
  const disabled = new Set<string>()
  const keyStates = { isDisabled: async (id: string) => disabled.has(id), used: async () => {} }
  const keyed = (...keys: object[]) => new SchedulesWorld({ vars: withKeys(KEY, ...keys), setup: { keyStates } })
  const owner = bearer('owner')
  const entries = async (world: SchedulesWorld, name: string) =>
    (await world.ask(`/schedules/${name}`, { headers: owner })).body.history

  beforeEach(() => disabled.clear())

  test('is asked when it is due: the schedule of a disabled key does not run, and says so', async () => {
    const world = keyed(apiKey('other', { id: 'other', scopes: ['schedules'] }))
    await world.put('report', { cron: '0 * * * *', run: RUN }, owner)
    disabled.add('owner')
    await world.passUntil(START + HOUR)
    const read = await world.ask('/schedules/report', { headers: bearer('other') })
    expect(read.body.history).toEqual([
      {
        due: iso(START + HOUR),
        at: iso(START + HOUR),
        outcome: 'refused',
        code: 'run_not_allowed',
        message: 'The key that started this run has been disabled.',
      },
    ])
    expect(world.accepted).toEqual([])
    expect(world.reports).toEqual([
      expect.objectContaining({ event: 'schedule.not_started', schedule: 'report', tenant: 'acme', key: 'owner' }),
    ])
    disabled.clear()
    await world.passUntil(START + 2 * HOUR)
    expect((await entries(world, 'report'))[0]).toMatchObject({ outcome: 'started', due: iso(START + 2 * HOUR) })
  })

  test('limits the scopes of its runs, which the definition may reduce', async () => {
    const scopesOfCalls: (readonly string[])[] = []
    const world = new SchedulesWorld({
      vars: withKeys(KEY),
      tools: [tool('look', (_, { caller }) => void scopesOfCalls.push(caller.scopes))],
      script: Array.from({ length: 8 }, (_, at) => (at % 2 === 0 ? ask(['look']) : say('Done.'))),
    })
    const put = (scopes?: string[]) =>
      world.put('report', { cron: '0 * * * *', run: RUN, ...(scopes && { scopes }) }, owner)
    expect((await put(['chat', 'approve'])).body).toMatchObject({ status: 403, code: 'scope_not_held' })
    expect((await put(['finance'])).body).toMatchObject({ status: 403, code: 'missing_scope' })
    await put()
    await world.passUntil(START + HOUR)
    await put(['chat'])
    await world.passUntil(START + 2 * HOUR)
    expect(scopesOfCalls).toEqual([['chat', 'schedules', 'finance'], ['chat']])
  })

  test('may not be used by one with fewer scopes to start a run at once, or to resume, replace or remove the schedule', async () => {
    const world = keyed(apiKey('other', { id: 'other', scopes: ['schedules', 'chat'] }))
    await world.put('report', { cron: '0 * * * *', run: RUN }, owner)
    const run = { method: 'POST', headers: bearer('other') }
    const pause = (paused: boolean) =>
      world.ask('/schedules/report', { method: 'PATCH', headers: bearer('other'), json: { paused } })
    const refusal = { status: 403, code: 'scope_not_held' }
    expect((await world.ask('/schedules/report/run', run)).body).toMatchObject(refusal)
    expect((await pause(true)).body).toMatchObject({ paused: true })
    expect((await pause(false)).body).toMatchObject(refusal)
    const replacement = { cron: '5 * * * *', run: RUN, scopes: ['chat'] }
    expect((await world.put('report', replacement, bearer('other'))).body).toMatchObject(refusal)
    const removal = { method: 'DELETE', headers: bearer('other') }
    expect((await world.ask('/schedules/report', removal)).body).toMatchObject(refusal)
    expect((await world.ask('/schedules/report', { headers: owner })).body).toMatchObject({
      paused: true,
      cron: '0 * * * *',
    })
    await world.put('report', { cron: '0 * * * *', run: RUN, scopes: ['chat'] }, owner)
    await pause(true)
    expect((await pause(false)).body).toMatchObject({ paused: false })
    expect((await world.ask('/schedules/report/run', run)).status).toBe(202)
  })

  test('counts runs against its budget and its rate; what is refused for now is tried again', async () => {
    let room = 2
    const world = new SchedulesWorld({
      vars: withKeys(
        apiKey('owner', {
          id: 'owner',
          scopes: ['chat', 'schedules'],
          rate: 'RATE',
          budget: { tokens: 1, per: 'month' },
        }),
      ),
      setup: { rates: { RATE: { limit: async () => ({ success: room-- > 0 }) } } },
    })
    await world.put('report', { cron: '0 * * * *', run: RUN }, owner)
    room = 0
    await world.passUntil(START + HOUR)
    room = 100
    const { waiting } = (await world.ask('/schedules/report', { headers: owner })).body
    expect(waiting).toMatchObject({ due: iso(START + HOUR), code: 'rate_limited' })
    await world.passUntil(START + HOUR + 2 * MINUTE)
    expect(await entries(world, 'report')).toMatchObject([{ outcome: 'started', due: iso(START + HOUR) }])
    await world.edge.settle()
    await world.passUntil(START + 2 * HOUR + MINUTE)
    const after = (await world.ask('/schedules/report', { headers: owner })).body
    expect(after.waiting).toMatchObject({ due: iso(START + 2 * HOUR), code: 'budget_exhausted' })
    // The times that come while it waits are made up for by one run, or one refusal.
    await world.passUntil(START + 5 * HOUR)
    expect((await entries(world, 'report'))[0]).toMatchObject({ outcome: 'failed', code: 'budget_exhausted' })
  })

  test('is of one tenant, whose schedules no other sees', async () => {
    const world = keyed()
    expect((await world.ask('/schedules', { headers: bearer('nobody') })).status).toBe(401)
    const edge = new SchedulesWorld({ vars: withKeys(apiKey('plain')) })
    expect((await edge.ask('/schedules', { headers: bearer('plain') })).body).toMatchObject({ code: 'missing_scope' })
  })
})

test('the quota on schedules holds for new ones alone, and /usage shows it', async () => {
  const world = new SchedulesWorld({ vars: { MAX_SCHEDULES: '2' } })
  for (const name of ['a', 'b']) await world.put(name, { everySeconds: 60, run: RUN })
  const refusal = { status: 507, code: 'quota_exceeded', quota: 'schedules', used: 2, limit: 2 }
  expect((await world.put('c', { everySeconds: 60, run: RUN })).body).toMatchObject(refusal)
  expect((await world.put('b', { everySeconds: 90, run: RUN })).status).toBe(200)
  expect((await world.ask('/usage')).body.quotas.schedules).toEqual({ used: 2, limit: 2 })
})

test('a schedule whose row cannot be read is set aside, and the others run', async () => {
  const world = new SchedulesWorld()
  for (const name of ['a', 'b']) await world.put(name, { cron: '0 * * * *', run: RUN })
  world.database.exec("UPDATE schedules SET definition = '{' WHERE name = 'a'")
  world.live()
  await world.passUntil(START + HOUR)
  expect(world.reports).toEqual([{ event: 'row.set_aside', table: 'schedules', key: 'a', reason: 'wrong shape' }])
  expect(outcomesOf(await history(world, 'b'))).toEqual([['started', iso(START + HOUR)]])
  expect(world.alarmAt).toBe(START + 2 * HOUR)
})

test('an edge without the binding says that it keeps no schedules', async () => {
  const world = new SchedulesWorld({ setup: { schedules: undefined } })
  expect((await world.ask('/schedules')).body).toMatchObject({
    status: 404,
    code: 'not_found',
    detail: 'This edge keeps no schedules: bind SCHEDULES.',
  })
})

test('1,000 of 10,000 schedules that are due in one minute start one run each in that minute, by few row writes', async () => {
  const starts = new Map<string, number>()
  const conversation = (name: string) => ({
    start: async ({ run: { runId } }: StartRequest) => {
      starts.set(name, (starts.get(name) ?? 0) + 1)
      return { ok: true, runId, status: 'running', created: true, replayed: false }
    },
  })
  const conversations = { getByName: conversation } as unknown as Setup['conversations']
  const world = new SchedulesWorld({ setup: { conversations } })
  const caller = { tenant: 'local', scopes: ['chat'] }
  for (const [cron, copies] of [
    ['0 8 * * *', 1000],
    ['30 9 * * *', 9000],
  ] as const) {
    await world.object.put(`first${copies}`, { cron, run: RUN }, caller)
    world.multiply(`first${copies}`, copies)
  }
  world.live()
  expect(await world.object.count()).toBe(10_000)
  const before = world.rowsWritten()
  await world.passUntil(START + 8 * HOUR + MINUTE)
  expect(starts.size).toBe(1000)
  expect(new Set(starts.values())).toEqual(new Set([1]))
  // One for each, and for each hundred two of their claim and one of the metrics; the index is one more for each.
  expect(world.rowsWritten() - before).toBe(1000 + 10 * 3)
  const series = { name: 'edgecall_scheduled', labels: 'outcome="started"', part: 'value', le: 0, value: 1000 }
  expect(await world.object.series()).toEqual([series])
})

test('while the runs of many schedules are started, ten at a time, requests are answered', async () => {
  const gates: PromiseWithResolvers<void>[] = []
  const conversation = {
    start: async ({ run: { runId } }: StartRequest) => {
      const gate = Promise.withResolvers<void>()
      gates.push(gate)
      await gate.promise
      return { ok: true, runId, status: 'running', created: true, replayed: false }
    },
  }
  const conversations = { getByName: () => conversation } as unknown as Setup['conversations']
  const world = new SchedulesWorld({ setup: { conversations } })
  await world.object.put('first', { cron: '0 8 * * *', run: RUN }, { tenant: 'local', scopes: ['chat'] })
  world.multiply('first', 150)
  world.live()
  vi.setSystemTime(START + 8 * HOUR)
  const alarm = world.object.alarm()
  for (let count = 10; count <= 30; count++) {
    await eventually(() => expect(gates).toHaveLength(count))
    await settle()
    expect(gates).toHaveLength(count)
    expect(await world.ask('/schedules?limit=1')).toMatchObject({ status: 200 })
    gates[count - 10]?.resolve()
  }
  await eventually(() => {
    for (const { resolve } of gates) resolve()
    expect(gates).toHaveLength(150)
  })
  await alarm
  expect(world.alarmAt).toBe(START + 32 * HOUR)
})
