import { parseJson } from '../../contract/json.ts'
import type { Opaque } from '../../contract/message.ts'
import type { ModelError, ModelEvent, ModelFinish } from '../../contract/model.ts'
import type { Usage } from '../../contract/usage.ts'
import { fieldsOf } from '../fields.ts'
import { badResponse, modelError, type ProviderFault, STREAM_CUT } from './model-error.ts'
import { explainError, UNEXPLAINED } from './openai-chat/error.ts'
import type { SseFrame } from '../sse.ts'

/**
 * Reads one answer of a model, frame by frame. Pure. Contract: the events that `push` and `end` return, in order, are a
 * stream as `ChatModel` promises it; whatever comes after its `finish` or `error` is ignored.
 */
export interface AnswerDecoder {
  /** True once the answer has come to its `finish` or `error`. */
  readonly done: boolean
  /** Takes a frame of a stream, or the whole body of an answer from a server that does not stream. */
  readonly push: (frame: SseFrame) => readonly ModelEvent[]
  /** Ends the answer: nothing more will come. `isWhole`: what came was a whole body, so nothing of it is missing. */
  readonly end: (isWhole?: boolean) => readonly ModelEvent[]
}

/** Reads the answers of a provider. */
export interface AnswerCodec {
  readonly decoder: () => AnswerDecoder
  /** Returns the fault that a parsed error body describes, or undefined if it says nothing. */
  readonly explain: (json: unknown) => ProviderFault | undefined
}

export type Fields = Readonly<Record<string, unknown>>

/** Reads one answer in the format of its provider. The events that it adds are pushed to `events`. */
export interface Answer {
  /** Takes a chunk of the stream, or a whole answer. Returns the event that ends the answer, if the chunk ends it. */
  readonly take: (chunk: Fields, events: ModelEvent[], event?: string) => ModelEvent | undefined
  /** Returns whether the answer has given its stop reason, so that only the end of its stream is missing. */
  readonly isOver: () => boolean
  /** Emits what was not emitted yet, and returns the event that ends the answer. `isWhole`: see `AnswerDecoder.end`. */
  readonly close: (events: ModelEvent[], isWhole: boolean) => ModelEvent
}

/**
 * Makes a codec of `begin`, which starts to read one answer. `toChunk` converts what a server sends in another format.
 * An error ends an answer wherever it stands in a chunk; a stream that ends before its answer is over was cut.
 */
export function answerCodec(
  begin: () => Answer,
  { explain = explainError, toChunk = (said: unknown) => said } = {},
): AnswerCodec {
  function decoder(): AnswerDecoder {
    const { take, isOver, close } = begin()
    let done = false

    function end(events: ModelEvent[], last: ModelEvent): ModelEvent[] {
      done = true
      return [...events, last]
    }

    function closed(isWhole = false): ModelEvent[] {
      const events: ModelEvent[] = []
      const last = close(events, isWhole)
      return end(events, last)
    }

    return {
      get done() {
        return done
      },
      push: ({ data, event }) => {
        const events: ModelEvent[] = []
        if (done || data === '') return events
        if (data.startsWith('[DONE]')) return closed()
        const json = parseJson(data)
        if (json === undefined) return end(events, failed(badResponse('The model server sent what is not JSON.')))
        // A server that streams JSON, but not as events, sends one array.
        for (const said of Array.isArray(json) ? json : [json]) {
          const chunk = fieldsOf(toChunk(said))
          const last = faultIn(chunk, event) ?? take(chunk, events, event)
          if (last) return end(events, last)
        }
        return events
      },
      end: (isWhole) => {
        if (done) return []
        return isWhole || isOver() ? closed(isWhole) : end([], failed(STREAM_CUT))
      },
    }
  }

  return { decoder, explain }
}

function faultIn(chunk: Fields, event: string | undefined): ModelEvent | undefined {
  const { error, object, type } = chunk
  if (!error && ![event, object, type].includes('error')) return undefined
  return failed(modelError(explainError(chunk) ?? UNEXPLAINED))
}

/** Makes the event that ends an answer that failed. */
export function failed(error: ModelError): ModelEvent {
  return { type: 'error', error }
}

/** Makes the event that ends an answer that is complete. */
export function finished(finish: ModelFinish, usage: Usage | undefined, opaque: Opaque | undefined): ModelEvent {
  return { type: 'finish', finish, ...(usage && { usage }), ...(opaque && { opaque }) }
}

const LENGTH = /length|max_tokens|context_window/i
const FILTERED = /filter|block|refusal|safety|sensitive|recitation|language|prohibited|spii|armor/i

/** Returns why the model stopped. Some servers report a plain stop for calls too: whether there are any decides. */
export function finishOf(reason: string, hasCalls: boolean): ModelFinish {
  if (LENGTH.test(reason)) return 'length'
  if (FILTERED.test(reason)) return 'content_filter'
  return hasCalls ? 'tool_calls' : 'stop'
}

/** Makes usage. `inputTokens` includes `cached`, and `outputTokens` includes `reasoning`. Undefined if both are 0. */
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
