import { readExactly } from '../../../contract/exact-numbers.ts'
import { isObject } from '../../../contract/json.ts'
import { contentText, type Message, type Opaque, type ToolCall, type UserContent } from '../../../contract/message.ts'
import type { ModelEvent, ModelRequest, ToolChoice } from '../../../contract/model.ts'
import { describeTool, type ToolDefinition } from '../../../contract/tool-definition.ts'
import { readFoundTools } from '../../../contract/found-tools.ts'
import { TOOL_SEARCH } from '../../../contract/tool.ts'
import { encodeOnce } from '../../events.ts'
import { objectsOf, textAt } from '../../fields.ts'
import { argumentsObject, argumentsText, calledName, type Fields, jsonText, opaqueDataOf } from '../model-answer.ts'
import { withEffort } from '../openai-chat/request.ts'
import { urlOf } from '../turns.ts'
import { providerEvent, sourcesIn } from '../provider-call.ts'
import { toolKindOf, searchName, toKindCall, toKindOutput, type ToolKind } from './tool-kinds.ts'

export interface ResponsesForm {
  /** Leaves out encrypted reasoning, for models that refuse it. */
  readonly isPlain?: boolean
  /** Sends the definitions that a search found with its result, not with the tools. */
  readonly defersLoading?: boolean
  /** Declares tools of the caller as the kinds that the format has beside functions. */
  readonly hasKinds?: boolean
}

/**
 * Encodes the body of a streamed request for an answer that the server does not store. Reasoning comes and goes back
 * encrypted. Expects tools as `fitRequest` makes them.
 */
export function encodeResponsesRequest(
  model: string,
  request: ModelRequest,
  { isPlain = false, defersLoading = false, hasKinds = false }: ResponsesForm = {},
): string {
  const { messages, tools, toolChoice, responseFormat, sampling } = request
  const { parallel_tool_calls, max_tokens, max_completion_tokens, reasoning_effort, verbosity, ...others } =
    withEffort(sampling)
  const { 'reasoning.summary': summary, 'reasoning.context': context, ...passed } = others
  const reasoning = { effort: reasoning_effort, summary, context }
  const { forms = [], choice } = request.providerTools?.('responses') ?? {}
  const kinds = hasKinds ? kindsIn(request) : new Map<string, ToolKind>()
  const search = hasKinds ? searchName(request) : TOOL_SEARCH
  const foundTools = defersLoading ? foundIn(request, search, kinds) : undefined
  if (foundTools) kinds.set(search, 'tool_search')
  const included = [...(isPlain ? [] : ['reasoning.encrypted_content']), ...forms.flatMap(includedWith)]
  const head = {
    prompt_cache_key: request.cacheKey,
    ...passed,
    // Fields of Chat Completions that servers refuse in this format.
    stop: undefined,
    seed: undefined,
    logit_bias: undefined,
    model,
    stream: true,
    store: false,
    include: included.length > 0 ? included : undefined,
    max_output_tokens: max_completion_tokens ?? max_tokens,
    reasoning: Object.values(reasoning).some(Boolean) ? reasoning : undefined,
    ...((responseFormat || verbosity !== undefined) && { text: { format: responseFormat, verbosity } }),
    ...(tools.length + forms.length > 0 && {
      tool_choice: choice ? toHostedChoice(choice) : toToolChoice(toolChoice, kinds),
      parallel_tool_calls,
    }),
  }
  const beforehand = tools.filter(({ name }) => !foundTools?.has(name))
  return jsonText(head, {
    tools: [
      ...beforehand.map((tool) => encodeTool(tool, kinds)),
      ...forms.map((form) => JSON.stringify(toHostedTool(form))),
    ],
    input: encodeInput(messages, isPlain, kinds, foundTools),
  })
}

/** The tools that are no functions for the model, by name. */
type Kinds = ReadonlyMap<string, ToolKind>

/** Returns the tools of the caller that are declared as a kind of their own, without one that can only be chosen as a function. */
function kindsIn({ tools, toolChoice }: ModelRequest): Map<string, ToolKind> {
  const chosen = typeof toolChoice === 'object' ? toolChoice.tool : undefined
  const kinds = new Map<string, ToolKind>()
  for (const tool of tools) {
    const kind = toolKindOf(tool)
    if (!kind || kind === 'tool_search' || (kind === 'local_shell' && tool.name === chosen)) continue
    kinds.set(tool.name, kind)
  }
  return kinds
}

function toToolChoice(choice: ToolChoice | undefined, kinds: Kinds): unknown {
  if (typeof choice !== 'object') return choice
  const type = kinds.get(choice.tool) ?? 'function'
  return type === 'function' || type === 'custom' ? { type, name: choice.tool } : { type }
}

interface InputItem {
  readonly text: string
  /** The name of the tool that the item calls, or ''. */
  readonly tool: string
}

