import * as v from 'valibot'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { canonicalJson, sha256 } from '../../src/contract/json.ts'
import { type DefinedTool, defineTool } from '../../src/tool/define.ts'
import { jsonSchema } from '../../src/tool/json-schema.ts'
import { ToolError } from '../../src/tool/result.ts'
import { CONTEXT } from '../fixtures/run-context.ts'
import { text } from '../host/source/calls.ts'

const input = v.object({ city: v.pipe(v.string(), v.description('Its name.')) })
const base = { name: 'weather', description: 'Tells the weather.', input }

function call(tool: DefinedTool, args: unknown) {
  return tool.call(args, CONTEXT)
}

const LOG = vi.spyOn(console, 'error').mockImplementation(() => {})
afterEach(() => LOG.mockClear())

describe('the definition of a tool', () => {
  test('has all its fields and a hash of what the model reads', async () => {
    const tool = defineTool({
      ...base,
      title: 'Weather',
      output: v.object({ degrees: v.number() }),
      version: '2.0',
      annotations: { readOnly: true },
      returnDirect: 'if-last',
      approval: 'always',
      timeoutMs: 5,
      maxResultBytes: 6,
      exclusive: 'sky',
      history: true,
      tags: ['x'],
      run: () => ({ degrees: 5 }),
      status: () => 'absent',
      undo: () => 'undone',
    })
    const inputSchema = {
      type: 'object',
      properties: { city: { type: 'string', description: 'Its name.' } },
      required: ['city'],
    }
    const outputSchema = { type: 'object', properties: { degrees: { type: 'number' } }, required: ['degrees'] }
    const options = { name: 'weather', description: 'Tells the weather.', inputSchema, outputSchema }
    expect(await tool.describe()).toEqual({
      ...options,
      title: 'Weather',
      version: '2.0',
      hash: await sha256(canonicalJson(options)),
      annotations: { readOnly: true },
      returnDirect: 'if-last',
      approval: 'always',
      timeoutMs: 5,
      maxResultBytes: 6,
      exclusive: 'sky',
      history: true,
      reconcile: true,
      undo: true,
      tags: ['x'],
    })
  })

  test('has no fields that were not given', async () => {
    const { hash: _, ...said } = await defineTool({ ...base, run: () => '' }).describe()
    expect(Object.keys(said)).toEqual(['name', 'description', 'inputSchema', 'version', 'annotations'])
  })

  test('has a wire name if providers refuse its name, which becomes the title', async () => {
    const tool = defineTool({ ...base, name: 'weather.get now', run: () => 'sun' })
    expect([tool.name, tool.outline.title]).toEqual(['weather_x2e_get_x20_now', 'weather.get now'])
    expect(await call(tool, {})).toMatchObject({
      error: { message: expect.stringContaining('"weather_x2e_get_x20_now"') },
    })
    expect(defineTool({ ...base, name: 'a.b', title: 'Mine', run: () => '' }).outline.title).toBe('Mine')
  })

  test('is refused at once without a name or a description', () => {
    expect(() => defineTool({ ...base, name: '', run: () => '' })).toThrow(new TypeError('A tool needs a name'))
    expect(() => defineTool({ ...base, description: ' ', run: () => '' })).toThrow(
      new TypeError('Tool "weather" needs a description: it is all the model sees'),
    )
    // As a module in JavaScript may do.
    const { description: _, ...undescribed } = base
    expect(() => defineTool({ ...undescribed, run: () => '' } as never)).toThrow(
      new TypeError('Tool "weather" needs a description: it is all the model sees'),
    )
  })
})

