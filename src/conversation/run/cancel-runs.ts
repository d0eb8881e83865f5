import type { Runner } from './runner.ts'

/** Cancels runs, the newest first, so that the end of one does not start another. */
export async function cancelRuns(runner: Runner, runs: readonly string[]): Promise<void> {
  for (const id of runs.toReversed()) {
    const open = runner.runs.find(id)
    if (open) await runner.cancel(open)
  }
}
