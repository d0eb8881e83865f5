import { isObject } from './json.ts'

/** An argument that is repeated in a header, `Mcp-Param-` and a name. */
export interface ParamHeader {
  readonly name: string
  readonly path: readonly string[]
}

const MARK = 'x-mcp-header'
const TYPES: readonly unknown[] = ['string', 'integer', 'boolean']
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** Keywords that hold schemas, and those that hold them by names. */
const HOLD =
  /^(?:items|prefixItems|contains|(?:additional|unevaluated)(?:Properties|Items)|propertyNames|oneOf|anyOf|allOf|not|if|then|else)$/
const HOLD_NAMED = /^(?:properties|patternProperties|dependentSchemas|\$defs|definitions)$/

/** The headers that a tool's schema asks for. Throws an Error for a schema that asks for one where it must not. */
export function paramHeaders(schema: unknown): readonly ParamHeader[] {
  const found: ParamHeader[] = []
  const visit = (node: unknown, path: readonly string[] | undefined): void => {
    if (Array.isArray(node)) return node.forEach((each) => visit(each, undefined))
    if (!isObject(node)) return
    const { [MARK]: name, type } = node
    if (name !== undefined) {
      const isFit = typeof name === 'string' && TOKEN.test(name) && TYPES.includes(type)
      if (!path?.length || !isFit || found.some((each) => each.name.toLowerCase() === name.toLowerCase())) {
        throw new Error(`${MARK} ${JSON.stringify(name)} cannot be followed`)
      }
      found.push({ name, path })
    }
    for (const [keyword, held] of Object.entries(node)) {
      if (HOLD.test(keyword)) visit(held, undefined)
      if (!HOLD_NAMED.test(keyword) || !isObject(held)) continue
      for (const [key, each] of Object.entries(held)) {
        visit(each, keyword === 'properties' && path ? [...path, key] : undefined)
      }
    }
  }
  visit(schema, [])
  return found
}

/** The schema without its marks: they are between this Worker and the server. */
export function withoutMarks(schema: Record<string, unknown>): Record<string, unknown> {
  const text = JSON.stringify(schema, (key, value: unknown) =>
    key === MARK && typeof value === 'string' ? undefined : value,
  )
  const plain: unknown = JSON.parse(text)
  return isObject(plain) ? plain : {}
}

/** The headers of a call with these arguments. */
export function headersOf(wanted: readonly ParamHeader[], args: unknown): Record<string, string> {
  return Object.fromEntries(
    wanted.flatMap(({ name, path }) => {
      const value = path.reduce((held: unknown, key) => (isObject(held) ? held[key] : undefined), args)
      const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
      return isPlain ? [[`mcp-param-${name}`, headerValue(String(value))]] : []
    }),
  )
}

/** A text as the value of a header: in Base64 where it cannot be plain, or would be taken for Base64. */
export function headerValue(text: string): string {
  if (/^[!-~](?:[\t -~]*[!-~])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text)) return text
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte))
  return `=?base64?${btoa(bytes.join(''))}?=`
}
