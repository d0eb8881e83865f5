import { expect } from 'vitest'
import type { Message } from '../../../src/contract/message.ts'
import type { ToolDefinition } from '../../../src/contract/tool-definition.ts'
import { type Tool, TOOL_SEARCH } from '../../../src/contract/tool.ts'
import {
  createToolSearch,
  lruEviction,
  type ToolSearch,
  type ToolSearchOptions,
} from '../../../src/search/tool-search.ts'
import { searchHook, type SearchHookOptions } from '../../../src/search/hook.ts'
import { SEARCH_HINT } from '../../../src/search/search-tool.ts'
import type { FoundTool, ToolIndex } from '../../../src/search/tool-index.ts'
import { ask, play, say, tool, types } from '../../fixtures/play.ts'
import { different, type Row, same } from '../rows.ts'
import { QUESTION, resultsIn, sortedNamesIn } from '../scene.ts'

const sun = tool('sun', () => 'It shines', { description: 'Tells when the sun rises.' })
const rain = tool('rain', () => 'It falls', { description: 'Tells how much rain falls.' })

/** An index that finds what it is told to, and notes what it is asked. */
class NotedIndex implements ToolIndex {
  readonly notes: unknown[]
  readonly #finds: readonly string[]

  constructor(notes: unknown[], finds: readonly string[] = []) {
    this.notes = notes
    this.#finds = finds
  }

  async add(tools: readonly ToolDefinition[]): Promise<void> {
    this.notes.push(['add', ...tools.map(({ name }) => name)])
  }

  async remove(names: readonly string[]): Promise<void> {
    this.notes.push(['remove', ...names])
  }

  async search(text: string, limit: number): Promise<readonly FoundTool[]> {
    this.notes.push([text, limit])
    return this.#finds.map((name) => ({ name, score: 1 }))
  }
}

function noted(options: ToolSearchOptions = {}) {
  const notes: unknown[] = []
  return { notes, search: createToolSearch({ index: () => new NotedIndex(notes), ...options }) }
}

/** A run of an edge with tool search, whose tools are the sun and the rain. */
function searching(
  script: Parameters<typeof play>[0]['script'],
  options: SearchHookOptions = {},
  more: Partial<Parameters<typeof play>[0]> = {},
) {
  const hooks = [searchHook({ when: 'on', ...options })]
  return play({ script, tools: [sun, rain], request: { system: 'Be brief.' }, loop: { hooks }, ...more })
}

/** One turn in each of these conversations, by an edge that keeps the sessions of its search. */
async function talking(search: ToolSearch, ...turns: readonly (readonly [conversation: string, ...tools: Tool[]])[]) {
  for (const [conversation, ...tools] of turns)
    await searching([say('done')], { search }, { tools, request: { conversation } })
}

/** The messages of searches: each step a list of what its calls have found. */
function searches(...steps: readonly (readonly string[])[]): Message[] {
  return steps.flatMap((results): Message[] => [
    { role: 'assistant', content: '' },
    ...results.map((names): Message => {
      const text = `${names}: Says what it does.`
      return { role: 'tool', callId: names, tool: TOOL_SEARCH, ok: true, content: [{ type: 'text', text }] }
    }),
  ])
}

