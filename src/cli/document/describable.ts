import * as v from 'valibot'
import { isObject } from '../../contract/json.ts'

type Schema = v.GenericSchema

/** The results of `describable`, so that a schema that is used twice stays one object. */
const rewrittenSchemas = new WeakMap<Schema, Schema>()

/**
 * Rewrites a Valibot schema of a request so that it can be converted to JSON Schema: a lazy choice between schemas
 * becomes their union, a custom check becomes any object or nothing, depending on whether it accepts an empty object,
 * and members that a transformation fills in before the check become optional.
 */
export function describable(schema: Schema): Schema {
  const rewritten = rewrittenSchemas.get(schema) ?? rebuilt(schema)
  rewrittenSchemas.set(schema, rewritten)
  return rewritten
}

function rebuilt(schema: Schema): Schema {
  if (!isPiped(schema)) return plain(schema)
  const { pipe } = schema
  const last = pipe.findLastIndex(isSchema)
  const read = pipe[last]
  if (last === 0 || !isSchema(read))
    return checked({ ...plain(schema), pipe: [describable(pipe[0]), ...pipe.slice(1)] })
  const filled = pipe
    .slice(0, last)
    .reduce<unknown>((value, item) => (isTransform(item) ? item.operation(value) : value), {})
  return withDefaults(describable(read), isObject(filled) ? filled : {})
}

/** Rewrites a schema without its pipe. */
function plain(schema: Schema): Schema {
  if (isLazy(schema)) {
    const each = [...new Set(SAMPLES.map((sample) => schema.getter(sample)))].filter(({ type }) => type !== 'never')
    const [only] = each
    return each.length === 1 && only ? describable(only) : v.union(each.map(describable))
  }
  if (schema.type === 'custom') return v.is(schema, {}) ? v.looseObject({}) : v.never()
  const members = Object.entries(schema).map(([name, value]) => [name, name === 'pipe' ? undefined : inner(value)])
  const definedMembers = Object.fromEntries(members.filter(([, value]) => value !== undefined))
  // `nullish(never())` accepts only null and absence, which JSON Schema says with an optional null.
  return schema.type === 'nullish' && definedMembers['wrapped']?.type === 'never'
    ? v.optional(v.null())
    : checked(definedMembers)
}

/** Sample values that make `either` choose each of its schemas. */
const SAMPLES = ['', 0, [], {}]

function inner(value: unknown): unknown {
  if (isSchema(value)) return describable(value)
  if (Array.isArray(value)) return value.every(isSchema) ? value.map(describable) : value
  // The entries of an object.
  if (!isObject(value) || !Object.values(value).every(isSchema)) return value
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, inner(entry)]))
}

/** Makes members optional whose filled-in value they accept; in a union, those of every option. */
function withDefaults(schema: Schema, filled: Readonly<Record<string, unknown>>): Schema {
  const { entries, options }: Readonly<Record<string, unknown>> = { ...schema }
  if (Array.isArray(options)) {
    return checked({
      ...schema,
      options: options.map((option) => (isSchema(option) ? withDefaults(option, filled) : option)),
    })
  }
  if (!isObject(entries)) return schema
  const optional = Object.entries(filled).flatMap(([name, value]) => {
    const entry = entries[name]
    return isSchema(entry) && v.is(entry, value) ? [[name, v.optional(entry, () => value)]] : []
  })
  return checked({ ...schema, entries: { ...entries, ...Object.fromEntries(optional) } })
}

function checked(value: object): Schema {
  if (isSchema(value)) return value
  throw new Error('The rewritten schema is not a schema')
}

function isSchema(value: unknown): value is Schema {
  return isObject(value) && value['kind'] === 'schema'
}

function isPiped(schema: Schema): schema is Schema & { readonly pipe: readonly [Schema, ...unknown[]] } {
  return 'pipe' in schema
}

function isLazy(schema: Schema): schema is v.LazySchema<Schema> {
  return schema.type === 'lazy'
}

function isTransform(item: unknown): item is v.TransformAction<unknown, unknown> {
  return isObject(item) && item['kind'] === 'transformation' && item['type'] === 'transform'
}
