import { expect, test } from 'vitest'
import { growingVectors, memoryVectors } from '../../src/search/semantic-index.ts'
import { testCatalogue } from '../catalogue/object.ts'

const vector = (id: string, ...values: number[]) => ({ id, values })

test('vectors above a number are in a store outside, to which each is sent once for all isolates', async () => {
  const { object: service } = testCatalogue()
  const outside = memoryVectors()
  const batches: string[][] = []
  const large = {
    ...outside,
    put: async (vectors: Parameters<typeof outside.put>[0]) => {
      batches.push(vectors.map(({ id }) => id))
      await outside.put(vectors)
    },
  }
  const isolate = () => growingVectors({ large, service, name: 'test', most: 2 })
  const first = isolate()
  await first.put([vector('a', 1, 0), vector('b', 0, 1)])
  expect([batches, (await first.nearest([0, 1], 1)).map(({ id }) => id)]).toEqual([[], ['b']])
  await first.put([vector('c', 1, 1)])
  expect(batches).toEqual([['a', 'b', 'c']])
  expect((await first.nearest([1, 1], 1)).map(({ id }) => id)).toEqual(['c'])
  const second = isolate()
  await second.put([vector('a', 1, 0), vector('b', 0, 1), vector('c', 1, 1)])
  expect(batches).toHaveLength(1)
  // A changed vector is sent again, and so is one that is changed back.
  await second.put([vector('a', -1, 0)])
  await first.put([vector('a', 1, 0)])
  expect(batches.slice(1)).toEqual([['a'], ['a']])
  expect((await second.nearest([1, 0], 1)).map(({ id }) => id)).toEqual(['a'])
})
