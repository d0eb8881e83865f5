import { describe, expect, test } from 'vitest'
import type { JsonSchema } from '../../src/contract/json.ts'
import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import { encodeChatRequest as encodeChat } from '../../src/wire/provider/openai-chat/request.ts'
import { encodeResponsesRequest as encodeResponses } from '../../src/wire/provider/openai-responses/request.ts'
import { OPENAI_DIALECT } from '../../src/wire/provider/dialects.ts'
import { fitRequest } from '../../src/wire/provider/fit-request.ts'
import { CLOCK } from './clock.ts'

const losses: string[] = []
const reportTool = (_: string, all: readonly string[]): void => void losses.push(...all)
const requestOf = (tool: ToolDefinition) =>
  fitRequest({ messages: [], tools: [tool], reportTool }, OPENAI_DIALECT).request

type Declaration = Readonly<Record<string, unknown>>

const codecs: readonly [string, (tool: ToolDefinition) => Declaration][] = [
  ['Chat Completions', (tool) => JSON.parse(encodeChat('probe', requestOf(tool))).tools[0].function],
  ['Responses', (tool) => JSON.parse(encodeResponses('probe', requestOf(tool))).tools[0]],
]

describe.each(codecs)('the schema of a tool in %s', (_, declare) => {
  const parametersOf = (tool: ToolDefinition) => declare(tool).parameters

  test('has items for every list and properties for every object, even if these are empty', () => {
    const lists = {
      tags: { type: 'array', description: 'Any' },
      rows: { type: ['array', 'null'], items: { type: 'array' } },
      type: { type: 'string', enum: ['array'] },
    }
    expect(parametersOf({ ...CLOCK, inputSchema: { type: 'object', properties: lists } })).toEqual({
      type: 'object',
      properties: {
        tags: { type: 'array', description: 'Any', items: {} },
        rows: { type: ['array', 'null'], items: { type: 'array', items: {} } },
        type: { type: 'string', enum: ['array'] },
      },
    })
    expect(parametersOf({ ...CLOCK, inputSchema: { type: 'object' } })).toEqual({ type: 'object', properties: {} })
  })
})

describe.each(codecs)('the schema of a strict tool in %s', (_, declare) => {
  const strictParameters = (inputSchema: JsonSchema) => declare({ ...CLOCK, inputSchema, strict: true }).parameters

  test('requires every property, optional ones as null, and closes every object', () => {
    const inputSchema = {
      type: 'object',
      properties: {
        city: { type: 'string', minLength: 2, description: 'Where' },
        unit: { type: 'string', enum: ['C', 'F'], default: 'C' },
        at: { type: ['string', 'null'], format: 'date-time' },
        link: { type: 'string', format: 'uri' },
        place: { oneOf: [{ type: 'string' }, { $ref: '#/definitions/point' }] },
        from: { $ref: '#/definitions/point' },
        exact: { const: true },
        days: { type: 'array', items: { type: 'object', properties: { day: { type: 'integer', minimum: 1 } } } },
      },
      required: ['city'],
      definitions: { point: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] } },
    }
    expect(strictParameters(inputSchema)).toEqual({
      type: 'object',
      properties: {
        city: { type: 'string', description: 'Where\n{"minLength":2}' },
        unit: { type: ['string', 'null'], enum: ['C', 'F', null], description: '{"default":"C"}' },
        at: { type: ['string', 'null'], format: 'date-time' },
        link: { type: ['string', 'null'], description: '{"format":"uri"}' },
        place: { anyOf: [{ type: 'string' }, { $ref: '#/$defs/point' }, { type: 'null' }] },
        from: { anyOf: [{ $ref: '#/$defs/point' }, { type: 'null' }] },
        exact: { anyOf: [{ enum: [true] }, { type: 'null' }] },
        days: {
          type: ['array', 'null'],
          items: {
            type: 'object',
            properties: { day: { type: ['integer', 'null'], minimum: 1 } },
            required: ['day'],
            additionalProperties: false,
          },
        },
      },
      required: ['city', 'unit', 'at', 'link', 'place', 'from', 'exact', 'days'],
      additionalProperties: false,
      $defs: {
        point: {
          type: 'object',
          properties: { x: { type: 'number' } },
          required: ['x'],
          additionalProperties: false,
        },
      },
    })
  })

  test('is unchanged if it is strict already, and complete if it has no properties', () => {
    const strict = {
      type: 'object',
      properties: { a: { type: 'string', title: 'A' }, b: { anyOf: [{ type: 'number' }, { type: 'null' }] } },
      required: ['a', 'b'],
      additionalProperties: false,
    }
    expect(strictParameters(strict)).toEqual(strict)
    expect(strictParameters({ type: 'object' })).toEqual({
      type: 'object',
      properties: {},
      required: [],
      additionalProperties: false,
    })
  })

  test('is sent as it is, and not as strict, if it cannot be enforced: the log says why', () => {
    const labels = {
      type: 'object',
      properties: { labels: { additionalProperties: { type: 'string' }, type: 'object' } },
    }
    const deep = (levels: number): JsonSchema =>
      levels === 0 ? { type: 'string' } : { type: 'object', properties: { next: deep(levels - 1) } }
    const cities = Array.from({ length: 1001 }, (_, index) => `city ${index}`)
    const long = Array.from({ length: 300 }, (_, index) => `${index}`.padStart(60, 'x'))
    const enumOf = (values: readonly string[]) => ({
      type: 'object',
      properties: { city: { type: 'string', enum: values } },
    })
    const cases: readonly [JsonSchema, string][] = [
      [labels, 'strict: The schema "clock"/properties/labels allows any property; this model needs all of them named.'],
      [deep(11), 'strict: it has 11 levels'],
      [enumOf(cities), 'strict: its enums have 1002 values'],
      [enumOf(long), 'strict: an enum has over 15000 characters'],
    ]
    for (const [inputSchema, loss] of cases) {
      losses.length = 0
      const tool = { ...CLOCK, name: 'clock', strict: true, inputSchema }
      expect(declare(tool)).toMatchObject({ parameters: inputSchema, strict: false })
      // What was reported once is not reported again.
      expect(losses).toEqual(_ === 'Chat Completions' ? [loss] : [])
    }
    expect(declare({ ...CLOCK, strict: true, inputSchema: deep(10) })).toMatchObject({ strict: true })
  })
})
