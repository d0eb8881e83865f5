import type { SearchableTools, ToolFinder, ToolSource, ToolText } from '../contract/tool.ts'
import { toolCountOf, textReader } from './source-texts.ts'
import { createKeywordIndex, keywordIndex } from './keyword-index.ts'
import { readTerms } from './stored-terms.ts'
import { type ToolIndex, update } from './tool-index.ts'

/**
 * Makes a finder of all tools of a source. The first search fills the index; later ones update it with what has
 * changed. If the index rejects, the search rejects with its error, and the next search fills it again. Without an
 * index: by keywords, from the index that the source has stored, if it has one.
 */
export function createFinder(source: ToolSource, customIndex?: ToolIndex): ToolFinder {
  const read = customIndex ? textsOnly(source) : searchableTools(source)
  let index = customIndex ?? createKeywordIndex()
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
        index = stored === undefined ? createKeywordIndex() : keywordIndex(readTerms(stored))
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
