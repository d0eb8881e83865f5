import type { RunFinished } from '../contract/event.ts'
import { textOf } from '../contract/message.ts'
import type { LimitName } from '../contract/run.ts'
import { compatLimit } from './compat.ts'
import { NO_MORE_TOOLS } from './limits.ts'
import type { CallState, RunState, StepState } from './state.ts'

/** How the run ends with this step, all of whose calls are settled; undefined where the model goes on. */
export function verdict(state: RunState, step: StepState): RunFinished | undefined {
  const { answer, calls } = step
  const failed = calls.find((call) => !call.settled?.ok)
  if (state.limit && calls.length > 0 && calls.every((call) => call.settled?.error?.code === NO_MORE_TOOLS))
    return limitedRun(state, state.limit.which)
  const fatal = calls.find((call) => call.settled?.error?.fatal) ?? (state.request.toolErrors === 'fail' && failed)
  if (fatal) {
    const { code = 'tool_failed', message = '' } = fatal.settled?.error ?? {}
    return failedRun(state, { code, message })
  }
  // Whoever said something meanwhile is answered first.
  if (state.added.length > 0) return undefined
  if (calls.length === 0) return answered(state, answer)
  if (failed === undefined && returnsDirect(state, calls)) {
    const answer = calls.map((call) => textOf(call.settled?.content ?? [])).join('\n\n')
    return finished(state, { status: 'completed', finish: 'return_direct', answer })
  }
  return undefined
}

function answered(state: RunState, answer: StepState['answer']): RunFinished {
  const text = answer?.text ?? ''
  if (state.limit)
    return finished(state, { status: 'completed', finish: 'limit', which: state.limit.which, answer: text })
  // Some servers say `tool_calls` and ask for none.
  const finish = answer === undefined || answer.finish === 'tool_calls' ? 'stop' : answer.finish
  return finished(state, { status: 'completed', finish, answer: text })
}

export function failedRun(state: RunState, error: NonNullable<RunFinished['error']>): RunFinished {
  return finished(state, { status: 'failed', finish: 'error', answer: '', error })
}

export function cancelledRun(state: RunState): RunFinished {
  return finished(state, { status: 'cancelled', finish: 'cancelled', answer: '' })
}

/** A run that nothing keeps ends where it hands calls to its caller. */
export function handedRun(state: RunState): RunFinished {
  return finished(state, { status: 'completed', finish: 'tool_calls', answer: state.step?.answer?.text ?? '' })
}

export function timedOutRun(state: RunState): RunFinished {
  const error = { code: 'run_timeout', message: `The run took longer than ${state.request.limits.runMs} ms.` }
  return finished(state, { status: 'failed', finish: 'limit', which: 'runMs', answer: '', error })
}

/** A limit that fails its run: asked to answer without tools, the model went on, or the run would rather fail. */
export function limitedRun(state: RunState, which: LimitName): RunFinished {
  const isLast = state.limit !== undefined
  const { compat, limits } = state.request
  const tool = state.calls.at(-1)?.tool ?? ''
  const theirs = compat && compatLimit(compat, which, limits, tool)
  const ours = `The limit "${which}" is reached${isLast ? ', and the model asked for tools instead of answering' : ''}.`
  return finished(state, {
    status: 'failed',
    finish: 'limit',
    which,
    answer: '',
    error: { code: 'limit_reached', message: theirs ?? ours },
  })
}

function finished(state: RunState, end: Omit<RunFinished, 'type' | 'usage'>): RunFinished {
  return { type: 'run.finished', ...end, usage: state.usage }
}

/** Direct only if all calls of the step want it, or the last says `if-last`; none of them has failed. */
function returnsDirect({ offered }: RunState, calls: readonly CallState[]): boolean {
  const wishes = calls.map((call) => offered.get(call.tool)?.returnDirect)
  return wishes.every((wish) => wish === 'always') || wishes.at(-1) === 'if-last'
}
