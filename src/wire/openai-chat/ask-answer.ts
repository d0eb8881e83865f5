import { isObject } from '../../contract/json.ts'
import type { ModelEvent, ModelFinish, Usage } from '../../contract/model.ts'
import type { AnswerCodec, AnswerDecoder } from '../model-answer.ts'
import { badResponse, modelError, type ProviderFault, streamCut } from '../model-error.ts'
import type { SseFrame } from '../sse.ts'
import { type CallAssembly, callAssembly } from './ask-calls.ts'
import { explainError } from './error.ts'
import { fromChatUsage } from './usage.ts'

/** How the answers of Chat Completions servers are read. */
export const chatAnswers: AnswerCodec = {
  decoder: () => new ChatAnswer(),
  decodeWhole: (json) => {
    if (!isObject(json) || !Array.isArray(json.choices) || json.choices.length === 0) {
      const said = explainError(json)
      return [
        { type: 'error', error: said ? modelError(said) : badResponse('The model server answered no completion.') },
      ]
    }
    const answer = new ChatAnswer()
    const events = answer.take(json)
    return answer.done ? events : [...events, ...answer.close()]
  },
  explain: explainError,
}

const NOTHING: readonly ModelEvent[] = []

/**
 * One streamed answer, as real servers stream it. It is complete once a `finish_reason` or `[DONE]` has come; one that
 * ends with neither was cut. The calls of an answer that ran out of tokens, or that was filtered, are not told.
 */
class ChatAnswer implements AnswerDecoder {
  readonly #calls: CallAssembly = callAssembly()
  #reason = ''
  #usage: Usage | undefined
  #done = false

  get done(): boolean {
    return this.#done
  }

  push({ data, event }: SseFrame): readonly ModelEvent[] {
    if (this.#done || data === '') return NOTHING
    if (data.startsWith('[DONE]')) return this.close()
    let chunk: unknown
    try {
      chunk = JSON.parse(data)
    } catch {
      return this.#fail(badResponse('The model server sent an event that is not JSON.'))
    }
    return event === 'error' ? this.#failedBy(explainError(chunk)) : this.take(chunk)
  }

  end(): readonly ModelEvent[] {
    if (this.#done) return NOTHING
    return this.#reason === '' ? this.#fail(streamCut()) : this.close()
  }

  take(chunk: unknown): readonly ModelEvent[] {
    if (!isObject(chunk)) return NOTHING
    if (chunk.error || chunk.object === 'error') return this.#failedBy(explainError(chunk))
    const choices: unknown = chunk.choices
    // No choices: the chunk brings the usage, a filter's verdict, or nothing.
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
    this.#usage = usageOf(chunk, choice) ?? this.#usage
    if (!isObject(choice)) return NOTHING
    const events: ModelEvent[] = []
    const delta = choice.delta ?? choice.message
    if (isObject(delta)) this.#takeDelta(delta, events)
    const reason = choice.finish_reason
    if (typeof reason === 'string' && reason !== '') this.#reason = reason
    return events
  }

  /** The end of an answer that came whole. */
  close(): readonly ModelEvent[] {
    const events: ModelEvent[] = []
    const finish = finishOf(this.#reason, this.#calls.count() > 0)
    if (!finish) return this.#fail(modelError({ message: `The model server stopped: ${this.#reason}.` }))
    if (this.#reason === '' && this.#calls.isInMidst()) return this.#fail(streamCut())
    if (finish === 'tool_calls' && !this.#calls.finish(events)) {
      return [...events, ...this.#fail(badResponse('The model asked for a tool without naming it.'))]
    }
    this.#done = true
    events.push({ type: 'finish', finish, ...(this.#usage && { usage: this.#usage }) })
    return events
  }

  #takeDelta(delta: Record<string, unknown>, events: ModelEvent[]): void {
    const { content, refusal, tool_calls, function_call } = delta
    // Both names for one thing; servers in transition send both.
    tell('reasoning', delta.reasoning_content || delta.reasoning, events)
    tell('text', content, events)
    tell('text', refusal, events)
    if (Array.isArray(tool_calls)) this.#calls.take(tool_calls, events)
    if (isObject(function_call)) this.#calls.take([function_call], events)
  }

  #failedBy(fault: ProviderFault = { message: 'The model server failed and did not say why.' }): readonly ModelEvent[] {
    return this.#fail(modelError(fault))
  }

  #fail(error: Extract<ModelEvent, { type: 'error' }>['error']): readonly ModelEvent[] {
    this.#done = true
    return [{ type: 'error', error }]
  }
}

/** Content is a text or a list of parts, of which some servers make the reasoning one. */
function tell(type: 'text' | 'reasoning', content: unknown, events: ModelEvent[]): void {
  if (typeof content === 'string') {
    if (content !== '') events.push({ type, text: content })
    return
  }
  if (!Array.isArray(content)) return
  for (const part of content) {
    if (!isObject(part)) continue
    if (part.type === 'thinking') tell('reasoning', part.thinking, events)
    else tell(type, part.text, events)
  }
}

/** Usage is on the chunk, on the choice (Moonshot), or in a field of the vendor (Groq). */
function usageOf(chunk: Record<string, unknown>, choice: unknown): Usage | undefined {
  return (
    fromChatUsage(chunk.usage) ??
    (isObject(choice) ? fromChatUsage(choice.usage) : undefined) ??
    (isObject(chunk.x_groq) ? fromChatUsage(chunk.x_groq.usage) : undefined)
  )
}

const LENGTH = /^(length|max_tokens|model_length|max_length)$/i
const FILTERED = /filter|safety|blocked/i
const FAILED = /^(error|insufficient_system_resource|abort|aborted|cancelled)$/i

/** Servers say `stop` with calls and `tool_calls` without: what came decides. Undefined where the server gave up. */
function finishOf(reason: string, hasCalls: boolean): ModelFinish | undefined {
  if (LENGTH.test(reason)) return 'length'
  if (FILTERED.test(reason)) return 'content_filter'
  if (FAILED.test(reason)) return undefined
  return hasCalls ? 'tool_calls' : 'stop'
}
