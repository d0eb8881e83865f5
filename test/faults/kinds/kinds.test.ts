import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeWorld, type World } from '../world.ts'
import { KINDS, KINDS_EDGE } from './all.ts'
import { Player } from './play.ts'

/** Of so many moments, one is played; `npm run test:faults` plays all. */
const ONE_OF = 24

let world: World

beforeAll(async () => {
  world = await makeWorld(KINDS_EDGE)
  await world.start()
})
afterAll(() => world?.close())

test(
  'runs of all kinds complete once with each effect had once or told as in doubt, wherever a kill finds them',
  async () => {
    const player = new Player(world, 1)
    const moments = await Promise.all(KINDS.map((kind) => player.momentsOf(kind)))
    const selection = moments.flat().filter((_, index) => index % ONE_OF === 0)
    expect(new Set(selection.map(({ kind }) => kind))).toEqual(new Set(KINDS))
    await player.killAt(selection)
    expect([...(await player.end()), ...world.faults]).toEqual([])
    // Schedules wait for the next minute, and then for the fence of calls that a kill has lost.
  },
  15 * 60_000,
)
