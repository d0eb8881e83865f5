import { isObject, parseJson, parseShallow } from '../../../contract/json.ts'
import { contentText, type ToolMessage } from '../../../contract/message.ts'
import type { ModelRequest } from '../../../contract/model.ts'
import type { ToolDefinition } from '../../../contract/tool-definition.ts'
import { TOOL_SEARCH } from '../../../contract/tool.ts'
import { fieldsOf, objectsOf, textAt } from '../../fields.ts'
import { argumentsObject, type Fields } from '../model-answer.ts'

/*
 * The kinds of tools that the format has beside functions. In the edge, a function stands for each: its arguments hold what a
 * call of the kind holds, and its result what the output does.
 */

const KINDS = ['custom', 'local_shell', 'shell', 'apply_patch', 'tool_search'] as const

export type ToolKind = (typeof KINDS)[number]

/** Returns the kind of a tool that the caller has declared as one of them. */
export function toolKindOf({ forms }: Pick<ToolDefinition, 'forms'>): ToolKind | undefined {
  return KINDS.find((kind) => kind === forms?.responses?.['type'])
}

/** Returns the name of the tool whose calls are searches: the edge's own or, if that is not on offer, the caller's. */
export function searchName({ tools }: Pick<ModelRequest, 'tools'>): string {
  const isOwn = tools.some(({ name }) => name === TOOL_SEARCH)
  return (!isOwn && tools.find((tool) => toolKindOf(tool) === 'tool_search')?.name) || TOOL_SEARCH
}

/** Returns the arguments of the function as a call of the kind holds them. `name`: that of a custom tool. */
export function toKindCall(kind: ToolKind, name: string, text: string): Fields & { readonly type: string } {
  const values = argumentsObject(text)
  switch (kind) {
    case 'custom':
      return { type: 'custom_tool_call', name, input: textAt(values, 'input') || unwrapped(text) }
    case 'local_shell':
      return { type: 'local_shell_call', action: { type: 'exec', env: {}, ...values } }
    case 'shell': {
      const action = { timeout_ms: null, max_output_length: null, ...values }
      return { type: 'shell_call', action, environment: { type: 'local' } }
    }
    case 'apply_patch':
      return { type: 'apply_patch_call', operation: values }
    case 'tool_search':
      return { type: 'tool_search_call', execution: 'client', arguments: values }
  }
}

/** Returns the input of a custom tool that a model has written without its object. */
function unwrapped(text: string): string {
  return isObject(parseShallow(text)) ? '' : text
}

/**
 * Reads a call of one of these kinds as that of the function. `search`: the name of the tool by which the caller searches.
 * Undefined for another item, or for a search by the server.
 */
export function readKindCall(
  item: Fields,
  search: string,
): { readonly name: string; readonly arguments: string } | undefined {
  switch (item.type) {
    case 'custom_tool_call':
      return { name: textAt(item, 'name'), arguments: JSON.stringify({ input: textAt(item, 'input') }) }
    case 'local_shell_call':
    case 'shell_call': {
      const { type: _exec, ...action } = fieldsOf(item.action)
      return { name: item.type.replace('_call', ''), arguments: JSON.stringify(filledIn(action)) }
    }
    case 'apply_patch_call':
      return { name: 'apply_patch', arguments: JSON.stringify(fieldsOf(item.operation)) }
    case 'tool_search_call': {
      const { execution, arguments: values = {} } = item
      const text = typeof values === 'string' ? values || '{}' : JSON.stringify(values)
      return execution === 'server' ? undefined : { name: search, arguments: text }
    }
    default:
      return undefined
  }
}

/** Returns arguments without those that are left empty, which a server sends and the model has not written. */
function filledIn(values: Fields): Fields {
  const isEmpty = (value: unknown) => value == null || JSON.stringify(value) === '{}'
  return Object.fromEntries(Object.entries(values).filter(([, value]) => !isEmpty(value)))
}

/** Returns what the output of a call of the kind holds, beside the parts of a result that the format takes as they are. */
export function toKindOutput(
  kind: Exclude<ToolKind, 'tool_search'>,
  { ok, content }: Pick<ToolMessage, 'ok' | 'content'>,
  output: unknown,
): Fields & { readonly type: string } {
  const text = contentText(content)
  switch (kind) {
    case 'custom':
      return { type: 'custom_tool_call_output', output }
    case 'local_shell':
      return { type: 'local_shell_call_output', output: text }
    case 'shell': {
      const outputs = objectsOf(parseJson(text)).filter(({ outcome }) => outcome)
      const wholeOutput = { stdout: text, stderr: '', outcome: { type: 'exit', exit_code: ok ? 0 : 1 } }
      return { type: 'shell_call_output', output: outputs.length > 0 ? outputs : [wholeOutput] }
    }
    case 'apply_patch':
      return { type: 'apply_patch_call_output', status: ok ? 'completed' : 'failed', output: text }
  }
}
