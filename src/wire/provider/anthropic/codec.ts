import { fromBase64 } from '../../../contract/bytes.ts'
import { readFoundTools } from '../../../contract/found-tools.ts'
import { isObject, type JsonSchema } from '../../../contract/json.ts'
import {
  type AssistantMessage,
  contentText,
  type Message,
  type Opaque,
  type ToolMessage,
  type UserContent,
} from '../../../contract/message.ts'
import type { ModelEvent, ModelRequest } from '../../../contract/model.ts'
import type { Citation } from '../../../contract/provider-tool.ts'
import { TOOL_SEARCH } from '../../../contract/tool.ts'
import type { ToolDefinition } from '../../../contract/tool-definition.ts'
import { encodeOnce } from '../../events.ts'
import { countAt, fieldsOf, objectsOf, textAt, textOrJson } from '../../fields.ts'
import { addArguments, type CallArguments } from '../call-arguments.ts'
import {
  argumentsText,
  calledName,
  type Fields,
  HIDDEN_REASONING,
  joinItems,
  jsonText,
  type NativeAnswer,
  nativeAnswers,
  opaqueDataOf,
  type SpokenCall,
  toUsage,
} from '../model-answer.ts'
import { ANTHROPIC_ANSWERS } from '../dialects.ts'
import { inWords, narrow } from '../strict-schema.ts'
import { citationsIn } from '../provider-call.ts'
import { byTurns, systemTexts } from '../turns.ts'
import {
  isOpenUse,
  isSearchBlock,
  isServerBlock,
  isServerResult,
  serverCall,
  toServerTool,
  usableBlocks,
  wholeUse,
} from './server-tools.ts'

export interface AnthropicSettings {
  readonly model: string
  /** The limit of tokens of an answer, if the request sets none. */
  readonly maxTokens: number
  /**
   * For how long the provider caches the parts that the next request repeats, which are marked; `off` marks none.
   */
  readonly cache: '5m' | '1h' | 'off'
  /** Whether the definition of a tool that a search found is loaded where the result names it. Default true. */
  readonly deferLoading?: boolean
  /** Members of the request beside those that all providers have, such as `metadata`. */
  readonly members?: Fields
  /** The provider's own search of tools, if the request has it. */
  readonly search?: ProviderSearch | undefined
  /** Whether to leave out what some models refuse: thinking, effort, and deferred loading of definitions. */
  readonly isPlain?: boolean
}

/** The tools by which a model of the provider searches others within its answer. */
export interface ProviderSearch {
  /** As the provider declares them. */
  readonly forms: readonly Fields[]
  /** The names of the tools that are searched, whose definitions stay out of the context until they are found. */
  readonly deferred: readonly string[]
}

/**
 * Encodes the body of a streamed request. Each definition and message is encoded once, so that a step costs only what
 * it added. Expects tools as `fitRequest` makes them. Throws an UnsupportedSchema for a response format that cannot be
 * enforced.
 */
export function encodeAnthropicRequest(request: ModelRequest, options: AnthropicSettings): string {
  const { model, maxTokens, cache, deferLoading = true, isPlain, members } = options
  const { responseFormat: format, sampling = {} } = request
  const mayDefer = deferLoading && !isPlain
  const search = mayDefer && request.tools.length > 0 ? options.search : undefined
  const found = mayDefer ? request.messages : request.messages.map(withoutFound)
  const messages = search ? found : found.map(withoutSearches)
  const { max_completion_tokens, max_tokens, stop, temperature, top_p, top_k } = sampling
  const foundNames = new Set([...foundIn({ ...request, messages }), ...(search?.deferred ?? [])])
  const { forms = [], choice } = request.providerTools?.('anthropic') ?? {}
  const serverTools = [...(search?.forms ?? []), ...forms].map((form) => JSON.stringify(toServerTool(form)))
  const tools = [...toolsOf(request, (name) => !foundNames.has(name)), ...serverTools]
  const effort = isPlain ? undefined : readEffort(sampling.reasoning_effort)
  const thinking = (!isPlain && (sampling.thinking ?? (effort && ADAPTIVE))) || undefined
  const schema = format?.type === 'json_schema' ? toOutputSchema(format.schema, format.name) : undefined
  const head = {
    ...members,
    model,
    max_tokens: max_completion_tokens ?? max_tokens ?? maxTokens,
    stream: true,
    temperature,
    // Newer models refuse `temperature` and `top_p` together.
    top_p: temperature === undefined ? top_p : undefined,
    top_k,
    stop_sequences: typeof stop === 'string' ? [stop] : stop,
    thinking,
    output_config: effort || schema ? { effort, format: schema && { type: 'json_schema', schema } } : undefined,
    tool_choice: tools.length > 0 ? toToolChoice(request, choice && textAt(toServerTool(choice), 'name')) : undefined,
  }
  const system = systemTexts(messages)
  if (format?.type === 'json_object') system.push(inWords(format))
  const [instructions, ...notes] = system.map(toText)
  // Four marks are allowed, and two are on messages. Notes change when earlier messages are reduced; what precedes them
  // does not.
  const hasNotes = instructions !== undefined && notes.length > 0
  return jsonText(head, {
    // The cache mark may not be on a deferred definition: these come after it.
    tools: [
      ...marked(tools, hasNotes ? 'off' : cache),
      ...request.tools.flatMap((tool) => (foundNames.has(tool.name) ? deferredTool(tool) : [])),
    ],
    system: instructions === undefined ? [] : [...marked([instructions], cache), ...marked(notes, cache)],
    messages: encodeTurns(messages, cache),
  })
}

