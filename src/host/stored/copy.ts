import { isObject, parseJson } from '../../contract/json.ts'
import type { ToolText } from '../../contract/tool.ts'
import { encodeTerms } from '../../search/stored-terms.ts'

/**
 * The key of the index in the catalogue's read copy in KV. The copy has a value for each version, which never changes,
 * under `tool:<name>@<hash>`; under `tools:index` the current version of each tool; under `tools:texts` the search texts
 * (`texts.ts`), and under `tools:terms` the search index (`terms.ts`). The index of versions is a line of JSON, then a
 * line `<name> <hash>` for each tool, sorted by name, so that a tool is found among thousands without reading the rest.
 */
export const INDEX_KEY = 'tools:index'

/**
 * The key of the accepted hashes of tools that the catalogue does not hold: an index of the same form, with
 * `acceptedKey` in place of the name.
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

/** Encodes an index. Expects `entries` sorted by name. */
export function encodeIndex(revision: number, entries: readonly IndexEntry[]): string {
  const offered = entries.flatMap(({ name, offered }) => (offered ? [name] : []))
  const lines = entries.map(({ name, hash }) => `${name} ${hash}\n`)
  return `${JSON.stringify({ revision, size: entries.length, offered })}\n${lines.join('')}`
}

/** An index as it was after one write of the catalogue. */
export interface CatalogueIndex {
  /** The revision of the last write that it holds; 0 if nothing was ever written. */
  readonly revision: number
  /** The number of tools. */
  readonly size: number
  /** The names of the tools that are offered by default. */
  readonly offered: readonly string[]
  /** Returns the hash of a name's current version, by binary search. */
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

/** Reads an index. Throws an Error for a text that is not one. */
export function readIndex(text: string): CatalogueIndex {
  const start = text.indexOf('\n') + 1
  return {
    ...readHead(text.slice(0, start)),
    hashOf: (name) => hashIn(text, start, name),
    names: () => Array.from(text.slice(start).matchAll(/^\S+/gm), ([name]) => name),
  }
}

function readHead(line: string): Pick<CatalogueIndex, 'revision' | 'size' | 'offered'> {
  const head = parseJson(line)
  const { revision, size = 0, offered } = isObject(head) ? head : {}
  if (typeof revision !== 'number' || typeof size !== 'number' || !Array.isArray(offered)) {
    throw new Error(`${INDEX_KEY} is not an index`)
  }
  return { revision, size, offered: offered.map(String) }
}

/** Looks a name up by binary search; `low` and `high` are always at the start of a line. */
function hashIn(text: string, start: number, name: string): string | undefined {
  let [low, high] = [start, text.length]
  while (low < high) {
    const lineStart = text.lastIndexOf('\n', ((low + high) >> 1) - 1) + 1
    const [space, end] = [text.indexOf(' ', lineStart), text.indexOf('\n', lineStart)]
    const candidate = text.slice(lineStart, space)
    if (candidate === name) return text.slice(space + 1, end)
    if (candidate < name) low = end + 1
    else high = lineStart
  }
  return undefined
}

/**
 * The key of the search index of all stored tools, one value in KV, so that the first search of an isolate reads neither
 * definitions nor their texts: a line with the revision, then the index (`search/stored-terms.ts`).
 */
export const TERMS_KEY = 'tools:terms'

/** The search index as it was after one write of the catalogue. */
export interface CatalogueTerms {
  /** The revision of the last write that it holds; 0 if there were none. */
  readonly revision: number
  /** Empty if there are too many tools for an index. */
  readonly text: string
}

export const NO_TERMS: CatalogueTerms = { revision: 0, text: '' }

/** The most tools that are indexed: the catalogue's object needs 2 KiB for each while it does so. */
const MOST_TOOLS = 25_000
/** The most characters of an index; KV allows 25 MiB. */
const MOST_CHARACTERS = 12 * 1024 * 1024

/** Encodes the index of `size` tools, which are sorted by name. */
export function encodeCatalogueTerms(revision: number, size: number, tools: Iterable<ToolText>): string {
  const text = size > MOST_TOOLS ? '' : encodeTerms(tools)
  return `${revision}\n${text.length > MOST_CHARACTERS ? '' : text}`
}

export function readCatalogueTerms(text: string): CatalogueTerms {
  const end = text.indexOf('\n')
  return { revision: Number(text.slice(0, end)) || 0, text: text.slice(end + 1) }
}
