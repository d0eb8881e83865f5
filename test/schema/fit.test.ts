// oxlint-disable unicorn/no-thenable -- a keyword of JSON Schema

import { describe, expect, test, vi } from 'vitest'
import type { JsonSchema } from '../../src/contract/json.ts'
import { misfits } from '../../src/schema/fit.ts'

const DRAFT_07 = 'http://json-schema.org/draft-07/schema#'
/** A pattern that is not run: what it would refuse is let through. */
const NEVER_RUN = '^(a+)+$'

/** A keyword, a schema with it, what fits, and what does not. */
type Case = readonly [name: string, schema: Record<string, unknown>, fits: readonly unknown[], not: readonly unknown[]]

function holds([, schema, fits, not]: Case): void {
  const fit = (value: unknown) => misfits(schema, value).length === 0
  expect([fits.filter((value) => !fit(value)), not.filter(fit)]).toEqual([[], []])
}

describe('of any value', () => {
  test.each<Case>([
    ['type', { type: 'integer' }, [1, -0, 1.0, 1e300], [1.5, '1', null, [1], true]],
    ['type: number', { type: 'number' }, [1.5], ['1', null]],
    ['type: object', { type: 'object' }, [{}], [[], null, 'x']],
    ['type: array', { type: 'array' }, [[]], [{}, null]],
    ['type: null', { type: 'null' }, [null], [0, false, '']],
    ['types', { type: ['string', 'null'] }, ['', null], [0, {}]],
    ['nullable', { type: 'string', nullable: true }, ['', null], [0]],
    [
      'enum',
      { enum: [1, 'a', { a: [1, null], b: 2 }] },
      [1.0, 'a', { b: 2, a: [1, null] }],
      [2, true, { a: [1] }, '1'],
    ],
    ['const', { const: { a: 0 } }, [{ a: 0 }, { a: -0 }], [{ a: false }, { a: 0, b: 1 }, [0]]],
    ['const: false', { const: false }, [false], [0, '', null]],
    ['allOf', { allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1, 2, 'x'], [0, 3]],
    ['anyOf', { anyOf: [{ type: 'string' }, { minimum: 2 }] }, ['', 2, null], [1]],
    ['oneOf', { oneOf: [{ multipleOf: 2 }, { multipleOf: 3 }] }, [2, 3], [6, 5, 'x']],
    ['not', { not: { type: 'string' } }, [1, null], ['']],
    ['if', { if: { type: 'string' }, then: { minLength: 2 }, else: { minimum: 2 } }, ['ab', 2, null], ['a', 1]],
    ['then without if', { then: false, else: false }, [1], []],
    ['a boolean', { allOf: [true], anyOf: [false, true] }, [1], []],
    ['unknown keywords', { x: { type: 'string' }, then: 5, example: { $ref: '#/nowhere' } }, [1], []],
  ])('%s', (...each) => holds(each))
})

describe('of numbers', () => {
  test.each<Case>([
    ['minimum', { minimum: 1.1 }, [1.1, 2, '0'], [1, -5]],
    ['maximum', { maximum: -2 }, [-2, -3], [-1.9]],
    ['exclusiveMinimum', { exclusiveMinimum: 1 }, [1.0001], [1, 0]],
    ['exclusiveMaximum', { exclusiveMaximum: 1 }, [0.9], [1, 2]],
    [
      'exclusive bounds of OpenAPI 3.0',
      { minimum: 1, exclusiveMinimum: true, maximum: 3, exclusiveMaximum: false },
      [2, 3],
      [1, 4],
    ],
    ['multipleOf', { multipleOf: 2 }, [0, 4, -6, '3'], [3, 1.5]],
    ['multipleOf: a decimal', { multipleOf: 0.01 }, [0, 4.35, 19.99, 1.1, -0.07, 1e10], [0.001, 4.355, 0.0099]],
    ['multipleOf: a tenth', { multipleOf: 0.1 }, [0.3, 0.7, 1.1, 1000000.1], [0.25, 0.3001]],
    ['multipleOf: tiny', { multipleOf: 1e-8 }, [12391239123, 1e-8, 0.00000003], [1.5e-8]],
    [
      'multipleOf: large whole numbers',
      { multipleOf: 2 },
      [9007199254740990, 1e300],
      [9007199254740991, 1000000000000001],
    ],
  ])('%s', (...each) => holds(each))
})

