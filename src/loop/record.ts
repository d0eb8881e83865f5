import { argumentsOf } from '../contract/message.ts'
import type { CallRecord, RunRecord } from '../contract/run.ts'
import type { CallState, RunState } from './state.ts'

/** The run as its caller sees it. */
export function recordOf(state: RunState): RunRecord {
  const { request, status, finished, usage, steps, calls } = state
  const { conversation, runId } = request
  return {
    id: runId,
    ...(conversation !== undefined && { conversation }),
    status,
    answer: finished?.answer ?? '',
    ...(finished && { finish: finished.finish }),
    ...(!finished && status === 'waiting' && { finish: waitsForPeople(calls) ? 'waiting' : 'tool_calls' }),
    ...(finished?.which && { which: finished.which }),
    steps,
    usage,
    calls: calls.map(callRecord),
    ...(finished?.error && { error: finished.error }),
  }
}

function waitsForPeople(calls: readonly CallState[]): boolean {
  return calls.some((call) => call.status === 'asked')
}

function callRecord({ callId, tool, arguments: text, status, settled }: CallState): CallRecord {
  const call = { id: callId, tool, arguments: argumentsOf(text) }
  if (settled) return { ...call, status: 'settled', ok: settled.ok, durationMs: settled.durationMs }
  return { ...call, status: status === 'asked' ? 'approval' : status === 'handed' ? 'caller' : 'open' }
}
