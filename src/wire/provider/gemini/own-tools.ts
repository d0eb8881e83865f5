import type { ModelEvent } from '../../../contract/model.ts'
import type { Citation, ProviderSource } from '../../../contract/provider-tool.ts'
import { fieldsOf, objectsOf, textAt } from '../../fields.ts'
import type { Fields } from '../model-answer.ts'
import { providerEvent, sourcesIn } from '../provider-call.ts'

/** The parts of tools that Gemini runs itself. They go back as they came. */
const OWN_USES = ['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse']

export function isOwnUse(part: Fields): boolean {
  return OWN_USES.some((name) => part[name] !== undefined)
}

/** Makes the event of a program's result; none for another part. `before`: the part before it, with the program. */
export function codeRun({ codeExecutionResult: result }: Fields, before: unknown): readonly ModelEvent[] {
  if (result === undefined) return []
  const code = textAt(fieldsOf(before).executableCode, 'code')
  const isFailed = textAt(result, 'outcome') !== 'OUTCOME_OK'
  return [providerEvent({ tool: 'code_execution', input: { code }, isFailed, output: textAt(result, 'output') })]
}

/** Returns the queries of a Google search on which an answer is grounded. */
export function queriesIn(grounding: Fields): readonly unknown[] {
  const { webSearchQueries: queries } = grounding
  return Array.isArray(queries) ? queries : []
}

/** What Gemini searches: the member of what it has found, and that of its queries, which it does not always tell. */
const SEARCHES = [
  { tool: 'google_search', member: 'web', queries: 'webSearchQueries' },
  { tool: 'file_search', member: 'retrievedContext', queries: 'retrievalQueries' },
  { tool: 'google_maps', member: 'maps', queries: '' },
] as const

/** Makes an event for each kind of search on which an answer is grounded. */
export function searchesOf(grounding: Fields): readonly ModelEvent[] {
  const chunks = objectsOf(grounding.groundingChunks)
  return SEARCHES.flatMap(({ tool, member, queries: queryMember }) => {
    const ownChunks = chunks.filter((chunk) => chunk[member] !== undefined)
    const { [queryMember]: queries } = grounding
    const hasQueries = Array.isArray(queries) && queries.length > 0
    if (!hasQueries && ownChunks.length === 0) return []
    return [providerEvent({ tool, input: hasQueries ? { queries } : {}, sources: ownChunks.flatMap(sourceOf) })]
  })
}

/** Makes the event of the pages that were read; none if there were none. */
export function fetchOf(pages: unknown): readonly ModelEvent[] {
  const read = objectsOf(pages).map((page) => ({ url: textAt(page, 'retrievedUrl'), status: page.urlRetrievalStatus }))
  if (read.length === 0) return []
  const sources = read.filter(({ status }) => status === 'URL_RETRIEVAL_STATUS_SUCCESS').flatMap(sourcesIn)
  const input = { urls: read.map(({ url }) => url) }
  return [providerEvent({ tool: 'url_context', input, isFailed: sources.length === 0, sources })]
}

/** Returns the source of a piece of what a search found. */
function sourceOf({ web, retrievedContext, maps }: Fields): readonly ProviderSource[] {
  const page = fieldsOf(web ?? retrievedContext ?? maps)
  return sourcesIn({ url: page.uri, title: page.title })
}

/**
 * Returns the citations of an answer. Gemini gives their places in bytes of a part, so they are found by their texts: one
 * after the other, as they come in the order of the answer.
 */
export function locateCitations({ groundingSupports, groundingChunks }: Fields, text: string): readonly Citation[] {
  const chunks = objectsOf(groundingChunks)
  let from = 0
  return objectsOf(groundingSupports).flatMap(({ segment, groundingChunkIndices: indices }) => {
    const part = textAt(segment, 'text')
    const next = part === '' ? -1 : text.indexOf(part, from)
    const start = next < 0 && part !== '' ? text.indexOf(part) : next
    if (start >= 0) from = start
    const place = start < 0 ? {} : { start, end: start + part.length }
    const numbers: readonly unknown[] = Array.isArray(indices) ? indices : []
    return numbers.flatMap((index) => sourceOf(chunks[Number(index)] ?? {}).map((source) => ({ ...source, ...place })))
  })
}
