import * as v from 'valibot'
import { expect } from 'vitest'
import { defineTool, inputSchema } from '../../../src/tool.ts'
import { say } from '../../fixtures/play.ts'
import { different, type Row, same } from '../rows.ts'
import { carried, chat, parseWith } from '../scene.ts'

const day = v.pipe(v.string(), v.isoDate())

/** The schema that the model is told of for what a caller sends as `parameters`. */
async function completed(parameters: unknown): Promise<unknown> {
  const tools = [{ type: 'function', function: { name: 'theirs', parameters } }]
  const { status, json, requests } = await chat({ script: [say('hi')], body: { tools } })
  return status === 200 ? requests[0]?.tools[0]?.inputSchema : json.error.message
}

interface Node {
  readonly name: string
  readonly next?: Node | undefined
}

const node: v.GenericSchema<Node> = v.object({ name: v.string(), next: v.optional(v.lazy(() => node)) })

/** Rows 94 to 102: what a model is told of arguments, and what is made of what it sends. */
export const schemas: readonly Row[] = [
  {
    row: 94,
    says: 'a plain schema is an object with its fields, all of them required',
    verdict: different('keywords that tell a model nothing are left out; v.strictObject forbids further fields', () => {
      const fields = { name: v.string(), count: v.pipe(v.number(), v.integer()) }
      const properties = { name: { type: 'string' }, count: { type: 'integer' } }
      const required = ['name', 'count']
      expect(inputSchema(v.object(fields))).toEqual({ type: 'object', properties, required })
      expect(inputSchema(v.strictObject(fields))).toEqual({
        type: 'object',
        properties,
        required,
        additionalProperties: false,
      })
    }),
  },
  {
    row: 95,
    says: 'fields may be described, and need not all be required',
    verdict: same(() => {
      const schema = v.object({
        city: v.pipe(v.string(), v.description('Its name.')),
        unit: v.optional(v.pipe(v.picklist(['C', 'F']), v.description('Of degrees.')), 'C'),
        days: v.optional(v.number()),
        note: v.nullish(v.string()),
        place: v.nullable(v.object({ zip: v.pipe(v.string(), v.description('Its code.')) })),
      })
      expect(inputSchema(schema)).toEqual({
        type: 'object',
        properties: {
          city: { type: 'string', description: 'Its name.' },
          unit: { enum: ['C', 'F'], type: 'string', description: 'Of degrees.', default: 'C' },
          days: { type: 'number' },
          note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
          place: {
            anyOf: [
              {
                type: 'object',
                properties: { zip: { type: 'string', description: 'Its code.' } },
                required: ['zip'],
              },
              { type: 'null' },
            ],
          },
        },
        required: ['city', 'place'],
      })
    }),
  },
  {
    row: 96,
    says: 'further fields can be allowed, and types written otherwise',
    verdict: different('types are lower case as JSON Schema has them, wherever the edge runs', () => {
      expect(inputSchema(v.looseObject({ id: v.string() }))).toEqual({
        type: 'object',
        properties: { id: { type: 'string' } },
        required: ['id'],
      })
    }),
  },
  {
    row: 97,
    says: 'dates and times are texts of a format, also inside of other values',
    verdict: same(async () => {
      const schema = v.object({ trip: v.object({ at: v.date(), on: day }) })
      expect(inputSchema(schema)).toEqual({
        type: 'object',
        properties: {
          trip: {
            type: 'object',
            properties: { at: { type: 'string', format: 'date-time' }, on: { type: 'string', format: 'date' } },
            required: ['at', 'on'],
          },
        },
        required: ['trip'],
      })
      expect(await parseWith(schema, { trip: { at: '2026-01-31T14:30:00Z', on: '2026-02-01' } })).toEqual({
        trip: { at: new Date('2026-01-31T14:30:00Z'), on: '2026-02-01' },
      })
    }),
  },
  {
    row: 98,
    says: 'the tool context is no argument, and no model is told of it',
    verdict: same(async () => {
      const tools = await carried(
        defineTool({
          name: 'who',
          description: 'Who',
          input: v.object({ greeting: v.string() }),
          run: ({ greeting }, { values }) => `${greeting} ${String(values['user'])}`,
        }),
      )
      const { requests } = await chat({
        script: [say('hi')],
        tools,
        body: { edgecall: { context: { user: 'Ada' } } },
      })
      expect(requests[0]?.tools[0]?.inputSchema).toEqual({
        type: 'object',
        properties: { greeting: { type: 'string' } },
        required: ['greeting'],
      })
      expect(JSON.stringify(requests)).not.toContain('Ada')
    }),
  },
  {
    row: 99,
    says: 'maps say what their values are, lists of words which they are, objects their fields',
    verdict: same(() => {
      const schema = v.object({
        counts: v.record(v.string(), v.number()),
        colour: v.picklist(['red', 'green']),
        size: v.enum({ small: 1, large: 2 }),
        point: v.object({ x: v.number() }),
      })
      expect(inputSchema(schema)).toEqual({
        type: 'object',
        properties: {
          counts: { type: 'object', propertyNames: { type: 'string' }, additionalProperties: { type: 'number' } },
          colour: { enum: ['red', 'green'], type: 'string' },
          size: { enum: [1, 2], type: 'number' },
          point: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] },
        },
        required: ['counts', 'colour', 'size', 'point'],
      })
    }),
  },
  {
    row: 100,
    says: 'what contains itself is told once, and referred to',
    verdict: same(async () => {
      const schema = v.object({ first: node, second: node })
      const toolSchema = {
        type: 'object',
        properties: { name: { type: 'string' }, next: { $ref: '#/$defs/0' } },
        required: ['name'],
      }
      expect(inputSchema(schema)).toEqual({
        type: 'object',
        properties: { first: toolSchema, second: { $ref: '#/$defs/0' } },
        required: ['first', 'second'],
        $defs: { 0: toolSchema },
      })
      const list = { first: { name: 'a', next: { name: 'b' } }, second: { name: 'c' } }
      expect(await parseWith(schema, list)).toEqual(list)
    }),
  },
  {
    row: 101,
    says: 'a schema that says too little is completed',
    verdict: same(async () => {
      const empty = { type: 'object', properties: {} }
      expect(await completed(undefined)).toEqual(empty)
      expect(await completed({})).toEqual(empty)
      expect(await completed({ type: 'object' })).toEqual(empty)
      const properties = { a: { type: 'string' } }
      expect(await completed({ properties })).toEqual({ type: 'object', properties })
      expect(await completed({ type: 'object', properties, required: ['a'] })).toEqual({
        type: 'object',
        properties,
        required: ['a'],
      })
      expect(await completed({ type: 'string' })).toBe('tools[0].function.parameters: must have type "object".')
    }),
  },
  {
    row: 102,
    says: 'texts become the numbers, booleans, words and times that were meant',
    verdict: same(async () => {
      const schema = v.object({
        whole: v.pipe(v.number(), v.integer()),
        real: v.number(),
        large: v.number(),
        big: v.bigint(),
        yes: v.boolean(),
        no: v.boolean(),
        colour: v.picklist(['RED', 'GREEN']),
        when: v.date(),
        point: v.object({ x: v.number() }),
      })
      const args = {
        whole: '1',
        real: '1.5',
        large: '1.5E7',
        big: '12345678901234567890',
        yes: 'true',
        no: 'False',
        colour: 'red',
        when: '2026-01-31T14:30:00',
        point: '{"x":"2"}',
      }
      expect(await parseWith(schema, args)).toEqual({
        whole: 1,
        real: 1.5,
        large: 15_000_000,
        big: 12345678901234567890n,
        yes: true,
        no: false,
        colour: 'RED',
        when: new Date('2026-01-31T14:30:00Z'),
        point: { x: 2 },
      })
    }),
  },
]
