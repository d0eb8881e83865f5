import { beforeEach, describe, expect, test } from 'vitest'
import {
  addAlarm,
  bookAttempts,
  createTable,
  endAlarm,
  fireDue,
  forgetOld,
  type NewAlarm,
  nextDue,
  readAlarms,
  recordAttempt,
} from './store.ts'
import { memorySql } from '../../test/fixtures/sqlite.ts'

const NOW = Date.parse('2026-11-20T12:00:00Z')
const SECOND = 1000
const DAY = 86_400_000

let sql: SqlStorage
beforeEach(() => {
  sql = memorySql()
  createTable(sql)
})

/** Sets an alarm so many milliseconds ahead; its message is its key. */
function add(key: string, ahead: number, parts: Partial<NewAlarm> = {}) {
  const at = NOW + ahead
  return addAlarm(sql, { key, tenant: 'acme', message: key, time: new Date(at).toISOString(), at, ...parts }, NOW)
}

function idOf(key: string, ahead: number): string {
  const alarm = add(key, ahead)
  if (typeof alarm === 'string') throw new Error(`refused: ${alarm}`)
  return alarm.id
}

const messages = (notices: readonly { message: string }[]) => notices.map(({ message }) => message)
const listAlarms = () => readAlarms(sql).map(({ message, state, delivery }) => [message, state, delivery])

describe('setting an alarm', () => {
  test('makes one alarm for one key, whatever became of it and whatever the second request has', () => {
    const first = add('tea', 5 * SECOND)
    expect(first).toEqual({ id: expect.any(String), time: '2026-11-20T12:00:05.000Z', message: 'tea' })
    expect(add('tea', 9 * SECOND, { message: 'coffee' })).toEqual(first)
    fireDue(sql, NOW + 5 * SECOND, false)
    expect(add('tea', -SECOND)).toEqual(first)
    expect(listAlarms()).toEqual([['tea', 'fired', undefined]])
  })

  test('refuses the past, the present, and more than a year ahead', () => {
    expect([add('a', -1), add('b', 0), add('c', 366 * DAY + 1)]).toEqual(['past', 'past', 'too-far'])
    expect(add('d', 366 * DAY)).toMatchObject({ message: 'd' })
  })

  test('refuses the 101st pending alarm until one has fired', () => {
    for (let count = 1; count <= 100; count++) add(`alarm ${count}`, count * SECOND)
    expect(add('one more', SECOND)).toBe('too-many')
    fireDue(sql, NOW + SECOND, false)
    expect(add('one more', 2 * SECOND)).toMatchObject({ message: 'one more' })
  })
})

describe('firing alarms', () => {
  test('wakes for the earliest alarm, whenever it was set', () => {
    add('later', 9 * SECOND)
    add('sooner', 4 * SECOND)
    expect(nextDue(sql)).toBe(NOW + 4 * SECOND)
    expect(fireDue(sql, NOW + 4 * SECOND - 1, true)).toEqual([])
    expect(messages(fireDue(sql, NOW + 4 * SECOND, false))).toEqual(['sooner'])
    expect(nextDue(sql)).toBe(NOW + 9 * SECOND)
  })

  test('fires all overdue alarms, including those of one instant, once each and in order', () => {
    add('twin 1', 5 * SECOND)
    add('twin 2', 5 * SECOND)
    add('early', SECOND)
    add('tomorrow', DAY)
    expect(fireDue(sql, NOW + 3600 * SECOND, false)).toEqual(
      [
        { message: 'early', time: '2026-11-20T12:00:01.000Z' },
        { message: 'twin 1', time: '2026-11-20T12:00:05.000Z' },
        { message: 'twin 2', time: '2026-11-20T12:00:05.000Z' },
      ].map((alarm) => ({
        ...alarm,
        id: expect.any(String),
        tenant: 'acme',
        firedAt: '2026-11-20T13:00:00.000Z',
      })),
    )
    expect(fireDue(sql, NOW + 3600 * SECOND, false)).toEqual([])
    expect(nextDue(sql)).toBe(NOW + DAY)
  })

  test('lists pending alarms by time, then fired ones, the latest first', () => {
    add('third', 3 * SECOND)
    add('first', SECOND)
    add('second', 2 * SECOND)
    add('fourth', 4 * SECOND)
    fireDue(sql, NOW + SECOND, true)
    fireDue(sql, NOW + 2 * SECOND, false)
    expect(listAlarms()).toEqual([
      ['third', 'pending', undefined],
      ['fourth', 'pending', undefined],
      ['second', 'fired', undefined],
      ['first', 'fired', 'trying'],
    ])
  })

  test('has nothing due without alarms', () => {
    expect([nextDue(sql), readAlarms(sql), bookAttempts(sql, NOW)]).toEqual([undefined, [], []])
  })
})

