import type { RunFact } from '../../contract/event.ts'
import { canReconcile, startedCalls } from '../recover.ts'
import { askStatus } from './call-tool.ts'
import type { Running } from '../running.ts'
import { callSettled } from '../settled.ts'
import { deferralOf } from './record-outcome.ts'
import type { CallState } from '../state.ts'

/** Asks tools that support it (`reconcile`) for the status of calls that were in flight when the run stopped. */
export async function reconcile(running: Running): Promise<RunFact[]> {
  const openCalls = startedCalls(running.state).filter((call) => !call.hasReport && canReconcile(running.state, call))
  return (await Promise.all(openCalls.map((call) => reconcileCall(running, call)))).flat()
}

async function reconcileCall(running: Running, call: CallState): Promise<RunFact[]> {
  const status = await askStatus(running, call)
  const { callId, tool } = call
  if (status === 'unknown') return []
  if (status === 'absent') return [{ type: 'call.interrupted', callId, tool }]
  const outcome = status === 'done' ? TOOK_EFFECT : status
  const deferral = deferralOf(running, call, outcome)
  return deferral
    ? [deferral]
    : [callSettled(call, outcome, Math.max(0, running.now() - (call.startedAt ?? running.now())))]
}

const TOOK_EFFECT = {
  ok: true,
  content: [{ type: 'text', text: 'The call took effect, but its result was lost.' }],
} as const
