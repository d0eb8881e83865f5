import type { ToolFinder, ToolSource, ToolText } from '../contract/tool.ts'
import { toolCountOf, textReader } from './source-texts.ts'
import { createKeywordIndex } from './keyword-index.ts'
import { type ToolIndex, update } from './tool-index.ts'

/**
 * Makes a finder of all tools of a source. The first search fills the index; later ones update it with what has
 * changed. If the index rejects, the search rejects with its error, and the next search fills it again.
 */
export function createFinder(source: ToolSource, index: ToolIndex = createKeywordIndex()): ToolFinder {
  const readTexts = textReader(source)
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
      const tools = await readTexts()
      if (tools !== indexedTexts) await refresh(tools)
      return (await index.search(text, limit)).map(({ name }) => name)
    },
  }
}
