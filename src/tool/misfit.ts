import type { OutputUnit } from '@cfworker/json-schema'
import { isObject, type JsonObject } from '../contract/json.ts'
import type { CompiledSchema } from './compile.ts'
import { keysOf, partAt } from './pointer.ts'

/** What a value does not fit, in the words of `describeIssues`. */
export interface Misfit {
  /** Keys joined by dots; empty for the value itself. */
  readonly path: string
  /** Such as `expected string, received 5`. */
  readonly message: string
}

/** What keeps a value from fitting a schema: the innermost reasons, and of a union those of the likeliest branch. */
export function misfits(compiled: CompiledSchema, value: unknown): Misfit[] {
  return innermost(compiled.check(value).map(placed)).map((fault) => misfit(fault, compiled, value))
}

interface Fault {
  readonly unit: OutputUnit
  /** Keys from the root schema to the keyword that is not satisfied. */
  readonly schemaKeys: readonly string[]
  /** Keys from the root value to the part at fault. */
  readonly valueKeys: readonly string[]
}

function placed(unit: OutputUnit): Fault {
  return { unit, schemaKeys: decoded(unit.keywordLocation), valueKeys: decoded(unit.instanceLocation) }
}

/** The interpreter writes places as URI fragments. */
function decoded(location: string): string[] {
  return keysOf(decodeURIComponent(location.slice(1)))
}

/** Keywords whose own fault only says that there is another within. */
const OUTER = new Set([
  '$ref',
  'properties',
  'patternProperties',
  'additionalProperties',
  'unevaluatedProperties',
  'dependentSchemas',
  'items',
  'prefixItems',
  'additionalItems',
  'unevaluatedItems',
  'allOf',
  'if',
])

function isOuter({ keyword, error }: OutputUnit): boolean {
  return OUTER.has(keyword) || (keyword === 'dependencies' && error.includes('does not match'))
}

/** Keywords whose own fault says all; those within are its details. */
const WHOLE = new Set(['contains', 'propertyNames'])

/** The interpreter lists a fault before those within it. */
function innermost(faults: readonly Fault[]): Fault[] {
  const found: Fault[] = []
  for (let index = 0; index < faults.length; index++) {
    const fault = faults[index]
    if (!fault || isOuter(fault.unit)) continue
    const { keyword } = fault.unit
    const isUnion = keyword === 'anyOf' || keyword === 'oneOf'
    if (!isUnion && !WHOLE.has(keyword)) {
      found.push(fault)
      continue
    }
    const within = faults.slice(index + 1, endOf(faults, index))
    found.push(...((isUnion && likeliest(fault, within)) || [fault]))
    index += within.length
  }
  return found
}

function endOf(faults: readonly Fault[], outer: number): number {
  const location = `${faults[outer]?.unit.keywordLocation}/`
  const end = faults.findIndex(({ unit }, index) => index > outer && !unit.keywordLocation.startsWith(location))
  return end === -1 ? faults.length : end
}

/**
 * The faults of the one branch that was meant: the value has its type and the constants that tell branches apart, and,
 * where that leaves several, the keys that it requires. Undefined where none or several could be.
 */
function likeliest(union: Fault, within: readonly Fault[]): Fault[] | undefined {
  if (union.unit.keyword === 'oneOf' && !union.unit.error.includes('(0 matches)')) return undefined
  const depth = union.schemaKeys.length
  const branches = [...Map.groupBy(within, ({ schemaKeys }) => schemaKeys[depth]).values()].map(innermost)
  const below = ({ valueKeys }: Fault) => valueKeys.length - union.valueKeys.length
  const ofKind = branches.filter((branch) => !branch.some((fault) => tellsApart(fault.unit.keyword, below(fault))))
  if (ofKind.length === 1) return ofKind[0]
  const whole = ofKind.filter(
    (branch) => !branch.some((fault) => fault.unit.keyword === 'required' && below(fault) === 0),
  )
  return whole.length === 1 ? whole[0] : undefined
}

function tellsApart(keyword: string, below: number): boolean {
  return keyword === 'type' ? below === 0 : (keyword === 'const' || keyword === 'enum') && below <= 1
}

