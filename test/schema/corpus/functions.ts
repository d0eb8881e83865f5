import type { JsonSchema } from '../../../src/contract/json.ts'
import { type Random, randomOf } from './random.ts'
import { type Maker, objectShape, type Shape, shapeOf } from './shape.ts'
import { STYLES } from './style.ts'

/** A function as somebody else defined it. */
export interface Foreign {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
  /** Arguments that fit. */
  readonly right: (random: Random) => unknown
}

/** So many functions, in all styles by turns, each with a name of its own; the same ones each time. */
export function foreignFunctions(count: number): Foreign[] {
  return Array.from({ length: count }, (_, index) => {
    const style = STYLES[index % STYLES.length]
    if (!style) throw new RangeError('No styles')
    const random = randomOf(index + 1)
    const maker: Maker = { style, random, shared: {} }
    const shape = rootOf(maker, index)
    const defs = Object.keys(maker.shared).length > 0 && { [style.defs]: maker.shared }
    return {
      name: nameOf(random, style.names, index),
      description: index % 7 === 0 ? '' : `Function ${index} of ${style.name}.`,
      inputSchema: { ...(style.$schema !== undefined && { $schema: style.$schema }), ...shape.schema, ...defs },
      right: shape.make,
    }
  })
}

/** Mostly an object; now and then none, or one that does not say so. */
function rootOf(maker: Maker, index: number): Shape {
  if (index % 25 === 3) return shapeOf(maker, 2)
  const shape = objectShape(maker, 4)
  const { type: _, ...untyped } = shape.schema
  return index % 40 === 7 ? { ...shape, schema: untyped } : shape
}

function nameOf(random: Random, names: readonly string[], index: number): string {
  const name = `${random.pick(names)}${random.pick(['', '_', ' ', '.', '/'])}${index}`
  return random.chance(12) ? name.padEnd(100, 'long_name.') : name
}

/** A value with one part of it made another, put in or left out. */
export function spoil(random: Random, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || random.chance(4)) return random.pick(OTHERS)
  if (Array.isArray(value)) {
    const at = random.to(value.length + 1)
    return at === value.length ? [...value, random.pick(OTHERS)] : value.with(at, spoil(random, value[at]))
  }
  const entries = Object.entries(value)
  const at = random.to(entries.length + 1)
  const [key, inner] = entries[at] ?? ['surplus', undefined]
  if (random.chance(3) && at < entries.length) return Object.fromEntries(entries.toSpliced(at, 1))
  return { ...value, [key]: at < entries.length ? spoil(random, inner) : random.pick(OTHERS) }
}

const OTHERS = [
  null,
  true,
  0,
  -1.5,
  1e6,
  '',
  'no',
  ' 5 ',
  'TRUE',
  'CIRCLE',
  '[1]',
  '{"label":"x"}',
  [],
  {},
  ['a'],
  { a: 1 },
]
