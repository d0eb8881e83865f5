import type { DefinitionIssue } from '../contract/definition.ts'
import { isObject, type JsonObject, type JsonSchema, parseJson, partAt } from '../contract/json.ts'
import { failure, type ToolFailure } from '../contract/tool.ts'
import { documentOf, patternsOf, type SchemaDocument } from './document.ts'
import { isLongNumber, parseExactly } from '../contract/exact-numbers.ts'
import { refsOf } from './keywords.ts'
import { longestMatched } from './pattern.ts'
import type { StandardIssue } from './standard-schema.ts'

/** A fault in a value: its path, empty for the whole value, and a message such as `expected string, received 5`. */
export interface Issue {
  readonly path: string
  readonly message: string
}

/** A Standard Schema issue with the fields that Valibot adds. */
interface KnownIssue extends StandardIssue {
  readonly expected?: string | null
  readonly received?: string
}

/**
 * Converts a schema's issue to an `Issue`. A message that begins with “expected” is complete and is not changed. `json`:
 * the JSON Schema, which has the type of a value that is missing. `root`: what was validated.
 */
export function toIssue(
  { message, path = [], expected, received }: KnownIssue,
  json?: JsonSchema,
  root?: unknown,
): Issue {
  const keys = path.map((each) => (typeof each === 'object' ? each.key : each))
  // Items of a set have no key.
  const where = keys.filter((key) => typeof key === 'string' || typeof key === 'number').join('.')
  const value = partAt(root, keys.map(String))
  const type = expected ?? typeOf(json, keys)
  if (isLongNumber(value) && type && isNumeric(type)) return { path: where, message: longNumber(wordsOf(type), value) }
  if (message.startsWith('expected') || received === undefined) return { path: where, message }
  if (received === 'undefined' && expected) return { path: where, message: absence(typeOf(json, keys) ?? expected) }
  // Some of Valibot's messages end in the received value, and others do not mention it.
  if (!expected && message.includes('eceived'))
    return { path: where, message: message.replace(/: Received .*$/, `, received ${received}`) }
  const words = expected ? `expected ${wordsOf(expected)}, received ${received}` : `${message} (received ${received})`
  return { path: where, message: words }
}

function isNumeric(expected: string): boolean {
  return /\b(?:number|integer|bigint)\b/.test(expected) && !/\bstring\b/.test(expected)
}

/** Says that a number would be rounded. A model would else round it itself, and ask for another row. */
function longNumber(expected: string, digits: string): string {
  return `expected ${expected}, received ${digits}, which has too many digits for this tool: it would become another number. Do not round it. Send it as text where a tool takes a string, or say that it cannot be sent.`
}

/** Says that a value does not fit. `receivedText`: the value, as `received` formats it. */
export function describeMisfit(expected: string, receivedText: string): string {
  const value = parseJson(receivedText)
  return isLongNumber(value) && isNumeric(expected)
    ? longNumber(expected, value)
    : `expected ${expected}, received ${receivedText}`
}

/** Says that a value is missing, by its type or another description of what is expected. */
export function absence(expected: string): string {
  // Valibot expects the name of a key that is missing, which a model would take for its value.
  return expected.startsWith('"') || expected === 'a value' ? 'is required' : `is required (${wordsOf(expected)})`
}

/** Returns the type of a part of what a JSON Schema describes, if the schema says it there. */
function typeOf(json: JsonSchema | undefined, keys: readonly unknown[]): string | undefined {
  let part: unknown = json
  for (const key of keys) {
    const { properties, items } = isObject(part) ? part : {}
    part = typeof key === 'number' ? items : isObject(properties) ? properties[String(key)] : undefined
  }
  return isObject(part) && typeof part.type === 'string' ? part.type : undefined
}

/**
 * JSON words for type names in Valibot's messages that JSON lacks. `never` is the type of a key that is not allowed.
 */
const IN_JSON = new Map([
  ['never', 'no such key'],
  ['Date', 'a date and time such as 2026-01-31T14:30:00Z'],
  ['bigint', 'integer'],
  ['Set', 'Array'],
  ['Map', 'Object'],
])

