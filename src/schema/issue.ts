import { isObject, type JsonSchema } from '../contract/json.ts'
import { failure, type ToolFailure } from '../contract/tool.ts'
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
 * the JSON Schema, which has the type of a value that is missing.
 */
export function toIssue({ message, path = [], expected, received }: KnownIssue, json?: JsonSchema): Issue {
  const keys = path.map((each) => (typeof each === 'object' ? each.key : each))
  // Items of a set have no key.
  const where = keys.filter((key) => typeof key === 'string' || typeof key === 'number').join('.')
  if (message.startsWith('expected') || received === undefined) return { path: where, message }
  if (received === 'undefined' && expected) return { path: where, message: absence(typeOf(json, keys) ?? expected) }
  // Some of Valibot's messages end in the received value, and others do not mention it.
  if (!expected && message.includes('eceived'))
    return { path: where, message: message.replace(/: Received .*$/, `, received ${received}`) }
  const words = expected ? `expected ${wordsOf(expected)}, received ${received}` : `${message} (received ${received})`
  return { path: where, message: words }
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

/** Returns the outcome of a call whose result does not fit its tool's output schema. The tool has run. */
export function invalidOutput(tool: string, issues: readonly Issue[]): ToolFailure {
  const message = `The tool "${tool}" was called, but its result does not fit its output schema:\n${linesOf(issues, 'result')}\nThe call may have taken effect: do not repeat it for a better result.`
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
