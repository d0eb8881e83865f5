import type { ReportedRun } from '../contract/report.ts'
import { NO_USAGE, subtractUsage } from '../contract/usage.ts'

/** A dataset of Analytics Engine, as far as it is used. */
export interface Dataset {
  writeDataPoint(point: DataPoint): void
}

export interface DataPoint {
  readonly indexes: string[]
  readonly blobs: string[]
  readonly doubles: number[]
}

/** Whether a value of the env is a dataset. A variable of that name may be anything. */
export function writesDataPoints(value: unknown): value is Dataset {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, 'writeDataPoint') === 'function'
}

/**
 * Returns the data point of a run. Index: the tenant. Blobs: model, key, status, finish, error code, limit, run id.
 * Doubles: run duration in milliseconds, steps, calls, failed calls, input tokens, output tokens, cost, retries of models.
 */
export function dataPointOf({ request, facts }: ReportedRun): DataPoint {
  const { model, caller, runId } = request
  const last = facts.findLast(({ event }) => event.type === 'run.finished')
  const end = last?.event.type === 'run.finished' ? last.event : undefined
  const settled = facts.flatMap(({ event }) => (event.type === 'call.settled' ? [event] : []))
  const countOf = (type: string) => facts.filter(({ event }) => event.type === type).length
  const own = end && subtractUsage(end.usage, end.agentUsage ?? NO_USAGE)
  const { inputTokens = 0, outputTokens = 0, cost = 0 } = own ?? {}
  const durationMs = (last?.at ?? 0) - (facts[0]?.at ?? 0)
  const failed = settled.filter(({ ok }) => !ok).length
  return {
    indexes: [caller.tenant],
    blobs: [
      ...[model, caller.key ?? '', end?.status ?? '', end?.finish ?? ''],
      ...[end?.error?.code ?? '', end?.which ?? '', runId],
    ],
    doubles: [
      ...[durationMs, countOf('step.answered'), settled.length, failed],
      ...[inputTokens, outputTokens, cost, countOf('model.retried')],
    ],
  }
}
