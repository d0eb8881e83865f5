import { augment, type AugmentEvent, defineTool } from 'edgecall/tool'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import type { Tool, ToolRequest, ToolSource } from '../../../src/contract/tool.ts'
import { inlineSource } from '../../../src/host/source/inline.ts'
import { call, CONTROL, text, toolRequest } from './calls.ts'

const fields = v.object({ thought: v.string() })
const weather = defineTool({
  name: 'weather',
  description: 'Tells the weather.',
  input: v.looseObject({ city: v.string() }),
  run: ({ city }) => `Sun in ${city}`,
  status: (_, { city }) => ({ status: 'done' as const, result: city }),
  undo: (input) => JSON.stringify(input),
})
const ARGUMENTS = { city: 'Rome', thought: 'They asked.' }

describe('an augmented source', () => {
  const clash = defineTool({
    name: 'clash',
    description: 'C.',
    input: v.object({ thought: v.string() }),
    run: () => '',
  })
  const source = inlineSource([weather, clash], { env: {}, place: 'house', offered: (name) => name !== 'clash' })

  /** Shows what arrives at the tools of a source. */
  function watched(): { readonly requests: ToolRequest[]; readonly source: ToolSource } {
    const requests: ToolRequest[] = []
    const watch = (tool: Tool): Tool => ({
      ...tool,
      call: (request, control) => {
        requests.push(request)
        return tool.call(request, control)
      },
    })
    return { requests, source: { ...source, find: async (names) => (await source.find(names)).map(watch) } }
  }

  test('lists, offers and finds its tools with the fields; a conflicting tool is listed with the reason', async () => {
    const augmented = augment(source, { fields, read: () => {} })
    const { tools, unavailable } = await augmented.list()
    const [tool] = tools
    expect(tools).toHaveLength(1)
    expect(tool?.definition).toEqual(await augment(weather, { fields, read: () => {} }).describe())
    expect([tool?.place, tool?.origin, tool?.offered]).toEqual(['house', 'inline', true])
    const reason = 'augment: the tool "clash" has a field "thought" of its own'
    expect(unavailable).toEqual([{ origin: 'inline', place: 'house', reason, name: 'clash' }])
    expect((await augmented.offered()).map(({ definition }) => definition.name)).toEqual(['weather'])
    expect(await augmented.find(['clash', 'none'])).toEqual([])
  })

  test('passes on a call with the hash of the inner tool and without the fields', async () => {
    const events: AugmentEvent<{ thought: string }>[] = []
    const read = (event: AugmentEvent<{ thought: string }>) => void events.push(event)
    const { requests, source } = watched()
    const [tool] = await augment(source, { fields, read }).find(['weather'])
    expect(await call(tool, ARGUMENTS)).toEqual(text('Sun in Rome'))
    const { hash } = await weather.describe()
    expect(requests).toMatchObject([{ name: 'weather', arguments: { city: 'Rome' }, hash }])
    expect(events).toMatchObject([
      { rawInput: ARGUMENTS, fields: { thought: 'They asked.' }, context: { callId: 'call_1' } },
    ])
    const request = toolRequest('weather', ARGUMENTS, { hash: tool?.definition.hash ?? '' })
    expect(await tool?.status?.(request)).toEqual(text('Rome'))
    expect(await tool?.undo?.(request, { ok: true, content: [] })).toEqual(text('{"city":"Rome"}'))
  })

  test('refuses a call of another definition, such as the inner one', async () => {
    const { requests, source } = watched()
    const [tool] = await augment(source, { fields, read: () => {} }).find(['weather'])
    const { hash } = await weather.describe()
    expect(await tool?.call(toolRequest('weather', ARGUMENTS, { hash }), CONTROL)).toMatchObject({
      error: { code: 'tool_changed' },
    })
    expect(requests).toEqual([])
  })
})
