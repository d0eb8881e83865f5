import type { DefinitionIssue } from '../contract/definition.ts'
import { hasHidden } from '../contract/hidden-characters.ts'

export interface PlainLimits {
  /** The most levels of nested objects and arrays. */
  readonly depth: number
  /** The most values in all, counted over all levels. */
  readonly values: number
  /**
   * Whether to refuse characters that models see and people do not (`hidden-characters.ts`). `schema` allows control
   * characters, since JSON shows them as escapes, such as `\u0000`.
   */
  readonly visible?: boolean | 'schema'
  /** Whether a key may be `__proto__`. Default: no, since code that copies such a value could change a prototype. */
  readonly proto?: boolean
}

/**
 * Returns the first reason why a value is not plain, bounded JSON: too many levels, too many values, a key `__proto__`,
 * a function, a class instance, a number that is not finite. Undefined if it is. It does not recurse, so it can be
 * called before code that does.
 */
export function plainFault(root: unknown, limits: PlainLimits): DefinitionIssue | undefined {
  const open: Place[] = [{ value: root, depth: 0 }]
  let values = 0
  for (let place = open.pop(); place; place = open.pop()) {
    const { value, depth } = place
    values += 1
    if (values > limits.values) return { path: '', message: `expected at most ${limits.values} values` }
    const message = faultOf(value, place, limits)
    if (message !== undefined) return { path: pathOf(place), message }
    if (typeof value !== 'object' || value === null) continue
    for (const [key, child] of Object.entries(value)) {
      // Over RPC a key may arrive with the value undefined, which JSON would omit.
      if (child === undefined && !Array.isArray(value)) continue
      open.push({ value: child, depth: depth + 1, key, parent: place })
    }
  }
  return undefined
}

interface Place {
  readonly value: unknown
  readonly depth: number
  readonly key?: string
  readonly parent?: Place
}

function faultOf(value: unknown, { depth, key }: Place, limits: PlainLimits): string | undefined {
  if (key === '__proto__' && limits.proto !== true) return 'expected a name other than __proto__'
  const isHidden = (text: string) => hasHidden(limits.visible === 'schema' ? text.replace(CONTROLS, '') : text)
  if (limits.visible && key !== undefined && isHidden(key)) return HIDDEN_MESSAGE
  switch (typeof value) {
    case 'string':
      return limits.visible && isHidden(value) ? HIDDEN_MESSAGE : undefined
    case 'boolean':
      return undefined
    case 'number':
      return Number.isFinite(value) ? undefined : `expected a finite number, received ${value}`
    case 'object':
      if (value === null) return undefined
      if (depth >= limits.depth) return `expected at most ${limits.depth} levels`
      return Array.isArray(value) || isPlain(value) ? undefined : 'expected plain JSON, received an instance of a class'
    default:
      return `expected plain JSON, received ${typeof value}`
  }
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  // Objects of another realm (a test's sandbox) have another Object.prototype, whose own prototype is null too.
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Matches the characters that JSON always escapes. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f]/g

const HIDDEN_MESSAGE = 'expected visible text, received control or invisible characters'

function pathOf(place: Place): string {
  const keys: string[] = []
  for (let at: Place | undefined = place; at?.key !== undefined; at = at.parent) keys.unshift(at.key)
  return keys.join('.')
}
