import { deriveRunId } from '../../contract/id.ts'
import { canonicalJson, sha256 } from '../../contract/json.ts'
import { type Message, readableArguments, type ToolCall } from '../../contract/message.ts'
import type { CallerRun } from '../../contract/conversation.ts'
import type { CallerHistory, CallRecord, RunRecord } from '../../contract/run.ts'
import { answersOf, type CallAnswers, newPart } from '../../wire/client/request.ts'
import { Problem, unwrapReply } from '../problem.ts'
import type { RequestContext } from '../request-context.ts'
import { type ContinuedRun, continueRun, nothingToAnswer, runOfAnswers, systemOf, takeTurn } from './continue-run.ts'
import { conversationStubOfRun } from './conversation-stub.ts'
import { currentMessages } from './copy-messages.ts'
import { type ConversationTarget, startStateless } from './place-run.ts'
import { prepareRun, type RunParameters } from './prepare-run.ts'
import { type RunHandle, storedRunHandle } from './run-handle.ts'
import { startEphemeral } from './start-run.ts'

/*
 * A request that sends its whole history is answered from what it contains. A run that waits for results continues with the
 * request that adds them to what the run was sent before; the same request again gets the same answer; any other request
 * starts a new run of the messages that it has. Only what the edge has done in between, and its callers are not shown, is
 * added to those: the calls of its own tools.
 */

/** The answers of a request that sends its whole history, and how it starts a new run. */
interface StatelessTurn {
  readonly answers: CallAnswers
  /** The conversation of the run that waits for the answers. Default: the run's hidden conversation. */
  readonly conversation?: string | undefined
  /** Starts a new run that keeps the messages of the system in its history. Default: as `startStateless` does. */
  readonly start?: ((parameters: RunParameters) => Promise<RunHandle>) | undefined
}

/** Answers a request that names no conversation: see above. */
export async function continueStateless(
  context: RequestContext,
  parameters: RunParameters,
  { answers, conversation, start: startStored }: StatelessTurn,
): Promise<ContinuedRun> {
  const request = startStored ? parameters : withSystemPrompt(parameters)
  const start =
    startStored ??
    (async (newParameters: RunParameters) => startStateless(context, await prepareRun(context, newParameters)))
  const startNew = async (newParameters: RunParameters): Promise<ContinuedRun> => {
    if (newParameters.input.length === 0) throw nothingToAnswer()
    return { handle: await start(newParameters) }
  }
  const runId = runOfAnswers(answers)
  // Only a run that hands out calls can be continued, and a long history takes time to hash.
  if (runId === undefined && !request.clientTools?.length) return startNew(request)
  const turn = await withHistory(context, request)
  const startWith: StartWith = (input) => startNew({ ...turn, input })
  if (runId === undefined) return startWith(turn.input)
  const location = { runId, conversation }
  const service = conversationStubOfRun(context, location)
  for (;;) {
    const reply = await service.callerRun(runId)
    if (!reply.ok) return startWith(turn.input)
    const relation = await relate(reply, { context, turn, answers })
    if (relation === 'follows') return resumeFailed(context, { turn, answers, location, startWith })
    if (relation === 'differs') {
      if (reply.key !== context.caller.key) return startWith(turn.input)
      const { messages } = unwrapReply(await service.callerRun(runId, 'messages'))
      return startWith(withHiddenCalls(turn.input, messages ?? (await currentMessages(service, {}))))
    }
    const { others: input } = newPart(turn.input)
    try {
      const answerRequest = { answers, input, parameters: turn, stateless: reply.record }
      return (await continueRun(context, location, answerRequest)) ?? (await startWith(turn.input))
    } catch (error) {
      // Another request has answered the calls meanwhile, perhaps with something else.
      const isAwaited = reply.record.calls.some(({ id, status }) => id in answers && AWAITED.has(status))
      if (!isAwaited || !(error instanceof Problem) || error.details.code !== 'call_already_answered') throw error
    }
  }
}

/** The states of calls that wait for the caller or a person. */
const AWAITED: ReadonlySet<string> = new Set(['caller', 'approval'])

type StartWith = (input: readonly Message[]) => Promise<ContinuedRun>

type Turn = RunParameters & { readonly callerHistory: CallerHistory }

/** Makes the system messages at the beginning of a request its system prompt, which each request sends again. */
function withSystemPrompt(parameters: RunParameters): RunParameters {
  const start = Math.max(
    0,
    parameters.input.findIndex(({ role }) => role !== 'system'),
  )
  const system = systemOf(parameters.input.slice(0, start), parameters.system)
  return { ...parameters, system, input: parameters.input.slice(start) }
}

/** Adds to a request the hashes by which the next one is compared with it. */
async function withHistory({ caller }: RequestContext, parameters: RunParameters): Promise<Turn> {
  const { input } = parameters
  const messages = await hashOf(input)
  const request = await sha256(JSON.stringify([messages, caller.key, { ...parameters, input: [], hints: undefined }]))
  return { ...parameters, callerHistory: { length: input.length, messages, request } }
}

function hashOf(messages: readonly Message[]): Promise<string> {
  return sha256(JSON.stringify(messages))
}

interface Request {
  readonly context: RequestContext
  readonly turn: Turn
  readonly answers: CallAnswers
}

/**
 * Returns what a request is to a run whose calls it answers. `continues`: it brings what the run waits for, or is what the
 * run was sent last. `follows`: the run failed, and the request is, or begins with, what it was sent last. `differs`:
 * anything else.
 */
