import type { JsonSchema } from '../../../src/contract/json.ts'
import type { Random } from './random.ts'
import type { Style } from './style.ts'

/** A schema, and values that fit it. */
export interface Shape {
  readonly schema: JsonSchema
  readonly make: (random: Random) => unknown
}

/** What a document is made with: its style, its chance, and the schemas that its parts share. */
export interface Maker {
  readonly style: Style
  readonly random: Random
  readonly shared: Record<string, JsonSchema>
}

type MakeShape = (maker: Maker, depth: number) => Shape

const WORDS = ['', 'a', 'Rome', 'São Paulo', '東京', 'x'.repeat(40), '5', 'true', '{"a":1}', ' spaced ']

/** Texts that fit a pattern or a format, with it. */
const TEXTS: readonly (readonly [object, readonly string[]])[] = [
  [{ pattern: '^[A-Z]{3}$' }, ['EUR', 'USD']],
  [{ pattern: '^\\+?[0-9]{4,12}$' }, ['+4930123', '12345']],
  [{ format: 'date' }, ['2026-01-31', '1999-12-31']],
  [{ format: 'date-time' }, ['2026-01-31T14:30:00Z', '2026-01-31T14:30:00.5+02:00']],
  [{ format: 'email' }, ['ada@example.com']],
  [{ format: 'uuid' }, ['123e4567-e89b-42d3-a456-426614174000']],
  [{ format: 'uri' }, ['https://example.com/a?b=c']],
  [{ format: 'ipv4' }, ['192.0.2.1']],
  [{ minLength: 1, maxLength: 5 }, ['a', 'abcde', '東京']],
  [{ minLength: 3 }, ['abc', 'abcdef']],
]

const LEAVES: readonly MakeShape[] = [
  () => ({ schema: { type: 'string' }, make: ({ pick }) => pick(WORDS) }),
  ({ random }) => {
    const [keywords, texts] = random.pick(TEXTS)
    return { schema: { type: 'string', ...keywords }, make: ({ pick }) => pick(texts) }
  },
  () => ({ schema: { type: 'integer' }, make: ({ pick }) => pick([0, -1, 7, 5.0, 2 ** 40]) }),
  () => ({ schema: { type: 'integer', minimum: 1, maximum: 100 }, make: ({ to }) => 1 + to(100) }),
  () => ({ schema: { type: 'integer', exclusiveMinimum: 0, multipleOf: 5 }, make: ({ to }) => 5 + 5 * to(9) }),
  () => ({ schema: { type: 'number' }, make: ({ pick }) => pick([0, 0.1, -2.5, 1e21, 3]) }),
  () => ({ schema: { type: 'number', minimum: -90, maximum: 90 }, make: ({ to }) => to(1800) / 10 - 90 }),
  () => ({ schema: { type: 'boolean' }, make: ({ chance }) => chance(2) }),
  () => ({
    schema: { type: 'string', enum: ['celsius', 'kelvin', 'Fahrenheit'] },
    make: ({ pick }) => pick(['celsius', 'kelvin']),
  }),
  () => ({ schema: { enum: ['on', 1, null, false] }, make: ({ pick }) => pick(['on', 1, false]) }),
  () => ({ schema: { const: 'v1' }, make: () => 'v1' }),
  () => ({ schema: { type: ['string', 'integer'] }, make: ({ pick }) => pick(['a', 5]) }),
  () => ({ schema: {}, make: ({ pick }) => pick([1, 'a', { a: 1 }, [1]]) }),
]

const BRANCHES: readonly MakeShape[] = [
  objectShape,
  objectShape,
  (maker, depth) => arrayShape(shapeOf(maker, depth - 1), maker.random),
  (maker, depth) => arrayShape(arrayShape(shapeOf(maker, depth - 2), maker.random), maker.random),
  nullableShape,
  taggedShape,
  sharedShape,
  tupleShape,
  mapShape,
  (maker, depth) => {
    const [one, other] = [objectShape(maker, depth - 1, 'one'), objectShape(maker, depth - 1, 'other')]
    const allOf = [one, other].map(({ schema }) => ({ ...schema, additionalProperties: true }))
    return { schema: { allOf }, make: (random) => ({ ...Object(one.make(random)), ...Object(other.make(random)) }) }
  },
]

/** Any shape, with at most so many levels in it. */
export function shapeOf(maker: Maker, depth: number): Shape {
  const { random, style } = maker
  const shape = random.pick(depth > 0 && !random.chance(3) ? BRANCHES : LEAVES)(maker, depth)
  // Draft-07 takes nothing beside a reference.
  if ('$ref' in shape.schema || random.chance(2)) return shape
  const note = { ...(style.titled && { title: 'A Title' }), ...random.pick(style.notes) }
  return { ...shape, schema: { ...note, ...shape.schema } }
}

