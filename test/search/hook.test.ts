import { describe, expect, test } from 'vitest'
import type { RunRequest, ToolSelection } from '../../src/contract/run.ts'
import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import type { Tool } from '../../src/contract/tool.ts'
import { createFinder } from '../../src/search/finder.ts'
import { searchHook } from '../../src/search/hook.ts'
import { createKeywordIndex } from '../../src/search/keyword-index.ts'
import { createToolSearch } from '../../src/search/tool-search.ts'
import { ask, play, requestOf, say, tool, types } from '../fixtures/play.ts'

const weather = tool('getWeather', ({ city }) => `18 degrees in ${String(city)}`, {
  description: 'Tells the weather and the temperature of a city.',
})
const filler = (count: number, definition: Partial<ToolDefinition> = {}) =>
  Array.from({ length: count }, (_, index) =>
    tool(`ledgerEntry${index}`, undefined, { description: `Posts ledger entry number ${index}.`, ...definition }),
  )

const QUESTION = { input: [{ role: 'user', content: "What's the weather in Amsterdam?" }] as const }

describe('tool search', () => {
  test('offers the model only the search, then the tools that it found; the tool runs and the model answers', async () => {
    const { requests, state, events } = await play({
      script: [
        ask(['tool_search', { query: 'weather in a city' }]),
        ask(['getWeather', { city: 'Amsterdam' }]),
        say('18 degrees.'),
      ],
      tools: [...filler(60), weather, tool('help', undefined, { tags: ['always'] })],
      request: { ...QUESTION, system: 'Be brief.' },
      loop: { hooks: [searchHook()] },
    })
    const names = requests.map(({ tools }) => tools.map(({ name }) => name))
    expect(names[0]?.toSorted()).toEqual(['help', 'tool_search'])
    expect(names[1]).toContain('getWeather')
    expect(names[1]?.length).toBeLessThanOrEqual(7)
    expect(state.finished?.answer).toBe('18 degrees.')
    expect(requests[0]?.messages[0]).toEqual({
      role: 'system',
      content: expect.stringMatching(/^Be brief\.\n\nMost tools are not listed\./),
    })
    expect(state.messages.every(({ role }) => role !== 'system')).toBe(true)
    expect(types(events)).toContain('tools.added')
  })

  test('records which results made which offered tools available, and stores nothing of that', async () => {
    const { requests, state } = await play({
      script: [ask(['tool_search', { query: 'weather in a city' }]), ask(['getWeather', { city: 'Delft' }]), say('ok')],
      tools: [...filler(60), weather],
      request: QUESTION,
      loop: { hooks: [searchHook({ maxResults: 1 })] },
    })
    const searches = requests.map(({ messages }) =>
      messages.flatMap((each) => (each.role === 'tool' && each.found) || []),
    )
    expect(searches).toEqual([[], ['getWeather'], ['getWeather']])
    expect(state.messages.some((each) => 'found' in each)).toBe(false)
  })

  test('is off by default for few tools, and if it is switched off', async () => {
    const offer = async (count: number, hook = searchHook()) => {
      const { requests } = await play({ script: [say('hi')], tools: filler(count), loop: { hooks: [hook] } })
      return requests[0]?.tools.length
    }
    expect(await offer(9)).toBe(9)
    expect(await offer(40)).toBe(40)
    expect(await offer(41)).toBe(1)
    expect(await offer(41, searchHook({ when: 'off' }))).toBe(41)
    expect(await offer(3, searchHook({ when: 'on' }))).toBe(1)
  })

  test('is on for fewer tools with long definitions', async () => {
    const { requests } = await play({
      script: [say('hi')],
      tools: filler(12, { description: 'Posts an entry. '.repeat(300) }),
      loop: { hooks: [searchHook()] },
    })
    expect(requests[0]?.tools.map(({ name }) => name)).toEqual(['tool_search'])
  })

  test('remembers what earlier turns found', async () => {
    const history = [
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: '',
        calls: [{ callId: 'c', tool: 'tool_search', arguments: '{"query":"weather"}' }],
      },
      {
        role: 'tool',
        callId: 'c',
        tool: 'tool_search',
        ok: true,
        content: [{ type: 'text', text: 'getWeather: Tells the weather.\ngone: Not known any more.' }],
      },
    ] as const
    const { requests } = await play({
      script: [say('hi')],
      tools: [...filler(60), weather],
      history,
      loop: { hooks: [searchHook()] },
    })
    expect(requests[0]?.tools.map(({ name }) => name).toSorted()).toEqual(['getWeather', 'tool_search'])
  })

  test('adds what it finds to the end of the tools, in the order found, whatever joins between', async () => {
    const clientTools = [{ name: 'pick', description: 'Picks', inputSchema: { type: 'object' } }]
    const conversation = 'conv_1'
    const loop = { hooks: [searchHook({ maxResults: 1 })] }
    const [entry, ...others] = filler(60)
    const long = tool('readBook', () => 'word '.repeat(200), { description: 'Reads a whole book aloud.' })
    const tools = [entry, weather, ...others, long].flatMap((each) => each ?? [])
    const first = await play({
      script: [
        ask(['tool_search', { query: 'read a book' }]),
        ask(['tool_search', { query: 'weather in a city' }], ['readBook']),
        ask(['tool_search', { query: 'ledger entry number 0' }]),
        say('Done.'),
      ],
      ...{ tools, loop, request: { conversation, clientTools, limits: { resultBytes: 300 } } },
    })
    const names = first.requests.map(({ tools }) => tools.map(({ name }) => name))
    const start = ['pick', 'read_result', 'tool_search']
    expect(names).toEqual([
      start,
      [...start, 'readBook'],
      [...start, 'readBook', 'getWeather'],
      [...start, 'readBook', 'getWeather', 'ledgerEntry0'],
    ])
    const history = first.state.messages
    const next = await play({ script: [say('Yes.')], tools, loop, history, request: { conversation, clientTools } })
    expect(next.requests[0]?.tools).toEqual(first.requests.at(-1)?.tools)
  })

  test('keeps what it found on offer when the result of the search has been left out to make room', async () => {
    const filling = tool('fill', () => 'word '.repeat(3000), { description: 'Fills the window.', tags: ['always'] })
    const first = await play({
      script: [
        ask(['tool_search', { query: 'weather in a city', maxResults: 1 }]),
        ...Array.from({ length: 24 }, (_, page) => ask(['fill', { page }])),
        say('Done.'),
      ],
      tools: [...filler(60), weather, filling],
      request: { conversation: 'conv_1', limits: { steps: 30, calls: 30, callsPerTool: 30 } },
      window: { contextTokens: 16_000 },
      loop: { hooks: [searchHook()] },
    })
    const { reduction } = first.state
    expect(reduction?.tools).toEqual(['read_result', 'tool_search', 'fill', 'getWeather'])
    const next = await play({
      script: [say('Yes.')],
      tools: [...filler(60), weather, filling],
      request: { conversation: 'conv_1' },
      before: (state) => void Object.assign(state, { reduction }),
      loop: { hooks: [searchHook()] },
    })
    expect(next.requests[0]?.tools).toEqual(first.requests.at(-1)?.tools)
  })

  test('removes tools that a later search did not find, if only the latest counts', async () => {
    const { requests } = await play({
      script: [
        ask(['tool_search', { query: 'weather in a city', maxResults: 1 }]),
        ask(['tool_search', { query: 'ledger entry', maxResults: 1 }]),
        say('hi'),
      ],
      tools: [...filler(60), weather],
      loop: { hooks: [searchHook({ keep: 'latest' })] },
    })
    expect(requests.map(({ tools }) => tools.map(({ name }) => name).toSorted())).toEqual([
      ['tool_search'],
      ['getWeather', 'tool_search'],
      ['ledgerEntry0', 'tool_search'],
    ])
  })

  test('keeps tools of the caller on offer, and refuses tools that were not found', async () => {
    const { requests, state } = await play({
      script: [ask(['getWeather', { city: 'Oslo' }]), say('sorry')],
      tools: [...filler(60), weather],
      request: { clientTools: [{ name: 'pick', description: 'Picks', inputSchema: { type: 'object' } }] },
      loop: { hooks: [searchHook()] },
    })
    expect(requests[0]?.tools.map(({ name }) => name).toSorted()).toEqual(['pick', 'tool_search'])
    expect(state.calls[0]?.result?.error?.code).toBe('unknown_tool')
  })

  test('may omit the hint', async () => {
    const { requests } = await play({
      script: [say('hi')],
      tools: filler(60),
      loop: { hooks: [searchHook({ hint: '' })] },
    })
    expect(requests[0]?.messages).toEqual([{ role: 'user', content: 'Hello' }])
  })
})

