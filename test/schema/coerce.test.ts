import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import type { JsonSchema } from '../../src/contract/json.ts'
import { coerce } from '../../src/schema/coerce.ts'

/** Mends the one field `it` of this schema. */
function mend(schema: JsonSchema, value: unknown): unknown {
  const root = { type: 'object', properties: { it: schema }, required: ['it'] }
  return Reflect.get(Object(coerce(root, { it: value })), 'it')
}

const NUMBER = { type: 'number' }
const INTEGER = { type: 'integer' }
const BOOLEAN = { type: 'boolean' }
const STRING = { type: 'string' }
const NUMBERS = { type: 'array', items: NUMBER }
const PLACE = { type: 'object', properties: { city: STRING, days: INTEGER }, required: ['city'] }

describe('coercion mends', () => {
  test.each<[string, JsonSchema, unknown, unknown]>([
    ['a number of text', NUMBER, ' 1.5 ', 1.5],
    ['a number with an exponent', NUMBER, '-2e3', -2000],
    ['an integer of text', INTEGER, '5', 5],
    ['an integer with a point', INTEGER, '5.0', 5],
    ['a large integer that a number holds', INTEGER, '9007199254740992', 9007199254740992],
    ['a boolean', BOOLEAN, 'true', true],
    ['a boolean in capitals', BOOLEAN, ' False ', false],
    ['text of a number', STRING, 5, '5'],
    ['text of a boolean', STRING, true, 'true'],
    ['one of a list, in another case', { enum: ['Celsius', 'Kelvin'] }, ' CELSIUS', 'Celsius'],
    ['one of a list of numbers', { enum: [1, 2] }, '2', 2],
    ['one of a list of texts', { type: 'string', enum: ['1', '2'] }, 2, '2'],
    ['a constant', { const: 'on' }, 'ON', 'on'],
    ['an object of JSON', PLACE, '{"city":"Rome","days":"3"}', { city: 'Rome', days: 3 }],
    ['an array of JSON', NUMBERS, '[1,"2"]', [1, 2]],
    ['an array of one', NUMBERS, 1, [1]],
    ['an array of one that is mended', NUMBERS, '1', [1]],
    ['an array of one object', { type: 'array', items: PLACE }, { city: 'Rome' }, [{ city: 'Rome' }]],
    ['an optional null', PLACE, { city: 'Rome', days: null }, { city: 'Rome' }],
    ['of several types, the one that it can be', { type: ['integer', 'null'] }, '5', 5],
    ['what may be null, in the words of OpenAPI', { type: 'integer', nullable: true }, '5', 5],
    ['a schema without a type, by its keywords', { properties: { n: NUMBER } }, '{"n":"1"}', { n: 1 }],
    ['tuples', { type: 'array', prefixItems: [NUMBER, STRING], items: BOOLEAN }, ['1', 2, 'true'], [1, '2', true]],
    ['tuples of draft-07', { items: [NUMBER], additionalItems: BOOLEAN }, ['1', 'true'], [1, true]],
    ['further keys', { type: 'object', additionalProperties: NUMBER }, { a: '1' }, { a: 1 }],
    [
      'all of several',
      { allOf: [{ properties: { a: NUMBER } }, { properties: { b: NUMBER } }] },
      { a: '1', b: '2' },
      { a: 1, b: 2 },
    ],
    ['a union: the first branch that it then fits', { anyOf: [NUMBERS, NUMBER, STRING] }, true, 'true'],
    ['a union of one and null', { anyOf: [INTEGER, { type: 'null' }] }, '5', 5],
    [
      'a union by its tag, in another case',
      {
        oneOf: [
          { properties: { kind: { const: 'a' } }, required: ['kind', 'x'] },
          { properties: { kind: { const: 'b' }, n: NUMBER }, required: ['kind', 'n'] },
        ],
      },
      { kind: 'B', n: '1' },
      { kind: 'b', n: 1 },
    ],
  ])('%s', (_, schema, value, expected) => {
    expect(mend(schema, value)).toEqual(expected)
  })

  test('through references, to any depth', () => {
    const schema = {
      type: 'object',
      properties: { tree: { $ref: '#/$defs/tree' } },
      required: ['tree'],
      $defs: {
        tree: { type: 'object', properties: { n: INTEGER, kids: { type: 'array', items: { $ref: '#/$defs/tree' } } } },
      },
    }
    expect(coerce(schema, { tree: { n: '1', kids: { n: '2', kids: '[{"n":"3"}]' } } })).toEqual({
      tree: { n: 1, kids: [{ n: 2, kids: [{ n: 3 }] }] },
    })
  })

  test('an object within a union by its tag, even if not all of it can be', () => {
    const circle = {
      type: 'object',
      properties: { kind: { const: 'circle' }, radius: NUMBER },
      required: ['kind', 'radius', 'unit'],
    }
    const square = {
      type: 'object',
      properties: { kind: { const: 'square' }, side: NUMBER },
      required: ['kind', 'side', 'unit'],
    }
    expect(mend({ oneOf: [circle, square] }, { kind: 'square', side: '2' })).toEqual({ kind: 'square', side: 2 })
  })

  test.each([undefined, null, ''])('missing arguments: %j', (nothing) => {
    expect(coerce({ type: 'object', properties: {} }, nothing)).toEqual({})
  })

  test.each([{ input: { city: 'Rome' } }, { arguments: '{"city":"Rome"}' }, { weather: { city: 'Rome', days: null } }])(
    'all arguments within one key: %j',
    (value) => {
      expect(coerce(PLACE, value)).toEqual({ city: 'Rome' })
      expect(coerce({ ...PLACE, additionalProperties: false }, value)).toEqual({ city: 'Rome' })
    },
  )
})

