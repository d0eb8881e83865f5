import { withoutNames } from './template.ts'

/** The URL of an HTTP tool, in parts. Its origin is fixed; path and query may hold placeholders. */
export interface Endpoint {
  /** Scheme, host and port alone. */
  readonly base: URL
  /** The path's segments, each to be encoded by itself. */
  readonly segments: readonly string[]
  readonly query: readonly (readonly [name: string, value: string])[]
}

const PARTS = /^(https?:\/\/[^/?#{}@]+)(\/[^?#]*)?(?:\?([^#]*))?$/i

/** Parses the template of a URL; returns what was expected, as text, if it is not valid. */
export function parseEndpoint(template: string): Endpoint | string {
  // A URL parser drops tabs and line ends, and takes a backslash for a slash: neither may hide anything here.
  const [, origin = '', path = '/', query = ''] = (!/[\s\\]/.test(template) && PARTS.exec(template)) || []
  if (!URL.canParse(origin)) {
    return 'an absolute URL: https://, a fixed host, a path; no user name, fragment, space or backslash'
  }
  const segments = path.slice(1).split('/')
  const pairs = [...new URLSearchParams(query)]
  const texts = [...segments, ...pairs.map(([, value]) => value)].map((text) => withoutNames(text, 'x'))
  if ([...texts, ...pairs.map(([name]) => name)].some((text) => /[{}]/.test(text))) {
    return 'placeholders such as {city}, each within one path segment or query value'
  }
  if (texts.slice(0, segments.length).some(isDots)) return 'a path without the segments . and ..'
  return { base: new URL(origin), segments, query: pairs }
}

/** Returns whether a URL parser resolves a path segment away: `.` and `..`, also written as `%2e`. */
export function isDots(segment: string): boolean {
  return /^(?:\.|%2e){1,2}$/i.test(segment)
}
