import type { ToolFailure } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'

/** The outcome of a call that was meant for another definition than the tool has now. */
export function changed(name: string): ToolFailure {
  return failure('tool_changed', `The tool "${name}" has changed since it was offered; it was not called.`)
}
