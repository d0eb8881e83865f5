import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, test } from 'vitest'
import { Bookings, type BookingsEnv } from './bookings.ts'
import { isDay, nightsOf } from './day.ts'
import { bookRoom, cancelBooking, findBooking } from './tools.ts'
import type { DefinedTool } from '../../src/tool.ts'
import { freezeClock } from '../../test/fixtures/frozen-clock.ts'
import { memoryStorage } from '../../test/fixtures/sqlite.ts'
import { runContext } from '../../test/fixtures/run-context.ts'

freezeClock('2026-11-20T12:00:00Z')

/** Hotels whose objects are made again for each request, as after an eviction: only their storage lasts. */
function hotels(): BookingsEnv {
  const databases = new Map<string, DatabaseSync>()
  const get = (tenant: string) => {
    const database = databases.get(tenant) ?? new DatabaseSync(':memory:')
    databases.set(tenant, database)
    return new Bookings({ storage: memoryStorage(database) } as unknown as DurableObjectState, env)
  }
  const env = {
    BOOKINGS: { idFromName: (name: string) => name, get } as unknown as DurableObjectNamespace<Bookings>,
  }
  return env
}

let env: BookingsEnv
let calls = 0
beforeEach(() => {
  env = hotels()
  calls = 0
})

/** What a call came to: its structured result, or its error's code and message. Each call has a key of its own. */
async function call(tool: DefinedTool<BookingsEnv>, input: object, parts: Parameters<typeof runContext>[1] = {}) {
  const context = runContext(env, { idempotencyKey: `key-${(calls += 1)}`, ...parts } as { idempotencyKey: string })
  const outcome = await tool.call(input, context)
  return outcome.ok ? outcome.structured : outcome.error
}

const STAY = { guest: ' Noor Haddad ', room: 'double', checkIn: '2026-12-24', nights: 2 }
const BOOKED = {
  number: 'B-12346',
  state: 'confirmed',
  guest: 'Noor Haddad',
  room: 'double',
  checkIn: '2026-12-24',
  checkOut: '2026-12-26',
  price: 240,
}
const SAMPLE = {
  number: 'B-12345',
  state: 'confirmed',
  guest: 'Ada Okafor',
  room: 'double',
  checkIn: '2027-03-12',
  checkOut: '2027-03-15',
  price: 360,
}

describe('findBooking', () => {
  test.each(['B-12345', 'b-12345', ' B-12345 '])('finds %s', async (number) => {
    expect(await call(findBooking, { number })).toEqual(SAMPLE)
  })

  test.each(['B-12346', '12345', 'B-0012345', 'B-12345; DROP TABLE', ''])('does not find "%s"', async (number) => {
    expect(await call(findBooking, { number })).toEqual({
      code: 'unknown_booking',
      message: `There is no booking "${number}". A booking number looks like "B-12345".`,
    })
  })
})

describe('bookRoom', () => {
  test('makes a booking that is found by its number', async () => {
    expect(await call(bookRoom, STAY)).toEqual(BOOKED)
    expect(await call(findBooking, { number: 'B-12346' })).toEqual(BOOKED)
    expect(await call(bookRoom, STAY)).toEqual({ ...BOOKED, number: 'B-12347' })
  })

  test('makes one booking for one key, however often the call is sent', async () => {
    const idempotencyKey = 'the same'
    expect(await call(bookRoom, STAY, { idempotencyKey })).toEqual(BOOKED)
    expect(await call(bookRoom, STAY, { idempotencyKey, attempt: 2 })).toEqual(BOOKED)
    expect(await call(findBooking, { number: 'B-12347' })).toMatchObject({ code: 'unknown_booking' })
  })

  test('refuses once for one key, even if a room has become free since', async () => {
    const suite = { ...STAY, room: 'suite' }
    await call(bookRoom, suite)
    const idempotencyKey = 'the same'
    expect(await call(bookRoom, suite, { idempotencyKey })).toMatchObject({ code: 'no_room' })
    await call(cancelBooking, { number: 'B-12346' })
    expect(await call(bookRoom, suite, { idempotencyKey })).toMatchObject({ code: 'no_room' })
    expect(await call(bookRoom, suite)).toMatchObject({ number: 'B-12347' })
  })

  test('accepts at most as many bookings as there are rooms of the kind, on any night', async () => {
    for (const checkIn of ['2026-12-22', '2026-12-23', '2026-12-25']) await call(bookRoom, { ...STAY, checkIn })
    // The 24th has one guest of these, the 23rd two, and the 25th one.
    expect(await call(bookRoom, { ...STAY, checkIn: '2026-12-23', nights: 4 })).toMatchObject({ number: 'B-12349' })
    expect(await call(bookRoom, { ...STAY, checkIn: '2026-12-20', nights: 7 })).toEqual({
      code: 'no_room',
      message:
        'No double room is free on each night from 2026-12-20 to 2026-12-27. Offer other days, or another kind of room.',
    })
    // Who leaves in the morning makes room for the night.
    expect(await call(bookRoom, { ...STAY, checkIn: '2026-12-20', nights: 3 })).toMatchObject({ number: 'B-12350' })
    expect(await call(bookRoom, { ...STAY, room: 'single', checkIn: '2026-12-20', nights: 7 })).toMatchObject({
      price: 630,
    })
  })

  test.each(['2026-11-19', '2027-11-21', '2026-11-31', 'tomorrow', '2026-11-21T00:00'])(
    'refuses %s',
    async (checkIn) => {
      expect(await call(bookRoom, { ...STAY, checkIn })).toEqual({
        code: 'invalid_date',
        message: `"${checkIn}" cannot be booked. Send \`checkIn\` as YYYY-MM-DD, from 2026-11-20 to 2027-11-20.`,
      })
    },
  )

  test('accepts today and up to a year ahead', async () => {
    expect(await call(bookRoom, { ...STAY, checkIn: '2026-11-20' })).toMatchObject({ checkOut: '2026-11-22' })
    expect(await call(bookRoom, { ...STAY, checkIn: '2027-11-20' })).toMatchObject({ checkOut: '2027-11-22' })
  })

  test.each([{ guest: ' ' }, { room: 'penthouse' }, { nights: 0 }, { nights: 31 }, { nights: 1.5 }, { pets: 2 }])(
    'refuses %o',
    async (wrong) => {
      expect(await call(bookRoom, { ...STAY, ...wrong })).toMatchObject({ code: 'invalid_arguments' })
    },
  )
})

