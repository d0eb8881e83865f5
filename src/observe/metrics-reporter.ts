import type { Objects } from '../contract/conversation.ts'
import type { RunDirectory } from '../contract/directory.ts'
import type { RunReport } from '../contract/metrics.ts'
import type { ReportedRun, RunReporter } from '../contract/report.ts'
import { type DataPoint, type Dataset, dataPointOf } from './analytics.ts'
import { endedListing, reportOf, unendedListing } from './run-report.ts'

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
