import { describe, expect, test } from 'vitest'
import {
  createFusedIndex,
  createSemanticIndex,
  memoryVectors,
  type VectorizeBinding,
  vectorizeVectors,
} from '../../src/search/semantic-index.ts'
import { createKeywordIndex } from '../../src/search/keyword-index.ts'
import type { ToolIndex } from '../../src/search/tool-index.ts'
import { definitionOf } from './definitions.ts'

/** Meanings for a test: money, weather, and all else. */
function meaningOf(text: string): number[] {
  const has = (...words: readonly string[]) => (words.some((word) => text.toLowerCase().includes(word)) ? 1 : 0)
  return [has('invoice', 'bill', 'pay', 'owe'), has('weather', 'rain', 'umbrella'), 0.1]
}

function embedder() {
  const calls: (readonly string[])[] = []
  const embed = async (texts: readonly string[]) => {
    calls.push(texts)
    return texts.map(meaningOf)
  }
  return { calls, embed }
}

const tools = [
  definitionOf({ name: 'send_invoice', description: 'Sends an invoice.' }),
  definitionOf({ name: 'weather', description: 'Current weather.' }),
]

const namesOf = async (index: ToolIndex, text: string, limit = 5) =>
  (await index.search(text, limit)).map(({ name }) => name)

describe('semantic index', () => {
  test('finds tools by meaning, and none below the threshold', async () => {
    const index = createSemanticIndex({ embed: embedder().embed })
    await index.add(tools)
    expect(await namesOf(index, 'Do I need an umbrella?')).toEqual(['weather'])
    expect(await namesOf(index, 'What do I owe?')).toEqual(['send_invoice'])
    expect(await namesOf(index, '   ')).toEqual([])
  })

  test('embeds name and description once, in batches, and again only after a change', async () => {
    const { calls, embed } = embedder()
    const index = createSemanticIndex({ embed, batch: 1 })
    await index.add(tools)
    await index.add([...tools.slice(0, 1), definitionOf({ name: 'weather', description: 'Rain radar.' })])
    expect(calls).toEqual([
      ['send invoice: Sends an invoice.'],
      ['weather: Current weather.'],
      ['weather: Rain radar.'],
    ])
    await index.remove(['weather'])
    expect(await namesOf(index, 'umbrella')).toEqual([])
  })

  test('rejects with the error of the embedder, and if it returns a wrong number of vectors', async () => {
    const down = createSemanticIndex({ embed: () => Promise.reject(new Error('down')) })
    await expect(down.add(tools)).rejects.toThrow('down')
    const short = createSemanticIndex({ embed: async () => [[1, 0, 0]] })
    await expect(short.add(tools)).rejects.toThrow('Expected 2 vectors but received 1')
  })
})

test('vectors in memory are ordered by angle, whatever their length', async () => {
  const vectors = memoryVectors()
  await vectors.put([
    { id: 'x', values: [100, 0] },
    { id: 'y', values: [0, 1] },
    { id: 'xy', values: [1, 1] },
    { id: 'none', values: [0, 0] },
  ])
  const near = await vectors.nearest([2, 0], 3)
  expect(near.map(({ id, score }) => [id, score.toFixed(3)])).toEqual([
    ['x', '1.000'],
    ['xy', '0.707'],
    ['none', '0.000'],
  ])
  await vectors.remove(['x'])
  expect((await vectors.nearest([2, 0], 1)).map(({ id }) => id)).toEqual(['xy'])
})

test('vectors in Vectorize have their namespace and an id of their own', async () => {
  const rows = new Map<string, VectorizeVector>()
  const requests: VectorizeQueryOptions[] = []
  const binding: VectorizeBinding = {
    upsert: async (vectors) => vectors.forEach((vector) => rows.set(vector.id, vector)),
    deleteByIds: async (ids) => ids.forEach((id) => rows.delete(id)),
    query: async (_values, options) => {
      requests.push(options)
      const matches = [...rows.values()].filter(({ namespace }) => namespace === options.namespace)
      return { matches: matches.map((row) => ({ ...row, score: 0.9 })) }
    },
  }
  const [a, b] = [vectorizeVectors(binding, 'a'), vectorizeVectors(binding, 'b')]
  await a.put([{ id: 'mail', values: [1, 0] }])
  await b.put([{ id: 'mail', values: [0, 1] }])
  expect([...rows.values()].map(({ namespace, metadata, values }) => [namespace, metadata, values])).toEqual([
    ['a', { id: 'mail' }, [1, 0]],
    ['b', { id: 'mail' }, [0, 1]],
  ])
  expect([...rows.keys()].every((id) => id.length === 64)).toBe(true)
  await a.remove(['mail'])
  expect(await a.nearest([1, 0], 5)).toEqual([])
  expect(await b.nearest([1, 0], 80)).toEqual([{ id: 'mail', score: 0.9 }])
  expect(requests.at(-1)).toEqual({ namespace: 'b', topK: 20, returnMetadata: 'all' })
})

