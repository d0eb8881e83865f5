import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeWorld, type World } from '../world.ts'
import { KINDS, KINDS_EDGE } from './all.ts'
import { Player } from './play.ts'

/** Of so many moments of each kind, one is played; `npm run test:faults` plays all. */
const ONE_OF = 16

let world: World

beforeAll(async () => {
  world = await makeWorld(KINDS_EDGE)
  await world.start()
})
afterAll(() => world?.close())

test('runs of all kinds complete once with each effect had once or told as in doubt, wherever a kill finds them', async () => {
  const player = new Player(world, 1)
  const moments = await Promise.all(KINDS.map((kind) => player.momentsOf(kind)))
  expect(moments.filter((list) => list.length < ONE_OF)).toEqual([])
  await player.killAt(moments.flat().filter((_, index) => index % ONE_OF === 0))
  expect([...(await player.end()), ...world.faults]).toEqual([])
})
