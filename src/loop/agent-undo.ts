import { isObject, type JsonObject } from '../contract/json.ts'
import { failure, type ToolOutcome, type ToolRequest, type ToolSource, type ToolSuccess } from '../contract/tool.ts'
import { messageOf } from '../contract/thrown.ts'
import { parseArguments } from '../host/parse-arguments.ts'
import type { RunState } from './state.ts'

/** The key of an agent's metadata that lists its calls that can be undone. */
const CALLS = 'edgecall.undo'

/** A finished call of an agent, with all that its `undo` needs. Nothing else of the agent's run is stored. */
interface UndoableCall {
  readonly tool: string
  readonly arguments: string
  readonly runId: string
  readonly callId: string
  readonly key: string
  readonly outcome: ToolSuccess
}

/** Returns the metadata with which the finished calls of an agent's run can be undone; undefined if there are none. */
export function undoableCalls({ request: { runId }, calls, offered }: RunState): JsonObject | undefined {
  const list = calls.flatMap((call): readonly UndoableCall[] => {
    const { tool, arguments: text, callId, key = callId, result, wasUndone } = call
    if (!result?.ok || wasUndone !== undefined || !offered.get(tool)?.undo) return []
    const { content = [], structured, metadata } = result
    const outcome = { ok: true, content, structured, ...(metadata && { metadata }) } as const
    return [{ tool, arguments: text, runId, callId, key, outcome }]
  })
  return list.length > 0 ? { [CALLS]: list } : undefined
}

/**
 * Undoes the calls of an agent that has finished, newest first, since a later call of the run that called it failed. A
 * call that cannot be undone does not stop the others; the outcome then names it.
 */
export async function undoAgentCalls(
  { context }: ToolRequest,
  { metadata }: ToolSuccess,
  source: ToolSource | undefined,
): Promise<ToolOutcome> {
  const calls = metadata?.[CALLS]
  const failures: string[] = []
  for (const call of Array.isArray(calls) ? calls.filter(isUndoable).toReversed() : []) {
    const { tool: name, arguments: text, runId, callId, key, outcome } = call
    const tool = (await source?.find([name]))?.find(({ definition }) => definition.name === name)
    const parsed = parseArguments(name, text)
    const ownContext = { ...context, runId, callId, idempotencyKey: key }
    const request = parsed.ok && {
      name,
      arguments: parsed.value,
      hash: tool?.definition.hash ?? '',
      context: ownContext,
    }
    const undone =
      tool?.undo && request
        ? await tool.undo(request, outcome).catch((error: unknown) => failure('tool_failed', messageOf(error)))
        : failure('tool_unavailable', 'its tool is not available any more')
    if (!undone.ok) failures.push(`${name}: ${undone.error.message}`)
  }
  if (failures.length > 0) return failure('not_undone', `Not undone: ${failures.join('; ')}`)
  return { ok: true, content: [] }
}

function isUndoable(value: unknown): value is UndoableCall {
  return isObject(value) && typeof value['tool'] === 'string' && isObject(value['outcome'])
}
