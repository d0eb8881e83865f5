import type { CallAnswer, Continuation, ConversationService } from '../../contract/conversation.ts'
import { endsAnswer, isNews, type RunEvent } from '../../contract/event.ts'
import { deriveRunId, runOfCall } from '../../contract/id.ts'
import type { Message } from '../../contract/message.ts'
import { type CallRecord, type RunRecord, waitsBelow } from '../../contract/run.ts'
import type { Caller } from '../../contract/tool.ts'
import { answersOf, type CallAnswers, newPart } from '../../wire/client/request.ts'
import { requireRoom } from './storage-quota.ts'
import { checkFiles, prepareRun, type RunParameters } from './prepare-run.ts'
import type { RequestContext } from '../request-context.ts'
import { requireScope } from '../middleware/auth.ts'
import { conversationStubOfRun, type RunLocation } from './conversation-stub.ts'
import { cancelledOnDisconnect, type RunHandle, storedRunHandle } from './run-handle.ts'
import { Problem, unwrapReply } from '../problem.ts'
import { type ConversationTarget, startInListedConversation, startStateless } from './place-run.ts'
import { startEphemeral } from './start-run.ts'
import { messagePages } from './copy-messages.ts'

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
function runOfAnswers(answers: CallAnswers): string | undefined {
  return Object.keys(answers).map(runOfCall).findLast(Boolean)
}

const TERMS = ['model', 'system', 'clientTools', 'toolChoice', 'responseFormat', 'sampling'] as const

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
   * For requests that send their whole history. If the run already has the answers, the events after them are sent once
   * more, because the caller missed them. Also, `parameters` replace all terms.
   */
  readonly stateless?: boolean | undefined
}

/**
 * Passes a run the answers that it waits for, and the messages that follow them. Ignores other answers: the run has them
 * already, or produced them itself. Returns undefined if the run waits for no answer and there are further messages.
 */
async function continueRun(
  context: RequestContext,
  target: RunLocation,
  request: AnswerRequest,
): Promise<ContinuedRun | undefined> {
  const { answers, input, stateless } = request
  const hasNoInput = input.length === 0
  checkFiles(Object.values(answers).map((answer) => ({ content: ('content' in answer && answer.content) || '' })))
  const service = conversationStubOfRun(context, target)
  const { runId, reply } = await findRun(service, target.runId, answers)
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
    const answerReply = await service.answer(runId, signedAnswers, await continuationOf(context, location, request))
    // Otherwise a concurrent copy of the same request has already delivered the answers.
    if (answerReply.ok || answerReply.code !== 'call_already_answered' || !stateless || !hasNoInput) {
      after = unwrapReply(answerReply).after
      unsettled.clear()
    }
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
function nothingToAnswer(): Problem {
  const message = 'The request has no new message, and no call is waiting for its results.'
  return new Problem({ status: 409, code: 'call_already_answered', message, mayRetry: false })
}

/** The new part of a request that sends its whole history: answers to calls, and the messages that follow them. */
interface StatelessTurn {
  readonly answers: CallAnswers
  readonly input: readonly Message[]
  /** The conversation of the run that waits for the answers. Default: the run's hidden conversation. */
  readonly conversation?: string | undefined
  /** Starts a new run. Default: as `startStateless` does. */
  readonly start?: ((parameters: RunParameters) => Promise<RunHandle>) | undefined
}

/**
 * Answers a request that names no conversation. If a stored run waits for the answers, continues it; if it has them
 * already, sends its events again; if it failed, starts a new run from where it ended. Otherwise starts a new run from
 * the messages of the request.
 */
export async function continueStateless(
  context: RequestContext,
  parameters: RunParameters,
  {
    answers,
    input,
    conversation,
    start = async (newParameters) => startStateless(context, await prepareRun(context, newParameters)),
  }: StatelessTurn,
): Promise<ContinuedRun> {
  const hasNoInput = input.length === 0
  // The leading system messages become the system prompt, which a request that continues the run sends again.
  const systemCount = Math.max(
    0,
    parameters.input.findIndex(({ role }) => role !== 'system'),
  )
  const system = systemOf(parameters.input.slice(0, systemCount), parameters.system)
  const turn = { ...parameters, system, input: parameters.input.slice(systemCount) }
  const answerRequest = { answers, input, parameters: turn, stateless: true }
  let runId = runOfAnswers(answers)
  /** All messages of the failed run: the new run starts from them, so that no call is performed twice. */
  let history: Message[] | undefined
  while (runId !== undefined) {
    const stub = conversationStubOfRun(context, { runId, conversation })
    const reply = await stub.record(runId, 0)
    if (!reply.ok) break
    if (reply.record.status !== 'failed') {
      if (history && hasNoInput) return { handle: storedRunHandle(context, { runId, conversation, after: 0 }) }
      const continuedRun = history ? undefined : await continueRun(context, { runId, conversation }, answerRequest)
      if (continuedRun) return continuedRun
      break
    }
    history = []
    conversation = undefined
    for await (const page of messagePages(stub, {})) {
      history.unshift(...page.flatMap(({ message, replaced }) => (replaced ? [] : message)))
    }
    // The new run's id follows from the failed run's, so that the same request, sent once more, finds the new run.
    runId = await deriveRunId(context.caller.tenant, 'again', runId)
  }
  const newParameters = history ? { ...turn, input: [...history, ...input] } : turn
  if (newParameters.input.length === 0) throw nothingToAnswer()
  if (!history || !hasNoInput || runId === undefined) return { handle: await start(newParameters) }
  const { run, tools } = await prepareRun(context, newParameters)
  return { handle: await startEphemeral(context, { run: { ...run, runId }, tools }) }
}

/**
 * Starts or continues a run by a request that sends its whole history. In a conversation, only the messages after the
 * last answer are new; results among them continue the run that waits for them.
 */
export async function takeMessages(
  context: RequestContext,
  parameters: RunParameters,
  target: ConversationTarget | undefined,
): Promise<ContinuedRun> {
  const { results, input } = newPart(parameters.input)
  const answers = answersOf(results)
  if (!target) return continueStateless(context, parameters, { answers, input })
  const system = systemOf(parameters.input)
  return takeTurn(context, { ...target, answers, parameters: { ...parameters, input, system } })
}
