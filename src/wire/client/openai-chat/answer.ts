import type { CallSettled, RunEvent } from '../../../contract/event.ts'
import { readableArguments, type ToolCall } from '../../../contract/message.ts'
import type { Finish, RunError } from '../../../contract/run.ts'
import { CUT, type PlacedCitation, type VisiblePart, VisibleText, type VisibleTextOptions } from '../visible-text.ts'
import { toDeclaredCall } from './custom-tools.ts'
import type {
  ChatAnnotation,
  ChatCompletion,
  ChatCustomCall,
  ChatDelta,
  ChatErrorObject,
  ChatFinish,
  ChatToolCall,
  EdgecallReport,
} from '../../provider/openai-chat/types.ts'
import { toChatUsage } from '../../provider/openai-chat/answer.ts'
import { encodeData } from '../../sse.ts'

interface CompletionOptions extends VisibleTextOptions {
  readonly id: string
  /** The model as the request named it. */
  readonly model: string
  /** Epoch seconds. */
  readonly created: number
  /** The names of the custom tools of the caller. */
  readonly customTools: ReadonlySet<string>
}

/** Encodes a run's events as a streamed completion. Events after its end belong to another answer and are ignored. */
interface CompletionEncoder {
  /** Returns the SSE text of an event, or '' if the event adds nothing. */
  readonly event: (event: RunEvent) => string
  /** Returns the text after the last event: '', or an error if the events stopped before the end of the run. */
  readonly end: () => string
  /** Of news, only text and reasoning are encoded. */
  readonly news: 'text'
  /** Whether no text of the current step has been encoded. */
  readonly canRestart: () => boolean
}

/** Makes an encoder. What all chunks share is encoded once. A failure ends the stream without `[DONE]`. */
export function completionEncoder({
  includeUsage,
  ...options
}: CompletionOptions & { readonly includeUsage?: boolean | undefined }): CompletionEncoder {
  const visible = new VisibleText(options)
  const { id, model, created, customTools } = options
  const head = `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created, model }).slice(0, -1)},"choices":[`
  const tail = `]${includeUsage ? ',"usage":null' : ''}}\n\n`
  let firstChunk = chunk({ role: 'assistant', content: '' })
  let isDone = false
  let calls = 0

  function chunk(delta: ChatDelta, reason: ChatFinish | null = null): string {
    return head + JSON.stringify({ index: 0, delta, logprobs: null, finish_reason: reason }) + tail
  }

  function encode(part: VisiblePart): string {
    switch (part.type) {
      case 'text':
        return chunk({ content: part.text })
      case 'reasoning':
        return chunk({ reasoning_content: part.text })
      case 'citations':
        return chunk({ annotations: part.citations.map(toAnnotation) })
      case 'call':
        return chunk({ tool_calls: [{ index: calls++, ...toDeclaredCall(part.call, customTools) }] })
      case 'end': {
        isDone = true
        const usage = includeUsage ? `${head}],"usage":${JSON.stringify(toChatUsage(part.usage))}}\n\n` : ''
        return `${chunk({}, part.reason)}${usage}data: [DONE]\n\n`
      }
      default:
        isDone = true
        return encodeData(openAiErrorObject(part.error))
    }
  }

  return {
    event: (event) => {
      if (isDone) return ''
      let text = firstChunk
      firstChunk = ''
      for (const part of visible.take(event)) text += encode(part)
      return text
    },
    end: () => (isDone ? '' : encode(CUT)),
    news: 'text',
    canRestart: () => visible.canRestart,
  }
}

type CompletionResult =
  | { readonly ok: true; readonly body: ChatCompletion }
  | { readonly ok: false; readonly error: RunError }

/** Collects a run's events into a complete answer, without streaming. */
interface CompletionCollector {
  readonly event: (event: RunEvent) => void
  /** Returns the completion, or the error of the run. Call it after the last event. */
  readonly result: () => CompletionResult
}

