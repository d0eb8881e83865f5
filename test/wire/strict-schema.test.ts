import { describe, expect, test } from 'vitest'
import type { JsonSchema } from '../../src/contract/json.ts'
import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import { encodeChatRequest as encodeChat } from '../../src/wire/provider/openai-chat/request.ts'
import { encodeResponsesRequest as encodeResponses } from '../../src/wire/provider/openai-responses/request.ts'
import { CLOCK } from './clock.ts'

const codecs: readonly [string, (tool: ToolDefinition) => unknown][] = [
  [
    'Chat Completions',
    (tool) => JSON.parse(encodeChat('probe', { messages: [], tools: [tool] })).tools[0].function.parameters,
  ],
  ['Responses', (tool) => JSON.parse(encodeResponses('probe', { messages: [], tools: [tool] })).tools[0].parameters],
]

describe.each(codecs)('the schema of a tool in %s', (_, parametersOf) => {
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

describe.each(codecs)('the schema of a strict tool in %s', (_, parametersOf) => {
  const strictParameters = (inputSchema: JsonSchema) => parametersOf({ ...CLOCK, inputSchema, strict: true })

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

  test.each<[string, JsonSchema]>([
    [
      '"clock"/properties/labels allows any property',
      { labels: { additionalProperties: { type: 'string' }, type: 'object' } },
    ],
    ['"clock"/properties/other refers to "https://example.com/s"', { other: { $ref: 'https://example.com/s' } }],
  ])('is refused with the place of what cannot be strict: %s', (message, properties) => {
    expect(() => strictParameters({ type: 'object', properties })).toThrow(message)
  })
})
