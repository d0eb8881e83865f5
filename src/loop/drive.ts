import { pause } from '../contract/time-limit.ts'
import { runCalls } from './perform/act.ts'
import { askModel } from './perform/ask.ts'
import { beginStep, drawShare, needsShare } from './perform/begin.ts'
import { judgeCalls, judgeResults } from './perform/judge.ts'
import { decide, type Decision, endEarly, failedRun, SUBREQUEST_LIMIT, withinSubrequests } from './decide/decide.ts'
import type { Running } from './running.ts'
import { screenEvent } from './perform/hooks.ts'
import { undoCalls } from './perform/undo.ts'

/** How far a run is driven, and what is called on the way. */
export interface DriveOptions {
  /** Called before each decision is performed, as soon as the run's deadline may be known. */
  readonly watch: () => void
  readonly isCancelled: () => boolean
  /** Stops before a decision is performed. Default: never. */
  readonly until?: (next: Decision) => boolean
}

/**
 * Decides and performs in turn until the run ends or waits for a person or its caller. If a run has made as many
 * subrequests as an invocation may make, a stored run is left to be continued by another invocation; any other fails.
 */
export async function drive(running: Running, { watch, isCancelled, until }: DriveOptions): Promise<void> {
  const { state, now, flush, signal, subrequestsLeft } = running
  if (running.loop.judge?.result) state.judgesResults = true
  // What a run had was given back when it began to wait, or has expired.
  if (state.steps > 0 && state.request.budget) state.budget = { ...state.request.budget, until: 0 }
  let drawnAt: number | undefined
  for (;;) {
    if (isCancelled() && state.status === 'running') running.commit([{ type: 'run.cancelling' }])
    if (drawnAt !== state.steps && needsShare(running)) {
      drawnAt = state.steps
      await drawShare(running)
    }
    const decision = decide(state, now())
    watch()
    if (until?.(decision)) return flush()
    const next = withinSubrequests(decision, subrequestsLeft())
    if (!next) {
      if (state.request.durable) return flush()
      running.commit(endEarly(state, 'the run failed', failedRun(state, SUBREQUEST_LIMIT)))
      continue
    }
    switch (next.do) {
      case 'record':
        running.commit(next.events.map((event) => screenEvent(running, event)))
        break
      case 'begin':
        await beginStep(running, next.step)
        break
      case 'ask':
        if (next.until !== undefined) {
          flush()
          // The alarm of a stored run continues it.
          if (state.request.durable) return
          await pause(next.until - now(), signal)
          // The run may have been aborted, or have timed out.
          if (signal.aborted) break
        }
        await askModel(running, next.step)
        break
      case 'judge':
        await (next.about === 'call' ? judgeCalls : judgeResults)(running, next.calls)
        break
      case 'call':
        await runCalls(running, next.calls)
        break
      case 'undo':
        await undoCalls(running, next)
        break
      case 'wait':
      case 'end':
        return flush()
    }
  }
}
