import type { RunFinished } from '../../contract/event.ts'
import type { RunError } from '../../contract/run.ts'

/** The error of a run whose events break off before its end. */
export const BROKEN_OFF: RunError = { code: 'run_interrupted', message: 'The events of the run broke off.' }

/** Returns why a run was not completed. Only a run that was cancelled ends without an error of its own. */
export function runErrorOf({ error }: RunFinished): RunError {
  return error ?? { code: 'run_cancelled', message: 'The run was cancelled.' }
}
