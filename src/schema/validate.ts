import { isLongNumber } from '../contract/exact-numbers.ts'
import { isObject, type JsonSchema, partAt } from '../contract/json.ts'
import type { DefinitionIssue } from '../contract/definition.ts'
import type { ToolDefinition } from '../contract/tool-definition.ts'
import type { ToolFailure, ToolRequest } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'
import { coerce } from './coerce.ts'
import { absence, describeIssues, describeMisfit, unknownKeys, withKnownKeys } from './issue.ts'
import { documentOf, plainFault, type PlainLimits } from './document.ts'
import { misfits } from './fit.ts'
import { TOO_MUCH_WORK } from './pattern.ts'

/**
 * Checks arguments against a JSON Schema that `checkSchema` found sound. Returns undefined if they fit, else the
 * failure `invalid_arguments`, whose message tells the model what to correct. Arguments with too many levels or values
 * do not fit.
 */
export function validateArguments(tool: string, schema: JsonSchema, value: unknown): ToolFailure | undefined {
  const issues = issuesOf(schema, value)
  return issues.length === 0 ? undefined : failure('invalid_arguments', describeIssues(tool, issues))
}

/**
 * Returns arguments that fit a sound schema: with their keys renamed to those of the schema (`withKnownKeys`), and
 * mended by `coerce` if they would not fit otherwise. Arguments of which the tool would see none are refused.
 */
export function fittingArguments(
  { name, inputSchema }: Pick<ToolDefinition, 'name' | 'inputSchema'>,
  args: ToolRequest['arguments'],
): { readonly ok: true; readonly value: ToolRequest['arguments'] } | ToolFailure {
  const renamedArgs = withKnownKeys(inputSchema, args)
  const unfit = validateArguments(name, inputSchema, renamedArgs)
  if (!unfit) {
    const unknown = unknownKeys(inputSchema, renamedArgs)
    if (unknown || !isObject(renamedArgs))
      return failure('invalid_arguments', describeIssues(name, unknown ? [unknown] : []))
    return { ok: true, value: renamedArgs }
  }
  // A value that takes too much work to check would take too much to mend.
  if (unfit.error.message.includes(TOO_MUCH_WORK)) return unfit
  const value = coerce(inputSchema, renamedArgs)
  return isObject(value) && !validateArguments(name, inputSchema, value) ? { ok: true, value } : unfit
}

/** Returns where the examples of a definition do not fit its schema. */
export function exampleIssues({
  inputSchema,
  inputExamples = [],
}: Pick<ToolDefinition, 'inputSchema' | 'inputExamples'>): readonly DefinitionIssue[] {
  return inputExamples.flatMap((example, index) =>
    issuesOf(inputSchema, example).map(({ path, message }) => ({
      path: ['inputExamples', index, path].filter((part) => part !== '').join('.'),
      message,
    })),
  )
}

/** A number with more digits than JavaScript holds, and its place in a value. */
interface LongPlace {
  readonly keys: readonly string[]
  readonly digits: string
}

/**
 * Returns a value with the nearest number in each place where its schema refuses the text of a number that JavaScript cannot
 * hold (`parseExactly`), and these places. A number that is out of JavaScript's range stays text.
 */
export function nearestNumbers(
  schema: JsonSchema,
  value: unknown,
): { readonly value: unknown; readonly places: readonly LongPlace[] } {
  let newPlaces = longPlaces(schema, value)
  if (newPlaces.length === 0) return { value, places: [] }
  const root = structuredClone({ value })
  const places: LongPlace[] = []
  // A check tells the first misfits alone.
  for (let round = 0; newPlaces.length > 0 && round < MOST_ROUNDS; round++) {
    for (const { keys, digits } of newPlaces) {
      const path = ['value', ...keys]
      Object(partAt(root, path.slice(0, -1)))[String(path.at(-1))] = Number(digits)
    }
    places.push(...newPlaces)
    newPlaces = longPlaces(schema, root.value)
  }
  return { value: root.value, places }
}

/** The most times that a value is checked for long numbers. */
const MOST_ROUNDS = 10

function longPlaces(schema: JsonSchema, value: unknown): readonly LongPlace[] {
  try {
    return misfits(schema, value).flatMap(({ keys }): LongPlace[] => {
      const digits = partAt(value, keys)
      return isLongNumber(digits) && Number.isFinite(Number(digits)) ? [{ keys, digits }] : []
    })
  } catch {
    // What cannot be checked has been refused.
    return []
  }
}

const LIMITS = { depth: 32, values: 10_000 }

/**
 * Returns where a value does not fit a sound schema, and what was expected. `__proto__` is only a key if the schema
 * names it.
 */
export function issuesOf(
  schema: JsonSchema | boolean,
  value: unknown,
  limits: PlainLimits = LIMITS,
): readonly DefinitionIssue[] {
  const fault = plainFault(value, { ...limits, proto: documentOf(schema).namesProto })
  if (fault) return [fault]
  try {
    return misfits(schema, value).map(({ keys, expected, received }) => ({
      path: keys.join('.'),
      message: received === 'undefined' ? absence(expected) : describeMisfit(expected, received),
    }))
  } catch (error) {
    return [{ path: '', message: `cannot be checked: ${error instanceof Error ? error.message : String(error)}` }]
  }
}
