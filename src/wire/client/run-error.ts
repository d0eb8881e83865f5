import type { RunFinished } from '../../contract/event.ts'
import type { RunError } from '../../contract/run.ts'

/** The error of a run whose events break off before its end. */
export const BROKEN_OFF: RunError = { code: 'run_interrupted', message: 'The event stream of the run ended early.' }

/** The error of a stream that has shown parts of an answer that was then rejected. */
export function rejection(issues: string): RunError {
  return { code: 'invalid_answer', message: `The streamed answer does not fit its format: ${issues}` }
}

/** Returns why a run did not complete. Only cancelled runs have no error of their own. */
export function runErrorOf({ error }: RunFinished): RunError {
  return error ?? { code: 'run_cancelled', message: 'The run was cancelled.' }
}
