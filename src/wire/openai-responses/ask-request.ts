import { type Content, type Message, textOf } from '../../contract/message.ts'
import type { ModelRequest, ResponseFormat, ToolChoice } from '../../contract/model.ts'
import type { ToolDefinition } from '../../contract/tool.ts'
import { argumentsText } from '../call-arguments.ts'
import { encodeOnce } from '../encode-once.ts'
import { jsonText } from '../json-text.ts'
import { outputItems } from './ask-opaque.ts'

/**
 * The body text of a streamed request for an answer that is not stored. The model's reasoning comes and goes encrypted;
 * `isPlain` leaves it out, for models that know nothing of it.
 */
export function encodeRequest(model: string, request: ModelRequest, isPlain = false): string {
  const { messages, tools, toolChoice, responseFormat, sampling } = request
  const { parallel_tool_calls, max_tokens, max_completion_tokens, reasoning_effort, verbosity, ...passed } =
    sampling ?? {}
  const head = {
    ...passed,
    model,
    stream: true,
    store: false,
    ...(!isPlain && { include: ['reasoning.encrypted_content'] }),
    max_output_tokens: max_completion_tokens ?? max_tokens,
    ...(reasoning_effort !== undefined && { reasoning: { effort: reasoning_effort } }),
    ...((responseFormat || verbosity !== undefined) && { text: { format: toFormat(responseFormat), verbosity } }),
    ...(tools.length > 0 && { tool_choice: toToolChoice(toolChoice), parallel_tool_calls }),
  }
  const items = messages.map(isPlain ? encodePlainly : encodeMessage).filter((text) => text !== '')
  return jsonText(head, { tools: tools.map(encodeTool), input: items })
}

/** Strict only where a tool says so: left out, it would be, and strict schemas have rules that most tools do not keep. */
const encodeTool = encodeOnce(({ name, description, inputSchema, strict = false }: ToolDefinition) =>
  JSON.stringify({ type: 'function', name, description, parameters: inputSchema, strict }),
)

const encodeMessage = encodeOnce((message: Message) => toText(toItems(message, true)))

const encodePlainly = encodeOnce((message: Message) => toText(toItems(message, false)))

/** Items side by side. What came as null must not be sent as such. */
function toText(items: readonly object[]): string {
  return JSON.stringify(items, (_, value: unknown) => value ?? undefined).slice(1, -1)
}

function toItems(message: Message, withReasoning: boolean): readonly object[] {
  switch (message.role) {
    case 'assistant': {
      const { content, calls = [], opaque } = message
      const callItems = calls.map(({ callId, tool, arguments: text }) => ({
        type: 'function_call',
        call_id: callId,
        name: tool,
        arguments: argumentsText(text),
      }))
      return outputItems(content, callItems, withReasoning ? opaque : undefined)
    }
    case 'tool': {
      const { callId, content } = message
      const isText = content.every(({ type }) => type === 'text')
      return [{ type: 'function_call_output', call_id: callId, output: isText ? textOf(content) : content.map(toPart) }]
    }
    default: {
      const { role, content } = message
      return [{ role, content: typeof content === 'string' ? content : content.map(toPart) }]
    }
  }
}

function toPart(part: Content): object {
  if (part.type === 'text') return { type: 'input_text', text: part.text }
  const url = `data:${part.mediaType};base64,${part.data}`
  return part.type === 'image'
    ? { type: 'input_image', detail: 'auto', image_url: url }
    : { type: 'input_file', filename: 'file', file_data: url }
}

function toToolChoice(choice: ToolChoice | undefined): unknown {
  return typeof choice === 'object' ? { type: 'function', name: choice.tool } : choice
}

function toFormat(format: ResponseFormat | undefined): object | undefined {
  return format && { ...format }
}
