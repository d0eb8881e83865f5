import type { Judgement } from '../../contract/decision.ts'
import { contentText } from '../../contract/message.ts'
import type { Running } from '../running.ts'
import type { CallState } from '../state.ts'

/**
 * Asks a decision model whether these calls may go ahead without a person, side by side. What it says is recorded, so that
 * it is asked once about each.
 */
export async function judgeCalls(running: Running, calls: readonly CallState[]): Promise<void> {
  const { signal, commit, flush, now } = running
  flush()
  await Promise.all(
    calls.map(async (call) => {
      const { callId, tool, parent } = call
      const startedAt = now()
      const judgement = await judgementOf(running, call)
      // After an abort the run ends without this call.
      if (signal.aborted) return
      const ofProgram = parent === undefined ? {} : { parent }
      commit([{ type: 'call.judged', callId, tool, ...judgement, durationMs: now() - startedAt, ...ofProgram }])
      flush()
    }),
  )
}

/** What is recorded where no model can be asked: by an edge that was deployed without one since the run began. */
const UNJUDGED: Judgement = { ok: false, code: 'no_decision_model' }

async function judgementOf({ state, loop, signal }: Running, call: CallState): Promise<Judgement> {
  const definition = state.offered.get(call.tool)
  if (!loop.judge || !definition) return UNJUDGED
  // What others may have written is not what the user wants, and earlier turns may have been started by others.
  const userTexts = state.messages.flatMap((message) =>
    message.role === 'user' && !message.marks?.includes('untrusted') ? [contentText(message.content)] : [],
  )
  return loop.judge.call({ definition, arguments: call.arguments, userTexts }, signal)
}
