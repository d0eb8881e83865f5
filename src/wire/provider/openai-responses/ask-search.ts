import type { Message, ToolMessage } from '../../../contract/message.ts'
import type { ModelRequest } from '../../../contract/model.ts'
import { TOOL_SEARCH, type ToolDefinition } from '../../../contract/tool.ts'
import { argumentsObject } from '../call-arguments.ts'
import { encodeTool } from './ask-tool.ts'

/**
 * What all items of the format's “client-executed tool search” share. The model asks for a search by an item of its own
 * kind, and the item that answers holds the definitions found, so that the request before it stays cached at the
 * server. Shapes: `ToolSearchTool`, `ResponseToolSearchCall`, `ResponseToolSearchOutputItemParam` and `FunctionTool` of
 * the package `openai`.
 */
const DONE = { execution: 'client', status: 'completed' }

/**
 * Returns the definitions on offer that searches have found, encoded, by name; without a tool that `toolChoice` names.
 * Undefined if it is not known what a search found, or if `toolChoice` names the search itself.
 */
export function foundIn({ messages, tools, toolChoice }: ModelRequest): ReadonlyMap<string, string> | undefined {
  const chosen = typeof toolChoice === 'object' ? toolChoice.tool : ''
  const searches = messages.filter(isSearch)
  if (chosen === TOOL_SEARCH || searches.some(({ found }) => !found)) return undefined
  const names = new Set(searches.flatMap(({ found = [] }) => found))
  names.delete(chosen)
  names.delete(TOOL_SEARCH)
  const foundTools = tools.filter(({ name }) => names.has(name))
  return new Map(foundTools.map((tool) => [tool.name, `${encodeTool(tool).slice(0, -1)},"defer_loading":true}`]))
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

/** Encodes the result of a search: these definitions, or none if it failed. The format has no place for a message. */
export function encodeSearchOutput(call_id: string, definitions: readonly string[]): string {
  const head = JSON.stringify({ type: 'tool_search_output', ...DONE, call_id })
  return `${head.slice(0, -1)},"tools":[${definitions.join()}]}`
}
