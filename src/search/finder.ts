import type { ToolFinder, ToolSource, ToolText } from '../contract/tool.ts'
import { sizeOf, tellTexts } from './source-texts.ts'
import { createKeywordIndex } from './keyword-index.ts'
import { type ToolIndex, update } from './tool-index.ts'

/**
 * Makes a finder of all tools of a source. The first search fills the index; later ones update it with what has
 * changed. If the index rejects, the search rejects with its error, and the next search fills it again.
 */
export function createFinder(source: ToolSource, index: ToolIndex = createKeywordIndex()): ToolFinder {
  const tell = tellTexts(source)
  let told: readonly ToolText[] = []
  let known: ReadonlyMap<string, ToolText> = new Map()

  const refresh = async (tools: readonly ToolText[]) => {
    const before = known
    // Set before the update: a search meanwhile must not add the tools again, nor wait for another request's promise.
    told = tools
    known = new Map(tools.map((tool) => [tool.name, tool]))
    try {
      await update(index, before, known)
    } catch (error) {
      told = []
      // The index may hold any of these, as they were before or are now. The next update adds those that stay once more,
      // and removes the others.
      const perhaps = [...before.values(), ...known.values()]
      known = new Map(perhaps.map((tool) => [tool.name, { ...tool, hash: '' }]))
      throw error
    }
  }
  return {
    size: () => sizeOf(source),
    search: async (text, limit) => {
      const tools = await tell()
      if (tools !== told) await refresh(tools)
      return (await index.search(text, limit)).map(({ name }) => name)
    },
  }
}
