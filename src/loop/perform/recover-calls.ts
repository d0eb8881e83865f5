import type { RunFact } from '../../contract/event.ts'
import { pause } from '../../contract/time-limit.ts'
import { canReconcile, fenceOf, isRepeatable, recoverCall, restartStep, startedCalls } from '../recover.ts'
import type { Running } from '../running.ts'
import { callSettled } from '../record.ts'
import type { CallState } from '../state.ts'
import { askStatus } from './call-tool.ts'
import { readDeferral } from './record-outcome.ts'

const TOOK_EFFECT = {
  ok: true,
  content: [{ type: 'text', text: 'The call took effect, but its result was lost.' }],
} as const

/**
 * Has a run continue whose instance was lost: an unfinished model step is asked again, and each call that was in flight continues
 * by what its tool declares. Those that may still take effect stay as they are, for `awaitFence`.
 */
export async function recoverRun(running: Running): Promise<void> {
  const { state, now, commit, flush } = running
  await recoverCalls(running, startedCalls(state), now)
  commit(restartStep(state, now()))
  flush()
}

/** Waits for the fence of a call that was in flight when its instance was lost, and has it continue. Ends early if the run does. */
export async function awaitFence(running: Running, call: CallState): Promise<void> {
  const { signal, now, flush } = running
  const fence = fenceOf(call)
  await pause(Math.max(0, fence - now()), signal)
  // The clock of a Worker only moves at I/O events, so once the timer has fired, that time has come.
  if (signal.aborted) return
  await recoverCalls(running, [call], () => Math.max(now(), fence))
  flush()
}

/** Records how calls continue, as far as that is known at a time. */
async function recoverCalls(running: Running, calls: readonly CallState[], now: () => number): Promise<void> {
  const { state, commit, report } = running
  const toAsk = calls.filter((call) => !call.hasReport && canReconcile(state, call) && !isRepeatable(state, call))
  const answers = await Promise.all(toAsk.map((call) => askAbout(running, call, now)))
  commit(answers.flat())
  const open = calls.filter(({ status }) => status === 'started')
  const recovered = state.finished ? [] : open.flatMap((call) => recoverCall(state, call, now()) ?? [])
  for (const event of recovered) {
    if (event.type !== 'call.settled' || !event.error) continue
    const { callId, tool, durationMs, error } = event
    report({ callId, tool, code: error.code, durationMs })
  }
  commit(recovered)
}

/** Asks a tool for the status of a call. Returns the event that follows from it; none if nothing does yet. */
async function askAbout(running: Running, call: CallState, now: () => number): Promise<RunFact[]> {
  const status = await askStatus(running, call)
  const { callId, tool } = call
  if (status === 'unknown') return []
  // Until its fence, an earlier attempt may still take effect.
  if (status === 'absent') return now() < fenceOf(call) ? [] : [{ type: 'call.interrupted', callId, tool }]
  const outcome = status === 'done' ? TOOK_EFFECT : status
  const deferral = readDeferral(running, call, outcome)
  return [deferral ?? callSettled(call, outcome, Math.max(0, now() - (call.startedAt ?? now())))]
}
