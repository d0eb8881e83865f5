import { isObject, type JsonObject } from '../../contract/json.ts'
import type { ModelEvent } from '../../contract/model.ts'
import type { Citation, ProviderSource, ProviderToolKind } from '../../contract/provider-tool.ts'
import { textAt } from '../fields.ts'
import type { Fields } from './model-answer.ts'

/** The most sources of a call, and the most characters of each of its texts: the whole is in the opaque data. */
const MOST_SOURCES = 20
const MOST_CHARACTERS = 2000

/** What the tools of providers do, by the names that their providers give them. */
const KINDS: Readonly<Record<string, ProviderToolKind>> = {
  web_search: 'web_search',
  google_search: 'web_search',
  web_fetch: 'web_fetch',
  url_context: 'web_fetch',
  code_execution: 'code',
  code_interpreter: 'code',
  file_search: 'file_search',
  mcp: 'mcp',
}

/** What a codec has read of a use of a tool by its provider. */
export interface ProviderUse {
  /** The provider's name of the tool, such as `web_search`. */
  readonly tool: string
  readonly id?: string
  readonly input?: unknown
  readonly isFailed?: boolean
  readonly sources?: readonly ProviderSource[]
  readonly output?: string
  /** Set if it has found nothing that others have written. */
  readonly isTrusted?: boolean
}

/** Makes the event of a use of a tool by its provider, with the beginning of what it gave. */
export function providerEvent({
  tool,
  id = '',
  input,
  isFailed,
  isTrusted,
  sources = [],
  output = '',
}: ProviderUse): ModelEvent {
  const kind = KINDS[tool]
  return {
    type: 'provider.call',
    tool,
    ...(kind && { kind }),
    ...(id && { id }),
    input: isObject(input) ? shortened(input) : {},
    ok: isFailed !== true,
    ...(sources.length > 0 && { sources: sources.slice(0, MOST_SOURCES) }),
    ...(output && { output: output.slice(0, MOST_CHARACTERS).toWellFormed() }),
    ...(isTrusted && { marks: [] }),
  }
}

/** Returns an input with its long texts cut, or `{}` if it is long for another reason. */
function shortened(input: JsonObject): JsonObject {
  const entries = Object.entries(input).map(([name, value]) => [
    name,
    typeof value === 'string' ? value.slice(0, MOST_CHARACTERS).toWellFormed() : value,
  ])
  const short: JsonObject = Object.fromEntries(entries)
  return JSON.stringify(short).length > 4 * MOST_CHARACTERS ? {} : short
}

/** Returns a source that has an address; none for another value. */
export function sourcesIn(value: Fields): readonly ProviderSource[] {
  const url = textAt(value, 'url')
  const title = textAt(value, 'title')
  return url === '' ? [] : [{ url, ...(title && { title }) }]
}

/** Returns the citation of a source, at its place in the text of the answer; none for a value without an address. */
export function citationsIn(value: Fields, place: Pick<Citation, 'start' | 'end'>): readonly Citation[] {
  const quote = textAt(value, 'cited_text')
  return sourcesIn(value).map((source) => ({ ...source, ...place, ...(quote && { quote }) }))
}
