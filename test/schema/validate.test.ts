import { describe, expect, test } from 'vitest'
import { validateArguments } from '../../src/schema/validate.ts'

/** The lines about what does not fit, or nothing where all does. */
function lines(schema: Record<string, unknown>, value: unknown): string[] {
  const failed = validateArguments('t', schema, value)
  if (!failed) return []
  const [head, ...rest] = failed.error.message.split('\n')
  expect(failed.error.code).toBe('invalid_arguments')
  expect(head).toBe('The arguments of "t" do not fit:')
  expect(rest.pop()).toBe('Correct them and call again.')
  return rest
}

function object(properties: Record<string, unknown>, rest: Record<string, unknown> = {}): Record<string, unknown> {
  return { type: 'object', properties, ...rest }
}

/** JSON nested so deep that code which recurses without a look would overflow. */
function nested(depth: number): unknown {
  return JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)
}

test('the failure has a line for the model for each part that does not fit', () => {
  const schema = object({ city: { type: 'string' }, days: { type: 'integer', maximum: 7 } }, { required: ['city'] })
  expect(validateArguments('weather', schema, { city: 'Paris', days: 3 })).toBeUndefined()
  expect(validateArguments('weather', schema, { days: 9.5 })).toEqual({
    ok: false,
    error: {
      code: 'invalid_arguments',
      message: [
        'The arguments of "weather" do not fit:',
        '- city: is required (string)',
        '- days: expected integer, received 9.5',
        '- days: expected at most 7, received 9.5',
        'Correct them and call again.',
      ].join('\n'),
    },
  })
})

describe('each issue has the path, the expectation and the received value', () => {
  test.each<[string, Record<string, unknown>, unknown, string[]]>([
    ['type', object({ a: { type: ['string', 'null'] } }), { a: 1 }, ['- a: expected string | null, received 1']],
    ['the root', object({}), [], ['- arguments: expected object, received Array']],
    ['enum', object({ a: { enum: ['x', 1] } }), { a: 'y' }, ['- a: expected "x" | 1, received "y"']],
    ['const', object({ a: { const: 'x' } }), { a: null }, ['- a: expected "x", received null']],
    ['bounds', object({ a: { exclusiveMinimum: 1 } }), { a: 1 }, ['- a: expected more than 1, received 1']],
    ['steps', object({ a: { multipleOf: 0.1 } }), { a: 0.25 }, ['- a: expected a multiple of 0.1, received 0.25']],
    ['length', object({ a: { minLength: 3 } }), { a: 'é' }, ['- a: expected at least 3 characters, received "é"']],
    [
      'pattern',
      object({ a: { pattern: '^a$' } }),
      { a: 'b' },
      ['- a: expected text that matches /^a$/u, received "b"'],
    ],
    ['items', object({ a: { items: { type: 'number' } } }), { a: [1, 'x'] }, ['- a.1: expected number, received "x"']],
    ['no more keys', object({}, { additionalProperties: false }), { b: 1 }, ['- b: expected nothing here, received 1']],
    ['a schema that is false', object({ a: false }), { a: 1 }, ['- a: expected nothing here, received 1']],
    [
      'a tuple of draft-07',
      object({ a: { items: [{ type: 'number' }], additionalItems: false } }),
      { a: [1, 2] },
      ['- a.1: expected nothing here, received 2'],
    ],
    [
      'uniqueItems',
      object({ a: { uniqueItems: true } }),
      { a: [1, 1] },
      ['- a: expected no item twice, received Array'],
    ],
    [
      'format',
      object({ d: { format: 'date' }, u: { format: 'uuid' }, free: { format: 'colour' } }),
      { d: '31.1.2026', u: 'x', free: 'red' },
      [
        '- d: expected a date such as 2026-01-31, received "31.1.2026"',
        '- u: expected text of the format uuid, received "x"',
      ],
    ],
    ['dependencies', object({}, { dependentRequired: { a: ['b'] } }), { a: 1 }, ['- b: is required']],
    [
      'keys with signs',
      object({ 'a/b~c %#.é': { type: 'string' } }),
      { 'a/b~c %#.é': 1 },
      ['- a/b~c %#.é: expected string, received 1'],
    ],
    [
      'property names',
      object({}, { propertyNames: { pattern: '^a' } }),
      { b: 1 },
      ['- b: expected the name to be text that matches /^a/u, received "b"'],
    ],
    [
      'long texts are cut',
      object({ a: { type: 'number' } }),
      { a: 'x'.repeat(500) },
      [`- a: expected number, received "${'x'.repeat(60)}"…`],
    ],
  ])('%s', (_, schema, value, expected) => {
    expect(lines(schema, value)).toEqual(expected)
  })

  test('in at most at most eight lines', () => {
    const names = Array.from({ length: 11 }, (_, index) => `k${index}`)
    const issues = lines(object({}, { required: names }), {})
    expect(issues).toHaveLength(9)
    expect(issues[8]).toBe('- and 3 more')
  })
})

