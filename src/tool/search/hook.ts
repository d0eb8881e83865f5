import type { Hook } from '../../contract/hook.ts'
import type { Message } from '../../contract/message.ts'
import type { ToolDefinition } from '../../contract/tool.ts'
import { matches } from '../glob.ts'
import { foundTools, TOOL_SEARCH, withSearchHint } from './search-tool.ts'
import { createToolSearch, type ToolSearchOptions } from './tool-search.ts'

export interface SearchHookOptions extends ToolSearchOptions {
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
}

/** Fewer tools than these are never searched for. */
const FEW = 10
const CHARACTERS_A_TOKEN = 4

/**
 * Offers `tool_search` in the place of many tools: the model searches, and what it finds is on offer from the next step on,
 * in this run and in the conversation's later ones. What the caller brings stays on offer.
 */
export function searchHook(options: SearchHookOptions = {}): Hook {
  const { when = 'auto', mostTools = 40, mostTokens = 8000, always = [], keep = 'all', hint } = options
  const search = createToolSearch(options)
  const isOn = (tools: readonly ToolDefinition[]) =>
    when === 'on' || tools.length > mostTools || (tools.length >= FEW && tokensOf(tools) > mostTokens)
  if (when === 'off') return { name: TOOL_SEARCH }
  return {
    name: TOOL_SEARCH,
    activate: (names, { run, offered, history, messages }) => {
      if (when === 'auto' && offered.size < FEW) return names
      const active = new Set(names)
      const tools = [...offered.values()].filter(({ name }) => active.has(name) && name !== TOOL_SEARCH)
      if (!isOn(tools)) return names.filter((name) => name !== TOOL_SEARCH)
      const known = new Set(tools.map(({ name }) => name))
      const { toolChoice } = run
      const chosen = typeof toolChoice === 'object' ? [toolChoice.tool] : []
      const visible = tools.filter(
        ({ name, tags }) => tags?.includes('always') || matches([...always, ...chosen], name),
      )
      const others = names.filter((name) => !known.has(name) && name !== TOOL_SEARCH)
      const found = foundTools([...history, ...messages], (name) => known.has(name), keep)
      const session = `${run.caller.tenant}/${run.conversation ?? run.runId}`
      return search.open(session, tools).then((tool) => [...others, tool, ...visible.map(({ name }) => name), ...found])
    },
    step: (request, next) => {
      const isOffered = request.tools.some(({ name }) => name === TOOL_SEARCH)
      return next(isOffered ? { ...request, messages: withHint(request.messages, hint) } : request)
    },
  }
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

const known = new WeakMap<ToolDefinition, number>()

function charactersOf(tool: ToolDefinition): number {
  const counted = known.get(tool)
  if (counted !== undefined) return counted
  const { name, description, inputSchema } = tool
  const characters = name.length + description.length + JSON.stringify(inputSchema).length
  known.set(tool, characters)
  return characters
}
