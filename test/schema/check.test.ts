import { describe, expect, test } from 'vitest'
import { checkSchema } from '../../src/schema/check.ts'

describe('schemas in real use are valid', () => {
  test.each<[string, Record<string, unknown>]>([
    ['no arguments', { type: 'object', properties: {} }],
    ['no properties at all', { type: 'object' }],
    [
      'as OpenAI wants them in strict mode',
      {
        type: 'object',
        properties: {
          location: { type: 'string', description: 'City and country' },
          unit: { type: ['string', 'null'], enum: ['c', 'f', null] },
        },
        required: ['location', 'unit'],
        additionalProperties: false,
      },
    ],
    [
      'as Pydantic writes them',
      {
        $defs: {
          Item: {
            properties: { sku: { title: 'Sku', type: 'string' } },
            required: ['sku'],
            title: 'Item',
            type: 'object',
          },
        },
        properties: {
          items: { items: { $ref: '#/$defs/Item' }, title: 'Items', type: 'array' },
          note: { anyOf: [{ type: 'string' }, { type: 'null' }], default: null },
        },
        required: ['items'],
        title: 'Order',
        type: 'object',
      },
    ],
    [
      'as zod-to-json-schema writes them',
      {
        $schema: 'http://json-schema.org/draft-07/schema#',
        type: 'object',
        properties: {
          a: { type: 'object', properties: { b: { type: 'string' } } },
          again: { $ref: '#/properties/a/properties/b' },
        },
        additionalProperties: { not: {} },
      },
    ],
    [
      'as OpenAPI 3.0 writes them',
      {
        type: 'object',
        properties: {
          n: { type: 'number', minimum: 0, exclusiveMinimum: true, nullable: true, example: 5 },
          s: { type: 'string', format: 'int64', readOnly: true },
        },
        components: { schemas: { X: { type: 'string' } } },
        'x-order': ['n'],
      },
    ],
    [
      'references to where schemas are not expected',
      {
        type: 'object',
        properties: { x: { $ref: '#/components/schemas/X' } },
        components: { schemas: { X: { type: 'string' } } },
      },
    ],
    ['a tree', { type: 'object', properties: { kids: { type: 'array', items: { $ref: '#' } } } }],
    [
      'conditions',
      {
        type: 'object',
        if: { required: ['a'] },
        // oxlint-disable-next-line unicorn/no-thenable
        then: { required: ['b'] },
        else: true,
        not: false,
        dependencies: { a: ['b'], c: { minProperties: 1 } },
      },
    ],
    [
      'tuples of both drafts',
      {
        type: 'object',
        properties: {
          a: { prefixItems: [{}, true], items: false },
          b: { items: [{ type: 'string' }], additionalItems: {} },
        },
      },
    ],
    [
      'references by name',
      {
        $id: 'https://example.com/order',
        type: 'object',
        properties: {
          a: { $ref: '#money' },
          b: { $dynamicRef: '#money' },
          c: { $ref: 'item' },
          d: { $ref: 'https://example.com/order#/$defs/money' },
        },
        $defs: {
          money: { $anchor: 'money', type: 'number' },
          item: { $id: 'item', $ref: '#/$defs/sku', $defs: { sku: { $dynamicAnchor: 'sku' } } },
        },
      },
    ],
    [
      'patterns of every kind, even of another language',
      {
        type: 'object',
        properties: { a: { pattern: '(a+)+' }, b: { pattern: '(?P<year>\\d+)' }, c: { pattern: '(a)\\1' } },
        patternProperties: { '(a*)*': {} },
      },
    ],
    [
      'property names that are keywords',
      {
        type: 'object',
        properties: {
          type: { type: 'string' },
          enum: {},
          required: { type: 'boolean' },
          $ref: {},
          constructor: {},
          toString: {},
        },
      },
    ],
  ])('%s', (_, schema) => {
    expect(checkSchema(schema)).toEqual([])
  })
})