describe('the issues of the most likely branch of a union are reported:', () => {
  const shape = {
    oneOf: [
      object(
        { kind: { const: 'circle' }, r: { type: 'number' } },
        { required: ['kind', 'r'], additionalProperties: false },
      ),
      object(
        { kind: { const: 'box' }, w: { type: 'number' } },
        { required: ['kind', 'w'], additionalProperties: false },
      ),
      { type: 'string' },
    ],
  }
  const filter = {
    $defs: {
      filter: {
        anyOf: [
          object({ and: { type: 'array', items: { $ref: '#/$defs/filter' } } }, { required: ['and'] }),
          object({ or: { type: 'array', items: { $ref: '#/$defs/filter' } } }, { required: ['or'] }),
          object({ key: { type: 'string' } }, { required: ['key'] }),
        ],
      },
    },
  }

  test.each<[string, Record<string, unknown>, unknown, string[]]>([
    [
      'told by a constant',
      object({ a: shape }),
      { a: { kind: 'box', x: 1 } },
      ['- a.w: is required (number)', '- a.x: expected nothing here, received 1'],
    ],
    [
      'told by its type',
      object({ a: { anyOf: [{ type: 'string', minLength: 2 }, { type: 'null' }] } }),
      { a: 'x' },
      ['- a: expected at least 2 characters, received "x"'],
    ],
    [
      'of no branch',
      object({ a: shape }),
      { a: 5 },
      ['- a: expected object with kind, r | object with kind, w | string, received 5'],
    ],
    [
      'told by the keys it requires, at every level',
      object({ f: { $ref: '#/$defs/filter' } }, filter),
      { f: { and: [{ or: [{ key: 1 }] }] } },
      ['- f.and.0.or.0.key: expected string, received 1'],
    ],
    [
      'of several branches at once',
      object({ a: { oneOf: [{ type: 'number' }, { type: 'integer' }] } }),
      { a: 1 },
      ['- a: expected number | integer, received 1'],
    ],
  ])('%s', (_, schema, value, expected) => {
    expect(lines(schema, value)).toEqual(expected)
  })
})

