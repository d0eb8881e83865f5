import { isObject, parseJson } from '../../contract/json.ts'
import type { ModelError, ModelEvent, ModelFinish } from '../../contract/model.ts'
import type { Usage } from '../../contract/usage.ts'
import type { AnswerCodec, AnswerDecoder } from '../model-answer.ts'
import { badResponse, modelError, STREAM_CUT } from '../model-error.ts'
import { callAssembly } from './ask-calls.ts'
import { addDetails, toOpaque } from './ask-opaque.ts'
import { explainError, UNEXPLAINED } from './error.ts'
import { usageOf } from './usage.ts'

/** How the answers of Chat Completions servers are read. `codec` marks what is kept of them, so that no other server gets it. */
export function chatCodec(codec: string): AnswerCodec {
  return { decoder: () => chatAnswer(codec), explain: explainError }
}

/** The same for any server. */
export const chatAnswers = chatCodec('openai-chat')

const NOTHING: readonly ModelEvent[] = []

/**
 * One answer, as real servers send it. It is complete once a `finish_reason` or `[DONE]` has come; one that ends with
 * neither was cut. The calls of an answer that ran out of tokens, or that was filtered, are not told. `toChunk` makes
 * chunks of what a server says in another form.
 */
export function chatAnswer(codec: string, toChunk: (said: unknown) => unknown = (said) => said): AnswerDecoder {
  const calls = callAssembly()
  const details: Record<string, unknown>[] = []
  let hasBegun = false
  let reason = ''
  let usage: Usage | undefined
  let done = false
  /** What came without a choice. It brings the usage, a filter's verdict or nothing; alone, it may say what is wrong. */
  let aside: unknown

  function fail(error: ModelError): readonly ModelEvent[] {
    done = true
    return [{ type: 'error', error }]
  }

  function take(chunk: unknown, event?: string): readonly ModelEvent[] {
    const { choices, x_groq, error, object }: Record<string, unknown> = isObject(chunk) ? chunk : {}
    if (event === 'error' || error || object === 'error') return fail(modelError(explainError(chunk) ?? UNEXPLAINED))
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
    // It is on the chunk, on the choice (Moonshot), or in a field of the vendor (Groq).
    usage = usageOf(chunk) ?? usageOf(choice) ?? usageOf(x_groq) ?? usage
    if (!isObject(choice)) {
      aside = chunk
      return NOTHING
    }
    hasBegun = true
    if (typeof choice.finish_reason === 'string') reason = choice.finish_reason || reason
    const events: ModelEvent[] = []
    const delta = choice.delta ?? choice.message
    if (!isObject(delta)) return events
    addDetails(details, delta.reasoning_details)
    // Both names for one thing; servers in transition send both.
    tell('reasoning', delta.reasoning_content || delta.reasoning, events)
    tell('text', delta.content, events)
    tell('text', delta.refusal, events)
    if (Array.isArray(delta.tool_calls)) calls.take(delta.tool_calls, events)
    if (isObject(delta.function_call)) calls.take([delta.function_call], events)
    return events
  }

  function close(): readonly ModelEvent[] {
    if (!hasBegun) {
      const fault = explainError(aside)
      return fail(fault ? modelError(fault) : badResponse('The model server answered no completion.'))
    }
    if (FAILED.test(reason)) return fail(modelError({ message: `The model server stopped: ${reason}.` }))
    const events: ModelEvent[] = []
    const finish = finishOf(reason, calls.any())
    const fault = finish === 'tool_calls' ? calls.finish(events, reason !== '') : undefined
    if (fault) return [...events, ...fail(fault)]
    done = true
    const opaque = toOpaque(codec, details, calls.extras())
    return [...events, { type: 'finish', finish, ...(usage && { usage }), ...(opaque && { opaque }) }]
  }

  return {
    get done() {
      return done
    },
    push: ({ data, event }) => {
      if (done || data === '') return NOTHING
      if (data.startsWith('[DONE]')) return close()
      const chunk = parseJson(data)
      if (chunk === undefined) return fail(badResponse('The model server sent what is not JSON.'))
      return take(toChunk(chunk), event)
    },
    end: (isWhole = false) => {
      if (done) return NOTHING
      return reason === '' && !isWhole ? fail(STREAM_CUT) : close()
    },
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

const LENGTH = /length|max_tokens/i
const FILTERED = /filter|safety|blocked/i
const FAILED = /^error$|insufficient|abort|cancel/i

/** Servers say `stop` with calls and `tool_calls` without: what came decides. */
function finishOf(reason: string, hasCalls: boolean): ModelFinish {
  if (LENGTH.test(reason)) return 'length'
  if (FILTERED.test(reason)) return 'content_filter'
  return hasCalls ? 'tool_calls' : 'stop'
}