async function relate(
  { record, key, history }: CallerRun,
  { context, turn, answers }: Request,
): Promise<'continues' | 'follows' | 'differs'> {
  const isFailed = record.status === 'failed'
  // Only this run can perform the call that a person has decided about. Earlier versions did not note what was sent.
  if (hasDecision(answers) || !history) return isFailed ? 'follows' : 'continues'
  if (key !== context.caller.key) return 'differs'
  const { length } = history
  const beginsAlike = length <= turn.input.length && (await hashOf(turn.input.slice(0, length))) === history.messages
  const rest = turn.input.slice(length)
  if (isFailed) {
    const isInput = rest.every(({ role }) => role === 'user' || role === 'system')
    return beginsAlike && isInput ? 'follows' : 'differs'
  }
  if (record.calls.some(({ id, status }) => id in answers && status === 'caller'))
    return beginsAlike && isAnswerOf(record, rest) ? 'continues' : 'differs'
  return history.request === turn.callerHistory.request ? 'continues' : 'differs'
}

function hasDecision(answers: CallAnswers): boolean {
  return Object.values(answers).some((answer) => 'decision' in answer)
}

/** Whether the answers of the model among these messages are those of a run: its calls, and its texts or none. */
function isAnswerOf({ calls, preambles = [], answer, isPartial }: RunRecord, messages: readonly Message[]): boolean {
  const texts = [...preambles, answer].map((text) => text.trim()).filter((text) => text !== '')
  // While people are asked, the edge adds a text of its own.
  const isAsking = calls.some(({ status }) => status === 'approval')
  return messages.every((message) => {
    if (message.role !== 'assistant') return true
    const text = message.content.trim()
    const isText = text === '' || isAsking || isPartial || texts.some((each) => text.includes(each))
    return isText && (message.calls ?? []).every((call) => calls.some((each) => isSameCall(each, call, isPartial)))
  })
}

/** `isPartial`: the record of the run is too large to have the arguments. */
function isSameCall({ id, tool, arguments: args }: CallRecord, call: ToolCall, isPartial = false): boolean {
  const isSame = () => canonicalJson(args) === canonicalJson(readableArguments(call.arguments))
  return id === call.callId && tool === call.tool && (isPartial || isSame())
}

interface FailedTurn extends Pick<Request, 'turn' | 'answers'> {
  readonly location: { readonly runId: string; readonly conversation: string | undefined }
  readonly startWith: StartWith
}

/**
 * Starts a new run from where a failed one ended, so that no call is performed twice. The same request again, however
 * often it fails, finds the same runs: their ids follow from each other.
 */
async function resumeFailed(
  context: RequestContext,
  { turn, answers, location, startWith }: FailedTurn,
): Promise<ContinuedRun> {
  const { others: input } = newPart(turn.input)
  let messages: readonly Message[] = []
  for (let place = location; ;) {
    const service = conversationStubOfRun(context, place)
    const reply = await service.callerRun(place.runId)
    if (!reply.ok) {
      const { run, tools } = await prepareRun(context, { ...turn, input: messages })
      return { handle: await startEphemeral(context, { run: { ...run, runId: place.runId }, tools }) }
    }
    const { record, history } = reply
    if (record.status !== 'failed') return { handle: storedRunHandle(context, { ...place, after: 0 }) }
    messages = await currentMessages(service, {})
    const isNoted = history !== undefined && !hasDecision(answers)
    const isSame = isNoted ? history.request === turn.callerHistory.request : input.length === 0
    if (!isSame) return startWith([...messages, ...(isNoted ? turn.input.slice(history.length) : input)])
    place = { runId: await deriveRunId(context.caller.tenant, 'again', place.runId), conversation: undefined }
  }
}

/**
 * Adds to messages that a caller has sent the calls that the edge performed in between, with their results: those of the
 * stored messages that come before, or together with, a call that the caller has sent too.
 */
function withHiddenCalls(messages: readonly Message[], stored: readonly Message[]): readonly Message[] {
  const sentIds = new Set(messages.flatMap((message) => callsInMessage(message).map(({ callId }) => callId)))
  const results = new Map(stored.flatMap((message) => (message.role === 'tool' ? [[message.callId, message]] : [])))
  const hiddenByCall = new Map<string, { readonly before: readonly Message[]; readonly beside: readonly ToolCall[] }>()
  let before: Message[] = []
  for (const message of stored) {
    const calls = callsInMessage(message)
    const anchor = calls.find(({ callId }) => sentIds.has(callId))
    const hidden = calls.filter(({ callId }) => !sentIds.has(callId) && results.has(callId))
    if (anchor) {
      hiddenByCall.set(anchor.callId, { before, beside: hidden })
      before = []
    } else if (calls.length > 0 && hidden.length === calls.length) {
      before.push(message, ...hidden.flatMap(({ callId }) => results.get(callId) ?? []))
    }
  }
  return messages.flatMap((message): readonly Message[] => {
    if (message.role !== 'assistant') return [message]
    const hidden = callsInMessage(message).flatMap(({ callId }) => hiddenByCall.get(callId) ?? [])
    const beside = hidden.flatMap((each) => each.beside)
    const fullMessage = beside.length === 0 ? message : { ...message, calls: [...callsInMessage(message), ...beside] }
    return [
      ...hidden.flatMap((each) => each.before),
      fullMessage,
      ...beside.flatMap(({ callId }) => results.get(callId) ?? []),
    ]
  })
}

export function callsInMessage(message: Message | undefined): readonly ToolCall[] {
  return (message?.role === 'assistant' && message.calls) || []
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
  if (!target) return continueStateless(context, parameters, { answers })
  const system = systemOf(parameters.input)
  return takeTurn(context, { ...target, answers, parameters: { ...parameters, input, system } })
}
