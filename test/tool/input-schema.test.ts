import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { defineTool } from '../../src/tool/define.ts'
import { inputSchema } from '../../src/tool/input-schema.ts'
import type { InputSchema } from 'edgecall/tool'
import { CONTEXT } from '../fixtures/run-context.ts'

interface Branch {
  readonly label: string
  readonly since: Date
  readonly children: ReadonlySet<Branch>
}

const branch: v.GenericSchema<Branch> = v.object({
  label: v.pipe(v.string(), v.description('What it says.')),
  since: v.date(),
  children: v.set(v.lazy(() => branch)),
})

const DATE = { type: 'string', format: 'date-time' }

describe('each Valibot type is converted to JSON Schema:', () => {
  test.each<[string, InputSchema, object]>([
    ['text', v.pipe(v.string(), v.minLength(2)), { type: 'string', minLength: 2 }],
    ['a number', v.pipe(v.number(), v.minValue(0)), { type: 'number', minimum: 0 }],
    ['a whole number', v.pipe(v.number(), v.integer()), { type: 'integer' }],
    ['a boolean', v.boolean(), { type: 'boolean' }],
    ['null', v.null(), { type: 'null' }],
    ['what may be null', v.nullable(v.string()), { anyOf: [{ type: 'string' }, { type: 'null' }] }],
    ['a constant', v.literal('on'), { const: 'on' }],
    ['one of a list', v.picklist(['asc', 'desc']), { enum: ['asc', 'desc'], type: 'string' }],
    ['anything', v.unknown(), {}],
    ['a union', v.union([v.string(), v.number()]), { anyOf: [{ type: 'string' }, { type: 'number' }] }],
    ['an array', v.array(v.string()), { type: 'array', items: { type: 'string' } }],
    [
      'a tuple',
      v.strictTuple([v.string(), v.number()]),
      { type: 'array', minItems: 2, prefixItems: [{ type: 'string' }, { type: 'number' }], items: false },
    ],
    [
      'a record',
      v.record(v.string(), v.number()),
      { type: 'object', propertyNames: { type: 'string' }, additionalProperties: { type: 'number' } },
    ],
    [
      'a record of picked keys',
      v.record(v.picklist(['a', 'b']), v.date()),
      { type: 'object', propertyNames: { type: 'string', enum: ['a', 'b'] }, additionalProperties: DATE },
    ],
    ['a date', v.pipe(v.date(), v.minValue(new Date(0)), v.description('When.')), { ...DATE, description: 'When.' }],
    ['a text that becomes a date', v.pipe(v.string(), v.isoTimestamp(), v.toDate()), DATE],
    ['a bigint', v.pipe(v.bigint(), v.minValue(1n)), { type: 'integer' }],
    ['a set', v.set(v.string()), { type: 'array', items: { type: 'string' }, uniqueItems: true }],
    [
      'a map',
      v.map(v.string(), v.bigint()),
      { type: 'object', propertyNames: { type: 'string' }, additionalProperties: { type: 'integer' } },
    ],
    ['a default', v.optional(v.bigint(), 5n), { type: 'integer', default: 5 }],
    [
      'what is tidied and checked',
      v.pipe(
        v.string(),
        v.trim(),
        v.check((text: string) => text !== ''),
      ),
      { type: 'string' },
    ],
    ['what is made of it', v.pipe(v.string(), v.transform(Number)), { type: 'string' }],
  ])('%s', (_, schema, json) => {
    expect(inputSchema(schema)).toEqual(json)
  })

  test('an asynchronous schema like its synchronous twin', () => {
    const schema = v.objectAsync({
      a: v.pipeAsync(
        v.string(),
        v.checkAsync(async (text: string) => text !== ''),
      ),
    })
    expect(inputSchema(schema)).toEqual(inputSchema(v.object({ a: v.string() })))
  })

  test('descriptions on each level, and recursion through $defs', () => {
    const reference = { $ref: '#/$defs/0' }
    const object = {
      type: 'object',
      properties: {
        label: { type: 'string', description: 'What it says.' },
        since: DATE,
        children: { type: 'array', items: reference, uniqueItems: true },
      },
      required: ['label', 'since', 'children'],
    }
    expect(inputSchema(v.pipe(v.object({ root: v.lazy(() => branch) }), v.description('A tree.')))).toEqual({
      type: 'object',
      description: 'A tree.',
      properties: { root: reference },
      required: ['root'],
      $defs: { 0: object },
    })
  })
})

