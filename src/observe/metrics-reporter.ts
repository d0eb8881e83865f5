import type { Objects } from '../contract/conversation.ts'
import type { DirectoryService } from '../contract/directory.ts'
import type { RunReport } from '../contract/metrics.ts'
import type { EndedRun, RunReporter } from '../contract/report.ts'
import { type Dataset, dataPointOf } from './analytics.ts'
import { endedListing, unendedListing } from './run-listing.ts'
import { reportOf } from './run-report.ts'

/**
 * Makes a reporter that counts each run once in the object of its tenant, whatever is reported twice, and writes a data
 * point for it if there is a dataset. The same object lists the runs of conversations and the calls that wait for people.
 */
export function metricsReporter(directories: Objects<DirectoryService>, dataset?: Dataset): RunReporter {
  return {
    name: 'metrics',
    report: async (runs) => {
      const byTenant = Map.groupBy(runs, ({ request }) => request.caller.tenant)
      await Promise.all(
        Array.from(byTenant, async ([tenant, runsOfTenant]) => {
          const isNew = await directories.getByName(tenant).countRuns(runsOfTenant.map(listedReport))
          for (const [at, run] of runsOfTenant.entries()) if (isNew[at]) dataset?.writeDataPoint(dataPointOf(run))
        }),
      )
    },
    reportUnended: async (run) => {
      const listing = unendedListing(run)
      if (listing) await directories.getByName(run.request.caller.tenant).listRun(listing)
    },
  }
}

function listedReport(run: EndedRun): RunReport {
  const listing = endedListing(run)
  return { ...reportOf(run), ...(listing && { listing }) }
}
