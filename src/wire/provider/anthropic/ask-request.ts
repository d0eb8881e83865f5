import type { Message } from '../../../contract/message.ts'
import type { ModelRequest } from '../../../contract/model.ts'
import type { ToolDefinition } from '../../../contract/tool.ts'
import { calledName } from '../call-arguments.ts'
import { encodeOnce } from '../../encode-once.ts'
import { inWords } from '../form-in-words.ts'
import { jsonText } from '../json-text.ts'
import { withoutChoice } from '../narrow-schema.ts'
import { byTurns, systemTexts } from '../turns.ts'
import { encodeMessage } from './ask-messages.ts'
import { toOutputSchema } from './schema.ts'

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
  /** Whether to leave out what some models refuse: thinking, effort, and deferred loading of definitions. */
  readonly isPlain?: boolean
}

/**
 * Encodes the body of a streamed request. Each definition and message is encoded once, so that a step costs only what
 * it added. Throws an UnsupportedSchema for a response format that cannot be enforced.
 */
export function encodeAnthropicRequest(request: ModelRequest, options: AnthropicSettings): string {
  const { model, maxTokens, cache, deferLoading = true, isPlain } = options
  const { responseFormat: format, sampling = {} } = request
  const messages = isPlain || !deferLoading ? request.messages.map(withoutFound) : request.messages
  const { max_completion_tokens, max_tokens, stop, temperature, top_p, top_k } = sampling
  const foundNames = foundIn({ ...request, messages })
  const tools = toolsOf(request, (name) => !foundNames.has(name))
  const effort = isPlain ? undefined : effortOf(sampling.reasoning_effort)
  const thinking = isPlain ? undefined : (sampling.thinking ?? (effort && ADAPTIVE))
  const schema = format?.type === 'json_schema' ? toOutputSchema(format.schema, format.name) : undefined
  const head = {
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
    tool_choice: tools.length > 0 ? toToolChoice(request) : undefined,
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

function effortOf(effort: unknown): unknown {
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

const encodeTool = encodeOnce(({ name, description, inputSchema }: ToolDefinition) =>
  JSON.stringify({ name, description: description || undefined, input_schema: withoutChoice(inputSchema) }),
)

const CHOICES = { auto: 'auto', none: 'none', required: 'any' }

function toToolChoice({ tools, toolChoice = 'auto', sampling }: ModelRequest): object {
  const choice = tools.length > 0 ? toolChoice : 'none'
  const disable_parallel_tool_use = (choice !== 'none' && sampling?.parallel_tool_calls === false) || undefined
  if (typeof choice === 'object') return { type: 'tool', name: choice.tool, disable_parallel_tool_use }
  return { type: CHOICES[choice], disable_parallel_tool_use }
}
