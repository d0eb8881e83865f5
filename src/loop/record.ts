import { readableArguments } from '../contract/message.ts'
import type { CallRecord, RunRecord } from '../contract/run.ts'
import type { CallState, RunState } from './state.ts'

/** Returns the run as its caller sees it. */
export function recordOf(state: RunState): RunRecord {
  const { request, status, finished, usage, prompts, steps, calls } = state
  const { conversation, runId } = request
  const pause = state.step?.wait?.pause
  const preambles = state.messages
    .slice(request.input.length)
    .flatMap((message) => (message.role === 'assistant' && message.calls && message.content ? [message.content] : []))
  return {
    id: runId,
    ...(conversation !== undefined && { conversation }),
    status,
    answer: finished?.answer ?? '',
    ...(preambles.length > 0 && { preambles }),
    ...(finished && { finish: finished.finish }),
    ...(!finished && status === 'waiting' && { finish: waitsForCaller(calls) ? 'tool_calls' : 'waiting' }),
    ...(finished?.which && { which: finished.which }),
    steps,
    usage,
    ...(prompts.length > 0 && { prompts }),
    calls: calls.map(callRecord),
    ...(!finished && pause && { modelWait: pause }),
    ...(finished?.error && { error: finished.error }),
  }
}

function waitsForCaller(calls: readonly CallState[]): boolean {
  const waitsFor = (status: CallState['status']) => calls.some((call) => call.status === status)
  return waitsFor('awaiting_caller') && !waitsFor('awaiting_approval')
}

function callRecord(state: CallState): CallRecord {
  const { callId, parent, tool, arguments: text, status, place, version, result, wasUndone } = state
  const source = place === undefined ? {} : { place, ...(version !== undefined && { version }) }
  const id = { id: callId, ...(parent !== undefined && { parent }) }
  const call = { ...id, tool, arguments: readableArguments(text), ...source }
  if (result) {
    const { ok, durationMs, content, structured, metadata, error, deployment } = result
    return {
      ...call,
      status: 'settled',
      ...{ ok, durationMs },
      ...(content && { content }),
      ...(structured !== undefined && { structured }),
      ...(metadata && { metadata }),
      ...(error && { error: { code: error.code, message: error.message } }),
      ...(deployment && { deployment }),
      ...(wasUndone && { undone: wasUndone }),
    }
  }
  return {
    ...call,
    status: STATUSES[status] ?? 'open',
  }
}

const STATUSES: Partial<Record<CallState['status'], CallRecord['status']>> = {
  awaiting_approval: 'approval',
  awaiting_caller: 'caller',
  deferred: 'later',
}