function wordsOf(expected: string): string {
  // An expected text in quotes may contain such a word.
  // As Valibot writes the divisor of a number.
  if (/^%[\d.]+$/.test(expected)) return `a multiple of ${expected.slice(1)}`
  return expected.includes('"') ? expected : expected.replace(/\b\w+\b/g, (word) => IN_JSON.get(word) ?? word)
}

const MOST_ISSUES = 8

/** Describes the faults in a call's arguments to the model, one line each. */
export function describeIssues(tool: string, issues: readonly Issue[]): string {
  return `The arguments of "${tool}" do not fit:\n${linesOf(issues, 'arguments')}\nCorrect them and call again.`
}

/**
 * Returns the outcome of a call whose result does not fit its tool's output schema. The tool has run; `effect` says what is
 * known of that.
 */
export function invalidOutput(
  tool: string,
  issues: readonly Issue[],
  effect = 'The call may have taken effect',
): ToolFailure {
  const message = `The tool "${tool}" was called, but its result does not fit its output schema:\n${linesOf(issues, 'result')}\n${effect}: do not repeat it for a better result.`
  return failure('invalid_output', message, linesOf(issues.slice(0, 1), 'result').slice(2))
}

function linesOf(issues: readonly Issue[], root: string): string {
  const lines = issues.slice(0, MOST_ISSUES).map(({ path, message }) => `- ${path || root}: ${message}`)
  if (issues.length > MOST_ISSUES) lines.push(`- and ${issues.length - MOST_ISSUES} more`)
  return lines.join('\n')
}

const MOST_SHOWN = 60

/** Formats a received value for messages: texts are cut, and arrays and objects are named by their type alone. */
export function received(value: unknown): string {
  if (typeof value === 'string') {
    return value.length > MOST_SHOWN ? `${JSON.stringify(value.slice(0, MOST_SHOWN))}…` : JSON.stringify(value)
  }
  if (Array.isArray(value)) return 'Array'
  return typeof value === 'object' && value !== null ? 'Object' : String(value)
}

const MOST_NESTED = 4
/** The most values or branches that are named: messages are cut long before. */
const MOST_NAMED = 20

/** The most parts that are named of a schema in all: references may lead to ever more of them. */
const MOST_PARTS = 30

/** Describes a schema in a few words, such as `string | null` or `"asc" | "desc"`. */
export function describeSchema(document: SchemaDocument, schema: unknown): string {
  let partsLeft = MOST_PARTS
  const describe = (part: unknown, depth: number): string => {
    const parts = depth < MOST_NESTED && isObject(part) && partsLeft-- > 0 ? names(part, depth + 1) : []
    return [...new Set(parts)].join(' | ') || 'a value'
  }
  const names = (part: JsonObject, depth: number): string[] => {
    const { const: only, enum: values, type, anyOf, oneOf, properties, required } = part
    if (only !== undefined) return [optionText(only)]
    if (Array.isArray(values)) return values.slice(0, MOST_NAMED).map(optionText)
    if (type === 'object' && Array.isArray(required) && required.length > 0) {
      return [`object with ${required.slice(0, MOST_NAMED).join(', ')}`]
    }
    if (type !== undefined) return [type].flat().map(String)
    const [ref] = refsOf(part)
    if (ref !== undefined) return [describe(document.resolve(part, ref), depth)]
    const branches = anyOf ?? oneOf
    if (Array.isArray(branches)) return branches.slice(0, MOST_NAMED).map((branch) => describe(branch, depth))
    return properties === undefined ? [] : ['object']
  }
  return describe(schema, 0)
}

/** The most characters of a text that is named: messages are cut there. */
const MOST_TEXT = 300

function optionText(value: unknown): string {
  return JSON.stringify(typeof value === 'string' ? value.slice(0, MOST_TEXT) : value)
}

/** The length of a long argument. There is no warning if only longer texts are not checked. */
const LONG = 1000

