import type { RunEvent, RunFinished } from '../../contract/event.ts'
import type { RunRecord } from '../../contract/run.ts'
import { Problem } from '../problem.ts'
import { type RunRef, runHeaders } from './run-headers.ts'

/** Makes the Problem of a failed run. `started`: a tool call had started, so clients must not retry by themselves. */
export function failedProblem(
  { error, finish }: Pick<RunFinished, 'finish'> & { readonly error?: RunFinished['error'] | undefined },
  { run, hasStarted, record }: { run: RunRef; hasStarted: boolean; record?: RunRecord },
): Problem {
  const { code = 'run_failed', message = 'The run failed.', retryAfterMs, retryable = false, attempts } = error ?? {}
  return new Problem({
    status: statusOf(code, finish),
    code,
    message,
    retryAfterMs,
    mayRetry: retryable && !hasStarted,
    extra: { runId: run.runId, run: record },
    headers: { ...runHeaders(run), ...(attempts !== undefined && { 'x-model-attempts': String(attempts) }) },
  })
}

/** Throws the Problem of a run that failed before any visible event: its response can still have an error status. */
export function throwIfFailed(event: RunEvent, run: RunRef): void {
  if (event.type !== 'run.finished' || event.status !== 'failed') return
  throw failedProblem(event, { run, hasStarted: false })
}

function statusOf(code: string, finish: RunFinished['finish']): number {
  return STATUSES[code] ?? (finish === 'limit' ? 422 : 502)
}

/**
 * The statuses of failed runs. What the provider refuses for good has one that no SDK retries; the refusal of the edge's
 * own key is 424 (RFC 4918, section 11.4), so that no caller takes it for a refusal of its key.
 */
const STATUSES: Readonly<Record<string, number>> = {
  run_timeout: 504,
  run_cancelled: 409,
  run_not_allowed: 409,
  run_parked: 503,
  subrequest_limit: 422,
  model_not_configured: 503,
  model_refused_request: 400,
  model_context_exceeded: 400,
  model_without_tools: 400,
  model_quota_exceeded: 402,
  model_not_found: 404,
  model_unauthorized: 424,
  model_rate_limited: 429,
}
