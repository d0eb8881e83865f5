import { createServer, type IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { AlarmEnv, Alarms } from './alarms.ts'
import { notify } from './notify.ts'
import { addAlarm, createTable, endAlarm, fireDue, type NewAlarm, readAlarms } from './store.ts'
import { parseMoment } from './time.ts'
import { cancelAlarm, listAlarms, setAlarm } from './tools.ts'
import { COUNTS_TIMERS } from '../../test/fixtures/counts-timers.ts'
import { freezeClock } from '../../test/fixtures/frozen-clock.ts'
import { runContext } from '../../test/fixtures/run-context.ts'
import { memorySql } from '../../test/fixtures/sqlite.ts'

freezeClock('2026-11-20T12:00:00Z')

/** A namespace whose objects are tables in memory: what the object adds, its alarm, is tested on workerd. */
function memoryAlarms(): AlarmEnv {
  const tables = new Map<string, SqlStorage>()
  const objectOf = (tenant: string) => {
    const sql = tables.get(tenant) ?? memorySql()
    if (!tables.has(tenant)) createTable(sql)
    tables.set(tenant, sql)
    return {
      set: async (alarm: NewAlarm) => addAlarm(sql, alarm, Date.now()),
      list: async () => {
        fireDue(sql, Date.now(), false)
        return readAlarms(sql)
      },
      cancel: async (id: string) => endAlarm(sql, id, Date.now()),
    }
  }
  const namespace = { idFromName: (name: string) => name, get: objectOf }
  return { ALARMS: namespace as unknown as DurableObjectNamespace<Alarms> }
}

const TEA = { time: '2026-11-20T14:00:00+01:00', message: 'Tea' }

describe('setAlarm', () => {
  test('sets one alarm for one call, however often the call is sent', async () => {
    const context = runContext(memoryAlarms())
    const first = await setAlarm.call(TEA, context)
    expect(first).toMatchObject({ ok: true, structured: { id: expect.any(String), ...TEA } })
    expect(await setAlarm.call(TEA, { ...context, attempt: 2 })).toEqual(first)
    await setAlarm.call(TEA, { ...context, idempotencyKey: 'key-2' })
    expect(await listAlarms.call({}, context)).toMatchObject({ structured: { alarms: [TEA, TEA] } })
  })

  test.each([
    ['2026-11-20T14:00:00', 'invalid_time', /has no UTC offset\. Add .* as in "2026-11-20T14:00:00\+01:00"/],
    ['tomorrow at nine', 'invalid_time', /not a date-time\. Send ISO 8601/],
    ['2026-11-20T12:59:00+01:00', 'time_passed', /has passed: it is 2026-11-20T12:00:00Z now/],
    ['2027-11-30T00:00:00Z', 'time_too_far', /over a year ahead/],
  ])('refuses %s as %s', async (time, code, message) => {
    expect(await setAlarm.call({ ...TEA, time }, runContext(memoryAlarms()))).toMatchObject({
      ok: false,
      error: { code, message: expect.stringMatching(message) },
    })
  })

  test('refuses more than a hundred pending alarms', async () => {
    const context = runContext(memoryAlarms())
    for (let count = 0; count < 100; count++) await setAlarm.call(TEA, { ...context, idempotencyKey: `key ${count}` })
    expect(await setAlarm.call(TEA, context)).toMatchObject({ error: { code: 'too_many_alarms' } })
  })
})

describe('listAlarms', () => {
  test('returns only the alarms of the tenant', async () => {
    const context = runContext(memoryAlarms())
    await setAlarm.call(TEA, context)
    const other = { ...context, caller: { tenant: 'globex', scopes: [] }, values: { tenantId: 'acme' } }
    expect(await listAlarms.call({}, other)).toMatchObject({ structured: { alarms: [] } })
  })

  test('includes alarms that have fired', async () => {
    const context = runContext(memoryAlarms())
    await setAlarm.call(TEA, context)
    vi.setSystemTime('2026-11-20T13:00:00.250Z')
    expect(await listAlarms.call({}, context)).toMatchObject({
      structured: { alarms: [{ ...TEA, state: 'fired', firedAt: '2026-11-20T13:00:00.250Z' }] },
    })
  })
})

describe('cancelAlarm', () => {
  test('cancels, and returns the same when asked again', async () => {
    const context = runContext(memoryAlarms())
    const set = await setAlarm.call(TEA, context)
    const { id } = (set.ok ? set.structured : {}) as { id: string }
    expect(await cancelAlarm.call({ id }, context)).toMatchObject({ ok: true, structured: { id, state: 'cancelled' } })
    expect(await cancelAlarm.call({ id }, context)).toMatchObject({ ok: true, structured: { id, state: 'cancelled' } })
    expect(await listAlarms.call({}, context)).toMatchObject({ structured: { alarms: [] } })
  })

  test('fails if there is no such alarm, or it has fired', async () => {
    const context = runContext(memoryAlarms())
    const set = await setAlarm.call(TEA, context)
    const { id } = (set.ok ? set.structured : {}) as { id: string }
    vi.setSystemTime('2026-11-20T13:00:00Z')
    await listAlarms.call({}, context)
    expect(await cancelAlarm.call({ id }, context)).toMatchObject({ error: { code: 'already_fired' } })
    expect(await cancelAlarm.call({ id: 'nope' }, context)).toMatchObject({ error: { code: 'unknown_alarm' } })
  })
})

test('only setAlarm and cancelAlarm have effects, and all alarm tools are idempotent', async () => {
  const annotations = await Promise.all(
    [setAlarm, cancelAlarm, listAlarms].map(async (tool) => (await tool.describe()).annotations),
  )
  expect(annotations).toEqual([
    { readOnly: false, idempotent: true, destructive: false, openWorld: false },
    { readOnly: false, idempotent: true, destructive: true, openWorld: false },
    { readOnly: true, idempotent: true, openWorld: false },
  ])
})

describe('parseMoment', () => {
  test.each([
    ['2026-11-20T09:30Z', Date.parse('2026-11-20T09:30:00Z')],
    ['2026-11-20T09:30:15.750-03:30', Date.parse('2026-11-20T13:00:15.750Z')],
    ['2026-11-20T09:30', 'no-offset'],
    ['2026-02-30T09:30Z', 'invalid'],
    ['2026-11-20T24:00Z', 'invalid'],
    ['2026-11-20T09:30+25:00', 'invalid'],
    ['2026-11-20', 'invalid'],
    ['soon', 'invalid'],
  ])('reads %s as %s', (text, moment) => {
    expect(parseMoment(text)).toBe(moment)
  })
})

describe('notify', () => {
  const notice = { id: 'a-1', message: 'Tea', time: TEA.time, firedAt: '2026-11-20T13:00:00.000Z', tenant: 'acme' }

  /** Posts the notice to a server that answers so, and tells what it came to and what arrived. */
  async function post(status: number, headers: Record<string, string> = {}) {
    const arrived: { method: string | undefined; headers: IncomingHttpHeaders; body: string }[] = []
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        arrived.push({ method: request.method, headers: request.headers, body })
        return response.writeHead(status, headers).end('{}')
      })
    })
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const problem = await notify(`http://127.0.0.1:${typeof address === 'object' && address?.port}/hook`, notice)
    server.closeAllConnections()
    server.close()
    return { problem, arrived }
  }

  test('posts the notice with its key', async () => {
    const { problem, arrived } = await post(204)
    expect(problem).toBeUndefined()
    expect(arrived).toMatchObject([
      {
        method: 'POST',
        headers: { 'idempotency-key': 'a-1', 'content-type': 'application/json' },
        body: JSON.stringify(notice),
      },
    ])
  })

  test('reports why the notice was refused, and follows no redirect', async () => {
    expect((await post(503)).problem).toBe('HTTP 503')
    const moved = await post(307, { location: '/elsewhere' })
    expect([moved.problem, moved.arrived.length]).toEqual(['HTTP 307', 1])
    expect(await notify('', notice)).toEqual(expect.any(String))
  })

  test('gives up after ten seconds, and leaves no timer behind', COUNTS_TIMERS, async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { promise: arrival, resolve } = Promise.withResolvers<void>()
    const server = createServer((request) => request.on('end', resolve).resume())
    await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const address = server.address()
    const notification = notify(`http://127.0.0.1:${typeof address === 'object' && address?.port}/hook`, notice)
    await arrival
    vi.advanceTimersByTime(10_000)
    expect(await notification).toBe('no answer within 10000 ms')
    await notify('', notice)
    expect(vi.getTimerCount()).toBe(0)
  })
})
