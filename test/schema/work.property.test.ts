import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonSchema } from '../../src/contract/json.ts'
import { documentOf } from '../../src/schema/document.ts'
import { fitsSchema } from '../../src/schema/fit.ts'
import { startLook } from '../../src/schema/check.ts'
import { fittingArguments, issuesOf } from '../../src/schema/validate.ts'
import { MOST_WORK, TOO_MUCH_WORK } from '../../src/schema/pattern.ts'

const VALUES = 9000

/** How many units of work it takes to find out whether a value fits. */
function workOf(schema: JsonSchema, value: unknown): number {
  const look = startLook(documentOf(schema))
  fitsSchema(look, schema, value)
  return MOST_WORK - look.unitsLeft
}

function range<Made>(count: number, make: (index: number) => Made): Made[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

describe('the work of a check does not grow with the size of', () => {
  const texts = range(VALUES, (index) => `v${index % 5000}`)
  const objects = texts.map((kind) => ({ kind }))

  test.each<[string, JsonSchema, unknown]>([
    ['an enum of texts', { items: { enum: range(5000, (index) => `v${index}`) } }, texts],
    ['an enum of objects', { items: { enum: range(5000, (index) => ({ kind: `v${index}` })) } }, objects],
    ['an anyOf of constants', { items: { anyOf: range(5000, (index) => ({ const: `v${index}` })) } }, texts],
    [
      'an anyOf of objects that a constant tells apart',
      {
        items: {
          anyOf: range(5000, (index) => ({ required: ['kind'], properties: { kind: { const: `v${index}` } } })),
        },
      },
      objects,
    ],
    ['a list of unique items', { uniqueItems: true }, range(VALUES, (index) => ({ index }))],
  ])('%s', (_, schema, value) => {
    expect(workOf(schema, value)).toBeLessThan(VALUES * 22)
  })
})

/** Counts how often a check looks at any part of a value. */
function watched(value: unknown, count: { looks: number }): unknown {
  if (typeof value !== 'object' || value === null) return value
  const inner = Array.isArray(value)
    ? value.map((item) => watched(item, count))
    : Object.fromEntries(Object.entries(value).map(([key, part]) => [key, watched(part, count)]))
  return new Proxy(inner, {
    get: (target, key) => {
      count.looks += 1
      return Reflect.get(target, key)
    },
    ownKeys: (target) => {
      count.looks += 1
      return Reflect.ownKeys(target)
    },
    getOwnPropertyDescriptor: (target, key) => {
      count.looks += 1
      return Reflect.getOwnPropertyDescriptor(target, key)
    },
  })
}

const width = fc.constantFrom(1, 3, 40, 400)
const names = range(40, (index) => `k${index}`)
const leaf = fc.oneof(
  fc.constantFrom<JsonSchema>(
    { enum: range(4000, (index) => ({ index })) },
    { uniqueItems: true },
    { minLength: 3000 },
    { pattern: 'a*b*c' },
    { format: 'uri' },
    { required: names },
    { propertyNames: { maxLength: 1 } },
    { not: { required: ['none'] } },
    { contains: { const: 'none' } },
    { unevaluatedProperties: false },
    { unevaluatedItems: { type: 'null' } },
    { dependentRequired: Object.fromEntries(names.map((name) => [name, names])) },
  ),
  width.map((count) => ({
    patternProperties: Object.fromEntries(range(count, (index) => [`^k{${index + 1}}x`, {}])),
  })),
)
const schema: fc.Arbitrary<JsonSchema> = fc.letrec<{ node: JsonSchema }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc
      .tuple(fc.constantFrom('anyOf', 'oneOf', 'allOf'), tie('node'), width)
      .map(([keyword, inner, count]) => ({ [keyword]: range(Math.min(count, 400), () => inner) })),
    fc.tuple(tie('node'), tie('node')).map(([items, other]) => ({ items, anyOf: [{ items: other }, { items }] })),
    tie('node').map((additionalProperties) => ({ additionalProperties })),
  ),
})).node
const size = fc.constantFrom(1, 30, 900)
const part = fc.oneof(
  fc.constantFrom<unknown>('a'.repeat(200), 'x'.repeat(100_000), 5, Object.fromEntries(names.map((name) => [name, 1]))),
  size.map((count) => range(count, (index) => ({ index }))),
)
const value: fc.Arbitrary<unknown> = fc.oneof(
  part,
  fc.tuple(part, size).map(([item, count]) => range(Math.min(count, 200), () => item)),
  fc.tuple(part, size).map(([item, count]) => Object.fromEntries(range(count, (index) => [`k${index}`, item]))),
)

test('no schema and value together take more than a fixed number of looks at the value', () => {
  let most = 0
  const property = fc.property(schema, value, (schema, value) => {
    const count = { looks: 0 }
    const root = { type: 'object', properties: { it: schema } }
    fittingArguments({ name: 't', inputSchema: root }, { it: watched(value, count) })
    most = Math.max(most, count.looks)
    expect(count.looks).toBeLessThan(8 * MOST_WORK)
  })
  fc.assert(property, { numRuns: 60, seed: 1, endOnFailure: true })
  // The search finds checks that are stopped, not only cheap ones.
  expect(most).toBeGreaterThan(MOST_WORK / 10)
})

test('a value whose check would take too much work is refused, always for the same reason', () => {
  const costly = { items: { oneOf: range(400, (index) => ({ minLength: index })) } }
  const value = range(VALUES, (index) => `v${index}`)
  const issue = { path: '', message: `cannot be checked: ${TOO_MUCH_WORK}` }
  expect(issuesOf({ items: { allOf: range(400, () => ({ minLength: 1 })) } }, value)).toEqual([issue])
  expect(issuesOf(costly, value)).not.toEqual([])
  const root = { type: 'object', properties: { it: { items: { allOf: range(400, () => ({ minLength: 1 })) } } } }
  expect(fittingArguments({ name: 't', inputSchema: root }, { it: value })).toEqual({
    ok: false,
    error: {
      code: 'invalid_arguments',
      message: `The arguments of "t" do not fit:\n- arguments: cannot be checked: ${TOO_MUCH_WORK}\nCorrect them and call again.`,
    },
  })
})
