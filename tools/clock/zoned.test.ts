import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatDate, formatOffset, formatTime, parseIso } from './iso.ts'
import { addCalendar, isTimeZone, offsetAt, toInstant, toWall } from './zoned.ts'

const HOUR = 3_600_000
const MINUTE = 60_000

const utc = (text: string) => Date.parse(`${text}Z`)
const instantOf = (wall: string, zone: string) => new Date(toInstant(utc(wall), zone)).toISOString()

describe('offsetAt', () => {
  test.each([
    ['2026-01-15T00:00', 'UTC', 0],
    ['2026-01-15T00:00', 'Europe/Berlin', HOUR],
    ['2026-07-15T00:00', 'Europe/Berlin', 2 * HOUR],
    ['2026-07-15T00:00', 'Asia/Kathmandu', 5 * HOUR + 45 * MINUTE],
    ['2026-07-15T00:00', 'America/St_Johns', -(2 * HOUR + 30 * MINUTE)],
    ['2026-07-15T00:00', 'Pacific/Kiritimati', 14 * HOUR],
    ['2026-07-15T00:00', '-03:30', -(3 * HOUR + 30 * MINUTE)],
    ['1874-12-07T00:00', 'Asia/Kathmandu', 5 * HOUR + 41 * MINUTE + 16_000],
  ])('of %s in %s is %d', (text, zone, offset) => {
    expect(offsetAt(utc(text), zone)).toBe(offset)
  })

  test('changes exactly at the second of a transition', () => {
    const spring = utc('2026-03-29T01:00')
    expect([offsetAt(spring - 1, 'Europe/Berlin'), offsetAt(spring, 'Europe/Berlin')]).toEqual([HOUR, 2 * HOUR])
  })
})

describe('toInstant', () => {
  test('moves a time in the spring gap later by the gap', () => {
    expect(instantOf('2026-03-29T02:30', 'Europe/Berlin')).toBe('2026-03-29T01:30:00.000Z')
    expect(instantOf('2026-03-08T02:00', 'America/New_York')).toBe('2026-03-08T07:00:00.000Z')
  })

  test('takes the first of two equal times in autumn', () => {
    expect(instantOf('2026-10-25T02:30', 'Europe/Berlin')).toBe('2026-10-25T00:30:00.000Z')
    expect(instantOf('2026-11-01T01:30', 'America/New_York')).toBe('2026-11-01T05:30:00.000Z')
  })

  test('supports gaps of half an hour and of a whole day', () => {
    expect(instantOf('2026-10-04T02:15', 'Australia/Lord_Howe')).toBe('2026-10-03T15:45:00.000Z')
    expect(instantOf('2011-12-30T12:00', 'Pacific/Apia')).toBe('2011-12-30T22:00:00.000Z')
  })

  test('returns the first moment of a day without midnight', () => {
    // Clocks in Havana went from 00:00 to 01:00 on 8 March 2026.
    expect(instantOf('2026-03-08T00:00', 'America/Havana')).toBe('2026-03-08T05:00:00.000Z')
  })

  test('is inverted by toWall for every existing time, in every zone', () => {
    const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'))
    const instants = fc.integer({ min: utc('1970-01-01T00:00') / 1000, max: utc('2037-12-31T00:00') / 1000 })
    fc.assert(
      fc.property(zones, instants, (zone, seconds) => {
        const instant = seconds * 1000
        const wall = toWall(instant, zone)
        const moment = toInstant(wall, zone)
        // The same reading; and of two instants that show it, the earlier.
        expect(toWall(moment, zone)).toBe(wall)
        expect(moment).toBeLessThanOrEqual(instant)
      }),
      { numRuns: 300 },
    )
  })
})

describe('addCalendar', () => {
  const none = { years: 0, months: 0, weeks: 0, days: 0 }
  test.each([
    ['2026-01-31T10:00', { months: 1 }, '2026-02-28T10:00:00.000Z'],
    ['2024-01-31T10:00', { months: 1 }, '2024-02-29T10:00:00.000Z'],
    ['2024-02-29T10:00', { years: 1 }, '2025-02-28T10:00:00.000Z'],
    ['2024-02-29T10:00', { years: 4 }, '2028-02-29T10:00:00.000Z'],
    ['2026-05-31T10:00', { months: -3 }, '2026-02-28T10:00:00.000Z'],
    ['2026-01-15T10:00', { months: -13 }, '2024-12-15T10:00:00.000Z'],
    ['2026-12-31T10:00', { days: 1 }, '2027-01-01T10:00:00.000Z'],
    ['2026-01-31T10:00', { months: 1, days: 1 }, '2026-03-01T10:00:00.000Z'],
    ['2026-03-01T10:00', { weeks: -1, days: -1 }, '2026-02-21T10:00:00.000Z'],
    ['0099-12-31T10:00', { days: 1 }, '0100-01-01T10:00:00.000Z'],
  ])('%s plus %o', (from, amounts, to) => {
    expect(new Date(addCalendar(utc(from), { ...none, ...amounts })).toISOString()).toBe(to)
  })
})

describe('isTimeZone', () => {
  test.each([
    ['Europe/Paris', true],
    ['UTC', true],
    ['Mars/Olympus', false],
    ['GMT+1', false],
    ['', false],
  ])('%s: %s', (name, expected) => {
    expect(isTimeZone(name)).toBe(expected)
  })
})

describe('parseIso', () => {
  test.each([
    ['2026-03-01', { wall: utc('2026-03-01T00:00') }],
    ['2026-03-01T09:30', { wall: utc('2026-03-01T09:30') }],
    ['2026-03-01 09:30:15', { wall: utc('2026-03-01T09:30:15') }],
    ['2026-03-01T09:30:15.999Z', { wall: utc('2026-03-01T09:30:15'), offset: 0 }],
    ['2026-03-01T09:30+05:45', { wall: utc('2026-03-01T09:30'), offset: 5 * HOUR + 45 * MINUTE }],
    ['2026-03-01T09:30-0330', { wall: utc('2026-03-01T09:30'), offset: -(3 * HOUR + 30 * MINUTE) }],
    ['1874-12-07T09:30+05:41:16', { wall: utc('1874-12-07T09:30'), offset: 5 * HOUR + 41 * MINUTE + 16_000 }],
  ])('reads %s', (text, reading) => {
    expect(parseIso(text)).toEqual(reading)
  })

  test.each(['', 'tomorrow', '2026-02-30', '2026-13-01', '2026-03-01T24:00', '2026-03-01T09', '2026-03-01+01:00'])(
    'refuses %j',
    (text) => {
      expect(parseIso(text)).toBeUndefined()
    },
  )
})

test('a local time is formatted with its offset', () => {
  const wall = utc('0987-06-05T04:03:02')
  expect([formatDate(wall), formatTime(wall)]).toEqual(['0987-06-05', '04:03:02'])
  expect([0, -HOUR, 5 * HOUR + 45 * MINUTE, -16_000].map(formatOffset)).toEqual([
    '+00:00',
    '-01:00',
    '+05:45',
    '-00:00:16',
  ])
})
