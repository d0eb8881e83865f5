import type { LimitName } from '../contract/run.ts'
import { failure, type ToolFailure } from '../contract/tool.ts'
import type { CallState, RunState } from './state.ts'

/** The limit that this proposed call would break, counting the run's calls in the order they were asked for. */
export function overLimit({ request, rounds, calls, usage }: RunState, call: CallState): LimitName | undefined {
  const { limits } = request
  if (rounds > limits.steps) return 'steps'
  if (usage.inputTokens + usage.outputTokens > (limits.tokens ?? Infinity)) return 'tokens'
  const upToHere = calls.slice(0, calls.indexOf(call) + 1)
  if (upToHere.length > limits.calls) return 'calls'
  if (upToHere.filter(({ tool }) => tool === call.tool).length > limits.callsPerTool) return 'callsPerTool'
  return undefined
}

/** Code of a call that came after the limit had been reached, in what was to be the last answer. */
export const NO_MORE_TOOLS = 'no_more_tools'

/** The result of a call over a limit, or undefined for one within all of them. */
export function refuseOverLimit(state: RunState, call: CallState): ToolFailure | undefined {
  if (state.limit && state.limit.step < state.steps)
    return failure(NO_MORE_TOOLS, 'Not run: no more tools may be called in this run.')
  const which = overLimit(state, call)
  return which && failure('limit', `Not run: this run's limit "${which}" is reached. Answer with what you have.`)
}
