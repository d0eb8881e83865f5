import type { RunFact } from '../../contract/event.ts'
import type { StepAnswer } from '../../contract/hook.ts'
import { callId } from '../../contract/id.ts'
import type { ToolCall } from '../../contract/message.ts'
import {
  type ChatModel,
  CONTEXT_EXCEEDED,
  EMPTY_ANSWER,
  failsForNow,
  type ModelError,
  type ModelEvent,
  type ModelRequest,
} from '../../contract/model.ts'
import type { RunError, RunRequest } from '../../contract/run.ts'
import { chatPart, traceparentOf } from '../../contract/trace.ts'
import { addUsage, countableUsage, type Usage, withCost } from '../../contract/usage.ts'
import { countsTokens, refuseDuplicateIds } from '../decide/admit.ts'
import { failedRun } from '../decide/decide.ts'
import { startEarly } from './act.ts'
import { findRefused } from './leave-out.ts'
import { asHook, compose, isGuardedBySetup, type Middleware } from './hooks.ts'
import { formatIssues, invalidAnswer, MAX_REJECTIONS, modelRequest, withoutPlaces, withPlainJson } from './prompt.ts'
import { hookContext, type Running } from '../running.ts'
import type { RunState, StepState } from '../state.ts'
import { plannerOf, tokensFact } from '../window/planner.ts'
import { textTokens } from '../window/tokens.ts'

/** Asks the model once and records its answer. If the model fails, the run ends. */
export async function askModel(running: Running, step: StepState): Promise<void> {
  const { state, signal, commit, flush, inFlight } = running
  if (step.wait?.pause)
    commit([{ type: 'step.restarted', step: step.step, attempt: step.attempt + 1, because: 'waited' }])
  flush()
  const startedAt = running.now()
  let request = modelRequest(running)
  if (await plannerOf(running.loop).fit(running, step.step, request)) request = modelRequest(running)
  flush()
  try {
    const answer = await answerOf(running, step, request)
    const facts = await asHook(() => checkAnswer(running, step, answer))
    // After an abort the answer is dropped; the state tells how the run ends.
    if (signal.aborted) await Promise.all(inFlight.values())
    else commit(facts)
  } catch (error) {
    // The outcomes of calls that have already started are recorded before the run ends.
    await Promise.all(inFlight.values())
    if (!(error instanceof ModelFailure)) throw error
    if (signal.aborted) return
    const { attempt, cuts, empties = 0 } = state.step ?? step
    const isShorter = await fitsAfter(running, step.step, error)
    const mayDiscard = !error.hasBegun || running.canRestart?.() !== false
    const { refusals, usage } = await refusedBy(running, error)
    const isRestarted = isShorter || refusals.length > 0 || (mayRestart(error, cuts, empties) && mayDiscard)
    const wait = isRestarted || !mayDiscard ? undefined : waitAfter(running, step.step, error)
    const isRetried = isRestarted || wait !== undefined
    const { code, status, attempts, message } = error.error
    running.report({
      ...{ model: running.model.name, code, isRetried, durationMs: running.now() - startedAt, detail: message },
      ...(status !== undefined && { status }),
      attempts: attempts ?? 1,
    })
    if (isShorter) {
      // Readers drop the reasoning of the attempt that left no room.
      if (error.hasBegun) commit([{ type: 'step.restarted', step: step.step, attempt: attempt + 1 }])
      return
    }
    if (refusals.length > 0) {
      const because = 'item_refused'
      const priced = usage && withPrice(running.model, usage)
      return commit([
        { type: 'step.restarted', step: step.step, attempt: attempt + 1, because, refusals, usage: priced },
      ])
    }
    if (wait) return commit([wait])
    if (isRestarted) {
      return commit([{ type: 'step.restarted', step: step.step, attempt: attempt + 1, because: error.error.code }])
    }
    const earlier = state.step?.wait?.attempts ?? 0
    const all = earlier > 0 ? { ...error.error, attempts: earlier + (attempts ?? 1) } : error.error
    commit([failedRun(state, runErrorOf(all, cuts + empties > 0))])
  }
}

