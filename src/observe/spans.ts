import { endsAnswer, type RunFact } from '../contract/event.ts'
import { isObject } from '../contract/json.ts'
import { readableArguments } from '../contract/message.ts'
import {
  type Attributes,
  definitionsJson,
  finishReason,
  inputMessages,
  type OpenSpan,
  outputMessages,
  providerName,
  type Span,
  type SpanEnd,
  SpanRecorder,
  systemInstructions,
} from './span-recorder.ts'
import { stepOfCall } from '../contract/id.ts'
import type { ReportedRun, TimedFact } from '../contract/report.ts'
import type { RunRequest } from '../contract/run.ts'
import { callPart, chatPart } from '../contract/trace.ts'
import type { Usage } from '../contract/usage.ts'

/**
 * Returns the spans of a run by OpenTelemetry's semantic conventions for generative AI: `invoke_agent` for the run, below it
 * one for each step, and below that `chat <model>` for each attempt at asking the model and `execute_tool <tool>` for each
 * attempt at a call. Of a run that has waited: those since then, which continue those that ended as it began to wait.
 * `includeContent` adds messages, instructions, definitions of tools, arguments and results.
 */
export function spansOf(run: ReportedRun, { includeContent = false } = {}): Span[] {
  const { request, acceptedAt, facts } = run
  if (!request.trace) return []
  const recorder = new SpanRecorder(request.runId, request.trace)
  const record = stepsAndCalls(recorder, request, includeContent)
  const content = includeContent ? contentOfRun(run) : {}
  recorder.begin({ ...runSpan(request), content, part: '', parent: '', start: facts[0]?.at ?? acceptedAt })
  for (const fact of facts) {
    const { event, at } = fact
    const waitsFor = event.type === 'run.waiting' && endsAnswer(event) ? event.for : undefined
    if (waitsFor === undefined) recorder.proceed(at)
    record(fact)
    if (waitsFor !== undefined) recorder.pause(at, { 'edgecall.wait': waitsFor })
    if (event.type === 'run.finished') {
      recorder.finishAll(at, 'interrupted')
      const error = event.status === 'failed' ? (event.error?.code ?? 'failed') : undefined
      recorder.finish('', { end: at, error, attributes: endAttributes(event, includeContent) })
    }
  }
  return recorder.spans
}

/** Returns a function that records what each fact tells of the steps, the answers and the calls of a run, in order. */
function stepsAndCalls(
  recorder: SpanRecorder,
  request: RunRequest,
  includeContent: boolean,
): (fact: TimedFact) => void {
  const argumentTexts = new Map<string, string>()
  /** The newest attempt at each call, by the call's id: its outcome does not tell the attempt. */
  const newestAttempts = new Map<string, string>()
  let step = 0
  let attempt = 1
  const chat = () => chatPart(step, attempt)
  const beginChat = (start: number) =>
    recorder.begin({ ...chatSpan(request, attempt), part: chat(), parent: String(step), start })
  const finishStep = (end: number, error?: string) => {
    recorder.finish(chat(), { end, error })
    recorder.finish(String(step), { end, error })
  }
  const finishCall = (callId: string, end: SpanEnd) => recorder.finish(newestAttempts.get(callId), end)
  return ({ event, at, newsAt }) => {
    switch (event.type) {
      case 'step.started':
        finishStep(at)
        ;[step, attempt] = [event.step, 1]
        recorder.begin({ name: `step ${step}`, kind: 'internal', part: String(step), parent: '', start: at })
        return beginChat(at)
      case 'model.retried':
      case 'provider.call':
      case 'context.reduced':
        return recorder.note(chat(), event.type, at, noteOf(event))
      case 'model.waiting':
        recorder.note(chat(), event.type, at, retryOf(event))
        return recorder.finish(chat(), { end: at, error: event.code })
      case 'answer.rejected':
        return recorder.finish(chat(), { end: at, error: 'answer_rejected', attributes: usageOf(event.usage) })
      case 'answer.cut':
        return recorder.finish(chat(), { end: at, error: 'answer_cut', attributes: usageOf(event.usage) })
      case 'step.restarted':
        recorder.finish(chat(), { end: at, error: event.because })
        attempt = event.attempt
        return beginChat(at)
      case 'step.answered': {
        for (const { callId, arguments: text } of event.calls) argumentTexts.set(callId, text)
        const times = { start: recorder.startOf(chat()), newsAt }
        return recorder.finish(chat(), { end: at, attributes: answerOf(event, times, includeContent) })
      }
      case 'step.finished':
        return finishStep(at)
      case 'call.started': {
        const { callId, arguments: text } = event
        if (text !== undefined) argumentTexts.set(callId, text)
        const part = callPart(callId, event.attempt)
        newestAttempts.set(callId, part)
        // The calls of a program are below the pass that has asked for them.
        const parent = newestAttempts.get(event.parent ?? '') ?? String(stepOfCall(callId))
        return recorder.begin({ ...callSpan(event), part, parent, start: event.at })
      }
      case 'call.issued':
        argumentTexts.set(event.callId, event.arguments)
        return
      case 'call.suspended':
        return finishCall(event.callId, { end: at })
      case 'call.interrupted':
        return finishCall(event.callId, { end: at, error: event.because ?? 'interrupted' })
      case 'call.settled': {
        const { callId, error, deployment } = event
        const attributes = {
          ...(deployment !== undefined && { 'edgecall.tool.deployment': deployment }),
          ...(includeContent && contentOfCall(event, argumentTexts.get(callId))),
        }
        if (error && !newestAttempts.has(callId)) {
          recorder.begin(refusedCall(event, at))
          newestAttempts.set(callId, callPart(callId, 0))
        }
        return finishCall(callId, { end: at, error: error?.code, attributes })
      }
      case 'run.finished':
        return finishStep(at, event.error?.code)
      default:
        return noteRun(recorder, { event, at }, includeContent)
    }
  }
}