describe('a result of a tool with an output schema', () => {
  const output = v.object({ total: v.number(), due: v.optional(v.date()) })
  const invoice = (result: unknown, rest: object = {}) =>
    defineTool({ ...base, name: 'invoice', output, run: () => result, ...rest })

  test('is passed on if its JSON fits', async () => {
    const due = new Date('2026-11-23T00:00:00Z')
    expect(await call(invoice({ total: 5, due }), { city: 'Rome' })).toEqual({
      ok: true,
      content: [{ type: 'text', text: '{"total":5,"due":"2026-11-23T00:00:00.000Z"}' }],
      structured: { total: 5, due: '2026-11-23T00:00:00.000Z' },
    })
  })

  test('fails the call with the places and the reasons if it does not fit', async () => {
    expect(await call(invoice({ total: '5' }), { city: 'Rome' })).toEqual({
      ok: false,
      error: {
        code: 'invalid_output',
        message:
          'The tool "invoice" was called, but its result does not fit its output schema:\n' +
          '- total: expected number, received "5"\n' +
          'The call may have taken effect: do not repeat it for a better result.',
        detail: 'total: expected number, received "5"',
      },
    })
    expect(await call(invoice(undefined), { city: 'Rome' })).toMatchObject({ error: { code: 'invalid_output' } })
    const plain = invoice({ total: '5' }, { output: jsonSchema({ properties: { total: { type: 'number' } } }) })
    expect(await call(plain, { city: 'Rome' })).toMatchObject({ error: { code: 'invalid_output' } })
  })

  test('is not checked with `checkOutput: false`, and the schema is published all the same', async () => {
    const tool = invoice({ total: '5' }, { checkOutput: false })
    expect(await call(tool, { city: 'Rome' })).toMatchObject({ ok: true, structured: { total: '5' } })
    expect(Object.keys(tool.outline)).toEqual([
      'name',
      'description',
      'inputSchema',
      'outputSchema',
      'version',
      'annotations',
    ])
  })

  test('may have any number of values', async () => {
    const list = Array.from({ length: 20_000 }, (_, index) => index)
    const tool = invoice(list, { output: jsonSchema({ type: 'array', items: { type: 'number' } }) })
    expect(await call(tool, { city: 'Rome' })).toMatchObject({ ok: true })
  })

  test('that `status` finds counts as done if it does not fit', async () => {
    const tool = invoice({ total: 5 }, { status: () => ({ status: 'done', result: { total: '5' } }) })
    expect(await tool.status?.({ city: 'Rome' }, CONTEXT)).toBe('done')
  })
})

