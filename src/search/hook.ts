import type { Hook } from '../contract/hook.ts'
import type { Message } from '../contract/message.ts'
import { removalsOf, type ToolSelection } from '../contract/run.ts'
import { describeTool, type ToolDefinition } from '../contract/tool-definition.ts'
import { type Caller, READ_RESULT, type Tool, TOOL_SEARCH, type ToolFinder } from '../contract/tool.ts'
import { encodeOnce } from '../wire/events.ts'
import { type NamedTool, selectsTool } from '../contract/tool-names.ts'
import { findTools } from './finder.ts'
import { foundTools, searchTool, searchToolHash, withFound, withSearchHint } from './search-tool.ts'
import { createToolSearch, type ToolSearch, type ToolSearchOptions } from './tool-search.ts'

export interface SearchHookOptions extends ToolSearchOptions {
  /**
   * Keeps the sessions: pass one to be able to `evict` them. A session is named `tenant/conversation`, or `tenant/run`
   * for a run without a conversation. Default: one made with these options.
   */
  readonly search?: ToolSearch
  /** `auto`: if there are more than `mostTools`, or their definitions take more than `mostTokens`. Default `auto`. */
  readonly when?: 'auto' | 'on' | 'off'
  /** The most tools that a model is given without a search. Default 40. */
  readonly mostTools?: number
  /** About how many tokens the definitions of these tools may take. Default 8,000. */
  readonly mostTokens?: number
  /** Names or globs of tools that are always on offer, like tools with the tag `always` and the tool choice. */
  readonly always?: readonly string[]
  /** Which found tools stay on offer: those of `all` searches, or of the `latest` step that searched. Default `all`. */
  readonly keep?: 'all' | 'latest'
  /** The text about the search in the system message; empty for none. Default: `SEARCH_HINT`. */
  readonly hint?: string
  /**
   * Searches all tools of the edge, if there are more than `mostTools` or `when` is `on`. Default: only the tools on
   * offer are searched.
   */
  readonly finder?: (caller: Caller) => ToolFinder
  /** Whether the finder may bring in a tool that is not on offer. Default: any. */
  readonly mayFind?: (tool: NamedTool) => boolean
}

/**
 * With `auto`, there is no search if fewer tools than this are on offer, however large they are. A run with search
 * sends a third of the definitions of 10 tools and a seventh of those of 40 (`npm run bench`), but needs one more model
 * call, which costs more than the definitions of fewer tools.
 */
const FEW = 10
const CHARACTERS_A_TOKEN = 4

/**
 * Makes the hook that offers `tool_search` in place of many tools: the model searches, and the tools it finds are on
 * offer from the next step on, in this run and in later runs of the conversation. The caller's own tools stay on offer.
 * With a `finder`, unless the request names its tools, a search also finds tools that are not on offer; if few are on
 * offer, these then stay beside the search.
 */
