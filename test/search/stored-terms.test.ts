import { describe, expect, test } from 'vitest'
import type { ToolText } from '../../src/contract/tool.ts'
import { keywordIndex } from '../../src/search/keyword-index.ts'
import { encodeTerms, readTerms, type StoredTerms } from '../../src/search/stored-terms.ts'
import { manyQuestions, manyTools } from '../bench/many-tools.ts'
import { definitionOfRow } from './labelled.ts'
import { QUESTIONS, TOOLS } from './questions.ts'

const sorted = (tools: readonly ToolText[]) => tools.toSorted((a, b) => (a.name < b.name ? -1 : 1))

async function fullIndex(tools: readonly ToolText[]) {
  const index = keywordIndex()
  await index.add(tools)
  return index
}

const FOREIGN: readonly ToolText[] = [
  { name: 'wetter_abfragen', hash: 'h', description: 'Sagt das Wetter für Städte in Österreich voraus.' },
  { name: 'send_message', hash: 'h', description: '发送消息给用户，支持中文。', tags: ['消息'] },
  { name: 'a', hash: 'h', description: 'x' },
  { name: 'nothing', hash: 'h', description: '' },
  { name: 'emoji', hash: 'h', description: '🦊 naïve café', title: 'Émoji', parameters: ['größe', 'ſtraße'] },
]

describe('a stored search index', () => {
  test.each([
    ['made-up tools', manyTools(2000), manyQuestions(200)],
    ['labelled tools', TOOLS.map(definitionOfRow), QUESTIONS.map(([question]) => question)],
    ['tools in several languages', FOREIGN, ['wetter österreich', '消息', '发', 'straße größe', 'a', 'cafe', 'x', '']],
    ['no tools', [], ['anything']],
  ] as const)('answers as the index that was made of the tools: %s', async (_what, tools, questions) => {
    const full = await fullIndex(tools)
    const text = encodeTerms(sorted(tools))
    for (const question of questions) {
      const stored = keywordIndex(readTerms(text))
      const [found, expected] = [await stored.search(question, 10), await full.search(question, 10)]
      expect(found.map(({ name }) => name)).toEqual(expected.map(({ name }) => name))
      for (const [at, { score }] of found.entries()) expect(score).toBeCloseTo(expected[at]?.score ?? 0, 9)
    }
  })

  test('is joined with further tools, which take the place of its own, and loses those that are removed', async () => {
    const tools = sorted(TOOLS.map(definitionOfRow))
    const index = keywordIndex(readTerms(encodeTerms(tools)))
    const names = async (text: string) => (await index.search(text, 5)).map(({ name }) => name)
    expect((await names('send an e-mail message'))[0]).toBe('mail_send')
    const other = { name: 'mail_send', hash: 'new', description: 'Launches a rocket.' }
    await index.add([other, { name: 'walrus', hash: 'h', description: 'Feeds the walrus.' }])
    expect((await names('launch a rocket'))[0]).toBe('mail_send')
    expect((await names('feed the walrus'))[0]).toBe('walrus')
    await index.remove(['mail_send', 'calendar_create_event', 'walrus', 'unheard_of'])
    expect(await names('launch a rocket')).not.toContain('mail_send')
    expect(await names('send an e-mail message')).not.toContain('mail_send')
    expect(await names('feed the walrus')).not.toContain('walrus')
    await index.add([tools.find(({ name }) => name === 'mail_send') ?? other])
    expect((await names('send an e-mail message'))[0]).toBe('mail_send')
    // The place of a removed tool is not taken by another, which the words of the removed one would find.
    await index.add([{ name: 'zebra', hash: 'h', description: 'Counts stripes.' }])
    expect(await names('add an appointment to a calendar')).not.toContain('zebra')
  })

  test('reads few of its words for a search', async () => {
    const terms = readTerms(encodeTerms(sorted(manyTools(4000))))
    const starts: string[] = []
    const spied: StoredTerms = {
      names: terms.names,
      startingWith: (start) => {
        starts.push(start)
        return terms.startingWith(start)
      },
    }
    await keywordIndex(spied).search('walrus lighthouse quartz', 5)
    // Those of the words and of adjacent words in one piece.
    expect(new Set(starts)).toEqual(new Set(['wa', 'li', 'qu']))
    expect(starts).toHaveLength(3)
  })
})
