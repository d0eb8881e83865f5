import { parseJson } from '../contract/json.ts'
import type { Opaque } from '../contract/message.ts'
import type { ModelError, ModelEvent, ModelFinish } from '../contract/model.ts'
import type { Usage } from '../contract/usage.ts'
import { fieldsOf } from './fields.ts'
import { badResponse, modelError, type ProviderFault, STREAM_CUT } from './model-error.ts'
import { explainError, UNEXPLAINED } from './openai-chat/error.ts'
import type { SseFrame } from './sse.ts'

/**
 * Reads one answer of a model, frame by frame. Pure. Contract: what `push` and `end` return, in order, is a stream as
 * `ChatModel` promises it; after its `finish` or `error` all else is ignored.
 */
export interface AnswerDecoder {
  /** True once the answer has come to its `finish` or `error`. */
  readonly done: boolean
  /** Takes a frame of a stream; or the body of an answer that came whole, from a server that does not stream. */
  readonly push: (frame: SseFrame) => readonly ModelEvent[]
  /** Nothing more will come. `isWhole`: what came was a whole body, so that nothing of it can be missing. */
  readonly end: (isWhole?: boolean) => readonly ModelEvent[]
}

/** How a provider's answers are read. */
export interface AnswerCodec {
  readonly decoder: () => AnswerDecoder
  /** What a parsed error body says, or undefined where it says nothing. */
  readonly explain: (json: unknown) => ProviderFault | undefined
}

export type Fields = Readonly<Record<string, unknown>>

/** What is known of one answer in the form of its provider. What is told is pushed to `events`. */
export interface Answer {
  /** Takes a chunk of the stream, or a whole answer. Returns the answer's end, where the chunk says that it has come. */
  readonly take: (chunk: Fields, events: ModelEvent[], event?: string) => ModelEvent | undefined
  /** Whether the answer has a reason to be over, so that nothing but the end of its stream is missing. */
  readonly isOver: () => boolean
  /** Tells what was not told yet. Returns the answer's end. `isWhole`: as of `AnswerDecoder.end`. */
  readonly close: (events: ModelEvent[], isWhole: boolean) => ModelEvent
}

/**
 * Reads the answers that `begin` begins to. `toChunk` makes chunks of what a server says in another form. An error ends
 * an answer wherever it stands in a chunk; a stream that ends before its answer is over was cut.
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
        // A stream that is not one of events comes as an array.
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

/** The end of an answer that failed. */
export function failed(error: ModelError): ModelEvent {
  return { type: 'error', error }
}

/** The end of an answer that is complete. */
export function finished(finish: ModelFinish, usage: Usage | undefined, opaque: Opaque | undefined): ModelEvent {
  return { type: 'finish', finish, ...(usage && { usage }), ...(opaque && { opaque }) }
}

const LENGTH = /length|max_tokens|context_window/i
const FILTERED = /filter|block|refusal|safety|sensitive|recitation|language|prohibited|spii|armor/i

/** Why the model stopped. Servers say that it did, calls or not: what came decides. */
export function finishOf(reason: string, hasCalls: boolean): ModelFinish {
  if (LENGTH.test(reason)) return 'length'
  if (FILTERED.test(reason)) return 'content_filter'
  return hasCalls ? 'tool_calls' : 'stop'
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