test('conversations of one id in two tenants are two sessions', async () => {
  const used: string[] = []
  const eviction = { onAccess: (session: string) => (used.push(session), []), onRemoved: () => {} }
  const hook = searchHook({ when: 'on', eviction })
  for (const tenant of ['acme', 'other']) {
    const request = { conversation: 'conv_1', caller: { tenant, scopes: [] } }
    await play({ script: [say('hi')], tools: [tool('look')], request, loop: { hooks: [hook] } })
  }
  expect(used).toEqual(['acme/conv_1', 'other/conv_1'])
})

test('the owner of a search can end a session', async () => {
  let filled = 0
  const search = createToolSearch({
    index: () => {
      filled += 1
      return createKeywordIndex()
    },
  })
  const hook = searchHook({ when: 'on', search })
  const filledBy = async (request: Partial<RunRequest>) => {
    const before = filled
    const caller = { tenant: 'acme', scopes: [] }
    await play({ script: [say('hi')], tools: [tool('look')], request: { ...request, caller }, loop: { hooks: [hook] } })
    return filled - before
  }
  const [talk, alone] = [{ conversation: 'conv_1' }, { runId: 'run_1' }]
  expect([await filledBy(talk), await filledBy(talk), await filledBy(alone)]).toEqual([1, 0, 0])
  search.evict('acme/conv_1')
  // The run without a conversation has the same set.
  expect(await filledBy(talk)).toBe(0)
  for (const session of ['acme/conv_1', 'acme/run_1']) search.evict(session)
  expect([await filledBy(talk), await filledBy(talk)]).toEqual([1, 0])
})

