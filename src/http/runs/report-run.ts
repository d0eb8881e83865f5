import type { EndedRun } from '../../contract/report.ts'
import type { Setup } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'

/** How often a run that is not stored is reported to each reporter. */
const MOST_ATTEMPTS = 2

/**
 * Reports a run that is not stored to the reporters of the setup. It is lost if that fails twice, since nothing outlives
 * the request. Never rejects: each failure is logged.
 */
export async function reportRun(run: EndedRun, { reporters = [], report }: Setup): Promise<void> {
  const work = reporters.map(async (reporter) => {
    for (let attempts = 1; attempts <= MOST_ATTEMPTS; attempts++) {
      try {
        return await reporter.report(run)
      } catch (error) {
        const { runId } = run.request
        report({
          event: attempts === MOST_ATTEMPTS ? 'report.given_up' : 'report.failed',
          reporter: reporter.name,
          runId,
          attempts,
          detail: messageOf(error),
        })
      }
    }
  })
  await Promise.all(work)
}
