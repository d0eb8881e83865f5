import { isObject } from '../contract/json.ts'

/** Reads another document, by its path within the first one's folder. Undefined if there is none. */
type ReadDocument = (path: string) => unknown

const MOST_DOCUMENTS = 200
/** The key of the bundled documents in the root. A name of letters alone needs no escapes in a reference. */
const KEY = 'x-bundled'

/**
 * Copies the documents that an OpenAPI document refers to into it, and those that they refer to in turn, so that each
 * reference leads to a place in one document. A reference to what cannot be read stays as it is.
 */
export function bundleOpenApi(document: unknown, read: ReadDocument): unknown {
  if (!isObject(document) || !hasOtherFiles(document)) return document
  const bundled: unknown[] = []
  const numbers = new Map<string, number>()

  const numberOf = (path: string): number | undefined => {
    const existing = numbers.get(path)
    if (existing !== undefined) return existing
    const document = numbers.size < MOST_DOCUMENTS ? read(path) : undefined
    if (document === undefined) return undefined
    const number = bundled.push(undefined) - 1
    numbers.set(path, number)
    bundled[number] = rewritten(document, path)
    return number
  }

  /** Copies a part of the document at a path, with references as they are from the root. */
  const rewritten = (value: unknown, path: string): unknown => {
    if (Array.isArray(value)) return value.map((item) => rewritten(item, path))
    if (!isObject(value)) return value
    const entries = Object.entries(value).map(([key, inner]) => {
      if (key !== '$ref' || typeof inner !== 'string') return [key, rewritten(inner, path)] as const
      return [key, referenceFrom(path, inner)] as const
    })
    return Object.fromEntries(entries)
  }

  const referenceFrom = (path: string, ref: string): string => {
    const [file = '', fragment = ''] = ref.split('#')
    if (file === '') return path === '' ? ref : `#/${KEY}/${numberOf(path)}${fragment}`
    const number = numberOf(pathFrom(path, file))
    return number === undefined ? ref : `#/${KEY}/${number}${fragment}`
  }

  const root = rewritten(document, '')
  return bundled.length === 0 || !isObject(root) ? document : { ...root, [KEY]: bundled }
}

/** Returns whether any reference leads to another document. */
function hasOtherFiles(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(hasOtherFiles)
  return Object.entries(value).some(([key, inner]) =>
    key === '$ref' && typeof inner === 'string' ? !inner.startsWith('#') : hasOtherFiles(inner),
  )
}

/** Resolves a path against that of the document in which it stands; it stays in the first one's folder. A URL stays a URL. */
function pathFrom(base: string, path: string): string {
  const root = 'file:///'
  const url = URL.parse(path, new URL(base, root).href)
  return url?.href.startsWith(root) ? decodeURIComponent(url.href.slice(root.length)) : path
}
