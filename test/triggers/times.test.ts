import { describe, expect, test } from 'vitest'
import { makeTiming, type Timing } from '../../src/triggers/times.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** How long before and after a change of the clocks due times are compared. */
const AROUND = 3 * HOUR

const ZONES = [
  ...['Europe/Berlin', 'Europe/London', 'America/New_York', 'America/St_Johns', 'Africa/Cairo'],
  // Clocks that change at midnight, by half an hour, and at a quarter to three.
  ...['America/Santiago', 'Atlantic/Azores', 'Australia/Lord_Howe', 'Pacific/Chatham'],
]

const PATTERNS = [
  ...['* * * * *', '*/15 * * * *', '0 * * * *', '30 * * * *', '0 */2 * * *', '*/20 0-4 * 3,4,9,10,11 *'],
  ...['0-10 2 * * *', '5,35 2 * * *', '30 1,2,3 * * *', '15 1-3 * * *', '0,30 0 * * *'],
  ...['0 0 * * *', '30 0 * * *', '30 1 * * *', '0 2 * * *', '30 2 * * *', '0 3 * * *', '59 23 * * *', '30 2 * * 0'],
]

/** How many changes of the clocks of each zone, from 2025 on. */
const CHANGES = 10

/** What a clock shows, as minutes since the epoch of a clock that never changes. */
type Clock = (at: number) => number

function clockOf(timeZone: string): Clock {
  const numbers = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
  const format = new Intl.DateTimeFormat('en', { timeZone, hourCycle: 'h23', ...numbers })
  return (at) => {
    const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0 } = parts
    return Date.UTC(year, month - 1, day, hour, minute) / MINUTE
  }
}

/** Returns the first minutes after the clock was changed. */
function changesOf(clock: Clock): readonly number[] {
  const offset = (at: number) => clock(at) - at / MINUTE
  const changes: number[] = []
  for (let day = Date.UTC(2025, 0, 1); changes.length < CHANGES; day += 24 * HOUR) {
    let [low, high] = [day, day + 24 * HOUR]
    if (offset(low) === offset(high)) continue
    while (high - low > MINUTE) {
      const middle = low + Math.floor((high - low) / 2 / MINUTE) * MINUTE
      if (offset(middle) === offset(low)) low = middle
      else high = middle
    }
    changes.push(high)
  }
  return changes
}

/** Returns the numbers of a field of a pattern. */
function numbersOf(field: string, least: number, most: number): ReadonlySet<number> {
  const numbers = field.split(',').flatMap((part) => {
    const [range = '', step = '1'] = part.split('/')
    const [from = least, to = from] = range === '*' ? [least, most] : range.split('-').map(Number)
    return Array.from({ length: to - from + 1 }, (_, at) => from + at).filter((n) => (n - from) % Number(step) === 0)
  })
  return new Set(numbers)
}

interface ClockMinute {
  /** When, and what the clock shows then. */
  readonly at: number
  readonly shown: number
}

/**
 * Returns the due times of a pattern among these minutes, by what docs/triggers.md says and nothing else: a pattern of one
 * minute and one hour is due once for each day, right after the gap if the clock does not show it; any other whenever the
 * clock shows it.
 */
function dueTimes(pattern: string, minutes: readonly ClockMinute[]): readonly number[] {
  const [minute = '', hour = '', , month = '', weekday = ''] = pattern.split(' ')
  const fields = [numbersOf(minute, 0, 59), numbersOf(hour, 0, 23), numbersOf(month, 1, 12), numbersOf(weekday, 0, 6)]
  const matches = (shown: number) => {
    const date = new Date(shown * MINUTE)
    const values = [date.getUTCMinutes(), date.getUTCHours(), date.getUTCMonth() + 1, date.getUTCDay()]
    return values.every((value, at) => fields[at]?.has(value))
  }
  const isFixed = /^\d+ \d+ /.test(pattern)
  const handled = new Set<number>()
  return minutes.flatMap(({ at, shown }, index) => {
    if (!isFixed) return matches(shown) ? [at] : []
    const before = minutes[index - 1]?.shown ?? shown - 1
    const skipped = Array.from({ length: Math.max(0, shown - before - 1) }, (_, n) => before + 1 + n)
    const due = [...skipped, shown].filter((each) => matches(each) && !handled.has(each))
    for (const each of due) handled.add(each)
    return due.length > 0 ? [at] : []
  })
}

function cronTiming(cron: string, timeZone: string): Timing {
  const timing = makeTiming({ cron, timeZone }, 0)
  if ('path' in timing) throw new Error(timing.message)
  return timing
}

const text = (time: number) => new Date(time).toISOString()

describe.each(ZONES)('at changes of the clocks of %s', (timeZone) => {
  const clock = clockOf(timeZone)
  const windows = changesOf(clock).map((change) => {
    // What the clock shows twice is handled by the time that the compared minutes begin.
    const length = (3 * AROUND) / MINUTE
    const minutes = Array.from({ length }, (_, n) => change - 2 * AROUND + n * MINUTE)
    return { change, minutes: minutes.map((at) => ({ at, shown: clock(at) })) }
  })

  test.each(PATTERNS)('the pattern %s is due when it should be', (pattern) => {
    const { next, last } = cronTiming(pattern, timeZone)
    for (const { change, minutes } of windows) {
      const [start, end] = [change - AROUND, change + AROUND]
      const expected = dueTimes(pattern, minutes).filter((due) => due > start && due < end)
      const forward: number[] = []
      for (let due = next(start); due !== undefined && due < end; due = next(due)) forward.push(due)
      expect(forward.map(text)).toEqual(expected.map(text))
      const backward: number[] = []
      for (let due = last(end - 1); due !== undefined && due > start; due = last(due - 1)) backward.unshift(due)
      expect(backward.map(text)).toEqual(expected.map(text))
      // Also for who asks in between, as when a schedule is stored.
      for (let at = change - 2 * HOUR; at <= change + 2 * HOUR; at += 17 * MINUTE) {
        const answers = [next(at), last(at)].map((due = 0) => (due > start && due < end ? text(due) : 'elsewhere'))
        const wanted = [expected.find((due) => due > at), expected.findLast((due) => due <= at)]
        expect(answers).toEqual(wanted.map((due) => (due === undefined ? 'elsewhere' : text(due))))
      }
    }
  })
})

test('patterns may have blanks around them, and tabs', () => {
  const { next } = cronTiming('\t0  8 *\t* 1-5 ', 'Europe/Berlin')
  expect(text(next(Date.UTC(2026, 0, 1)) ?? 0)).toBe('2026-01-01T07:00:00.000Z')
  expect(cronTiming(' @daily ', 'UTC').next(0)).toBe(24 * HOUR)
})

test('the last due time is answers at once, however many there were', () => {
  const every = cronTiming('* * * 2 *', 'UTC')
  expect(text(every.last(Date.UTC(2027, 0, 31)) ?? 0)).toBe('2026-02-28T23:59:00.000Z')
  const leap = cronTiming('0 0 29 2 *', 'UTC')
  expect(text(leap.last(Date.UTC(2027, 0, 31)) ?? 0)).toBe('2024-02-29T00:00:00.000Z')
  const timing = makeTiming({ everySeconds: 60 }, 1000) as Timing
  expect([0, 60_999, 61_000, 1e12].map(timing.last)).toEqual([undefined, undefined, 61_000, 999_999_961_000])
  const once = makeTiming({ at: '2026-02-28T08:00:00+01:00' }, 0) as Timing
  const at = Date.UTC(2026, 1, 28, 7)
  expect([at - 1, at, at + 1].map(once.last)).toEqual([undefined, at, at])
})
