import { parseJson } from '../contract/json.ts'
import type { Opaque } from '../contract/message.ts'
import type { ModelError, ModelEvent, ModelFinish } from '../contract/model.ts'
import type { Usage } from '../contract/usage.ts'
import type { AnswerCodec, AnswerDecoder } from './model-answer.ts'
import { fieldsOf } from './fields.ts'
import { badResponse, modelError, STREAM_CUT } from './model-error.ts'
import { explainError, UNEXPLAINED } from './openai-chat/error.ts'

/** What is known of one answer in its provider's own format. */
export interface NativeAnswer {
  /** Takes one JSON value of the stream, or a whole answer; what it says is pushed to `events`. True: it was the last. */
  readonly take: (value: unknown, events: ModelEvent[]) => boolean | undefined
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

const LENGTH = /max_tokens|context_window/i
const FILTERED = /refusal|safety|recitation|language|blocklist|prohibited|spii|armor/i
const FAILED = /pause_turn|malformed|unexpected_tool|too_many|signature|other|no_image/i

/**
 * Reads answers of a native format. One is complete once it is over or has a reason to be. Its calls are told at its
 * end: not those of an answer that ran out of tokens or was filtered, and none that was cut.
 */
export function nativeAnswers(begin: () => NativeAnswer): AnswerCodec {
  return { decoder: () => decode(begin()), explain: explainError }
}

function decode({ take, hasBegun, reason, calls, usage, opaque }: NativeAnswer): AnswerDecoder {
  let done = false

  function fail(events: ModelEvent[], error: ModelError): ModelEvent[] {
    done = true
    return [...events, { type: 'error', error }]
  }

  function close(events: ModelEvent[]): ModelEvent[] {
    const why = reason()
    if (!hasBegun()) return fail(events, badResponse('The model server answered nothing.'))
    if (FAILED.test(why)) return fail(events, badResponse(`The model stopped: ${why}.`))
    const finish = finishOf(why, calls().length)
    for (const [index, { isSilent, ...call }] of finish === 'tool_calls' ? calls().entries() : []) {
      if (why === '' && parseJson(call.arguments) === undefined) return fail(events, STREAM_CUT)
      if (call.tool === '') return fail(events, badResponse('The model asked for a tool without a name.'))
      if (isSilent) events.push({ type: 'call.delta', index, arguments: call.arguments })
      events.push({ type: 'call', index, ...call })
    }
    done = true
    const used = usage()
    const kept = opaque()
    return [...events, { type: 'finish', finish, ...(used && { usage: used }), ...(kept && { opaque: kept }) }]
  }

  return {
    get done() {
      return done
    },
    push: ({ data }) => {
      const events: ModelEvent[] = []
      if (done || data === '') return events
      if (data.startsWith('[DONE]')) return close(events)
      const json = parseJson(data)
      if (json === undefined) return fail(events, badResponse('The model server sent what is not JSON.'))
      // A stream that is not one of events comes as an array.
      for (const value of Array.isArray(json) ? json : [json]) {
        if (fieldsOf(value).error) return fail(events, modelError(explainError(value) ?? UNEXPLAINED))
        if (take(value, events)) return close(events)
      }
      return events
    },
    end: (isWhole) => (done ? [] : reason() === '' && !isWhole ? fail([], STREAM_CUT) : close([])),
  }
}

/** Providers say that the model stopped, calls or not: what came decides. */
function finishOf(reason: string, calls: number): ModelFinish {
  if (LENGTH.test(reason)) return 'length'
  if (FILTERED.test(reason)) return 'content_filter'
  return calls > 0 ? 'tool_calls' : 'stop'
}

/** The usage of these counts, as plain numbers: `inputTokens` and `outputTokens` hold the rest. None for nothing. */
export function toUsage(
  inputTokens: number,
  outputTokens: number,
  cached: number,
  reasoning: number,
): Usage | undefined {
  if (inputTokens + outputTokens === 0) return undefined
  return {
    inputTokens,
    outputTokens,
    ...(cached > 0 && { cachedInputTokens: cached }),
    ...(reasoning > 0 && { reasoningTokens: reasoning }),
  }
}
