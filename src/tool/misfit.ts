import type { OutputUnit } from '@cfworker/json-schema'
import type { CompiledSchema } from './compile.ts'
import { keysOf, partAt } from './pointer.ts'
import { expectation, nameOf, received } from './wording.ts'

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
  for (let end = outer + 1; end < faults.length; end++) {
    if (!faults[end]?.unit.keywordLocation.startsWith(location)) return end
  }
  return faults.length
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
    const expected = nameOf(partAt(schema, ['properties', key]), compiled.target)
    return { path: [...valueKeys, key].join('.'), message: `expected ${expected}, received undefined` }
  }
  const path = valueKeys.join('.')
  const was = received(partAt(value, valueKeys))
  const expected = expectation(unit.keyword, schema, compiled.target)
  if (expected !== undefined) return { path, message: `expected ${expected}, received ${was}` }
  return { path, message: `${unit.error.replace(/^Instance |\.$/g, '')} (received ${was})` }
}

const REQUIRED = 'Instance does not have required property "'
