import {
  type CallStatus,
  failure,
  type Tool,
  type ToolControl,
  type ToolOutcome,
  type ToolRequest,
  type ToolSuccess,
} from './tool.ts'

/** What is done with a tool about one call. `receive` takes the outcome that was reported for a call. */
export type ToolOperation =
  | { readonly do: 'call'; readonly request: ToolRequest; readonly control: ToolControl }
  | { readonly do: 'status'; readonly request: ToolRequest }
  | { readonly do: 'undo'; readonly request: ToolRequest; readonly outcome: ToolSuccess }
  | { readonly do: 'poll'; readonly request: ToolRequest; readonly state: string | undefined }
  | { readonly do: 'receive'; readonly outcome: ToolOutcome }

/** Performs an operation. Only `status` is answered by a word. Rejects as the methods of `Tool` do. */
export type Perform = (operation: ToolOperation) => Promise<CallStatus>

/**
 * Stands before a tool. It may change an operation, answer it without `next`, or change the answer, and sees all that is
 * done with the tool: a kind of operation that it does not name passes through it.
 */
export type ToolGuard = (operation: ToolOperation, next: Perform) => Promise<CallStatus>

/**
 * Puts guards before a tool, the first one outermost. This is the only place that names the methods of a tool on behalf
 * of those that stand before it, so that no guard misses one. Without guards, returns the tool itself.
 */
export function guardTool(tool: Tool, guards: readonly (ToolGuard | undefined)[]): Tool {
  const present = guards.filter((guard) => guard !== undefined)
  if (present.length === 0) return tool
  const perform = present.reduceRight<Perform>(
    (next, guard) => (operation) => guard(operation, next),
    (operation) => performOn(tool, operation),
  )
  const outcome = async (operation: ToolOperation): Promise<ToolOutcome> => {
    const answer = await perform(operation)
    return typeof answer === 'string' ? failure('bad_outcome', `The tool answered "${answer}" to a call.`) : answer
  }
  return {
    ...tool,
    call: (request, control) => outcome({ do: 'call', request, control }),
    ...(tool.status && { status: (request) => perform({ do: 'status', request }) }),
    ...(tool.undo && { undo: (request, done) => outcome({ do: 'undo', request, outcome: done }) }),
    ...(tool.poll && { poll: (request, state) => outcome({ do: 'poll', request, state }) }),
    receive: (reported) => outcome({ do: 'receive', outcome: reported }),
  }
}

async function performOn(tool: Tool, operation: ToolOperation): Promise<CallStatus> {
  switch (operation.do) {
    case 'call':
      return tool.call(operation.request, operation.control)
    case 'status':
      return tool.status?.(operation.request) ?? 'unknown'
    case 'undo':
      return (
        tool.undo?.(operation.request, operation.outcome) ??
        failure('cannot_undo', `The tool "${tool.definition.name}" cannot undo its calls.`)
      )
    case 'poll':
      return (
        tool.poll?.(operation.request, operation.state) ??
        failure('tool_unavailable', `The tool "${tool.definition.name}" cannot be polled.`)
      )
    case 'receive':
      return tool.receive?.(operation.outcome) ?? operation.outcome
  }
}