/**
 * Encodes messages as input items. `foundTools`: the definitions that searches have found, by name. With it, searches
 * become the format's own search items, and a call of a tool that was found names a namespace, which has the tool's own
 * name: OpenAI refuses the call without (“Missing namespace”).
 */
function encodeInput(
  messages: readonly Message[],
  isPlain: boolean,
  kinds: Kinds,
  foundTools?: ReadonlyMap<string, string>,
): readonly string[] {
  const encode = isPlain ? encodePlainly : encodeMessage
  const loaded = new Set<string>()
  let calls: readonly ToolCall[] = []
  return messages.flatMap((message) => {
    if (message.role === 'assistant') calls = message.calls ?? []
    if (foundTools && message.role === 'tool' && kinds.get(message.tool) === 'tool_search') {
      const names = (foundBy(message) ?? []).filter((name) => foundTools.has(name))
      for (const name of names) loaded.add(name)
      const definitions = names.flatMap((name) => foundTools.get(name) ?? [])
      return encodeSearchOutput(message.callId, definitions)
    }
    const isOfKind =
      message.role === 'tool'
        ? kinds.has(message.tool)
        : message.role === 'assistant' && calls.some(({ tool }) => kinds.has(tool))
    const items = isOfKind ? toItems(message, !isPlain, kinds, calls).map(encodeItem) : encode(message)
    return items.map(({ text, tool }) => (loaded.has(tool) ? `${text.slice(0, -1)},"namespace":"${tool}"}` : text))
  })
}

const NO_KINDS: Kinds = new Map()
const encodeMessage = encodeOnce((message: Message) => toItems(message, true, NO_KINDS).map(encodeItem))
const encodePlainly = encodeOnce((message: Message) => toItems(message, false, NO_KINDS).map(encodeItem))

/** Encodes an item without members that are null, which servers send but do not accept. Only calls have a name. */
function encodeItem(item: object): InputItem {
  return { text: JSON.stringify(item, (_, value: unknown) => value ?? undefined), tool: textAt(item, 'name') }
}

/** `latest`: the calls of the last answer, which a result may be of. */
function toItems(
  message: Message,
  withReasoning: boolean,
  kinds: Kinds,
  latest: readonly ToolCall[] = [],
): readonly object[] {
  switch (message.role) {
    case 'assistant': {
      const { content, calls = [], opaque } = message
      const callItems = calls.map(({ callId: call_id, tool, arguments: text }) => {
        const kind = kinds.get(tool)
        return kind
          ? { call_id, ...toKindCall(kind, calledName(tool), text), ...(kind !== 'custom' && { status: 'completed' }) }
          : { type: 'function_call', call_id, name: calledName(tool), arguments: argumentsText(text) }
      })
      return outputItems(content, callItems, withReasoning ? opaque : undefined)
    }
    case 'tool': {
      const { callId: call_id, tool, content } = message
      const isText = content.every(({ type }) => type === 'text')
      const output = isText ? contentText(content) : content.map(toPart)
      const kind = kinds.get(tool)
      if (!kind || kind === 'tool_search') return [{ type: 'function_call_output', call_id, output }]
      const { arguments: text = '' } = latest.find(({ callId }) => callId === call_id) ?? {}
      // The server wants back how much of a shell's output its model has asked for.
      const { max_output_length } = kind === 'shell' ? argumentsObject(text) : {}
      return [{ call_id, ...toKindOutput(kind, message, output), max_output_length }]
    }
    default: {
      const { role, content } = message
      return [{ role, content: typeof content === 'string' ? content : content.map(toPart) }]
    }
  }
}

function toPart(part: UserContent): object {
  if (part.type === 'text') return { type: 'input_text', text: part.text }
  const url = urlOf(part)
  if (part.type === 'file' && 'url' in part) return { type: 'input_file', file_url: url }
  return part.type === 'image'
    ? { type: 'input_image', detail: 'auto', image_url: url }
    : { type: 'input_file', filename: 'file', file_data: url }
}

function encodeTool(tool: ToolDefinition, kinds: Kinds): string {
  return kinds.has(tool.name) ? encodeKind(tool) : encodeFunction(tool)
}

const encodeKind = encodeOnce(({ forms, description, inputSchema: parameters }: ToolDefinition) =>
  JSON.stringify(forms?.responses ?? { type: 'tool_search', execution: 'client', description, parameters }),
)

/** Encodes a function. `strict` is always sent: it defaults to true, and most tools break the rules of strict schemas. */
const encodeFunction = encodeOnce((tool: ToolDefinition) => {
  const { name, inputSchema: parameters, strict = false } = tool
  return JSON.stringify({ type: 'function', name, description: describeTool(tool), parameters, strict })
})

/**
 * What all items of the format's “client-executed tool search” share. The model asks for a search by an item of its own
 * kind, and the item that answers holds the definitions found, so that the request before it stays cached at the
 * server. Shapes: `ToolSearchTool`, `ResponseToolSearchCall`, `ResponseToolSearchOutputItemParam` and `FunctionTool` of
 * the package `openai`.
 */
