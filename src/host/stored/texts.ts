import { isObject, parseJson } from '../../contract/json.ts'
import type { ToolText } from '../../contract/tool.ts'
import { textsOf } from '../../search/source-texts.ts'

/**
 * The key of the search texts of all stored tools, one value in KV, so that a search reads no definition: a line with
 * the revision, then for each tool a line of JSON `[name, hash, description, parameters, title, tags]`.
 */
export const TEXTS_KEY = 'tools:texts'

/** The search texts as they were after one write of the catalogue. */
export interface CatalogueTexts {
  /** The revision of the last write that they hold; 0 if there were none. */
  readonly revision: number
  readonly tools: readonly ToolText[]
}

export const NO_TEXTS: CatalogueTexts = { revision: 0, tools: [] }

/** The most bytes of the value; KV allows 25 MiB. */
const MOST_BYTES = 24 * 1024 * 1024
/** The bytes that a line may take beside its texts. */
const LINE_BYTES = 256
/** The bytes that a character may take. */
const CHARACTER_BYTES = 3
/** The most characters for one tool; longer texts say little more of what it is for. */
const MOST_CHARACTERS = 2000

/** A current version as the catalogue has it: `text` is the definition's JSON. */
export interface VersionText {
  readonly name: string
  readonly hash: string
  readonly text: string
}

/** Encodes the texts of `size` tools; those of each tool are cut to its share of the value. */
export function encodeTexts(revision: number, size: number, versions: Iterable<VersionText>): string {
  let encoded = `${revision}\n`
  for (const version of versions) encoded += `${lineOf(version, charactersOf(size))}\n`
  return encoded
}

/** Returns these texts one by one, as `readTexts` returns all of them. */
export function* textsOfVersions(size: number, versions: Iterable<VersionText>): Generator<ToolText> {
  for (const version of versions) yield* toText(parseJson(lineOf(version, charactersOf(size))))
}

/** Returns the most characters of the texts of one of so many tools. */
function charactersOf(size: number): number {
  const share = Math.floor((MOST_BYTES / Math.max(size, 1) - LINE_BYTES) / CHARACTER_BYTES)
  return Math.max(0, Math.min(share, MOST_CHARACTERS))
}

function lineOf({ name, hash, text }: VersionText, most: number): string {
  let charactersLeft = most
  const take = (value: unknown) => {
    const text = typeof value === 'string' ? value.slice(0, charactersLeft) : ''
    charactersLeft -= text.length
    return text
  }
  const json = parseJson(text)
  const definition: Record<string, unknown> = isObject(json) ? json : {}
  const { inputSchema } = definition
  const title = take(definition['title'])
  const tags = Array.isArray(definition['tags']) ? definition['tags'].map(take) : []
  const description = take(definition['description'])
  const { parameters } = textsOf({ name, hash, description, ...(isObject(inputSchema) && { inputSchema }) })
  const line = [
    name,
    hash,
    description,
    take(parameters.join('\n')),
    ...(title || tags.length > 0 ? [title, tags] : []),
  ]
  return JSON.stringify(line)
}

/** Reads texts. A tool that has not changed is the object of the earlier texts; a line without a tool is ignored. */
export function readTexts(text: string, { tools }: CatalogueTexts): CatalogueTexts {
  const earlier = new Map(tools.map((tool) => [tool.name, tool]))
  const [revision, ...lines] = text.split('\n')
  const toolTexts = lines.flatMap((line): readonly ToolText[] => {
    // Neither a name nor a hash has characters that JSON escapes.
    const [, name = '', , hash] = line.split('"', 4)
    const previous = earlier.get(name)
    return previous && previous.hash === hash ? [previous] : toText(parseJson(line))
  })
  return { revision: Number(revision) || 0, tools: toolTexts }
}

function toText(line: unknown): readonly ToolText[] {
  if (!Array.isArray(line)) return []
  const [name, hash, description, parameters, title, tags]: unknown[] = line
  if (typeof name !== 'string' || typeof hash !== 'string') return []
  const tool = { name, hash, description: String(description), parameters: [String(parameters)] }
  const hasTitle = typeof title === 'string' && title !== ''
  return [{ ...tool, ...(hasTitle && { title }), ...(Array.isArray(tags) && { tags: tags.map(String) }) }]
}
