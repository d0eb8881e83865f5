import * as v from 'valibot'
import { describe, expect, test, vi } from 'vitest'
import type { Tool, ToolRequest, ToolSource } from '../../src/contract/tool.ts'
import { augment, type AugmentEvent } from '../../src/tool/augment.ts'
import { defineTool } from '../../src/tool/define.ts'
import { inlineSource } from '../../src/host/source/inline.ts'
import { CONTEXT } from '../fixtures/run-context.ts'
import { call, CONTROL, text, toolRequest } from '../host/source/calls.ts'

interface Fields {
  readonly thought: string
  readonly confidence?: number | undefined
}

const fields = v.object({
  thought: v.pipe(v.string(), v.description('Why you call this.')),
  confidence: v.optional(v.pipe(v.number(), v.maxValue(1))),
})

const seen: unknown[] = []
const weather = defineTool({
  name: 'weather',
  description: 'Tells the weather.',
  input: v.looseObject({ city: v.string() }),
  annotations: { readOnly: true },
  returnDirect: 'always',
  run: (input) => {
    seen.push(input)
    return `Sun in ${input.city}`
  },
  status: (_, { city }) => ({ status: 'done' as const, result: city }),
  undo: (input) => JSON.stringify(input),
})

/** Collects what is read. */
function reader() {
  const events: AugmentEvent<Fields>[] = []
  return { events, read: (event: AugmentEvent<Fields>) => void events.push(event) }
}

const SENT = { city: 'Rome', thought: 'They asked.', confidence: '0.9' }

