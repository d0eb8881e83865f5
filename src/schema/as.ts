import { isObject } from '../contract/json.ts'

/**
 * The key under which a schema made by `convertInput` names a kind of value that JSON lacks, such as `date`, and that
 * its JSON is converted to. It is a symbol, so that it never leaves this Worker.
 */
export const AS: unique symbol = Symbol('as')

interface As {
  readonly fits: (value: unknown) => boolean
  readonly make: (value: unknown) => unknown
}

const DIGITS = /^\s*-?\d+\s*$/
const ISO = /^(\d{4}-\d\d-\d\d)(?:[t ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(z|[+-]\d\d:?\d\d)?)?$/i

/** Values that JSON does not have: which JSON fits each kind, and how it is converted. A time without a zone is UTC. */
const KINDS: Readonly<Record<string, As>> = {
  date: {
    fits: (value) => toDate(value) !== undefined,
    make: toDate,
  },
  bigint: {
    // An integer that a JavaScript number cannot hold arrives as text (`parseExactly`).
    fits: (value) => Number.isInteger(value) || (typeof value === 'string' && DIGITS.test(value)),
    make: (value) => BigInt(typeof value === 'number' ? value : String(value)),
  },
  set: { fits: Array.isArray, make: (value) => new Set(list(value)) },
  map: { fits: isObject, make: (value) => new Map(isObject(value) ? Object.entries(value) : []) },
}

export function asOf(schema: object): As | undefined {
  const as: unknown = Reflect.get(schema, AS)
  return typeof as === 'string' ? KINDS[as] : undefined
}

function toDate(value: unknown): Date | undefined {
  const [text, day = '', zone] = typeof value === 'string' ? (ISO.exec(value.trim()) ?? []) : []
  // `Date` takes the 31st of a shorter month for a day of the next one, so the day is compared.
  if (text === undefined || !(new Date(day).toJSON() ?? '').startsWith(day)) return undefined
  const date = new Date(zone !== undefined || text === day ? text : `${text}Z`)
  return Number.isNaN(date.valueOf()) ? undefined : date
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
