import type { RunEvent, RunFinished } from '../../contract/event.ts'
import type { RunRecord } from '../../contract/run.ts'
import { Problem } from '../problem.ts'
import { type RunRef, runHeaders } from './run-headers.ts'

/** Makes the Problem of a failed run. `started`: a tool call had started, so clients must not retry by themselves. */
export function failedProblem(
  { error, finish }: Pick<RunFinished, 'finish'> & { readonly error?: RunFinished['error'] | undefined },
  { run, hasStarted, record }: { run: RunRef; hasStarted: boolean; record?: RunRecord },
): Problem {
  const { code = 'run_failed', message = 'The run failed.', retryAfterMs } = error ?? {}
  return new Problem({
    status: statusOf(code, finish),
    code,
    message,
    retryAfterMs,
    mayRetry: !hasStarted,
    extra: { runId: run.runId, run: record },
    headers: runHeaders(run),
  })
}

/** Throws the Problem of a run that failed before any visible event: its response can still have an error status. */
export function throwIfFailed(event: RunEvent, run: RunRef): void {
  if (event.type !== 'run.finished' || event.status !== 'failed') return
  throw failedProblem(event, { run, hasStarted: false })
}

function statusOf(code: string, finish: RunFinished['finish']): number {
  if (code === 'run_timeout') return 504
  if (code === 'model_rate_limited') return 429
  if (code === 'run_cancelled') return 409
  if (code === 'model_not_configured' || code === 'run_parked') return 503
  if (code === 'model_refused_request') return 400
  return finish === 'limit' ? 422 : 502
}
