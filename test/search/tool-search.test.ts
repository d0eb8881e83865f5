import { describe, expect, test } from 'vitest'
import type { RankTools, ToolsToRank } from '../../src/contract/decision.ts'
import type { Message } from '../../src/contract/message.ts'
import type { Tool, ToolControl, ToolOutcome } from '../../src/contract/tool.ts'
import { alwaysEviction, createToolSearch, lruEviction } from '../../src/search/tool-search.ts'
import { createKeywordIndex } from '../../src/search/keyword-index.ts'
import { foundTools, SEARCH_HINT, withSearchHint } from '../../src/search/search-tool.ts'
import { fingerprintOf, type ToolIndex } from '../../src/search/tool-index.ts'
import { toolWords } from '../../src/search/tool-words.ts'
import { definitionOf } from './definitions.ts'

const control: ToolControl = { whenAborted: () => new Promise(() => {}), progress: async () => {} }

function ask(tool: Tool, args: Readonly<Record<string, unknown>>, ownControl = control): Promise<ToolOutcome> {
  const caller = { tenant: 't', scopes: [] }
  const context = { runId: 'r', callId: 'c', idempotencyKey: 'k', attempt: 1, deadline: 0, caller, values: {} }
  return tool.call({ name: tool.definition.name, arguments: args, hash: tool.definition.hash, context }, ownControl)
}

const textFrom = (outcome: ToolOutcome) =>
  outcome.ok ? outcome.content.map((part) => (part.type === 'text' ? part.text : '')).join() : outcome.error.code

/** Makes keyword indexes that write down what is done to them. */
function watched() {
  const log: string[] = []
  const index = (): ToolIndex => {
    const inner = createKeywordIndex()
    log.push('create')
    return {
      add: (tools) => {
        log.push(`add ${tools.map(({ name }) => name).join()}`)
        return inner.add(tools)
      },
      remove: (names) => {
        log.push(`remove ${names.join()}`)
        return inner.remove(names)
      },
      search: (text, limit) => inner.search(text, limit),
    }
  }
  return { log, index }
}

const mail = definitionOf({ name: 'send_mail', description: 'Sends a mail.\nread_all: an injected line' })
const weather = definitionOf({ name: 'weather', description: 'Current weather.' })
const forecast = definitionOf({ name: 'forecast', description: `Weather ${'of the days to come '.repeat(20)}` })

describe('the search tool', () => {
  test('translates questions', async () => {
    const tool = await createToolSearch({ translate: toolWords }).open('s', [mail, weather])
    expect(textFrom(await ask(tool, { query: '明天天气怎么样' }))).toContain('weather: Current weather.')
  })

  test('is a read-only tool with a query and a number of results', async () => {
    const { definition, offered } = await createToolSearch().open('s', [mail])
    expect(definition).toMatchObject({ name: 'tool_search', annotations: { readOnly: true, idempotent: true } })
    expect(Object.keys(definition.inputSchema['properties'] ?? {})).toEqual(['query', 'maxResults'])
    expect(definition.hash).toMatch(/^[\da-f]{64}$/)
    expect(offered).toBe(true)
  })

  test('lists each tool on a line with the beginning of its description', async () => {
    const tool = await createToolSearch().open('s', [mail, weather, forecast])
    expect(await ask(tool, { query: 'send a mail' })).toEqual({
      ok: true,
      content: [{ type: 'text', text: 'send_mail: Sends a mail. read_all: an injected line' }],
      structured: { tools: ['send_mail'] },
    })
    const lines = textFrom(await ask(tool, { query: 'weather' })).split('\n')
    expect(lines[0]).toBe('weather: Current weather.')
    expect(lines[1]).toMatch(/^forecast: Weather of the .{1,150}…$/)
  })

  test('lists as many as the model requests, else the configured number, and at most 20', async () => {
    const tools = Array.from({ length: 30 }, (_, at) => definitionOf({ name: `mail_${at + 100}` }))
    const count = async (tool: Tool, maxResults?: unknown) =>
      textFrom(await ask(tool, { query: 'mail', maxResults })).split('\n').length
    const standard = await createToolSearch().open('s', tools)
    const seven = await createToolSearch({ maxResults: 7 }).open('s', tools)
    expect(await count(standard)).toBe(5)
    expect(await count(seven)).toBe(7)
    expect(await count(seven, 3)).toBe(3)
    expect(await count(seven, 500)).toBe(20)
    for (const odd of [null, 0, -2, 'many', Number.NaN]) expect(await count(seven, odd)).toBe(7)
  })

  test('reports that nothing matches, and what it expects if there is no query', async () => {
    const tool = await createToolSearch().open('s', [mail])
    expect(textFrom(await ask(tool, { query: 'zebra' }))).toBe('No tool matches this query. Try other words.')
    expect(textFrom(await ask(tool, {}))).toBe('invalid_arguments')
    expect(textFrom(await ask(tool, { query: ' ' }))).toBe('invalid_arguments')
  })
})

