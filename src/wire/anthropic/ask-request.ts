import type { Message } from '../../contract/message.ts'
import type { ModelRequest } from '../../contract/model.ts'
import type { ToolDefinition } from '../../contract/tool.ts'
import { calledName } from '../call-arguments.ts'
import { encodeOnce } from '../encode-once.ts'
import { inWords } from '../form-in-words.ts'
import { jsonText } from '../json-text.ts'
import { withoutChoice } from '../narrow-schema.ts'
import { byTurns, systemTexts } from '../turns.ts'
import { encodeMessage } from './ask-messages.ts'
import { toOutputSchema } from './schema.ts'

export interface AnthropicWishes {
  readonly model: string
  /** The most tokens of an answer, for a request that says no number. */
  readonly maxTokens: number
  /** Whether to mark what the next request repeats, so that it is read from the provider's cache. */
  readonly cache: boolean
  /** Whether tools that a search has found load where its result names them. Default: yes. */
  readonly deferLoading?: boolean
  /** Whether to let go of what some models refuse: a wish that they think, and definitions that load when they are found. */
  readonly isPlain?: boolean
}

/**
 * The body text of a streamed request for an answer. Each definition and message is encoded once: a step costs what it
 * added. Throws an UnsupportedSchema for a response format that cannot be enforced.
 */
export function encodeRequest(request: ModelRequest, wishes: AnthropicWishes): string {
  const { model, maxTokens, cache, deferLoading = true, isPlain } = wishes
  const { responseFormat: format, sampling = {} } = request
  const messages = isPlain || !deferLoading ? request.messages.map(withoutFound) : request.messages
  const { max_completion_tokens, max_tokens, stop, temperature, top_p, top_k } = sampling
  const found = foundIn({ ...request, messages })
  const tools = toolsOf(request, (name) => !found.has(name))
  const effort = isPlain ? undefined : effortOf(sampling.reasoning_effort)
  const thinking = isPlain ? undefined : (sampling.thinking ?? (effort && ADAPTIVE))
  const schema = format?.type === 'json_schema' ? toOutputSchema(format.schema, format.name) : undefined
  const head = {
    model,
    max_tokens: max_completion_tokens ?? max_tokens ?? maxTokens,
    stream: true,
    temperature,
    // Newer models refuse both at once.
    top_p: temperature === undefined ? top_p : undefined,
    top_k,
    stop_sequences: typeof stop === 'string' ? [stop] : stop,
    thinking,
    output_config: effort || schema ? { effort, format: schema && { type: 'json_schema', schema } } : undefined,
    tool_choice: tools.length > 0 ? toToolChoice(request) : undefined,
  }
  const system = systemTexts(messages)
  if (format?.type === 'json_object') system.push(inWords(format))
  return jsonText(head, {
    // A mark may stand at none that loads later; those come after it.
    tools: [...marked(tools, cache), ...request.tools.flatMap((tool) => (found.has(tool.name) ? later(tool) : []))],
    system: marked(system.map(toText), cache),
    messages: encodeTurns(messages, cache),
  })
}

function encodeTurns(messages: readonly Message[], cache: boolean): readonly string[] {
  const turns = byTurns(messages, encodeMessage)
  return turns.map(({ isAnswer, parts }, index) => {
    // The newest turn of the user, and the one before, with which the last request ended.
    const isMarked = cache && !isAnswer && index > turns.length - 4
    return jsonText({ role: isAnswer ? 'assistant' : 'user' }, { content: marked(parts, isMarked) })
  })
}

/** The model decides how much it thinks, and tells it in short. */
const ADAPTIVE = { type: 'adaptive', display: 'summarized' }

function effortOf(effort: unknown): unknown {
  if (effort === 'minimal') return 'low'
  return effort === 'none' ? undefined : effort
}

function toText(text: string): string {
  return JSON.stringify({ type: 'text', text })
}

/** Encoded objects. The end of what `isMarked` is where the cache is read from and written to. */
function marked(texts: readonly string[], isMarked: boolean): readonly string[] {
  const last = texts.at(-1)
  if (!isMarked || last === undefined) return texts
  return [...texts.slice(0, -1), `${last.slice(0, -1)},"cache_control":{"type":"ephemeral"}}`]
}

/**
 * The tools that searches have found: their definitions stay out of the context until a result names them, so that what
 * came before stays cached (“custom tool search” of the Messages API). One that must be called now is not among them.
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

function later(tool: ToolDefinition): string {
  return `${encodeTool(tool).slice(0, -1)},"defer_loading":true}`
}

/** A history with calls is refused without tools: what was called is named then, and may not be called. */
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
