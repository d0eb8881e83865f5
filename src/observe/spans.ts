import type { RunFact } from '../contract/event.ts'
import { stepOfCall } from '../contract/id.ts'
import type { EndedRun } from '../contract/report.ts'
import type { RunRequest } from '../contract/run.ts'
import { callPart, chatPart, spanIdOf } from '../contract/trace.ts'
import type { Usage } from '../contract/usage.ts'

export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[]>>

/** A span in OpenTelemetry's sense. Times are in epoch milliseconds. */
export interface Span {
  readonly name: string
  readonly kind: 'internal' | 'client'
  /** 32 hex digits. */
  readonly traceId: string
  /** 16 hex digits, made from the ids of the run and of its part: the same whenever they are made again. */
  readonly spanId: string
  readonly parentId?: string
  readonly start: number
  readonly end: number
  /** The code of the error; absent if there was none. */
  readonly error?: string
  readonly attributes: Attributes
  readonly events?: readonly SpanEvent[]
}

export interface SpanEvent {
  readonly name: string
  readonly at: number
  readonly attributes?: Attributes
}

/** A span that has begun, of one part of the run. */
interface OpenSpan {
  readonly part: string
  readonly parent: string
  readonly name: string
  readonly kind: Span['kind']
  readonly start: number
  readonly attributes: Attributes
  readonly events: SpanEvent[]
}

interface SpanEnd {
  readonly end: number
  readonly error?: string | undefined
  readonly attributes?: Attributes
}

/**
 * Returns the spans of a run that has ended, by OpenTelemetry's semantic conventions for generative AI: `invoke_agent` for
 * the run, below it one for each step, and below that `chat <model>` for each attempt at asking the model and
 * `execute_tool <tool>` for each attempt at a call. `includeContent` adds messages, arguments and results.
 */
export function spansOf({ request, acceptedAt, facts }: EndedRun, { includeContent = false } = {}): Span[] {
  const { runId, model, trace } = request
  if (!trace) return []
  const spans: Span[] = []
  const open = new Map<string, OpenSpan>()
  const argumentTexts = new Map<string, string>()
  /** The newest attempt at each call, by the call's id: its outcome does not tell the attempt. */
  const newestAttempts = new Map<string, string>()
  let step = 0
  let attempt = 1

  const begin = (span: Omit<OpenSpan, 'events'>) => open.set(span.part, { ...span, events: [] })
  const finish = (part: string, { end, error, attributes }: SpanEnd) => {
    const span = open.get(part)
    if (!span) return
    open.delete(part)
    const { start, events, name, kind } = span
    const parentId = part === '' ? trace.parent : spanIdOf(runId, span.parent)
    spans.push({
      ...{ name, kind, traceId: trace.id, spanId: spanIdOf(runId, part), start, end: Math.max(start, end) },
      ...(parentId !== undefined && { parentId }),
      ...(error !== undefined && { error }),
      attributes: { ...span.attributes, ...(error !== undefined && { 'error.type': error }), ...attributes },
      ...(events.length > 0 && { events }),
    })
  }
  const note = (part: string, name: string, at: number, attributes?: Attributes) =>
    open.get(part)?.events.push({ name, at, ...(attributes && { attributes }) })
  const chat = () => chatPart(step, attempt)
  const beginChat = (start: number) => begin({ ...chatSpan(model, attempt), part: chat(), parent: String(step), start })
  const finishStep = (end: number, error?: string) => {
    finish(chat(), { end, error })
    finish(String(step), { end, error })
  }

  begin({ ...runSpan(request, includeContent), part: '', parent: '', start: facts[0]?.at ?? acceptedAt })
  for (const { event, at, newsAt } of facts) {
    switch (event.type) {
      case 'step.started':
        finishStep(at)
        ;[step, attempt] = [event.step, 1]
        begin({ name: `step ${step}`, kind: 'internal', part: String(step), parent: '', start: at, attributes: {} })
        beginChat(at)
        break
      case 'model.retried':
        note(chat(), event.type, at, {
          'error.type': event.code,
          ...(event.status !== undefined && { 'http.response.status_code': event.status }),
        })
        break
      case 'answer.rejected':
        finish(chat(), { end: at, error: 'answer_rejected', attributes: usageOf(event.usage) })
        break
      case 'answer.cut':
        finish(chat(), { end: at, error: 'answer_cut', attributes: usageOf(event.usage) })
        break
      case 'step.restarted':
        finish(chat(), { end: at, error: event.because })
        attempt = event.attempt
        beginChat(at)
        break
      case 'step.answered':
        for (const { callId, arguments: text } of event.calls) argumentTexts.set(callId, text)
        finish(chat(), {
          end: at,
          attributes: answerOf(event, { start: open.get(chat())?.start, newsAt }, includeContent),
        })
        break
      case 'step.finished':
        finishStep(at)
        break
      case 'call.started': {
        const { callId, arguments: text } = event
        if (text !== undefined) argumentTexts.set(callId, text)
        const part = callPart(callId, event.attempt)
        begin({ ...callSpan(event), part, parent: String(stepOfCall(callId)), start: event.at })
        newestAttempts.set(callId, part)
        break
      }
      case 'call.interrupted':
        finish(newestAttempts.get(event.callId) ?? '-', { end: at, error: event.because ?? 'interrupted' })
        break
      case 'call.settled':
        finish(newestAttempts.get(event.callId) ?? '-', {
          end: at,
          error: event.error?.code,
          attributes: includeContent ? contentOfCall(event, argumentTexts.get(event.callId)) : {},
        })
        break
      case 'run.finished': {
        finishStep(at, event.error?.code)
        for (const { part } of open.values()) if (part !== '') finish(part, { end: at, error: 'interrupted' })
        const error = event.status === 'failed' ? (event.error?.code ?? 'failed') : undefined
        finish('', { end: at, error, attributes: endOf(event, includeContent) })
        break
      }
      case 'limit.reached':
        note('', event.type, at, { 'edgecall.limit': event.which })
        break
      case 'approval.requested':
      case 'approval.decided':
        note('', event.type, at, { 'gen_ai.tool.call.id': event.callId })
        break
      case 'run.waiting':
      case 'run.resumed':
      case 'run.parked':
      case 'run.retried':
      case 'run.cancelling':
        note('', event.type, at)
        break
      default:
        event.type satisfies IgnoredBySpans
    }
  }
  return spans
}