describe('fused index', () => {
  const fixed = (...names: readonly string[]): ToolIndex => ({
    add: async () => {},
    remove: async () => {},
    search: async () => names.map((name, at) => ({ name, score: names.length - at })),
  })
  const broken = (reason: string): ToolIndex => ({ ...fixed(), search: () => Promise.reject(new Error(reason)) })

  test('sums the scores of a tool in all indexes, each as a share of the best score there', async () => {
    const index = createFusedIndex(fixed('a', 'b', 'c'), fixed('c', 'b', 'd'))
    expect(await index.search('x', 3)).toEqual([
      { name: 'b', score: 2 / 3 + 2 / 3 },
      { name: 'c', score: 1 / 3 + 1 },
      { name: 'a', score: 1 },
    ])
  })

  test('is not misled by an index that scores all tools nearly the same', async () => {
    const weak: ToolIndex = {
      ...fixed(),
      search: async () => ['d', 'c', 'b', 'a'].map((name, at) => ({ name, score: 0.4 - at / 1000 })),
    }
    const sure: ToolIndex = {
      ...fixed(),
      search: async () => [
        { name: 'a', score: 9 },
        { name: 'b', score: 2 },
      ],
    }
    expect(await namesOf(createFusedIndex(sure, weak), 'x', 2)).toEqual(['a', 'b'])
  })

  test('omits an index that fails, and fails if all fail', async () => {
    expect(await namesOf(createFusedIndex(broken('down'), fixed('a')), 'x')).toEqual(['a'])
    await expect(createFusedIndex(broken('first'), broken('second')).search('x', 5)).rejects.toThrow('first')
  })

  test('omits an index that could not add a tool until it can', async () => {
    let up = false
    const { calls, embed } = embedder()
    const fails = () => Promise.reject(new Error('down'))
    const semantic = createSemanticIndex({ embed: (texts) => (up ? embed(texts) : fails()) })
    const index = createFusedIndex(createKeywordIndex(), semantic)
    await index.add(tools)
    expect(await namesOf(index, 'invoice')).toEqual(['send_invoice'])
    await index.remove(['weather'])
    up = true
    expect(await namesOf(index, 'What do I owe?')).toEqual(['send_invoice'])
    expect(await namesOf(index, 'umbrella')).toEqual([])
    expect(calls.slice(0, 2)).toEqual([['send invoice: Sends an invoice.'], ['What do I owe?']])
    const none = createFusedIndex(createSemanticIndex({ embed: fails }), createSemanticIndex({ embed: fails }))
    await none.add(tools)
    await expect(none.search('invoice', 5)).rejects.toThrow('down')
  })

  test('omits an index that could not remove a tool until it can', async () => {
    let up = false
    const stored = new Set<string>()
    const index = createFusedIndex(fixed('a'), {
      add: async (tools) => tools.forEach(({ name }) => stored.add(name)),
      remove: async (names) => {
        if (!up) throw new Error('down')
        names.forEach((name) => stored.delete(name))
      },
      search: async () => [...stored].map((name) => ({ name, score: 1 })),
    })
    await index.add(tools)
    expect(await namesOf(index, 'x')).toEqual(['a', ...tools.map(({ name }) => name).sort()])
    await index.remove(tools.map(({ name }) => name))
    expect(await namesOf(index, 'x')).toEqual(['a'])
    expect(stored.size).toBe(tools.length)
    up = true
    expect(await namesOf(index, 'x')).toEqual(['a'])
    expect(stored.size).toBe(0)
  })

  test('of keyword and semantic indexes finds by word and by meaning', async () => {
    const index = createFusedIndex(createKeywordIndex(), createSemanticIndex({ embed: embedder().embed }))
    await index.add([...tools, definitionOf({ name: 'zebra_count', description: 'Counts zebras.' })])
    expect((await namesOf(index, 'count the zebras'))[0]).toBe('zebra_count')
    expect(await namesOf(index, 'will it rain')).toEqual(['weather'])
    await index.remove(['weather'])
    expect(await namesOf(index, 'will it rain')).toEqual([])
  })
})
