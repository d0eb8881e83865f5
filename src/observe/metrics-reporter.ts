import type { Objects } from '../contract/conversation.ts'
import type { RunDirectory } from '../contract/directory.ts'
import type { RunReport } from '../contract/metrics.ts'
import type { ReportedRun, RunReporter } from '../contract/report.ts'
import { endedListing, reportOf, unendedListing } from './run-report.ts'
import { NO_USAGE, subtractUsage } from '../contract/usage.ts'

/**
 * Makes a reporter that counts each run once in the directory of its tenant, whatever is reported twice, and writes a data
 * point for it if there is a dataset. The same object of the directory lists the runs of conversations and the calls that wait for people.
 */
export function metricsReporter(directories: Objects<RunDirectory>, dataset?: Dataset): RunReporter {
  return {
    name: 'metrics',
    openBatch: () => {
      const tenants = new Map<string, TenantBatch>()
      return {
        add: (run) => {
          const { tenant } = run.request.caller
          const batch = tenants.get(tenant) ?? { reports: [], points: [] }
          tenants.set(tenant, batch)
          batch.reports.push(listedReport(run))
          if (dataset) batch.points.push(dataPointOf(run))
        },
        send: async () => {
          await Promise.all(
            Array.from(tenants, async ([tenant, { reports, points }]) => {
              const isNew = await directories.getByName(tenant).countRuns(reports)
              for (const [at, point] of points.entries()) if (isNew[at]) dataset?.writeDataPoint(point)
            }),
          )
        },
      }
    },
    reportUnended: async (run) => {
      const { caller, shard } = run.request
      const listing = unendedListing(run)
      if (listing) await directories.getByName(caller.tenant).listRun(listing, shard)
    },
  }
}

/** The reports of one tenant's runs, and the data points of the same runs in the same order. */
interface TenantBatch {
  readonly reports: RunReport[]
  readonly points: DataPoint[]
}

function listedReport(run: ReportedRun): RunReport {
  const { shard } = run.request
  const listing = endedListing(run)
  return { ...reportOf(run), ...(listing && { listing }), ...(shard !== undefined && { shard }) }
}

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