describe('the arguments of a tool', () => {
  test('are passed unchanged if they fit, else mended, else refused with issues for the model', async () => {
    const inputs: unknown[] = []
    const tool = defineTool({
      ...base,
      input: v.object({ city: v.string(), days: v.optional(v.pipe(v.number(), v.integer(), v.maxValue(9)), 3) }),
      run: (args) => void inputs.push(args),
    })
    await call(tool, { city: ' Rome ' })
    await call(tool, { city: 'Rome', days: '5' })
    await call(tool, { arguments: { city: 'Rome', days: null } })
    expect(inputs).toEqual([
      { city: ' Rome ', days: 3 },
      { city: 'Rome', days: 5 },
      { city: 'Rome', days: 3 },
    ])
    expect(await call(tool, { days: '12' })).toEqual({
      ok: false,
      error: {
        code: 'invalid_arguments',
        message:
          'The arguments of "weather" do not fit:\n- city: is required (string)\n' +
          '- days: expected <=9, received 12\nCorrect them and call again.',
      },
    })
  })

  test('that are amounts of money fit multiples of a cent', async () => {
    const tool = defineTool({
      ...base,
      input: v.object({
        items: v.array(v.object({ amount: v.pipe(v.number(), v.multipleOf(0.01)) })),
        most: v.optional(v.pipe(v.number(), v.multipleOf(0.01), v.maxValue(10))),
      }),
      run: ({ items }) => items.map(({ amount }) => amount),
    })
    const amounts = [7, 0.07, 19.99, 4.35, 1_000_000.01]
    expect(await call(tool, { items: amounts.map((amount) => ({ amount })) })).toMatchObject({ structured: amounts })
    expect(await call(tool, { items: [{ amount: 7 }, { amount: 0.005 }], most: 11 })).toMatchObject({
      error: {
        message: expect.stringMatching(
          /- items\.1\.amount: expected a multiple of 0\.01, received 0\.005\n- most: expected <=10, received 11\n/,
        ),
      },
    })
  })

  test('that are no multiple of a number are told so', async () => {
    const tool = defineTool({
      ...base,
      input: v.object({ amount: v.pipe(v.number(), v.multipleOf(0.25)) }),
      run: ({ amount }) => amount,
    })
    expect(await call(tool, { amount: 0.3 })).toMatchObject({
      error: { message: expect.stringContaining('- amount: expected a multiple of 0.25, received 0.3\n') },
    })
  })

  test('that are not an object are sent as one field, and unwrapped', async () => {
    const words = defineTool({ ...base, name: 'count', input: v.array(v.string()), run: (list) => list.length })
    expect(words.outline.inputSchema).toEqual({
      type: 'object',
      properties: { input: { type: 'array', items: { type: 'string' } } },
      required: ['input'],
    })
    expect(await call(words, { input: ['a', 'b'] })).toMatchObject({ structured: 2 })
    expect(await call(words, { input: 'a' })).toMatchObject({ structured: 1 })
    expect(await call(words, { input: [{}] })).toMatchObject({
      error: { message: expect.stringContaining('- input.0: expected string, received Object') },
    })
    expect(await call(words, {})).toMatchObject({
      error: { message: expect.stringContaining('- input: is required (array)') },
    })
  })

  test('of a union at the root may come with or without the field', async () => {
    const shape = defineTool({
      ...base,
      input: v.variant('kind', [
        v.object({ kind: v.literal('circle'), radius: v.number() }),
        v.object({ kind: v.literal('square'), side: v.number() }),
      ]),
      run: (shape) => (shape.kind === 'circle' ? shape.radius : shape.side),
    })
    expect(await call(shape, { input: { kind: 'circle', radius: 2 } })).toMatchObject({ structured: 2 })
    expect(await call(shape, { kind: 'square', side: '3' })).toMatchObject({ structured: 3 })
  })

  test('may be optional or recursive at the root', async () => {
    const maybe = defineTool({ ...base, input: v.optional(v.string(), 'none'), run: (it) => it })
    expect(maybe.outline.inputSchema['required']).toEqual([])
    expect(await call(maybe, {})).toEqual(text('none'))
    type Tree = Tree[]
    const tree: v.GenericSchema<Tree> = v.array(v.lazy(() => tree))
    const deep = defineTool({ ...base, input: tree, run: (it) => JSON.stringify(it) })
    expect(deep.outline.inputSchema).toEqual({
      type: 'object',
      properties: {
        input: {
          type: 'array',
          items: { $ref: '#/properties/input/$defs/0' },
          $defs: { 0: { type: 'array', items: { $ref: '#/properties/input/$defs/0' } } },
        },
      },
      required: ['input'],
    })
    expect(await call(deep, { input: [[], [[]]] })).toEqual(text('[[],[[]]]'))
  })

  test('fail the call if the code of their schema throws', async () => {
    const input = v.object({
      a: v.pipe(
        v.string(),
        v.check(() => boom()),
      ),
    })
    expect(await call(defineTool({ ...base, input, run: () => '' }), { a: '' })).toMatchObject({
      error: { code: 'tool_failed', message: 'The tool "weather" failed.', detail: expect.stringContaining('boom') },
    })
  })
})

function boom(): never {
  throw new Error('boom')
}

describe('the results of a tool', () => {
  test('are made by `result` from what `run` returned', async () => {
    const tool = defineTool({
      ...base,
      run: async ({ city }) => ({ city, secret: 1 }),
      result: ({ city }, { callId }) => `${city} ${callId}`,
    })
    expect(await call(tool, { city: 'Rome' })).toEqual(text('Rome call_1'))
  })

  test('become a failure if `result` or their serialization throws', async () => {
    expect(await call(defineTool({ ...base, run: () => 1, result: boom }), { city: '' })).toMatchObject({
      error: { code: 'tool_failed', detail: expect.stringContaining('boom') },
    })
    const broken = defineTool({ ...base, run: () => ({ toJSON: boom }) })
    expect(await call(broken, { city: '' })).toMatchObject({ error: { code: 'unserialisable', detail: 'boom' } })
  })
})

