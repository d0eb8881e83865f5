import { expect, test } from 'vitest'
import { createRegexIndex } from '../../src/search/regex-index.ts'
import { definitionOf } from './definitions.ts'

async function indexOf(...tools: readonly (readonly [name: string, description: string])[]) {
  const index = createRegexIndex()
  await index.add(tools.map(([name, description]) => definitionOf({ name, description })))
  return index
}

const tools = [
  ['weather', 'Current weather in a city.'],
  ['report', 'Makes a report of the weather.'],
  ['mail', 'Sends a message.'],
] as const

test('a name counts twice as much as a description, and an early match more than a late one', async () => {
  const index = await indexOf(...tools)
  expect(await index.search('the WEATHER?', 5)).toEqual([
    { name: 'weather', score: 2 + 1 + 1 + 0.5 / 1.8 },
    { name: 'report', score: 1 + 0.5 / (1 + 0.1 * 22) },
  ])
})

test('characters of a question are matched literally', async () => {
  const index = await indexOf(['a', 'Knows C++ and (a+)+$ and .*'], ['b', 'Knows C and aaaa'])
  for (const text of ['c++', '(a+)+$', '.* c++', 'C++|zebra', '[a-z]+x++']) {
    expect((await index.search(text, 5)).map(({ name }) => name)).not.toContain('b')
  }
  expect((await index.search('c++', 5)).map(({ name }) => name)).toEqual(['a'])
})

test('a question that would be a slow pattern is answered quickly', async () => {
  const index = await indexOf(['a', 'a'.repeat(20_000)])
  expect((await index.search('(a|a)*b (a+)+$ ([a-z]+)*!', 5)).map(({ name }) => name)).toEqual([])
})

test('stop words are ignored unless there are no others', async () => {
  const index = await indexOf(...tools)
  expect((await index.search('please show me the mail', 5)).map(({ name }) => name)).toEqual(['mail'])
  // Words are looked for inside of others too: there is a “the” in “weather”.
  expect((await index.search('of the', 5)).map(({ name }) => name)).toEqual(['weather', 'report'])
})

test('a question without a word finds all tools, up to the requested number', async () => {
  const index = await indexOf(...tools)
  expect((await index.search('', 5)).map(({ name }) => name)).toEqual(['mail', 'report', 'weather'])
  expect((await index.search(' ?', 2)).map(({ name }) => name)).toEqual(['mail', 'report'])
})

test('words beyond 200 characters of a question are ignored', async () => {
  const index = await indexOf(...tools)
  const long = Array.from({ length: 40 }, (_, at) => `zebra${at}`).join(' ')
  expect(await index.search(`${long} weather`, 5)).toEqual([])
  expect((await index.search(`weather ${long}`, 1)).map(({ name }) => name)).toEqual(['weather'])
})

test('tools can be removed and replaced', async () => {
  const index = await indexOf(...tools)
  await index.remove(['weather', 'nobody'])
  await index.add([definitionOf({ name: 'report', description: 'Says nothing.' })])
  expect(await index.search('weather', 5)).toEqual([])
})
