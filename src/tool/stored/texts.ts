import { isObject, parseJson } from '../../contract/json.ts'
import type { ToolText } from '../../contract/tool.ts'
import { textsOf } from '../search/definition-texts.ts'

/**
 * What the stored tools can be found by, as one value in KV, so that a search reads no definition: a line with the
 * revision, then for each tool a line of JSON `[name, hash, description, parameters, title, tags]`.
 */
export const TEXTS_KEY = 'tools:texts'

/** Texts as they were after one write of the catalogue. */
export interface CatalogueTexts {
  /** That of the last write they hold; 0 where nothing was ever told. */
  readonly revision: number
  readonly tools: readonly ToolText[]
}

export const NO_TEXTS: CatalogueTexts = { revision: 0, tools: [] }

/** A value of KV has 25 MiB at most. */
const MOST_BYTES = 24 * 1024 * 1024
/** What a line takes beside its texts. */
const LINE_BYTES = 256
/** What one character may take. */
const CHARACTER_BYTES = 3
/** Beyond these a text says little more of what a tool is for. */
const MOST_CHARACTERS = 2000

/** A current version as the catalogue has it: `text` is the definition's JSON. */
export interface VersionText {
  readonly name: string
  readonly hash: string
  readonly text: string
}

/** Writes the texts of so many tools. Each is cut to its share of what a value holds. */
export function encodeTexts(revision: number, size: number, versions: Iterable<VersionText>): string {
  const share = Math.floor((MOST_BYTES / Math.max(size, 1) - LINE_BYTES) / CHARACTER_BYTES)
  const most = Math.max(0, Math.min(share, MOST_CHARACTERS))
  let written = `${revision}\n`
  for (const version of versions) written += `${lineOf(version, most)}\n`
  return written
}

function lineOf({ name, hash, text }: VersionText, most: number): string {
  let left = most
  const take = (said: unknown) => {
    const taken = typeof said === 'string' ? said.slice(0, left) : ''
    left -= taken.length
    return taken
  }
  const read = parseJson(text)
  const stored: Record<string, unknown> = isObject(read) ? read : {}
  const { inputSchema } = stored
  const title = take(stored['title'])
  const tags = Array.isArray(stored['tags']) ? stored['tags'].map(take) : []
  const description = take(stored['description'])
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

/** Reads texts; a tool that is as it was among `known` is taken from there. What is no line of a tool is passed over. */
export function readTexts(text: string, { tools }: CatalogueTexts): CatalogueTexts {
  const known = new Map(tools.map((tool) => [tool.name, tool]))
  const [revision, ...lines] = text.split('\n')
  const read = lines.flatMap((line): readonly ToolText[] => {
    // Neither a name nor a hash has anything that JSON escapes.
    const [, name = '', , hash] = line.split('"', 4)
    const before = known.get(name)
    return before && before.hash === hash ? [before] : toText(parseJson(line))
  })
  return { revision: Number(revision) || 0, tools: read }
}

function toText(line: unknown): readonly ToolText[] {
  if (!Array.isArray(line)) return []
  const [name, hash, description, parameters, title, tags]: unknown[] = line
  if (typeof name !== 'string' || typeof hash !== 'string') return []
  const tool = { name, hash, description: String(description), parameters: [String(parameters)] }
  const hasTitle = typeof title === 'string' && title !== ''
  return [{ ...tool, ...(hasTitle && { title }), ...(Array.isArray(tags) && { tags: tags.map(String) }) }]
}
