import { isObject, withoutUndefined } from '../../../contract/json.ts'
import {
  type AssistantMessage,
  type Content,
  contentText,
  type Message,
  type Opaque,
  type ToolMessage,
  type UserContent,
} from '../../../contract/message.ts'
import type { ModelRequest, ResponseFormat, ToolChoice } from '../../../contract/model.ts'
import { describeTool } from '../../../contract/tool-definition.ts'
import { objectsOf } from '../../fields.ts'
import { argumentsObject, calledName, opaqueDataOf } from '../model-answer.ts'
import { withEffort } from '../openai-chat/request.ts'

/** The supported versions of the AI SDK's `LanguageModel` specification. */
export type AiSdkVersion = 'v2' | 'v3' | 'v4'

/** The differences between models in the form of a prompt. */
interface AiSdkDialect {
  /** The version of the specification; versions differ in how they carry images and files. */
  readonly version: AiSdkVersion
  /** Whether tool results may contain images and files. Some providers would show them to the model as base64 text. */
  readonly richResults: boolean
}

/**
 * Returns the options of `doStream` for a request, without the signal. Sampling fields that the specification does not
 * have are left out: providers take those as `providerOptions`.
 */
export function toCallOptions(request: ModelRequest, dialect: AiSdkDialect): Record<string, unknown> {
  const { messages, tools, toolChoice, responseFormat, sampling = {}, providerOptions } = request
  const { stop, max_tokens, max_completion_tokens: most = max_tokens } = sampling
  return {
    prompt: toPrompt(messages, dialect),
    ...(tools.length > 0 && {
      tools: tools.map((tool) => {
        const { name, inputSchema } = tool
        // Most providers ignore the field that the specification has for examples.
        return { type: 'function', name, description: describeTool(tool), inputSchema }
      }),
      ...(toolChoice && { toolChoice: toToolChoice(toolChoice) }),
    }),
    ...(responseFormat && { responseFormat: toFormat(responseFormat) }),
    ...(providerOptions && { providerOptions }),
    ...withoutUndefined({
      temperature: sampling.temperature,
      topP: sampling.top_p,
      seed: sampling.seed,
      presencePenalty: sampling.presence_penalty,
      frequencyPenalty: sampling.frequency_penalty,
      maxOutputTokens: most,
      stopSequences: typeof stop === 'string' ? [stop] : stop,
      reasoning: dialect.version === 'v4' ? withEffort(sampling)['reasoning_effort'] : undefined,
    }),
  }
}

function toPrompt(messages: readonly Message[], dialect: AiSdkDialect): readonly object[] {
  const prompt: object[] = []
  /** The ids of calls as sent, by our call ids: the provider's own, if they were kept with the answer. */
  const ids = new Map<string, string>()
  /** The content of the message for the results of a step, which share one. */
  let results: object[] | undefined
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!results) prompt.push({ role: 'tool', content: (results = []) })
      results.push(toResult(message, ids, dialect))
      continue
    }
    results = undefined
    if (message.role === 'system') prompt.push({ role: 'system', content: message.content })
    else if (message.role === 'assistant') prompt.push({ role: 'assistant', content: toAnswer(message, ids) })
    else {
      const { content } = message
      const parts = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
      prompt.push({ role: 'user', content: parts.map((part) => toPart(part, dialect.version)) })
    }
  }
  return prompt
}

function toPart(part: UserContent, version: AiSdkVersion): object {
  if (part.type === 'text') return part
  if ('url' in part) {
    const url = new URL(part.url)
    return { type: 'file', mediaType: part.mediaType, data: version === 'v4' ? { type: 'url', url } : url }
  }
  const { mediaType, data } = part
  return { type: 'file', mediaType, data: version === 'v4' ? { type: 'data', data } : data }
}