describe('of texts', () => {
  test.each<Case>([
    ['minLength, in code points', { minLength: 2 }, ['ab', '💩💩', 1], ['', '💩']],
    ['maxLength, in code points', { maxLength: 2 }, ['💩💩', 'ab'], ['abc']],
    ['pattern, anywhere in the text', { pattern: 'b+' }, ['abc', 1], ['ac', '']],
    ['pattern, of letters of all scripts', { pattern: '^\\p{L}$' }, ['é', '中'], ['1', 'ab']],
    ['pattern, of the astral planes', { pattern: '^.$' }, ['💩'], ['ab']],
    ['pattern, not run', { pattern: NEVER_RUN }, ['b'.repeat(50), 'a'.repeat(50)], []],
  ])('%s', (...each) => holds(each))
})

describe('of formats', () => {
  test.each<Case>([
    [
      'date',
      { format: 'date' },
      ['2024-02-29', '2026-12-31', 5],
      ['2026-02-29', '2026-02-30', '2026-13-01', '2026-1-1', '20260101', ''],
    ],
    [
      'time',
      { format: 'time' },
      ['14:30:00Z', '23:59:60z', '00:00:00.123+05:30'],
      ['14:30:00', '24:00:00Z', '14:60:00Z', '14:30Z', '14:30:00+24:00'],
    ],
    [
      'date-time',
      { format: 'date-time' },
      ['2026-01-31T14:30:00Z', '2026-01-31t14:30:00.5-08:00'],
      ['2026-01-31', '2026-01-31T14:30:00', '2026-02-31T14:30:00Z', '2026-01-31T14:30:00ZT'],
    ],
    [
      'email',
      { format: 'email' },
      ['a.b+c@example.com', 'é@example.com'],
      ['a', '@example.com', 'a@', 'a b@c', 'a@b@c'],
    ],
    [
      'hostname',
      { format: 'hostname' },
      ['example.com', 'a', 'xn--bcher-kva.example', `${'a'.repeat(63)}.b`],
      ['', '-a', 'a-', 'a..b', '.a', 'a.', 'a_b', `${'a'.repeat(64)}.b`],
    ],
    [
      'ipv4',
      { format: 'ipv4' },
      ['0.0.0.0', '255.255.255.255'],
      ['256.0.0.1', '1.2.3', '1.2.3.4.', '01.2.3.4', '1.2.3.4.5'],
    ],
    [
      'ipv6',
      { format: 'ipv6' },
      ['::', '::1', '2001:db8::ff00:42:8329', '::ffff:1.2.3.4'],
      ['1.2.3.4', ':::', '12345::', '::1%eth0', 'g::'],
    ],
    [
      'uri',
      { format: 'uri' },
      ['https://example.com/a?b#c', 'urn:isbn:1', 'mailto:a@b'],
      ['/a', 'a', 'https://a b', 'https://a/{b}', ''],
    ],
    ['uuid', { format: 'uuid' }, ['9B2f0c1e-5a77-4d0a-8f3e-0123456789ab'], ['9b2f0c1e5a774d0a8f3e0123456789ab', 'x']],
    ['any other', { format: 'int64' }, ['x', 1], []],
  ])('%s', (...each) => holds(each))
})

