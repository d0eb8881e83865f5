import type { DirectoryService, Objects } from '../contract/conversation.ts'
import type { RunReporter } from '../contract/report.ts'
import { type Dataset, dataPointOf } from './analytics.ts'
import { reportOf } from './run-report.ts'

/**
 * Makes a reporter that counts each run once in the object of its tenant, whatever is reported twice, and writes a data
 * point for it if there is a dataset.
 */
export function metricsReporter(directories: Objects<DirectoryService>, dataset?: Dataset): RunReporter {
  return {
    name: 'metrics',
    report: async (run) => {
      const isNew = await directories.getByName(run.request.caller.tenant).countRun(reportOf(run))
      if (isNew) dataset?.writeDataPoint(dataPointOf(run))
    },
  }
}
