import { isObject, type JsonObject } from '../../contract/json.ts'
import { failure, type ToolOutcome, type ToolSource, type ToolSuccess } from '../../contract/tool.ts'
import type { UndoPlan } from '../decide/decide.ts'
import { type CallPorts, undoCall } from './call-tool.ts'
import { wholeOutcome } from './record-outcome.ts'
import type { Running } from '../running.ts'
import type { RunState } from '../state.ts'

/**
 * Undoes calls one after the other. A call that cannot be undone is recorded as such and does not stop the others.
 * After a crash, each call without a record is undone again, with the same key.
 */
export async function undoCalls(running: Running, { calls, because }: UndoPlan): Promise<void> {
  for (const call of calls) {
    running.flush()
    const outcome = await undoCall(running, call, wholeOutcome(running, call))
    const { callId, tool } = call
    const { code = '', message = '', detail } = outcome.ok ? {} : outcome.error
    if (detail !== undefined) running.report({ callId, tool, code, detail })
    const error = outcome.ok ? undefined : { code, message }
    running.commit([{ type: 'call.undone', callId, tool, ok: outcome.ok, error, because: because.callId }])
  }
}

/** The key of an agent's metadata that lists its calls that can be undone. */
const CALLS = 'edgecall.undo'

/** A finished call of an agent, with all that its `undo` needs. Nothing else of the agent's run is stored. */
interface UndoableCall {
  readonly tool: string
  readonly arguments: string
  readonly callId: string
  readonly key: string
  readonly outcome: ToolSuccess
}

/** Returns the metadata with which the finished calls of an agent's run can be undone; undefined if there are none. */
export function undoableCalls({ calls, offered }: RunState): JsonObject | undefined {
  const list = calls.flatMap((call): readonly UndoableCall[] => {
    const { tool, arguments: text, callId, key = callId, result, wasUndone } = call
    if (!result?.ok || wasUndone !== undefined || !offered.get(tool)?.undo) return []
    const { content = [], structured, metadata } = result
    const outcome = { ok: true, content, structured, metadata } as const
    return [{ tool, arguments: text, callId, key, outcome }]
  })
  return list.length > 0 ? { [CALLS]: list } : undefined
}

/**
 * Undoes the calls of an agent that has finished, newest first, since a later call of the run that called it failed. A
 * call that cannot be undone does not stop the others; the outcome then names it. `ports`: those of the agent's run,
 * without its tools.
 */
export async function undoAgentCalls(
  { metadata }: ToolSuccess,
  source: ToolSource | undefined,
  ports: Omit<CallPorts, 'tools'>,
): Promise<ToolOutcome> {
  const list = metadata?.[CALLS]
  const calls = Array.isArray(list) ? list.filter(isUndoable).toReversed() : []
  const foundTools = (await source?.find([...new Set(calls.map(({ tool }) => tool))])) ?? []
  const tools = new Map(foundTools.map((tool) => [tool.definition.name, tool]))
  const failures: string[] = []
  for (const { outcome, ...call } of calls) {
    const undone = await undoCall({ ...ports, tools }, { ...call, status: 'settled', attempt: 1 }, outcome)
    if (undone.ok) continue
    const { code, message, detail } = undone.error
    if (detail !== undefined) ports.report({ callId: call.callId, tool: call.tool, code, detail })
    failures.push(`${call.tool}: ${message}`)
  }
  if (failures.length > 0) return failure('not_undone', `Not undone: ${failures.join('; ')}`)
  return { ok: true, content: [] }
}

function isUndoable(value: unknown): value is UndoableCall {
  return isObject(value) && typeof value['tool'] === 'string' && isObject(value['outcome'])
}
