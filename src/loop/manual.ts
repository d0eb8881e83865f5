import type { RunEvent, RunEventBody } from '../contract/event.ts'
import type { LoopSetup, StepAnswer } from '../contract/hook.ts'
import { callId, newId } from '../contract/id.ts'
import { hashArguments, marksAmong, type Message, type ToolCall, type ToolMessage } from '../contract/message.ts'
import type { ModelError, ModelEvent } from '../contract/model.ts'
import { initialLimits, type Limits } from '../contract/limits.ts'
import { type RunRequest } from '../contract/run.ts'
import type { Tool } from '../contract/tool.ts'
import { HookFailure, isGuardedBySetup } from './perform/hooks.ts'
import { drive } from './drive.ts'
import { memoryJournal, openLedger, type Running } from './running.ts'
import { fold } from './fold.ts'
import { newState, type RunState } from './state.ts'
import { countCall } from './decide/call-counts.ts'
import { admit, NEEDS_CONVERSATION, refuseDuplicateIds, stepRules } from './decide/admit.ts'

/** Options for a program that runs the loop itself and executes its calls here. */
export interface ManualOptions {
  /** The messages that the model saw. Calls after the last user message count towards the limits. */
  readonly messages: readonly Message[]
  readonly tools: readonly Tool[]
  /** Tool context; never shown to a model. */
  readonly context?: Readonly<Record<string, unknown>>
  readonly limits?: Partial<Limits>
  readonly loop?: LoopSetup
  /** Other fields of a run's request that concern its calls, such as `compensate`, `toolErrors` or `compat`. */
  readonly request?: Partial<RunRequest>
  /**
   * What a person has decided about calls of the answer, by their ids. Calls that need no approval are made without, and no
   * decision lifts a limit. Default: nothing, so that a call which needs approval is refused.
   */
  readonly decisions?: Readonly<Record<string, PersonDecision>>
  readonly signal?: AbortSignal
  readonly onEvent?: (event: RunEvent) => void
}

/** What a person has decided about one call. It counts for the arguments that the person has seen alone. */
export interface PersonDecision {
  readonly decision: 'approve' | 'reject'
  /** The SHA-256 of the canonical JSON of the arguments that the person has seen (`hashArguments`). */
  readonly argumentsHash: string
  /** The reason of a rejection, which the model reads. */
  readonly reason?: string
}

/** The results of the calls of one answer. */
export interface ManualResult {
  /** The messages, the answer and its results: the input of the next model call. */
  readonly messages: readonly Message[]
  /** One result per call, in the order of the calls. */
  readonly results: readonly ToolMessage[]
  /** Whether the results are the answer, as the tools of the step return directly. */
  readonly returnDirect: boolean
  /** Why the loop should end, if a limit or a fatal fault ends it. */
  readonly error?: { readonly code: string; readonly message: string }
}

/**
 * Runs the calls of one answer exactly as the loop does: validated, in parallel, within the limits, each with one
 * result, in call order. Calls no model. An answer without calls has no results. A call that needs approval is refused
 * (`approval_needs_conversation`) unless `decisions` has the approval of a person for it. Before any call runs, rejects with a TypeError if two calls have the same id, and
 * with any error that `needsApproval` of the setup throws.
 *
 * @example
 * const definitions = tools.map(({ definition }) => definition)
 * const answer = await collect(model.stream({ messages, tools: definitions }, signal))
 * const { messages: next, error } = await executeToolCalls({ messages, tools }, answer)
 */