function encodeTurns(messages: readonly Message[], cache: AnthropicSettings['cache']): readonly string[] {
  const turns = byTurns(messages, encodeMessage)
  return turns.map(({ isAnswer, parts }, index) => {
    // The marks are on the user's newest turn, and on the one before it, with which the last request ended.
    const isMarked = !isAnswer && index > turns.length - 4
    return jsonText({ role: isAnswer ? 'assistant' : 'user' }, { content: marked(parts, isMarked ? cache : 'off') })
  })
}

/** The model decides how much it thinks, and summarizes its thinking. */
const ADAPTIVE = { type: 'adaptive', display: 'summarized' }

function readEffort(effort: unknown): unknown {
  if (effort === 'minimal') return 'low'
  return effort === 'none' ? undefined : effort
}

function toText(text: string): string {
  return JSON.stringify({ type: 'text', text })
}

/** Marks the last of these encoded objects: the cache is read and written up to a mark. */
function marked(texts: readonly string[], cache: AnthropicSettings['cache']): readonly string[] {
  const last = texts.at(-1)
  if (cache === 'off' || last === undefined) return texts
  const control = cache === '1h' ? '{"type":"ephemeral","ttl":"1h"}' : '{"type":"ephemeral"}'
  return [...texts.slice(0, -1), `${last.slice(0, -1)},"cache_control":${control}}`]
}

/**
 * Returns the names of the tools that searches have found, without one that `toolChoice` names. Their definitions stay
 * out of the context until a result names them, so that what precedes it stays cached (“custom tool search” of the
 * Messages API).
 */
function foundIn({ messages, toolChoice }: ModelRequest): ReadonlySet<string> {
  const names = messages.flatMap((message) => (message.role === 'tool' && message.found) || [])
  return new Set(names.filter((name) => typeof toolChoice !== 'object' || toolChoice.tool !== name))
}

const withoutFound = encodeOnce((message: Message): Message => {
  if (message.role !== 'tool' || !message.found) return message
  const { found: _, ...plain } = message
  return plain
})

/** Leaves out the searches of the provider: their results name tools that this request does not declare as deferred. */
const withoutSearches = encodeOnce((message: Message): Message => {
  if (message.role !== 'assistant' || !message.opaque) return message
  const places = opaqueDataOf(ANTHROPIC, message.opaque)
  const rest = places.filter((place) => !isObject(place) || !isSearchBlock(place))
  return rest.length === places.length ? message : { ...message, opaque: { codec: ANTHROPIC, data: rest } }
})

function deferredTool(tool: ToolDefinition): string {
  return `${encodeTool(tool).slice(0, -1)},"defer_loading":true}`
}

/**
 * Encodes the tools for which `isSaid` is true. Without any tools, those called earlier are named, since a history with
 * calls is refused otherwise; `tool_choice` then forbids new calls.
 */
function toolsOf({ tools, messages }: ModelRequest, isSaid: (name: string) => boolean): readonly string[] {
  if (tools.length > 0) return tools.filter(({ name }) => isSaid(name)).map(encodeTool)
  const calls = messages.flatMap((message) => (message.role === 'assistant' && message.calls) || [])
  const names = new Set(calls.map(({ tool }) => calledName(tool)))
  return [...names].map((name) => JSON.stringify({ name, input_schema: { type: 'object' } }))
}

const encodeTool = encodeOnce(({ name, description, inputSchema, inputExamples, forms }: ToolDefinition) =>
  JSON.stringify(
    forms?.anthropic ?? {
      name,
      description: description || undefined,
      input_schema: inputSchema,
      input_examples: inputExamples?.length ? inputExamples : undefined,
    },
  ),
)

