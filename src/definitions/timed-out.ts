import { failure, type ToolFailure } from '../contract/tool.ts'

/** Makes the failure of a call that was sent, and whose answer did not come before its deadline. */
export function timedOut(name: string, detail?: string): ToolFailure {
  return failure('timeout', `The tool "${name}" did not answer in time; whether it took effect is unknown.`, detail)
}
