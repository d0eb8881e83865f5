import { spanIdOf, type TraceContext } from '../contract/trace.ts'
import {
  type AssistantMessage,
  contentText,
  type Message,
  readableArguments,
  type UserContent,
} from '../contract/message.ts'
import type { ToolDefinition } from '../contract/tool-definition.ts'

export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[]>>

/** A span in OpenTelemetry's sense. Times are in epoch milliseconds. */
export interface Span {
  readonly name: string
  readonly kind: 'internal' | 'client'
  /** 32 hex digits. */
  readonly traceId: string
  /** 16 hex digits, made from the ids of the run and of its part: the same whenever they are made again. */
  readonly spanId: string
  readonly parentId?: string
  readonly start: number
  readonly end: number
  /** The code of the error; absent if there was none. */
  readonly error?: string
  readonly attributes: Attributes
  readonly events?: readonly SpanEvent[]
  /** The span of the same trace that this one continues. */
  readonly continues?: string
}

interface SpanEvent {
  readonly name: string
  readonly at: number
  readonly attributes?: Attributes
}

/** A span that has begun, of one part of the run. */
export interface OpenSpan {
  readonly part: string
  readonly parent: string
  readonly name: string
  readonly kind: Span['kind']
  readonly start: number
  readonly attributes?: Attributes
  /** Attributes that the spans which continue it do not have. */
  readonly content?: Attributes
  readonly continues?: string
}

export interface SpanEnd {
  readonly end: number
  readonly error?: string | undefined
  readonly attributes?: Attributes
}

/**
 * Collects the spans of one run, each once it has ended. When the run begins to wait, all its spans end. When it continues,
 * other spans continue them, each with a link to the one before.
 */
export class SpanRecorder {
  /** Those that have ended since the run last continued. */
  spans: Span[] = []
  readonly #runId: string
  readonly #trace: TraceContext
  readonly #open = new Map<string, OpenSpan & { readonly events: SpanEvent[] }>()
  /** Those to continue when the run continues. */
  #paused: readonly OpenSpan[] = []
  #pauses = 0
  /** The newest spans of parts that have several. */
  readonly #newestIds = new Map<string, string>()

  constructor(runId: string, trace: TraceContext) {
    this.#runId = runId
    this.#trace = trace
  }

  begin(span: OpenSpan): void {
    this.#open.set(span.part, { ...span, events: [] })
  }

  /** Ends the span of a part. Does nothing if it has not begun or has ended. */
  finish(part: string | undefined, { end, error, attributes }: SpanEnd): void {
    const span = part === undefined ? undefined : this.#open.get(part)
    if (!span || part === undefined) return
    this.#open.delete(part)
    const { start, events, name, kind, parent } = span
    const { id: traceId, parent: caller } = this.#trace
    const parentId = part === '' ? caller : this.#idOf(parent)
    const { continues, content } = span
    this.spans.push({
      ...{ name, kind, traceId, spanId: this.#idOf(part), start, end: Math.max(start, end) },
      parentId,
      ...(error !== undefined && { error }),
      attributes: {
        ...{ ...span.attributes, ...content },
        ...(error !== undefined && { 'error.type': error }),
        ...attributes,
      },
      ...(events.length > 0 && { events }),
      continues,
    })
  }

  /** Ends all spans as the run begins to wait, that of the run with these attributes. */
  pause(end: number, attributes: Attributes): void {
    // It waits already, now for something else.
    if (this.#paused.length > 0) this.spans = []
    else this.#paused = Array.from(this.#open.values(), ({ events: _events, content: _content, ...span }) => span)
    for (const { part } of this.#open.values()) if (part !== '') this.finish(part, { end })
    this.finish('', { end, attributes })
  }

  /** Continues the spans of a run that waits. Does nothing if it does not. */
  proceed(start: number): void {
    if (this.#paused.length === 0) return
    this.#pauses += 1
    this.spans = []
    for (const span of this.#paused) {
      const { part } = span
      const continues = this.#idOf(part)
      this.#newestIds.set(part, spanIdOf(this.#runId, `${part}@${this.#pauses}`))
      this.begin({ ...span, start, continues })
    }
    this.#paused = []
  }

  #idOf(part: string): string {
    return this.#newestIds.get(part) ?? spanIdOf(this.#runId, part)
  }

  /** Ends all spans but that of the run. */
  finishAll(end: number, error: string): void {
    for (const part of [...this.#open.keys()]) if (part !== '') this.finish(part, { end, error })
  }

  note(part: string, name: string, at: number, attributes?: Attributes): void {
    this.#open.get(part)?.events.push({ name, at, attributes })
  }

  startOf(part: string): number | undefined {
    return this.#open.get(part)?.start
  }
}

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
