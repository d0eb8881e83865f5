import { type LimitName, mostCalls } from '../../contract/limits.ts'
import { failure, type ToolFailure } from '../../contract/tool.ts'
import { compatLimit } from './compat.ts'
import type { CallState, RunState } from '../state.ts'
import { isSameCall, namedTools, targetOf } from './target.ts'

/** Returns the limit that this proposed call exceeds, counting the run's calls in the order they were asked for. */
export function overLimit(state: RunState, call: CallState): LimitName | undefined {
  const { request, rounds, calls, usage } = state
  const { limits } = request
  const { budget = request.budget ?? {} } = state
  const { tokens = Infinity, cost = Infinity } = limits
  if (rounds > limits.steps) return 'steps'
  if (usage.inputTokens + usage.outputTokens > Math.min(tokens, budget.tokens ?? Infinity)) return 'tokens'
  if ((usage.cost ?? 0) > Math.min(cost, budget.cost ?? Infinity)) return 'cost'
  const callsSoFar = calls.slice(0, calls.indexOf(call) + 1)
  const { tool, target } = namedTools(state, call.tool)
  if (callsSoFar.filter((each) => each.tool === call.tool).length > mostCalls(limits, tool)) return 'callsPerTool'
  const ofTarget = callsSoFar.filter((each) => targetOf(state, each.tool) === target.name)
  if (ofTarget.length > mostCalls(limits, target)) return 'callsPerTool'
  return callsSoFar.length > limits.calls ? 'calls' : undefined
}

/**
 * Returns the limit that ends the run, or its use of tools. With `onLimit: 'model'`, a limit on the number of calls
 * ends neither: only the call is refused.
 */
export function endingLimit(state: RunState, call: CallState): LimitName | undefined {
  const which = overLimit(state, call)
  const isCallLimit = which === 'calls' || which === 'callsPerTool'
  return isCallLimit && state.request.onLimit === 'model' ? undefined : which
}

/** The code of a call in an answer that should have been final, since a limit was reached. */
export const NO_MORE_TOOLS = 'no_more_tools'

/** Returns the result of a call that exceeds a limit; undefined if it exceeds none. */
export function refuseOverLimit(state: RunState, call: CallState): ToolFailure | undefined {
  if (state.limit && state.limit.step < state.steps)
    return failure(NO_MORE_TOOLS, 'Not run: no more tools may be called in this run.')
  const which = overLimit(state, call)
  if (which === undefined) return refuseRepeated(state, call)
  const { compat, limits } = state.request
  const libraryText = compat && compatLimit(compat, which, limits, namedTools(state, call.tool).tool)
  if (libraryText !== undefined) return failure('limit', libraryText)
  if (endingLimit(state, call)) {
    return failure('limit', `Not run: this run's limit "${which}" is reached. Answer with what you have.`)
  }
  const what = which === 'calls' ? 'tool' : `call of "${call.tool}"`
  return failure('limit', `Not run: this run's limit "${which}" is reached. No further ${what} is run in it.`)
}

function refuseRepeated(state: RunState, call: CallState): ToolFailure | undefined {
  const { request, calls } = state
  const { sameCalls } = request.limits
  const repeats = calls.slice(0, calls.indexOf(call)).filter((each) => isSameCall(state, each, call)).length
  // Runs of earlier versions do not have this limit.
  if (!(repeats >= sameCalls)) return undefined
  const message = `Not run: "${call.tool}" was called ${repeats} times with these arguments. Use its results, or change the arguments.`
  return failure('repeated_call', message)
}