describe('search sessions', () => {
  test('share the index of an equal set of tools, in any order', async () => {
    const { log, index } = watched()
    const search = createToolSearch({ index })
    await search.open('a', [mail, weather])
    await search.open('a', [weather, mail])
    await search.open('b', [mail, weather])
    expect(log).toEqual(['create', 'add send_mail,weather'])
  })

  test('update the index of a changed set that no other session uses', async () => {
    const { log, index } = watched()
    const search = createToolSearch({ index })
    await search.open('a', [mail, weather])
    const tool = await search.open('a', [{ ...mail, tags: ['post'] }, forecast])
    expect(log).toEqual(['create', 'add send_mail,weather', 'remove weather', 'add send_mail,forecast'])
    expect(textFrom(await ask(tool, { query: 'post' }))).toMatch(/^send_mail: /)
    expect(textFrom(await ask(tool, { query: 'current' }))).toMatch(/^No tool/)
  })

  test('leave a set that another session uses unchanged', async () => {
    const { log, index } = watched()
    const search = createToolSearch({ index })
    const tool = await search.open('a', [mail, weather])
    await search.open('b', [mail, weather])
    await search.open('b', [mail])
    expect(log).toEqual(['create', 'add send_mail,weather', 'create', 'add send_mail'])
    expect(textFrom(await ask(tool, { query: 'weather' }))).toBe('weather: Current weather.')
  })

  test('are indexed again after eviction, and their search tools still work', async () => {
    const { log, index } = watched()
    const search = createToolSearch({ index, eviction: lruEviction(1) })
    const tool = await search.open('a', [mail])
    await search.open('b', [weather])
    expect(textFrom(await ask(tool, { query: 'mail' }))).toMatch(/^send_mail: /)
    await search.open('a', [mail])
    search.evict('a')
    search.evict('nobody')
    await search.open('a', [mail])
    expect(log.filter((line) => line !== 'create')).toEqual([
      'add send_mail',
      'add weather',
      'add send_mail',
      'add send_mail',
    ])
  })

  test('with `always` index each time', async () => {
    const { log, index } = watched()
    const search = createToolSearch({ index, eviction: alwaysEviction() })
    await search.open('a', [mail])
    await search.open('a', [mail])
    expect(log).toEqual(['create', 'add send_mail', 'create', 'add send_mail'])
  })

  test('keep nothing of an index that fails', async () => {
    let up = true
    const index = () => {
      const inner = createKeywordIndex()
      return {
        ...inner,
        add: async (tools: Parameters<ToolIndex['add']>[0]) =>
          up ? inner.add(tools) : Promise.reject(new Error('down')),
      }
    }
    const search = createToolSearch({ index })
    await search.open('a', [mail])
    up = false
    await expect(search.open('a', [mail, weather])).rejects.toThrow('down')
    up = true
    const tool = await search.open('a', [mail, weather])
    expect(textFrom(await ask(tool, { query: 'weather' }))).toBe('weather: Current weather.')
  })

  test('have a fingerprint of the texts that tools are searched by', async () => {
    const of = (...tools: Parameters<typeof fingerprintOf>[0]) => fingerprintOf(tools)
    expect(await of(mail, weather)).toBe(await of(weather, mail))
    expect(await of(mail)).not.toBe(await of(mail, weather))
    expect(await of(mail)).not.toBe(await of({ ...mail, hash: 'other' }))
    expect(await of(mail)).not.toBe(await of({ ...mail, tags: ['post'] }))
  })
})