test('a tool that the request forces is offered without a search', async () => {
  const { requests } = await play({
    script: [ask(['look']), say('hi')],
    tools: [tool('look'), tool('other')],
    request: { toolChoice: { tool: 'look' } },
    loop: { hooks: [searchHook({ when: 'on' })] },
  })
  expect(requests[0]?.toolChoice).toEqual({ tool: 'look' })
  expect(requests[0]?.tools.map(({ name }) => name)).toEqual(['tool_search', 'look'])
})

describe('a search of all tools of the edge', () => {
  const finderOver = (...tools: readonly Tool[]) =>
    createFinder({ list: async () => ({ tools, unavailable: [] }), offered: async () => [], find: async () => [] })
  const help = tool('help')
  const search = ask(['tool_search', { query: 'weather in a city' }])

  /** What each step is offered, in a run that was accepted with this finder. */
  async function offers(
    { tools, others }: { readonly tools: readonly Tool[]; readonly others: readonly Tool[] },
    { script = [search, ask(['getWeather']), say('18')], selection, when }: Partial<SearchScene> = {},
  ) {
    const hook = searchHook({ finder: () => finderOver(...tools, ...others), ...(when && { when }) })
    const request = requestOf({ ...QUESTION, ...(selection && { selection }) })
    const run = (await hook.accept?.(request)) ?? request
    if (typeof run === 'string') throw new Error(run)
    const played = await play({ script, tools, others: [...tools, ...others], request: run, loop: { hooks: [hook] } })
    return { ...played, offers: played.requests.map(({ tools }) => tools.map(({ name }) => name).toSorted()) }
  }
  interface SearchScene {
    readonly script: Parameters<typeof play>[0]['script']
    readonly selection: ToolSelection
    readonly when: 'auto' | 'on'
  }

  test('finds tools that are not offered, beside those that are', async () => {
    const { offers: each, state } = await offers({ tools: [help], others: [...filler(60), weather] })
    expect(each).toEqual([
      ['help', 'tool_search'],
      ['getWeather', 'help', 'tool_search'],
      ['getWeather', 'help', 'tool_search'],
    ])
    expect(state.finished?.answer).toBe('18')
  })

  test('finds offered tools, if there are many, and others', async () => {
    const { offers: each } = await offers({ tools: filler(60), others: [weather] })
    expect(each.slice(0, 2)).toEqual([['tool_search'], ['getWeather', 'tool_search']])
  })

  test('is off if there are few tools in all, and on if it is switched on', async () => {
    const few = { tools: [help], others: [...filler(8), weather] }
    expect((await offers(few, { script: [say('hi')] })).offers).toEqual([['help']])
    expect((await offers(few, { when: 'on', script: [search, say('hi')] })).offers).toEqual([
      ['tool_search'],
      ['getWeather', 'tool_search'],
    ])
  })

  test('finds nothing beyond the tools that a request names, and nothing that it removes', async () => {
    const many = { tools: [help], others: [...filler(60), weather] }
    const offer = await offers(many, { selection: ['help'], script: [say('hi')] })
    expect(offer.offers).toEqual([['help']])
    const removed = await offers(many, { selection: { remove: ['getWeather'] }, script: [search, say('hi')] })
    expect(removed.offers).toEqual([
      ['help', 'tool_search'],
      ['help', 'tool_search'],
    ])
  })

  test('finds only tools that the run can call, however low their rank', async () => {
    const hidden = Array.from({ length: 200 }, (_, index) =>
      tool(`weather_${index}`, undefined, { description: 'Weather in a city.' }),
    )
    const hiddenFinder = finderOver(...hidden, weather)
    const finder = () => hiddenFinder
    const hook = searchHook({ finder })
    const { state } = await play({
      script: [search, say('hi')],
      others: [weather],
      request: { ...QUESTION, searchesAll: true },
      loop: { hooks: [hook] },
    })
    expect(state.calls[0]?.result?.content).toEqual([
      { type: 'text', text: 'getWeather: Tells the weather and the temperature of a city.' },
    ])
  })

  test('remembers what earlier turns found, except for removed tools', async () => {
    const searchText = 'getWeather: Tells the weather.\ngone: Not there any more.'
    const { requests } = await play({
      script: [say('hi')],
      others: [weather],
      history: [
        { role: 'user', content: 'Weather?' },
        { role: 'assistant', content: '', calls: [{ callId: 'c', tool: 'tool_search', arguments: '{}' }] },
        { role: 'tool', callId: 'c', tool: 'tool_search', ok: true, content: [{ type: 'text', text: searchText }] },
      ],
      request: { searchesAll: true },
      loop: { hooks: [searchHook({ finder: () => finderOver(weather) })] },
    })
    expect(requests[0]?.tools.map(({ name }) => name)).toEqual(['tool_search', 'getWeather'])
  })
})

test('a caller that executes the calls itself is offered no search', async () => {
  const { requests } = await play({
    script: [say('hi')],
    tools: filler(60),
    request: { execution: 'caller' },
    loop: { hooks: [searchHook()] },
  })
  expect(requests[0]?.tools).toHaveLength(60)
})
