import { isObject, type JsonSchema } from '../../../contract/json.ts'
import {
  type AssistantMessage,
  type Content,
  contentText,
  type Message,
  type ToolMessage,
  type UserContent,
} from '../../../contract/message.ts'
import type { ModelRequest, ToolChoice } from '../../../contract/model.ts'
import { describeTool, type ToolDefinition } from '../../../contract/tool-definition.ts'
import { encodeOnce } from '../../events.ts'
import { objectsOf } from '../../fields.ts'
import { GEMINI } from './answer.ts'
import { argumentsObject, calledName, joinItems, jsonText, opaqueDataOf } from '../model-answer.ts'
import { withEffort } from '../openai-chat/request.ts'
import { GEMINI_DIALECT } from '../dialects.ts'
import { narrow } from '../strict-schema.ts'
import { byTurns, systemTexts } from '../turns.ts'

/**
 * Encodes the body of a request. Each definition and message is encoded once, so that a step costs only what it added.
 * Expects tools as `fitRequest` makes them. `isPlain` leaves out what older models refuse: the thinking level, Gemini's own
 * tools beside functions, and files in results, which are only named. Throws an UnsupportedSchema for a response format
 * that cannot be expressed, and says where.
 */
export function encodeGeminiRequest(request: ModelRequest, isPlain = false): string {
  const { messages, tools, toolChoice, responseFormat: form, sampling = {} } = request
  const { max_completion_tokens, max_tokens, stop } = sampling
  // Older models have either tools of their own or functions.
  const format = isPlain && tools.length > 0 ? undefined : 'gemini'
  const { forms = [] } = (toolChoice !== 'none' && request.providerTools?.(format)) || {}
  const { reasoning_effort: effort } = withEffort(sampling)
  const texts = systemTexts(messages).map((text) => ({ text }))
  const head = {
    systemInstruction: texts.length > 0 ? { parts: texts } : undefined,
    toolConfig: tools.length > 0 ? toolConfig(toolChoice, forms.length > 0) : undefined,
    generationConfig: {
      temperature: sampling.temperature,
      topP: sampling.top_p,
      topK: sampling.top_k,
      seed: sampling.seed,
      presencePenalty: sampling.presence_penalty,
      frequencyPenalty: sampling.frequency_penalty,
      maxOutputTokens: max_completion_tokens ?? max_tokens,
      stopSequences: typeof stop === 'string' ? [stop] : stop,
      thinkingConfig: typeof effort === 'string' && !isPlain ? toThinking(effort) : undefined,
      responseMimeType: form && form.type !== 'text' ? 'application/json' : undefined,
      responseJsonSchema: form?.type === 'json_schema' ? toSchema(form.schema, form.name) : undefined,
    },
  }
  const contents = isPlain ? messages.map(withoutFiles) : messages
  const offered = tools.length > 0 ? [jsonText({}, { functionDeclarations: tools.map(encodeTool) })] : []
  const ownTools = forms.map((form) => JSON.stringify(form))
  return jsonText(head, { tools: [...offered, ...ownTools], contents: encodeContents(contents) })
}

const withoutFiles = encodeOnce((message: Message): Message =>
  message.role === 'tool' ? { ...message, content: [{ type: 'text', text: contentText(message.content) }] } : message,
)

const encodeTool = encodeOnce((tool: ToolDefinition) => {
  const { name, inputSchema: parametersJsonSchema } = tool
  return JSON.stringify({ name, description: describeTool(tool), parametersJsonSchema })
})

/** Beside functions, Gemini's own tools work only if their uses are part of the answer (`toolCall`, `toolResponse`). */
function toolConfig(choice: ToolChoice | undefined, hasOwnTools: boolean): object | undefined {
  if (!choice && !hasOwnTools) return undefined
  return {
    functionCallingConfig: choice && toMode(choice),
    includeServerSideToolInvocations: hasOwnTools || undefined,
  }
}

const MODES = { auto: 'AUTO', none: 'NONE', required: 'ANY' }

function toMode(choice: ToolChoice): object {
  return typeof choice === 'object' ? { mode: 'ANY', allowedFunctionNames: [choice.tool] } : { mode: MODES[choice] }
}

/** Converts an effort. No model stops thinking altogether; their lowest levels differ, but all of them know `low`. */
function toThinking(effort: string): object {
  const thinkingLevel = /none|minimal/.test(effort) ? 'low' : /low|medium/.test(effort) ? effort : 'high'
  return { thinkingLevel, includeThoughts: effort !== 'none' }
}