export async function executeToolCalls(options: ManualOptions, answer: StepAnswer): Promise<ManualResult> {
  const { messages, tools, context = {}, limits, signal = new AbortController().signal } = options
  const request: RunRequest = {
    runId: newId('run'),
    durable: false,
    caller: { tenant: 'local', scopes: [] },
    input: [...messages],
    model: 'manual/model',
    clientTools: [],
    execution: 'edge',
    toolErrors: 'model',
    onLimit: 'model',
    context,
    ...options.request,
    limits: { ...initialLimits(options.request?.compat), ...limits },
  }
  const state = newState(
    request,
    new Map(tools.map(({ definition }) => [definition.name, definition])),
    options.loop?.features,
  )
  fold(state, { type: 'run.started', model: request.model, tools: [], at: Date.now() })
  countEarlier(state, messages)
  fold(state, { type: 'step.started', step: 1 })
  const loop = options.loop ?? {}
  refuseDuplicateIds(answer.calls)
  const approvals = approvalIds({ state, loop }, answer)
  fold(state, { type: 'step.answered', step: 1, ...answer, approvals })
  await applyDecisions(state, options.decisions ?? {})
  const ports = {
    journal: memoryJournal(request.runId, options.onEvent ?? (() => {})),
    loop,
    report: () => {},
  }
  await drive(
    {
      state,
      tools: new Map(tools.map((tool) => [tool.definition.name, tool])),
      model: NO_MODEL,
      history: [],
      signal,
      now: () => Date.now(),
      ...ports,
      tokens: {},
      subrequestsLeft: () => Infinity,
      inFlight: new Map(),
      scheduled: new Set(),
      listeners: new Set(),
      ...openLedger(state, ports),
    },
    { watch: () => {}, isCancelled: () => signal.aborted, until: (next) => next.do === 'begin' },
  )
  const { finished } = state
  const results = state.messages.slice(messages.length + 1).filter((message) => message.role === 'tool')
  return {
    messages: state.messages,
    results,
    returnDirect: finished?.finish === 'return_direct',
    ...(finished?.error && { error: finished.error }),
    ...(finished?.finish === 'limit' &&
      !finished.error && {
        // A library that answers with the text of a limit throws it where the application loops by itself.
        error: { code: 'limit_reached', message: finished.answer },
      }),
  }
}

/** Returns the calls that the setup's `needsApproval` demands approval for. Throws its own error as it is. */
function approvalIds(running: Pick<Running, 'state' | 'loop'>, { calls }: StepAnswer): string[] {
  try {
    return calls.filter((call) => isGuardedBySetup(running, call)).map(({ callId }) => callId)
  } catch (error) {
    throw error instanceof HookFailure ? error.cause : error
  }
}

/** Applies decisions to the calls that nothing but the lack of one holds back. One about other arguments does not count. */
async function applyDecisions(state: RunState, decisions: NonNullable<ManualOptions['decisions']>): Promise<void> {
  const calls = state.step?.calls.filter(({ callId }) => Object.hasOwn(decisions, callId)) ?? []
  const hashes = await Promise.all(calls.map((call) => hashArguments(call.arguments)))
  const rules = stepRules(state)
  const events = calls.flatMap((call, index): RunEventBody[] => {
    const { decision, argumentsHash, reason } = decisions[call.callId] ?? {}
    const admission = admit(state, call, rules)
    const needsDecision = admission.do === 'refuse' && admission.failure === NEEDS_CONVERSATION
    if (!decision || argumentsHash !== hashes[index] || !needsDecision) return []
    return [{ type: 'approval.decided', callId: call.callId, decision, ...(reason !== undefined && { reason }) }]
  })
  for (const event of events) fold(state, event)
}

/** Counts earlier calls of this turn towards the limits. */
function countEarlier(state: ReturnType<typeof newState>, messages: readonly Message[]): void {
  const turn = messages.slice(messages.findLastIndex((message) => message.role === 'user') + 1)
  for (const mark of marksAmong(messages)) state.marks.add(mark)
  for (const message of turn) {
    if (message.role !== 'assistant' || !message.calls) continue
    state.rounds += 1
    for (const call of message.calls) {
      const earlier = countCall(state, call)
      state.calls.push({ ...call, status: 'settled', attempt: 1, earlier })
    }
  }
}

const NO_MODEL = {
  name: 'manual/model',
  stream: () => {
    throw new Error('executeToolCalls never calls a model')
  },
}

/** The error of a model that failed while its answer was collected. */
export class CollectError extends Error {
  readonly error: ModelError

  constructor(error: ModelError) {
    super(error.message)
    this.name = 'CollectError'
    this.error = error
  }
}

/**
 * Collects the answer of a model's stream, with an id per call. Rejects with a CollectError if the model fails.
 *
 * @example
 * const answer = await collect(model.stream({ messages, tools: [] }, signal))
 */
export async function collect(stream: AsyncIterable<ModelEvent>): Promise<StepAnswer> {
  const runId = newId('run')
  const calls: ToolCall[] = []
  const texts = { text: '', reasoning: '' }
  for await (const event of stream) {
    if (event.type === 'text' || event.type === 'reasoning') texts[event.type] += event.text
    if (event.type === 'error') throw new CollectError(event.error)
    if (event.type === 'call') {
      const { index, tool, arguments: text } = event
      calls.push({ callId: callId(runId, 1, index), tool, arguments: text })
    }
    if (event.type === 'finish') {
      const { type: _, ...end } = event
      return { text: texts.text, ...(texts.reasoning !== '' && { reasoning: texts.reasoning }), calls, ...end }
    }
  }
  throw new CollectError({ code: 'model_stream_cut', message: 'The stream ended without a finish.', retryable: true })
}