export function searchHook(options: SearchHookOptions = {}): Hook {
  const { when = 'auto', mostTools = 40, mostTokens = 8000, always = [], keep = 'all', hint, finder } = options
  const { mayFind = () => true, ranking } = options
  const { maxResults = 5, search = createToolSearch(options) } = options
  const isMany = (tools: readonly ToolDefinition[]) =>
    when === 'on' || tools.length > mostTools || (tools.length >= FEW && tokensOf(tools) > mostTokens)
  if (when === 'off') return { name: TOOL_SEARCH }
  return {
    name: TOOL_SEARCH,
    brings: [TOOL_SEARCH],
    // Decided once for a run, so that a run that is resumed in another isolate searches the same tools.
    accept: async (run) => {
      if (!finder || namesAll(run.selection)) return run
      return when === 'on' || (await finder(run.caller).size()) > mostTools ? { ...run, searchesAll: true } : run
    },
    activate: (names, { run, offered, history, messages, earlierTools, find }) => {
      const all = run.searchesAll ? finder?.(run.caller) : undefined
      // A caller that executes calls itself could not execute a search.
      if (run.execution === 'caller' || (when === 'auto' && offered.size < FEW && !all)) return names
      const active = new Set(names)
      const tools = [...offered.values()].filter(({ name }) => active.has(name) && name !== TOOL_SEARCH)
      const many = isMany(tools)
      if (!many && !all) return names.filter((name) => name !== TOOL_SEARCH)
      const searchableNames = new Set(tools.map(({ name }) => name))
      const { toolChoice } = run
      const chosen = typeof toolChoice === 'object' ? [toolChoice.tool] : []
      const isVisible = (tool: ToolDefinition) =>
        !many || tool.tags?.includes('always') || chosen.includes(tool.name) || selectsTool(always, tool)
      const visible = tools.filter(isVisible).map(({ name }) => name)
      const otherNames = names.filter((name) => !searchableNames.has(name) && name !== TOOL_SEARCH)
      const isWanted = (name: string) =>
        searchableNames.has(name) || (all !== undefined && !removalsOf(run.selection).includes(name))
      // What a search has found stays on offer when its result has left the prompt.
      const earlier = keep === 'all' ? earlierTools.filter((name) => isWanted(name) && !otherNames.includes(name)) : []
      const foundNames = [...new Set([...earlier, ...foundTools([...history, ...messages], isWanted, keep)])]
      // Where a conversation finds tools, `read_result` is on offer from the start, so that they follow it in each of its runs.
      const isStored = run.conversation !== undefined && !otherNames.includes(READ_RESULT)
      const beforeNames = isStored ? [...otherNames, READ_RESULT] : otherNames
      // What is found comes last, in the order found: the tools of a request begin with those of the one before.
      const withTool = (tool: Tool, names = foundNames) => [...beforeNames, tool, ...visible, ...names]
      if (!all) {
        const session = `${run.caller.tenant}/${run.conversation ?? run.runId}`
        return search.open(session, tools).then((tool) => withTool(tool))
      }
      const findWithin = async (wanted: readonly string[]) =>
        (await find(wanted)).filter(({ definition }) => searchableNames.has(definition.name) || mayFind(definition))
      const searchAll = async (text: string, limit: number) =>
        (await findTools(all, text, { limit, find: findWithin, isWanted })).map(({ definition }) => definition)
      const namesWithTool = async (hash: string) => {
        const tool = searchTool({ search: searchAll, maxResults, ranking }, hash)
        const others = foundNames.filter((name) => !searchableNames.has(name))
        if (others.length === 0) return withTool(tool)
        // What earlier runs found may be beyond what this one may call.
        const within = new Set((await findWithin(others)).map(({ definition }) => definition.name))
        return withTool(
          tool,
          foundNames.filter((name) => searchableNames.has(name) || within.has(name)),
        )
      }
      const hash = searchToolHash()
      return typeof hash === 'string' ? namesWithTool(hash) : hash.then(namesWithTool)
    },
    step: (request, next) => {
      const names = new Set(request.tools.map(({ name }) => name))
      if (!names.has(TOOL_SEARCH)) return next(request)
      const messages = withFound(request.messages, (name) => names.has(name))
      return next({ ...request, messages: withHint(messages, hint) })
    },
  }
}

/** Returns whether a selection is a list of names: its caller wants these tools and no others. */
function namesAll(selection: ToolSelection | undefined): boolean {
  return selection !== undefined && 'length' in selection
}

/** Adds the hint to the end of the system message of this request; it is not stored in the history. */
function withHint(messages: readonly Message[], hint: string | undefined): readonly Message[] {
  const [first, ...rest] = messages
  const system = first?.role === 'system' ? first.content : undefined
  const content = withSearchHint(system, hint)
  if (content === undefined) return messages
  return [{ role: 'system', content }, ...(system === undefined ? messages : rest)]
}

function tokensOf(tools: readonly ToolDefinition[]): number {
  return tools.reduce((sum, tool) => sum + charactersOf(tool), 0) / CHARACTERS_A_TOKEN
}

const charactersOf = encodeOnce(
  (tool: ToolDefinition) => tool.name.length + describeTool(tool).length + JSON.stringify(tool.inputSchema).length,
)
