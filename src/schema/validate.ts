import { isObject, type JsonSchema } from '../contract/json.ts'
import type { DefinitionIssue } from '../contract/definition.ts'
import type { ToolDefinition } from '../contract/tool-definition.ts'
import type { ToolFailure, ToolRequest } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'
import { coerce } from './coerce.ts'
import { absence, describeIssues, unknownKeys, withKnownKeys } from './issue.ts'
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
      message: received === 'undefined' ? absence(expected) : `expected ${expected}, received ${received}`,
    }))
  } catch (error) {
    return [{ path: '', message: `cannot be checked: ${error instanceof Error ? error.message : String(error)}` }]
  }
}
