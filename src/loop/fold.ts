import { READ_RESULT } from '../contract/tool.ts'
import type { CallSettled, EventBody, RunEventBody, RunFinished } from '../contract/event.ts'
import { withoutUndefined } from '../contract/json.ts'
import { marksAmong, type Message, type ToolCall, type ToolMessage } from '../contract/message.ts'
import type { PromptRecord } from '../contract/run.ts'
import { addUsage } from '../contract/usage.ts'
import { findStaleCall, isRepeat, namesOnOffer, REPEATED_CALL } from './decide/admit.ts'
import { countCall, countRestart, recountCall } from './decide/call-counts.ts'
import { compatUndone } from './decide/compat.ts'
import { subrequestsOf } from './decide/decide.ts'
import { briefArguments, callsMadeIn } from './effects.ts'
import { afterJudgement, toolMessage } from './record.ts'
import { addRefusals } from './window/refused.ts'
import { type CallState, findCall, type Folds, idempotencyKey, patchCall, type RunState } from './state.ts'
import { marksOf, marksOfResult } from './decide/data-flow-guard.ts'
import { usageOf } from './usage.ts'

/** Applies one event to the state. News changes nothing. */
export function fold(state: RunState, event: RunEventBody): void {
  state.subrequests += subrequestsOf(event)
  const usage = usageOf(event)
  if (usage) state.usage = addUsage(state.usage, usage)
  foldLoop(state, event)
  for (const { facts, after } of state.features) {
    foldBy(facts, event.type, state, event)
    if (after) foldBy(after, event.type, state, event)
  }
}

function foldBy<Type extends RunEventBody['type']>(
  folds: Folds,
  type: Type,
  state: RunState,
  event: EventBody<Type>,
): void {
  folds[type]?.(state, event)
}

function foldLoop(state: RunState, event: RunEventBody): void {
  switch (event.type) {
    case 'run.started':
      state.status = 'running'
      state.deadline = Math.min(event.at + state.request.limits.runMs, state.request.agent?.until ?? Infinity)
      return
    case 'input.added':
      state.pendingInput = [...state.pendingInput, ...event.messages]
      if (!state.step) foldAdded(state)
      return
    case 'answer.cut':
      return foldCut(state, event)
    case 'context.reduced':
      return foldReduction(state, event)
    case 'tools.added':
      return foldTools(state, event)
    case 'step.started':
      return foldStep(state, event)
    case 'step.restarted':
      addRefusals(state, event.refusals)
      return foldRestart(state, event)
    case 'model.waiting':
      return foldModelWait(state, event)
    case 'provider.call':
      return foldProviderCall(state, event)
    case 'answer.rejected':
      if (state.step) state.step.rejections = [...state.step.rejections, event]
      return
    case 'step.answered':
      return foldAnswer(state, event)
    case 'step.finished':
      return foldStepEnd(state)
    case 'call.started':
      return foldStarted(state, event)
    case 'call.issued':
    case 'call.suspended':
    case 'program.woken':
    case 'program.diverged':
      if (!state.features.some(({ facts }) => facts[event.type])) state.unfolded ??= event.type
      return
    case 'call.settled':
      return foldSettled(state, event)
    case 'call.undone':
      return foldUndone(state, event)
    case 'limit.reached':
      state.limit = { which: event.which, step: state.steps }
      return
    case 'run.waiting':
    case 'run.resumed':
      return foldWait(state, event)
    case 'run.cancelling':
      state.status = 'cancelling'
      return
    case 'run.parked':
    case 'run.retried':
      return foldParking(state, event)
    case 'run.finished':
      return foldFinished(state, event)
    case 'history.compacted':
    case 'history.repaired':
    case 'model.retried':
    case 'reasoning.delta':
    case 'text.delta':
    case 'call.delta':
    case 'call.proposed':
    case 'call.progress':
      return
    case 'call.late':
      // The call was settled, in this or an earlier step.
      for (const call of state.calls) if (call.callId === event.callId) call.lateCalls = event.calls
      return
    default:
      return foldWaitingCall(state, event)
  }
}

type WaitingCallEvent =
  | ('approval.requested' | 'approval.decided' | 'call.judged' | 'call.requested')
  | ('call.interrupted' | 'call.deferred' | 'call.reported')

