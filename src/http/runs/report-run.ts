import { pause } from '../../contract/pause.ts'
import type { EndedRun, RunReporter } from '../../contract/report.ts'
import type { Setup } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'

/** How often runs that are not stored are reported to each reporter. */
const MOST_ATTEMPTS = 2
/** How long a run waits for others that end on the same isolate, so that all are reported at once. */
const BATCH_MS = 100
/** After this time, the request that was to report a batch counts as lost. */
const MOST_AGE_MS = 5000
const MOST_RUNS = 100

interface Batch {
  readonly openedAt: number
  readonly runs: EndedRun[]
}

/** The runs that are about to be reported. They are plain values, since requests cannot share I/O objects. */
const batches = new WeakMap<Setup, Batch>()

/**
 * Reports a run that is not stored to the reporters of the setup, together with others that end within a tenth of a
 * second: the first of them waits and reports all. If that fails twice, the reports are lost, since nothing stores
 * them. Never rejects: each failure is logged.
 */
export async function reportRun(run: EndedRun, setup: Setup): Promise<void> {
  const open = batches.get(setup)
  const isLost = open && Date.now() > open.openedAt + MOST_AGE_MS
  if (open && !isLost && open.runs.length < MOST_RUNS) {
    open.runs.push(run)
    return
  }
  const batch = { openedAt: Date.now(), runs: isLost ? [...open.runs, run] : [run] }
  batches.set(setup, batch)
  await pause(BATCH_MS)
  if (batches.get(setup) === batch) batches.delete(setup)
  await Promise.all((setup.reporters ?? []).map((reporter) => reportAll(reporter, batch.runs, setup)))
}

async function reportAll(reporter: RunReporter, runs: readonly EndedRun[], { report }: Setup): Promise<void> {
  for (let attempts = 1; attempts <= MOST_ATTEMPTS; attempts++) {
    try {
      return await reporter.report(runs)
    } catch (error) {
      const event = attempts === MOST_ATTEMPTS ? 'report.given_up' : 'report.failed'
      const detail = messageOf(error)
      for (const { request } of runs) {
        report({ event, reporter: reporter.name, runId: request.runId, attempts, detail })
      }
    }
  }
}
