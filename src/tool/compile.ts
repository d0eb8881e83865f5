import { validate, type OutputUnit, type Schema } from '@cfworker/json-schema'
import { isObject, type JsonObject, type JsonSchema } from '../contract/json.ts'
import { partAt } from './pointer.ts'
import { HOLDERS, resolveRef } from './subschema.ts'

/** A schema made ready: what keeps a value from fitting it. */
export interface CompiledSchema {
  /** Throws a RangeError for a value that takes too long to check, as deep recursive unions do. */
  check(value: unknown): readonly OutputUnit[]
  /** The part of the schema that these keys lead to, through references. */
  partAt(keys: readonly string[]): unknown
  /** What a reference in such a part stands for. */
  readonly target: (ref: string) => unknown
}

const MOST_REFERENCES = 20_000

/**
 * Compiles a schema that `checkSchema` found sound, as 2020-12, or as draft-07 where its `$schema` says so. Works on a
 * copy that holds only what is asserted: the interpreter writes marks into what it is given, looks for schemas in
 * examples, and takes any `id` for a base address.
 */
export function compileSchema(source: JsonSchema): CompiledSchema {
  const names = new Map<unknown, string>()
  const targets = new Map<string, Schema>()
  const nameOf = (ref: string): string => {
    const target = resolveRef(source, ref)
    const known = names.get(target)
    if (known !== undefined) return known
    const name = `#${names.size}`
    // Named before it is copied, since it may hold a reference to itself.
    names.set(target, name)
    targets.set(name, copy(target, nameOf))
    return name
  }
  const root = copy(source, nameOf)
  // References alone can make the work larger than schema times value, so these are counted.
  let left = 0
  const lookup: Record<string, Schema> = {}
  for (const [name, target] of targets) {
    Object.defineProperty(lookup, name, {
      get: () => {
        if ((left -= 1) < 0) throw new RangeError('too many references')
        return target
      },
    })
  }
  const draft = /draft-0[4-7]/.test(String(source['$schema'])) ? '7' : '2020-12'
  return {
    check: (value) => {
      left = MOST_REFERENCES
      return validate(value, root, draft, lookup, false).errors
    },
    partAt: (keys) =>
      keys.reduce<unknown>((at, key) => {
        const part = partAt(at, [key])
        return key === '$ref' && typeof part === 'string' ? targets.get(part) : part
      }, root),
    target: (ref) => targets.get(ref),
  }
}

/** Formats that are checked; any other is a hint to the model. */
const FORMATS = new Set(['date', 'date-time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'time', 'uri', 'uuid'])

const ASSERTIONS = [
  'type',
  'const',
  'enum',
  'required',
  'dependentRequired',
  'uniqueItems',
  'pattern',
  'multipleOf',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minContains',
  'maxContains',
  'minProperties',
  'maxProperties',
]

function copy(source: unknown, nameOf: (ref: string) => string): Schema {
  if (!isObject(source)) return source === false ? { not: {} } : {}
  const schema: Schema = {}
  for (const key of ASSERTIONS) if (Object.hasOwn(source, key)) schema[key] = source[key]
  if (typeof source['format'] === 'string' && FORMATS.has(source['format'])) schema.format = source['format']
  if (typeof source['$ref'] === 'string') schema.$ref = nameOf(source['$ref'])
  for (const [key, holder] of HOLDERS) {
    const value = source[key]
    if (value === undefined || key === '$defs' || key === 'definitions') continue
    if (Array.isArray(value)) schema[key] = value.map((inner: unknown) => copy(inner, nameOf))
    else if (holder === 'map' && isObject(value)) schema[key] = copyMap(value, nameOf)
    else schema[key] = copy(value, nameOf)
  }
  fromOpenApi(source, schema)
  return schema
}

function copyMap(map: JsonObject, nameOf: (ref: string) => string): Record<string, Schema | string[]> {
  const entries = Object.entries(map)
  return Object.fromEntries(entries.map(([key, value]) => [key, Array.isArray(value) ? value : copy(value, nameOf)]))
}

/** Two habits of OpenAPI 3.0 and draft-04 that converted tools keep: `nullable`, and exclusive bounds as booleans. */
function fromOpenApi(source: JsonObject, schema: Schema): void {
  if (source['nullable'] === true && schema.type !== undefined) schema.type = [schema.type, 'null' as const].flat()
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema
  if (typeof exclusiveMinimum === 'boolean') {
    delete schema.exclusiveMinimum
    if (exclusiveMinimum && minimum !== undefined) schema.exclusiveMinimum = minimum
  }
  if (typeof exclusiveMaximum === 'boolean') {
    delete schema.exclusiveMaximum
    if (exclusiveMaximum && maximum !== undefined) schema.exclusiveMaximum = maximum
  }
}
