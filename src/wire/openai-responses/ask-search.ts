import type { Message, ToolMessage } from '../../contract/message.ts'
import type { ModelRequest } from '../../contract/model.ts'
import { TOOL_SEARCH, type ToolDefinition } from '../../contract/tool.ts'
import { argumentsObject } from '../call-arguments.ts'
import { encodeTool } from './ask-tool.ts'

/**
 * “Client-executed tool search” of the format: the model asks for a search by an item of its own kind, and the answer to
 * it holds the definitions that were found, so that what came before stays cached. Shapes: `ToolSearchTool`,
 * `ResponseToolSearchCall`, `ResponseToolSearchOutputItemParam` and `FunctionTool` of the package `openai`.
 */
const DONE = { execution: 'client', status: 'completed' }

/**
 * The definitions that searches have found and that are on offer, encoded, by name. Undefined where nobody says what a
 * search has found, or one must be asked for now. Another tool that must be called now is not among them.
 */
export function foundIn({ messages, tools, toolChoice }: ModelRequest): ReadonlyMap<string, string> | undefined {
  const chosen = typeof toolChoice === 'object' ? toolChoice.tool : ''
  const searches = messages.filter(isSearch)
  if (chosen === TOOL_SEARCH || searches.some(({ found }) => !found)) return undefined
  const names = new Set(searches.flatMap(({ found = [] }) => found))
  names.delete(chosen)
  names.delete(TOOL_SEARCH)
  const found = tools.filter(({ name }) => names.has(name))
  return new Map(found.map((tool) => [tool.name, `${encodeTool(tool).slice(0, -1)},"defer_loading":true}`]))
}

export function isSearch(message: Message): message is ToolMessage {
  return message.role === 'tool' && message.tool === TOOL_SEARCH
}

export function encodeSearchTool({ description, inputSchema }: ToolDefinition): string {
  return JSON.stringify({ type: 'tool_search', execution: 'client', description, parameters: inputSchema })
}

export function toSearchCall(call_id: string, text: string): object {
  return { type: 'tool_search_call', ...DONE, call_id, arguments: argumentsObject(text) }
}

/** The answer to a search: these definitions; none where it failed. The format has no place in it for words. */
export function encodeSearchOutput(call_id: string, definitions: readonly string[]): string {
  const head = JSON.stringify({ type: 'tool_search_output', ...DONE, call_id })
  return `${head.slice(0, -1)},"tools":[${definitions.join()}]}`
}
