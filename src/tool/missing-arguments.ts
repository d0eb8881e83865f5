import { isObject, type JsonSchema } from '../contract/json.ts'
import type { Compat } from '../contract/run-options.ts'
import type { Arguments, ParseResult } from './arguments.ts'

/**
 * Parses arguments as Spring AI and LangChain4j do, which call a method with null for a required argument that the model
 * left out. The tool's `run` gets null there, whatever its schema says of the value. There is no null for a number or a
 * boolean: with Spring AI the run fails, with LangChain4j the arguments do not fit. Without `compat`, if other arguments do
 * not fit, and behind a transform of all arguments together, this parses as the schema says.
 */
export async function parseWithNulls<Output>(
  { schema, parse }: Arguments<Output>,
  input: unknown,
  compat: Compat | undefined,
): Promise<ParseResult<Output>> {
  const parsed = await parse(input)
  if (parsed.ok || !compat) return parsed
  const values = isObject(input) ? input : {}
  const missing = requiredOf(schema).filter(([name]) => (values[name] ?? null) === null)
  const isMissing = (path: string) => missing.some(([name]) => path === name || path.startsWith(`${name}.`))
  if (!parsed.issues.every(({ path }) => isMissing(path))) return parsed
  if (missing.some(([, { type }]) => PRIMITIVE.test(String(type)))) {
    return compat === 'spring-ai' ? { ...parsed, fatal: true } : parsed
  }
  if (parsed.partial === undefined) return parsed
  for (const [name] of missing) Reflect.set(Object(parsed.partial), name, null)
  return { ok: true, value: parsed.partial }
}

const PRIMITIVE = /^(?:number|integer|boolean)$/

type Property = readonly [name: string, schema: JsonSchema]

function requiredOf({ properties, required }: JsonSchema): readonly Property[] {
  const schemaOf = (name: string) => (isObject(properties) ? properties[name] : undefined)
  return (Array.isArray(required) ? required : []).map((name): Property => {
    const schema = schemaOf(String(name))
    return [String(name), isObject(schema) ? schema : {}]
  })
}
