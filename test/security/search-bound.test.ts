import { describe, expect, test } from 'vitest'
import { ask, say, tool } from '../fixtures/play.ts'
import { controlledEdge } from './controlled-edge.ts'

const KEY = 'acme: chat tools:read'
const ADMIN = 'ops: chat tools:read tools:admin'
const input = 'Go'
const search = ask(['tool_search', { query: 'wire transfer of money', maxResults: 20 }])

/** An edge with this many tools, of which `DEFAULT_TOOLS` names two, and a model that searches for another and calls it. */
function stage(count: number, { vars = {}, script = [search, ask(['wire']), say('Done.')] } = {}) {
  const reached: string[] = []
  const recording = (name: string, description: string) => tool(name, () => void reached.push(name), { description })
  const others = Array.from({ length: count - 3 }, (_, at) => recording(`other${at}`, 'Does something else.'))
  const tools = [
    recording('open.read', 'Reads.'),
    recording('open.list', 'Lists.'),
    recording('wire', 'A wire transfer of money.'),
  ]
  const edge = controlledEdge({
    workers: { TOOL_ALL: [...tools.map(underOffer), ...others] },
    keys: [KEY, ADMIN],
    vars: { DEFAULT_TOOLS: 'open.read,open.list', ...vars },
    script,
  })
  const offers = () => edge.requests.map((request) => request.tools.map(({ name }) => name).toSorted())
  return { ...edge, reached, offers }
}

/** Gives a tool the name on offer, as its Worker does. */
function underOffer(each: ReturnType<typeof tool>): ReturnType<typeof tool> {
  return { ...each, definition: { ...each.definition, name: each.definition.name.replace('.', '_x2e_') } }
}

const DEFAULTS = ['open_x2e_list', 'open_x2e_read']

describe('a request that names no tools reaches those of DEFAULT_TOOLS alone', () => {
  test.each([39, 40, 41, 75])('at an edge with %i tools', async (count) => {
    const { as, reached, offers } = stage(count)
    await as(KEY)('/runs', { json: { input } })
    expect([reached, offers()]).toEqual([[], [DEFAULTS, DEFAULTS, DEFAULTS]])
  })

  test.each([39, 40, 41, 75])('by a pattern, and with TOOL_SEARCH on, at an edge with %i tools', async (count) => {
    const { as, reached, offers } = stage(count, { vars: { DEFAULT_TOOLS: 'open.*', TOOL_SEARCH: 'on' } })
    await as(KEY)('/runs', { json: { input } })
    expect(reached).toEqual([])
    expect(offers().flat()).not.toContain('wire')
  })

  test('and none of those that it excludes', async () => {
    const { as, reached, offers } = stage(75, { vars: { DEFAULT_TOOLS: '*,!wire' } })
    await as(KEY)('/runs', { json: { input } })
    expect(reached).toEqual([])
    expect(offers().flat()).not.toContain('wire')
  })

  test('also after an earlier run of the conversation found another by naming it', async () => {
    const script = [search, say('One.'), ask(['wire']), say('Two.')]
    const { as, reached, offers } = stage(75, { vars: { DEFAULT_TOOLS: 'open.*', TOOL_SEARCH: 'on' }, script })
    await as(KEY)('/conversations', { json: { id: 'c' } })
    await as(KEY)('/conversations/c/runs', { json: { input, tools: ['wire', 'open.read'] } })
    await as(KEY)('/conversations/c/runs', { json: { input } })
    expect(reached).toEqual([])
    expect(offers().map((names) => names.includes('wire'))).toEqual([false, true, false, false])
  })

  test('among them stored tools, which a search finds if DEFAULT_TOOLS names them', async () => {
    const definition = {
      description: 'A wire transfer of money.',
      inputSchema: { type: 'object' },
      static: { text: 'x' },
    }
    const offeredBy = async (patterns: string) => {
      const vars = { DEFAULT_TOOLS: patterns, TOOL_SEARCH: 'on' }
      const { as, offers } = stage(5, { vars, script: [search, say('Done.')] })
      for (const name of ['stored.wire', 'kept'])
        await as(ADMIN)(`/tools/${name}`, { method: 'PUT', json: { ...definition, default: name === 'kept' } })
      await as(KEY)('/runs', { json: { input } })
      return offers().at(-1)
    }
    expect(await offeredBy('open.*')).toEqual(['kept', 'tool_search'])
    expect(await offeredBy('open.*,stored.*')).toEqual(['kept', 'stored_x2e_wire', 'tool_search'])
    expect(await offeredBy('open.*,stored.*,!kept')).toEqual(['stored_x2e_wire', 'tool_search'])
  })
})

test('a request may still name any tool that its key may call', async () => {
  const { as, reached } = stage(75, { script: [ask(['wire']), say('Done.')] })
  await as(KEY)('/runs', { json: { input, tools: { add: ['wire'] } } })
  expect(reached).toEqual(['wire'])
})

test('without DEFAULT_TOOLS a search finds all tools', async () => {
  const { as, reached } = stage(75, { vars: { DEFAULT_TOOLS: '' } })
  await as(KEY)('/runs', { json: { input } })
  expect(reached).toEqual(['wire'])
})
