import { isObject } from '../../contract/json.ts'
import type { ModelEvent } from '../../contract/model.ts'
import type { Usage } from '../../contract/usage.ts'
import { objectsOf } from '../fields.ts'
import { type Answer, type AnswerCodec, answerCodec, failed, type Fields, finished, finishOf } from '../model-answer.ts'
import { modelError, NOTHING } from '../model-error.ts'
import { callAssembly } from './ask-calls.ts'
import { addDetails, toOpaque } from './ask-opaque.ts'
import { explainError } from './error.ts'
import { usageOf } from './usage.ts'

/** How the answers of Chat Completions servers are read. `codec` marks what is kept of them, so that no other server gets it. */
export function chatCodec(codec: string): AnswerCodec {
  return answerCodec(() => chatAnswer(codec))
}

const FAILED = /error|insufficient|abort|cancel/i

/**
 * One answer, as real servers send it. It is complete once a `finish_reason` or `[DONE]` has come; one that ends with
 * neither was cut. The calls of an answer that ran out of tokens, or that was filtered, are not told, but for those before
 * the one that it broke off in.
 */
export function chatAnswer(codec: string): Answer {
  const calls = callAssembly()
  const details: Fields[] = []
  let hasBegun = false
  let reason = ''
  let usage: Usage | undefined
  /** What came without a choice. It brings the usage, a filter's verdict or nothing; alone, it may say what is wrong. */
  let aside: unknown

  function take(chunk: Fields, events: ModelEvent[]): undefined {
    const [choice] = objectsOf(chunk.choices)
    // It is on the chunk, on the choice (Moonshot), or in a field of the vendor (Groq).
    usage = usageOf(chunk) ?? usageOf(choice) ?? usageOf(chunk.x_groq) ?? usage
    if (!choice) {
      aside = chunk
      return
    }
    hasBegun = true
    if (typeof choice.finish_reason === 'string') reason = choice.finish_reason || reason
    const delta = choice.delta ?? choice.message
    if (!isObject(delta)) return
    addDetails(details, delta.reasoning_details ?? delta.thinking_blocks)
    // Both names for one thing; servers in transition send both.
    tell('reasoning', delta.reasoning_content || delta.reasoning, events)
    tell('text', delta.content, events)
    tell('text', delta.refusal, events)
    calls.take(objectsOf(delta.tool_calls), events)
    calls.take(objectsOf([delta.function_call]), events)
  }

  function close(events: ModelEvent[]): ModelEvent {
    if (!hasBegun) {
      const fault = explainError(aside)
      return failed(fault ? modelError(fault) : NOTHING)
    }
    if (FAILED.test(reason)) return failed(modelError({ message: `The model server stopped: ${reason}.` }))
    const finish = finishOf(reason, calls.any())
    const fault = finish === 'tool_calls' ? calls.finish(events, reason !== '') : undefined
    return fault ? failed(fault) : finished(finish, usage, toOpaque(codec, details, calls.extras()))
  }

  return { take, isOver: () => reason !== '', close }
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