/** Reduces the prompt if the model has refused it as too long, before any text or call of its answer was seen. */
async function fitsAfter(running: Running, step: number, { error, hasBegun, request }: ModelFailure): Promise<boolean> {
  if (error.code !== CONTEXT_EXCEEDED || !request) return false
  if (hasBegun && (error !== LEFT_NO_ROOM || running.canRestart?.() === false)) return false
  return plannerOf(running.loop).fitAfterRefusal(running, { step, request, overflow: error.overflow ?? {} })
}

/** Returns the parts of messages for which the model has refused the request, before any of its answer was seen. */
async function refusedBy(running: Running, { error, hasBegun, request }: ModelFailure): ReturnType<typeof findRefused> {
  return hasBegun || !request ? { refusals: [] } : findRefused(running, error, request)
}

/** What a caller can do about a prompt that is too long after all that could go was left out. */
const STILL_TOO_LONG =
  'No more of the prompt could be left out. Send a shorter message, offer fewer tools, or name a model with a larger context window.'

/** Converts the error of a model for the caller of the run. `wasRepeated`: the edge has made the request again. */
function runErrorOf(
  { code, message, status, retryAfterMs, retryable, attempts }: ModelError,
  wasRepeated: boolean,
): RunError {
  return {
    code,
    message: code === CONTEXT_EXCEEDED ? `${message} ${STILL_TOO_LONG}` : message,
    retryAfterMs,
    ...((status === 503 || status === 529) && { status }),
    ...(retryable && !attempts && !wasRepeated && { retryable }),
    ...(attempts && { attempts }),
  }
}

/** Returns the answer as a fact or, if it does not fit the requested format, its rejection and what follows. */
async function checkAnswer(
  running: Running,
  { step, attempt, rejections }: StepState,
  modelAnswer: StepAnswer,
): Promise<RunFact[]> {
  const { state, loop } = running
  const answer = withPlainJson(running, modelAnswer)
  const issues = await formatIssues(running, answer)
  if (issues === undefined) {
    const { calls, ...rest } = answer
    refuseDuplicateIds(calls)
    const runsOnEdge = loop.runsCalls && calls.length > 0 ? loop.runsCalls(answer, state.request) : undefined
    const execution = runsOnEdge === undefined ? {} : ({ execution: runsOnEdge ? 'edge' : 'caller' } as const)
    const guardedIds = calls.filter((call) => isGuardedBySetup(running, call)).map(({ callId }) => callId)
    const approvals = guardedIds.length > 0 ? { approvals: guardedIds } : {}
    const { usage } = answer
    const room = usage && running.model.window ? { roomLeft: plannerOf(loop).roomLeft(running, usage.inputTokens) } : {}
    const tokens = tokensFact(state, running.tokens)
    return [{ type: 'step.answered', step, ...rest, ...room, ...tokens, calls, ...execution, ...approvals }]
  }
  const { text, usage } = answer
  const rejection: RunFact = { type: 'answer.rejected', step, text, issues, usage }
  if (rejections.length < MAX_REJECTIONS) return [rejection, { type: 'step.restarted', step, attempt: attempt + 1 }]
  const end = failedRun(state, invalidAnswer(issues))
  return [rejection, usage ? { ...end, usage: addUsage(end.usage, usage) } : end]
}

/** Gets the model's answer in this step, through the hooks that wrap it. */
async function answerOf(running: Running, { step }: StepState, first: ModelRequest): Promise<StepAnswer> {
  const { state, loop, commit, flush } = running
  let requestCount = 0
  let totalUsage: Usage | undefined
  let modelText = ''
  const innermost = async (request: ModelRequest): Promise<StepAnswer> => {
    if (requestCount++ > 0) commit([{ type: 'step.restarted', step, attempt: (state.step?.attempt ?? 1) + 1 }])
    flush()
    const answer = await listen(running, step, request)
    modelText = answer.text
    if (answer.usage) totalUsage = totalUsage ? addUsage(totalUsage, answer.usage) : answer.usage
    return totalUsage ? { ...answer, usage: totalUsage } : answer
  }
  const middleware = (loop.hooks ?? []).flatMap((hook): Middleware<ModelRequest, StepAnswer>[] =>
    hook.step ? [(request, next) => hook.step?.(request, next, hookContext(running)) ?? next(request)] : [],
  )
  return withoutPlaces(await compose(middleware, innermost)(first), modelText)
}

