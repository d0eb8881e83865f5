import { describe, expect, test } from 'vitest'
import { FIRST_BYTES } from '../src/contract/quotas.ts'
import { shardedDirectories } from '../src/edge/sharded-directories.ts'
import { Chance } from './faults/chance.ts'
import { memoryDirectories } from './fixtures/directories.ts'

/** Lists all conversations page by page. */
async function listAll(directory: { list(after: string, limit: number): Promise<readonly string[]> }, limit = 7) {
  const ids: string[] = []
  for (;;) {
    const page = await directory.list(ids.at(-1) ?? '', limit)
    expect(page.length).toBeLessThanOrEqual(limit)
    ids.push(...page)
    if (page.length < limit) return ids
  }
}

describe('the shards of a directory', () => {
  test('list, remove and count as one object does, while their number grows', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const chance = new Chance(seed)
      const [objects, single] = [memoryDirectories(), memoryDirectories().getByName('acme')]
      let shards = 1
      const sizes = new Map<string, number>()
      for (let step = 0; step < 150; step++) {
        if (chance.isHit(0.03)) shards += chance.between(1, 2)
        const directory = shardedDirectories(objects, shards).getByName('acme')
        const isNew = sizes.size === 0 || chance.isHit(0.6)
        const id = isNew ? `Conv-${chance.between(0, 1e6)}_x` : [...sizes.keys()][chance.between(0, sizes.size - 1)]!
        if (isNew && !sizes.has(id)) {
          for (const each of [directory, single]) await each.add(id)
          sizes.set(id, FIRST_BYTES)
        } else if (chance.isHit(0.5)) {
          for (const each of [directory, single]) await each.remove(id)
          sizes.delete(id)
        } else {
          const bytes = chance.between(1, 1e6)
          expect(await directory.resize(id, bytes)).toEqual(await single.resize(id, bytes))
          sizes.set(id, bytes)
        }
      }
      const directory = shardedDirectories(objects, shards).getByName('acme')
      expect(await listAll(directory), `seed ${seed}`).toEqual(await listAll(single))
      const [id = ''] = sizes.keys()
      expect(await directory.room(id)).toEqual(await single.room(id))
      expect(await directory.room('none')).toEqual(await single.room('none'))
    }
  })

  test('spread the conversations evenly, and leave everything else in the first object', async () => {
    const objects = memoryDirectories()
    const directory = shardedDirectories(objects, 4).getByName('acme')
    for (let number = 0; number < 400; number++) await directory.add(`conv_${number}`)
    const names = ['acme', 'acme/1', 'acme/2', 'acme/3']
    const counts = await Promise.all(names.map(async (name) => (await objects.getByName(name).room('')).conversations))
    expect(Math.min(...counts)).toBeGreaterThan(60)
    const at = Date.now()
    const period = new Date(at).toISOString().slice(0, 10)
    await directory.count({ run: 'run_1', key: 'k', at, tokens: 5, cost: 0 })
    expect(await objects.getByName('acme').spendTotals('k', period)).toEqual({ tokens: 5, cost: 0, runs: 1 })
  })

  test('count a conversation that is not listed once, until it ends', async () => {
    const directory = shardedDirectories(memoryDirectories(), 3).getByName('acme')
    const until = Date.now() + 60_000
    expect(await directory.resize('branch', 1000, until)).toEqual({ conversations: 0, storedBytes: 1000 })
    expect(await directory.list('', 10)).toEqual([])
  })
})
