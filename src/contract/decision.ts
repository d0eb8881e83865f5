import type { JsonObject } from './json.ts'
import type { ModelError } from './model.ts'
import type { ToolDefinition } from './tool-definition.ts'
import type { Price, Usage } from './usage.ts'

/** A question with a fixed set of answers. */
export interface DecisionRequest {
  /** What is to be decided, in a sentence or two. */
  readonly instructions: string
  /** What it is decided about: plain JSON. */
  readonly input: JsonObject
  /** The possible answers by name, from 2 to 255, each with what it means. */
  readonly answers: Readonly<Record<string, string>>
}

/** The most likely answer, and the probability of each, from 0 to 1; or why there is none. */
export type DecisionReply =
  | {
      readonly ok: true
      readonly answer: string
      readonly probabilities: Readonly<Record<string, number>>
      readonly usage?: Usage
    }
  | { readonly ok: false; readonly error: ModelError }

/**
 * A model that answers a question with one of a fixed set of answers, and says how likely each is. It writes no text.
 * Contract: `decide` never rejects; after `signal` aborts it resolves soon, in any way.
 */
export interface DecisionModel {
  /** `provider/name`. */
  readonly name: string
  decide(request: DecisionRequest, signal: AbortSignal): Promise<DecisionReply>
  /** Set if the configuration has a price for the model. */
  readonly price?: Price
}

/** What a decision model has said about a call, or about its result. */
export interface Judgement {
  /**
   * About a call: whether the model was sure enough that it may go ahead; if not, a person decides. About a result:
   * whether a model may read it.
   */
  readonly ok: boolean
  /** `provider/name`; absent if the edge has no decision model. */
  readonly model?: string
  /** The most likely answer, and the probability of each; absent if there was no usable answer. */
  readonly answer?: string
  readonly probabilities?: Readonly<Record<string, number>>
  /** Why there was none: the error code of the model, or of the edge. */
  readonly code?: string
  readonly usage?: Usage
  /** How many requests that took, if it was more than one. */
  readonly requests?: number
}

/** A call that a decision model is asked about. */
export interface CallToJudge {
  readonly definition: ToolDefinition
  /** The JSON text of its arguments. */
  readonly arguments: string
  /** What the user has written for this run, the oldest first. */
  readonly userTexts: readonly string[]
}

/** A result that a decision model is asked about, as a model would read it. */
export interface ResultToJudge {
  readonly tool: string
  readonly text: string
}

/** Tools that a search by words has found, the best first. */
export interface ToolsToRank {
  readonly query: string
  readonly tools: readonly Pick<ToolDefinition, 'name' | 'description'>[]
}

/** Ranks tools: the probabilities of its judgement, if that is `ok`, say how well each fits. Contract: never rejects. */
export type RankTools = (candidates: ToolsToRank, signal: AbortSignal) => Promise<Judgement>

/** Asks a decision model. Contract: the functions never reject, and keep a time limit of their own. */
export interface Judge {
  /** Judges whether a call may go ahead without a person. */
  call(call: CallToJudge, signal: AbortSignal): Promise<Judgement>
  /** Judges whether a model may read an untrusted result. Absent if results are not judged. */
  readonly result?: (result: ResultToJudge, signal: AbortSignal) => Promise<Judgement>
  /** Ranks what a search for tools has found. Absent if searches stay as they are. */
  readonly rank?: RankTools
}