/**
 * Returns the patterns of a sound schema that are never checked, or only on short texts, because they might take too
 * long on others (`pattern.ts`). The model still sees them, but values that they would reject are accepted.
 */
export function uncheckedPatterns(schema: JsonSchema): DefinitionIssue[] {
  const document = documentOf(schema)
  return document.places.flatMap(({ schema: place, path }) =>
    patternsOf(place).flatMap(({ path: inner, pattern }) => {
      const longest = document.mayRun(pattern) ? longestMatched(pattern) : 0
      return longest >= LONG ? [] : [warning([...path, ...inner], longest)]
    }),
  )
}

function warning(path: readonly string[], longest: number): DefinitionIssue {
  const message =
    longest === 0
      ? 'this pattern is never checked: it does not compile, might take too long on some text, or the schema names too many Unicode properties'
      : `this pattern is only checked on texts of up to ${longest} characters: it might take too long on others`
  return { path: path.join('.'), message }
}

/** Keywords that allow an object keys that `properties` does not name. */
const OTHERS = ['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf', 'if', 'patternProperties', 'dependentSchemas']

/**
 * Renames the keys of arguments to the names that their schema has. A model may write a name in another case (`City`,
 * `first-name` for `firstName`), or put all arguments inside one key (`{"arguments": {…}}`). If every field is
 * optional, such arguments fit the schema, and the tool would see none of them. Returns the value itself if there is
 * nothing to rename, and if the schema allows other keys.
 */
export function withKnownKeys(schema: JsonSchema, value: unknown): unknown {
  const propertyNames = keyNames(schema)
  if (!propertyNames || !isObject(value)) return value
  const renamed = rename(propertyNames, value)
  if (Object.keys(renamed).some((key) => propertyNames.has(key))) return renamed
  const [only, ...more] = Object.entries(renamed)
  const inner = only && more.length === 0 ? asObject(only[1]) : undefined
  if (!inner) return renamed
  const unwrapped = rename(propertyNames, inner)
  const keys = Object.keys(unwrapped)
  return keys.length > 0 && keys.every((key) => propertyNames.has(key)) ? unwrapped : renamed
}

/** Returns what is wrong with arguments of which the tool would see none, since the schema names none of their keys. */
export function unknownKeys(schema: JsonSchema, value: unknown): Issue | undefined {
  const propertyNames = keyNames(schema)
  const [first, ...others] = isObject(value) ? Object.keys(value) : []
  if (!propertyNames || first === undefined || [first, ...others].some((key) => propertyNames.has(key)))
    return undefined
  return { path: first, message: `expected ${[...propertyNames].slice(0, 20).join(', ')}, received another name` }
}

/** Returns the names of a schema's properties, or undefined if it may take others. */
function keyNames(schema: JsonSchema): ReadonlySet<string> | undefined {
  const { properties, additionalProperties = false } = schema
  if (!isObject(properties) || additionalProperties !== false || OTHERS.some((keyword) => keyword in schema))
    return undefined
  const names = Object.keys(properties)
  return names.length > 0 ? new Set(names) : undefined
}

function rename(propertyNames: ReadonlySet<string>, value: JsonObject): JsonObject {
  const keys = Object.keys(value)
  const names = new Map<string, string>()
  for (const key of keys) {
    if (propertyNames.has(key)) continue
    const same = (each: string) => folded(each) === folded(key)
    const [name, ...more] = [...propertyNames].filter(same)
    // With two similar names, or two keys for one name, it is unclear which was meant.
    if (name !== undefined && more.length === 0 && keys.filter(same).length === 1) names.set(key, name)
  }
  if (names.size === 0) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [names.get(key) ?? key, inner]))
}

function folded(name: string): string {
  return name.toLowerCase().replace(/[\s_-]/g, '')
}

function asObject(value: unknown): JsonObject | undefined {
  if (isObject(value)) return value
  if (typeof value !== 'string' || !value.trim().startsWith('{')) return undefined
  try {
    const parsed: unknown = parseExactly(value)
    return isObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}
