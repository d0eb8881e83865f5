import type { JsonSchema } from '../contract/json.ts'
import type { DefinitionIssue } from '../contract/setup.ts'
import type { ToolFailure } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'
import { checkSchema } from './check-schema.ts'
import { compileSchema, type CompiledSchema } from './compile.ts'
import { misfits, type Misfit } from './misfit.ts'
import { plainFault } from './plain.ts'

const MOST_ISSUES = 8

/**
 * Checks arguments against a JSON Schema (2020-12, or draft-07 where `$schema` says so). Undefined where they fit, else
 * the failure `invalid_arguments`, whose message tells the model what to correct, at most eight lines of it. Arguments
 * that are nested or numerous beyond use do not fit. A schema that is not sound gives `invalid_schema`.
 */
export function validateArguments(tool: string, schema: JsonSchema, value: unknown): ToolFailure | undefined {
  const compiled = compiledOf(schema)
  if (Array.isArray(compiled)) {
    const detail = compiled.map(({ path, message }) => `${path}: ${message}`).join('\n')
    return failure('invalid_schema', `The tool "${tool}" cannot be called: its schema is broken.`, detail)
  }
  const issues = issuesOf(compiled, value)
  if (issues.length === 0) return undefined
  const lines = issues.slice(0, MOST_ISSUES).map(({ path, message }) => `- ${path || 'arguments'}: ${message}`)
  if (issues.length > MOST_ISSUES) lines.push(`- and ${issues.length - MOST_ISSUES} more`)
  return failure(
    'invalid_arguments',
    `The arguments of "${tool}" do not fit:\n${lines.join('\n')}\nCorrect them and call again.`,
  )
}

const VALUE_LIMITS = { depth: 32, values: 10_000 }

function issuesOf(compiled: CompiledSchema, value: unknown): readonly Misfit[] {
  const fault = plainFault(value, VALUE_LIMITS)
  if (fault) return [fault]
  try {
    return misfits(compiled, value)
  } catch (error) {
    // A RangeError says that the value is too much for the schema; a URIError, that a key is not well-formed text.
    return [{ path: '', message: `cannot be checked: ${error instanceof Error ? error.message : String(error)}` }]
  }
}

const compiledSchemas = new WeakMap<JsonSchema, CompiledSchema | DefinitionIssue[]>()

function compiledOf(schema: JsonSchema): CompiledSchema | DefinitionIssue[] {
  let compiled = compiledSchemas.get(schema)
  if (compiled === undefined) {
    const issues = checkSchema(schema)
    compiled = issues.length > 0 ? issues : compileSchema(schema)
    compiledSchemas.set(schema, compiled)
  }
  return compiled
}
