import {
  type AssistantMessage,
  contentText,
  type Message,
  readableArguments,
  type UserContent,
} from '../contract/message.ts'
import type { ToolDefinition } from '../contract/tool-definition.ts'

/** The names that OpenTelemetry gives to providers, by those of this edge. Others keep their own. */
const PROVIDERS: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  gemini: 'gcp.gemini',
  mistral: 'mistral_ai',
  moonshot: 'moonshot_ai',
  xai: 'x_ai',
}

/** Returns the value of `gen_ai.provider.name` for a provider of the edge. */
export function providerName(name: string): string {
  return PROVIDERS[name] ?? name
}

/** Why a model stopped, in OpenTelemetry's words. */
export function finishReason(finish: string): string {
  return finish === 'tool_calls' ? 'tool_call' : finish
}

/** Returns messages as `gen_ai.input.messages` has them (open-telemetry/semantic-conventions-genai, v0.1.0), as JSON. */
export function inputMessages(messages: readonly Message[]): string {
  return JSON.stringify(
    messages.map((message) => ({
      role: message.role,
      parts: message.role === 'assistant' ? answerParts(message) : messageParts(message),
    })),
  )
}

/** Returns an answer as `gen_ai.output.messages` has it, as JSON. */
export function outputMessages(answer: Omit<AssistantMessage, 'role'>, finish: string): string {
  return JSON.stringify([{ role: 'assistant', parts: answerParts(answer), finish_reason: finishReason(finish) }])
}

/** Returns tools as `gen_ai.tool.definitions` has them, as JSON. */
export function definitionsJson(
  tools: readonly Pick<ToolDefinition, 'name' | 'description' | 'inputSchema'>[],
): string {
  return JSON.stringify(
    tools.map(({ name, description, inputSchema: parameters }) => {
      return { type: 'function', name, description, parameters }
    }),
  )
}

/** Returns a system message as `gen_ai.system_instructions` has it, as JSON. */
export function systemInstructions(system: string): string {
  return JSON.stringify([{ type: 'text', content: system }])
}

function answerParts({ content, reasoning = '', calls = [] }: Omit<AssistantMessage, 'role'>): readonly object[] {
  return [
    ...(reasoning === '' ? [] : [{ type: 'reasoning', content: reasoning }]),
    ...(content === '' ? [] : [{ type: 'text', content }]),
    ...calls.map(({ callId: id, tool: name, arguments: text }) => {
      return { type: 'tool_call', id, name, arguments: readableArguments(text) }
    }),
  ]
}

function messageParts(message: Exclude<Message, AssistantMessage>): readonly object[] {
  if (message.role === 'tool')
    return [{ type: 'tool_call_response', id: message.callId, response: contentText(message.content) }]
  const { content } = message
  return typeof content === 'string' ? [{ type: 'text', content }] : content.map(contentPart)
}

function contentPart(part: UserContent): object {
  if (part.type === 'text') return { type: 'text', content: part.text }
  const file = { modality: part.type === 'image' ? 'image' : 'document', mime_type: part.mediaType }
  return 'url' in part ? { type: 'uri', ...file, uri: part.url } : { type: 'blob', ...file, content: part.data }
}
