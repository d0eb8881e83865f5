import { describe, expect, test } from 'vitest'
import { isObject, type JsonSchema } from '../../src/contract/json.ts'
import { checkSchema } from '../../src/schema/check.ts'
import { narrowings } from '../../src/schema/narrower.ts'
import { issuesOf } from '../../src/schema/validate.ts'
import { foreignFunctions } from './corpus/functions.ts'
import { type Random, randomOf } from './corpus/random.ts'

const object = (properties: object, rest: object = {}): JsonSchema => ({ type: 'object', properties, ...rest })
const text = { type: 'string' }
const number = { type: 'number' }

describe('a change of the arguments is compatible', () => {
  test.each<[string, JsonSchema, JsonSchema]>([
    [
      'other words',
      object({ a: { ...text, description: 'A.' } }, { title: 'T' }),
      object({ a: { ...text, examples: ['x'] } }),
    ],
    [
      'a new optional parameter',
      object({ a: text }, { required: ['a'] }),
      object({ a: text, b: number }, { required: ['a'] }),
    ],
    [
      'one in a closed object',
      object({}, { additionalProperties: false }),
      object({ b: number }, { additionalProperties: false }),
    ],
    ['a parameter that is optional now', object({ a: text }, { required: ['a'] }), object({ a: text })],
    ['a wider type', object({ a: { type: 'integer' } }), object({ a: number })],
    ['one more type', object({ a: text }), object({ a: { type: ['string', 'null'] } })],
    ['null, as OpenAPI 3.0 says it', object({ a: text }), object({ a: { ...text, nullable: true } })],
    ['null, as a union', object({ a: text }), object({ a: { anyOf: [text, { type: 'null' }] } })],
    ['anything', object({ a: { ...text, minLength: 3 } }), object({ a: {} })],
    [
      'wider bounds',
      object({ a: { ...number, minimum: 1, exclusiveMaximum: 9 } }),
      object({ a: { ...number, minimum: 0, maximum: 9 } }),
    ],
    ['a bound less', object({ a: { ...text, maxLength: 9, pattern: '^a' } }), object({ a: text })],
    ['one more value', object({ a: { enum: ['x', 1] } }), object({ a: { enum: [1, 'x', 'y'] } })],
    ['any text for some', object({ a: { enum: ['x', 'y'] } }), object({ a: { ...text, maxLength: 1 } })],
    ['a finer step', object({ a: { ...number, multipleOf: 4 } }), object({ a: { ...number, multipleOf: 2 } })],
    ['an open object', object({ a: text }, { additionalProperties: false }), object({ a: text })],
    [
      'one more alternative',
      object({ a: { anyOf: [text, object({ b: text })] } }),
      object({ a: { anyOf: [number, object({ b: text, c: text }), text] } }),
    ],
    [
      'one more tagged alternative',
      object({ a: { oneOf: [tagged('x', text)] } }),
      object({ a: { oneOf: [tagged('y', number), tagged('x', text)] } }),
    ],
    [
      'a reference in the place of what it names',
      object({ a: { type: 'array', items: object({ b: text }) } }),
      object({ a: { type: 'array', items: { $ref: '#/$defs/B' } } }, { $defs: { B: object({ b: text }) } }),
    ],
    ['a tree that is as it was, with a new part', tree({}), tree({ colour: text })],
    [
      'parts put together',
      object({ a: { allOf: [object({ b: text }, { required: ['b'] }), object({ c: text })] } }),
      object({ a: { allOf: [object({ b: text })] } }),
    ],
    ['an unknown keyword', object({ a: { ...text, 'x-a': 1 } }), object({ a: { ...text, 'x-b': 2 } })],
  ])('%s', (_, from, to) => {
    expect(narrowings(from, to)).toEqual([])
  })
})

describe('a change of the arguments is breaking', () => {
  test.each<[string, JsonSchema, JsonSchema, string, string]>([
    ['a parameter is gone', object({ a: text, b: text }), object({ a: text }), 'properties.b', 'is gone'],
    ['a new one is required', object({}), object({ a: text }, { required: ['a'] }), 'properties.a', 'is required now'],
    [
      'one is required now',
      object({ a: text }),
      object({ a: text }, { required: ['a'] }),
      'properties.a',
      'is required now',
    ],
    ['another type', object({ a: text }), object({ a: number }), 'properties.a.type', 'takes no string any more'],
    [
      'a narrower type',
      object({ a: number }),
      object({ a: { type: 'integer' } }),
      'properties.a.type',
      'takes no number any more',
    ],
    [
      'no null',
      object({ a: { ...text, nullable: true } }),
      object({ a: text }),
      'properties.a.type',
      'takes no null any more',
    ],
    ['a bound', object({ a: number }), object({ a: { ...number, minimum: 0 } }), 'properties.a.minimum', 'is more'],
    [
      'an exclusive bound',
      object({ a: { ...number, maximum: 5 } }),
      object({ a: { ...number, exclusiveMaximum: 5 } }),
      'properties.a.maximum',
      'is less',
    ],
    [
      'a shorter text',
      object({ a: { ...text, maxLength: 5 } }),
      object({ a: { ...text, maxLength: 4 } }),
      'properties.a.maxLength',
      'is less',
    ],
    ['a pattern', object({ a: text }), object({ a: { ...text, pattern: '^a' } }), 'properties.a.pattern', 'is another'],
    [
      'a value less',
      object({ a: { enum: ['x', 'y'] } }),
      object({ a: { enum: ['x'] } }),
      'properties.a',
      'takes "y" no more',
    ],
    [
      'some values of a text',
      object({ a: text }),
      object({ a: { enum: ['x'] } }),
      'properties.a.enum',
      'only some values now',
    ],
    [
      'a flag that is fixed',
      object({ a: { type: 'boolean' } }),
      object({ a: { const: true } }),
      'properties.a',
      'takes false no more',
    ],
    [
      'no other keys',
      object({}),
      object({}, { additionalProperties: false }),
      'additionalProperties',
      'no value is accepted here any more',
    ],
    [
      'items of another type',
      object({ a: { type: 'array' } }),
      object({ a: { type: 'array', items: text } }),
      'properties.a.items.type',
      'takes no null and no boolean and no number and no array and no object any more',
    ],
    [
      'an alternative less',
      object({ a: { anyOf: [text, number] } }),
      object({ a: { anyOf: [text] } }),
      'properties.a.type',
      'takes no number any more',
    ],
    [
      'alternatives that overlap',
      object({ a: { oneOf: [text] } }),
      object({ a: { oneOf: [text, { ...text, maxLength: 3 }] } }),
      'properties.a',
      'a value that matched one alternative may match several now',
    ],
    ['a part of a tree is gone', tree({ colour: text }), tree({}), 'properties.root.properties.colour', 'is gone'],
    [
      'what a reference names',
      object({ a: { not: { $ref: '#/$defs/B' } } }, { $defs: { B: text } }),
      object({ a: { not: { $ref: '#/$defs/B' } } }, { $defs: { B: number } }),
      'properties.a.not',
      'is another',
    ],
    [
      'a tuple’s rest',
      object({ a: { type: 'array', prefixItems: [text] } }),
      object({ a: { type: 'array', prefixItems: [text], items: false } }),
      'properties.a.items',
      'no value is accepted here any more',
    ],
  ])('%s', (...[, from, to, path, message]) => {
    expect(narrowings(from, to)).toEqual([{ path, message }])
  })
})