describe('an augmented tool', () => {
  test('has the fields in its schema, the rest unchanged, and its own hash', async () => {
    const augmented = augment(weather, { fields, read: () => {} })
    const [before, after] = await Promise.all([weather.describe(), augmented.describe()])
    expect(after).toEqual({
      ...before,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      inputSchema: {
        type: 'object',
        properties: {
          city: { type: 'string' },
          thought: { type: 'string', description: 'Why you call this.' },
          confidence: { type: 'number', maximum: 1 },
        },
        required: ['city', 'thought'],
      },
    })
    expect(after.hash).not.toBe(before.hash)
    expect(augmented.outline).toMatchObject({ returnDirect: 'always', annotations: { readOnly: true }, undo: true })
  })

  test('is called without the fields, which are passed typed beside the original arguments', async () => {
    const { events, read } = reader()
    const augmented = augment(weather, { fields, read })
    seen.length = 0
    expect(await augmented.call(SENT, CONTEXT)).toEqual(text('Sun in Rome'))
    expect(seen).toEqual([{ city: 'Rome' }])
    const { callId, runId, caller, values } = CONTEXT
    expect(events).toEqual([
      {
        definition: await augmented.describe(),
        rawInput: SENT,
        fields: { thought: 'They asked.', confidence: 0.9 },
        context: { callId, runId, caller, values },
      },
    ])
  })

  test('keeps the fields in its arguments if set to', async () => {
    const augmented = augment(weather, { fields, read: () => {}, keep: true })
    seen.length = 0
    await augmented.call(SENT, CONTEXT)
    expect(seen).toEqual([SENT])
  })

  test('is not called if a required field is missing or a field is invalid', async () => {
    const { events, read } = reader()
    const augmented = augment(weather, { fields, read })
    seen.length = 0
    expect(await augmented.call({ city: 'Rome', confidence: 2 }, CONTEXT)).toEqual({
      ok: false,
      error: {
        code: 'invalid_arguments',
        message:
          'The arguments of "weather" do not fit:\n- thought: expected "thought", received undefined\n' +
          '- confidence: expected <=1, received 2\nCorrect them and call again.',
      },
    })
    expect([events, seen]).toEqual([[], []])
  })

  test('finds the fields within one key of arguments', async () => {
    const { events, read } = reader()
    const strict = defineTool({
      name: 'x',
      description: 'X.',
      input: v.strictObject({ n: v.number() }),
      run: ({ n }) => `${n}`,
    })
    expect(await augment(strict, { fields, read }).call({ arguments: { n: '1', thought: 'So.' } }, CONTEXT)).toEqual(
      text('1'),
    )
    expect(events[0]).toMatchObject({ fields: { thought: 'So.' }, rawInput: { arguments: { n: '1', thought: 'So.' } } })
  })

  test('is asked for its status and undone without the fields', async () => {
    const augmented = augment(weather, { fields, read: () => {} })
    expect(await augmented.status?.(SENT, CONTEXT)).toEqual(text('Rome'))
    expect(await augmented.undo?.(SENT, { ok: true, content: [] }, CONTEXT)).toEqual(text('{"city":"Rome"}'))
  })

  test.each<[string, () => void | Promise<void>]>([
    [
      'throws',
      () => {
        throw new Error('no disk')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no disk'))],
  ])('returns its result even if the reader %s, which is reported', async (_, read) => {
    const report = vi.fn()
    expect(await augment(weather, { fields, read, report }).call(SENT, CONTEXT)).toEqual(text('Sun in Rome'))
    expect(report.mock.calls).toEqual([[new Error('no disk')]])
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    await augment(weather, { fields, read }).call(SENT, CONTEXT)
    expect(log.mock.calls).toEqual([['augment: "weather"', new Error('no disk')]])
    log.mockRestore()
  })

  test('waits for the reader', async () => {
    const order: string[] = []
    const read = async () => {
      await Promise.resolve()
      order.push('read')
    }
    await augment(weather, { fields, read }).call(SENT, CONTEXT)
    order.push('answered')
    expect(order).toEqual(['read', 'answered'])
  })

  test('with a field of that name is refused with an error that names both', () => {
    const clash = v.object({ city: v.string() })
    expect(() => augment(weather, { fields: clash, read: () => {} })).toThrow(
      new TypeError('augment: the tool "weather" has a field "city" of its own'),
    )
  })

  test('keeps its references apart from those of the fields, even twice', async () => {
    const list = (key: string) => {
      const node: v.GenericSchema = v.object({ next: v.optional(v.lazy(() => node)) })
      return v.object({ [key]: v.optional(v.lazy(() => node)) })
    }
    const tool = defineTool({ name: 'x', description: 'X.', input: list('a'), run: () => '' })
    const read = () => {}
    const { inputSchema } = augment(augment(tool, { fields: list('b'), read }), { fields: list('c'), read }).outline
    const refs = [...JSON.stringify(inputSchema).matchAll(/"#\/\$defs\/(\w+)"/g)].map(([, key]) => key)
    expect(refs).toEqual(['0', 'field0', 'field_0', '0', 'field0', 'field_0'])
    expect(Object.keys(Object(inputSchema['$defs']))).toEqual(['0', 'field0', 'field_0'])
  })
})

test('several tools can be augmented at once', async () => {
  const { events, read } = reader()
  const other = defineTool({ name: 'other', description: 'O.', input: v.object({}), run: () => 'other' })
  const tools = augment([weather, other], { fields, read })
  expect(tools.map(({ name }) => name)).toEqual(['weather', 'other'])
  expect(await tools[1]?.call({ thought: 'So.' }, CONTEXT)).toEqual(text('other'))
  expect(events.map(({ definition }) => definition.name)).toEqual(['other'])
})

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
    const { events, read } = reader()
    const { requests, source } = watched()
    const [tool] = await augment(source, { fields, read }).find(['weather'])
    expect(await call(tool, SENT)).toEqual(text('Sun in Rome'))
    const { hash } = await weather.describe()
    expect(requests).toMatchObject([{ name: 'weather', arguments: { city: 'Rome' }, hash }])
    expect(events).toMatchObject([
      { rawInput: SENT, fields: { thought: 'They asked.' }, context: { callId: 'call_1' } },
    ])
    const request = toolRequest('weather', SENT, { hash: tool?.definition.hash ?? '' })
    expect(await tool?.status?.(request)).toEqual(text('Rome'))
    expect(await tool?.undo?.(request, { ok: true, content: [] })).toEqual(text('{"city":"Rome"}'))
  })

  test('refuses a call of another definition, such as the inner one', async () => {
    const { requests, source } = watched()
    const [tool] = await augment(source, { fields, read: () => {} }).find(['weather'])
    const { hash } = await weather.describe()
    expect(await tool?.call(toolRequest('weather', SENT, { hash }), CONTROL)).toMatchObject({
      error: { code: 'tool_changed' },
    })
    expect(requests).toEqual([])
  })
})