/** Returns a function that records a failure of the model after which it is asked again. */
function retryRecorder({ model, now, commit, flush, report }: Running, step: number): (error: ModelError) => void {
  let startedAt = now()
  return ({ code, status, message }) => {
    const durationMs = now() - startedAt
    startedAt = now()
    const failure = { code, ...(status !== undefined && { status }), durationMs }
    report({ model: model.name, ...failure, isRetried: true, detail: message })
    commit([{ type: 'model.retried', step, ...failure }])
    flush()
  }
}

/** The error of a failed model, which hooks may catch. `hasBegun`: the model had begun to answer. */
class ModelFailure extends Error {
  readonly error: ModelError
  readonly hasBegun: boolean
  readonly request: ModelRequest | undefined

  constructor(error: ModelError, hasBegun = true, request?: ModelRequest) {
    super(error.message)
    this.name = 'ModelFailure'
    this.error = error
    this.hasBegun = hasBegun
    this.request = request
  }
}

/** How often a step starts again because the model's answer broke off, and because the model was silent. */
const MOST_RESTARTS = 3
const MOST_SILENCES = 1
/** How often it starts again because the model has answered with nothing. */
const MOST_EMPTIES = 1

/**
 * Whether the step may start again. A failure before the first event has been retried by the model itself, except for
 * silence.
 */
function mayRestart(
  { error: { code, retryable, retryAfterMs }, hasBegun }: ModelFailure,
  cuts: number,
  empties: number,
): boolean {
  if (!retryable || retryAfterMs !== undefined || code === 'model_rate_limited') return false
  if (code === 'model_timeout') return cuts < MOST_SILENCES
  if (code === EMPTY_ANSWER) return empties < MOST_EMPTIES
  return hasBegun && cuts < MOST_RESTARTS
}

const LEFT_NO_ROOM: ModelError = {
  code: CONTEXT_EXCEEDED,
  message: 'The prompt left the model no room for an answer.',
  retryable: false,
  overflow: {},
}

const EMPTY: ModelError = {
  code: EMPTY_ANSWER,
  message: 'The model stopped without a text or a call.',
  retryable: true,
}

const TOO_LARGE: ModelError = {
  code: 'model_answer_too_large',
  message: 'The answer of the model is longer than this edge accepts.',
  retryable: false,
}

/** Whether an answer without a text is none. One that ends at a sequence of `stop` may begin with it. */
function saysNothing(
  { finish, isPaused }: Extract<ModelEvent, { type: 'finish' }>,
  { sampling }: ModelRequest,
): boolean {
  return finish === 'stop' && !isPaused && sampling?.stop === undefined
}

/** How many characters a call counts for besides its arguments and the name of its tool: about what its id takes. */
const CALL_CHARACTERS = 32

/** Returns the number of characters that an event adds to its answer. A call comes in pieces first, and then whole. */
function sizeOf(event: ModelEvent): number {
  if (event.type === 'text' || event.type === 'reasoning') return event.text.length
  if (event.type === 'call.delta') return event.arguments.length / 2
  if (event.type === 'call') return CALL_CHARACTERS + event.tool.length + event.arguments.length / 2
  if (event.type === 'provider.call') return JSON.stringify(event).length
  return event.type === 'finish' && event.opaque ? JSON.stringify(event.opaque).length : 0
}