/** Applies an event of a call that waits for others, or is sent again. */
function foldWaitingCall(state: RunState, event: EventBody<WaitingCallEvent>): void {
  switch (event.type) {
    case 'approval.requested':
      return patchCall(state, event.callId, { status: 'awaiting_approval', needs: event.input })
    case 'approval.decided':
      return foldDecision(state, event)
    case 'call.judged':
      return foldJudgement(state, event)
    case 'call.requested':
      return patchCall(state, event.callId, { status: 'awaiting_caller' })
    case 'call.interrupted':
      return patchCall(state, event.callId, { status: 'approved' })
    case 'call.deferred':
      return foldDeferred(state, event)
    case 'call.reported':
      return patchCall(state, event.callId, { hasReport: true })
  }
}

function foldJudgement(state: RunState, event: EventBody<'call.judged'>): void {
  patchCall(state, event.callId, afterJudgement(findCall(state, event.callId), event))
}

function foldDecision(state: RunState, event: EventBody<'approval.decided'>): void {
  const { callId, decision, reason, arguments: text, input = {} } = event
  const call = findCall(state, callId)
  if (!call) return
  call.status = decision === 'approve' ? 'approved' : 'rejected'
  call.filledIn = input
  if (reason !== undefined) call.reason = reason
  if (text === undefined) return
  call.wasChanged = true
  const program = call.parent === undefined ? undefined : findCall(state, call.parent)
  if (program) {
    call.firstArguments ??= call.arguments
    const note = `A person changed the arguments of the program's call of ${call.tool} before it was sent, to ${text}.`
    program.notes = [...(program.notes ?? []), note]
  }
  recountCall(state, call, text)
  Object.assign(call, { arguments: text })
}

function foldFinished(state: RunState, event: RunFinished): void {
  state.status = event.status
  state.finished = event
  // Input that arrived during the step joins the history, even if the step did not finish.
  foldAdded(state)
  // A result returned directly becomes the assistant's answer in the history: the user's turn follows.
  if (event.finish === 'return_direct') state.messages.push({ role: 'assistant', content: event.answer })
}

/** Records that a run waits or continues. Time in which it waits for others does not count towards its deadline. */
function foldWait(state: RunState, event: EventBody<'run.waiting' | 'run.resumed'>): void {
  const { at } = event
  if (event.type === 'run.waiting') {
    state.status = 'waiting'
    state.waitingSince ??= at
    state.wait = { for: event.for, agents: event.agents ?? [] }
    return
  }
  state.status = 'running'
  // The time of an agent's call passes also while its run waits.
  state.deadline = Math.min(state.deadline + at - (state.waitingSince ?? at), state.request.agent?.until ?? Infinity)
  delete state.waitingSince
  delete state.wait
}

function foldParking(state: RunState, { type, at }: EventBody<'run.parked' | 'run.retried'>): void {
  if (type === 'run.parked') return void (state.parkedSince = at)
  state.deadline = Math.min(state.deadline + at - (state.parkedSince ?? at), state.request.agent?.until ?? Infinity)
  delete state.parkedSince
}

function foldReduction(state: RunState, event: EventBody<'context.reduced'>): void {
  const { step, reduction, before, after, because } = event
  state.reduction = reduction
  if (event.tokens) state.tokens = event.tokens
  const { reductions = [] } = state.prompts.find((prompt) => prompt.step === step) ?? {}
  describePrompt(state, { step, reductions: [...reductions, { before, after, ...(because && { because }) }] })
  // What was left out can be read.
  state.hasTruncatedResult = true
  if (because && state.step) state.step.overflows = (state.step.overflows ?? 0) + 1
}

/** Adds to what is known of the prompt of a step. */
function describePrompt({ prompts }: RunState, prompt: PromptRecord): void {
  const at = prompts.findIndex(({ step }) => step === prompt.step)
  prompts.splice(at < 0 ? prompts.length : at, at < 0 ? 0 : 1, { ...prompts[at], ...prompt })
}

function foldTools(state: RunState, { tools }: EventBody<'tools.added'>): void {
  const { offered, added } = state
  const names = tools.map(({ name }) => name).filter((name) => !offered.has(name))
  state.offered = new Map([...offered, ...tools.map((tool) => [tool.name, tool] as const)])
  state.added = new Set([...added, ...names])
}

function foldStep(state: RunState, { step, tools }: EventBody<'step.started'>): void {
  state.steps = step
  state.step = {
    step,
    attempt: 1,
    cuts: 0,
    calls: [],
    early: [],
    byId: new Map(),
    started: new Map(),
    rejections: [],
    tools,
  }
  const { toolOrder, offered } = state
  // Of the caller's tools only those that the event names: the request has others once an answer has brought them.
  const isKnown = (name: string) => tools !== undefined || offered.has(name) || name === READ_RESULT
  const names = namesOnOffer(state).filter((name) => isKnown(name) && !toolOrder.includes(name))
  if (names.length > 0) state.toolOrder = [...toolOrder, ...names]
  state.firstTools ??= names.length
}

