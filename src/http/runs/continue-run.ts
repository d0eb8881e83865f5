import type { CallAnswer, Continuation, ConversationService } from '../../contract/conversation.ts'
import { endsAnswer, isNews, type RunEvent } from '../../contract/event.ts'
import { runOfCall } from '../../contract/id.ts'
import type { Message } from '../../contract/message.ts'
import { type CallRecord, type RunRecord, waitsBelow } from '../../contract/run.ts'
import type { Caller } from '../../contract/tool.ts'
import type { CallAnswers } from '../../wire/client/request.ts'
import { requireRoom } from './storage-quota.ts'
import { checkFiles, prepareRun, type RunParameters } from './prepare-run.ts'
import type { RequestContext } from '../request-context.ts'
import { requireScope } from '../middleware/auth.ts'
import { conversationStubOfRun, type RunLocation } from './conversation-stub.ts'
import { cancelledOnDisconnect, type RunHandle, storedRunHandle } from './run-handle.ts'
import { Problem, unwrapReply } from '../problem.ts'
import { type ConversationTarget, startInListedConversation } from './place-run.ts'

/** A run that was started, or continued with answers to its calls. */
export interface ContinuedRun {
  readonly handle: RunHandle
  /** The number of the last event before the answers. */
  readonly after?: number
  /** The calls that waited for approval before the answers. */
  readonly approvals?: readonly CallRecord[]
}

export interface ChatTurn extends ConversationTarget {
  readonly answers: CallAnswers
  readonly parameters?: RunParameters | undefined
  /** The run whose turn this one replaces, together with all later turns. */
  readonly replaces?: string | undefined
  /** The run that must be the latest one, as in `StartRequest`. */
  readonly after?: string | undefined
  /** Starts a new run. Default: `startInListedConversation`. */
  readonly start?: typeof startInListedConversation
}

/** Returns the run of the last answered call that an edge made; undefined if no edge made any of them. */
export function runOfAnswers(answers: CallAnswers): string | undefined {
  return Object.keys(answers).map(runOfCall).findLast(Boolean)
}

const TERMS = [
  'model',
  'system',
  'clientTools',
  'toolChoice',
  'responseFormat',
  'sampling',
  'hints',
  'callerHistory',
] as const

interface AnswerRequest {
  readonly answers: CallAnswers
  /** Messages that follow the answers. */
  readonly input: readonly Message[]
  /**
   * The request whose terms the run continues with. A term that it leaves out is unchanged; with `stateless`, it is
   * removed. Default: all terms stay unchanged.
   */
  readonly parameters?: RunParameters | undefined
  /**
   * Set for requests that send their whole history: the run as it stands. If it already has the answers, the events after
   * them are sent once more, because the caller missed them. Also, `parameters` replace all terms.
   */
  readonly stateless?: RunRecord | undefined
}

/**
 * Passes a run the answers that it waits for, and the messages that follow them. Ignores other answers: the run has them
 * already, or produced them itself. Returns undefined if the run waits for no answer and there are further messages.
 */
export async function continueRun(
  context: RequestContext,
  target: RunLocation,
  request: AnswerRequest,
): Promise<ContinuedRun | undefined> {
  const { answers, input, stateless } = request
  const hasNoInput = input.length === 0
  checkFiles(Object.values(answers).map((answer) => ({ content: ('content' in answer && answer.content) || '' })))
  const service = conversationStubOfRun(context, target)
  const { runId, reply } = stateless
    ? { runId: target.runId, reply: { ok: true as const, record: stateless } }
    : await findRun(service, target.runId, answers)
  const location = { ...target, runId }
  if (!reply.ok && !hasNoInput) return undefined
  const { record } = unwrapReply(reply)
  const { calls } = record
  const statuses = new Map(calls.map((call) => [call.id, call.status]))
  for (const { call } of waitsBelow(record)) statuses.set(call, 'approval')
  const openAnswers = Object.entries(answers).filter(
    ([callId, answer]) => statuses.get(callId) === ('decision' in answer ? 'approval' : 'caller'),
  )
  if (openAnswers.length === 0 && !hasNoInput) return undefined
  /** If the run has all answers already: the calls that must settle before its events are sent once more. */
  const unsettled = new Set(Object.keys(answers).filter((callId) => statuses.has(callId)))
  if (openAnswers.length === 0 && (!stateless || unsettled.size === 0)) throw nothingToAnswer()
  if (openAnswers.some(([, answer]) => 'decision' in answer)) requireScope(context.caller, 'approve')
  let after = 0
  if (openAnswers.length > 0) {
    const signedAnswers = Object.fromEntries(
      openAnswers.map(([callId, answer]) => [callId, signAnswer(context.caller, answer)]),
    )
    const continuation = await continuationOf(context, location, request)
    after = unwrapReply(await service.answer(runId, signedAnswers, continuation)).after
    unsettled.clear()
  }
  const storedHandle = storedRunHandle(context, { ...location, after })
  const isTied = request.parameters?.cancelOnDisconnect ?? context.setup.config.cancelOnDisconnect
  const handle = isTied ? cancelledOnDisconnect(context, storedHandle) : storedHandle
  const follow: RunHandle['follow'] = async (onEvent) => {
    let last: RunEvent | undefined
    let isOver = false
    await handle.follow((event) => {
      last = event
      if (!isNews(event)) isOver = endsAnswer(event)
      if (unsettled.size === 0) return onEvent(event)
      if (event.type === 'call.settled') unsettled.delete(event.callId)
    })
    if (isOver) return
    for (const event of waitingEvents(await handle.record(0), last?.seq ?? after)) await onEvent(event)
  }
  return { handle: { ...handle, follow }, after, approvals: calls.filter((call) => call.status === 'approval') }
}

