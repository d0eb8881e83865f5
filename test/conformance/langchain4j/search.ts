import { expect } from 'vitest'
import type { Message } from '../../../src/contract/message.ts'
import type { ToolDefinition } from '../../../src/contract/tool-definition.ts'
import { type Tool, TOOL_SEARCH } from '../../../src/contract/tool.ts'
import { executeToolCalls } from '../../../src/loop.ts'
import { searchHook } from '../../../src/search/hook.ts'
import { createSemanticIndex } from '../../../src/search/semantic-index.ts'
import { createToolSearch } from '../../../src/search/tool-search.ts'
import { ask, play, say, tool } from '../../fixtures/play.ts'
import { different, type Row, same } from '../rows.ts'
import { answerWithCalls, QUESTION, resultsIn, sortedNamesIn } from '../scene.ts'

const described = (name: string, description: string) => tool(name, () => `${name}!`, { description })

const CITY = [
  described('forecast', 'Tells the weather of tomorrow'),
  described('convert', 'Converts money between currencies'),
  described('book_table', 'Reserves a table in a restaurant'),
]
const ALWAYS = described('clock', 'Tells the time')

const searching = (tools: readonly Tool[], maxResults?: number) =>
  createToolSearch(maxResults === undefined ? {} : { maxResults }).open(
    'session',
    tools.map(({ definition }) => definition),
  )

/** A run that sees the search tool, what searches have found, and what is always on offer. */
async function searchIn(script: Parameters<typeof play>[0]['script'], history: readonly Message[] = []) {
  const { requests, state } = await play({
    script,
    tools: [...CITY, ALWAYS],
    history: [...history],
    loop: { hooks: [searchHook({ when: 'on', always: ['clock'] })] },
  })
  return { names: requests.map(sortedNamesIn), results: resultsIn(state.messages), messages: state.messages }
}

const search = (query: string): [string, object] => [TOOL_SEARCH, { query, maxResults: 1 }]

/** What a search among these tools answers. */
async function answer(tools: readonly Tool[], args: object, maxResults?: number): Promise<string | undefined> {
  const { results } = await executeToolCalls(
    { messages: [QUESTION], tools: [await searching(tools, maxResults)] },
    answerWithCalls([TOOL_SEARCH, args]),
  )
  return resultsIn(results)[0]
}

const namesOf = (text: string | undefined) => text?.split('\n').map((line) => line.split(': ')[0])

function result(text: string, ok = true): Message {
  return { role: 'tool', callId: 'c', tool: TOOL_SEARCH, ok, content: [{ type: 'text', text }] }
}

/** Rows 82 to 86: tools that a model finds by searching. */
export const searches: readonly Row[] = [
  {
    row: 82,
    says: 'each search adds what it found, and the next question still has it, as long as the memory does',
    verdict: same(async () => {
      const first = await searchIn([
        ask(search('weather')),
        ask(search('money'), ['forecast']),
        ask(['convert']),
        say('Sunny, and 3 €'),
      ])
      expect(first.names).toEqual([
        ['clock', TOOL_SEARCH],
        ['clock', 'forecast', TOOL_SEARCH],
        ['clock', 'convert', 'forecast', TOOL_SEARCH],
        ['clock', 'convert', 'forecast', TOOL_SEARCH],
      ])
      expect(first.results).toEqual([
        'forecast: Tells the weather of tomorrow',
        'convert: Converts money between currencies',
        'forecast!',
        'convert!',
      ])
      const next = await searchIn([ask(['convert']), say('4 €')], first.messages)
      expect([next.names[0], next.results]).toEqual([['clock', 'convert', 'forecast', TOOL_SEARCH], ['convert!']])
      expect((await searchIn([say('Hello')])).names).toEqual([['clock', TOOL_SEARCH]])
    }),
  },
  {
    row: 83,
    says: 'several searches in one answer, overlapping ones, and calls beside them bring each tool once',
    verdict: same(async () => {
      const { names, results } = await searchIn([
        ask(search('weather'), search('money'), ['clock']),
        ask(search('weather tomorrow')),
        say('ok'),
      ])
      const all = ['clock', 'convert', 'forecast', TOOL_SEARCH]
      expect(names).toEqual([['clock', TOOL_SEARCH], all, all])
      expect(results[2]).toBe('clock!')
    }),
  },
  {
    row: 84,
    says: 'what the memory says was found is found again: not what is unknown by now, nor anything twice',
    verdict: same(async () => {
      const messages = [
        QUESTION,
        result('forecast: Tells the weather\ngone: Was here once'),
        result('convert: Fails', false),
        result('forecast: Tells the weather\nclock: Tells the time'),
      ]
      const { names } = await searchIn([say('ok')], messages)
      expect(names).toEqual([['clock', 'forecast', TOOL_SEARCH]])
    }),
  },
  {
    row: 85,
    says: 'words in names count more than words in descriptions, in any case, and only so many tools are named',
    verdict: different('rare words count more than common ones, and a question may be a whole sentence', async () => {
      const tools = [
        described('other', 'Looks up the postal code of a town'),
        described('postal_code', 'Looks up a town'),
        described('unrelated', 'Plays music'),
        described('silent', ''),
      ]
      expect(namesOf(await answer(tools, { query: 'postal' }))).toEqual(['postal_code', 'other'])
      expect(namesOf(await answer(tools, { query: 'POSTAL postal Postal' }))).toEqual(['postal_code', 'other'])
      expect(namesOf(await answer(tools, { query: 'What is the postal code of Rome?' }))?.[0]).toBe('postal_code')
      expect(namesOf(await answer(tools, { query: 'silent' }))).toEqual(['silent'])
      expect(namesOf(await answer(tools, { query: 'postal' }, 1))).toEqual(['postal_code'])
      expect(namesOf(await answer(tools, { query: 'postal', maxResults: 1 }))).toEqual(['postal_code'])
      expect(await answer(tools, { query: 'zebra' })).toBe('No tool matches this query. Try other words.')
      const many = Array.from({ length: 9 }, (_, index) => described(`town_${'abcdefghi'[index]}x`, 'Tells of a town'))
      expect(namesOf(await answer(many, { query: 'town' }))).toHaveLength(5)
      for (const args of [{}, { query: 7 }, { query: ['postal'] }, { query: ' ' }]) {
        expect(await answer(tools, args)).toBe(`${TOOL_SEARCH}: query: expected a text that describes the task.`)
      }
      expect(namesOf(await answer([described('TITLE_LIST', 'Lists')], { query: 'title' }))).toEqual(['TITLE_LIST'])
    }),
  },
  {
    row: 86,
    says: 'tools are embedded once, questions each time, and a tool that was taken out is embedded anew',
    verdict: same(async () => {
      const receivedRequests: (readonly string[])[] = []
      const index = createSemanticIndex({
        embed: async (texts) => {
          receivedRequests.push(texts)
          return texts.map((text) => [text.includes('weather') ? 1 : 0, text.includes('money') ? 1 : 0, 0.1])
        },
      })
      const definitions: ToolDefinition[] = CITY.slice(0, 2).map(({ definition }) => definition)
      await index.add(definitions)
      await index.add(definitions)
      for (let time = 0; time < 2; time++) {
        expect((await index.search('weather', 5)).map(({ name }) => name)).toEqual(['forecast'])
      }
      await index.remove(['forecast'])
      await index.add(definitions)
      const [forecast, convert] = [
        'forecast: Tells the weather of tomorrow',
        'convert: Converts money between currencies',
      ]
      expect(receivedRequests).toEqual([[forecast, convert], ['weather'], ['weather'], [forecast]])
    }),
  },
]