describe('cancelling an alarm', () => {
  test('ends a pending alarm, and returns the same again', () => {
    const id = idOf('tea', SECOND)
    expect([endAlarm(sql, id, NOW), endAlarm(sql, id, NOW)]).toEqual(['cancelled', 'cancelled'])
    expect([nextDue(sql), fireDue(sql, NOW + DAY, true), readAlarms(sql)]).toEqual([undefined, [], []])
  })

  test('does not change a fired alarm, and does not find an unknown one', () => {
    const id = idOf('tea', SECOND)
    fireDue(sql, NOW + SECOND, true)
    expect([endAlarm(sql, id, NOW + SECOND), endAlarm(sql, 'nope', NOW)]).toEqual(['fired', undefined])
    expect(listAlarms()).toEqual([['tea', 'fired', 'trying']])
  })
})

describe('notices of alarms', () => {
  test('are sent up to six times with growing delays', () => {
    const id = idOf('tea', 0 + SECOND)
    let now = NOW + SECOND
    fireDue(sql, now, true)
    const waits: number[] = []
    for (let due = nextDue(sql); due !== undefined; due = nextDue(sql)) {
      waits.push((due - now) / SECOND)
      now = due
      expect(messages(bookAttempts(sql, now))).toEqual(['tea'])
      recordAttempt(sql, id, 'HTTP 500', now)
    }
    expect(waits).toEqual([0, 2, 10, 50, 250, 1250])
    expect(listAlarms()).toEqual([['tea', 'fired', 'failed']])
  })

  test('end once delivered', () => {
    const id = idOf('tea', SECOND)
    fireDue(sql, NOW + SECOND, true)
    bookAttempts(sql, NOW + SECOND)
    recordAttempt(sql, id, undefined, NOW + SECOND)
    expect([nextDue(sql), listAlarms()]).toEqual([undefined, [['tea', 'fired', 'delivered']]])
  })

  test('are sent again after an attempt that nobody recorded, but not endlessly', () => {
    add('tea', SECOND)
    let now = NOW + SECOND
    fireDue(sql, now, true)
    let attempts = 0
    for (let due = nextDue(sql); due !== undefined; due = nextDue(sql)) {
      now = due
      attempts += bookAttempts(sql, now).length
      expect(bookAttempts(sql, now)).toEqual([])
    }
    expect(attempts).toBe(6)
    expect(listAlarms()).toEqual([['tea', 'fired', 'failed']])
  })

  test('are sent six at a time', () => {
    for (let count = 1; count <= 8; count++) add(`alarm ${count}`, SECOND)
    fireDue(sql, NOW + SECOND, true)
    expect([bookAttempts(sql, NOW + SECOND), bookAttempts(sql, NOW + SECOND)].map(messages)).toEqual([
      ['alarm 1', 'alarm 2', 'alarm 3', 'alarm 4', 'alarm 5', 'alarm 6'],
      ['alarm 7', 'alarm 8'],
    ])
  })
})

test('an alarm that has ended is forgotten after a week, and a pending one is not', () => {
  add('fired', SECOND)
  add('still tried', 2 * SECOND)
  add('pending', 30 * DAY)
  fireDue(sql, NOW + SECOND, false)
  fireDue(sql, NOW + 2 * SECOND, true)
  forgetOld(sql, NOW + SECOND + 7 * DAY)
  expect(listAlarms()).toHaveLength(3)
  forgetOld(sql, NOW + 8 * DAY)
  expect(listAlarms()).toEqual([
    ['pending', 'pending', undefined],
    ['still tried', 'fired', 'trying'],
  ])
})