/** Returns the same tool without the form that its caller has declared: as a function. */
export const withoutForm = encodeOnce((tool: ToolDefinition): ToolDefinition => {
  const { forms: _, ...definition } = tool
  return definition
})

const CHOICES = { auto: 'auto', none: 'none', required: 'any' }

/** `serverTool`: the name of the tool of the provider that is chosen. */
function toToolChoice(
  { tools, providerTools, toolChoice = 'auto', sampling }: ModelRequest,
  serverTool?: string,
): object {
  const all = serverTool === undefined ? toolChoice : { tool: serverTool }
  const choice = tools.length > 0 || providerTools ? all : 'none'
  const disable_parallel_tool_use = (choice !== 'none' && sampling?.parallel_tool_calls === false) || undefined
  if (typeof choice === 'object') return { type: 'tool', name: choice.tool, disable_parallel_tool_use }
  return { type: CHOICES[choice], disable_parallel_tool_use }
}

/** Encodes the blocks of a message as the inside of a JSON list; '' if it has none. */
const encodeMessage = encodeOnce((message: Message): string => {
  switch (message.role) {
    case 'system':
      return ''
    case 'user': {
      const { content } = message
      return joinItems(typeof content === 'string' ? textBlocks(content) : content.flatMap(toBlock))
    }
    case 'assistant':
      return answerBlocks(message)
    case 'tool': {
      const { callId, ok, content, found = [] } = message
      // The content of an error may only be text.
      const resultContent = ok ? content.flatMap(toBlock) : textBlocks(contentText(content))
      const blocks = found.length > 0 ? foundBlocks(message, found) : resultContent
      const result = { type: 'tool_result', tool_use_id: calledName(callId), is_error: !ok || undefined }
      return JSON.stringify({ ...result, content: blocks.length > 0 ? blocks : undefined })
    }
  }
})

/** Encodes what a search has found: a reference stands for the whole definition of a tool. The caller may say more. */
function foundBlocks({ tool, content }: ToolMessage, found: readonly string[]): readonly object[] {
  const references = found.map((name) => ({ type: 'tool_reference', tool_name: name }))
  return tool === TOOL_SEARCH ? references : [...references, ...textBlocks(readFoundTools(content).otherText)]
}

/** The kinds of blocks that are sent back as they came. A caller may have written any others, such as another's file. */
const THINKING: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking'])

/** Encodes an answer: blocks in their original order if thinking must keep its place, else the text, then the calls. */
function answerBlocks({ content, calls = [], opaque }: AssistantMessage): string {
  const places = usableBlocks(opaqueDataOf(ANTHROPIC, opaque))
  // Thinking alone, of an answer that broke off, would be refused.
  if (content.trim() === '' && calls.length === 0 && !places.some((place) => isObject(place) && isServerBlock(place)))
    return ''
  const uses = calls.map(({ callId, tool, arguments: text }) => {
    const use = JSON.stringify({ type: 'tool_use', id: calledName(callId), name: calledName(tool) })
    return `${use.slice(0, -1)},"input":${argumentsText(text)}}`
  })
  let at = 0
  const blocks = places.map((place) => {
    if (isObject(place)) {
      if (THINKING.has(place['type']) || isServerBlock(place)) return JSON.stringify(place)
      if (place['type'] !== 'text') return ''
      const { length, citations } = place
      return joinItems(textBlocks(content.slice(at, (at += Number(length)))).map((block) => ({ ...block, citations })))
    }
    return typeof place === 'number' ? joinItems(textBlocks(content.slice(at, (at += place)))) : uses.shift()
  })
  return [...blocks, joinItems(textBlocks(content.slice(at))), ...uses].filter(Boolean).join()
}

function textBlocks(text: string): readonly object[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }]
}

/** Converts a part. Images, PDFs and text files are sent as they are; other files are only named, in a text. */
function toBlock(part: UserContent): readonly object[] {
  if (part.type === 'text') return textBlocks(part.text)
  if ('url' in part)
    return [{ type: part.type === 'image' ? 'image' : 'document', source: { type: 'url', url: part.url } }]
  const { mediaType: media_type, data } = part
  const source = { type: 'base64', media_type, data }
  if (/^image\/(jpeg|png|gif|webp)$/.test(media_type)) return [{ type: 'image', source }]
  if (media_type === 'application/pdf') return [{ type: 'document', source }]
  const text = /^text\/|json$/.test(media_type) ? decodeText(data) : ''
  if (text === '') return textBlocks(contentText([part]))
  return [{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: text } }]
}