describe('coercion leaves unchanged', () => {
  test.each<[string, JsonSchema, unknown]>([
    ['text where text is wanted, whatever it holds', STRING, ' {"a": 5,} '],
    ['a number with a fraction, for an integer', INTEGER, 1.5],
    ['text with a fraction, for an integer', INTEGER, '1.5'],
    ['digits that a number would round', INTEGER, '9007199254740993'],
    ['a fraction that a number would round', NUMBER, '0.1234567890123456789'],
    ['an integer that a number would round', NUMBER, '9007199254740993'],
    ['a number with separators', NUMBER, '1,000'],
    ['a number in words', NUMBER, 'five'],
    ['a number in hex', NUMBER, '0x10'],
    ['no number', NUMBER, ''],
    ['what is not finite', NUMBER, '1e400'],
    ['NaN', NUMBER, 'NaN'],
    ['a boolean in other words', BOOLEAN, 'yes'],
    ['a boolean as a number', BOOLEAN, 1],
    ['null where it is required', STRING, null],
    ['an object where text is wanted', STRING, { a: 1 }],
    ['what could be two of a list', { enum: ['a', 'A'] }, ' a'],
    ['what is none of a list', { enum: ['a', 'b'] }, 'c'],
    ['null in a list', { enum: ['null', null] }, null],
    ['JSON of another kind', PLACE, '[1]'],
    ['JSON with an error', PLACE, "{'city': 'Rome'}"],
    ['a list in one text', NUMBERS, '1, 2'],
    ['empty text for an array', { type: 'array', items: STRING }, ''],
    ['what may be null', { type: ['string', 'null'] }, null],
    ['an optional that may be null', { type: 'object', properties: { a: { type: ['string', 'null'] } } }, { a: null }],
    ['what fits no branch of a union', { anyOf: [NUMBER, BOOLEAN] }, 'x'],
    ['what nothing is said about', {}, '5'],
  ])('%s', (_, schema, value) => {
    expect(mend(schema, value)).toBe(value)
  })

  test.each<[string, unknown]>([
    ['a key of the schema', { days: { city: 'Rome' } }],
    ['what does not fit inside', { input: { town: 'Rome' } }],
    ['several keys', { input: { city: 'Rome' }, more: 1 }],
    ['no object inside', { input: 'Rome' }],
  ])('one key too many: %s', (_, value) => {
    expect(coerce(PLACE, value)).toEqual(value)
  })

  test('the same object if nothing is to be mended', () => {
    const value = { city: 'Rome', days: 5, extra: [{ a: null }] }
    expect(coerce(PLACE, value)).toBe(value)
  })
})

test('recursive references and unions terminate', () => {
  const circle = { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { $ref: '#/$defs/a' } } }
  expect(coerce(circle, { a: '5' })).toEqual({ a: '5' })
  const node: JsonSchema = {
    type: 'object',
    properties: { it: { $ref: '#' } },
    anyOf: Array.from({ length: 9 }, (_, index) => ({ properties: { it: { $ref: '#' } }, required: [`x${index}`] })),
  }
  let deep: unknown = {}
  for (let level = 0; level < 30; level++) deep = { it: deep }
  expect(coerce(node, deep)).toEqual(deep)
})

test('a key __proto__ stays an own key', () => {
  const value: unknown = JSON.parse('{"n":"1","__proto__":{"x":1}}')
  const mended = coerce({ type: 'object', properties: { n: NUMBER } }, value)
  expect(JSON.stringify(mended)).toBe('{"n":1,"__proto__":{"x":1}}')
  expect(Reflect.get(Object(mended), 'x')).toBeUndefined()
})

test('the coercion table also applies to schemas of libraries', () => {
  expect(v.parse(v.number(), mend(NUMBER, '5'))).toBe(5)
})