/** Rows 117 to 127: a search among the tools of a run. */
export const search: readonly Row[] = [
  {
    row: 117,
    says: 'a search needs an index',
    verdict: different('there is one where none is named', async () => {
      const { state } = await searching([ask([TOOL_SEARCH, { query: 'sun rises' }]), say('done')])
      expect(resultsIn(state.messages)).toEqual(['sun: Tells when the sun rises.'])
    }),
  },
  {
    row: 118,
    says: 'the tools of a run are indexed once, and the model is told how to find them',
    verdict: same(async () => {
      const { notes, search } = noted()
      const { requests } = await searching([ask([TOOL_SEARCH, { query: 'sun' }]), say('done')], { search })
      expect(notes).toEqual([
        ['add', 'sun', 'rain'],
        ['sun', 5],
      ])
      expect(requests.map(({ messages }) => messages[0])).toEqual([
        { role: 'system', content: `Be brief.\n\n${SEARCH_HINT}` },
        { role: 'system', content: `Be brief.\n\n${SEARCH_HINT}` },
      ])
    }),
  },
  {
    row: 119,
    says: 'the same tools are not indexed again, others are',
    verdict: different('of other tools only those that changed', async () => {
      const { notes, search } = noted()
      await talking(search, ['talk', sun, rain], ['talk', rain, sun])
      expect(notes).toEqual([['add', 'sun', 'rain']])
      await talking(search, ['talk', rain, tool('wind')])
      expect(notes.slice(1)).toEqual([
        ['remove', 'sun'],
        ['add', 'wind'],
      ])
    }),
  },
  {
    row: 120,
    says: 'where one session is kept, the other is indexed anew when it comes back; so is one that was let go',
    verdict: same(async () => {
      const { notes, search } = noted({ eviction: lruEviction(1) })
      await talking(search, ['a', sun], ['b', rain], ['b', rain], ['a', sun])
      expect(notes).toEqual([
        ['add', 'sun'],
        ['add', 'rain'],
        ['add', 'sun'],
      ])
      search.evict('acme/a')
      await talking(search, ['a', sun])
      expect(notes.slice(3)).toEqual([['add', 'sun']])
    }),
  },
  {
    row: 121,
    says: 'a name that nobody knows is not put on offer',
    verdict: same(async () => {
      const { requests } = await searching([ask([TOOL_SEARCH, { query: 'ghost' }]), say('none')], {
        index: () => new NotedIndex([], ['ghost']),
      })
      expect(requests.map(sortedNamesIn)).toEqual([[TOOL_SEARCH], [TOOL_SEARCH]])
      const earlier = await searching([say('done')], {}, { history: [QUESTION, ...searches(['ghost', 'sun'])] })
      expect(earlier.requests.map(sortedNamesIn)).toEqual([['sun', TOOL_SEARCH]])
    }),
  },
  {
    row: 122,
    says: 'a tool that was found can be called from then on',
    verdict: same(async () => {
      const { requests, state } = await searching([
        ask([TOOL_SEARCH, { query: 'how much rain' }]),
        ask(['rain']),
        say('It falls'),
      ])
      expect(requests.map(sortedNamesIn)).toEqual([[TOOL_SEARCH], ['rain', TOOL_SEARCH], ['rain', TOOL_SEARCH]])
      expect(resultsIn(state.messages)).toEqual(['rain: Tells how much rain falls.', 'It falls'])
    }),
  },
  {
    row: 123,
    says: 'how many are named is for the model to say, else for the application',
    verdict: same(async () => {
      const notes: unknown[] = []
      await searching(
        [ask([TOOL_SEARCH, { query: 'rain', maxResults: 7 }], [TOOL_SEARCH, { query: 'sun' }]), say('done')],
        { index: () => new NotedIndex(notes), maxResults: 3 },
      )
      expect(notes.slice(1)).toEqual([
        ['rain', 7],
        ['sun', 3],
      ])
    }),
  },
  {
    row: 124,
    says: 'the index outlives the run',
    verdict: same(async () => {
      const { notes, search } = noted()
      await talking(search, ['talk', sun, rain], ['talk', sun, rain])
      expect(notes).toEqual([['add', 'sun', 'rain']])
    }),
  },
  {
    row: 125,
    says: 'what was found stays on offer: of all searches, or of those of the last step',
    verdict: same(async () => {
      const tools = ['a', 'b', 'c', 'd'].map((name) => tool(name))
      const offered = async (keep: 'all' | 'latest', history: readonly Message[]) =>
        sortedNamesIn((await searching([say('done')], { keep }, { tools, history })).requests[0])
      const history = [QUESTION, ...searches(['a'], ['b', 'c'])]
      expect(await offered('all', history)).toEqual(['a', 'b', 'c', TOOL_SEARCH])
      expect(await offered('latest', history)).toEqual(['b', 'c', TOOL_SEARCH])
      const later = [...history, QUESTION, ...searches(['d'])]
      expect(await offered('latest', later)).toEqual(['d', TOOL_SEARCH])
    }),
  },
  {
    row: 126,
    says: 'streams search likewise',
    verdict: same(async () => {
      const { events } = await searching([ask([TOOL_SEARCH, { query: 'sun' }]), ask(['sun']), say('It shines')])
      const eventTypes = types(events).filter((type) => /^(tools|call\.settled|text|run\.finished)/.test(type))
      expect(eventTypes).toEqual(['tools.added', 'call.settled', 'call.settled', 'text.delta', 'run.finished'])
    }),
  },
  {
    row: 127,
    says: 'the search tool takes a query, a number and a category, and no tool context',
    verdict: different('there are no categories, which theirs takes and ignores', async () => {
      const { requests } = await searching([say('done')])
      expect(requests[0]?.tools[0]?.inputSchema).toEqual({
        type: 'object',
        properties: {
          query: { type: 'string', description: 'A few words, or the whole question' },
          maxResults: { type: 'integer', minimum: 1, maximum: 20, description: 'How many to name' },
        },
        required: ['query'],
        additionalProperties: false,
      })
    }),
  },
]
