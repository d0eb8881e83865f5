import * as v from 'valibot'
import { describe, expect, test, vi } from 'vitest'
import { augment, type AugmentEvent } from '../../src/tool/augment.ts'
import { defineTool } from '../../src/tool/define.ts'
import { CONTEXT } from '../fixtures/run-context.ts'
import { text } from '../host/source/calls.ts'

interface Fields {
  readonly thought: string
  readonly confidence?: number | undefined
}

const fields = v.object({
  thought: v.pipe(v.string(), v.description('Why you call this.')),
  confidence: v.optional(v.pipe(v.number(), v.maxValue(1))),
})

const inputs: unknown[] = []
const weather = defineTool({
  name: 'weather',
  description: 'Tells the weather.',
  input: v.looseObject({ city: v.string() }),
  annotations: { readOnly: true },
  returnDirect: 'always',
  run: (input) => {
    inputs.push(input)
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

const ARGUMENTS = { city: 'Rome', thought: 'They asked.', confidence: '0.9' }

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
    inputs.length = 0
    expect(await augmented.call(ARGUMENTS, CONTEXT)).toEqual(text('Sun in Rome'))
    expect(inputs).toEqual([{ city: 'Rome' }])
    const { callId, runId, caller, values } = CONTEXT
    expect(events).toEqual([
      {
        definition: await augmented.describe(),
        rawInput: ARGUMENTS,
        fields: { thought: 'They asked.', confidence: 0.9 },
        context: { callId, runId, caller, values },
      },
    ])
  })

  test('keeps the fields in its arguments if set to', async () => {
    const augmented = augment(weather, { fields, read: () => {}, keep: true })
    inputs.length = 0
    await augmented.call(ARGUMENTS, CONTEXT)
    expect(inputs).toEqual([ARGUMENTS])
  })

  test('is not called if a required field is missing or a field is invalid', async () => {
    const { events, read } = reader()
    const augmented = augment(weather, { fields, read })
    inputs.length = 0
    expect(await augmented.call({ city: 'Rome', confidence: 2 }, CONTEXT)).toEqual({
      ok: false,
      error: {
        code: 'invalid_arguments',
        message:
          'The arguments of "weather" do not fit:\n- thought: is required (string)\n' +
          '- confidence: expected <=1, received 2\nCorrect them and call again.',
      },
    })
    expect([events, inputs]).toEqual([[], []])
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
    expect(await augmented.status?.(ARGUMENTS, CONTEXT)).toEqual(text('Rome'))
    expect(await augmented.undo?.(ARGUMENTS, { ok: true, content: [] }, CONTEXT)).toEqual(text('{"city":"Rome"}'))
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
    expect(await augment(weather, { fields, read, report }).call(ARGUMENTS, CONTEXT)).toEqual(text('Sun in Rome'))
    expect(report.mock.calls).toEqual([[new Error('no disk')]])
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    await augment(weather, { fields, read }).call(ARGUMENTS, CONTEXT)
    expect(log.mock.calls).toEqual([['augment: "weather"', new Error('no disk')]])
    log.mockRestore()
  })

  test('waits for the reader', async () => {
    const order: string[] = []
    const read = async () => {
      await Promise.resolve()
      order.push('read')
    }
    await augment(weather, { fields, read }).call(ARGUMENTS, CONTEXT)
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