const KEYS = ['id', 'name', 'user_name', 'Start Date', 'größe', 'a.b', 'x-y', 'default', 'items', 'type', 'constructor']

export function objectShape(maker: Maker, depth: number, prefix = ''): Shape {
  const { random, style } = maker
  const parts = new Map<string, { shape: Shape; required: boolean }>()
  for (let remaining = 1 + random.to(4); remaining > 0; remaining--) {
    parts.set(prefix + random.pick(KEYS), { shape: shapeOf(maker, depth - 1), required: random.chance(2) })
  }
  const properties = Object.fromEntries([...parts].map(([key, { shape }]) => [key, shape.schema]))
  const required = [...parts].filter(([, part]) => part.required).map(([key]) => key)
  const hasPatterns = random.chance(8)
  return {
    schema: {
      type: 'object',
      properties,
      ...(required.length > 0 && { required }),
      ...(hasPatterns && { patternProperties: { '^x_': { type: 'string' } } }),
      ...(style.closed && { additionalProperties: false }),
    },
    make: (random) => ({
      ...Object.fromEntries(
        [...parts]
          .filter(([, part]) => part.required || random.chance(2))
          .map(([key, { shape }]) => [key, shape.make(random)]),
      ),
      ...(hasPatterns && random.chance(2) && { x_extra: 'a' }),
    }),
  }
}

function arrayShape(inner: Shape, { chance }: Random): Shape {
  const isBounded = chance(3)
  return {
    schema: { type: 'array', items: inner.schema, ...(isBounded && { minItems: 1, maxItems: 3 }) },
    make: (random) => Array.from({ length: 1 + random.to(3) }, () => inner.make(random)),
  }
}

function nullableShape(maker: Maker): Shape {
  const { style, random } = maker
  const inner = random.pick(LEAVES.slice(0, 8))(maker, 0)
  const { type } = inner.schema
  const schema = {
    anyOf: { anyOf: [inner.schema, { type: 'null' }] },
    oneOf: { oneOf: [inner.schema, { type: 'null' }] },
    types: { ...inner.schema, type: [type, 'null'] },
    keyword: { ...inner.schema, nullable: true },
  }[style.nullable]
  return { schema, make: (random) => (random.chance(2) ? null : inner.make(random)) }
}

function taggedShape(maker: Maker, depth: number): Shape {
  const { random, style } = maker
  const branches = ['circle', 'square', 'line'].map((tag) => ({ tag, shape: objectShape(maker, depth - 1) }))
  const oneOf = branches.map(({ tag, shape: { schema } }) => ({
    ...schema,
    properties: {
      ...Object(schema['properties']),
      kind: style.closed ? { const: tag } : { type: 'string', enum: [tag] },
    },
    required: [...[schema['required'] ?? []].flat(), 'kind'],
  }))
  return {
    schema: random.chance(2) ? { oneOf, discriminator: { propertyName: 'kind' } } : { anyOf: oneOf },
    make: (random) => {
      const { tag, shape } = random.pick(branches)
      return { ...Object(shape.make(random)), kind: tag }
    },
  }
}

/** A schema that is kept in one place and refers to itself. */
function sharedShape({ style, random, shared }: Maker): Shape {
  const name = random.pick(['Node', 'Filter', 'Tree Item'])
  const $ref = `#/${style.defs}/${encodeURIComponent(name)}`
  shared[name] = {
    type: 'object',
    properties: { label: { type: 'string' }, weight: { type: 'number' }, children: { type: 'array', items: { $ref } } },
    required: ['label'],
    ...(style.closed && { additionalProperties: false }),
  }
  const make = (random: Random, depth = 2): unknown => ({
    label: random.pick(WORDS),
    ...(random.chance(2) && { weight: 1.5 }),
    ...(depth > 0 && random.chance(2) && { children: [make(random, depth - 1)] }),
  })
  return { schema: { $ref }, make }
}

function tupleShape(maker: Maker, depth: number): Shape {
  const [first, second] = [shapeOf(maker, depth - 1), shapeOf(maker, depth - 1)]
  const list = [first.schema, second.schema]
  const schema =
    maker.style.tuple === 'items' && maker.style.$schema?.includes('draft-07')
      ? { items: list, additionalItems: false }
      : { prefixItems: list, items: false }
  return {
    schema: { type: 'array', minItems: 2, ...schema },
    make: (random) => [first.make(random), second.make(random)],
  }
}

function mapShape(maker: Maker, depth: number): Shape {
  const inner = shapeOf(maker, depth - 1)
  return {
    schema: { type: 'object', additionalProperties: inner.schema, propertyNames: { type: 'string', maxLength: 20 } },
    make: (random) =>
      Object.fromEntries(['one', 'two', 'größe'].slice(random.to(4)).map((key) => [key, inner.make(random)])),
  }
}
