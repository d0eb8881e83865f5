import { isObject, parseJson } from '../../contract/json.ts'

/**
 * The catalogue's read copy in KV: a value for each version, which never changes, under `tool:<name>@<hash>`; under
 * `tools:index` which version is current; and under `tools:texts` what each can be found by (`texts.ts`). The index is a line of JSON, then a line `<name> <hash>` for each tool, sorted
 * by name: a tool is found among thousands without reading the rest.
 */
export const INDEX_KEY = 'tools:index'

/**
 * Under `tools:accepted`, in the same form, what is accepted of tools that the catalogue does not hold: a line for each,
 * with `acceptedKey` in the place of the name.
 */
export const ACCEPTED_KEY = 'tools:accepted'

export function acceptedKey({ name, place }: { readonly name: string; readonly place: string }): string {
  return `${name}@${place.replaceAll(' ', '_')}`
}

export function versionKey(name: string, hash: string): string {
  return `tool:${name}@${hash}`
}

export interface IndexEntry {
  readonly name: string
  readonly hash: string
  /** Whether it is offered by default. */
  readonly offered: boolean
}

/** Writes an index. `entries` are sorted by name. */
export function encodeIndex(revision: number, entries: readonly IndexEntry[]): string {
  const offered = entries.flatMap(({ name, offered }) => (offered ? [name] : []))
  const lines = entries.map(({ name, hash }) => `${name} ${hash}\n`)
  return `${JSON.stringify({ revision, size: entries.length, offered })}\n${lines.join('')}`
}

/** An index as it was after one write of the catalogue. */
export interface CatalogueIndex {
  /** That of the last write it holds; 0 where nothing was ever written. */
  readonly revision: number
  /** How many tools there are. */
  readonly size: number
  /** What is offered by default. */
  readonly offered: readonly string[]
  /** Hash of the current version of a name. Its cost does not grow with the tools, but for the steps of a search. */
  hashOf(name: string): string | undefined
  names(): string[]
}

export const NO_INDEX: CatalogueIndex = {
  revision: 0,
  size: 0,
  offered: [],
  hashOf: () => undefined,
  names: () => [],
}

/** Reads an index. Throws an Error for a text that is none. */
export function readIndex(text: string): CatalogueIndex {
  const start = text.indexOf('\n') + 1
  return {
    ...headOf(text.slice(0, start)),
    hashOf: (name) => hashIn(text, start, name),
    names: () => Array.from(text.slice(start).matchAll(/^\S+/gm), ([name]) => name),
  }
}

function headOf(line: string): Pick<CatalogueIndex, 'revision' | 'size' | 'offered'> {
  const head = parseJson(line)
  const { revision, size = 0, offered } = isObject(head) ? head : {}
  if (typeof revision !== 'number' || typeof size !== 'number' || !Array.isArray(offered)) {
    throw new Error(`${INDEX_KEY} holds no index`)
  }
  return { revision, size, offered: offered.map(String) }
}

/** Looks a name up by halves; `low` and `high` always stand where a line begins. */
function hashIn(text: string, start: number, name: string): string | undefined {
  let [low, high] = [start, text.length]
  while (low < high) {
    const at = text.lastIndexOf('\n', ((low + high) >> 1) - 1) + 1
    const [space, end] = [text.indexOf(' ', at), text.indexOf('\n', at)]
    const found = text.slice(at, space)
    if (found === name) return text.slice(space + 1, end)
    if (found < name) low = end + 1
    else high = at
  }
  return undefined
}