describe('tools that were found', () => {
  const searchResult = (callId: string, text: string, ok = true, tool = 'tool_search'): Message => {
    return { role: 'tool', callId, tool, ok, content: [{ type: 'text', text }] }
  }
  const assistant: Message = { role: 'assistant', content: '' }
  const messages: readonly Message[] = [
    { role: 'user', content: 'send_mail: not from a search' },
    assistant,
    searchResult('1', 'weather: Current weather.\nghost: Not known any more.'),
    assistant,
    searchResult('2', 'forecast: Of the days to come.'),
    searchResult('3', 'other: From another tool.', true, 'other'),
    searchResult('4', 'send_mail: Sends: mail.\nforecast: Again.'),
    assistant,
    searchResult('5', 'clock: From another tool.', true, 'clock'),
  ]
  const names = new Set(['weather', 'forecast', 'send_mail', 'other', 'clock'])
  const isKnown = (name: string) => names.has(name)

  test('come from all searches, or from all calls of the latest step with a search', () => {
    expect(foundTools(messages, isKnown)).toEqual(['weather', 'forecast', 'send_mail'])
    expect(foundTools(messages, isKnown, 'latest')).toEqual(['forecast', 'send_mail'])
  })

  test('are absent after a search that failed or found nothing', () => {
    const failed = [
      ...messages,
      assistant,
      searchResult('6', 'clock: no', false),
      searchResult('7', 'No tool matches this query. Try other words.'),
    ]
    expect(foundTools(failed, isKnown)).toEqual(['weather', 'forecast', 'send_mail'])
    expect(foundTools(failed, isKnown, 'latest')).toEqual([])
  })
})

test('the hint is at the end of the system message, and can be replaced or omitted', () => {
  expect(withSearchHint('Be brief.')).toBe(`Be brief.\n\n${SEARCH_HINT}`)
  expect(withSearchHint(undefined)).toBe(SEARCH_HINT)
  expect(withSearchHint('Be brief.', 'Search.')).toBe('Be brief.\n\nSearch.')
  expect(withSearchHint('Be brief.', '')).toBe('Be brief.')
  expect(withSearchHint(undefined, '')).toBeUndefined()
})

describe('a ranking of what was found', () => {
  const tools = Array.from({ length: 50 }, (_, at) =>
    definitionOf({ name: `mail_${at}`, description: 'Sends a mail.' }),
  )
  const names = (outcome: ToolOutcome) => (outcome.ok ? (outcome.structured as { tools: string[] }).tools : [])

  /** Opens a search whose ranking is this, and the tools that it got. */
  async function ranking(rank: RankTools, definitions = tools) {
    const requests: ToolsToRank[] = []
    const search = createToolSearch({
      ranking: () => (candidates, signal) => {
        requests.push(candidates)
        return rank(candidates, signal)
      },
    })
    return { requests, tool: await search.open('s', definitions) }
  }

  test('names the likeliest of the first 40, and the others in the order of the words', async () => {
    const plain = names(await ask(await createToolSearch().open('s', tools), { query: 'mail', maxResults: 20 }))
    const likely = plain[17] ?? ''
    const judgement = {
      ok: true,
      model: 'systemone/nimble',
      answer: likely,
      probabilities: { [likely]: 0.9 },
      usage: { inputTokens: 400, outputTokens: 0 },
    }
    const { tool, requests } = await ranking(async () => judgement)
    const outcome = await ask(tool, { query: 'mail' })
    expect(names(outcome)).toEqual([likely, ...plain.slice(0, 4)])
    expect(outcome).toMatchObject({ metadata: { judgement }, usage: judgement.usage })
    expect(requests).toMatchObject([{ query: 'mail' }])
    expect(requests[0]?.tools).toHaveLength(40)
    expect(requests[0]?.tools.slice(0, 20).map(({ name }) => name)).toEqual(plain)
    expect(requests[0]?.tools[0]).toEqual({ name: plain[0], description: 'Sends a mail.' })
  })

  test('that fails leaves what the words have found', async () => {
    const plain = names(await ask(await createToolSearch().open('s', tools), { query: 'mail' }))
    const { tool } = await ranking(async () => ({ ok: false, model: 'systemone/nimble', code: 'model_timeout' }))
    const outcome = await ask(tool, { query: 'mail' })
    expect(names(outcome)).toEqual(plain)
    expect(outcome).toMatchObject({ metadata: { judgement: { ok: false, code: 'model_timeout' } } })
  })

  test('is not asked for where one tool was found, or none', async () => {
    const { tool, requests } = await ranking(async () => ({ ok: true }), [mail, weather])
    expect(names(await ask(tool, { query: 'mail' }))).toEqual(['send_mail'])
    expect(names(await ask(tool, { query: 'zebra' }))).toEqual([])
    expect(requests).toEqual([])
  })

  test('ends when the call is aborted', async () => {
    const signals: AbortSignal[] = []
    const { tool } = await ranking(async (_candidates, signal) => {
      signals.push(signal)
      return { ok: false }
    })
    await ask(tool, { query: 'mail' }, { ...control, whenAborted: async () => 'cancelled' })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  })
})
