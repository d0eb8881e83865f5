import type { OpenReports } from '../../contract/isolate.ts'
import { pause } from '../../contract/pause.ts'
import type { EndedRun, ReportBatch } from '../../contract/report.ts'
import type { Setup } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'

/** How often runs that are not stored are reported to each reporter. */
const MOST_ATTEMPTS = 2
/** How long a run waits for others that end on the same isolate, so that all are reported at once. */
const BATCH_MS = 100
/** After this time, the request that was to report a batch counts as lost. */
const MOST_AGE_MS = 5000
const MOST_RUNS = 100

/**
 * Reports a run that is not stored to the reporters of the setup, together with others that end within a tenth of a
 * second: the first of them waits and reports all. If that fails twice, the reports are lost, since nothing stores
 * them. Never rejects: each failure is logged.
 */
export async function reportRun(run: EndedRun, setup: Setup): Promise<void> {
  const open = setup.isolate.reports
  const isLost = open && Date.now() > open.openedAt + MOST_AGE_MS
  if (open && !isLost && open.runIds.length < MOST_RUNS) {
    add(run, open)
    return
  }
  const batch = isLost ? { ...open, openedAt: Date.now() } : openReports(setup)
  add(run, batch)
  setup.isolate.reports = batch
  await pause(BATCH_MS)
  if (setup.isolate.reports === batch) setup.isolate.reports = undefined
  await Promise.all(Array.from(batch.reports, ([name, reports]) => send(reports, { name, ...batch }, setup)))
}

function openReports({ reporters = [] }: Setup): OpenReports {
  const reports = new Map(reporters.map((reporter) => [reporter.name, reporter.openBatch()]))
  return { openedAt: Date.now(), runIds: [], reports }
}

function add(run: EndedRun, { runIds, reports }: OpenReports): void {
  runIds.push(run.request.runId)
  for (const each of reports.values()) each.add(run)
}

async function send(
  reports: ReportBatch,
  { name: reporter, runIds }: Pick<OpenReports, 'runIds'> & { readonly name: string },
  { report }: Setup,
): Promise<void> {
  for (let attempts = 1; attempts <= MOST_ATTEMPTS; attempts++) {
    try {
      return await reports.send()
    } catch (error) {
      const event = attempts === MOST_ATTEMPTS ? 'report.given_up' : 'report.failed'
      const detail = messageOf(error)
      for (const runId of runIds) report({ event, reporter, runId, attempts, detail })
    }
  }
}