/** Converts the schema of an answer. Throws an UnsupportedSchema for a reference that leads out of it, and says where. */
function toSchema(schema: JsonSchema, name: string): JsonSchema {
  return narrow(schema, `"${name}"`, KEYWORDS)
}

const { keywords: KEYWORDS = { plain: /^/, lists: /^$/ } } = GEMINI_DIALECT

/** Encodes the `contents` of a request. Roles alternate; results count as the user's. Empty messages are left out. */
function encodeContents(messages: readonly Message[]): readonly string[] {
  /** The ids that Gemini gave to calls, by our call ids. */
  const ids = new Map<string, unknown>()
  const turns = byTurns(messages, (message) => {
    if (message.role === 'assistant') {
      const places = placesOf(message).filter(({ call }) => call)
      for (const [index, { callId }] of (message.calls ?? []).entries()) ids.set(callId, places[index]?.id)
    }
    const parts = encodeParts(message)
    if (message.role !== 'tool') return parts
    const id = ids.get(message.callId)
    return `{"functionResponse":${id ? `{"id":${JSON.stringify(id)},${parts.slice(1)}` : parts}}`
  })
  return turns.map(({ isAnswer, parts }) => jsonText({ role: isAnswer ? 'model' : 'user' }, { parts }))
}

/** Encodes the parts of a message as the inside of a JSON list, or the response of a result; '' if there are none. */
const encodeParts = encodeOnce((message: Message): string => {
  switch (message.role) {
    case 'system':
      return ''
    case 'user': {
      const { content } = message
      return joinItems(typeof content === 'string' ? toText(content) : content.flatMap(toPart))
    }
    case 'assistant':
      return answerParts(message)
    case 'tool':
      return JSON.stringify(toResponse(message))
  }
})

/** The signature that Google accepts for a call that no Gemini signed, such as one of another provider's model. */
const UNSIGNED = 'skip_thought_signature_validator'

/** The members of parts that are sent back as they came. A caller may have written any others, such as another's file. */
const GENERATED = new Set([
  'text',
  'thought',
  'thoughtSignature',
  'inlineData',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
])

/** Encodes an answer: its parts in their original order if it was kept, else the text, then the calls. */
function answerParts(message: AssistantMessage): string {
  const { content, calls = [] } = message
  const remainingCalls = [...calls]
  let at = 0

  function pushCall(id?: unknown, signature?: unknown): readonly object[] {
    // The first call of an answer must be signed.
    const thoughtSignature = signature ?? (remainingCalls.length === calls.length ? UNSIGNED : undefined)
    const call = remainingCalls.shift()
    if (!call) return []
    const functionCall = { id, name: calledName(call.tool), args: argumentsObject(call.arguments) }
    return [{ functionCall, thoughtSignature }]
  }

  const parts = placesOf(message).flatMap(({ part, text, call, id, thoughtSignature }): readonly object[] => {
    if (call) return pushCall(id, thoughtSignature)
    if (isObject(part)) return Object.keys(part).every((name) => GENERATED.has(name)) ? [part] : []
    const piece = content.slice(at, (at += Number(text)))
    return piece || thoughtSignature ? [{ text: piece, thoughtSignature }] : []
  })
  parts.push(...toText(content.slice(at)))
  while (remainingCalls.length > 0) parts.push(...pushCall())
  return joinItems(parts)
}

function placesOf({ opaque }: AssistantMessage): readonly Readonly<Record<string, unknown>>[] {
  return objectsOf(opaqueDataOf(GEMINI, opaque))
}

/** Converts a result with the files that Gemini accepts in one; other files are only named, in the text. */
function toResponse({ tool, ok, content }: ToolMessage): object {
  const isFile = (part: Content) => part.type !== 'text' && IN_RESULTS.test(part.mediaType)
  const parts = content.filter(isFile).flatMap(toPart)
  const text = contentText(content.filter((part) => !isFile(part)))
  return {
    name: calledName(tool),
    response: { [ok ? 'output' : 'error']: text },
    parts: parts.length > 0 ? parts : undefined,
  }
}

const IN_RESULTS = /^(image\/(png|jpeg|webp)|application\/pdf|text\/plain)$/

function toText(text: string): readonly object[] {
  return text === '' ? [] : [{ text }]
}

function toPart(part: UserContent): readonly object[] {
  if ('url' in part) return [{ fileData: { mimeType: part.mediaType, fileUri: part.url } }]
  return part.type === 'text' ? toText(part.text) : [{ inlineData: { mimeType: part.mediaType, data: part.data } }]
}