describe('of arrays', () => {
  test.each<Case>([
    ['items', { items: { type: 'integer' } }, [[], [1], {}], [[1, 'x']]],
    ['items: false', { items: false }, [[]], [[1]]],
    ['prefixItems', { prefixItems: [{ type: 'string' }, {}], items: false }, [['a'], ['a', 1], []], [[1], ['a', 1, 2]]],
    [
      'a list of items',
      { items: [{ type: 'string' }], additionalItems: { type: 'null' } },
      [['a', null], ['a']],
      [['a', 1], [1]],
    ],
    ['additionalItems without a list', { items: {}, additionalItems: false }, [[1, 2]], []],
    ['contains', { contains: { const: 1 } }, [[0, 1], 'x'], [[], [0]]],
    [
      'minContains and maxContains',
      { contains: { const: 1 }, minContains: 2, maxContains: 3 },
      [
        [1, 1],
        [1, 1, 0, 1],
      ],
      [[1], [1, 1, 1, 1]],
    ],
    ['minContains: 0', { contains: { const: 1 }, minContains: 0 }, [[], [0]], []],
    ['minContains without contains', { minContains: 2, maxContains: 0 }, [[], [0]], []],
    ['minItems and maxItems', { minItems: 1, maxItems: 2 }, [[1], [1, 2], 'x'], [[], [1, 2, 3]]],
    [
      'uniqueItems',
      { uniqueItems: true },
      [[1, '1', true, [1], [], {}, { a: 1 }]],
      [
        [1, 1.0],
        [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
      ],
    ],
    ['uniqueItems: false', { uniqueItems: false }, [[1, 1]], []],
    [
      'unevaluatedItems',
      { anyOf: [{ prefixItems: [{ type: 'string' }] }, { contains: { const: 5 } }], unevaluatedItems: false },
      [['a'], [5], ['a', 5], []],
      [
        ['a', 1],
        [5, 1],
      ],
    ],
  ])('%s', (...each) => holds(each))
})

describe('of objects', () => {
  const own = JSON.parse('{"__proto__":1}')

  test.each<Case>([
    [
      'properties',
      { properties: { a: { type: 'string' }, b: false } },
      [{}, { a: 'x', c: 1 }, []],
      [{ a: 1 }, { b: 1 }],
    ],
    [
      'properties that all objects seem to have',
      { properties: { toString: { type: 'string' } }, required: ['toString'] },
      [{ toString: '' }],
      [{}, { toString: 1 }],
    ],
    ['an own __proto__', { additionalProperties: false }, [{}], [own]],
    ['an own __proto__ that is known', { properties: JSON.parse('{"__proto__":{"type":"string"}}') }, [{}], [own]],
    [
      'required',
      { required: ['a', 'constructor'] },
      [{ a: null, constructor: 1 }, 'x'],
      [{ a: 1 }, {}, { a: undefined, constructor: 1 }],
    ],
    [
      'additionalProperties',
      { properties: { a: {} }, patternProperties: { '^b': {} }, additionalProperties: { type: 'null' } },
      [{ a: 1, bc: 1, c: null }],
      [{ c: 1 }],
    ],
    [
      'additionalProperties looks at its own schema alone',
      { allOf: [{ properties: { a: {} } }], additionalProperties: false },
      [{}],
      [{ a: 1 }],
    ],
    [
      'patternProperties',
      { patternProperties: { '^a': { type: 'string' }, b$: { minLength: 2 } } },
      [{ a: '', ab: 'xx', c: 1 }],
      [{ a: 1 }, { ab: 'x' }],
    ],
    [
      'patternProperties, not run',
      { patternProperties: { [NEVER_RUN]: false }, additionalProperties: false, unevaluatedProperties: false },
      [{ a: 1 }],
      [],
    ],
    ['propertyNames', { propertyNames: { maxLength: 1 } }, [{ a: 1 }, {}, 'xx'], [{ ab: 1 }]],
    ['propertyNames: false', { propertyNames: false }, [{}], [{ a: 1 }]],
    [
      'minProperties and maxProperties',
      { minProperties: 1, maxProperties: 2 },
      [{ a: 1 }, []],
      [{}, { a: 1, b: 1, c: 1 }],
    ],
    ['dependentRequired', { dependentRequired: { a: ['b'] } }, [{}, { b: 1 }, { a: 1, b: 1 }], [{ a: 1 }]],
    [
      'dependentSchemas',
      { dependentSchemas: { a: { required: ['b'] }, c: false } },
      [{}, { a: 1, b: 1 }],
      [{ a: 1 }, { c: 1 }],
    ],
    [
      'dependencies',
      { dependencies: { a: ['b'], c: { minProperties: 2 } } },
      [
        { a: 1, b: 1 },
        { c: 1, d: 1 },
      ],
      [{ a: 1 }, { c: 1 }],
    ],
    [
      'unevaluatedProperties',
      {
        properties: { kind: {} },
        allOf: [{ properties: { a: {} } }],
        if: { required: ['b'] },
        then: { properties: { b: {} } },
        anyOf: [{ properties: { c: { type: 'string' } }, required: ['c'] }, true],
        unevaluatedProperties: false,
      },
      [{ kind: 1, a: 1, b: 1, c: 'x' }, {}],
      [{ d: 1 }, { c: 1 }],
    ],
    [
      'unevaluatedProperties sees nothing of its neighbours',
      { allOf: [{ properties: { a: {} } }, { unevaluatedProperties: false }] },
      [{}],
      [{ a: 1 }],
    ],
    [
      'unevaluatedProperties beside a reference',
      { $ref: '#/$defs/a', unevaluatedProperties: false, $defs: { a: { properties: { a: {} } } } },
      [{ a: 1 }],
      [{ b: 1 }],
    ],
  ])('%s', (...each) => holds(each))
})

describe('references', () => {
  const sku = { type: 'string', minLength: 2 }

  test.each<Case>([
    [
      'to the root',
      { properties: { a: { $ref: '#' } }, additionalProperties: false },
      [{ a: { a: {} } }],
      [{ a: { b: 1 } }],
    ],
    ['by pointer', { $ref: '#/$defs/a~1b%25c', $defs: { 'a/b%c': sku } }, ['ab'], ['a', 1]],
    ['by pointer into a list', { $ref: '#/prefixItems/1', prefixItems: [{}, sku] }, ['ab'], ['a']],
    [
      'to where schemas are not expected',
      { $ref: '#/components/schemas/A', components: { schemas: { A: { $ref: '#/components/schemas/B' }, B: sku } } },
      ['ab'],
      ['a'],
    ],
    ['beside other keywords', { $ref: '#/$defs/a', maxLength: 3, $defs: { a: sku } }, ['ab'], ['a', 'abcd']],
    [
      'beside other keywords in draft-07',
      { $schema: DRAFT_07, $ref: '#/definitions/a', maxLength: 3, definitions: { a: sku } },
      ['ab', 'abcd'],
      ['a'],
    ],
    ['by $anchor', { $ref: '#sku', $defs: { a: { $anchor: 'sku', ...sku } } }, ['ab'], ['a']],
    [
      'by an $id of draft-07',
      { $schema: DRAFT_07, allOf: [{ $ref: '#sku' }], definitions: { a: { $id: '#sku', ...sku } } },
      ['ab'],
      ['a'],
    ],
    ['by $dynamicRef', { $dynamicRef: '#sku', $defs: { a: { $dynamicAnchor: 'sku', ...sku } } }, ['ab'], ['a']],
    [
      'to the document by its $id',
      { $id: 'https://example.com/a.json', $ref: 'https://example.com/a.json#/$defs/a', $defs: { a: sku } },
      ['ab'],
      ['a'],
    ],
    [
      'relative to an $id within',
      {
        $id: 'https://example.com/root.json',
        $ref: 'parts/item.json',
        $defs: {
          item: { $id: 'parts/item.json', $ref: '#/$defs/sku', $defs: { sku: { $ref: 'sku.json' } } },
          sku: { $id: 'https://example.com/parts/sku.json', ...sku },
        },
      },
      ['ab'],
      ['a'],
    ],
    ['not to an $id in a value', { $ref: '#/$defs/a', const: { $id: 'x' }, $defs: { a: {} } }, [{ $id: 'x' }], [1]],
  ])('%s', (...each) => holds(each))
})

describe('a pattern that is not run rejects nothing, wherever it is', () => {
  const unsure = { pattern: NEVER_RUN }
  const long = 'b'.repeat(50)

  test.each<Case>([
    ['not', { not: unsure }, [long], []],
    ['not, with another reason', { not: { ...unsure, type: 'number' } }, [long], [1]],
    ['not, twice', { not: { not: unsure } }, [long], []],
    ['oneOf', { oneOf: [unsure, { type: 'string' }] }, [long], []],
    ['oneOf, none', { oneOf: [{ ...unsure, maxLength: 1 }, { type: 'number' }] }, [], [long]],
    ['if', { if: unsure, then: { type: 'number' }, else: { type: 'null' } }, [long], []],
    [
      'if, not met for another reason',
      { if: { ...unsure, type: 'number' }, then: false, else: { maxLength: 1 } },
      ['b'],
      [long],
    ],
    ['contains', { contains: unsure, maxContains: 0 }, [[long]], []],
    [
      'a list whose texts take too long together',
      { items: { pattern: '^a*b*$' } },
      [['a'.repeat(3000), 'c'.repeat(3000)]],
      [['c'.repeat(3000)]],
    ],
  ])('%s', (...each) => holds(each))
})

test('a misfit has the keys, the keyword, the expectation and the received value', () => {
  const schema = { properties: { 'a.b': { items: { type: ['string', 'null'] } } } }
  expect(misfits(schema, { 'a.b': [null, 5] })).toEqual([
    { keys: ['a.b', '1'], keyword: 'type', expected: 'string | null', received: '5' },
  ])
})

describe('what a schema expects is written', () => {
  const writes = (schema: JsonSchema, value: unknown) => {
    const stringify = vi.spyOn(JSON, 'stringify')
    misfits(schema, value)
    const sum = stringify.mock.results.reduce((size, { value: text }) => size + String(text).length, 0)
    stringify.mockRestore()
    return sum
  }
  const long = 'x'.repeat(10_000)

  test('once, however many values do not fit it', () => {
    const not = { type: 'number', description: long }
    expect(writes({ items: { anyOf: [{ not }, {}] } }, Array(1000).fill(1))).toBeLessThan(20_000)
    const values = { enum: [`${long}1`, `${long}2`] }
    expect(
      writes(
        {
          anyOf: Array(20)
            .fill(0)
            .map(() => ({ items: values })),
        },
        Array(30).fill(1),
      ),
    ).toBeLessThan(100_000)
  })

  test('no longer than it is read, however many schemas its references lead to', () => {
    const twenty = (each: JsonSchema) => ({
      oneOf: Array(20)
        .fill(0)
        .map(() => each),
    })
    const $defs = { values: { enum: Array.from({ length: 20 }, (_, at) => `${long}${at}`) } }
    const schema = { ...twenty(twenty({ $ref: '#/$defs/values' })), $defs }
    expect(writes(schema, 5)).toBeLessThan(10_000_000)
  })
})
