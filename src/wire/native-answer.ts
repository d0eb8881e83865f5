import { parseJson } from '../contract/json.ts'
import type { Opaque } from '../contract/message.ts'
import type { ModelEvent } from '../contract/model.ts'
import type { Usage } from '../contract/usage.ts'
import { type Answer, type AnswerCodec, answerCodec, failed, type Fields, finished, finishOf } from './model-answer.ts'
import { badResponse, NAMELESS, NOTHING, STREAM_CUT } from './model-error.ts'

/** What is known of one answer in its provider's own format. */
export interface NativeAnswer {
  /** Takes a chunk of the stream, or a whole answer; what it says is pushed to `events`. True: it was the last. */
  readonly take: (chunk: Fields, events: ModelEvent[]) => boolean
  readonly hasBegun: () => boolean
  /** Why the model stopped, in its provider's words; '' while it has not. */
  readonly reason: () => string
  readonly calls: () => readonly SpokenCall[]
  readonly usage: () => Usage | undefined
  /** What the provider wants back with this answer. */
  readonly opaque: () => Opaque | undefined
}

export interface SpokenCall {
  readonly tool: string
  readonly arguments: string
  /** Whether no fragment of its arguments was told. */
  readonly isSilent?: boolean
}

const FAILED = /pause_turn|malformed|unexpected_tool|too_many|signature|other|no_image/i

/**
 * Reads answers of a native format. One is complete once it is over or has a reason to be. Its calls are told at its
 * end: not those of an answer that ran out of tokens or was filtered, and none that was cut.
 */
export function nativeAnswers(begin: () => NativeAnswer): AnswerCodec {
  return answerCodec(() => answerOf(begin()))
}

function answerOf({ take, hasBegun, reason, calls, usage, opaque }: NativeAnswer): Answer {
  function close(events: ModelEvent[]): ModelEvent {
    const why = reason()
    if (!hasBegun()) return failed(NOTHING)
    if (FAILED.test(why)) return failed(badResponse(`The model stopped: ${why}.`))
    const finish = finishOf(why, calls().length > 0)
    for (const [index, { isSilent, ...call }] of finish === 'tool_calls' ? calls().entries() : []) {
      if (why === '' && parseJson(call.arguments) === undefined) return failed(STREAM_CUT)
      if (call.tool === '') return failed(NAMELESS)
      if (isSilent) events.push({ type: 'call.delta', index, arguments: call.arguments })
      events.push({ type: 'call', index, ...call })
    }
    return finished(finish, usage(), opaque())
  }

  return {
    take: (chunk, events) => (take(chunk, events) ? close(events) : undefined),
    isOver: () => reason() !== '',
    close,
  }
}
