import type { Judgement } from '../../contract/decision.ts'
import { withoutHidden } from '../../contract/hidden-characters.ts'
import { contentText } from '../../contract/message.ts'
import { RESULT_WITHHELD, resultText } from '../record.ts'
import type { Running } from '../running.ts'
import type { CallState } from '../state.ts'

/**
 * Asks a decision model whether these calls may go ahead without a person, side by side. What it says is recorded, so that
 * it is asked once about each.
 */
export function judgeCalls(running: Running, calls: readonly CallState[]): Promise<void> {
  const { state, loop, signal } = running
  // What others may have written is not what the user wants, and earlier turns may have been started by others.
  const userTexts = state.messages.flatMap((message) =>
    message.role === 'user' && !message.marks?.includes('untrusted') ? [contentText(message.content)] : [],
  )
  return judge(running, { calls }, async (call) => {
    const definition = state.offered.get(call.tool)
    if (!loop.judge || !definition) return UNJUDGED
    return loop.judge.call({ definition, arguments: call.arguments, userTexts }, signal)
  })
}

/** Asks a decision model whether a model may read the results of these calls, side by side; records what it says. */
export async function judgeResults(running: Running, calls: readonly CallState[]): Promise<void> {
  const { loop, signal, report } = running
  await judge(running, { calls, about: 'result' }, async ({ tool, result, attempt }) => {
    if (!loop.judge?.result || !result) return UNJUDGED
    const text = resultText(result)
    // What a caller sends is read as it is.
    return loop.judge.result({ tool, text: attempt === 0 ? text : withoutHidden(text) }, signal)
  })
  for (const { callId, tool, resultJudgement } of calls) {
    if (resultJudgement?.ok !== false) continue
    const { model, answer, probabilities, code } = resultJudgement
    report({ callId, tool, code: RESULT_WITHHELD, detail: JSON.stringify({ model, answer, probabilities, code }) })
  }
}

/** What is recorded where no model can be asked: by an edge that was deployed without one since the run began. */
const UNJUDGED: Judgement = { ok: false, code: 'no_decision_model' }

async function judge(
  { state, signal, commit, flush, now, journal }: Running,
  { calls, ...about }: { readonly calls: readonly CallState[]; readonly about?: 'result' },
  ask: (call: CallState) => Promise<Judgement>,
): Promise<void> {
  flush()
  await Promise.all(
    calls.map(async (call) => {
      const { callId, tool, parent } = call
      const startedAt = now()
      const judgement = await ask(call)
      // After an abort the run ends without the call, or without the model that would read its result.
      if (signal.aborted || state.finished) return
      // Otherwise its whole text could still be read, and that of the results that a program was given.
      for (const { callId: id, parent: program, result } of state.step?.calls ?? [])
        if (about.about && !judgement.ok && result?.cut && [id, program].includes(callId))
          journal.storeFullResult(id, [])
      commit([{ type: 'call.judged', callId, tool, ...about, ...judgement, durationMs: now() - startedAt, parent }])
      flush()
    }),
  )
}