describe('the path of an invalid keyword is reported:', () => {
  test.each<[string, unknown, string, string]>([
    ['no object', [], '', 'expected a schema, received Array'],
    ['no object', null, '', 'expected a schema, received null'],
    ['the root', { type: 'array' }, 'type', 'expected "object" at the root, received "array"'],
    ['the root', {}, 'type', 'expected "object" at the root, received undefined'],
    [
      'a type',
      prop({ type: 'str' }),
      'properties.a.type',
      'expected one of string, number, integer, boolean, object, array, null, or a list of them, received "str"',
    ],
    [
      'a type',
      prop({ type: [] }),
      'properties.a.type',
      'expected one of string, number, integer, boolean, object, array, null, or a list of them, received Array',
    ],
    ['enum', prop({ enum: [] }), 'properties.a.enum', 'expected a list of values, not empty, received Array'],
    ['required', prop({ required: true }), 'properties.a.required', 'expected a list of names, received true'],
    ['required', prop({ required: ['x', 1] }), 'properties.a.required', 'expected a list of names, received Array'],
    [
      'properties',
      prop({ properties: [] }),
      'properties.a.properties',
      'expected an object of schemas, received Array',
    ],
    [
      'a property',
      { type: 'object', properties: { a: 'string' } },
      'properties.a',
      'expected a schema, received "string"',
    ],
    ['items', prop({ items: 5 }), 'properties.a.items', 'expected a schema, received 5'],
    ['anyOf', prop({ anyOf: [] }), 'properties.a.anyOf', 'expected a list of schemas, not empty, received Array'],
    ['a number', prop({ minimum: '1' }), 'properties.a.minimum', 'expected a number, received "1"'],
    ['a count', prop({ maxLength: -1 }), 'properties.a.maxLength', 'expected a whole number from 0, received -1'],
    ['steps', prop({ multipleOf: 0 }), 'properties.a.multipleOf', 'expected a number over 0, received 0'],
    ['a text', prop({ description: 5 }), 'properties.a.description', 'expected text, received 5'],
    [
      'a reference elsewhere',
      prop({ $ref: 'https://example.com/x' }),
      'properties.a.$ref',
      'expected a reference to a schema of this document (#/…), received "https://example.com/x"',
    ],
    [
      'a reference to nothing',
      prop({ $ref: '#/$defs/none' }),
      'properties.a.$ref',
      'expected a reference to a schema of this document (#/…), received "#/$defs/none"',
    ],
    [
      'a reference out of the schema',
      prop({ $ref: '#/properties/constructor' }),
      'properties.a.$ref',
      'expected a reference to a schema of this document (#/…), received "#/properties/constructor"',
    ],
    ['a reference to no schema', prop({ $ref: '#/type' }), 'properties.a.$ref', 'expected a schema, received "object"'],
    [
      'a reference to itself',
      prop({ $ref: '#/properties/a' }),
      'properties.a',
      'expected a reference that steps into the value, not one that leads back to itself',
    ],
    [
      'a reference in circles',
      { ...prop({ anyOf: [{ $ref: '#/$defs/b' }] }), $defs: { b: { allOf: [{ $ref: '#/properties/a' }] } } },
      'properties.a',
      'expected a reference that steps into the value, not one that leads back to itself',
    ],
    [
      'references of 2019-09',
      prop({ $recursiveRef: '#' }),
      'properties.a.$recursiveRef',
      'expected $ref in its place, received "#"',
    ],
    [
      'hidden text',
      prop({ description: 'Nice.\u202e evil' }),
      'properties.a.description',
      'expected visible text, received control or invisible characters',
    ],
    [
      'tag characters',
      prop({ description: 'Nice.\u{e0041}' }),
      'properties.a.description',
      'expected visible text, received control or invisible characters',
    ],
    ['no JSON', prop({ default: 1n }), 'properties.a.default', 'expected plain JSON, received bigint'],
  ])('%s', (_, schema, path, message) => {
    expect(checkSchema(schema)).toEqual([{ path, message }])
  })

  test('all at once, in order', () => {
    const schema = { type: 'object', properties: { a: { type: 'x' }, b: { enum: 5 } }, required: 'a' }
    expect(checkSchema(schema).map(({ path }) => path)).toEqual(['required', 'properties.a.type', 'properties.b.enum'])
  })
})

describe('schemas are limited', () => {
  test('to 16 levels of schemas', () => {
    expect(checkSchema(levels(15))).toEqual([])
    expect(checkSchema(levels(16))).toEqual([
      {
        path: Array.from({ length: 16 }, () => 'properties.a').join('.'),
        message: 'expected at most 16 levels of schemas',
      },
    ])
  })

  test('to 500 schemas', () => {
    expect(checkSchema({ type: 'object', properties: properties(499) })).toEqual([])
    expect(checkSchema({ type: 'object', properties: properties(500) })).toEqual([
      { path: 'properties.p499', message: 'expected at most 500 schemas' },
    ])
  })

  test('to 10,000 levels of JSON', () => {
    const deep: unknown = JSON.parse(`${'{"items":'.repeat(10_000)}{}${'}'.repeat(10_000)}`)
    expect(checkSchema({ type: 'object', properties: { a: deep } })).toMatchObject([
      { message: 'expected at most 64 levels' },
    ])
  })
})

test('the root of an output schema may have any type', () => {
  expect(checkSchema({ type: 'array', items: {} }, 'any')).toEqual([])
})

function properties(count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, {}]))
}

function prop(schema: unknown): object {
  return { type: 'object', properties: { a: schema } }
}

function levels(count: number): unknown {
  return count === 0 ? { type: 'object' } : { type: 'object', properties: { a: levels(count - 1) } }
}