describe('`run` receives types that JSON lacks:', () => {
  const read = async (schema: InputSchema, value: unknown): Promise<unknown> => {
    let got: unknown
    const input = v.object({ it: schema as v.GenericSchema })
    const tool = defineTool({ name: 'it', description: 'It.', input, run: ({ it }) => void (got = it) })
    const outcome = await tool.call({ it: value }, CONTEXT)
    return outcome.ok ? got : outcome.error.message.split('\n')[1]
  }

  test.each<[string, InputSchema, unknown, unknown]>([
    ['a date with its zone', v.date(), '2026-01-31T10:00:00+02:00', new Date('2026-01-31T08:00:00Z')],
    ['a date without a zone: UTC', v.date(), '2026-01-31T10:00:00', new Date('2026-01-31T10:00:00Z')],
    ['a day: its first moment in UTC', v.date(), '2026-01-31', new Date('2026-01-31T00:00:00Z')],
    ['a bigint of digits', v.bigint(), '12345678901234567890', 12345678901234567890n],
    ['a bigint of a number', v.bigint(), 5, 5n],
    ['a set', v.set(v.date()), ['2026-01-31', '2026-01-31'], new Set([new Date('2026-01-31'), new Date('2026-01-31')])],
    ['a map', v.map(v.string(), v.bigint()), { a: 1 }, new Map([['a', 1n]])],
    ['one in a union', v.union([v.number(), v.date(), v.string()]), '2026-01-31', new Date('2026-01-31')],
    ['a text where that is meant', v.union([v.number(), v.date(), v.string()]), 'soon', 'soon'],
    ['one that may be null', v.nullable(v.date()), null, null],
    [
      'one in a tuple',
      v.tuple([v.date(), v.string()]),
      ['2026-01-31', '2026-01-31'],
      [new Date('2026-01-31'), '2026-01-31'],
    ],
    [
      'one in an intersection',
      v.intersect([v.object({ a: v.date() }), v.object({ b: v.string() })]),
      { a: '2026-01-31', b: 'x' },
      { a: new Date('2026-01-31'), b: 'x' },
    ],
    ['a text that looks like a date', v.string(), '2026-01-31', '2026-01-31'],
    [
      'a tree',
      branch,
      { label: 'a', since: '2026-01-31', children: [{ label: 'b', since: '2026-01-31', children: [] }] },
      {
        label: 'a',
        since: new Date('2026-01-31'),
        children: new Set([{ label: 'b', since: new Date('2026-01-31'), children: new Set() }]),
      },
    ],
    [
      'no date',
      v.date(),
      '2026-02-30',
      '- it: expected a date and time such as 2026-01-31T14:30:00Z, received "2026-02-30"',
    ],
    ['no set', v.set(v.string()), null, '- it: expected Array, received null'],
    ['no such word', v.picklist(['Date', 'Set']), 'Map', '- it: expected ("Date" | "Set"), received "Map"'],
    ['no bigint', v.bigint(), '1.5', '- it: expected integer, received "1.5"'],
    [
      'a date too early',
      v.pipe(v.date(), v.minValue(new Date('2026-01-01'))),
      '2025-12-31',
      '- it: expected >=2026-01-01T00:00:00.000Z, received 2025-12-31T00:00:00.000Z',
    ],
  ])('%s', async (_, schema, value, expected) => {
    expect(await read(schema, value)).toEqual(expected)
  })
})

test('the compiler infers the types that `run` receives', async () => {
  const tool = defineTool({
    name: 'stay',
    description: 'Stays.',
    input: v.object({
      from: v.date(),
      nights: v.optional(v.pipe(v.number(), v.integer()), 1),
      guests: v.set(v.string()),
      number: v.bigint(),
      notes: v.nullish(v.string()),
    }),
    run: ({ from, nights, guests, number, notes }): [number, number, boolean, bigint, string | null | undefined] => [
      from.getUTCDate() + nights,
      guests.size,
      guests.has('Ada'),
      number + 1n,
      notes,
    ],
  })
  const args = { from: '2026-01-30', guests: '["Ada","Bob"]', number: 9, notes: null }
  expect(await tool.call(args, CONTEXT)).toMatchObject({ structured: [31, 2, true, '10', null] })
})

describe('a schema without a JSON form is refused with the place and a remedy:', () => {
  const remedy = 'Accept a JSON type (text, number, boolean, null, object, array) and convert it: v.transform(…).'

  test.each<[string, InputSchema, string]>([
    ['deep inside', v.object({ a: v.array(v.object({ b: v.file() })) }), 'at a.*.b, The "file" schema'],
    ['in a union', v.object({ a: v.union([v.string(), v.symbol()]) }), 'at a, The "symbol" schema'],
    [
      'through a reference',
      v.object({ a: v.lazy(() => v.object({ b: v.function() })) }),
      'at a.b, The "function" schema',
    ],
    ['as keys', v.object({ a: v.map(v.number(), v.string()) }), 'at a, The "record" schema with the "number" schema'],
    ['as the root', v.custom(() => true), 'The "custom" schema'],
    ['an action', v.object({ a: v.pipe(v.string(), v.creditCard()) }), 'at a, The "credit_card" action'],
  ])('%s', (_, schema, where) => {
    const define = () => defineTool({ name: 'x', description: 'X.', input: schema, run: () => '' })
    expect(define).toThrow(TypeError)
    expect(define).toThrow(`Tool "x": input has no JSON Schema: ${where}`)
    expect(define).toThrow(remedy)
    expect(() => inputSchema(schema)).toThrow(where)
  })
})
