/**
 * Reads a tool's JSON result as a record of facts and lists of records. Nested objects belong to the record of their
 * parents. Of a list with an entry for each day, only the entries of the day in question count.
 */
import { isObject } from '../../contract/json.ts'

export interface Fact {
  /** The name of the value, prefixed with its parent's name if two names are equal; `''` for a bare value. */
  readonly key: string
  readonly value: string | number | boolean
}

export interface List {
  readonly key: string
  readonly rows: readonly (readonly Fact[])[]
}

export interface Found {
  readonly facts: readonly Fact[]
  readonly lists: readonly List[]
}

const MOST_FACTS = 40

/** Reads a JSON result; returns undefined for plain text. `date` is the day in question, as YYYY-MM-DD. */
export function findFacts(text: string, date = '?'): Found | undefined {
  try {
    return collect(JSON.parse(text), date)
  } catch {
    return undefined
  }
}

/** Returns the facts of the record and of all lists. */
export function allFacts({ facts, lists }: Found): readonly Fact[] {
  return [...facts, ...lists.flatMap(({ rows }) => rows.flat())]
}

function collect(json: unknown, date: string): Found {
  const named: (Fact & { readonly parent: string })[] = []
  const lists: List[] = []
  const walk = (key: string, value: unknown, parent: string): void => {
    if (isScalar(value)) named.push({ key, value, parent })
    else if (isObject(value)) for (const [name, inner] of Object.entries(value)) walk(name, inner, key)
    else if (Array.isArray(value)) {
      const entries = value.filter((item) => JSON.stringify(item).includes(`"${date}`))
      const [entry, second] = entries
      if (entry !== undefined && second === undefined) walk(key, entry, parent)
      else if (value.length > 0 && value.every(isScalar)) named.push({ key, value: value.join(', '), parent })
      else {
        const rows = entry === undefined ? value : entries
        lists.push({ key, rows: rows.map((item) => allFacts(collect(item, date)).slice(0, MOST_FACTS)) })
      }
    }
  }
  walk('', json, '')
  const isAmbiguous = (key: string): boolean => named.filter((fact) => fact.key === key).length > 1
  const facts = named.map(({ key, value, parent }) => {
    return { key: parent !== '' && isAmbiguous(key) ? `${parent} ${key}` : key, value }
  })
  return { facts: facts.slice(0, MOST_FACTS), lists }
}

function isScalar(value: unknown): value is Fact['value'] {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

/** Tells whether a fact says that the data is made up. */
export function marksStandIn({ key, value }: Fact): boolean {
  return /source|provider|origin|note/i.test(key) && /stand-?in|sample|mock|fake|demo|simulat|模拟/i.test(String(value))
}
