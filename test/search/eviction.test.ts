import { expect, test } from 'vitest'
import {
  alwaysEviction,
  compositeEviction,
  type Eviction,
  lruEviction,
  neverEviction,
  ttlEviction,
} from '../../src/search/tool-search.ts'

/** What goes as these sessions are used one after the other. */
function use(eviction: Eviction, ...sessions: readonly string[]): readonly (readonly string[])[] {
  return sessions.map((session) => {
    const evicted = eviction.onAccess(session)
    evicted.forEach((name) => eviction.onRemoved(name))
    return evicted
  })
}

test('lru evicts the session that was not used for the longest', () => {
  expect(use(lruEviction(2), 'a', 'b', 'a', 'c', 'b')).toEqual([[], [], [], ['b'], ['a']])
  const many = lruEviction()
  expect(use(many, ...Array.from({ length: 1001 }, (_, at) => `s${at}`)).flat()).toEqual(['s0'])
})

test('ttl evicts sessions after their time, never the one in use', () => {
  let now = 0
  const eviction = ttlEviction(10, () => now)
  expect(use(eviction, 'a')).toEqual([[]])
  now = 5
  expect(use(eviction, 'b')).toEqual([[]])
  now = 10
  expect(use(eviction, 'b')).toEqual([['a']])
  now = 19
  expect(use(eviction, 'c')).toEqual([[]])
  now = 100
  expect(use(eviction, 'c')).toEqual([['b']])
})

test('composite evicts what any of its policies evicts, and informs all of them', () => {
  let now = 0
  const eviction = compositeEviction(
    lruEviction(2),
    ttlEviction(10, () => now),
  )
  expect(use(eviction, 'a', 'b', 'c')).toEqual([[], [], ['a']])
  now = 10
  expect(use(eviction, 'd')).toEqual([['b', 'c']])
  expect(use(eviction, 'e')).toEqual([[]])
})

test('no policy evicts the session in use', () => {
  expect(use(neverEviction(), 'a', 'b', 'a')).toEqual([[], [], []])
  expect(use(alwaysEviction(), 'a', 'b', 'a')).toEqual([['a'], ['b'], ['a']])
})

test('invalid limits are refused', () => {
  for (const most of [0, -1, 1.5, Number.NaN]) expect(() => lruEviction(most)).toThrow(RangeError)
  for (const ms of [0, -1, Number.NaN]) expect(() => ttlEviction(ms)).toThrow(RangeError)
})
