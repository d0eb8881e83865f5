/**
 * loop/: the heart. A run is a list of events: `fold` makes its state, `decide` says what comes next, `run` performs it.
 * May import contract/ and tool/. Must never know a provider, a transport or a store.
 */
import type { CallSettled, RunEventBody, RunFinished } from '../contract/event.ts'
import type { Message, ToolCall, ToolMessage } from '../contract/message.ts'
import type { ModelFinish } from '../contract/model.ts'
import { addUsage, NO_USAGE, type Usage } from '../contract/usage.ts'
import type { LimitName, RunRequest, RunStatus } from '../contract/run.ts'
import type { ToolDefinition } from '../contract/tool.ts'

/** A call of the open step. `asked`: a person must agree. `handed`: the caller runs it. */
export interface CallState extends ToolCall {
  status: 'proposed' | 'asked' | 'approved' | 'rejected' | 'handed' | 'started' | 'settled'
  /** Why a person refused. */
  reason?: string
  attempt: number
  /** Epoch milliseconds, as `deadline`. */
  startedAt?: number
  deadline?: number
  settled?: CallSettled
}

export interface StepState {
  readonly step: number
  attempt: number
  /** Absent while the model speaks. */
  answer?: { readonly text: string; readonly finish: ModelFinish; readonly usage?: Usage }
  calls: readonly CallState[]
}

/** A run so far. Only `fold` changes it. */
export interface RunState {
  readonly request: RunRequest
  /** The edge's tools on offer, by name. */
  readonly offered: ReadonlyMap<string, ToolDefinition>
  status: RunStatus
  /** What the model has seen and said in this run: the input, then answers and results, each call with its result. */
  readonly messages: Message[]
  steps: number
  /** The step under way, if any. */
  step?: StepState
  /** Steps that asked for tools. */
  rounds: number
  /** Every call of the run, in order. */
  readonly calls: CallState[]
  usage: Usage
  /** Epoch milliseconds at which the run's time is up. */
  deadline: number
  waitingSince?: number
  /** The limit that was reached, and in which step: what comes after it is the last answer, without tools. */
  limit?: { readonly which: LimitName; readonly step: number }
  finished?: RunFinished
}

export function newState(request: RunRequest, offered: ReadonlyMap<string, ToolDefinition>): RunState {
  return {
    request,
    offered,
    status: 'queued',
    messages: [...request.input],
    steps: 0,
    rounds: 0,
    calls: [],
    usage: NO_USAGE,
    deadline: Infinity,
  }
}

/** The state after one more event. News changes nothing. */
export function fold(state: RunState, event: RunEventBody): void {
  switch (event.type) {
    case 'run.started':
      state.status = 'running'
      state.deadline = event.at + state.request.limits.runMs
      return
    case 'step.started':
      state.steps = event.step
      state.step = { step: event.step, attempt: 1, calls: [] }
      return
    case 'step.restarted':
      if (state.step) state.step.attempt = event.attempt
      return
    case 'step.answered':
      return foldAnswer(state, event)
    case 'step.finished':
      return foldStepEnd(state)
    case 'approval.requested':
      return patchCall(state, event.callId, { status: 'asked' })
    case 'approval.decided':
      return patchCall(state, event.callId, {
        status: event.decision === 'approve' ? 'approved' : 'rejected',
        ...(event.reason !== undefined && { reason: event.reason }),
      })
    case 'call.requested':
      return patchCall(state, event.callId, { status: 'handed' })
    case 'call.started': {
      const { attempt, at, deadline } = event
      return patchCall(state, event.callId, { status: 'started', attempt, startedAt: at, deadline })
    }
    case 'call.interrupted':
      return patchCall(state, event.callId, { status: 'approved' })
    case 'call.settled':
      return patchCall(state, event.callId, { status: 'settled', settled: event })
    case 'limit.reached':
      state.limit = { which: event.which, step: state.steps }
      return
    case 'run.waiting':
      state.status = 'waiting'
      state.waitingSince = event.at
      return
    case 'run.resumed':
      state.status = 'running'
      state.deadline += event.at - (state.waitingSince ?? event.at)
      delete state.waitingSince
      return
    case 'run.cancelling':
      state.status = 'cancelling'
      return
    case 'run.finished':
      state.status = event.status
      state.finished = event
      // A result that was the answer is the last word of the history too: what follows is the user's turn.
      if (event.finish === 'return_direct') state.messages.push({ role: 'assistant', content: event.answer })
      return
    default:
  }
}

function foldAnswer(state: RunState, event: Extract<RunEventBody, { type: 'step.answered' }>): void {
  const { text, reasoning, finish, usage } = event
  const calls = event.calls.map((call): CallState => ({ ...call, status: 'proposed', attempt: 0 }))
  state.step = {
    step: event.step,
    attempt: state.step?.attempt ?? 1,
    answer: usage === undefined ? { text, finish } : { text, finish, usage },
    calls,
  }
  state.calls.push(...calls)
  if (calls.length > 0) state.rounds += 1
  if (usage) state.usage = addUsage(state.usage, usage)
  state.messages.push({
    role: 'assistant',
    content: text,
    ...(reasoning !== undefined && { reasoning }),
    ...(calls.length > 0 && { calls: event.calls }),
  })
}

/** Results join the history together and in call order, however they came in. */
function foldStepEnd(state: RunState): void {
  for (const { settled } of state.step?.calls ?? []) if (settled) state.messages.push(toolMessage(settled))
  delete state.step
}

function toolMessage({ callId, tool, ok, content, error }: CallSettled): ToolMessage {
  return { role: 'tool', callId, tool, ok, content: content ?? [{ type: 'text', text: error?.message ?? '' }] }
}

function patchCall(state: RunState, callId: string, patch: Partial<CallState>): void {
  const call = state.step?.calls.find((open) => open.callId === callId)
  if (call) Object.assign(call, patch)
}
