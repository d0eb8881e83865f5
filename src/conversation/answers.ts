import type { CallAnswer, Refusal } from '../contract/conversation.ts'
import type { RunFact } from '../contract/event.ts'
import { failure, type ToolOutcome } from '../contract/tool.ts'
import { refused, settled } from '../loop/settle.ts'
import type { CallState } from '../loop/state.ts'
import { shownOf } from '../loop/whole.ts'
import type { OpenRun } from './open-run.ts'
import { refuse } from './refusals.ts'

type Answered = Pick<OpenRun, 'state' | 'journal'>

/** What answers to calls are in the journal, all of them; or why one of them is none. */
export function answersTo(run: Answered, answers: Readonly<Record<string, CallAnswer>>): readonly RunFact[] | Refusal {
  const events: RunFact[] = []
  for (const [callId, answer] of Object.entries(answers)) {
    const call = run.state.calls.find((candidate) => candidate.callId === callId)
    if (!call) return refuse('unknown_call', `This run has no call "${callId}".`)
    const event = answerTo(call, answer, run)
    if (!event) return refuse('call_already_answered', `The call "${callId}" waits for no such answer.`)
    events.push(event)
  }
  return events
}

function answerTo(call: CallState, answer: CallAnswer, { state, journal }: Answered): RunFact | undefined {
  const { callId, status } = call
  if ('decision' in answer) return status === 'asked' ? { type: 'approval.decided', callId, ...answer } : undefined
  if (status !== 'handed') return undefined
  const { ok, result } = answer
  const outcome: ToolOutcome = ok ? { ok, content: [{ type: 'text', text: result }] } : failure('tool_failed', result)
  const { shown, cut } = shownOf(outcome, callId, state.request.limits.resultBytes)
  if (cut !== undefined && outcome.ok) journal.keep(callId, outcome.content)
  return settled(call, shown, 0, cut)
}

/** What stands for the answer of somebody who did not answer in time. */
export function expired(call: CallState): RunFact {
  const { callId, status } = call
  if (status === 'asked')
    return { type: 'approval.decided', callId, decision: 'reject', reason: 'nobody decided in time' }
  return refused(call, failure('expired', 'The caller sent no result in time.'))
}
