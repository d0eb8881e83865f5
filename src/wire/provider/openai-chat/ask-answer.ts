import { isObject } from '../../../contract/json.ts'
import type { ModelEvent } from '../../../contract/model.ts'
import type { Usage } from '../../../contract/usage.ts'
import { objectsOf } from '../../fields.ts'
import {
  type DecodedAnswer,
  type AnswerCodec,
  answerCodec,
  errorEvent,
  type Fields,
  finishEvent,
  finishOf,
} from '../model-answer.ts'
import { modelError, NOTHING } from '../model-error.ts'
import { callAssembly } from './ask-calls.ts'
import { addDetails, chatOpaque } from './ask-opaque.ts'
import { explainError } from './error.ts'
import { chatUsage } from './usage.ts'

/** Makes the codec for a Chat Completions server's answers. `codec` labels its opaque data: no other server gets it. */
export function chatCodec(codec: string): AnswerCodec {
  return answerCodec(() => chatAnswer(codec))
}

const FAILED = /error|insufficient|abort|cancel/i

/**
 * Reads one answer, as real servers send it. It is complete after a `finish_reason` or `[DONE]`; a stream that ends
 * with neither was cut. Of an answer that ran out of tokens or was filtered, only the calls before the one that it
 * broke off in are emitted.
 */
export function chatAnswer(codec: string): DecodedAnswer {
  const calls = callAssembly()
  const details: Fields[] = []
  let hasBegun = false
  let reason = ''
  let usage: Usage | undefined
  /** The last chunk without a choice: usage, a filter's verdict or nothing; if no other chunk came, maybe an error. */
  let separateReasoning: unknown

  function take(chunk: Fields, events: ModelEvent[]): undefined {
    const [choice] = objectsOf(chunk.choices)
    // Usage is on the chunk, on the choice (Moonshot), or in a field of the vendor (Groq).
    usage = chatUsage(chunk) ?? chatUsage(choice) ?? chatUsage(chunk.x_groq) ?? usage
    if (!choice) {
      separateReasoning = chunk
      return
    }
    hasBegun = true
    if (typeof choice.finish_reason === 'string') reason = choice.finish_reason || reason
    const delta = choice.delta ?? choice.message
    if (!isObject(delta)) return
    addDetails(details, delta.reasoning_details ?? delta.thinking_blocks)
    // Two names of one field; servers in transition send both.
    pushText('reasoning', delta.reasoning_content || delta.reasoning, events)
    pushText('text', delta.content, events)
    pushText('text', delta.refusal, events)
    calls.take(objectsOf(delta.tool_calls), events)
    calls.take(objectsOf([delta.function_call]), events)
  }

  function close(events: ModelEvent[]): ModelEvent {
    if (!hasBegun) {
      const fault = explainError(separateReasoning)
      return errorEvent(fault ? modelError(fault) : NOTHING)
    }
    if (FAILED.test(reason)) return errorEvent(modelError({ message: `The model server stopped: ${reason}.` }))
    const finish = finishOf(reason, calls.any())
    const fault = finish === 'tool_calls' ? calls.finish(events, reason !== '') : undefined
    return fault ? errorEvent(fault) : finishEvent(finish, usage, chatOpaque(codec, details, calls.extras()), reason)
  }

  return { take, isOver: () => reason !== '', close }
}

/** Emits the text of `content`: a string, or a list of parts, among which some servers put the reasoning. */
function pushText(type: 'text' | 'reasoning', content: unknown, events: ModelEvent[]): void {
  if (typeof content === 'string') {
    if (content !== '') events.push({ type, text: content })
    return
  }
  if (!Array.isArray(content)) return
  for (const part of content) {
    if (!isObject(part)) continue
    if (part.type === 'thinking') pushText('reasoning', part.thinking, events)
    else pushText(type, part.text, events)
  }
}
