import { expect, test } from 'vitest'
import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import type { ToolText } from '../../src/contract/tool.ts'
import { createFinder } from '../../src/search/finder.ts'
import { createKeywordIndex } from '../../src/search/keyword-index.ts'
import { encodeTerms } from '../../src/search/stored-terms.ts'
import type { ToolIndex } from '../../src/search/tool-index.ts'
import { definitionOf } from './definitions.ts'

/** A source of definitions that can be set, and an index over it that writes down what is done to it. */
function scene(...definitions: readonly ToolDefinition[]) {
  const log: string[] = []
  const inner = createKeywordIndex()
  const state: { texts: readonly ToolText[]; fails: boolean } = { texts: definitions, fails: false }
  const index: ToolIndex = {
    add: async (tools) => {
      log.push(`add ${tools.map(({ name }) => name).join()}`)
      if (state.fails) throw new Error('down')
      return inner.add(tools)
    },
    remove: async (names) => {
      if (names.length > 0) log.push(`remove ${names.join()}`)
      return inner.remove(names)
    },
    search: (text, limit) => inner.search(text, limit),
  }
  const nothing = async () => []
  const source = {
    list: async () => ({ tools: [], unavailable: [] }),
    ...{ offered: nothing, find: nothing, size: async () => state.texts.length, texts: async () => state.texts },
  }
  return { log, state, finder: createFinder(source, index) }
}

const mail = definitionOf({ name: 'mail', description: 'Sends mail.' })
const news = definitionOf({ name: 'news', description: 'Reads news.' })

test('the finder indexes nothing before the first search, and later only what has changed', async () => {
  const { finder, log, state } = scene(mail, news)
  expect([await finder.size(), log]).toEqual([2, []])
  expect(await finder.search('send a mail', 5)).toEqual(['mail'])
  expect(await finder.search('news', 5)).toEqual(['news'])
  expect(log).toEqual(['add mail,news'])
  state.texts = [mail, { ...news, tags: ['press'] }]
  expect(await finder.search('press', 5)).toEqual(['news'])
  state.texts = [news]
  expect(await finder.search('mail', 5)).toEqual([])
  expect(log).toEqual(['add mail,news', 'add news', 'remove mail', 'add news'])
})

test('concurrent searches index once', async () => {
  const { finder, log } = scene(mail, news)
  expect(await Promise.all(['mail', 'news'].map((text) => finder.search(text, 1)))).toEqual([['mail'], ['news']])
  expect(log).toEqual(['add mail,news'])
})

test('an index that failed is filled again', async () => {
  const { finder, log, state } = scene(mail, news)
  state.fails = true
  await expect(finder.search('mail', 5)).rejects.toThrow('down')
  state.fails = false
  expect(await finder.search('mail', 5)).toEqual(['mail'])
  expect(log).toEqual(['add mail,news', 'add mail,news'])
})

test('a tool that is removed while the index fails is not found any more', async () => {
  const { finder, log, state } = scene(mail)
  await finder.search('mail', 5)
  state.texts = [mail, news]
  state.fails = true
  await expect(finder.search('news', 5)).rejects.toThrow('down')
  state.texts = [news]
  state.fails = false
  expect([await finder.search('mail', 5), await finder.search('news', 5)]).toEqual([[], ['news']])
  expect(log).toEqual(['add mail', 'add news', 'remove mail', 'add news'])
})

test('a source without search texts is searched by its definitions', async () => {
  const tool = { definition: mail, origin: 'inline', place: 'x', offered: true, call: () => Promise.reject() } as const
  const finder = createFinder({
    list: async () => ({ tools: [tool], unavailable: [] }),
    ...{ offered: async () => [], find: async () => [] },
  })
  expect([await finder.size(), await finder.search('mail', 5)]).toEqual([1, ['mail']])
})

test('a source with a stored index is searched by it, and by the texts beside it', async () => {
  const news2 = definitionOf({ name: 'news', description: 'Reads the paper.' })
  const searchable: { stored?: string; removed: string[]; texts: ToolText[] } = {
    stored: encodeTerms([mail, news]),
    removed: [],
    texts: [],
  }
  const never = async () => Promise.reject(new Error('too much'))
  const finder = createFinder({
    ...{ list: never, offered: never, find: never, texts: never },
    searchable: async () => searchable,
  })
  expect(await finder.search('send a mail', 5)).toEqual(['mail'])
  searchable.texts = [news2]
  expect(await finder.search('paper', 5)).toEqual(['news'])
  searchable.removed = ['mail']
  expect(await finder.search('mail', 5)).toEqual([])
  // The next index holds the writes.
  Object.assign(searchable, { stored: encodeTerms([news2]), removed: [], texts: [] })
  expect(await finder.search('paper', 5)).toEqual(['news'])
  delete searchable.stored
  searchable.texts = [mail, news]
  expect(await finder.search('mail', 5)).toEqual(['mail'])
})
