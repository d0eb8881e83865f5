import type { Hook } from '../../contract/hook.ts'
import type { Message } from '../../contract/message.ts'
import type { ToolSelection } from '../../contract/run.ts'
import { type Tool, TOOL_SEARCH, type ToolDefinition, type ToolFinder } from '../../contract/tool.ts'
import { encodeOnce } from '../../wire/encode-once.ts'
import { matches } from '../glob.ts'
import { findTools } from './find-tools.ts'
import { foundTools, searchTool, searchToolHash, withFound, withSearchHint } from './search-tool.ts'
import { createToolSearch, type ToolSearch, type ToolSearchOptions } from './tool-search.ts'

export interface SearchHookOptions extends ToolSearchOptions {
  /**
   * Where sessions are kept, for whoever wants to `evict` some: `tenant/conversation`, or `tenant/run` for a run without a
   * conversation. Default: one made with these options.
   */
  readonly search?: ToolSearch
  /** `auto`: where there are more than `mostTools`, or their definitions come to more than `mostTokens`. Default. */
  readonly when?: 'auto' | 'on' | 'off'
  /** Tools that a model is told of without a search. Default 40. */
  readonly mostTools?: number
  /** About how many tokens their definitions may be. Default 8,000. */
  readonly mostTokens?: number
  /** Names or globs of tools that a model is always told of, beside those with the tag `always` and one that is chosen. */
  readonly always?: readonly string[]
  /** Which searches of the conversation count: `all`, or the `latest` step that searched. Default `all`. */
  readonly keep?: 'all' | 'latest'
  /** What the model is told of the search; empty for nothing. */
  readonly hint?: string
  /**
   * Searches all tools of the edge, where there are more than `mostTools` or `when` is `on`. Default: what is on offer
   * alone is searched.
   */
  readonly finder?: ToolFinder
}

/**
 * Fewer tools than these are never searched for. With 10 tools a run with search sends a third of the definitions, with 40 a
 * seventh (`npm run bench`), for one more round of the model: from there on they cost more than the round does.
 */
const FEW = 10
const CHARACTERS_A_TOKEN = 4

/**
 * Offers `tool_search` in the place of many tools: the model searches, and what it finds is on offer from the next step on,
 * in this run and in the conversation's later ones. What the caller brings stays on offer. With a `finder` a search finds
 * tools that are not on offer too, unless the request names its tools; then few that are on offer stay there beside it.
 */
export function searchHook(options: SearchHookOptions = {}): Hook {
  const { when = 'auto', mostTools = 40, mostTokens = 8000, always = [], keep = 'all', hint, finder } = options
  const { maxResults = 5, search = createToolSearch(options) } = options
  const isMany = (tools: readonly ToolDefinition[]) =>
    when === 'on' || tools.length > mostTools || (tools.length >= FEW && tokensOf(tools) > mostTokens)
  if (when === 'off') return { name: TOOL_SEARCH }
  return {
    name: TOOL_SEARCH,
    // Once, so that a run that is resumed elsewhere searches what it searched before.
    accept: async (run) => {
      if (!finder || namesAll(run.selection)) return run
      return when === 'on' || (await finder.size()) > mostTools ? { ...run, searchesAll: true } : run
    },
    activate: (names, { run, offered, history, messages, find }) => {
      const all = run.searchesAll ? finder : undefined
      // Who runs the calls could not answer a search.
      if (run.execution === 'caller' || (when === 'auto' && offered.size < FEW && !all)) return names
      const active = new Set(names)
      const tools = [...offered.values()].filter(({ name }) => active.has(name) && name !== TOOL_SEARCH)
      const many = isMany(tools)
      if (!many && !all) return names.filter((name) => name !== TOOL_SEARCH)
      const known = new Set(tools.map(({ name }) => name))
      const { toolChoice } = run
      const chosen = typeof toolChoice === 'object' ? [toolChoice.tool] : []
      const isVisible = ({ name, tags }: ToolDefinition) =>
        !many || tags?.includes('always') || matches([...always, ...chosen], name)
      const visible = tools.filter(isVisible).map(({ name }) => name)
      const others = names.filter((name) => !known.has(name) && name !== TOOL_SEARCH)
      const isWanted = (name: string) => known.has(name) || (all !== undefined && !isRemoved(run.selection, name))
      const found = foundTools([...history, ...messages], isWanted, keep)
      const withTool = (tool: Tool) => [...others, tool, ...visible, ...found]
      if (!all) {
        const session = `${run.caller.tenant}/${run.conversation ?? run.runId}`
        return search.open(session, tools).then(withTool)
      }
      const searching = async (text: string, limit: number) =>
        (await findTools(all, text, { limit, find, isWanted })).map(({ definition }) => definition)
      const made = (hash: string) => withTool(searchTool({ search: searching, maxResults }, hash))
      const hash = searchToolHash()
      return typeof hash === 'string' ? made(hash) : hash.then(made)
    },
    step: (request, next) => {
      const names = new Set(request.tools.map(({ name }) => name))
      if (!names.has(TOOL_SEARCH)) return next(request)
      const messages = withFound(request.messages, (name) => names.has(name))
      return next({ ...request, messages: withHint(messages, hint) })
    },
  }
}

/** A list of names is the whole of what its caller wants. */
function namesAll(selection: ToolSelection | undefined): boolean {
  return selection !== undefined && 'length' in selection
}

function isRemoved(selection: ToolSelection | undefined, name: string): boolean {
  return selection !== undefined && 'remove' in selection && (selection.remove?.includes(name) ?? false)
}

/** The system message of the request with the hint at its end; nothing of it is kept. */
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
  ({ name, description, inputSchema }: ToolDefinition) =>
    name.length + description.length + JSON.stringify(inputSchema).length,
)