/** Makes a collector. The answer has the text that a stream would show, without that of repeated attempts. */
export function completionCollector(
  options: CompletionOptions & { readonly conversation?: string | undefined },
): CompletionCollector {
  const { id, created, model, conversation, customTools } = options
  const visible = new VisibleText({ ...options, waitsForAnswer: true })
  const texts = { text: '', reasoning: '' }
  const toolCalls: (ChatToolCall | ChatCustomCall)[] = []
  const annotations: ChatAnnotation[] = []
  const report = new AnswerReport()
  let end: Extract<VisiblePart, { type: 'end' | 'failure' }> = CUT

  function take(part: VisiblePart): void {
    if ('text' in part) texts[part.type] += part.text
    else if (part.type === 'call') toolCalls.push(toDeclaredCall(part.call, customTools))
    else if (part.type === 'citations') annotations.push(...part.citations.map(toAnnotation))
    else end = part
  }

  return {
    event: (event) => {
      // Events after the end belong to another answer.
      if (end !== CUT) return
      // `step.answered` has all the text of the deltas, and none of an earlier attempt.
      if (event.type.endsWith('.delta')) return
      report.take(event)
      for (const part of visible.take(event)) take(part)
    },
    result: () => {
      if (end.type === 'failure') return { ok: false, error: end.error }
      const message = {
        role: 'assistant',
        content: texts.text || (toolCalls.length > 0 ? null : ''),
        refusal: null,
        ...(texts.reasoning && { reasoning_content: texts.reasoning }),
        ...(annotations.length > 0 && { annotations }),
        ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
      } as const
      const body: ChatCompletion = {
        id,
        object: 'chat.completion',
        created,
        model,
        choices: [{ index: 0, message, logprobs: null, finish_reason: end.reason }],
        usage: toChatUsage(end.usage),
        edgecall: report.describe(conversation, end.finish),
      }
      return { ok: true, body }
    },
  }
}

function toAnnotation({ url, title = '', start, end }: PlacedCitation): ChatAnnotation {
  return { type: 'url_citation', url_citation: { start_index: start, end_index: end, url, title } }
}

/** Collects what happened at the edge during a run, for an answer that is sent whole. */
export class AnswerReport {
  readonly #calls: (ToolCall & { readonly parent?: string })[] = []
  readonly #results = new Map<string, CallSettled>()
  #runId = ''
  #steps = 0

  take(event: RunEvent): void {
    this.#runId = event.runId
    if (event.type === 'call.settled') this.#results.set(event.callId, event)
    if (event.type === 'call.issued') this.#calls.push(event)
    if (event.type !== 'step.answered') return
    this.#steps += 1
    this.#calls.push(...event.calls)
  }

  /** Returns the report, with the settled calls in the order in which the model asked for them. */
  describe(conversation: string | undefined, finish: Finish): EdgecallReport {
    const calls = this.#calls.flatMap(({ callId, parent, tool, arguments: text }) => {
      const outcome = this.#results.get(callId)
      if (!outcome) return []
      const id = { id: callId, parent }
      return [{ ...id, tool, arguments: readableArguments(text), ok: outcome.ok, durationMs: outcome.durationMs }]
    })
    return { runId: this.#runId, conversation, steps: this.#steps, calls, finish }
  }
}

/** OpenAI's codes for ours. Codes that are not listed are the same. */
const OPENAI_CODES: Readonly<Record<string, string>> = {
  unauthorized: 'invalid_api_key',
  key_expired: 'invalid_api_key',
  key_disabled: 'invalid_api_key',
  unknown_model: 'model_not_found',
  model_context_exceeded: 'context_length_exceeded',
  rate_limited: 'rate_limit_exceeded',
  model_rate_limited: 'rate_limit_exceeded',
  budget_exhausted: 'insufficient_quota',
  model_quota_exceeded: 'insufficient_quota',
}

interface ErrorDetails {
  readonly code: string
  readonly message: string
  readonly param?: string | undefined
  /** Default, for an error within a stream: 500. */
  readonly status?: number
}

/**
 * Makes the error object of OpenAI's API, with its codes and types, which programs compare. If its code is not ours,
 * ours is added as `edgecall`.
 */
export function openAiErrorObject({ code, message, param, status = 500 }: ErrorDetails): ChatErrorObject {
  const openAiCode = OPENAI_CODES[code] ?? code
  return {
    error: {
      message,
      type: typeOf(openAiCode, status),
      param: param ?? null,
      code: openAiCode,
      ...(openAiCode !== code && { edgecall: code }),
    },
  }
}

function typeOf(code: string, status: number): string {
  if (code === 'insufficient_quota') return code
  if (code === 'rate_limit_exceeded' || status === 429) return 'rate_limit_error'
  // 424: the provider refused the edge's key, which is not an error of the caller.
  return status < 500 && status !== 424 ? 'invalid_request_error' : 'server_error'
}