describe('the errors of a tool', () => {
  const failing = (error: unknown, onError?: (error: unknown) => string | ToolError | undefined) =>
    defineTool({
      ...base,
      run: () => {
        throw error
      },
      ...(onError && { onError }),
    })

  test('show a ToolError to the model, and its cause to operators', async () => {
    const cause = new Error('socket')
    const error = new ToolError('No such city.', { code: 'no_city', retryable: false, fatal: true, cause })
    expect(await call(failing(error), { city: '' })).toEqual({
      ok: false,
      error: { code: 'no_city', message: 'No such city.', detail: cause.stack, retryable: false, fatal: true },
    })
  })

  test('show other errors only to operators', async () => {
    const error = new Error('password=1')
    expect(await call(failing(error), { city: '' })).toEqual({
      ok: false,
      error: { code: 'tool_failed', message: 'The tool "weather" failed.', detail: error.stack },
    })
    expect(LOG).toHaveBeenCalledWith('tool "weather" threw', error.stack)
  })

  test.each<[string, (error: unknown) => string | ToolError | undefined, object]>([
    [
      'a text',
      () => 'Try later.',
      { code: 'tool_error', message: 'Try later.', detail: expect.stringContaining('boom') },
    ],
    [
      'a fatal error',
      () => new ToolError('The account is closed.', { code: 'closed', fatal: true }),
      { code: 'closed', message: 'The account is closed.', fatal: true },
    ],
    ['nothing', () => undefined, { code: 'tool_failed', message: 'The tool "weather" failed.' }],
    [
      'a ToolError that it throws',
      () => {
        throw new ToolError('Thrown.')
      },
      { code: 'tool_error', message: 'Thrown.' },
    ],
    ['another error that it throws', () => boom(), { code: 'tool_failed', detail: expect.stringContaining('first') }],
  ])('are replaced by `onError`: %s', async (_, onError, error) => {
    const thrown = new Error('first boom')
    expect(await call(failing(thrown, onError), { city: '' })).toMatchObject({ ok: false, error })
  })

  test('that cannot be shown still fail the call', async () => {
    const circle: Record<string, unknown> = {}
    circle['self'] = circle
    expect(await call(failing(circle), { city: '' })).toMatchObject({
      error: { code: 'tool_failed', detail: 'an error that cannot be shown' },
    })
  })
})

describe('status and undo of a tool', () => {
  const DONE = { ok: true as const, content: [{ type: 'text' as const, text: 'booked' }] }

  test.each<[string, () => 'done' | 'absent' | 'started' | 'unknown', string]>([
    ['done', () => 'done', 'done'],
    ['absent', () => 'absent', 'absent'],
    ['started: nobody can say', () => 'started', 'unknown'],
    ['unknown', () => 'unknown', 'unknown'],
    ['what throws: nobody can say', boom, 'unknown'],
  ])('accept a status that is %s', async (_, status, expected) => {
    const tool = defineTool({ ...base, run: () => '', status })
    expect(await tool.status?.({ city: '' }, CONTEXT)).toBe(expected)
  })

  test('accept a status with a result, which becomes the outcome that `run` would have returned', async () => {
    const tool = defineTool({
      ...base,
      run: () => ({ number: 1 }),
      result: ({ number }) => `no. ${number}`,
      status: () => ({ status: 'done' as const, result: { number: 7 } }),
    })
    expect(await tool.status?.({ city: '' }, CONTEXT)).toEqual(text('no. 7'))
    const absent = defineTool({ ...base, run: () => '', status: () => ({ status: 'absent' as const }) })
    expect(await absent.status?.({ city: '' }, CONTEXT)).toBe('absent')
    const toolWithoutUndo = defineTool({
      ...base,
      run: () => ({}),
      status: () => ({ status: 'done' as const, result: { toJSON: boom } }),
    })
    expect(await toolWithoutUndo.status?.({ city: '' }, CONTEXT)).toBe('done')
  })

  test('pass the input, the outcome and the context to undo, which never rejects', async () => {
    const tool = defineTool({
      ...base,
      run: () => '',
      undo: ({ city }, outcome, { callId }) => [city, outcome, callId],
    })
    expect(await tool.undo?.({ city: 'Rome' }, DONE, CONTEXT)).toMatchObject({ structured: ['Rome', DONE, 'call_1'] })
    const failing = defineTool({
      ...base,
      run: () => '',
      undo: () => {
        throw new ToolError('Too late.', { code: 'too_late' })
      },
    })
    expect(await failing.undo?.({ city: '' }, DONE, CONTEXT)).toEqual({
      ok: false,
      error: { code: 'too_late', message: 'Too late.' },
    })
    expect(await tool.undo?.({}, DONE, CONTEXT)).toMatchObject({ error: { code: 'invalid_arguments' } })
  })

  test('are absent without the functions', () => {
    const { status, undo, outline } = defineTool({ ...base, run: () => '' })
    expect([status, undo, outline.reconcile, outline.undo]).toEqual([undefined, undefined, undefined, undefined])
  })
})
