import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { playMany, playQueue } from './crowd.ts'
import { MOMENTS } from './moments.ts'
import { CLASSES } from './script.ts'
import { playKey, playReaders } from './sharing.ts'
import { endOf, killAt, type RowEnd, rowsOf } from './table.ts'
import { makeWorld, PATIENCE_MS, type World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await makeWorld()
  await world.start()
})
afterAll(() => world?.close())

test('20 concurrent posts to one conversation become 20 runs, in the order of their acceptance', async () => {
  expect(await playQueue(world, 20)).toEqual([])
})

test('50 concurrent conversations see nothing of each other', async () => {
  expect(await playMany(world, 50)).toEqual([])
})

test('a reader that reconnects after any event sees the same events as one that stayed', async () => {
  expect(await playReaders(world)).toEqual([])
})

test('20 concurrent posts with one key become one run, and every caller receives it', async () => {
  expect(await playKey(world)).toEqual([])
})

/** Each run calls a tool of every class at once, and is killed with all others, each at its moment. */
describe('a killed edge recovers by itself and completes every run once,', () => {
  const rows = rowsOf(MOMENTS, [CLASSES])
  let ends: ReadonlyMap<string, RowEnd>

  beforeAll(async () => {
    await killAt(world, rows)
    ends = new Map(await Promise.all(rows.map(async (row) => [row.name, await endOf(world, row)] as const)))
  }, 3 * PATIENCE_MS)

  test.each(rows.map((row) => row.name))('when %s', (name) => {
    expect(ends.get(name)).toMatchObject({ faults: [] })
  })

  test('and no stream ends before its run', () => {
    expect([...ends.values()].filter(({ early }) => early > 0).map(({ name }) => name)).toEqual([])
  })

  test('and no model receives an invalid request', () => {
    expect(world.faults).toEqual([])
  })
})