/** Makes the fact of what the provider did. Nobody has said what it finds if the edge has not told the model of it. */
function providerFact(step: number, event: Extract<ModelEvent, { type: 'provider.call' }>): RunFact {
  const { marks = ['untrusted'], ...call } = event
  return { ...call, step, ...(marks.length > 0 && { marks }) }
}

/** Returns the fields of a request that say how often it was made before, as far as it was. */
function repeatsOf({ step }: RunState): Pick<ModelRequest, 'cuts' | 'waits'> {
  const cuts = (step?.cuts ?? 0) + (step?.empties ?? 0)
  const waits = step?.wait?.count ?? 0
  return { ...(cuts > 0 && { cuts }), ...(waits > 0 && { waits }) }
}

function traceOf({ request, step: stepState }: RunState, step: number): Pick<ModelRequest, 'traceparent'> {
  const traceparent = traceparentOf(request, chatPart(step, stepState?.attempt ?? 1))
  return traceparent === undefined ? {} : { traceparent }
}

function withPrice({ price }: ChatModel, usage: Usage): Usage {
  const countable = countableUsage(usage)
  return price ? withCost(countable, price) : countable
}

function callIdIn({ runId, durable, clientTools, execution }: RunRequest, step: number, index: number): string {
  return callId(runId, step, index, !durable && (clientTools.length > 0 || execution === 'caller'))
}

/** Reads one answer of the model and shows it to readers as it arrives. */
async function listen(running: Running, step: number, request: ModelRequest): Promise<StepAnswer> {
  const { model, journal, state, signal, commit, loop } = running
  const calls: ToolCall[] = []
  const texts = { text: '', reasoning: '' }
  let answer: StepAnswer | undefined
  let size = 0
  let isTooLarge = false
  let hasBegun = false
  let hasProviderCalls = false
  let emptyUsage: Usage | undefined
  const idOf = (index: number) => callIdIn(state.request, step, index)
  try {
    const ownRequest = { ...request, ...traceOf(state, step), ...repeatsOf(state) }
    for await (const event of model.stream(ownRequest, signal, retryRecorder(running, step))) {
      if (signal.aborted) break
      hasBegun ||= event.type !== 'error'
      size += sizeOf(event)
      isTooLarge = size > state.request.limits.answerCharacters
      if (isTooLarge) throw new ModelFailure(TOO_LARGE)
      handleEvent(event)
    }
  } finally {
    // Providers report usage at the end of an answer. An answer that ends before that must still count.
    if (signal.aborted && (texts.text !== '' || state.request.budget)) commit([cutAnswer(texts)])
    else if (emptyUsage || ((isTooLarge || (hasBegun && !answer)) && state.request.budget)) commit([cutAnswer()])
  }
  if (answer) return answer
  const message = `The model ${model.name} ended its stream without a finish.`
  throw new ModelFailure({ code: 'model_stream_cut', message, retryable: true }, hasBegun)

  function cutAnswer({ text, reasoning } = { text: '', reasoning: '' }): RunFact {
    const usage = answer?.usage ?? emptyUsage ?? estimateUsage()
    return { type: 'answer.cut', step, ...(text !== '' && { text }), ...(reasoning !== '' && { reasoning }), usage }
  }

  function estimateUsage(): Usage {
    const written = [texts.text, texts.reasoning, ...calls.flatMap((call) => [call.tool, call.arguments])]
    return withPrice(model, {
      inputTokens: Math.round(plannerOf(loop).count(running.tokens, request)),
      outputTokens: textTokens(written.join('')),
    })
  }

  function handleEvent(event: ModelEvent): void {
    switch (event.type) {
      case 'text':
      case 'reasoning':
        texts[event.type] += event.text
        return journal.show({ type: `${event.type}.delta`, step, text: event.text })
      case 'call.delta': {
        const { index, tool, arguments: text } = event
        const name = tool === undefined ? {} : { name: tool }
        return journal.show({ type: 'call.delta', step, index, callId: idOf(index), ...name, arguments: text })
      }
      case 'call': {
        const call = { callId: idOf(event.index), tool: event.tool, arguments: event.arguments }
        journal.show({ type: 'call.proposed', ...call })
        startEarly(running, call, calls)
        return void calls.push(call)
      }
      case 'provider.call':
        hasProviderCalls = true
        return commit([providerFact(step, event)])
      case 'finish': {
        const { type: _type, isWindowFull: _isWindowFull, isPaused: _isPaused, usage: ownUsage, ...end } = event
        const reported = ownUsage && withPrice(model, ownUsage)
        const usage = reported ?? (countsTokens(state) ? estimateUsage() : undefined)
        const { text, reasoning } = texts
        if (text === '' && calls.length === 0 && plannerOf(loop).isCutByWindow(running, event, usage))
          throw new ModelFailure(LEFT_NO_ROOM, reasoning !== '', request)
        if (text.trim() === '' && calls.length === 0 && !hasProviderCalls && saysNothing(event, request)) {
          emptyUsage = usage
          throw new ModelFailure(EMPTY, hasBegun, request)
        }
        if (reported) plannerOf(loop).learn(running.tokens, request, reported)
        // An answer that was cut short may lack calls that the model meant to ask for: it counts as one without calls.
        if (end.finish === 'length' || end.finish === 'content_filter') calls.length = 0
        answer = { text, ...(reasoning && { reasoning }), calls, ...end, usage }
        return
      }
      case 'error':
        throw new ModelFailure(event.error, hasBegun, request)
    }
  }
}