describe('a call of bookRoom', () => {
  const context = (parts: Parameters<typeof runContext>[1] = {}) =>
    runContext(env, { idempotencyKey: 'the same', ...parts } as { idempotencyKey: string })
  const status = (parts?: Parameters<typeof runContext>[1]) => bookRoom.status?.(STAY, context(parts))

  test('returns its status by its key, and changes nothing', async () => {
    expect([await status(), await status()]).toEqual(['absent', 'absent'])
    const outcome = await bookRoom.call(STAY, context())
    expect(outcome).toMatchObject({ ok: true, structured: BOOKED })
    expect(await status()).toEqual(outcome)
    expect(await status({ idempotencyKey: 'another' })).toBe('absent')
    expect(await status({ caller: { tenant: 'globex', scopes: [] } })).toBe('absent')
    expect(await call(bookRoom, STAY)).toMatchObject({ number: 'B-12347' })
  })

  test('that was refused has the status of a call that did not run', async () => {
    const suite = { ...STAY, room: 'suite' }
    await call(bookRoom, suite)
    expect(await bookRoom.call(suite, context())).toMatchObject({ error: { code: 'no_room' } })
    expect(await bookRoom.status?.(suite, context())).toBe('absent')
  })

  test('is undone by cancelling its booking, however often', async () => {
    const outcome = await bookRoom.call(STAY, context())
    if (!outcome.ok) throw new Error(outcome.error.message)
    const undo = () => bookRoom.undo?.(STAY, outcome, context())
    const cancelled = { ok: true, structured: { ...BOOKED, state: 'cancelled' } }
    expect([await undo(), await undo()]).toMatchObject([cancelled, cancelled])
    expect(await call(findBooking, { number: 'B-12346' })).toMatchObject({ state: 'cancelled' })
    expect(await call(findBooking, { number: 'B-12345' })).toEqual(SAMPLE)
  })

  test.each([undefined, {}, { number: 12346 }, { number: 'B-99999' }])(
    'is not undone by an outcome without a booking: %o',
    async (structured) => {
      await bookRoom.call(STAY, context())
      const undone = await bookRoom.undo?.(STAY, { ok: true, content: [], structured }, context())
      expect(undone).toMatchObject({ ok: false, error: { code: 'unknown_booking' } })
      expect(await call(findBooking, { number: 'B-12346' })).toEqual(BOOKED)
    },
  )

  test('declares status and undo', async () => {
    expect(await bookRoom.describe()).toMatchObject({ reconcile: true, undo: true })
  })
})

describe('cancelBooking', () => {
  test('reverts bookRoom, and returns the same when asked again', async () => {
    const suite = { ...STAY, room: 'suite' }
    const { number } = (await call(bookRoom, suite)) as { number: string }
    const cancelled = { ...BOOKED, room: 'suite', price: 480, state: 'cancelled' }
    expect(await call(cancelBooking, { number })).toEqual(cancelled)
    expect(await call(cancelBooking, { number })).toEqual(cancelled)
    expect(await call(findBooking, { number })).toEqual(cancelled)
    expect(await call(bookRoom, suite)).toMatchObject({ number: 'B-12347', state: 'confirmed' })
  })

  test('fails for an unknown number', async () => {
    expect(await call(cancelBooking, { number: 'B-1' })).toMatchObject({ code: 'unknown_booking' })
  })

  test('leaves the sample cancelled', async () => {
    await call(cancelBooking, { number: 'B-12345' })
    expect(await call(findBooking, { number: 'B-12345' })).toEqual({ ...SAMPLE, state: 'cancelled' })
  })
})

test('each tenant has its own hotel', async () => {
  const globex = { caller: { tenant: 'globex', scopes: [] }, values: { tenantId: 'acme' } }
  await call(bookRoom, STAY)
  expect(await call(findBooking, { number: 'B-12346' }, globex)).toMatchObject({ code: 'unknown_booking' })
  expect(await call(cancelBooking, { number: 'B-12345' }, globex)).toMatchObject({ state: 'cancelled' })
  expect(await call(findBooking, { number: 'B-12345' })).toEqual(SAMPLE)
})

test('all booking tools are idempotent, and cancelling needs approval', async () => {
  const described = await Promise.all([findBooking, bookRoom, cancelBooking].map((tool) => tool.describe()))
  expect(described.map(({ annotations, approval }) => ({ ...annotations, approval }))).toEqual([
    { readOnly: true, idempotent: true, openWorld: false, approval: undefined },
    { readOnly: false, idempotent: true, destructive: false, openWorld: false, approval: undefined },
    { readOnly: false, idempotent: true, destructive: true, openWorld: false, approval: 'always' },
  ])
})

test('invalid calendar days are refused', () => {
  expect(['2028-02-29', '2027-02-29', '2027-2-3', '+12027-02-03', ''].map(isDay)).toEqual([
    true,
    false,
    false,
    false,
    false,
  ])
  expect(nightsOf('2027-12-30', '2028-01-02')).toEqual(['2027-12-30', '2027-12-31', '2028-01-01'])
})
