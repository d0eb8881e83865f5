import { expect, test } from 'vitest'
import { RecentMap } from '../../src/contract/recent-map.ts'

function present(map: RecentMap<string, number>): string[] {
  return ['a', 'b', 'c', 'd'].filter((key) => map.get(key) !== undefined)
}

test('a cache drops the entries that were set first once it holds too many', () => {
  const map = new RecentMap<string, number>({ most: 2 })
  map.set('a', 1)
  map.set('b', 2)
  map.set('a', 3)
  map.set('c', 4)
  expect(present(map)).toEqual(['a', 'c'])
  expect(map.get('a')).toBe(3)
})

test('a cache counts the weights of its entries, and does not keep an entry that is over the limit alone', () => {
  const map = new RecentMap<string, number>({ most: 10 })
  map.set('a', 1, 4)
  map.set('b', 2, 4)
  map.set('c', 3, 5)
  expect(present(map)).toEqual(['b', 'c'])
  map.set('d', 4, 11)
  expect(present(map)).toEqual([])
  map.set('a', 1, 10)
  expect(present(map)).toEqual(['a'])
})

test('a cache forgets an entry at its greatest age, counted from when it was set', () => {
  const clock = { now: 0 }
  const map = new RecentMap<string, number>({ most: 9, maxAgeMs: 100, now: () => clock.now })
  map.set('a', 1)
  clock.now = 99
  map.set('b', 2)
  expect(present(map)).toEqual(['a', 'b'])
  clock.now = 100
  expect(present(map)).toEqual(['b'])
})
