import type { SearchableTools, Tool, ToolFinder, ToolSource, ToolText } from '../contract/tool.ts'
import { type KeywordOptions, keywordIndex } from './keyword-index.ts'
import { textReader, toolCountOf } from './source-texts.ts'
import { readTerms } from './stored-terms.ts'
import { type ToolIndex, update } from './tool-index.ts'

/**
 * Makes a finder of all tools of a source. The first search fills the index; later ones update it with what has
 * changed. If the index rejects, the search rejects with its error, and the next search fills it again. Without an
 * index: by keywords, with `options`, from the index that the source has stored, if it has one.
 */
export function createFinder(source: ToolSource, customIndex?: ToolIndex, options?: KeywordOptions): ToolFinder {
  const read = customIndex ? textsOnly(source) : searchableTools(source)
  let index = customIndex ?? keywordIndex(undefined, options)
  let storedIndex: string | undefined
  let indexedTexts: readonly ToolText[] = []
  let indexedTools: ReadonlyMap<string, ToolText> = new Map()

  const refresh = async (tools: readonly ToolText[]) => {
    const previous = indexedTools
    // Set before the update: a search in between must not add the tools again, nor wait for another request's promise.
    indexedTexts = tools
    indexedTools = new Map(tools.map((tool) => [tool.name, tool]))
    try {
      await update(index, previous, indexedTools)
    } catch (error) {
      indexedTexts = []
      // The index may have any of these tools, in the old or the new version. The next update adds the current ones again
      // and removes the others.
      const perhaps = [...previous.values(), ...indexedTools.values()]
      indexedTools = new Map(perhaps.map((tool) => [tool.name, { ...tool, hash: '' }]))
      throw error
    }
  }
  return {
    size: () => toolCountOf(source),
    search: async (text, limit) => {
      const { stored, removed, texts } = await read()
      if (stored !== storedIndex) {
        storedIndex = stored
        index = keywordIndex(stored === undefined ? undefined : readTerms(stored), options)
        indexedTexts = []
        indexedTools = new Map()
      }
      if (removed.length > 0) await index.remove(removed)
      if (texts !== indexedTexts) await refresh(texts)
      return (await index.search(text, limit)).map(({ name }) => name)
    },
  }
}

/** Returns a function that asks a source for what a search by words reads. */
function searchableTools(source: ToolSource): () => Promise<SearchableTools> {
  return source.searchable?.bind(source) ?? textsOnly(source)
}

function textsOnly(source: ToolSource): () => Promise<SearchableTools> {
  const readTexts = textReader(source)
  return async () => ({ removed: [], texts: await readTexts() })
}

interface FindOptions {
  readonly limit: number
  /** Looks up tools as the caller may see them; a tool that it does not return is not found. */
  readonly find: ToolSource['find']
  /** Whether a tool with this name may be found. Default: every tool. */
  readonly isWanted?: (name: string) => boolean
}

/** If the caller may use few of the candidates, more are requested, until there are at least this many. */
const MOST_TRIED = 1000

/** Finds the tools that fit a question best: at most `limit`, best first. */
export async function findTools(
  finder: ToolFinder,
  text: string,
  { limit, find, isWanted = () => true }: FindOptions,
): Promise<readonly Tool[]> {
  const triedNames = new Set<string>()
  const tools: Tool[] = []
  for (let most = limit; ; most *= 4) {
    const names = await finder.search(text, most)
    const candidates = names.filter((name) => !triedNames.has(name) && isWanted(name))
    const byName = new Map((await find(candidates)).map((tool) => [tool.definition.name, tool]))
    tools.push(...candidates.flatMap((name) => byName.get(name) ?? []))
    if (tools.length >= limit || names.length < most || most >= MOST_TRIED) return tools.slice(0, limit)
    for (const name of names) triedNames.add(name)
  }
}

/**
 * Joins two finders over different tools. Their scores cannot be compared, so their answers alternate, best first; a
 * name that both find counts once.
 */
export function joinFinders(first: ToolFinder, second: ToolFinder): ToolFinder {
  return {
    size: async () => {
      const [one, other] = await Promise.all([first.size(), second.size()])
      return one + other
    },
    search: async (text, limit) => {
      const [firstNames, secondNames] = await Promise.all([first.search(text, limit), second.search(text, limit)])
      const longest = Math.max(firstNames.length, secondNames.length)
      const names = Array.from({ length: longest }, (_, at) => [firstNames[at], secondNames[at]]).flat()
      return [...new Set(names.filter((name) => name !== undefined))].slice(0, limit)
    },
  }
}