/** Decodes base64 to text; '' if it is not valid. */
function decodeText(data: string): string {
  return new TextDecoder().decode(fromBase64(data))
}

/** The label of the opaque data of Anthropic's answers. */
const ANTHROPIC = 'anthropic'

/**
 * A block of an answer. The blocks are kept in order: thinking, and what concerns tools that the provider runs, as it
 * came; a text as its length, if need be with its citations; the next call as null. The texts and calls themselves are in the message.
 */
export type BlockPlace = Readonly<Record<string, unknown>> | number | null

/** Returns the opaque data of an answer with these blocks; undefined if all are texts and calls. */
export function anthropicOpaque(places: readonly BlockPlace[]): Opaque | undefined {
  return places.some(isObject) ? { codec: ANTHROPIC, data: places } : undefined
}

/** Joins the opaque data of the parts of one answer. Each has the places of all its blocks. */
export function joinAnthropic(parts: readonly Opaque[]): Opaque | undefined {
  return anthropicOpaque(parts.flatMap(({ data }) => (Array.isArray(data) ? data : [])))
}

/** Returns the thinking in opaque data, as blocks that stand before all else; none if there is more to send back. */
export function leadingThinking(opaque: Opaque | undefined): readonly Fields[] {
  const data = opaqueDataOf(ANTHROPIC, opaque)
  const blocks = data.filter(isObject)
  const isLeading = data.findLastIndex(isObject) === blocks.length - 1
  return isLeading && blocks.every(({ type }) => THINKING.has(type)) ? blocks : []
}

/** Returns a message without its thinking, and without the blocks of it; the message itself if it has none. */
export function withoutThinking(message: Message): Message {
  if (message.role !== 'assistant') return message
  const { reasoning, opaque, ...rest } = message
  const places = opaqueDataOf(ANTHROPIC, opaque)
  const others = places.filter((place) => !isObject(place) || !THINKING.has(place['type']))
  if (reasoning === undefined && others.length === places.length) return message
  return { ...rest, opaque: others.length === places.length ? opaque : { codec: ANTHROPIC, data: others } }
}

/** The codec for the answers of servers that speak Anthropic Messages. */
export const anthropicAnswers = nativeAnswers(anthropicAnswer)

/** A content block, as far as it has arrived. `text`: its text, its thinking, or the arguments of its call. */
interface Block extends CallArguments {
  readonly value: Fields
  /** The index of the call among the answer's calls; -1 for a block that is not a call. */
  readonly call: number
  signature: string
  /** Where the text begins in that of the answer, and its sources. */
  readonly start: number
  readonly citations: Fields[]
}

