import { isObject, type JsonSchema } from '../contract/json.ts'
import type { Compat } from '../contract/run-options.ts'
import type { Arguments, ParseResult } from './arguments.ts'

/**
 * Parses arguments as Spring AI and LangChain4j do, which call a method with null for a required argument that the model
 * left out: Spring AI for any, LangChain4j not for numbers and booleans. The tool's `run` gets null there, whatever its
 * schema says. Without `compat`, and if other arguments do not fit, this parses as the schema says.
 */
export async function parseWithNulls<Output>(
  { schema, parse }: Arguments<Output>,
  input: unknown,
  compat: Compat | undefined,
): Promise<ParseResult<Output>> {
  const parsed = await parse(input)
  if (parsed.ok || !compat) return parsed
  const values = fieldsOf(input)
  const missing = requiredOf(schema).filter(
    ([name, { type }]) =>
      (values[name] ?? null) === null && !(compat === 'langchain4j' && PRIMITIVE.test(String(type))),
  )
  // Values of the right kind stand in for the missing ones, so that the others are validated and converted as ever.
  const filled = await parse({ ...values, ...standIns(missing) })
  if (!filled.ok) return parsed
  for (const [name] of missing) Reflect.set(Object(filled.value), name, null)
  return filled
}

const PRIMITIVE = /^(?:number|integer|boolean)$/

type Property = readonly [name: string, schema: JsonSchema]

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {}
}

function requiredOf({ properties, required }: JsonSchema): readonly Property[] {
  return Array.isArray(required) ? required.map((name) => [String(name), fieldsOf(fieldsOf(properties)[name])]) : []
}

function standIns(properties: readonly Property[]): object {
  return Object.fromEntries(properties.map(([name, schema]) => [name, standIn(schema)]))
}

function standIn(schema: JsonSchema): unknown {
  const { type, enum: choices, minLength, minimum = 0 } = schema
  if (Array.isArray(choices)) return choices[0]
  if (type === 'object') return standIns(requiredOf(schema))
  if (type === 'array') return []
  if (type === 'string') return 'x'.repeat(Number(minLength ?? 0))
  return type === 'boolean' ? false : minimum
}
