/** True for `{…}`: not null, not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the value if it is an object, else an empty object. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {}
}

/** Returns the value if it is a string, else ''. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/**
 * Parses a JSON text; returns undefined for any other text. With `exactly`, an integer that a double cannot hold
 * exactly becomes a string of its digits.
 */
export function parseJson(text: string, exactly: boolean): unknown {
  try {
    // A reviver is slow, and most texts have no such number.
    return exactly && LONG.test(text) ? JSON.parse(text, toDigits) : JSON.parse(text)
  } catch {
    return undefined
  }
}

const LONG = /\d{16}/
const LONG_INTEGER = /^-?\d{16,}$/

function toDigits(_key: string, value: unknown, { source = '' }: { readonly source?: string } = {}): unknown {
  return LONG_INTEGER.test(source) && String(value) !== source ? source : value
}