test('alternatives that a key tells apart are compared a bounded number of times', () => {
  let reads = 0
  const counted = <Part extends object>(part: Part): Part =>
    new Proxy(part, {
      get: (target, key) => {
        reads += 1
        return Reflect.get(target, key)
      },
    })
  const union = (more: object) => {
    const branch = (at: number) => ({ type: 'object', required: ['k'], properties: { k: { const: at } }, ...more })
    return { type: 'object', properties: { a: { oneOf: Array.from({ length: 400 }, (_, at) => counted(branch(at))) } } }
  }
  expect(narrowings(union({}), union({ maxProperties: 3 })).length).toBeGreaterThan(0)
  expect(reads).toBeLessThan(300_000)
})

/** What the differ calls compatible takes what was right before, over schemas of all shapes with one place changed. */
test('no change is called compatible that refuses arguments that were valid before', () => {
  const counts = { compatible: 0, breaking: 0 }
  for (const [index, { inputSchema, right }] of foreignFunctions(800).entries()) {
    const random = randomOf(index + 77)
    const values = Array.from({ length: 4 }, () => right(random)).filter(
      (value) => issuesOf(inputSchema, value).length === 0,
    )
    for (let turn = 0; turn < 4; turn++) {
      const changed = mutate(random, inputSchema)
      if (!isObject(changed) || checkSchema(changed, 'any').length > 0) continue
      if (narrowings(inputSchema, changed).length > 0) {
        counts.breaking += 1
        continue
      }
      counts.compatible += 1
      for (const value of values) {
        expect({ inputSchema, changed, value, issues: issuesOf(changed, value) }).toMatchObject({ issues: [] })
      }
    }
    expect(narrowings(inputSchema, structuredClone(inputSchema))).toEqual([])
  }
  expect(Math.min(counts.compatible, counts.breaking)).toBeGreaterThan(500)
})

/** A schema with something in it made another. */
function mutate(random: Random, schema: unknown): unknown {
  if (Array.isArray(schema)) {
    const at = random.to(schema.length + 1)
    return at === schema.length || random.chance(6)
      ? schema.toSpliced(at, 1)
      : schema.with(at, mutate(random, schema[at]))
  }
  if (!isObject(schema)) {
    if (typeof schema === 'number') return schema + random.pick([-1, 1, 5])
    return typeof schema === 'boolean' ? !schema : schema
  }
  const entries = Object.entries(schema)
  const at = random.to(entries.length + 1)
  const [key, inner] = entries[at] ?? []
  if (key === undefined || random.chance(6)) return { ...schema, ...random.pick(ADDED) }
  if (random.chance(5)) return Object.fromEntries(entries.toSpliced(at, 1))
  return { ...schema, [key]: mutate(random, inner) }
}

const ADDED: readonly object[] = [
  { type: ['string', 'null'] },
  { type: 'number' },
  { type: ['object', 'array'] },
  { nullable: true },
  { minLength: 2 },
  { maxItems: 2 },
  { minimum: 2 },
  { exclusiveMaximum: 50 },
  { multipleOf: 2 },
  { additionalProperties: false },
  { additionalProperties: { type: 'string' } },
  { required: ['id'] },
  { required: [] },
  { enum: ['a', 1, null] },
  { anyOf: [{ type: 'object' }, { type: 'string' }] },
  { oneOf: [{ type: 'object' }, { type: 'number' }, { minLength: 1 }] },
  { not: { type: 'null' } },
  { items: { type: 'string' } },
  { format: 'date' },
  { title: 'Another' },
]

function tagged(tag: string, value: JsonSchema): JsonSchema {
  return object({ kind: { const: tag }, value }, { required: ['kind'] })
}

function tree(parts: object): JsonSchema {
  const Node = object({ label: text, ...parts, children: { type: 'array', items: { $ref: '#/$defs/Node' } } })
  return object({ root: { $ref: '#/$defs/Node' } }, { $defs: { Node } })
}