function noteOf(
  event: Fact<'model.retried' | 'provider.call' | 'context.reduced'>,
): Parameters<SpanRecorder['note']>[3] {
  if (event.type === 'provider.call') return { 'gen_ai.tool.name': event.tool, 'edgecall.tool.ok': event.ok }
  return event.type === 'model.retried' ? retryOf(event) : reductionAttributes(event)
}

/** Records what happens to a run as a whole, as events of its span. */
function noteRun(
  recorder: SpanRecorder,
  { event, at }: { readonly event: RunFact; readonly at: number },
  includeContent: boolean,
): void {
  switch (event.type) {
    case 'tools.added':
      return recorder.note('', event.type, at, includeContent ? definitionsAttribute(event.tools) : undefined)
    case 'program.diverged':
      return recorder.note('', event.type, at, { 'gen_ai.tool.call.id': event.callId })
    case 'limit.reached':
      return recorder.note('', event.type, at, { 'edgecall.limit': event.which })
    case 'call.judged': {
      const { callId, ok, model, answer, probabilities = {}, code } = event
      return recorder.note('', event.type, at, {
        'gen_ai.tool.call.id': callId,
        'edgecall.ok': ok,
        ...(model !== undefined && { 'gen_ai.request.model': model }),
        ...(answer !== undefined && { 'edgecall.answer': answer, 'edgecall.probability': probabilities[answer] ?? 0 }),
        ...(code !== undefined && { 'error.type': code }),
      })
    }
    case 'approval.requested':
    case 'approval.decided':
      return recorder.note('', event.type, at, { 'gen_ai.tool.call.id': event.callId })
    case 'run.waiting':
    case 'run.resumed':
    case 'run.parked':
    case 'run.retried':
    case 'run.cancelling':
      return recorder.note('', event.type, at)
    default:
  }
}

type Fact<Type extends RunFact['type']> = Extract<RunFact, { type: Type }>
type SpanStart = Pick<OpenSpan, 'name' | 'kind' | 'attributes'>

function retryOf({ code, status }: Fact<'model.retried' | 'model.waiting'>): Attributes {
  return { 'error.type': code, ...(status !== undefined && { 'http.response.status_code': status }) }
}

function reductionAttributes({ before, after, room, because }: Fact<'context.reduced'>): Attributes {
  return {
    'edgecall.tokens.before': before,
    'edgecall.tokens.after': after,
    'edgecall.room': room,
    ...(because && { 'edgecall.because': because }),
  }
}

function runSpan(request: RunRequest): SpanStart {
  const { runId, caller } = request
  return {
    name: 'invoke_agent',
    kind: 'internal',
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      ...modelAttributes(request),
      'edgecall.run.id': runId,
      'edgecall.tenant': caller.tenant,
    },
  }
}

function contentOfRun({ request, definitions }: ReportedRun): Attributes {
  const { input, system, clientTools } = request
  const tools = [...(definitions?.() ?? []), ...clientTools]
  return {
    'gen_ai.input.messages': inputMessages(input),
    ...(system !== undefined && { 'gen_ai.system_instructions': systemInstructions(system) }),
    ...(tools.length > 0 && definitionsAttribute(tools)),
  }
}

