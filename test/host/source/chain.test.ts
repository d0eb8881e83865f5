import { expect, test } from 'vitest'
import type { Tool, ToolListing, ToolOrigin, ToolSource, ToolText } from '../../../src/contract/tool.ts'
import { chain } from '../../../src/host/source/chain.ts'
import { call, text } from './calls.ts'

function tool(name: string, answer: string, rest: Partial<Tool> & { hash?: string } = {}): Tool {
  const { hash = `hash of ${name}`, ...more } = rest
  const definition = { name, description: name, inputSchema: { type: 'object' }, version: '1', hash, annotations: {} }
  return { definition, origin: 'inline', place: 'inline', offered: true, call: async () => text(answer), ...more }
}

function source(...tools: readonly Tool[]): ToolSource {
  return {
    list: async () => ({ tools, unavailable: [] }),
    offered: async () => tools.filter((tool) => tool.offered),
    find: async (names) => tools.filter(({ definition }) => names.includes(definition.name)),
  }
}

function names(tools: readonly Tool[]): string[] {
  return tools.map(({ definition }) => definition.name)
}

test('a chain lists and finds the tools of all its sources', async () => {
  const tools = chain([source(tool('a', '1')), source(), source(tool('b', '2'), tool('c', '3', { offered: false }))])
  const listing = await tools.list()
  expect([names(listing.tools), listing.unavailable]).toEqual([['a', 'b', 'c'], []])
  expect(names(await tools.find(['c', 'none', 'a']))).toEqual(['a', 'c'])
  expect(names(await tools.offered())).toEqual(['a', 'b'])
  expect(await tools.find([])).toEqual([])
  expect(await chain([]).list()).toEqual({ tools: [], unavailable: [] })
})

test('equal tools of two sources are one tool, of the first source, offered if either offers it', async () => {
  const tools = chain([source(tool('a', '1', { offered: false })), source(tool('a', '2'))])
  const listing = await tools.list()
  expect([names(listing.tools), listing.unavailable]).toEqual([['a'], []])
  expect(names(await tools.offered())).toEqual(['a'])
  const same = chain([source(tool('a', '1')), source(tool('a', '2'))])
  expect(await call((await same.find(['a']))[0])).toEqual(text('1'))
})

test('a name with two definitions is listed at both places and cannot be called', async () => {
  const own: [ToolOrigin, string][] = [
    ['service', 'TOOL_CLOCK'],
    ['kv', 'tool:now'],
  ]
  const sources = own.map(([origin, place]) =>
    source(tool('now', place, { origin, place, hash: place }), tool(place, '')),
  )
  const tools = chain([...sources, source(tool('now', '', { hash: 'third' }))])
  const reason = 'The tool "now" is defined differently by TOOL_CLOCK and tool:now and inline; none of them is called.'
  const listing = await tools.list()
  expect([names(listing.tools), listing.unavailable]).toEqual([
    ['TOOL_CLOCK', 'tool:now'],
    [
      { origin: 'service', place: 'TOOL_CLOCK', reason, name: 'now' },
      { origin: 'kv', place: 'tool:now', reason, name: 'now' },
      { origin: 'inline', place: 'inline', reason, name: 'now' },
    ],
  ])
  expect(await tools.find(['now'])).toEqual([])
})

test('a tool that is not offered yields its name to an offered one', async () => {
  const tools = chain([
    source(tool('a', '1')),
    source(tool('a', '2', { offered: false, hash: 'other' }), tool('b', '3')),
  ])
  expect(names(await tools.offered())).toEqual(['b'])
})

test('a source that knows its offered tools is not asked for all', async () => {
  const a = tool('a', '1')
  const all = { list: (): Promise<ToolListing> => Promise.reject(new Error('asked for all')) }
  const tools = chain([{ ...source(a), ...all }])
  expect(names(await tools.offered())).toEqual(['a'])
})

test('a source that fails is listed and hides no other source', async () => {
  const broken: ToolSource = {
    list: () => Promise.reject(new Error('no list')),
    find: () => Promise.reject(new Error('no find')),
    offered: () => Promise.reject(new Error('none offered')),
  }
  const tools = chain([source(tool('a', '1')), broken])
  const listing = await tools.list()
  expect(names(listing.tools)).toEqual(['a'])
  expect(listing.unavailable).toEqual([{ origin: 'inline', place: 'source 2', reason: 'it failed to list its tools' }])
  expect(names(await tools.find(['a']))).toEqual(['a'])
  expect(names(await tools.offered())).toEqual(['a'])
})

test('the search texts of all sources are the same array while nothing has changed', async () => {
  let stored: readonly ToolText[] = [{ name: 'c', hash: 'c', description: 'C', parameters: ['what'] }]
  const large: ToolSource = { ...source(), size: async () => 1, texts: async () => stored }
  const broken: ToolSource = { ...source(), list: () => Promise.reject(new Error('down')) }
  const tools = chain([source(tool('a', '1'), tool('b', '2')), broken, large])
  const first = await tools.texts?.()
  expect(first?.map(({ name }) => name)).toEqual(['a', 'b', 'c'])
  expect(await tools.texts?.()).toBe(first)
  expect(await tools.size?.()).toBe(3)
  stored = []
  expect((await tools.texts?.())?.map(({ name }) => name)).toEqual(['a', 'b'])
})

test('a chain returns pages of all sources and the total, on request of one origin', async () => {
  const requests: unknown[] = []
  const large: ToolSource = {
    ...source(),
    list: async (page) => {
      requests.push(page)
      return { tools: [tool('b', '2', { origin: 'kv' })], unavailable: [], total: 10_000 }
    },
  }
  const tools = chain([source(tool('a', '1'), tool('c', '3')), large])
  const page = { after: '', limit: 1 }
  expect(await tools.list(page)).toMatchObject({ tools: { length: 3 }, total: 10_002 })
  expect((await tools.list({ ...page, origin: 'kv' })).total).toBe(10_000)
  expect(requests).toEqual([page, { ...page, origin: 'kv' }])
  expect((await chain([source()]).list(page)).total).toBeUndefined()
})
