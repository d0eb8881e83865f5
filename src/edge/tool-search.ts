import type { Config } from '../contract/config.ts'
import type { Hook } from '../contract/hook.ts'
import { type NamedTool, selectsTool } from '../contract/tool-names.ts'
import type { Caller, ToolFinder, ToolSource } from '../contract/tool.ts'
import { createFinder } from '../search/finder.ts'
import { searchHook, type SearchHookOptions } from '../search/hook.ts'
import type { ToolIndex } from '../search/tool-index.ts'
import type { Env } from './env.ts'

/** A feature of an edge: search over its tools. */
export interface ToolSearchFeature {
  /** Searches all tools of the edge, for `GET /tools?query=`. */
  readonly finder: (tools: ToolSource, env: Env) => ToolFinder
  /** Offers `tool_search` to models, if the configuration wants it. */
  readonly hook: (config: Config, finder: (caller: Caller) => ToolFinder) => Hook | undefined
}

export interface ToolSearchFeatureOptions extends Omit<SearchHookOptions, 'when' | 'finder' | 'mayFind' | 'index'> {
  /** Makes the index of all tools, such as `workersAiIndex()`. Default: by keywords. */
  readonly index?: (env: Env) => ToolIndex
}

/**
 * Tool search: with many tools, models get `tool_search` in place of them (`TOOL_SEARCH`), and `GET /tools?query=` ranks
 * them.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, search: toolSearch({ always: ['currentTime'] }) })
 */
export function toolSearch({ index, ...options }: ToolSearchFeatureOptions = {}): ToolSearchFeature {
  return {
    finder: (tools, env) => createFinder(tools, index?.(env)),
    hook: ({ toolSearch: when, defaultTools }, finder) => {
      if (when === 'off') return undefined
      // A list of whole names leaves nothing to be found beyond what is on offer.
      const isOpen = defaultTools.some((pattern) => pattern.includes('*'))
      const mayFind = (tool: NamedTool) => selectsTool(defaultTools, tool)
      return searchHook({ ...options, when, mayFind, ...(isOpen && { finder }) })
    },
  }
}