function misfit({ unit, schemaKeys, valueKeys }: Fault, compiled: CompiledSchema, value: unknown): Misfit {
  const schema = compiled.partAt(schemaKeys.slice(0, -1))
  if (unit.keyword === 'required') {
    const key = unit.error.slice(REQUIRED.length, -2)
    const expected = nameOf(partAt(schema, ['properties', key]), compiled)
    return { path: [...valueKeys, key].join('.'), message: `expected ${expected}, received undefined` }
  }
  const path = valueKeys.join('.')
  const was = received(partAt(value, valueKeys))
  const expected = expectation(unit.keyword, schema, compiled)
  if (expected !== undefined) return { path, message: `expected ${expected}, received ${was}` }
  return { path, message: `${unit.error.replace(/^Instance |\.$/g, '')} (received ${was})` }
}

const REQUIRED = 'Instance does not have required property "'

/** Keywords that bound a number or a size, and how to say so. */
const BOUNDS: ReadonlyMap<string, string> = new Map([
  ['minimum', 'at least #'],
  ['maximum', 'at most #'],
  ['exclusiveMinimum', 'more than #'],
  ['exclusiveMaximum', 'less than #'],
  ['multipleOf', 'a multiple of #'],
  ['minLength', 'at least # characters'],
  ['maxLength', 'at most # characters'],
  ['pattern', 'text that matches /#/u'],
  ['minItems', 'at least # items'],
  ['maxItems', 'at most # items'],
  ['minProperties', 'at least # keys'],
  ['maxProperties', 'at most # keys'],
])

const FORMATS: ReadonlyMap<unknown, string> = new Map([
  ['date', 'a date such as 2026-01-31'],
  ['time', 'a time with its zone, such as 14:30:00Z'],
  ['date-time', 'a date and time with its zone, such as 2026-01-31T14:30:00Z'],
  ['duration', 'a duration such as PT1H30M'],
])

function expectation(keyword: string, schema: unknown, compiled: CompiledSchema): string | undefined {
  const limit = partAt(schema, [keyword])
  const bound = BOUNDS.get(keyword)
  if (bound !== undefined) return bound.replace('#', () => String(limit))
  switch (keyword) {
    case 'type':
      return nameOf({ type: limit }, compiled)
    case 'const':
      return nameOf({ const: limit }, compiled)
    case 'enum':
      return nameOf({ enum: limit }, compiled)
    case 'anyOf':
    case 'oneOf':
      return nameOf({ anyOf: limit }, compiled)
    case 'format':
      return FORMATS.get(limit) ?? `text of the format ${String(limit)}`
    case 'not':
      // The interpreter's own form of the schema `false`.
      return isObject(limit) && Object.keys(limit).length === 0 ? 'nothing here' : undefined
    default:
      return undefined
  }
}

const MOST_NESTED = 4
const MOST_CHARACTERS = 200

/** A schema in a few words, such as `string | null` or `"asc" | "desc"`. */
function nameOf(schema: unknown, compiled: CompiledSchema, depth = 0): string {
  const parts = depth < MOST_NESTED && isObject(schema) ? namesOf(schema, compiled, depth + 1) : []
  const name = [...new Set(parts)].join(' | ')
  if (name === '') return 'a value'
  return name.length > MOST_CHARACTERS ? `${name.slice(0, MOST_CHARACTERS)}…` : name
}

function namesOf(schema: JsonObject, compiled: CompiledSchema, depth: number): string[] {
  const { $ref, type, anyOf, oneOf, properties, required } = schema
  if (Object.hasOwn(schema, 'const')) return [JSON.stringify(schema['const'])]
  if (Array.isArray(schema['enum'])) return schema['enum'].map((value) => JSON.stringify(value))
  if (type === 'object' && Array.isArray(required) && required.length > 0) return [`object with ${required.join(', ')}`]
  if (typeof type === 'string') return [type]
  if (Array.isArray(type)) return type.map(String)
  if (typeof $ref === 'string') return [nameOf(compiled.target($ref), compiled, depth)]
  const branches = Array.isArray(anyOf) ? anyOf : oneOf
  if (Array.isArray(branches)) return branches.map((branch) => nameOf(branch, compiled, depth))
  return isObject(properties) ? ['object'] : []
}

const MOST_SHOWN = 60

/** A value as a misfit's message shows it: what it is, texts cut short. */
export function received(value: unknown): string {
  if (typeof value === 'string') {
    return value.length > MOST_SHOWN ? `${JSON.stringify(value.slice(0, MOST_SHOWN))}…` : JSON.stringify(value)
  }
  if (Array.isArray(value)) return 'Array'
  return typeof value === 'object' && value !== null ? 'Object' : String(value)
}
