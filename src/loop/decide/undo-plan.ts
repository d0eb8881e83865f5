import { undoesForMisfits } from './compat.ts'
import type { CallState, RunState, StepState } from '../state.ts'

/** The finished calls to undo, newest first, and the failed call that is the reason. */
export interface UndoPlan {
  readonly calls: readonly CallState[]
  readonly because: CallState
}

/** The codes of failures that happen before the tool does anything, so that nothing has to be undone. */
const HARMLESS = new Set(['invalid_arguments', 'schema_mismatch', 'tool_changed'])

/** Returns what to undo because of a failed call of this step, if the run compensates; undefined if nothing. */
export function planUndo({ request, calls, offered }: RunState, step: StepState): UndoPlan | undefined {
  if (!request.compensate) return undefined
  const because = step.calls.find(({ result, attempt, wasUndone }) => {
    // The result of a call that was undone is an error too.
    if (wasUndone !== undefined || !result?.error) return false
    const { code, fatal = false } = result.error
    if (undoesForMisfits(request.compat, code, fatal)) return true
    return attempt > 0 && !HARMLESS.has(code)
  })
  const undoable = calls.filter(
    (call) => call.result?.ok && call.wasUndone === undefined && offered.get(call.tool)?.undo,
  )
  return because && undoable.length > 0 ? { calls: undoable.toReversed(), because } : undefined
}
