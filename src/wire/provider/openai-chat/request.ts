import {
  type AssistantMessage,
  contentText,
  type Message,
  type ToolCall,
  type UserContent,
} from '../../../contract/message.ts'
import type { ModelRequest, ResponseFormat, ToolChoice } from '../../../contract/model.ts'
import { describeTool, type ToolDefinition } from '../../../contract/tool-definition.ts'
import { encodeGrowing, encodeOnce } from '../../events.ts'
import { countAt } from '../../fields.ts'
import { argumentsText, calledName, jsonText } from '../model-answer.ts'
import { opaqueFieldsOf } from './answer.ts'
import type { ChatToolCall } from './types.ts'
import { urlOf } from '../turns.ts'

export interface ChatAsk {
  /** The name of the codec that read this server's answers; the opaque data that it kept of them goes back. */
  readonly codec?: string
  /** Sends earlier reasoning back as `reasoning_content`: some servers refuse requests without it, others with it. */
  readonly replayReasoning?: boolean
  /** Whether the server takes `prompt_cache_key`. */
  readonly hasCacheKey?: boolean
}

/**
 * Encodes the body of a streamed request. Each definition and message is encoded once, so that a step costs only what
 * it added. Expects tools as `fitRequest` makes them.
 */
export function encodeChatRequest(
  model: string,
  request: ModelRequest,
  { codec = '', replayReasoning, hasCacheKey = false }: ChatAsk = {},
): string {
  const { messages, tools, toolChoice, responseFormat, sampling } = request
  const { parallel_tool_calls, ...passed } = withEffort(sampling)
  const head = {
    stream_options: { include_usage: true },
    prompt_cache_key: hasCacheKey ? request.cacheKey : undefined,
    ...passed,
    model,
    stream: true,
    response_format: responseFormat && toResponseFormat(responseFormat),
    // OpenAI refuses these members in a request without tools.
    ...(tools.length > 0 && { tool_choice: toToolChoice(toolChoice), parallel_tool_calls }),
  }
  return jsonText(head, {
    tools: tools.map(encodeTool),
    messages: messagesEncoder(codec, replayReasoning)(messages.filter(hasContent)),
  })
}

type Sampling = Readonly<Record<string, unknown>>

/** Returns sampling fields without `thinking`, which only Anthropic has: its budget becomes an effort. */
export function withEffort({ thinking, ...sampling }: Sampling = {}): Sampling {
  const budget = countAt(thinking, 'budget_tokens')
  if (budget === 0 || sampling['reasoning_effort'] !== undefined) return sampling
  return { ...sampling, reasoning_effort: budget <= 4096 ? 'low' : budget <= 16_384 ? 'medium' : 'high' }
}

/** Returns whether a message is sent: some servers refuse a history with an empty answer. */
function hasContent(message: Message): boolean {
  return message.role !== 'assistant' || Boolean(message.content || message.calls?.length)
}

const encodeKnownTool = encodeOnce((tool: ToolDefinition) => JSON.stringify(toChatTool(tool)))

/** A definition that a caller sent, which has no hash, is not likely to come again. */
function encodeTool(tool: ToolDefinition): string {
  return tool.hash === '' ? JSON.stringify(toChatTool(tool)) : encodeKnownTool(tool)
}

const encoders = new Map<string, (messages: readonly Message[]) => string>()

/** Returns the encoder of messages for a codec, which is the same each time. */
function messagesEncoder(codec: string, replayReasoning = false): (messages: readonly Message[]) => string {
  const key = `${replayReasoning} ${codec}`
  let encoder = encoders.get(key)
  if (!encoder) encoders.set(key, (encoder = encodeGrowing((message) => messageFor(codec, message, replayReasoning))))
  return encoder
}

function messageFor(codec: string, message: Message, replayReasoning: boolean): object {
  if (message.role !== 'assistant') return toChatMessage(message)
  const answer = toAnswer(message, codec)
  // Servers that need reasoning need it in every answer, even one that had none, and some refuse an empty text.
  return replayReasoning ? { ...answer, reasoning_content: message.reasoning || ' ' } : answer
}

