import { isObject, parseJson } from '../../../contract/json.ts'
import type { ModelEvent } from '../../../contract/model.ts'
import { objectsOf, textAt } from '../../fields.ts'
import type { Fields } from '../model-answer.ts'
import { providerEvent, sourcesIn } from '../provider-call.ts'

/** The items of tools that the server runs. They go back as they came, since reasoning refers to them. */
const HOSTED = new Set(['web_search_call', 'file_search_call', 'code_interpreter_call', 'mcp_call', 'mcp_list_tools'])

/** Whether an item is one of them, and whole: what a caller has brought names no container. */
export function isHostedItem({ type, container_id }: Fields): boolean {
  return (
    typeof type === 'string' && HOSTED.has(type) && (type !== 'code_interpreter_call' || container_id !== undefined)
  )
}

/** Returns a tool in the form of this format. A server that asked before each call would wait for an answer in vain. */
export function toHostedTool(form: Fields): Fields {
  const { type, container } = form
  if (type === 'mcp') return { ...form, require_approval: 'never' }
  return type === 'code_interpreter' && container === undefined ? { ...form, container: { type: 'auto' } } : form
}

export function toHostedChoice({ type, server_label }: Fields): Fields {
  return type === 'mcp' ? { type, server_label } : { type }
}

/** What is asked for with each kind of tool, by which an event tells what it found. */
const INCLUDED: Readonly<Record<string, string>> = {
  web_search: 'web_search_call.action.sources',
  file_search: 'file_search_call.results',
  code_interpreter: 'code_interpreter_call.outputs',
}

export function includedWith({ type }: Fields): readonly string[] {
  const name = INCLUDED[String(type)]
  return name === undefined ? [] : [name]
}

/** Makes the event of a complete item; none for a list of tools. */
export function hostedCall(item: Fields): readonly ModelEvent[] {
  const { type, status, error } = item
  if (type === 'mcp_list_tools') return []
  const isFailed = status === 'failed' || status === 'incomplete' || Boolean(error)
  const use = { tool: String(type).replace(/_call$/, ''), id: textAt(item, 'id'), isFailed }
  if (type === 'mcp_call') {
    const input = { server: item.server_label, name: item.name, arguments: parseJson(textAt(item, 'arguments')) ?? {} }
    return [providerEvent({ ...use, input, output: textAt(item, 'output') || errorText(error) })]
  }
  if (type === 'code_interpreter_call') {
    const logs = objectsOf(item.outputs).map((output) => textAt(output, 'logs'))
    return [providerEvent({ ...use, input: { code: textAt(item, 'code') }, output: logs.filter(Boolean).join('\n') })]
  }
  if (type === 'file_search_call') {
    const results = objectsOf(item.results)
    const names = [...new Set(results.map((result) => textAt(result, 'filename')))]
    return [providerEvent({ ...use, input: { queries: item.queries }, output: names.filter(Boolean).join('\n') })]
  }
  const { type: action = 'search', sources, ...input } = isObject(item.action) ? item.action : {}
  return [providerEvent({ ...use, input: { action, ...input }, sources: objectsOf(sources).flatMap(sourcesIn) })]
}

function errorText(error: unknown): string {
  return typeof error === 'string' ? error : error ? textAt(error, 'message') || JSON.stringify(error) : ''
}

/** Whether an item is a search of the web: a page that the server opens is none. */
export function isWebSearch({ type, action }: Fields): boolean {
  return type === 'web_search_call' && (isObject(action) ? (action.type ?? 'search') : 'search') === 'search'
}
