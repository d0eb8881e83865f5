import { mock } from 'node:test'
import { afterEach, expect, test } from 'vitest'
import { releaseClock, setClock } from './clock.ts'

afterEach(releaseClock)

test('a timer of the clock before is dropped, and to clear it clears none of this clock', () => {
  const rings: string[] = []
  setClock(1000)
  const earlier = setTimeout(() => rings.push('earlier'), 50)
  setClock(2000)
  setTimeout(() => rings.push(`at ${Date.now()}`), 50)
  const unwanted = setTimeout(() => rings.push('unwanted'), 60)
  const every = setInterval(() => rings.push('every'), 20)
  clearTimeout(earlier)
  clearTimeout(unwanted)
  mock.timers.tick(50)
  clearInterval(every)
  mock.timers.tick(50)
  expect(rings).toEqual(['every', 'every', 'at 2050'])
})

test('the timers of the process are there again', () => {
  const [set, clear] = [setTimeout, clearTimeout]
  setClock(1000)
  releaseClock()
  expect([setTimeout, clearTimeout]).toEqual([set, clear])
})
