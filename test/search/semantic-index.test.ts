import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  createFusedIndex,
  createSemanticIndex,
  memoryVectors,
  type VectorizeBinding,
  vectorizeVectors,
} from '../../src/search/semantic-index.ts'
import { createKeywordIndex } from '../../src/search/keyword-index.ts'
import type { ToolIndex } from '../../src/search/tool-index.ts'
import { settle } from '../fixtures/settle.ts'
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

  test('has the latest text of a tool, and no removed tool, whichever addition ends last', async () => {
    const slow = Promise.withResolvers<void>()
    const embed = async (texts: readonly string[]) => {
      if (texts.some((text) => text.includes('invoice'))) await slow.promise
      return texts.map(meaningOf)
    }
    const index = createFusedIndex(createSemanticIndex({ embed }))
    await index.add([definitionOf({ name: 'a', description: 'Sends an invoice.' }), ...tools.slice(0, 1)])
    const early = namesOf(index, 'umbrella')
    await index.add([definitionOf({ name: 'a', description: 'Tells whether it rains.' })])
    await index.remove(['send_invoice'])
    expect(await namesOf(index, 'umbrella')).toEqual(['a'])
    slow.resolve()
    await early
    expect([await namesOf(index, 'umbrella'), await namesOf(index, 'What do I owe?')]).toEqual([['a'], []])
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

test('vectors in Vectorize are given up while it does not answer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const hang = () => new Promise<never>(() => {})
  const store = vectorizeVectors({ upsert: hang, deleteByIds: hang, query: hang }, 'a')
  const outcomes = Promise.allSettled([
    store.put([{ id: 'mail', values: [1, 0] }]),
    store.remove(['mail']),
    store.nearest([1, 0], 5),
  ])
  await settle()
  await vi.advanceTimersByTimeAsync(10_000)
  const refusal = { status: 'rejected', reason: new Error('no answer within 10000 ms') }
  expect(await outcomes).toEqual([refusal, refusal, refusal])
})

describe('fused index', () => {
  const fixed = (...names: readonly string[]): ToolIndex => ({
    add: async () => {},
    remove: async () => {},
    search: async () => names.map((name, at) => ({ name, score: names.length - at })),
  })
  const broken = (reason: string): ToolIndex => ({ ...fixed(), search: () => Promise.reject(new Error(reason)) })

  /** An index that answers each question with these scores. */
  const scored = (scores: Readonly<Record<string, number>>): ToolIndex => ({
    ...fixed(),
    search: async () => Object.entries(scores).map(([name, score]) => ({ name, score })),
  })

  test('adds the shares of another index by how open the first is and how clear the other', async () => {
    const open = scored({ a: 10, b: 9, c: 8, d: 8, e: 8, f: 1 })
    const clear = scored({ f: 0.8, c: 0.4, x: 0.2, y: 0.2, z: 0.2 })
    const weight = 2 * 0.8 * 0.75 ** 2
    const index = createFusedIndex(open, clear)
    expect((await index.search('x', 20)).map(({ name, score }) => [name, Number(score.toFixed(6))])).toEqual([
      ['c', 0.8 + weight / 2],
      ['a', 1],
      ['f', 0.1 + weight],
      ['b', 0.9],
      ['d', 0.8],
      ['e', 0.8],
      ['x', weight / 4],
      ['y', weight / 4],
      ['z', weight / 4],
    ])
  })

  test('keeps the order of the first index beside one that scores all tools alike', async () => {
    const open = scored({ a: 10, b: 9, c: 8, d: 8, e: 8, f: 7 })
    const same = scored({ x: 0.5, f: 0.5, e: 0.5, d: 0.5, c: 0.5, b: 0.5 })
    expect(await namesOf(createFusedIndex(open, same), 'x', 7)).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'x'])
  })

  test('takes the other indexes alone, in their order, if the first finds nothing or fails', async () => {
    const vague = scored({ z: 0.5, y: 0.5, x: 0.4 })
    const order = ['y', 'z', 'x']
    expect(await namesOf(createFusedIndex(scored({}), vague), 'x')).toEqual(order)
    expect(await namesOf(createFusedIndex(broken('down'), vague), 'x')).toEqual(order)
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

  describe('of words and meanings', () => {
    const TOPICS = ['invoice', 'weather', 'calendar', 'translation', 'parcel', 'hotel', 'recipe', 'song']
    const catalogue = TOPICS.flatMap((topic) =>
      ['create', 'find', 'delete', 'share'].map((verb) =>
        definitionOf({ name: `${verb}_${topic}`, description: `Can ${verb} one ${topic} of a customer.` }),
      ),
    )
    const fusedOf = async (embed: (text: string) => number[]) => {
      const semantic = createSemanticIndex({ embed: async (texts) => texts.map(embed), threshold: -1 })
      const index = createFusedIndex(createKeywordIndex(), semantic)
      await index.add(catalogue)
      return index
    }
    /** Directions that have nothing to do with the text. */
    const noise = (text: string) => {
      let state = Array.from(text).reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 65_537, 7)
      return Array.from({ length: 64 }, () => (state = (state * 75 + 74) % 65_537) - 32_768)
    }
    /** Knows the topics, by other words too: a direction for each. */
    const topics = (text: string) => {
      const english = text.replace('umbrella', 'weather').replace('账单', 'invoice')
      return [...TOPICS.map((topic) => (english.includes(topic) ? 1 : 0)), 0.2]
    }

    test('finds the tool that the words find beside vectors of noise', async () => {
      const index = await fusedOf(noise)
      const wanted = catalogue.map(({ name }) => name)
      const firstNames = await Promise.all(
        wanted.map((name) => namesOf(index, `please ${name.replace('_', ' a ')}`, 1)),
      )
      expect(firstNames.flat()).toEqual(wanted)
    })

    test('finds by meaning what the words leave open', async () => {
      const words = createKeywordIndex()
      await words.add(catalogue)
      expect(await namesOf(words, 'share an umbrella', 1)).toEqual(['share_calendar'])
      const index = await fusedOf(topics)
      expect(await namesOf(index, 'share an umbrella', 1)).toEqual(['share_weather'])
      expect(await namesOf(index, 'share the invoice', 1)).toEqual(['share_invoice'])
    })

    test('finds by meaning alone where no word matches, such as in another language', async () => {
      const index = await fusedOf(topics)
      expect(await namesOf(index, '账单', 4)).toEqual(['create', 'delete', 'find', 'share'].map((v) => `${v}_invoice`))
    })
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
