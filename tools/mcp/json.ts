/** True for `{…}`: not null, not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The members of what may be an object; none where it is something else. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {}
}

/** A value that is a text, or ''. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/**
 * The value of a JSON text, or undefined where it is none. `exactly`: a whole number with more digits than JavaScript
 * holds is kept as a text of them.
 */
export function parseJson(text: string, exactly: boolean): unknown {
  try {
    // A reviver is dear, and most texts have no such number.
    return exactly && LONG.test(text) ? JSON.parse(text, toDigits) : JSON.parse(text)
  } catch {
    return undefined
  }
}

const LONG = /\d{16}/
const WHOLE = /^-?\d{16,}$/

function toDigits(_key: string, value: unknown, { source = '' }: { readonly source?: string } = {}): unknown {
  return WHOLE.test(source) && String(value) !== source ? source : value
}
