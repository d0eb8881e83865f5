import type { ModelEvent } from '../contract/model.ts'
import type { ProviderFault } from './model-error.ts'
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
