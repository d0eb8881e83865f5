import type { ToolText } from '../../contract/tool.ts'
import { encodeTerms } from '../../search/stored-terms.ts'

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
