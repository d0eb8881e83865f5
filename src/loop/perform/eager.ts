import type { ToolCall } from '../../contract/message.ts'
import { mostCalls } from '../../contract/limits.ts'
import { needsApproval } from '../../host/approval.ts'
import { parseArguments } from '../../host/parse-arguments.ts'
import { groupOf, runCall } from './act.ts'
import { HookFailure } from './middleware.ts'
import { namesOnOffer } from '../decide/decide.ts'
import { startedCalls } from '../recover.ts'
import type { Running } from '../running.ts'
import type { CallState } from '../state.ts'
import { needsDataFlowApproval } from '../decide/data-flow-guard.ts'
import { isSameCall, namedTools, targetOf } from '../decide/target.ts'

/**
 * Starts a call before the model's answer is complete, if the run wants that and nothing speaks against it: the tool is
 * read-only or idempotent, no approval is needed, and no limit would be exceeded.
 */
export function startEarly(running: Running, call: ToolCall): void {
  if (!mayStartEarly(running, call)) return
  const { inFlight } = running
  const state: CallState = { ...call, status: 'proposed', attempt: 0 }
  const work = runCall(running, state, true).finally(() => inFlight.delete(call.callId))
  // The rejection reaches those who await `inFlight`; this keeps it from being reported as unhandled before.
  work.catch(() => {})
  inFlight.set(call.callId, work)
}

/**
 * Whether the setup's `needsApproval` demands approval of a call or, if it is one of an alias, of the tool behind it.
 * Throws a HookFailure if it throws.
 */
export function isGuardedBySetup({ state, loop }: Pick<Running, 'state' | 'loop'>, call: ToolCall): boolean {
  const definition = state.offered.get(call.tool)
  try {
    if (!definition || !loop.needsApproval) return false
    const target = targetOf(state, call.tool)
    return [...new Set([call.tool, target])].some(
      (tool) => loop.needsApproval?.({ ...call, tool }, { ...definition, name: tool }, state.request) === true,
    )
  } catch (error) {
    throw new HookFailure(error)
  }
}

function mayStartEarly(running: Running, call: ToolCall): boolean {
  const { callId, tool, arguments: text } = call
  const { state, tools, signal } = running
  const { request, calls, rounds, step } = state
  const { limits, eager, execution, toolChoice } = request
  const definition = state.offered.get(tool)
  if (!eager || execution === 'caller' || toolChoice === 'none') return false
  if (signal.aborted || state.limit || !definition || !tools.has(tool)) return false
  const { readOnly, idempotent } = definition.annotations
  const callee = namedTools(state, tool)
  const earlierCalls = [...calls, ...(step?.early ?? [])]
  return (
    (readOnly === true || idempotent === true) &&
    !definition.later &&
    !needsApproval(definition.approval, text) &&
    !needsDataFlowApproval(state, tool) &&
    !isGuardedBySetup(running, call) &&
    groupOf(running, { tool }) === undefined &&
    namesOnOffer(state).includes(tool) &&
    parseArguments(tool, text).ok &&
    // The same call must not have been sent already, nor another one with its id by a lost attempt at the step.
    !earlierCalls.some((each) => each.callId === callId || isSameCall(state, each, call)) &&
    rounds < limits.steps &&
    earlierCalls.length < limits.calls &&
    earlierCalls.filter((each) => each.tool === tool).length < mostCalls(limits, callee.tool) &&
    earlierCalls.filter((each) => targetOf(state, each.tool) === callee.target.name).length <
      mostCalls(limits, callee.target) &&
    startedCalls(state).length < limits.concurrentCalls
  )
}
