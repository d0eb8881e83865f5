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
