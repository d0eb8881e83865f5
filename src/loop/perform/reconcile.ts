import type { RunFact } from '../../contract/event.ts'
import type { CallStatus } from '../../contract/tool.ts'
import { messageOf } from '../../contract/thrown.ts'
import { canReconcile, startedCalls } from '../recover.ts'
import { toolRequest } from './tool-request.ts'
import type { Running } from '../running.ts'
import { callSettled } from '../settled.ts'
import { deferralOf } from './record-outcome.ts'
import type { CallState } from '../state.ts'
import { within } from '../../contract/time-limit.ts'

/** The time limit of asking a tool for the status of a call, in milliseconds. */
const STATUS_MS = 10_000

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

/** Asks the tool for the status of a call that was sent. Never rejects: `unknown` if the tool cannot tell. */
export async function askStatus(running: Running, call: CallState): Promise<CallStatus> {
  const { callId, tool: name, attempt, deadline = 0 } = call
  const tool = running.tools.get(name)
  const request = toolRequest(running, call, { attempt, deadline })
  if (!tool?.status || !request.ok) return 'unknown'
  try {
    return await within<CallStatus>(STATUS_MS, tool.status(request.value), 'unknown')
  } catch (error) {
    running.report({ callId, tool: name, code: 'status_failed', detail: messageOf(error) })
    return 'unknown'
  }
}

const TOOK_EFFECT = {
  ok: true,
  content: [{ type: 'text', text: 'The call took effect, but its result was lost.' }],
} as const