/** Converts a message. The content of an answer that has calls but no text is null. */
export function toChatMessage(message: Message): object {
  const { role, content } = message
  switch (role) {
    case 'user':
      return { role, content: typeof content === 'string' ? content : content.map(toChatPart) }
    case 'assistant':
      return toAnswer(message)
    case 'tool':
      return { role, tool_call_id: message.callId, content: contentText(content) }
    default:
      return { role, content }
  }
}

/** Converts an earlier answer, with the data that `codec` kept of it. */
function toAnswer(message: AssistantMessage, codec = ''): object {
  const { role, content, calls = [] } = message
  const { reasoning, extras } = opaqueFieldsOf(message, codec)
  if (calls.length === 0) return { role, content, ...reasoning }
  const tool_calls = calls.map(({ callId, tool, arguments: text }, index) => ({
    ...toChatCall({ callId, tool: calledName(tool), arguments: argumentsText(text) }),
    extra_content: extras[index],
  }))
  // Beside calls the format has null for no text, and some servers refuse an empty one.
  return { role, content: content || null, tool_calls, ...reasoning }
}

export function toChatTool(tool: ToolDefinition): object {
  const { name, inputSchema: parameters, strict } = tool
  const declaration = {
    name,
    description: describeTool(tool),
    parameters,
    ...(strict !== undefined && { strict }),
  }
  return { type: 'function', function: declaration }
}

function toChatPart(part: UserContent): object {
  if (part.type === 'text') return part
  const url = urlOf(part)
  return part.type === 'image'
    ? { type: 'image_url', image_url: { url } }
    : { type: 'file', file: { filename: 'file', file_data: url } }
}

export function toToolChoice(choice: ToolChoice | undefined): unknown {
  return typeof choice === 'object' ? { type: 'function', function: { name: choice.tool } } : choice
}

function toResponseFormat({ type, ...format }: ResponseFormat): object {
  return type === 'json_schema' ? { type, json_schema: format } : { type }
}

export function toChatCall({ callId, tool, arguments: text }: ToolCall): ChatToolCall {
  return { id: callId, type: 'function', function: { name: tool, arguments: text } }
}

export function fromChatCall({ id, function: { name, arguments: text } }: Omit<ChatToolCall, 'type'>): ToolCall {
  return { callId: id, tool: name, arguments: text }
}

/**
 * Adapts a request to Mistral's own servers, which refuse anything else: call ids have nine letters and digits (“must
 * be a-z, A-Z, 0-9, with a length of 9”), the limit of tokens has its old name, the seed its own, `stream_options` is
 * left out (usage comes unasked), and an answer stands between results and a message of the user (“Unexpected role
 * 'user' after role 'tool'”).
 */
export function forMistral({ messages, sampling = {}, ...request }: ModelRequest): ModelRequest {
  const { max_completion_tokens, max_tokens = max_completion_tokens, seed: random_seed, ...passed } = sampling
  return {
    ...request,
    messages: messages.filter(hasContent).flatMap((message, index, remaining) => {
      const isUnanswered = message.role === 'user' && remaining[index - 1]?.role === 'tool'
      return isUnanswered ? [ANSWER, message] : withShortIds(message)
    }),
    sampling: { ...passed, max_tokens, random_seed, stream_options: undefined },
  }
}

const ANSWER: Message = { role: 'assistant', content: 'OK.' }

const withShortIds = encodeOnce((message: Message): Message => {
  if (message.role === 'tool') return shortenCallId(message)
  return message.role === 'assistant' && message.calls
    ? { ...message, calls: message.calls.map(shortenCallId) }
    : message
})

/** Shortens a call id to its end, which tells calls apart: the edge's ids end in the step and the index of the call. */
function shortenCallId<WithCallId extends Pick<ToolCall, 'callId'>>(value: WithCallId): WithCallId {
  const letters = value.callId.replace(/[\W_]/g, '')
  return { ...value, callId: letters.slice(-9).padStart(9, '0') }
}