function definitionsAttribute(tools: Parameters<typeof definitionsJson>[0]): Attributes {
  return { 'gen_ai.tool.definitions': definitionsJson(tools) }
}

function endAttributes({ finish, which, usage, answer }: Fact<'run.finished'>, includeContent: boolean): Attributes {
  return {
    'edgecall.finish': finish,
    ...(which && { 'edgecall.limit': which }),
    ...usageOf(usage),
    ...(includeContent && { 'gen_ai.output.messages': outputMessages({ content: answer }, finish) }),
  }
}

function chatSpan(request: RunRequest, attempt: number): SpanStart {
  const { model } = request
  const attributes = {
    'gen_ai.operation.name': 'chat',
    ...modelAttributes(request),
    'gen_ai.request.stream': true,
    'edgecall.attempt': attempt,
  }
  return { name: `chat ${model.slice(model.indexOf('/') + 1)}`, kind: 'client', attributes }
}

interface AnswerTimes {
  readonly start: number | undefined
  readonly newsAt: number | undefined
}

function answerOf(
  { finish, usage, roomLeft, text, reasoning = '', calls }: Fact<'step.answered'>,
  { start, newsAt }: AnswerTimes,
  includeContent: boolean,
): Attributes {
  return {
    'gen_ai.response.finish_reasons': [finishReason(finish)],
    ...(newsAt !== undefined &&
      start !== undefined && { 'gen_ai.response.time_to_first_chunk': (newsAt - start) / 1000 }),
    ...usageOf(usage),
    ...(roomLeft !== undefined && { 'edgecall.room_left': roomLeft }),
    ...(includeContent && { 'gen_ai.output.messages': outputMessages({ content: text, reasoning, calls }, finish) }),
  }
}

type StartedCall = Pick<Fact<'call.started'>, 'tool' | 'callId' | 'attempt' | 'place' | 'version'>

function callSpan({ tool, callId, attempt, place, version }: StartedCall): SpanStart {
  return {
    name: `execute_tool ${tool}`,
    kind: 'internal',
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': tool,
      'gen_ai.tool.call.id': callId,
      'gen_ai.tool.type': 'function',
      'edgecall.attempt': attempt,
      ...(place !== undefined && { 'edgecall.tool.place': place }),
      ...(version !== undefined && { 'edgecall.tool.version': version }),
    },
  }
}

/** Returns the span of a call that was refused, which ends as it begins. */
function refusedCall({ tool, callId }: Fact<'call.settled'>, start: number): OpenSpan {
  const place = { part: callPart(callId, 0), parent: String(stepOfCall(callId)), start }
  return { ...callSpan({ tool, callId, attempt: 0 }), ...place }
}

function contentOfCall({ content, error }: Fact<'call.settled'>, text = ''): Attributes {
  const input = readableArguments(text)
  return {
    // Both are objects by the convention. Other texts are in the messages of the answer that has the call.
    ...(isObject(input) && { 'gen_ai.tool.call.arguments': JSON.stringify(input) }),
    ...(error
      ? { 'edgecall.error.message': error.message }
      : { 'gen_ai.tool.call.result': JSON.stringify({ content: content ?? [] }) }),
  }
}

/** Returns what the spans of a run and of its model requests have of its terms. */
function modelAttributes({ model, conversation }: RunRequest): Attributes {
  const slash = model.indexOf('/')
  return {
    'gen_ai.provider.name': providerName(model.slice(0, slash)),
    'gen_ai.request.model': model.slice(slash + 1),
    ...(conversation !== undefined && { 'gen_ai.conversation.id': conversation }),
  }
}

function usageOf(usage: Usage | undefined): Attributes {
  if (!usage) return {}
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens, cost } = usage
  return {
    'gen_ai.usage.input_tokens': inputTokens,
    'gen_ai.usage.output_tokens': outputTokens,
    ...(cachedInputTokens !== undefined && { 'gen_ai.usage.cache_read.input_tokens': cachedInputTokens }),
    ...(cacheWriteTokens !== undefined && { 'gen_ai.usage.cache_write.input_tokens': cacheWriteTokens }),
    ...(reasoningTokens !== undefined && { 'gen_ai.usage.reasoning.output_tokens': reasoningTokens }),
    ...(cost !== undefined && { 'edgecall.cost': cost }),
  }
}