function foldRestart({ step }: RunState, { attempt, because }: EventBody<'step.restarted'>): void {
  if (!step) return
  step.attempt = attempt
  if (step.wait) step.wait = { ms: step.wait.ms, count: step.wait.count, attempts: step.wait.attempts }
  countRestart(step, because)
}

function foldModelWait({ step }: RunState, { code, attempts, at, until }: EventBody<'model.waiting'>): void {
  if (!step) return
  const before = step.wait ?? { ms: 0, count: 0, attempts: 0 }
  step.wait = {
    ms: before.ms + until - at,
    count: before.count + 1,
    attempts: before.attempts + attempts,
    pause: { code, until },
  }
}

function foldAnswer(state: RunState, event: EventBody<'step.answered'>): void {
  const { step, text, reasoning, finish, usage, roomLeft, tokens, opaque, citations, execution, approvals = [] } = event
  if (tokens) state.tokens = tokens
  const early = [...(state.step?.early ?? [])]
  const earlyIds = new Set(state.step?.early.map(({ callId }) => callId))
  const calls = event.calls.map((call) => {
    const callState = takeOver(call, early)
    const isOther = callState.attempt === 0 && earlyIds.has(call.callId)
    // Tools know this id as the key of another call, which a lost attempt at the step has sent.
    return isOther ? { ...callState, key: `${call.callId}_${state.step?.attempt ?? 1}` } : callState
  })
  const guarded = new Set(approvals)
  for (const call of early) countCall(state, call)
  for (const call of calls) {
    call.round = state.rounds + 1
    call.earlier = countCall(state, call)
    if (guarded.has(call.callId)) call.isGuarded = true
  }
  const byId = new Map(calls.map((call) => [call.callId, call]))
  const started = new Map(
    calls.filter(({ status }) => status === 'started').map((call) => [idempotencyKey(call), call]),
  )
  const hasOnlyRepeats = calls.length > 0 && calls.every((call) => isRepeat(state, call))
  const answer = { text, finish, usage, ...(execution && { execution }) }
  const own = { step, answer, calls, early: [], byId, started, hasOnlyRepeats }
  state.step = { attempt: 1, cuts: 0, rejections: [], ...state.step, ...own }
  for (const call of calls) state.calls.push(call)
  state.lostCalls.push(...early)
  if (calls.length > 0) state.rounds += 1
  if (usage && roomLeft !== undefined) {
    const { inputTokens, cachedInputTokens, cacheWriteTokens } = usage
    describePrompt(state, {
      ...{ step, inputTokens },
      ...(cachedInputTokens !== undefined && { cachedInputTokens }),
      ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
      roomLeft,
    })
  }
  const { marks } = state.step
  const proposals = calls.length > 0 ? event.calls : undefined
  state.messages.push(
    withoutUndefined({ role: 'assistant', content: text, reasoning, calls: proposals, opaque, citations, marks }),
  )
}

/** A run reads what the provider has found even if the answer is lost: other events may rest on it. */
function foldProviderCall(state: RunState, event: EventBody<'provider.call'>): void {
  const { type: _type, step: _step, marks = [], ...call } = event
  for (const mark of marks) state.marks.add(mark)
  if (state.step && marks.length > 0) state.step.marks = [...new Set([...(state.step.marks ?? []), ...marks])]
  state.providerCalls.push(call)
}

function foldCut(state: RunState, { text = '', reasoning }: EventBody<'answer.cut'>): void {
  if (text === '') return
  const { marks } = state.step ?? {}
  state.messages.push(withoutUndefined({ role: 'assistant', content: text, reasoning, marks, wasInterrupted: true }))
}

/** Returns the state of a call of the answer. If an equal call has started early, that one is used. */
function takeOver(call: ToolCall, early: CallState[]): CallState {
  const isSame = ({ tool, arguments: text }: ToolCall) => tool === call.tool && text === call.arguments
  const index = early.findIndex((candidate) => isSame(candidate) && candidate.callId === call.callId)
  const [earlyCall] = early.splice(
    index < 0 ? early.findIndex(isSame) : index,
    index < 0 && !early.some(isSame) ? 0 : 1,
  )
  if (!earlyCall) return { ...call, status: 'proposed', attempt: 0 }
  const { callId } = call
  return {
    ...earlyCall,
    ...call,
    ...(earlyCall.callId !== callId && { key: idempotencyKey(earlyCall) }),
    ...(earlyCall.result && { result: { ...earlyCall.result, callId } }),
  }
}

