import type { ToolCall } from '../contract/message.ts'
import { mostCalls } from '../contract/run.ts'
import { needsApproval } from '../tool/approval.ts'
import { parseArguments } from '../tool/input.ts'
import { groupOf, perform } from './act.ts'
import { HookFailure } from './around.ts'
import { namesOnOffer } from './decide.ts'
import { started } from './recover.ts'
import type { Running } from './running.ts'
import type { CallState } from './state.ts'
import { isTainted } from './taint.ts'

/**
 * Starts a call while the model still speaks, where the run wants that and nothing can speak against it: its tool only
 * reads or is idempotent, nobody must be asked, and no limit is near.
 */
export function startEarly(running: Running, call: ToolCall): void {
  if (!mayLeave(running, call)) return
  const { inFlight } = running
  const state: CallState = { ...call, status: 'proposed', attempt: 0 }
  const work = perform(running, state, true).finally(() => inFlight.delete(call.callId))
  // Whoever waits for it hears of it; until then a rejection has been heard.
  work.catch(() => {})
  inFlight.set(call.callId, work)
}

/** Whether a person must agree to the call by the setup's rule. Throws a HookFailure where that throws. */
export function isGuarded({ state, loop }: Pick<Running, 'state' | 'loop'>, call: ToolCall): boolean {
  const definition = state.offered.get(call.tool)
  try {
    return definition !== undefined && loop.needsApproval?.(call, definition, state.request) === true
  } catch (error) {
    throw new HookFailure(error)
  }
}

function mayLeave(running: Running, call: ToolCall): boolean {
  const { callId, tool, arguments: text } = call
  const { state, tools, signal } = running
  const { request, calls, rounds, step } = state
  const { limits, eager, execution, toolChoice } = request
  const definition = state.offered.get(tool)
  if (!eager || execution === 'caller' || toolChoice === 'none') return false
  if (signal.aborted || state.limit || !definition || !tools.has(tool)) return false
  const { readOnly, idempotent } = definition.annotations
  const sent = [...calls, ...(step?.early ?? [])]
  return (
    (readOnly === true || idempotent === true) &&
    !needsApproval(definition.approval, text) &&
    !isTainted(state, tool) &&
    !isGuarded(running, call) &&
    groupOf(running, { tool }) === undefined &&
    namesOnOffer(state).includes(tool) &&
    parseArguments(tool, text).ok &&
    // Nor one like it, nor one that a lost attempt at the step sent in its place.
    !sent.some((each) => each.callId === callId || (each.tool === tool && each.arguments === text)) &&
    rounds < limits.steps &&
    sent.length < limits.calls &&
    sent.filter((each) => each.tool === tool).length < mostCalls(limits, tool) &&
    started(state).length < limits.concurrentCalls
  )
}