const DONE = { execution: 'client', status: 'completed' }

/**
 * Returns the definitions on offer that searches have found, encoded, by name; without a tool that `toolChoice` names.
 * `search`: the name of the search. Undefined if it is not known what it found, or if `toolChoice` names it.
 */
function foundIn(
  { messages, tools, toolChoice }: ModelRequest,
  search: string,
  kinds: Kinds,
): ReadonlyMap<string, string> | undefined {
  const chosen = typeof toolChoice === 'object' ? toolChoice.tool : ''
  const searches = messages.filter((message) => message.role === 'tool' && message.tool === search).map(foundBy)
  if (chosen === search || searches.some((found) => !found)) return undefined
  const names = new Set(searches.flatMap((found = []) => found))
  names.delete(chosen)
  names.delete(search)
  const foundTools = tools.filter(({ name }) => names.has(name))
  return new Map(foundTools.map((tool) => [tool.name, `${encodeTool(tool, kinds).slice(0, -1)},"defer_loading":true}`]))
}

/** Returns the names that the result of a search has found. One of the caller's own names them in its text. */
function foundBy(message: Message): readonly string[] | undefined {
  if (message.role !== 'tool') return undefined
  return message.found ?? (message.tool === TOOL_SEARCH ? undefined : readFoundTools(message.content).names)
}

/** Encodes the result of a search: these definitions, or none if it failed. The format has no place for a message. */
function encodeSearchOutput(call_id: string, definitions: readonly string[]): string {
  const head = JSON.stringify({ type: 'tool_search_output', ...DONE, call_id })
  return `${head.slice(0, -1)},"tools":[${definitions.join()}]}`
}

/**
 * A part of an answer. All are kept, in order, because the server wants its reasoning back in its place: a reasoning
 * item as it came, and so an item of a tool that the server runs; a message as the length of its text and its phase; a
 * call as its index.
 */
export type OutputPart =
  | { readonly reasoning: unknown }
  | { readonly hosted: unknown }
  | { readonly text: number; readonly phase?: unknown }
  | { readonly call: number }

const CODEC = 'openai-responses'

/** Returns the data that must go back with an answer; undefined if it has only texts and calls. */
export function responsesOpaque(parts: readonly OutputPart[]): Opaque | undefined {
  return parts.some((part) => !('text' in part || 'call' in part) || 'phase' in part)
    ? { codec: CODEC, data: parts }
    : undefined
}

/** Returns the phase that the server has told of the last text of an answer, such as `commentary`. */
export function phaseOf(opaque: Opaque | undefined): string {
  return textAt(objectsOf(opaqueDataOf(CODEC, opaque)).findLast(isTextPart), 'phase')
}

/** Adds the phase of a text of this length to what goes back with its answer, unless that has its texts already. */
export function withPhase(opaque: Opaque | undefined, length: number, phase: string): Opaque | undefined {
  const parts = objectsOf(opaqueDataOf(CODEC, opaque))
  const isKnown = parts.some(isTextPart) || (opaque && opaque.codec !== CODEC)
  return isKnown ? opaque : { codec: CODEC, data: [...parts, { text: length, phase }] }
}

function isTextPart(part: Fields): boolean {
  return 'text' in part
}

/** Converts an earlier answer back to items, with its opaque data. Text and calls without a place in it come last. */
function outputItems(text: string, calls: readonly object[], opaque: Opaque | undefined): readonly object[] {
  const items: object[] = []
  const remainingCalls = new Map(calls.entries())
  let at = 0

  function pushText(end: number, phase?: unknown): void {
    const content = text.slice(at, end)
    at = Math.max(at, end)
    if (content !== '') items.push({ role: 'assistant', content, phase })
  }

  for (const part of objectsOf(opaqueDataOf(CODEC, opaque))) {
    // A caller may have written any other item, such as a reference to another's.
    if (isObject(part.reasoning)) items.push(...(part.reasoning['type'] === 'reasoning' ? [part.reasoning] : []))
    else if (isObject(part.hosted)) items.push(...(isHostedItem(part.hosted) ? [part.hosted] : []))
    else if (typeof part.text === 'number') pushText(at + part.text, part.phase)
    else if (typeof part.call === 'number') {
      const call = remainingCalls.get(part.call)
      remainingCalls.delete(part.call)
      if (call) items.push(call)
    }
  }
  pushText(text.length)
  items.push(...remainingCalls.values())
  // OpenAI refuses a reasoning item that no other item follows.
  return items.slice(0, 1 + items.findLastIndex((item) => !('summary' in item)))
}

/** Returns the `arguments` of a function call as this format sends them: JSON text, `{}` for none. */
export function echoedArguments(value: unknown): string {
  return typeof value === 'string' ? value || '{}' : JSON.stringify(value)
}

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
    const input = {
      server: item.server_label,
      name: item.name,
      arguments: readExactly(textAt(item, 'arguments')) ?? {},
    }
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
