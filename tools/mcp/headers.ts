import { isObject } from './json.ts'

/** An argument that is repeated in the header `Mcp-Param-{name}`. */
export interface ParamHeader {
  readonly name: string
  readonly path: readonly string[]
}

const MARK = 'x-mcp-header'
const TYPES: readonly unknown[] = ['string', 'integer', 'boolean']
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** JSON Schema keywords whose value is a schema or a list of schemas, and those whose value holds schemas by name. */
const HOLD =
  /^(?:items|prefixItems|contains|(?:additional|unevaluated)(?:Properties|Items)|propertyNames|oneOf|anyOf|allOf|not|if|then|else)$/
const LIMIT = /^(?:exclusive)?(?:[mM]ini|[mM]axi)mum$|^multipleOf$/
const HOLD_NAMED = /^(?:properties|patternProperties|dependentSchemas|\$defs|definitions)$/

/**
 * Returns the headers that the `x-mcp-header` marks of an input schema ask for. Throws an Error for a mark with an
 * invalid or duplicate name, on a type without plain text, or at a place that is not reached by `properties` alone.
 */
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

/**
 * Returns the schema without its `x-mcp-header` marks, which concern only this Worker and the server, and without limits
 * that JavaScript cannot hold, such as those of int64, which came as texts.
 */
export function withoutMarks(schema: Record<string, unknown>): Record<string, unknown> {
  const text = JSON.stringify(schema, (key, value: unknown) =>
    typeof value === 'string' && (key === MARK || LIMIT.test(key)) ? undefined : value,
  )
  const plain: unknown = JSON.parse(text)
  return isObject(plain) ? plain : {}
}

/** Returns the `Mcp-Param-*` headers of a call with these arguments. */
export function headersOf(wanted: readonly ParamHeader[], args: unknown): Record<string, string> {
  return Object.fromEntries(
    wanted.flatMap(({ name, path }) => {
      const value = path.reduce((held: unknown, key) => (isObject(held) ? held[key] : undefined), args)
      const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
      return isPlain ? [[`mcp-param-${name}`, headerValue(String(value))]] : []
    }),
  )
}

/** Encodes a text as a header value: in Base64 if it cannot be plain, or would be read as Base64. */
export function headerValue(text: string): string {
  if (/^[!-~](?:[\t -~]*[!-~])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text)) return text
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte))
  return `=?base64?${btoa(bytes.join(''))}?=`
}