describe('validation of real schemas', () => {
  test('accepts recursive definitions in both spellings', () => {
    const node = object({ value: { type: 'number' }, kids: { type: 'array', items: { $ref: '#/definitions/node' } } })
    const schema = object({ tree: { $ref: '#/definitions/node' } }, { definitions: { node } })
    expect(lines(schema, { tree: { value: 1, kids: [{ value: 2, kids: [] }] } })).toEqual([])
    expect(lines(schema, { tree: { kids: [{ kids: [{ value: 'x' }] }] } })).toEqual([
      '- tree.kids.0.kids.0.value: expected number, received "x"',
    ])
    expect(
      lines(object({ self: { $ref: '#' } }, { additionalProperties: false }), { self: { self: { no: 1 } } }),
    ).toEqual(['- self.self.no: expected nothing here, received 1'])
  })

  test('ignores keywords beside a reference in draft-07, and applies them in 2020-12', () => {
    const rest = { $defs: { text: { type: 'string' } } }
    const schema = object({ a: { $ref: '#/$defs/text', minLength: 3 } }, rest)
    expect(lines(schema, { a: 'x' })).toEqual(['- a: expected at least 3 characters, received "x"'])
    expect(lines({ ...schema, $schema: 'http://json-schema.org/draft-07/schema#' }, { a: 'x' })).toEqual([])
  })

  test('accepts ids, examples and properties named like keywords', () => {
    const schema = object(
      { id: { type: 'string' }, $ref: { type: 'number' }, type: { type: 'string' }, properties: { type: 'array' } },
      { $id: 'https://example.com/schema', example: { id: 'q' }, default: { $ref: '#/nowhere' }, 'x-order': ['id'] },
    )
    expect(lines(schema, { id: 'a', $ref: 1, type: 'b', properties: [] })).toEqual([])
    expect(lines(schema, { $ref: 'x' })).toEqual(['- $ref: expected number, received "x"'])
  })

  test('accepts nullable and exclusive bounds of OpenAPI 3.0', () => {
    const schema = object({
      a: { type: 'string', nullable: true },
      n: { type: 'number', minimum: 1, exclusiveMinimum: true, maximum: 5, exclusiveMaximum: false },
    })
    expect(lines(schema, { a: null, n: 5 })).toEqual([])
    expect(lines(schema, { n: 1 })).toContain('- n: expected more than 1, received 1')
  })

  test('accepts a frozen schema', () => {
    const schema = Object.freeze(object(Object.freeze({ a: Object.freeze({ type: 'string' }) })))
    expect(lines(schema, { a: 'x' })).toEqual([])
  })
})

describe('validation of hostile values', () => {
  const wide = object(
    { f: { $ref: '#/$defs/f' } },
    { $defs: { f: { items: { oneOf: [{ $ref: '#/$defs/f' }, { $ref: '#/$defs/f' }] } } } },
  )

  test.each<[string, Record<string, unknown>, unknown, string]>([
    ['nested 10,000 deep', object({}), nested(10_000), `${'a.'.repeat(31)}a: expected at most 32 levels`],
    [
      'an own __proto__',
      object({}),
      JSON.parse('{"__proto__": {"x": 1}}'),
      '__proto__: expected a name other than __proto__',
    ],
    [
      'too many values',
      object({}),
      { a: Array.from({ length: 20_000 }, () => 0) },
      'arguments: expected at most 10000 values',
    ],
    ['not a finite number', object({}), { a: Number.NaN }, 'a: expected a finite number, received NaN'],
    ['a function', object({}), { a: () => {} }, 'a: expected plain JSON, received function'],
    ['an instance', object({}), { a: new Date(0) }, 'a: expected plain JSON, received an instance of a class'],
    [
      'readings without end',
      wide,
      { f: JSON.parse(`${'['.repeat(29)}[1]${']'.repeat(29)}`) },
      'arguments: cannot be checked: the schema and the value together take too much work',
    ],
  ])('%s', (_, schema, value, line) => {
    expect(lines(schema, value)).toEqual([`- ${line}`])
  })

  test('checks a key __proto__ if the schema names it', () => {
    const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}')
    expect(lines(schema, JSON.parse('{"__proto__":"a"}'))).toEqual([])
    expect(lines(schema, JSON.parse('{"__proto__":1}'))).toEqual(['- __proto__: expected string, received 1'])
  })

  test('rejects a reference that leads nowhere', () => {
    expect(lines(object({ a: { $ref: '#/$defs/none' } }), { a: 'x' })).toEqual([
      '- arguments: cannot be checked: no schema is at #/$defs/none',
    ])
  })
})
