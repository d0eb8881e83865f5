import { isObject, type JsonSchema } from '../contract/json.ts'
import { type DefinedTool, defineTool, type ToolHandlers, type ToolSettings } from './define.ts'
import type { RunContext } from './run-context.ts'
import { checkSchema } from '../schema/check.ts'
import { RESULT_LIMITS } from '../schema/document.ts'
import { issuesOf } from '../schema/validate.ts'
import type { InputSchema } from '../schema/standard-schema.ts'

/**
 * Turns a plain JSON Schema (2020-12 or draft-07, such as one from a database or another server) into a schema for
 * `defineTool`. Values are checked by interpreting it. Throws a TypeError that names the invalid places.
 *
 * @example
 * const input = jsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } } })
 * defineTool({ name: 'weather', description: 'Tells the weather.', input, run: ({ city }) => `Sunny in ${city}` })
 */
export function jsonSchema<Output = Record<string, unknown>>(schema: JsonSchema): InputSchema<Output> {
  const issues = checkSchema(schema, 'any')
  if (issues.length > 0) {
    const lines = issues.map(({ path, message }) => `${path || 'it'}: ${message}`)
    throw new TypeError(`Invalid JSON Schema: ${lines.join('; ')}`)
  }
  return {
    '~standard': {
      version: 1,
      vendor: 'json-schema',
      jsonSchema: { input: () => ({ ...schema }) },
      validate: (value) => {
        const issues = issuesOf(schema, value, RESULT_LIMITS)
        if (issues.length > 0)
          return { issues: issues.map(({ path, message }) => ({ message, path: path ? [path] : [] })), value }
        // Nothing but the schema is known of the value: the caller that names `Output` vouches that the two agree.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        return { value: value as Output }
      },
    },
  }
}

/** A tool definition that was loaded, such as from a database or another server. */
export interface RawDefinition extends Omit<ToolSettings, 'description' | 'output'> {
  readonly name: string
  /** Default: the title, else the name. */
  readonly description?: string
  /** Default: no arguments. */
  readonly inputSchema?: JsonSchema
  readonly outputSchema?: JsonSchema
}

/** Performs a call of a raw definition; `input` fits the definition's schema. */
export type Execute<Env> = (input: unknown, context: RunContext<Env>, definition: RawDefinition) => unknown

/**
 * Defines a tool by a loaded definition and the function that performs its calls. The function gets the definition too,
 * so that one function can serve many tools. Throws a TypeError for an invalid schema, which names the tool and the
 * place.
 *
 * @example
 * const definitions: RawDefinition[] = await (await fetch(`${url}/tools`)).json()
 * const tools = definitions.map((definition) =>
 *   defineRawTool(definition, async (input) => {
 *     const response = await fetch(`${url}/${definition.name}`, { method: 'POST', body: JSON.stringify(input) })
 *     return response.json()
 *   }),
 * )
 */
export function defineRawTool<Env = unknown>(
  definition: RawDefinition,
  execute: Execute<Env>,
  handlers: ToolHandlers<unknown, Env, unknown> = {},
): DefinedTool<Env> {
  const { name, inputSchema, outputSchema, ...settings } = definition
  const { description = '', title } = settings
  const schemaOf = (schema: unknown, subject: string): InputSchema => {
    try {
      return jsonSchema<unknown>(isObject(schema) ? schema : { not: {} })
    } catch (error) {
      throw new TypeError(`Tool "${name}": ${subject}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      })
    }
  }
  return defineTool<InputSchema, Env>({
    ...handlers,
    ...settings,
    name,
    description: description.trim() || title || name,
    input: schemaOf(inputSchema ?? { type: 'object', additionalProperties: false }, 'inputSchema'),
    ...(outputSchema && { output: schemaOf(outputSchema, 'outputSchema') }),
    run: (input, context: RunContext<Env>) => execute(input, context, definition),
  })
}