/** The longest first wait; each later one may take twice as long, up to the longest of all. */
const FIRST_MS = 1000
const LONGEST_MS = 15_000
/** A shorter wait than this is not worth another request. */
const SHORTEST_MS = 100
/** How much longer than a provider asks a run may wait, so that its clients do not all come back at once. */
const SPREAD = 0.1

/**
 * Returns the wait after a failure of the model, if the same request may succeed soon: the time that the provider asks
 * for, else a random time between half and all of 1 s, 2 s, … 15 s, and at most what is left of `modelWaitMs` in this
 * step. Undefined if the run should fail now: for another failure, if the provider asks for a longer wait than is left,
 * or if the run would time out first.
 */
function waitAfter(running: Running, step: number, { error }: ModelFailure): RunFact | undefined {
  const { state, now, signal, subrequestsLeft } = running
  const { limits, durable } = state.request
  const { ms: waitedMs, count } = state.step?.wait ?? { ms: 0, count: 0 }
  const { code, status, attempts = 1 } = error
  // A run that is not stored cannot ask in another invocation.
  if (!failsForNow(error) || signal.aborted || (!durable && subrequestsLeft() <= 0)) return undefined
  const at = now()
  const wait = delayMs(error, count, limits.modelWaitMs - waitedMs)
  // Runs that an earlier version has accepted have no such limit.
  if (wait === undefined || !(at + wait < state.deadline)) return undefined
  const reason = { code, ...(status !== undefined && { status }) }
  return { type: 'model.waiting', step, ...reason, attempts, at, until: at + wait }
}

/** Returns how long to wait, in whole milliseconds; undefined if that is longer than what is left. */
function delayMs({ retryAfterMs, attempts }: ModelError, count: number, leftMs: number): number | undefined {
  if (!(leftMs >= SHORTEST_MS)) return undefined
  // The edge itself has spread the requests that it did not send.
  if (attempts === 0 && retryAfterMs !== undefined) return Math.ceil(Math.min(retryAfterMs, leftMs))
  if (retryAfterMs) {
    return retryAfterMs > leftMs ? undefined : Math.ceil(Math.min(retryAfterMs * (1 + SPREAD * Math.random()), leftMs))
  }
  const longest = Math.min(FIRST_MS * 2 ** count, LONGEST_MS)
  const wait = Math.ceil((longest / 2) * (1 + Math.random()))
  // Too little would be left for another wait, so this one takes all that is left.
  return leftMs - wait < SHORTEST_MS ? Math.ceil(leftMs) : wait
}