/**
 * Returns the run that answers are for, with its record. A decision about a call of an agent names the run of the agent,
 * which has a conversation of its own: then it is the run of this conversation that waits for it.
 */
async function findRun(service: ConversationService, id: string, answers: CallAnswers) {
  const reply = await service.record(id, 0)
  if (reply.ok || reply.code !== 'unknown_run') return { runId: id, reply }
  for (const [callId, answer] of Object.entries(answers).toReversed()) {
    const waiting = 'decision' in answer ? await service.runWaitingFor(callId) : undefined
    const runId = waiting?.ok ? waiting.run : runOfCall(callId)
    const other = runId === undefined || runId === id ? reply : await service.record(runId, 0)
    if (runId !== undefined && other.ok) return { runId, reply: other }
  }
  return { runId: id, reply }
}

/** Checks what a request brings with its answers; undefined if it brings nothing. */
async function continuationOf(
  context: RequestContext,
  { conversation }: RunLocation,
  { input, stateless, parameters = { input } }: AnswerRequest,
): Promise<Continuation | undefined> {
  const termNames = TERMS.filter((name) => stateless || Object.keys(Object(parameters[name])).length > 0)
  if (input.length + termNames.length === 0) return undefined
  const { run } = await prepareRun(context, { ...parameters, input }, { conversation })
  const terms = Object.fromEntries(termNames.map((name) => [name, run[name]]))
  // Hooks may change the input, but may not add input to a request that has only answers.
  return { key: context.caller.key, input: input.length > 0 ? run.input : [], terms }
}

/** Adds to a decision who made it: the first digits of the key's hash, or the tenant. */
export function signAnswer({ key, tenant }: Caller, answer: CallAnswer): CallAnswer {
  return 'decision' in answer ? { ...answer, by: key ?? tenant } : answer
}

/** Returns events that tell one reader what a run still waits for, after only some of its calls were answered. */
function waitingEvents(record: RunRecord, seq: number): RunEvent[] {
  const { id: runId, status, waitsFor = 'tool', calls } = record
  if (status !== 'waiting') return []
  const eventId = { runId, seq }
  const openCalls = calls.filter((call) => call.status === 'approval' || call.status === 'caller')
  const requests = openCalls.map(({ id: callId, tool, arguments: value, status }): RunEvent => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    const type = status === 'approval' ? 'approval.requested' : 'call.requested'
    return { type, callId, tool, arguments: text, ...eventId }
  })
  const agents = waitsBelow(record)
  return [...requests, { type: 'run.waiting', for: waitsFor, agents, at: Date.now(), ...eventId }]
}

/**
 * Performs a turn of a chat in its conversation: continues the run that waits for the answers or, if none does, starts a
 * run with the new messages, which may replace an earlier run and all later ones.
 */
export async function takeTurn(
  context: RequestContext,
  { answers, parameters, start = startInListedConversation, ...target }: ChatTurn,
): Promise<ContinuedRun> {
  const conversation = target.id
  const runId = runOfAnswers(answers)
  const input = parameters?.input ?? []
  const continuedRun = runId && (await continueRun(context, { runId, conversation }, { answers, input, parameters }))
  if (continuedRun) return continuedRun
  if (!parameters || input.length === 0) throw nothingToAnswer()
  // Before its settings are asked for, which would wake an object.
  if (target.create) await requireRoom(context, conversation)
  const startOptions = { ...target, onward: true }
  return { handle: await start(context, await prepareRun(context, parameters, { conversation }), startOptions) }
}

/** Joins a request's instructions and system messages into one system prompt; undefined if there are none. */
export function systemOf(messages: readonly Message[], instructions = ''): string | undefined {
  const systemTexts = messages.flatMap((message) => (message.role === 'system' ? message.content : []))
  return [instructions, ...systemTexts].filter((text) => text !== '').join('\n\n') || undefined
}

/** Makes the Problem of a request that has no new messages, and whose answers no call waits for. */
export function nothingToAnswer(): Problem {
  const message = 'The request has no new message, and no call is waiting for its results.'
  return new Problem({ status: 409, code: 'call_already_answered', message, mayRetry: false })
}
