import { describe, expect, test } from 'vitest'
import type { JsonSchema } from '../../src/contract/json.ts'
import type { Message } from '../../src/contract/message.ts'
import type { ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import {
  ANTHROPIC_DIALECT,
  COMPATIBLE_DIALECT,
  type ProviderDialect,
  GEMINI_DIALECT,
  OPENAI_DIALECT,
} from '../../src/wire/provider/dialects.ts'
import { fitRequest } from '../../src/wire/provider/fit-request.ts'
import { CLOCK } from './clock.ts'

const tool = (inputSchema: JsonSchema, more: Partial<ToolDefinition> = {}): ToolDefinition => ({
  ...CLOCK,
  name: 'list_items',
  inputSchema,
  ...more,
})

/** What a request with these tools is, and what is reported of them. */
function sentTools(tools: readonly ToolDefinition[], dialect: ProviderDialect, more: Partial<ModelRequest> = {}) {
  const losses: [string, ...string[]][] = []
  const reportTool = (name: string, all: readonly string[]) => void losses.push([name, ...all])
  const { request, answer } = fitRequest({ messages: [], tools, reportTool, ...more }, dialect)
  return { tools: request.tools, messages: request.messages, request, answer, losses }
}

const schemaOf = (inputSchema: JsonSchema, dialect: ProviderDialect): unknown =>
  sentTools([tool(inputSchema)], dialect).tools[0]?.inputSchema

async function all(events: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  return Array.fromAsync(events)
}

async function* streamOf(...events: readonly ModelEvent[]): AsyncGenerator<ModelEvent> {
  yield* events
}

/** As OData, JSON:API and spreadsheets name their fields. */
const ODATA = {
  type: 'object',
  properties: {
    $top: { type: 'integer', description: 'How many.' },
    'filter[name]': { type: 'string' },
    'Account Number': { type: 'string' },
    'größe (cm)': { type: 'number' },
    nested: {
      type: 'array',
      items: { type: 'object', properties: { '@odata.type': { const: 'x' }, plain: {} }, required: ['@odata.type'] },
    },
    by: { $ref: '#/properties/Account%20Number' },
  },
  required: ['$top', 'Account Number'],
  dependentRequired: { $top: ['filter[name]'] },
  default: { $top: 3 },
  additionalProperties: false,
}

const SENT_SCHEMA = {
  type: 'object',
  properties: {
    top: { type: 'integer', description: 'How many.\nStands for "$top".' },
    filter_name: { type: 'string', description: 'Stands for "filter[name]".' },
    Account_Number: { type: 'string', description: 'Stands for "Account Number".' },
    gr_e_cm: { type: 'number', description: 'Stands for "größe (cm)".' },
    nested: {
      type: 'array',
      items: {
        type: 'object',
        properties: { 'odata.type': { const: 'x', description: 'Stands for "@odata.type".' }, plain: {} },
        required: ['odata.type'],
      },
    },
    by: { $ref: '#/properties/Account_Number' },
  },
  required: ['top', 'Account_Number'],
  dependentRequired: { top: ['filter_name'] },
  default: { top: 3 },
  additionalProperties: false,
}

describe('properties with names that a provider refuses', () => {
  test('have others, at any level, wherever the schema names them', () => {
    expect(schemaOf(ODATA, ANTHROPIC_DIALECT)).toEqual(SENT_SCHEMA)
    expect(schemaOf(ODATA, OPENAI_DIALECT)).toEqual(ODATA)
  })

  test('have the same names whatever the order of the schema, and as few characters as may be', () => {
    const names = (...own: string[]) => {
      const properties = Object.fromEntries(own.map((name) => [name, {}]))
      const names = Object(schemaOf({ type: 'object', properties }, ANTHROPIC_DIALECT)).properties
      return Object.fromEntries(Object.keys(names).map((name, index) => [own[index], name]))
    }
    const long = 'settings__continuous__meeting__chat__auto__add__invited__external__users'
    const collisions = ['a b', 'a_b', 'a-b', 'a[b]', '$', '[]', 'ß', long, `${long}2`, 'x'.repeat(64)]
    expect(names(...collisions)).toEqual({
      'a b': 'a_b_2',
      a_b: 'a_b',
      'a-b': 'a-b',
      'a[b]': 'a_b_3',
      $: 'property',
      '[]': 'property_2',
      ß: 'property_3',
      [long]: expect.stringMatching(/^settings__continuous__meeting__chat__auto__add_h[0-9a-f]{16}$/),
      [`${long}2`]: expect.stringMatching(/_h[0-9a-f]{16}$/),
      ['x'.repeat(64)]: 'x'.repeat(64),
    })
    expect(names(...collisions.toReversed())).toEqual(names(...collisions))
  })

  test('begin with a letter or `_` where the provider wants that', () => {
    const properties = { '2fa': {}, 'kebab-case': {}, 'dotted.name': {} }
    expect(schemaOf({ type: 'object', properties, required: ['2fa', 'kebab-case'] }, GEMINI_DIALECT)).toEqual({
      type: 'object',
      properties: {
        _2fa: { description: 'Stands for "2fa".' },
        kebab_case: { description: 'Stands for "kebab-case".' },
        dotted_name: { description: 'Stands for "dotted.name".' },
      },
      required: ['_2fa', 'kebab_case'],
    })
  })

  test('have their own names in the call, whose numbers and texts stay as they were written', async () => {
    const { answer } = sentTools([tool(ODATA)], ANTHROPIC_DIALECT)
    const text = '{"top":9007199254740993,"filter_name":"\\"top\\": 1.50", "nested": [{"odata.type" : "x"}],"other":{}}'
    const own =
      '{"$top":9007199254740993,"filter[name]":"\\"top\\": 1.50", "nested": [{"@odata.type" : "x"}],"other":{}}'
    const sentEvents: ModelEvent[] = [
      { type: 'text', text: '{"top":1}' },
      { type: 'call.delta', index: 0, tool: 'list_items', arguments: '' },
      { type: 'call.delta', index: 0, arguments: text.slice(0, 4) },
      { type: 'call.delta', index: 0, arguments: text.slice(4) },
      { type: 'call', index: 0, tool: 'list_items', arguments: text },
      { type: 'call.delta', index: 1, tool: 'other', arguments: '{"top":1}' },
      { type: 'call', index: 1, tool: 'other', arguments: '{"top":1}' },
      { type: 'finish', finish: 'tool_calls' },
    ]
    expect(await all(answer(streamOf(...sentEvents)))).toEqual([
      { type: 'text', text: '{"top":1}' },
      { type: 'call.delta', index: 0, tool: 'list_items', arguments: '' },
      { type: 'call.delta', index: 0, arguments: own },
      { type: 'call', index: 0, tool: 'list_items', arguments: own },
      { type: 'call.delta', index: 1, tool: 'other', arguments: '{"top":1}' },
      { type: 'call', index: 1, tool: 'other', arguments: '{"top":1}' },
      { type: 'finish', finish: 'tool_calls' },
    ])
  })

  test('have the names that the model was told in earlier calls, and in what their failures say', () => {
    const messages: Message[] = [
      { role: 'user', content: 'What of $top?' },
      {
        role: 'assistant',
        content: '$top',
        calls: [{ callId: 'c1', tool: 'list_items', arguments: '{"$top":"x","Account Number":"$top"}' }],
      },
      {
        role: 'tool',
        callId: 'c1',
        tool: 'list_items',
        ok: false,
        content: [
          {
            type: 'text',
            text: 'The arguments of "list_items" do not fit:\n- $top: expected integer, received "x"\n- nested.0.@odata.type: is required\n- $topic: unknown',
          },
        ],
      },
      { role: 'tool', callId: 'c2', tool: 'list_items', ok: true, content: [{ type: 'text', text: '{"$top":3}' }] },
    ]
    const { messages: sentMessages, request } = sentTools([tool(ODATA)], ANTHROPIC_DIALECT, { messages })
    expect(sentMessages).toEqual([
      messages[0],
      {
        role: 'assistant',
        content: '$top',
        calls: [{ callId: 'c1', tool: 'list_items', arguments: '{"top":"x","Account_Number":"$top"}' }],
      },
      {
        ...messages[2],
        content: [
          {
            type: 'text',
            text: 'The arguments of "list_items" do not fit:\n- top: expected integer, received "x"\n- nested.0.odata.type: is required\n- $topic: unknown',
          },
        ],
      },
      messages[3],
    ])
    // The same objects again, so that a codec encodes each once.
    const next = fitRequest({ ...request, messages, tools: request.tools }, ANTHROPIC_DIALECT)
    expect(next.request.tools).toEqual(request.tools)
  })

  test('are the same objects in the next step, so that a codec encodes them once', () => {
    const tools = [tool(ODATA), CLOCK]
    const messages: Message[] = [
      { role: 'assistant', content: '', calls: [{ callId: 'c1', tool: 'list_items', arguments: '{"$top":1}' }] },
    ]
    const [first, second] = [1, 2].map(() => fitRequest({ messages, tools }, ANTHROPIC_DIALECT).request)
    expect(second?.tools).toBe(first?.tools)
    expect(second?.messages[0]).toBe(first?.messages[0])
    expect(first?.tools[1]).toBe(CLOCK)
    const plain: ModelRequest = { messages, tools: [CLOCK] }
    expect(fitRequest(plain, ANTHROPIC_DIALECT).request).toBe(plain)
  })

  test('have their sent names in examples', () => {
    const inputExamples = [{ $top: 1, nested: [{ '@odata.type': 'x' }] }]
    const [sent] = sentTools([tool(ODATA, { inputExamples })], ANTHROPIC_DIALECT).tools
    expect(sent?.inputExamples).toEqual([{ top: 1, nested: [{ 'odata.type': 'x' }] }])
  })
})

test('a tool whose name a provider refuses has another one, in calls, results and choices too', async () => {
  const messages: Message[] = [
    { role: 'assistant', content: '', calls: [{ callId: 'c1', tool: '3d_model', arguments: '{}' }] },
    { role: 'tool', callId: 'c1', tool: '3d_model', ok: true, content: [] },
  ]
  const tools = [tool({ type: 'object' }, { name: '3d_model' }), tool({ type: 'object' }, { name: '_3d_model' })]
  const { request, answer } = sentTools(tools, GEMINI_DIALECT, { messages, toolChoice: { tool: '3d_model' } })
  expect(request.tools.map(({ name }) => name)).toEqual(['__3d_model', '_3d_model'])
  expect(request.toolChoice).toEqual({ tool: '__3d_model' })
  expect(request.messages).toEqual([
    { role: 'assistant', content: '', calls: [{ callId: 'c1', tool: '__3d_model', arguments: '{}' }] },
    { role: 'tool', callId: 'c1', tool: '__3d_model', ok: true, content: [] },
  ])
  const events: ModelEvent[] = [
    { type: 'call.delta', index: 0, tool: '__3d_model', arguments: '{}' },
    { type: 'call', index: 0, tool: '__3d_model', arguments: '{}' },
  ]
  expect(await all(answer(streamOf(...events)))).toEqual(events.map((event) => ({ ...event, tool: '3d_model' })))
})

test('names of properties are others for a server behind which a model of Anthropic’s may be, and the same for OpenAI', async () => {
  const odata = { type: 'object', properties: { $top: { type: 'integer' } }, required: ['$top'] }
  const { tools, answer } = sentTools([tool(odata)], COMPATIBLE_DIALECT)
  expect(tools[0]?.inputSchema).toEqual({
    type: 'object',
    properties: { top: { type: 'integer', description: 'Stands for "$top".' } },
    required: ['top'],
  })
  const call: ModelEvent = { type: 'call', index: 0, tool: 'list_items', arguments: '{"top":3}' }
  expect(await all(answer(streamOf(call)))).toEqual([{ ...call, arguments: '{"$top":3}' }])
  expect(schemaOf(odata, OPENAI_DIALECT)).toEqual(odata)
})

describe('what a provider refuses of a tool', () => {
  test('is left out of that tool, and reported once', () => {
    const unsound = {
      type: 'object',
      properties: {
        state: { type: 'string', enum: [] },
        id: { type: 'int', required: true },
        code: { type: 'string', pattern: '/^[A-Z]+$/' },
        any: { type: 'any', minLength: '3' },
        other: { $ref: '#/$defs/absent' },
        foreign: { $ref: 'https://example.com/s' },
        list: 'string',
        both: { type: ['str', 'null'], pattern: '(?i)x' },
      },
      required: 'id',
      anyOf: [],
    }
    const request = sentTools([tool(unsound, { name: 'unsound' }), CLOCK], ANTHROPIC_DIALECT)
    expect(request.tools).toEqual([
      tool(
        {
          type: 'object',
          properties: {
            state: { type: 'string' },
            id: { type: 'integer' },
            code: { type: 'string', pattern: '^[A-Z]+$' },
            any: { minLength: 3 },
            other: {},
            foreign: {},
            list: {},
            both: { type: ['string', 'null'] },
          },
          required: ['id'],
        },
        { name: 'unsound' },
      ),
      CLOCK,
    ])
    expect(request.losses).toEqual([
      [
        'unsound',
        'properties.id.required: expected the names of required properties: moved to the object around it',
        'anyOf: left out, as it says nothing: []',
        'properties.state.enum: left out, as it says nothing: []',
        'properties.id.type: mended to "integer"',
        'properties.code.pattern: mended to "^[A-Z]+$"',
        'properties.any.type: left out, as it says nothing: "any"',
        'properties.any.minLength: mended to 3',
        'properties.other.$ref: left out, as it says nothing: "#/$defs/absent"',
        'properties.list: expected a schema: any value is allowed here',
        'properties.both.type: mended to ["string","null"]',
        'properties.both.pattern: left out, as it says nothing: "(?i)x"',
        '$ref: "https://example.com/s" is not a part of the schema',
      ],
    ])
    expect(sentTools([tool(unsound, { name: 'unsound' })], ANTHROPIC_DIALECT).losses).toEqual([])
  })

  test.each<[keyword: string, part: JsonSchema, sent: JsonSchema]>([
    ['type, null in a list', { type: ['string', null] }, { type: ['string', 'null'] }],
    ['type, twice', { type: ['string', 'String'] }, { type: ['string'] }],
    ['required, twice', { required: ['a', 'b', 'a'] }, { required: ['a', 'b'] }],
    ['multipleOf', { multipleOf: 0 }, {}],
    ['dependentRequired', { dependentRequired: { a: ['b'], c: 'd' } }, {}],
    ['patternProperties', { patternProperties: { '(?i)x': {}, '^x': {} } }, {}],
    ['examples', { examples: { plain: { value: 'x' } } }, {}],
    ['flags', { deprecated: 'yes', readOnly: 'true', writeOnly: 1 }, {}],
    ['texts', { $comment: 5, contentEncoding: 5, contentMediaType: null, contentSchema: 'x' }, {}],
    ['$id, an anchor', { $id: '#node' }, {}],
    ['$anchor', { $anchor: '#node', $dynamicAnchor: '1', $recursiveAnchor: true }, {}],
    ['$vocabulary', { $vocabulary: 'x', $schema: 7 }, {}],
  ])('is left out where 2020-12 has other values: %s', (_, part, sent) => {
    const at = (inner: JsonSchema) => ({ type: 'object', properties: { id: { title: 'Id', ...inner } } })
    expect(schemaOf(at(part), ANTHROPIC_DIALECT)).toEqual(at(sent))
    const top = { type: 'object', properties: {} }
    expect(schemaOf({ ...part, ...top }, ANTHROPIC_DIALECT)).toEqual({ ...sent, ...top })
  })

  test.each([
    ['Anthropic', ANTHROPIC_DIALECT],
    ['OpenAI', OPENAI_DIALECT],
    ['Gemini', GEMINI_DIALECT],
  ])('as older drafts of JSON Schema write it, is written as 2020-12 for %s', (_, dialect) => {
    const old = {
      $schema: 'http://json-schema.org/draft-04/schema#',
      type: 'object',
      properties: {
        pair: { type: 'array', items: [{ type: 'string' }, { type: 'number' }], additionalItems: { type: 'null' } },
      },
    }
    expect(schemaOf(old, dialect)).toEqual({
      type: 'object',
      properties: {
        pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: { type: 'null' } },
      },
    })
  })

  test('of exclusive bounds, is the bound itself', () => {
    const properties = {
      age: { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
    }
    expect(schemaOf({ type: 'object', properties }, ANTHROPIC_DIALECT)).toEqual({
      type: 'object',
      properties: { age: { type: 'number', exclusiveMinimum: 0, maximum: 9 } },
    })
  })

  test('at its top, is said in words there, and a reference there is what it refers to', () => {
    const point = {
      type: 'object',
      properties: { x: { type: 'number' } },
      anyOf: [{ required: ['x'] }],
      not: { required: ['y'] },
    }
    const { anyOf, not, ...own } = point
    const words = (refused: object) => ({ ...own, description: JSON.stringify(refused) })
    expect(schemaOf(point, ANTHROPIC_DIALECT)).toEqual({ ...words({ anyOf }), not })
    expect(schemaOf(point, COMPATIBLE_DIALECT)).toEqual(words({ anyOf, not }))
    const referring = { type: 'object', $ref: '#/$defs/point', $defs: { point: own } }
    expect(schemaOf(referring, ANTHROPIC_DIALECT)).toEqual({ ...own, $defs: { point: own } })
  })

  test('as the values of an enum, and the names of required properties, is said in words to Gemini', () => {
    const properties = {
      unit: { type: 'string', enum: ['', 'C', 'F'] },
      size: { type: ['string', 'null'], enum: ['S', 'L', null] },
      exact: { const: true },
    }
    expect(schemaOf({ type: 'object', properties, required: ['unit', 'absent'] }, GEMINI_DIALECT)).toEqual({
      type: 'object',
      properties: {
        unit: { type: 'string', description: '{"enum":["","C","F"]}' },
        size: { type: ['string', 'null'], enum: ['S', 'L'], description: '{"enum":["S","L",null]}' },
        exact: { description: '{"enum":[true]}' },
      },
      required: ['unit'],
    })
  })

  test('as bounds of lists that add up to too much, is said in words to Gemini', () => {
    const list = { type: 'array', items: {}, maxItems: 500 }
    const words = { type: 'array', items: {}, description: '{"maxItems":500}' }
    const both = { type: 'object', properties: { a: list, b: list } }
    expect(schemaOf(both, GEMINI_DIALECT)).toEqual({ type: 'object', properties: { a: words, b: words } })
    expect(schemaOf({ type: 'object', properties: { a: list } }, GEMINI_DIALECT)).toEqual({
      type: 'object',
      properties: { a: list },
    })
  })

  test('of a long description, is in that of the arguments', () => {
    const description = `${'Finds places. '.repeat(80)}Costs one credit.`
    const [sent] = sentTools(
      [tool({ type: 'object', properties: {}, description: 'Where.' }, { description })],
      OPENAI_DIALECT,
    ).tools
    expect(sent?.description).toHaveLength(1022)
    expect(sent?.inputSchema.description).toMatch(/^… .*Costs one credit\.\nWhere\.$/)
    const text = `${sent?.description}${String(sent?.inputSchema.description).slice(1)}`
    expect(text.replace('…', '')).toBe(`${description}\nWhere.`)
  })

  test('as too many tools, leaves out the last ones, but not one that must be called', () => {
    const many = Array.from({ length: 130 }, (_, index) => ({ ...CLOCK, name: `tool_${index}` }))
    const { tools, losses } = sentTools(many, OPENAI_DIALECT, { toolChoice: { tool: 'tool_129' } })
    expect(tools.map(({ name }) => name)).toEqual([...many.slice(0, 127).map(({ name }) => name), 'tool_129'])
    expect(losses).toEqual([
      ['tool_127', 'the tool: a request may have at most 128'],
      ['tool_128', 'the tool: a request may have at most 128'],
    ])
    expect(sentTools(many, COMPATIBLE_DIALECT).tools).toBe(many)
  })
})
