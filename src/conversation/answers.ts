import type { CallAnswer, Refusal } from '../contract/conversation.ts'
import type { RunFact } from '../contract/event.ts'
import type { CallState } from '../loop/state.ts'
import { refuse } from './refusals.ts'

/** What answers to calls are in the journal, all of them; or why one of them is none. */
export function answersTo(
  calls: readonly CallState[],
  answers: Readonly<Record<string, CallAnswer>>,
): readonly RunFact[] | Refusal {
  const events: RunFact[] = []
  for (const [callId, answer] of Object.entries(answers)) {
    const call = calls.find((candidate) => candidate.callId === callId)
    if (!call) return refuse('unknown_call', `This run has no call "${callId}".`)
    const event = answerTo(call, answer)
    if (!event) return refuse('call_already_answered', `The call "${callId}" waits for no such answer.`)
    events.push(event)
  }
  return events
}

function answerTo({ callId, tool, status }: CallState, answer: CallAnswer): RunFact | undefined {
  if ('decision' in answer) return status === 'asked' ? { type: 'approval.decided', callId, ...answer } : undefined
  if (status !== 'handed') return undefined
  const { ok, result } = answer
  return {
    type: 'call.settled',
    callId,
    tool,
    ok,
    ...(ok ? { content: [{ type: 'text', text: result }] } : { error: { code: 'tool_failed', message: result } }),
    durationMs: 0,
  }
}

/** What stands for the answer of somebody who did not answer in time. */
export function expired({ callId, tool, status }: CallState): RunFact {
  if (status === 'asked')
    return { type: 'approval.decided', callId, decision: 'reject', reason: 'nobody decided in time' }
  const error = { code: 'expired', message: 'The caller sent no result in time.' }
  return { type: 'call.settled', callId, tool, ok: false, error, durationMs: 0 }
}
