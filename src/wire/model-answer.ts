import type { ModelEvent } from '../contract/model.ts'
import type { ProviderFault } from './model-error.ts'
import type { SseFrame } from './sse.ts'

/**
 * Reads one answer of a model, frame by frame. Pure. Contract: what `push` and `end` return, in order, is a stream as
 * `ChatModel` promises it; after `done` all else is ignored.
 */
export interface AnswerDecoder {
  /** True once the answer has come to its `finish` or `error`. */
  readonly done: boolean
  push(frame: SseFrame): readonly ModelEvent[]
  /** The stream has ended. */
  end(): readonly ModelEvent[]
}

/** How a provider's answers are read. */
export interface AnswerCodec {
  readonly decoder: () => AnswerDecoder
  /** A whole answer, from servers that do not stream although asked to. */
  readonly decodeWhole: (json: unknown) => readonly ModelEvent[]
  /** What a parsed error body says, or undefined where it says nothing. */
  readonly explain: (json: unknown) => ProviderFault | undefined
}
