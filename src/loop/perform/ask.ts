import type { RunFact } from '../../contract/event.ts'
import type { StepAnswer } from '../../contract/hook.ts'
import { callId } from '../../contract/id.ts'
import type { ToolCall } from '../../contract/message.ts'
import type { ModelError, ModelEvent, ModelRequest } from '../../contract/model.ts'
import { addUsage, withCost, type Usage } from '../../contract/usage.ts'
import { around, type Around, asHook } from './middleware.ts'
import { tokensOf } from './window.ts'
import { isGuarded, startEarly } from './eager.ts'
import { misfit, MOST_REJECTED, unfit } from './response-format.ts'
import { modelRequest } from './prompt.ts'
import { hookContext, type Running } from '../running.ts'
import type { StepState } from '../state.ts'
import { refuseDuplicateIds } from '../decide/duplicate-ids.ts'
import { failedRun } from '../decide/finish.ts'

/** Asks the model once and records its answer. If the model fails, the run ends. */
export async function ask(running: Running, step: StepState): Promise<void> {
  const { state, signal, commit, flush, inFlight } = running
  flush()
  try {
    const answer = await answerOf(running, step)
    const facts = await asHook(() => verdictOn(running, step, answer))
    // After an abort the answer is dropped; the state tells how the run ends.
    if (signal.aborted) await Promise.all(inFlight.values())
    else commit(facts)
  } catch (error) {
    // The outcomes of calls that have already started are recorded before the run ends.
    await Promise.all(inFlight.values())
    if (!(error instanceof ModelFailure)) throw error
    if (signal.aborted) return
    const { code, message, retryAfterMs } = error.error
    commit([failedRun(state, { code, message, ...(retryAfterMs !== undefined && { retryAfterMs }) })])
  }
}

/** Returns the answer as a fact or, if it does not fit the requested format, its rejection and what follows. */
async function verdictOn(
  running: Running,
  { step, attempt, rejected }: StepState,
  answer: StepAnswer,
): Promise<RunFact[]> {
  const { state, loop } = running
  const issues = await misfit(running, answer)
  if (issues === undefined) {
    const { calls, ...rest } = answer
    refuseDuplicateIds(calls)
    const runs = loop.runsCalls && calls.length > 0 ? loop.runsCalls(answer, state.request) : undefined
    const execution = runs === undefined ? {} : ({ execution: runs ? 'edge' : 'caller' } as const)
    const guarded = calls.filter((call) => isGuarded(running, call)).map(({ callId }) => callId)
    const approvals = guarded.length > 0 ? { approvals: guarded } : {}
    return [{ type: 'step.answered', step, ...rest, calls, ...execution, ...approvals }]
  }
  const { text, usage } = answer
  const rejection: RunFact = { type: 'answer.rejected', step, text, issues, ...(usage && { usage }) }
  if (rejected.length < MOST_REJECTED) return [rejection, { type: 'step.restarted', step, attempt: attempt + 1 }]
  const end = failedRun(state, unfit(issues))
  return [rejection, usage ? { ...end, usage: addUsage(end.usage, usage) } : end]
}

/** Gets the model's answer in this step, through the hooks that wrap it. */
function answerOf(running: Running, { step }: StepState): Promise<StepAnswer> {
  const { state, loop, commit, flush } = running
  let asked = 0
  let spent: Usage | undefined
  const inmost = async (request: ModelRequest): Promise<StepAnswer> => {
    if (asked++ > 0) commit([{ type: 'step.restarted', step, attempt: (state.step?.attempt ?? 1) + 1 }])
    flush()
    const answer = await listen(running, step, request)
    if (answer.usage) spent = spent ? addUsage(spent, answer.usage) : answer.usage
    return spent ? { ...answer, usage: spent } : answer
  }
  const ways = (loop.hooks ?? []).flatMap((hook): Around<ModelRequest, StepAnswer>[] =>
    hook.step ? [(request, next) => hook.step?.(request, next, hookContext(running)) ?? next(request)] : [],
  )
  return around(ways, inmost)(modelRequest(running))
}

/** The error of a failed model, which hooks may catch. */
class ModelFailure extends Error {
  readonly error: ModelError

  constructor(error: ModelError) {
    super(error.message)
    this.name = 'ModelFailure'
    this.error = error
  }
}

/** Reads one answer of the model and shows it to readers as it arrives. */
async function listen(running: Running, step: number, request: ModelRequest): Promise<StepAnswer> {
  const { model, journal, state, signal, commit } = running
  const calls: ToolCall[] = []
  const said = { text: '', reasoning: '' }
  let answer: StepAnswer | undefined
  try {
    for await (const event of model.stream(request, signal)) {
      if (signal.aborted) break
      take(event)
    }
  } finally {
    // Providers report usage at the end of an answer. An answer that is aborted before that must still count.
    if (signal.aborted && state.request.budget) commit([{ type: 'answer.cut', step, usage: answer?.usage ?? about() }])
  }
  if (answer) return answer
  const message = `The model ${model.name} ended its stream without a finish.`
  throw new ModelFailure({ code: 'model_stream_cut', message, retryable: true })

  function withPrice(usage: Usage): Usage {
    return model.price ? withCost(usage, model.price) : usage
  }

  function about(): Usage {
    const inputTokens = request.messages.reduce((sum, message) => sum + tokensOf(message), 0)
    const outputTokens = tokensOf({ role: 'assistant', content: said.text + said.reasoning, calls })
    return withPrice({ inputTokens, outputTokens })
  }

  function take(event: ModelEvent): void {
    switch (event.type) {
      case 'text':
      case 'reasoning':
        said[event.type] += event.text
        return journal.show({ type: `${event.type}.delta`, step, text: event.text })
      case 'call.delta': {
        const { index, tool, arguments: text } = event
        const name = tool === undefined ? {} : { name: tool }
        const id = callId(state.request.runId, step, index)
        return journal.show({ type: 'call.delta', step, index, callId: id, ...name, arguments: text })
      }
      case 'call': {
        const { index, tool, arguments: text } = event
        const call = { callId: callId(state.request.runId, step, index), tool, arguments: text }
        calls.push(call)
        journal.show({ type: 'call.proposed', ...call })
        return startEarly(running, call)
      }
      case 'finish': {
        const { finish, opaque } = event
        const usage = event.usage && withPrice(event.usage)
        const { text, reasoning } = said
        const thought = reasoning === '' ? {} : { reasoning }
        // An answer that was cut short may lack calls that the model meant to ask for: it counts as one without calls.
        if (finish === 'length' || finish === 'content_filter') calls.length = 0
        answer = { text, ...thought, calls, finish, ...(usage && { usage }), ...(opaque && { opaque }) }
        return
      }
      case 'error':
        throw new ModelFailure(event.error)
    }
  }
}
