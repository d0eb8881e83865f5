import { describe, expect, test } from 'vitest'
import { currentTime, shiftTime } from './tools.ts'
import { freezeClock } from '../../test/fixtures/frozen-clock.ts'
import { runContext } from '../../test/fixtures/run-context.ts'

freezeClock('2026-11-20T13:21:15.678Z')

const inZone = (timeZone: unknown) => runContext(undefined, { values: { timeZone } })

const shift = async (input: Record<string, unknown>, zone = 'Europe/Berlin') => {
  const outcome = await shiftTime.call(input, inZone(zone))
  return outcome.ok ? outcome.structured : outcome.error
}

describe('currentTime', () => {
  test('returns the time of the given zone', async () => {
    expect(await currentTime.call({ timeZone: 'Asia/Kathmandu' }, inZone('Europe/Paris'))).toMatchObject({
      ok: true,
      structured: {
        timeZone: 'Asia/Kathmandu',
        dateTime: '2026-11-20T19:06:15+05:45',
        date: '2026-11-20',
        time: '19:06:15',
        weekday: 'Friday',
        utcOffset: '+05:45',
      },
    })
  })

  test('uses the zone of the tool context if none is given', async () => {
    expect(await currentTime.call({}, inZone('Pacific/Auckland'))).toMatchObject({
      structured: { timeZone: 'Pacific/Auckland', dateTime: '2026-11-21T02:21:15+13:00', weekday: 'Saturday' },
    })
  })

  test('falls back to UTC', async () => {
    expect(await currentTime.call({}, runContext(undefined))).toMatchObject({
      structured: { timeZone: 'UTC', dateTime: '2026-11-20T13:21:15+00:00' },
    })
  })

  test('says what to send for an unknown zone', async () => {
    expect(await currentTime.call({ timeZone: 'Paris' }, runContext(undefined))).toEqual({
      ok: false,
      error: {
        code: 'unknown_time_zone',
        message:
          'There is no time zone "Paris". Send an IANA name such as "Europe/Paris", "America/New_York" or "UTC".',
      },
    })
  })

  test.each([42, 'Nowhere'])('requires a zone, and echoes nothing, when the context has %j', async (value) => {
    expect(await currentTime.call({}, inZone(value))).toEqual({
      ok: false,
      error: {
        code: 'unknown_time_zone',
        message: 'The time zone of the user is unknown: send `timeZone`, an IANA name such as "Europe/Paris".',
      },
    })
  })

  test('refuses a misspelt argument instead of answering for the wrong zone', async () => {
    expect(await currentTime.call({ zone: 'Asia/Tokyo' }, runContext(undefined))).toMatchObject({
      ok: false,
      error: { code: 'invalid_arguments', message: expect.stringContaining('zone') },
    })
  })
})

describe('shiftTime', () => {
  test('returns the start and the full local time of the end', async () => {
    expect(await shift({ minutes: 90 })).toEqual({
      from: '2026-11-20T14:21:15+01:00',
      timeZone: 'Europe/Berlin',
      dateTime: '2026-11-20T15:51:15+01:00',
      date: '2026-11-20',
      time: '15:51:15',
      weekday: 'Friday',
      utcOffset: '+01:00',
    })
  })

  test.each([
    ['a date is its midnight', { from: '2026-03-01', days: 1 }, '2026-03-02T00:00:00+01:00'],
    ['month ends clamp', { from: '2026-05-31', months: -3 }, '2026-02-28T00:00:00+01:00'],
    ['a day keeps the time of day over a gap', { from: '2026-03-28T12:00', days: 1 }, '2026-03-29T12:00:00+02:00'],
    ['24 hours do not', { from: '2026-03-28T12:00', hours: 24 }, '2026-03-29T13:00:00+02:00'],
    ['a skipped time moves later', { from: '2026-03-28T02:30', days: 1 }, '2026-03-29T03:30:00+02:00'],
    ['a doubled time is the first', { from: '2026-10-24T02:30', days: 1 }, '2026-10-25T02:30:00+02:00'],
    [
      'exact units leave the second 02:30 where it is',
      { from: '2026-10-25T01:30:00Z', seconds: 1 },
      '2026-10-25T02:30:01+01:00',
    ],
    ['hours follow days', { from: '2026-03-28T12:00', days: 1, hours: -12 }, '2026-03-28T23:00:00+01:00'],
    ['no amounts convert', { from: '2026-03-01T10:00:00Z', timeZone: 'Asia/Tokyo' }, '2026-03-01T19:00:00+09:00'],
    ['leap day', { from: '2024-02-29', years: 1 }, '2025-02-28T00:00:00+01:00'],
  ])('%s', async (_, input, dateTime) => {
    expect(await shift(input)).toMatchObject({ dateTime })
  })

  test.each([
    [{ from: 'next Friday' }, 'invalid_time'],
    [{ from: '2026-02-30' }, 'invalid_time'],
    [{ from: '2026-03-01T09:30+24:00' }, 'invalid_time'],
    [{ from: '2026-03-01T09:30+05:75' }, 'invalid_time'],
    [{ years: 9000 }, 'time_out_of_range'],
    [{ days: Number.MAX_SAFE_INTEGER }, 'time_out_of_range'],
    [{ seconds: 1e300 }, 'time_out_of_range'],
    [{ from: '0000-06-01', days: 1 }, 'time_out_of_range'],
    [{ days: 1.5 }, 'invalid_arguments'],
    [{ timeZone: 'Nowhere' }, 'unknown_time_zone'],
  ])('refuses %j as %s', async (input, code) => {
    expect(await shift(input)).toMatchObject({ code })
  })
})

test('both clock tools are read-only and have closed schemas', async () => {
  for (const tool of [currentTime, shiftTime]) {
    expect(await tool.describe()).toMatchObject({
      annotations: { readOnly: true, idempotent: true },
      inputSchema: { type: 'object', required: [], additionalProperties: false },
    })
  }
})
