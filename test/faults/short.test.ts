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

test('20 posts to one conversation at once are 20 runs, in the order of their acceptance', async () => {
  expect(await playQueue(world, 20)).toEqual([])
})

test('of 50 conversations at once none sees anything of another', async () => {
  expect(await playMany(world, 50)).toEqual([])
})

test('who leaves a stream after any event and comes again sees what one sees who stays', async () => {
  expect(await playReaders(world)).toEqual([])
})

test('20 posts with one key at once are one run, and every caller gets it', async () => {
  expect(await playKey(world)).toEqual([])
})

/** Each run calls a tool of every class at once, and is killed with all others, each at its moment. */
describe('an edge that is killed goes on by itself, and every run ends once and whole, when', () => {
  const rows = rowsOf(MOMENTS, [CLASSES])
  let ends: ReadonlyMap<string, RowEnd>

  beforeAll(async () => {
    await killAt(world, rows)
    ends = new Map(await Promise.all(rows.map(async (row) => [row.name, await endOf(world, row)] as const)))
  }, 3 * PATIENCE_MS)

  test.each(rows.map((row) => row.name))('%s', (name) => {
    expect(ends.get(name)).toMatchObject({ faults: [] })
  })

  test('and no stream ends before its run', () => {
    expect([...ends.values()].filter(({ early }) => early > 0).map(({ name }) => name)).toEqual([])
  })

  test('and no model is asked what it must not be', () => {
    expect(world.faults).toEqual([])
  })
})
