import { isObject, type JsonSchema } from '../../../contract/json.ts'

/** The keyword by which a schema asks clients to repeat an argument in the header `Mcp-Param-{its value}`. */
const MARK = 'x-mcp-header'
const WRAPPED = /^=\?base64\?(.*)\?=$/

/**
 * Checks that the `Mcp-Param-*` headers of a call repeat its arguments as the tool's schema requires (SEP-2243), so
 * that a proxy that routes by a header routes by what the tool receives. Returns what is wrong, or undefined.
 */
export function paramMismatch(schema: JsonSchema, args: unknown, headers: Headers): string | undefined {
  const properties = isObject(schema['properties']) ? Object.entries(schema['properties']) : []
  for (const [key, property] of properties) {
    if (!isObject(property)) continue
    const value = isObject(args) && Object.hasOwn(args, key) ? args[key] : undefined
    const { [MARK]: name } = property
    const fault =
      typeof name === 'string' && TOKEN.test(name)
        ? headerMismatch(`Mcp-Param-${name}`, value, headers)
        : paramMismatch(property, value, headers)
    if (fault !== undefined) return fault
  }
  return undefined
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

function headerMismatch(header: string, value: unknown, headers: Headers): string | undefined {
  const text = textOf(value)
  const received = headers.get(header) ?? undefined
  const decoded = received === undefined ? undefined : decode(received)
  if (decoded === null) return `The header ${header} is not valid Base64.`
  return decoded === text ? undefined : `The header ${header} must repeat the argument that the schema marks with it.`
}

/** Returns a value as a header repeats it; undefined for one that has no plain text. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

/** Decodes a header that may be wrapped as Base64. Null if it is wrapped and not valid. */
function decode(value: string): string | null {
  const [, base64] = WRAPPED.exec(value) ?? []
  if (base64 === undefined) return value
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
    // `atob` accepts texts without their padding.
    return base64.length % 4 === 0 ? new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) : null
  } catch {
    return null
  }
}
