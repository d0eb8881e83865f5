import { stepOfCall } from '../contract/id.ts'
import type { CallSettled, RunFact } from '../contract/event.ts'
import type { Observer } from '../contract/hook.ts'
import type { RunRequest } from '../contract/run.ts'
import type { Usage } from '../contract/usage.ts'

/** The events that end no span. An event that is new to the union must be handled, or added here. */
type IgnoredBySpans =
  | 'run.started'
  | 'input.added'
  | 'tools.added'
  | 'history.repaired'
  | 'history.compacted'
  | 'step.started'
  | 'answer.rejected'
  | 'answer.cut'
  | 'approval.requested'
  | 'approval.decided'
  | 'call.requested'
  | 'call.started'
  | 'call.interrupted'
  | 'call.undone'
  | 'call.late'
  | 'step.finished'
  | 'step.restarted'
  | 'limit.reached'
  | 'run.waiting'
  | 'run.resumed'
  | 'run.cancelling'
  | 'run.parked'
  | 'run.retried'

/** A span in OpenTelemetry's sense, for an exporter to send. Times are in epoch milliseconds. */
export interface Span {
  readonly name: string
  /** 32 hex digits, one per run, made from the run's id. */
  readonly traceId: string
  /** 16 hex digits, made from the ids of the run and of the step or call. */
  readonly spanId: string
  readonly parentId?: string
  readonly start: number
  readonly end: number
  /** The code of the error; absent if there was none. */
  readonly error?: string
  readonly attributes: Readonly<Record<string, string | number | boolean>>
}

export interface SpanOptions {
  readonly now?: () => number
  /** Adds arguments and results to the spans of calls. Default: no. */
  readonly includeContent?: boolean
}

interface RunTimes {
  readonly start: number
  /** When each step began, by its number. */
  readonly steps: Map<number, number>
  readonly calls: Map<string, { readonly start: number; readonly text: string; readonly attempt: number }>
}

/**
 * Makes an observer that turns each run into spans, named by OpenTelemetry's semantic conventions for generative AI:
 * `invoke_agent` for the run, `chat <model>` for each model call, and `execute_tool <tool>` for each call, below the
 * step that asked for it. A failed call is an error. If the object restarts during a run, the spans since then belong to
 * the same trace, and what was open begins again at its next event.
 */
export function spans(
  emit: (span: Span) => void,
  { now = Date.now, includeContent = false }: SpanOptions = {},
): Observer {
  const runs = new Map<string, RunTimes>()
  return (event, run) => {
    const times = runs.get(run.runId) ?? newRun(now())
    runs.set(run.runId, times)
    note(times, event, now())
    const span = spanOf(times, event, { run, now: now(), includeContent })
    if (span) emit(span)
    if (event.type === 'run.finished') runs.delete(run.runId)
  }
}

/** Records the start of later spans. */
function note({ steps, calls }: RunTimes, event: RunFact, now: number): void {
  if (event.type === 'step.started') {
    steps.set(event.step, now)
  } else if (event.type === 'step.answered') {
    for (const { callId, arguments: text } of event.calls) {
      calls.set(callId, { start: now, attempt: 1, ...calls.get(callId), text })
    }
  } else if (event.type === 'call.started') {
    const text = calls.get(event.callId)?.text ?? event.arguments ?? ''
    calls.set(event.callId, { start: event.at, text, attempt: event.attempt })
  }
}

interface SpanContext {
  readonly run: RunRequest
  readonly now: number
  readonly includeContent: boolean
}

/** Returns the span that an event ends, if any. */
function spanOf(times: RunTimes, event: RunFact, context: SpanContext): Span | undefined {
  switch (event.type) {
    case 'step.answered':
      return chatSpan(times, event, context)
    case 'call.settled':
      return toolSpan(times, event, context)
    case 'run.finished':
      return runSpan(times, event, context)
    default:
      event.type satisfies IgnoredBySpans
      return undefined
  }
}

type Fact<Type extends RunFact['type']> = Extract<RunFact, { type: Type }>

function chatSpan(times: RunTimes, { step, finish, usage }: Fact<'step.answered'>, { run, now }: SpanContext): Span {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': run.model,
    'gen_ai.response.finish_reason': finish,
    'edgecall.step': step,
    ...usageOf(usage),
  }
  const place = { traceId: traceOf(run), spanId: spanIdOf(run, step), parentId: spanIdOf(run) }
  return { name: `chat ${run.model}`, ...place, start: times.steps.get(step) ?? now, end: now, attributes }
}

function toolSpan({ calls }: RunTimes, event: CallSettled, { run, now, includeContent }: SpanContext): Span {
  const { callId, tool, ok, error, durationMs } = event
  const { start = now, text = '', attempt = 1 } = calls.get(callId) ?? {}
  calls.delete(callId)
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool,
    'gen_ai.tool.call.id': callId,
    'gen_ai.tool.type': 'function',
    'edgecall.attempt': attempt,
    'edgecall.ok': ok,
    ...(includeContent && {
      'gen_ai.tool.call.arguments': text,
      'gen_ai.tool.call.result': JSON.stringify(event.content ?? error?.message ?? ''),
    }),
  }
  const place = { traceId: traceOf(run), spanId: spanIdOf(run, callId), parentId: spanIdOf(run, stepOfCall(callId)) }
  const times = { start, end: start + durationMs }
  return { name: `execute_tool ${tool}`, ...place, ...times, attributes, ...(error && { error: error.code }) }
}

function runSpan({ start }: RunTimes, event: Fact<'run.finished'>, { run, now }: SpanContext): Span {
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.request.model': run.model,
    'edgecall.run.id': run.runId,
    'edgecall.finish': event.finish,
    ...(run.conversation !== undefined && { 'gen_ai.conversation.id': run.conversation }),
    ...usageOf(event.usage),
  }
  const errorField = event.status === 'failed' ? { error: event.error?.code ?? 'failed' } : {}
  return {
    name: 'invoke_agent',
    traceId: traceOf(run),
    spanId: spanIdOf(run),
    start,
    end: now,
    attributes,
    ...errorField,
  }
}

function newRun(start: number): RunTimes {
  return { start, steps: new Map(), calls: new Map() }
}

function usageOf(usage: Usage | undefined): Record<string, number> {
  return usage
    ? { 'gen_ai.usage.input_tokens': usage.inputTokens, 'gen_ai.usage.output_tokens': usage.outputTokens }
    : {}
}

function traceOf({ runId }: RunRequest): string {
  return hexOf(runId, 128)
}

/** Returns the id of the span of a run, of one of its steps or of one of its calls. */
function spanIdOf({ runId }: RunRequest, part: number | string = ''): string {
  return hexOf(`${runId}/${part}`, 64)
}

/** Returns so many bits of a text as hex digits. Run ids are random, so ids made from them do not collide. */
function hexOf(text: string, bits: number): string {
  let id = 0n
  for (const char of text) id = BigInt.asUintN(bits, id * 0x100000001b3n + BigInt(char.charCodeAt(0)))
  return id.toString(16).padStart(bits / 4, '0')
}
