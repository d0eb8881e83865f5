import type { JsonSchema } from '../../../contract/json.ts'
import { type Message, contentText } from '../../../contract/message.ts'
import type { ModelRequest, ToolChoice } from '../../../contract/model.ts'
import type { ToolDefinition } from '../../../contract/tool.ts'
import { encodeOnce } from '../../encode-once.ts'
import { jsonText } from '../json-text.ts'
import { narrow, withoutChoice } from '../narrow-schema.ts'
import { systemTexts } from '../turns.ts'
import { encodeContents } from './ask-contents.ts'

/**
 * Encodes the body of a request. Each definition and message is encoded once, so that a step costs only what it added.
 * `isPlain` leaves out what older models refuse: the thinking level, and files in results, which are only named. Throws
 * an UnsupportedSchema that says which schema cannot be expressed, and where.
 */
export function encodeGeminiRequest(request: ModelRequest, isPlain = false): string {
  const { messages, tools, toolChoice, responseFormat: form, sampling = {} } = request
  const { max_completion_tokens, max_tokens, stop, reasoning_effort: effort } = sampling
  const texts = systemTexts(messages).map((text) => ({ text }))
  const head = {
    systemInstruction: texts.length > 0 ? { parts: texts } : undefined,
    toolConfig: tools.length > 0 && toolChoice ? { functionCallingConfig: toMode(toolChoice) } : undefined,
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
  const offered = jsonText({}, { functionDeclarations: tools.map(encodeTool) })
  return jsonText(head, { tools: tools.length > 0 ? [offered] : [], contents: encodeContents(contents) })
}

const withoutFiles = encodeOnce((message: Message): Message =>
  message.role === 'tool' ? { ...message, content: [{ type: 'text', text: contentText(message.content) }] } : message,
)

const encodeTool = encodeOnce(({ name, description, inputSchema }: ToolDefinition) =>
  JSON.stringify({ name, description, parametersJsonSchema: toSchema(withoutChoice(inputSchema), name) }),
)

const MODES = { auto: 'AUTO', none: 'NONE', required: 'ANY' }

function toMode(choice: ToolChoice): object {
  return typeof choice === 'object' ? { mode: 'ANY', allowedFunctionNames: [choice.tool] } : { mode: MODES[choice] }
}

/** Converts an effort. No model stops thinking altogether; their lowest levels differ, but all of them know `low`. */
function toThinking(effort: string): object {
  const thinkingLevel = /none|minimal/.test(effort) ? 'low' : /low|medium/.test(effort) ? effort : 'high'
  return { thinkingLevel, includeThoughts: effort !== 'none' }
}

/** The keywords that Gemini documents for `parametersJsonSchema` and `responseJsonSchema`; it ignores others. */
const DOCUMENTED = {
  plain: /^(type|title|format|required|enum|(min|max)(Items|imum)|additionalProperties)$/,
  lists: /^(anyOf|oneOf|prefixItems)$/,
}

/** Converts a schema for Gemini. Throws an UnsupportedSchema for a reference that leads out of it, and says where. */
function toSchema(schema: JsonSchema, name: string): JsonSchema {
  return narrow(schema, `"${name}"`, DOCUMENTED)
}
