/**
 * Chat Completions, as OpenAI documents them (https://platform.openai.com/docs/api-reference/chat): reads a request, and
 * writes the model's step as a completion or as the chunks of a stream.
 */
import type { Conversation, Step } from './plan.ts'
import { isObject, parseJson } from './schema.ts'
import type { ToolDefinition } from './tool.ts'

/** The only model of this server. */
export const MODEL = 'offline'

/** Writes what is wrong with a request as OpenAI's error object. */
export function problem(message: string, code = 'invalid_request', status = 400): Response {
  return Response.json({ error: { message, type: 'invalid_request_error', param: null, code } }, { status })
}

export interface ChatRequest {
  readonly conversation: Conversation
  readonly isStreamed: boolean
  readonly includesUsage: boolean
  readonly isParallel: boolean
  /** The number of words of the messages, in place of tokens. */
  readonly promptTokens: number
}

/** Reads the body of a request; returns the response to one that cannot be answered. */
export function readRequest(body: unknown): ChatRequest | Response {
  if (!isObject(body)) return problem('The body must be a JSON object.')
  const { model, messages, tools = [], tool_choice: choice = 'auto', stream, stream_options: streamOptions } = body
  if (model !== MODEL) return problem(`The only model here is "${MODEL}".`, 'model_not_found', 404)
  if (!Array.isArray(messages) || messages.length === 0) return problem('`messages` must be a list of messages.')
  const { n = 1, response_format: format } = body
  const isJson = isObject(format) && format['type'] !== 'text'
  if (n !== 1 || isJson) {
    return problem(`The offline model has no \`${isJson ? 'response_format' : 'n'}\`.`, 'unsupported_parameter')
  }
  const turns = messages.filter(isObject)
  const last = turns.findLastIndex(({ role }) => role === 'user')
  const definitions = Array.isArray(tools) ? tools.flatMap(toDefinition) : []
  return {
    conversation: {
      questions: turns.flatMap(({ role, content }) => (role === 'user' ? textOf(content) : [])),
      before: textOf(turns.slice(0, Math.max(last, 0)).findLast(({ role }) => role === 'assistant')?.['content']),
      done: doneIn(turns.slice(last + 1)),
      tools: choice === 'none' ? [] : definitions,
      choice: isObject(choice) && isObject(choice['function']) ? String(choice['function']['name']) : String(choice),
    },
    isStreamed: stream === true,
    includesUsage: isObject(streamOptions) && streamOptions['include_usage'] === true,
    isParallel: body['parallel_tool_calls'] !== false,
    promptTokens: turns.reduce((sum, { content }) => sum + piecesOf(textOf(content)).length, 0),
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  const parts = Array.isArray(content) ? content.filter(isObject) : []
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('\n')
}

function toDefinition(tool: unknown): ToolDefinition[] {
  const { name, description, parameters } = (isObject(tool) && isObject(tool['function']) && tool['function']) || {}
  if (typeof name !== 'string') return []
  return [{ name, description: typeof description === 'string' ? description : '', parameters }]
}

/** Returns the calls since the question that have results. */
function doneIn(turns: readonly Readonly<Record<string, unknown>>[]): Conversation['done'] {
  const calls = turns.flatMap(({ tool_calls: list }) => (Array.isArray(list) ? list.filter(isObject) : []))
  return turns.flatMap(({ role, tool_call_id: id, content }) => {
    const call = role === 'tool' && calls.find((call) => call['id'] === id)?.['function']
    if (!isObject(call)) return []
    const values = parseJson(String(call['arguments']))
    return [{ tool: String(call['name']), arguments: isObject(values) ? values : {}, text: textOf(content) }]
  })
}

/** Writes a step as the response to a request. `created` is the time in epoch seconds. */
export function respond(step: Step, request: ChatRequest, created: number): Response {
  const { isStreamed, includesUsage, isParallel, promptTokens, conversation } = request
  const calls = 'calls' in step ? step.calls.slice(0, isParallel ? undefined : 1) : []
  const text = 'text' in step ? step.text : null
  const toolCalls = calls.map(({ tool, arguments: values }, index) => ({
    id: `call_${conversation.done.length + index}_${created}`,
    type: 'function',
    function: { name: tool, arguments: JSON.stringify(values) },
  }))
  const pieces = piecesOf(text ?? '')
  const tokens = pieces.length + piecesOf(toolCalls.map((call) => call.function.arguments).join(' ')).length
  const usage = { prompt_tokens: promptTokens, completion_tokens: tokens, total_tokens: promptTokens + tokens }
  const finish = calls.length > 0 ? 'tool_calls' : 'stop'
  const head = { id: `chatcmpl-${created}`, created, model: MODEL }
  if (!isStreamed) {
    const message = { role: 'assistant', content: text, ...(calls.length > 0 && { tool_calls: toolCalls }) }
    const choices = [{ index: 0, message, logprobs: null, finish_reason: finish }]
    return Response.json({ ...head, object: 'chat.completion', choices, usage })
  }
  const deltas: object[] = [
    { role: 'assistant', content: text === null ? null : '' },
    ...toolCalls.map((call, index) => ({ tool_calls: [{ index, ...call }] })),
    ...pieces.map((content) => ({ content })),
    {},
  ]
  const chunks: object[] = deltas.map((delta, index) => {
    const finish_reason = index === deltas.length - 1 ? finish : null
    return { ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] }
  })
  if (includesUsage) chunks.push({ ...head, object: 'chat.completion.chunk', choices: [], usage })
  const lines = [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'].map((data) => `data: ${data}\n\n`)
  return new Response(lines.join(''), { headers: { 'content-type': 'text/event-stream' } })
}

function piecesOf(text: string): readonly string[] {
  return text.match(/\p{Script=Han}|(?:(?!\p{Script=Han})\S)+\s*|\s+/gu) ?? []
}
