import { decodedFragment, isObject, type JsonObject, type JsonSchema, pointerKeys } from '../../contract/json.ts'
import { mapSubschemas } from '../../contract/subschemas.ts'
import { wireName } from '../../contract/tool-names.ts'

/** What the name of a property must match, for a provider that refuses others. */
export interface KeyRule {
  readonly fits: RegExp
  /** Matches each character that may not be in a name. */
  readonly others: RegExp
  /** `renameProperties`: only what has such a rule carries it. */
  readonly rename: (schema: JsonSchema, rule: KeyRule) => PropertyNames | undefined
}

/** The properties of a tool under the names that a model is told, since its provider refuses the tool's own. */
export interface PropertyNames {
  /** The schema of the tool with these names. */
  readonly schema: JsonSchema
  /** Returns arguments with the names that the model is told. */
  readonly toSent: (args: JsonObject) => JsonObject
  /** Returns the JSON text of arguments with the names that the model is told, or with the tool's own. */
  readonly sentText: (text: string) => string
  readonly ownText: (text: string) => string
  /** Returns what is said of arguments with the names that the model is told. */
  readonly sentWords: (text: string) => string
}

/** The keywords that name properties as the keys of an object. */
const KEYED: ReadonlySet<string> = new Set(['properties', 'dependentSchemas', 'dependentRequired', 'dependencies'])
/** Keywords whose values may have the properties. */
const VALUES: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'example', 'examples'])

/**
 * Gives other names to the properties of a schema, at any level, that do not fit a rule; undefined if all fit. A property
 * has the same name everywhere in the schema, none has the name of another one, and the same schema gives the same names.
 */
export function renameProperties(schema: JsonSchema, rule: KeyRule): PropertyNames | undefined {
  const sentNames = chooseNames(schema, rule)
  if (sentNames.size === 0) return undefined
  const ownNames = new Map([...sentNames].map(([own, name]) => [name, own]))
  return {
    schema: renameSchema(schema, sentNames),
    toSent: (args) => Object(renameKeys(args, sentNames)),
    sentText: (text) => renameInText(text, sentNames),
    ownText: (text) => renameInText(text, ownNames),
    sentWords: (text) => renameInWords(text, sentNames),
  }
}

/** Returns names for the properties whose own do not fit, by those. */
function chooseNames(schema: JsonSchema, rule: KeyRule): ReadonlyMap<string, string> {
  const all = new Set<string>()
  const collect = (part: unknown): unknown => {
    if (!isObject(part)) return part
    for (const [keyword, value] of Object.entries(part)) {
      if (KEYED.has(keyword) && isObject(value)) for (const name of Object.keys(value)) all.add(name)
    }
    if (Array.isArray(part.required)) for (const name of part.required) all.add(String(name))
    return mapSubschemas(part, collect) && part
  }
  collect(schema)
  const names = new Map<string, string>()
  const usedNames = new Set(all)
  // In the order of the names, so that the order in which a schema lists them does not matter.
  for (const name of [...all].filter((each) => !rule.fits.test(each)).toSorted()) {
    const choice = chooseName(name, rule, usedNames)
    usedNames.add(choice)
    names.set(name, choice)
  }
  return names
}

const MOST_CHARACTERS = 64

/** `filter[name]` becomes `filter_name`, and `$top` becomes `top`. A long name is cut, and ends in a hash. */
function chooseName(name: string, { fits, others }: KeyRule, usedNames: ReadonlySet<string>): string {
  const short = name.length > MOST_CHARACTERS ? wireName(name) : name
  const plain = short.replace(others, '_').replace(/^_+(?=[^_])|_+$/g, '') || 'property'
  const base = fits.test(plain) ? plain : `_${plain}`.slice(0, MOST_CHARACTERS)
  for (let count = 1; ; count++) {
    const ending = count === 1 ? '' : `_${count}`
    const candidate = `${base.slice(0, MOST_CHARACTERS - ending.length)}${ending}`
    if (!usedNames.has(candidate)) return candidate
  }
}

