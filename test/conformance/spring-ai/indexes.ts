import { expect } from 'vitest'
import type { ToolDefinition } from '../../../src/contract/tool-definition.ts'
import {
  alwaysEviction,
  compositeEviction,
  type Eviction,
  lruEviction,
  neverEviction,
  ttlEviction,
} from '../../../src/search/tool-search.ts'
import { createKeywordIndex } from '../../../src/search/keyword-index.ts'
import { createRegexIndex } from '../../../src/search/regex-index.ts'
import { createSemanticIndex } from '../../../src/search/semantic-index.ts'
import type { ToolIndex } from '../../../src/search/tool-index.ts'
import { tool } from '../../fixtures/play.ts'
import { different, type Row, same } from '../rows.ts'

const defined = (name: string, description: string): ToolDefinition => tool(name, undefined, { description }).definition

const TOOLS = [
  defined('getWeather', 'Tells how it is outside.'),
  defined('getTime', 'Tells the hour, whatever the weather.'),
  defined('sendMail', 'Writes to somebody.'),
]

/** The names that an index of these tools finds. */
async function namesIn(index: ToolIndex, text: string, limit = 10): Promise<string[]> {
  return (await index.search(text, limit)).map(({ name }) => name)
}

/** Which sessions are let go as these are used, one after the other. */
function letGo(eviction: Eviction, ...sessions: readonly string[]): (readonly string[])[] {
  return sessions.map((session) => {
    const evicted = eviction.onAccess(session)
    evicted.forEach((each) => eviction.onRemoved(each))
    return evicted
  })
}

/** What an index is to do whatever its strategy: begin, limit, replace, forget. */
async function keepsTools(index: ToolIndex): Promise<void> {
  expect(await namesIn(index, 'weather')).toEqual([])
  await index.add(TOOLS)
  expect((await namesIn(index, 'weather'))[0]).toBe('getWeather')
  expect(await namesIn(index, 'weather', 1)).toEqual(['getWeather'])
  await index.remove(['getWeather', 'nosuch'])
  expect(await namesIn(index, 'weather')).not.toContain('getWeather')
  await index.add([defined('sendMail', 'Tells the weather to somebody.')])
  expect(await namesIn(index, 'weather')).toContain('sendMail')
}

/** A text as how often it has each of these words. */
async function embed(texts: readonly string[]): Promise<number[][]> {
  return texts.map((text) => ['weather', 'hour', 'somebody'].map((word) => text.toLowerCase().split(word).length - 1))
}

/** Rows 128 to 130: which indexes are kept, and how they find. */
export const indexes: readonly Row[] = [
  {
    row: 128,
    says: 'sessions go by how long ago they were used, by number, by both, always or never',
    verdict: same(() => {
      expect(letGo(lruEviction(2), 'a', 'b', 'a', 'c', 'b')).toEqual([[], [], [], ['b'], ['a']])
      expect(() => lruEviction(0)).toThrow(RangeError)
      let now = 0
      const ttl = ttlEviction(10, () => now)
      const after = (time: number, session: string) => {
        now = time
        return letGo(ttl, session)[0]
      }
      expect([after(0, 'a'), after(5, 'b'), after(9, 'a'), after(15, 'c'), after(40, 'c')]).toEqual([
        ...[[], [], []],
        ['b'],
        ['a'],
      ])
      expect(() => ttlEviction(0)).toThrow(RangeError)
      now = 0
      const both = compositeEviction(
        lruEviction(1),
        ttlEviction(10, () => now),
      )
      expect(letGo(both, 'a', 'b')).toEqual([[], ['a']])
      expect(letGo(alwaysEviction(), 'a', 'a')).toEqual([['a'], ['a']])
      expect(letGo(neverEviction(), 'a', 'b')).toEqual([[], []])
    }),
  },
  {
    row: 129,
    says: 'words are found as they stand, in names before descriptions; a blank question finds all',
    verdict: same(async () => {
      await keepsTools(createRegexIndex())
      const index = createRegexIndex()
      await index.add(TOOLS)
      expect(await namesIn(index, 'the Weather, please')).toEqual(['getWeather', 'getTime'])
      expect(await namesIn(index, 'mail|time')).toEqual([])
      expect(await namesIn(index, ' ')).toHaveLength(3)
      expect(await namesIn(createRegexIndex(), 'weather')).toEqual([])
    }),
  },
  {
    row: 130,
    says: 'words of names count most, and what is meant is found as well',
    verdict: different(
      'by BM25 over names, descriptions and parameters, in any language, and by vectors of both',
      async () => {
        await keepsTools(createKeywordIndex())
        const words = createKeywordIndex()
        await words.add(TOOLS)
        expect(await namesIn(words, 'weather')).toEqual(['getWeather', 'getTime'])
        const requests: string[][] = []
        const meanings = createSemanticIndex({
          embed: (texts) => {
            requests.push([...texts])
            return embed(texts)
          },
          batch: 2,
        })
        await keepsTools(meanings)
        expect(requests.slice(0, 2).map((texts) => texts.length)).toEqual([2, 1])
      },
    ),
  },
]