/** The facts that neither end a span nor are noted in one. A fact that is new to the union must be handled, or added here. */
type IgnoredBySpans =
  | 'run.started'
  | 'input.added'
  | 'tools.added'
  | 'history.repaired'
  | 'history.compacted'
  | 'call.requested'
  | 'call.undone'
  | 'call.late'

type Fact<Type extends RunFact['type']> = Extract<RunFact, { type: Type }>
type SpanStart = Pick<OpenSpan, 'name' | 'kind' | 'attributes'>

function runSpan(request: RunRequest, includeContent: boolean): SpanStart {
  const { runId, model, caller, conversation, input } = request
  return {
    name: 'invoke_agent',
    kind: 'internal',
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      ...modelOf(model),
      'edgecall.run.id': runId,
      'edgecall.tenant': caller.tenant,
      ...(conversation !== undefined && { 'gen_ai.conversation.id': conversation }),
      ...(includeContent && { 'gen_ai.input.messages': JSON.stringify(input) }),
    },
  }
}

function endOf({ finish, which, usage, answer }: Fact<'run.finished'>, includeContent: boolean): Attributes {
  return {
    'edgecall.finish': finish,
    ...(which && { 'edgecall.limit': which }),
    ...usageOf(usage),
    ...(includeContent && { 'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', content: answer }]) }),
  }
}

function chatSpan(model: string, attempt: number): SpanStart {
  const attributes = { 'gen_ai.operation.name': 'chat', ...modelOf(model), 'edgecall.attempt': attempt }
  return { name: `chat ${model.slice(model.indexOf('/') + 1)}`, kind: 'client', attributes }
}

interface AnswerTimes {
  readonly start: number | undefined
  readonly newsAt: number | undefined
}

function answerOf(
  { finish, usage, text, calls }: Fact<'step.answered'>,
  { start, newsAt }: AnswerTimes,
  includeContent: boolean,
): Attributes {
  return {
    'gen_ai.response.finish_reasons': [finish],
    ...(newsAt !== undefined &&
      start !== undefined && { 'gen_ai.response.time_to_first_chunk': (newsAt - start) / 1000 }),
    ...usageOf(usage),
    ...(includeContent && { 'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', content: text, calls }]) }),
  }
}

function callSpan({ tool, callId, attempt }: Fact<'call.started'>): SpanStart {
  return {
    name: `execute_tool ${tool}`,
    kind: 'internal',
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': tool,
      'gen_ai.tool.call.id': callId,
      'gen_ai.tool.type': 'function',
      'edgecall.attempt': attempt,
    },
  }
}

function contentOfCall({ content, error }: Fact<'call.settled'>, text = ''): Attributes {
  return {
    'gen_ai.tool.call.arguments': text,
    'gen_ai.tool.call.result': JSON.stringify(content ?? error?.message ?? ''),
  }
}

function modelOf(name: string): Attributes {
  const slash = name.indexOf('/')
  return { 'gen_ai.provider.name': name.slice(0, slash), 'gen_ai.request.model': name.slice(slash + 1) }
}

function usageOf(usage: Usage | undefined): Attributes {
  if (!usage) return {}
  const { inputTokens, outputTokens, cachedInputTokens, cost } = usage
  return {
    'gen_ai.usage.input_tokens': inputTokens,
    'gen_ai.usage.output_tokens': outputTokens,
    ...(cachedInputTokens !== undefined && { 'gen_ai.usage.cache_read.input_tokens': cachedInputTokens }),
    ...(cost !== undefined && { 'edgecall.cost': cost }),
  }
}