function anthropicAnswer(): NativeAnswer {
  const blocks: Block[] = []
  /** The blocks by index. If the server sends no indexes, the only entry is the latest block. */
  const byIndex = new Map<unknown, Block>()
  let calls = 0
  let textLength = 0
  let hasBegun = false
  let reason = ''
  let stopSequence = ''
  let counts: Fields = {}

  function begin(index: unknown, value: Fields, events: ModelEvent[]): Block {
    const call = value.type === 'tool_use' ? calls++ : -1
    const citations = objectsOf(value.citations).filter(isWebCitation)
    const block: Block = { value, call, text: '', signature: '', start: textLength, citations: [...citations] }
    blocks.push(block)
    byIndex.set(index, block)
    if (call >= 0) events.push({ type: 'call.delta', index: call, tool: textAt(value, 'name'), arguments: '' })
    add(block, value, events)
    if (isServerResult(value.type)) events.push(serverCall(findUse(value), value))
    return block
  }

  function findUse({ tool_use_id }: Fields): Fields | undefined {
    const use = blocks.find(({ value }) => value.id === tool_use_id)
    return use && wholeUse(use.value, use.text)
  }

  function add(block: Block, delta: unknown, events: ModelEvent[]): void {
    const text = textAt(delta, 'text')
    const reasoning = textAt(delta, 'thinking')
    const part = textAt(delta, 'partial_json')
    const addition = grow(block, text + reasoning, part)
    block.signature += textAt(delta, 'signature')
    block.citations.push(...objectsOf([fieldsOf(delta).citation]).filter(isWebCitation))
    textLength += text.length
    if (text) events.push({ type: 'text', text })
    if (reasoning) events.push({ type: 'reasoning', text: reasoning })
    const isHidden = block.value.type === 'redacted_thinking' || (block.signature !== '' && block.text === '')
    if (isHidden && textLength === 0) events.push(HIDDEN_REASONING)
    if (addition) events.push({ type: 'call.delta', index: block.call, arguments: addition })
  }

  /** Takes members of the message: its first event has some, its last the stop reason; a whole message has all. */
  function note({ usage, content, ...message }: Fields, events: ModelEvent[]): void {
    hasBegun = true
    reason ||= textAt(message, 'stop_reason')
    stopSequence ||= textAt(message, 'stop_sequence')
    // The last event repeats the counts of the first, on some servers as zeros.
    counts = { ...counts, ...Object.fromEntries(Object.entries(fieldsOf(usage)).filter(([, count]) => count)) }
    for (const [index, block] of objectsOf(content).entries()) begin(index, block, events)
  }

  return {
    take: (event, events) => {
      const { type, index, delta, message, content_block, usage } = event
      if (type === 'message') note(event, events)
      else if (isObject(message)) note(message, events)
      else if (isObject(content_block)) begin(index, content_block, events)
      else if (type === 'message_delta') note({ ...fieldsOf(delta), usage }, events)
      else if (delta) add(byIndex.get(index) ?? begin(index, kindOf(delta), events), delta, events)
      return type === 'message_stop'
    },
    hasBegun: () => hasBegun,
    reason: () => reason,
    stopSequence: () => stopSequence,
    calls: () => blocks.filter(({ call }) => call >= 0).map(toCall),
    usage: () => {
      const cachedInputTokens = countAt(counts, 'cache_read_input_tokens')
      const cacheWriteTokens = countAt(counts, 'cache_creation_input_tokens')
      return toUsage({
        // `input_tokens` excludes the tokens that were read from the cache or written to it.
        inputTokens: countAt(counts, 'input_tokens') + cachedInputTokens + cacheWriteTokens,
        outputTokens: countAt(counts, 'output_tokens'),
        cachedInputTokens,
        cacheWriteTokens,
        longCacheWriteTokens: countAt(counts.cache_creation, 'ephemeral_1h_input_tokens'),
        reasoningTokens: countAt(counts.output_tokens_details, 'thinking_tokens'),
        webSearches: countAt(counts.server_tool_use, 'web_search_requests'),
      })
    },
    citations: () => blocks.flatMap(placeCitations),
    opaque: () => {
      const values = blocks.map(({ value }) => value)
      // A use without a result would be refused, unless the provider continues it.
      const isKept = ({ value }: Block) => /pause_turn|tool_use/.test(reason) || !isOpenUse(value, values)
      return anthropicOpaque(blocks.filter(isKept).flatMap(placeOf))
    },
  }
}

/** Adds a piece to a block, and returns what readers are shown of the arguments of a call. */
function grow(block: Block, text: string, part: string): string {
  if (block.call >= 0) return addArguments(block, part)
  block.text += text + part
  return ''
}

/** Returns the value of a block that no event began: its type is that of its fragments. */
function kindOf(delta: unknown): Fields {
  return { type: textAt(delta, 'type').replace('_delta', '') }
}

/** Converts a block to a call. Anthropic sends `input` in fragments, unless empty; others send it with the block. */
function toCall({ value, text, isPlaceholder = false }: Block): SpokenCall {
  const { input } = value
  const completeArguments = textOrJson(input) || '{}'
  const isSilent = !text || isPlaceholder
  return { tool: textAt(value, 'name'), arguments: isSilent ? completeArguments : text, isSilent }
}

function placeCitations({ start, text, citations }: Block): readonly Citation[] {
  return citations.flatMap((each) => citationsIn(each, { start, end: start + text.length }))
}

/** Whether a citation is of a page that a search found. Others refer to documents of the request by their numbers. */
function isWebCitation({ type }: Fields): boolean {
  return type === 'web_search_result_location'
}

function placeOf({ value, call, text, signature, citations }: Block): readonly BlockPlace[] {
  if (call >= 0) return [null]
  if (value.type === 'text')
    return [citations.length > 0 ? { type: 'text', length: text.length, citations } : text.length]
  if (isServerBlock(value)) return [wholeUse(value, text)]
  if (value.type === 'redacted_thinking') return [value]
  // Thinking that broke off before it was signed would be refused.
  return value.type === 'thinking' && signature ? [{ ...value, thinking: text, signature }] : []
}

/** Converts the schema of an answer. Throws an UnsupportedSchema that says what cannot be enforced, and where. */
function toOutputSchema(schema: JsonSchema, name: string): JsonSchema {
  return narrow(schema, `"${name}"`, ANTHROPIC_ANSWERS)
}
