import { parseJson } from '../../contract/json.ts'
import type { Opaque } from '../../contract/message.ts'
import type { ModelEvent } from '../../contract/model.ts'
import type { Usage } from '../../contract/usage.ts'
import {
  type DecodedAnswer,
  type AnswerCodec,
  answerCodec,
  errorEvent,
  type Fields,
  finishEvent,
  finishOf,
} from './model-answer.ts'
import { badResponse, NOTHING, STREAM_CUT } from './model-error.ts'

/** Reads one answer in its provider's own format. */
export interface NativeAnswer {
  /** Takes a chunk, or a whole answer, and pushes its events to `events`. Returns whether it was the last chunk. */
  readonly take: (chunk: Fields, events: ModelEvent[]) => boolean
  readonly hasBegun: () => boolean
  /** Returns the provider's own stop reason; '' as long as there is none. */
  readonly reason: () => string
  readonly calls: () => readonly SpokenCall[]
  readonly usage: () => Usage | undefined
  /** Returns the data that the provider wants back with this answer. */
  readonly opaque: () => Opaque | undefined
}

export interface SpokenCall {
  readonly tool: string
  readonly arguments: string
  /** Whether no fragment of its arguments was emitted. */
  readonly isSilent?: boolean
}

const FAILED = /pause_turn|malformed|unexpected_tool|too_many|signature|other|no_image/i

/**
 * Makes the codec of a native format. An answer is complete once its last chunk, or a stop reason, has come. Its calls
 * are emitted at its end, unless the answer ran out of tokens, was filtered or was cut.
 */
export function nativeAnswers(begin: () => NativeAnswer): AnswerCodec {
  return answerCodec(() => answerOf(begin()))
}

function answerOf({ take, hasBegun, reason, calls, usage, opaque }: NativeAnswer): DecodedAnswer {
  function close(events: ModelEvent[]): ModelEvent {
    const finishReason = reason()
    if (!hasBegun()) return errorEvent(NOTHING)
    if (FAILED.test(finishReason)) return errorEvent(badResponse(`The model stopped: ${finishReason}.`))
    const finish = finishOf(finishReason, calls().length > 0)
    for (const [index, { isSilent, ...call }] of finish === 'tool_calls' ? calls().entries() : []) {
      const isWhole = call.tool !== '' && parseJson(call.arguments) !== undefined
      if (finishReason === '' && !isWhole) return errorEvent(STREAM_CUT)
      if (isSilent) events.push({ type: 'call.delta', index, arguments: call.arguments })
      events.push({ type: 'call', index, ...call })
    }
    return finishEvent(finish, usage(), opaque(), finishReason)
  }

  return {
    take: (chunk, events) => (take(chunk, events) ? close(events) : undefined),
    isOver: () => reason() !== '',
    close,
  }
}