/** Returns a schema with the properties under their sent names. Each tells its own name in its description. */
function renameSchema(schema: JsonSchema, names: ReadonlyMap<string, string>): JsonSchema {
  const nameOf = (name: string): string => names.get(name) ?? name
  const rename = (part: unknown): unknown => {
    if (!isObject(part)) return part
    const keywords = Object.entries(mapSubschemas(part, rename)).map(([keyword, value]): readonly [string, unknown] => {
      if (VALUES.has(keyword)) return [keyword, renameKeys(value, names)]
      if (keyword === '$ref' && typeof value === 'string') return [keyword, renameReference(value, names)]
      if (keyword === 'required' && Array.isArray(value)) return [keyword, value.map((name) => nameOf(String(name)))]
      if (keyword === 'propertyNames' && isObject(value)) return [keyword, renameTexts(value, names)]
      if (!KEYED.has(keyword) || !isObject(value)) return [keyword, value]
      const entries = Object.entries(value).map(([name, inner]) => {
        const renamed = Array.isArray(inner) ? inner.map((each) => nameOf(String(each))) : inner
        return [nameOf(name), keyword === 'properties' && names.has(name) ? telling(name, renamed) : renamed]
      })
      return [keyword, Object.fromEntries(entries)]
    })
    return Object.fromEntries(keywords)
  }
  const renamed = rename(schema)
  return isObject(renamed) ? renamed : schema
}

/** Returns a reference within the schema that leads through properties by their sent names. */
function renameReference(ref: string, names: ReadonlyMap<string, string>): string {
  if (!ref.startsWith('#/')) return ref
  const keys = pointerKeys(decodedFragment(ref.slice(1)))
  const renamed = keys.map((key, at) => (KEYED.has(keys[at - 1] ?? '') ? (names.get(key) ?? key) : key))
  if (renamed.every((key, at) => key === keys[at])) return ref
  return `#/${renamed.map((key) => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`
}

/** Descriptions of the tool may speak of the property by its own name. */
function telling(name: string, schema: unknown): unknown {
  if (!isObject(schema)) return schema
  const { description } = schema
  const note = `Stands for "${name}".`
  return { ...schema, description: typeof description === 'string' && description ? `${description}\n${note}` : note }
}

function renameTexts(schema: JsonObject, names: ReadonlyMap<string, string>): JsonObject {
  const values = schema.enum
  return Array.isArray(values) ? { ...schema, enum: values.map((value) => names.get(String(value)) ?? value) } : schema
}

/** Renames the keys of a value, at any level. */
function renameKeys(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((each) => renameKeys(each, names))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [names.get(key) ?? key, renameKeys(each, names)]),
  )
}

/** Matches a JSON string, and the colon after it if it is a key. */
const STRING = /"(?:[^"\\]|\\.)*"(\s*:)?/gs

/** Renames the keys in a JSON text, and leaves all else as it is written. */
function renameInText(text: string, names: ReadonlyMap<string, string>): string {
  return text.replace(STRING, (string, colon: string | undefined) => {
    if (colon === undefined) return string
    const name = names.get(keyOf(string.slice(0, -colon.length)))
    return name === undefined ? string : `${JSON.stringify(name)}${colon}`
  })
}

function keyOf(string: string): string {
  try {
    return String(JSON.parse(string))
  } catch {
    return string.slice(1, -1)
  }
}

/** Says what a failed call tells about properties by the names that the model has been told. */
function renameInWords(text: string, sentNames: ReadonlyMap<string, string>): string {
  const longestFirst = [...sentNames.keys()].toSorted((a, b) => b.length - a.length)
  const names = longestFirst.map((name) => name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'))
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${names.join('|')})(?![\\p{L}\\p{N}_])`, 'gu')
  return text.replace(pattern, (name) => sentNames.get(name) ?? name)
}
