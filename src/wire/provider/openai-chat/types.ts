import type { CallRecord, Finish } from '../../../contract/run.ts'
import { isObject } from '../../../contract/json.ts'
import { objectsOf, textOrJson } from '../../fields.ts'
import type { ProviderFault } from '../model-error.ts'

/**
 * The shapes of OpenAI Chat Completions that the edge writes, to models and to callers. What it reads is checked field
 * by field.
 */

export interface ChatToolCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

/** A call of a custom tool, which takes a text. */
export interface ChatCustomCall {
  readonly id: string
  readonly type: 'custom'
  readonly custom: { readonly name: string; readonly input: string }
}

export type ChatFinish = 'stop' | 'length' | 'tool_calls' | 'content_filter'

export interface ChatUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly prompt_tokens_details: { readonly cached_tokens: number }
  readonly completion_tokens_details: { readonly reasoning_tokens: number }
}

/** A source of the text from `start_index` up to `end_index`. */
export interface ChatAnnotation {
  readonly type: 'url_citation'
  readonly url_citation: {
    readonly start_index: number
    readonly end_index: number
    readonly url: string
    readonly title: string
  }
}

export interface ChatDelta {
  readonly role?: 'assistant'
  readonly content?: string
  /** Named as several servers do; OpenAI has no field for reasoning, and its clients ignore this one. */
  readonly reasoning_content?: string
  readonly annotations?: readonly ChatAnnotation[]
  /** Calls in one piece each: the edge hands a call out only once it is complete. */
  readonly tool_calls?: readonly ((ChatToolCall | ChatCustomCall) & { readonly index: number })[]
}

export interface ChatCompletion {
  readonly id: string
  readonly object: 'chat.completion'
  readonly created: number
  readonly model: string
  readonly choices: readonly [
    {
      readonly index: 0
      readonly message: {
        readonly role: 'assistant'
        readonly content: string | null
        readonly refusal: null
        readonly reasoning_content?: string
        readonly annotations?: readonly ChatAnnotation[]
        readonly tool_calls?: readonly (ChatToolCall | ChatCustomCall)[]
      }
      readonly logprobs: null
      readonly finish_reason: ChatFinish
    },
  ]
  readonly usage: ChatUsage
  readonly edgecall: EdgecallReport
}

/** Our extension of an answer that is sent whole: what happened at the edge. */
export interface EdgecallReport {
  readonly runId: string
  readonly conversation?: string | undefined
  readonly steps: number
  readonly calls: readonly Required<Pick<CallRecord, 'id' | 'tool' | 'arguments' | 'ok' | 'durationMs'>>[]
  readonly finish: Finish
}

export interface ChatErrorObject {
  readonly error: {
    readonly message: string
    readonly type: string
    readonly param: string | null
    readonly code: string | null
    /** Our own code, if OpenAI has another for the same. */
    readonly edgecall?: string
  }
}

/** The fault of a failure for which the server gives no reason. */
export const UNEXPLAINED: ProviderFault = { message: 'The model server failed and gave no reason.' }

/**
 * Parses a server's error: OpenAI's `{ error: { message, type, code } }`, the same in an array, a text as `error`, or
 * the `message` or `detail` of other frameworks. Returns undefined if it says nothing.
 */
export function explainError(json: unknown): ProviderFault | undefined {
  const body: unknown = Array.isArray(json) ? json[0] : json
  if (!isObject(body)) return undefined
  const error = body.error ?? body
  const { message, detail, code, type, status, param, details } = isObject(error) ? error : { message: error }
  const text = textOrJson(message ?? detail)
  const word = [code, type].find((each): each is string => typeof each === 'string' && each !== '')
  const number = [code, status].map(Number).find((each) => each >= 400 && each <= 599)
  if (text === '' && word === undefined && number === undefined) return undefined
  const path = textOrNothing(param) ?? fieldIn(details)
  return { message: text || UNEXPLAINED.message, code: word, status: number, ...(path !== undefined && { path }) }
}

function textOrNothing(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Returns the field that Google's `BadRequest` names among the details of an error. */
function fieldIn(details: unknown): string | undefined {
  const violations = objectsOf(details).flatMap(({ fieldViolations }) => objectsOf(fieldViolations))
  return violations.map(({ field }) => textOrNothing(field)).find((field) => field !== undefined)
}
