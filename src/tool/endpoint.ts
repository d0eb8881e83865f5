import { parseTemplate, type Template } from './template.ts'

/** Where an HTTP tool sends its requests, taken apart. Its origin is fixed; path and query may hold placeholders. */
export interface Endpoint {
  /** Scheme, host and port alone. */
  readonly base: URL
  /** The path's segments, each to be encoded by itself. */
  readonly segments: readonly Template[]
  readonly query: readonly (readonly [name: string, value: Template])[]
}

const PARTS = /^(https?:\/\/[^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/i
/** `.` and `..`, also as `%2e`. */
const DOTS = /^(?:\.|%2e){1,2}$/i

/** Reads the template of a URL, or says what is wrong with it. */
export function parseEndpoint(template: string): Endpoint | string {
  // A URL parser drops tabs and line ends, and takes a backslash for a slash: neither may hide anything here.
  if (/[\s\\]/.test(template)) return 'expected a URL without spaces and backslashes'
  const [, origin, path = '/', query = ''] = PARTS.exec(template) ?? []
  if (origin === undefined) return 'expected an absolute URL that begins with https:// and has no fragment'
  if (/[{}]/.test(origin))
    return 'expected a fixed scheme, host and port: placeholders may stand in path and query alone'
  if (origin.includes('@')) return 'expected a URL without user name and password: use a header'
  if (!URL.canParse(origin)) return 'expected a URL with a valid host'
  const segments = path.slice(1).split('/').map(parseTemplate)
  const pairs = [...new URLSearchParams(query)]
  const written = [...segments.flat(), ...pairs.flatMap(([, value]) => parseTemplate(value))]
  if (
    written.some((piece) => typeof piece === 'string' && /[{}]/.test(piece)) ||
    pairs.some(([name]) => /[{}]/.test(name))
  ) {
    return 'expected placeholders such as {city}, each within one path segment or query value'
  }
  if (segments.some((segment) => isDots(segment.map((piece) => (typeof piece === 'string' ? piece : 'x')).join('')))) {
    return 'expected a path without the segments . and ..'
  }
  return { base: new URL(origin), segments, query: pairs.map(([name, value]) => [name, parseTemplate(value)]) }
}

/** True for a path segment that a URL parser would take for “here” or “one up”. */
export function isDots(segment: string): boolean {
  return DOTS.test(segment)
}