/** Converts an earlier answer: kept parts in their original order, with the provider's data; then all that is left. */
function toAnswer(message: AssistantMessage, ids: Map<string, string>): readonly object[] {
  const parts: object[] = []
  const rest = { reasoning: message.reasoning ?? '', text: message.content }
  const remainingCalls = new Map((message.calls ?? []).entries())

  function pushText(type: 'text' | 'reasoning', length: number, data?: unknown): void {
    const text = rest[type].slice(0, length)
    rest[type] = rest[type].slice(length)
    // Reasoning that the provider hides has no text, but data such as a signature.
    if (text !== '' || (type === 'reasoning' && data)) parts.push({ type, text, ...toOptions(data) })
  }

  function call(index: number, id?: unknown, data?: unknown): void {
    const call = remainingCalls.get(index)
    remainingCalls.delete(index)
    if (!call) return
    const toolCallId = typeof id === 'string' ? id : call.callId
    ids.set(call.callId, toolCallId)
    const input = argumentsObject(call.arguments)
    parts.push({ type: 'tool-call', toolCallId, toolName: calledName(call.tool), input, ...toOptions(data) })
  }

  for (const { reasoning, text, call: index, id, data } of opaquePartsOf(message.opaque)) {
    if (typeof reasoning === 'number') pushText('reasoning', reasoning, data)
    else if (typeof text === 'number') pushText('text', text, data)
    else if (typeof index === 'number') call(index, id, data)
  }
  pushText('reasoning', Infinity)
  pushText('text', Infinity)
  for (const index of [...remainingCalls.keys()]) call(index)
  return parts
}

function toOptions(data: unknown): object {
  return isObject(data) ? { providerOptions: data } : {}
}

function toResult(message: ToolMessage, ids: ReadonlyMap<string, string>, dialect: AiSdkDialect): object {
  const { callId, tool, ok, content } = message
  const { version, richResults } = dialect
  const isText = !richResults || content.every(({ type }) => type === 'text')
  const output = isText
    ? { type: ok ? 'text' : 'error-text', value: contentText(content) }
    : { type: 'content', value: content.map((part) => toResultPart(part, version)) }
  return { type: 'tool-result', toolCallId: ids.get(callId) ?? callId, toolName: calledName(tool), output }
}

function toResultPart(part: Content, version: AiSdkVersion): object {
  if (part.type === 'text' || version === 'v4') return toPart(part, version)
  const { type, mediaType, data } = part
  return { type: version === 'v2' ? 'media' : `${type}-data`, mediaType, data }
}

function toToolChoice(choice: ToolChoice): object {
  return typeof choice === 'object' ? { type: 'tool', toolName: choice.tool } : { type: choice }
}

function toFormat(format: ResponseFormat): object {
  if (format.type === 'text') return format
  return format.type === 'json_object' ? { type: 'json' } : { type: 'json', name: format.name, schema: format.schema }
}

/** Data that a provider sends with a part of its answer and wants back, such as `{ anthropic: { signature } }`. */
type ProviderData = Readonly<Record<string, unknown>>

/** A text, or some reasoning, as its length: the text itself is in the message. */
export interface OpenText {
  readonly type: 'text' | 'reasoning'
  length: number
  data?: ProviderData
}

/** A call: its index, and the id that its provider gave it. */
export interface OpenCall {
  readonly call: number
  readonly id: string
  readonly tool: string
  arguments?: string
  data?: ProviderData
}

const CODEC = 'ai-sdk'

/** Returns the data that must go back with an answer of these parts; undefined if its provider sent none with them. */
export function aiSdkOpaque(parts: readonly (OpenText | OpenCall)[]): Opaque | undefined {
  if (!parts.some(({ data }) => data)) return undefined
  const opaqueParts = parts.map((part) => {
    const data = part.data && { data: part.data }
    return 'call' in part ? { call: part.call, id: part.id, ...data } : { [part.type]: part.length, ...data }
  })
  return { codec: CODEC, data: opaqueParts }
}

/** Returns the parts that this codec kept of an earlier answer; none if it kept nothing. */
function opaquePartsOf(opaque: Opaque | undefined): readonly Readonly<Record<string, unknown>>[] {
  return objectsOf(opaqueDataOf(CODEC, opaque))
}