function foldStarted(state: RunState, event: EventBody<'call.started'>): void {
  const { callId, tool, attempt, at, deadline, place, version, arguments: text, isAgent } = event
  const { step } = state
  if (text !== undefined && step && !step.answer && !step.byId.has(callId)) {
    const early: CallState = { callId, tool, arguments: text, status: 'proposed', attempt: 0 }
    step.early = [...step.early, early]
    step.byId.set(callId, early)
  }
  patchCall(state, callId, { status: 'started', attempt, startedAt: at, deadline, place, version, isAgent })
}

function foldSettled(state: RunState, event: CallSettled): void {
  const call = findCall(state, event.callId)
  // The run of an agent accounts for what it uses.
  if (event.usage && call?.isAgent) state.agentUsage = addUsage(state.agentUsage, event.usage)
  // The whole result of a call that a program made is given to the program.
  if (event.cut !== undefined && call?.parent === undefined) state.hasTruncatedResult = true
  patchCall(state, event.callId, { status: 'settled', result: event })
}

function foldDeferred(state: RunState, event: EventBody<'call.deferred'>): void {
  const { callId, at, until, poll, state: token, child } = event
  const polling = poll === undefined ? { pollAt: Infinity } : { poll, pollAt: at + poll }
  const later = { until, ...polling, state: token }
  patchCall(state, callId, { status: 'deferred', later, ...(child && { child }) })
}

/**
 * Marks a call as undone. If it is of this step, its result becomes a failure. Earlier results are already in the
 * history: the result of the failed call tells of those, and of calls that could not be undone.
 */
function foldUndone(
  { calls, step, request, offered }: RunState,
  { callId, tool, ok, error, because }: EventBody<'call.undone'>,
): void {
  const call = calls.find((each) => each.callId === callId)
  const failed = step?.byId.get(because)
  if (!call || !failed) return
  call.wasUndone = ok
  const what = `${tool}(${call.arguments})`
  // The model reads the result of the program, and none of its calls.
  const noted = (failed.parent === undefined ? undefined : step?.byId.get(failed.parent)) ?? failed
  const entry = { tool, arguments: briefArguments(call.arguments), outcome: ok ? 'undone' : 'NOT undone' }
  noted.undone = [...(noted.undone ?? []), entry]
  if (!ok) {
    const definition = offered.get(tool)
    noted.notes = [...(noted.notes ?? []), `${what} was NOT undone: ${error?.message ?? ''}`]
    noted.noteMarks = [...(noted.noteMarks ?? []), ...(definition ? marksOf(definition) : [])]
  } else if (call.result && step?.calls.includes(call) && call.parent === undefined) {
    const message =
      compatUndone(request.compat, tool, failed.tool) ??
      `The tool "${tool}" succeeded but was undone, because "${failed.tool}" failed.`
    const { content: _, structured: __, metadata: ___, ...settled } = call.result
    call.result = { ...settled, ok: false, error: { code: 'undone', message } }
  } else {
    noted.notes = [...(noted.notes ?? []), `${what} was undone because of it.`]
  }
}

/** Returns the messages of a run, with the results that the calls of the step under way have so far. */
export function messagesSoFar(state: RunState): readonly Message[] {
  return [...state.messages, ...resultsOfStep(state)]
}

/** Returns the results of the step under way. Programs read the results of their own calls. */
function resultsOfStep(state: RunState): ToolMessage[] {
  const groups = Map.groupBy(state.step?.calls ?? [], ({ parent }) => parent)
  return (groups.get(undefined) ?? []).flatMap((call) => {
    if (!call.result) return []
    const calls = callsMadeIn(state, call, groups.get(call.callId) ?? [])
    return [toolMessage(call, call.result, { marks: marksOfResult(state, call), calls })]
  })
}

/** Adds the results of the step to the history, all at once and in call order, in whatever order they arrived. */
function foldStepEnd(state: RunState): void {
  const calls = state.step?.calls.filter(({ parent }) => parent === undefined) ?? []
  const results = resultsOfStep(state)
  for (const mark of marksAmong(results)) state.marks.add(mark)
  const wasRefused = ({ attempt, result }: CallState) => attempt === 0 && result?.error?.code === REPEATED_CALL
  if (calls.length > 0) {
    state.repeatedRounds = calls.every(wasRefused) ? state.repeatedRounds + 1 : 0
    state.staleCall = findStaleCall(state)
  }
  state.messages.push(...results)
  delete state.step
  foldAdded(state)
}

function foldAdded(state: RunState): void {
  for (const mark of marksAmong(state.pendingInput)) state.marks.add(mark)
  state.messages.push(...state.pendingInput)
  state.pendingInput = []
}
