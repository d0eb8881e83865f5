import type { RunFinished } from '../../contract/event.ts'
import { contentText } from '../../contract/message.ts'
import type { LimitName } from '../../contract/limits.ts'
import { answersLimit, compatLimit, directModes, returnsErrors } from './compat.ts'
import { namedTools, NO_MORE_TOOLS } from './admit.ts'
import type { CallState, RunState, StepState } from '../state.ts'

/** Returns how the run ends with this step, whose calls are all settled; undefined if the model continues. */
export function runEnd(state: RunState, step: StepState): RunFinished | undefined {
  const { answer } = step
  // What a program's calls have come to is in the program's own result.
  const calls = step.calls.filter(({ parent }) => parent === undefined)
  const failed = calls.find((call) => !call.result?.ok)
  if (state.limit && calls.length > 0 && calls.every((call) => call.result?.error?.code === NO_MORE_TOOLS))
    return limitedRun(state, state.limit.which)
  const exceeding = calls.find((call) => call.result?.error?.code === 'limit')
  if (exceeding && answersLimit(state.request, state.limit?.which)) {
    const answer = exceeding.result?.error?.message ?? ''
    return runFinished(state, {
      status: 'completed',
      finish: 'limit',
      ...(state.limit && { which: state.limit.which }),
      answer,
    })
  }
  const fatal = step.calls.find((call) => call.result?.error?.fatal) ?? (state.request.toolErrors === 'fail' && failed)
  if (fatal) {
    const { code = 'tool_failed', message = '' } = fatal.result?.error ?? {}
    return failedRun(state, { code, message })
  }
  // Input that arrived meanwhile is answered first.
  if (state.pendingInput.length > 0) return undefined
  if (calls.length === 0) return answeredRun(state, answer)
  if ((failed === undefined || returnsErrors(state.request.compat)) && returnsDirect(state, calls)) {
    const answer = calls.map(({ result }) => result?.error?.message ?? contentText(result?.content ?? [])).join('\n\n')
    return runFinished(state, { status: 'completed', finish: 'return_direct', answer })
  }
  return undefined
}

function answeredRun(state: RunState, answer: StepState['answer']): RunFinished {
  const text = answer?.text ?? ''
  if (state.limit)
    return runFinished(state, { status: 'completed', finish: 'limit', which: state.limit.which, answer: text })
  // Some servers finish with `tool_calls` without any call.
  const finish = answer === undefined || answer.finish === 'tool_calls' ? 'stop' : answer.finish
  return runFinished(state, { status: 'completed', finish, answer: text })
}

export function failedRun(state: RunState, error: NonNullable<RunFinished['error']>): RunFinished {
  return runFinished(state, { status: 'failed', finish: 'error', answer: '', error })
}

/** Ends a run that was cancelled. Its answer is the text that the model had written by then, if any. */
export function cancelledRun(state: RunState): RunFinished {
  const last = state.messages.at(-1)
  const answer = last?.role === 'assistant' && last.wasInterrupted ? last.content : ''
  return runFinished(state, { status: 'cancelled', finish: 'cancelled', answer })
}

/** Ends a run that is not stored, at the point where it hands calls to its caller. */
export function handedOverRun(state: RunState): RunFinished {
  return runFinished(state, { status: 'completed', finish: 'tool_calls', answer: state.step?.answer?.text ?? '' })
}

export function timedOutRun(state: RunState): RunFinished {
  const error = { code: 'run_timeout', message: `The run took longer than ${state.request.limits.runMs} ms.` }
  return runFinished(state, { status: 'failed', finish: 'limit', which: 'runMs', answer: '', error })
}

/** Ends a run that fails because of a limit: with `onLimit: 'fail'`, or if the model's last answer asked for tools. */
export function limitedRun(state: RunState, which: LimitName): RunFinished {
  const isLast = state.limit !== undefined
  const { compat, limits } = state.request
  const tool = state.calls.at(-1)?.tool ?? ''
  const libraryText = compat && compatLimit(compat, which, limits, namedTools(state, tool).tool)
  const defaultText = `The limit "${which}" is reached${isLast ? ', and the model asked for tools instead of answering' : ''}.`
  return runFinished(state, {
    status: 'failed',
    finish: 'limit',
    which,
    answer: '',
    error: { code: 'limit_reached', message: libraryText ?? defaultText },
  })
}

function runFinished(state: RunState, end: Omit<RunFinished, 'type' | 'usage'>): RunFinished {
  return { type: 'run.finished', ...end, usage: state.usage }
}

/** Whether the results are the answer: all tools say `always`, or the last says `if-last`. */
function returnsDirect({ offered, request }: RunState, calls: readonly CallState[]): boolean {
  const modes = calls.map((call) => offered.get(call.tool)?.returnDirect)
  const direct = directModes(request.compat)
  return modes.every((mode) => direct.includes(mode)) || modes.at(-1) === 'if-last'
}
