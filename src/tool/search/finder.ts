import type { ToolFinder, ToolSource, ToolText } from '../../contract/tool.ts'
import { sizeOf, tellTexts } from '../source/texts.ts'
import { createKeywordIndex } from './keyword-index.ts'
import { type ToolIndex, update } from './tool-index.ts'

/**
 * Finds tools among all of a source. The index is made with the first search, and kept: later ones bring up to date what
 * has changed since. Rejects with what the index rejects with; then it is filled anew.
 */
export function createFinder(source: ToolSource, index: ToolIndex = createKeywordIndex()): ToolFinder {
  const tell = tellTexts(source)
  let told: readonly ToolText[] = []
  let known: ReadonlyMap<string, ToolText> = new Map()

  const refresh = async (tools: readonly ToolText[]) => {
    const before = known
    // At once: whoever searches meanwhile must add nothing twice, and wait for nobody else's request.
    told = tools
    known = new Map(tools.map((tool) => [tool.name, tool]))
    try {
      await update(index, before, known)
    } catch (error) {
      told = []
      known = new Map()
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
