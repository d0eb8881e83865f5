import { termsOfCaller } from '../../contract/caller-terms.ts'
import type { RunEvent } from '../../contract/event.ts'
import { callId, deriveRunId } from '../../contract/id.ts'
import { canonicalJson, isObject } from '../../contract/json.ts'
import { idIn } from '../../contract/placement.ts'
import { isTerminal, type RunRecord } from '../../contract/run.ts'
import { readToken, type Signer, signToken } from '../../contract/signer.ts'
import { type Caller, failure, type Tool, type ToolFailure, type ToolOutcome } from '../../contract/tool.ts'
import { NEEDS_CONVERSATION } from '../../loop/decide/admit.ts'
import { type McpMessage, type MessageId, toNotice, toRequest } from '../../wire/client/mcp/message.ts'
import { toSettledResult } from '../../wire/client/mcp/task.ts'
import { progressNotices, toCallResult } from '../../wire/client/mcp/tool.ts'
import { Problem } from '../problem.ts'
import type { EdgeContext, RequestContext } from '../request-context.ts'
import { conversationStub } from '../runs/conversation-stub.ts'
import { followToEnd, type RunHandle, storedRunHandle } from '../runs/run-handle.ts'
import type { RunRef } from '../runs/start-run.ts'
import { approvalOf } from './mcp-questions.ts'
import { mcpTools } from './mcp-relay.ts'
import { canAsk, endRequest, type McpSession, questionId } from './mcp-sessions.ts'
import { type CallOfRun, forClient, startCall, TASK_TTL_MS } from './mcp-tasks.ts'

/*
 * A call that has to wait for a person, of a client that cannot send it again with the answer: it is made by a run of its
 * own, as a task is. So the wait is stored, is on the list of approvals, and ends wherever somebody decides. A client in a
 * session is asked within the stream of the call. Any other is told where a person can decide; the same call again then
 * gets the result, once.
 */

/** The stream of a call, in which its client can be asked and is told of progress. */
export interface CallStream {
  readonly session: McpSession
  /** Sends a message; without one, a sign of life or, with an `id`, an event that has nothing but the id. */
  readonly send: (message?: object, id?: string) => void
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal
  /** The token with which the client wants to be told of progress. Default: it is not told. */
  readonly progressToken?: unknown
}

/** A request whose call is made by a run: what the ids of the events in its stream name. */
interface StreamedCall {
  readonly request: MessageId
  readonly progressToken?: unknown
  /** The name of the call, and the number of the run. */
  readonly name: string
  readonly number: number
}

/** How long the stream of a call waits for a person, and how often there is a sign of life, in milliseconds. */
const MOST_ASKING_MS = 600_000
const QUIET_MS = 10_000
/** How long any other call waits for its result, in milliseconds: less than the minute after which most clients leave. */
const MOST_WAIT_MS = 45_000

/** The most characters of a question that is stored with the run that asks it. */
const MOST_QUESTION = 100_000

/**
 * Returns what a tool asks for, if the client of a session can be asked for it: one question, of a kind that it has
 * declared.
 */
export function questionFor({ session }: CallStream, outcome: ToolOutcome): ToolFailure | undefined {
  const requests = outcome.ok ? [] : Object.values(outcome.input?.requests ?? {})
  if (outcome.ok || requests.length !== 1 || !requests.every((request) => canAsk(session, request))) return undefined
  // What the call has used and made so far is counted already.
  const { error, input, marks } = outcome
  const question: ToolFailure = { ok: false, error, ...(input && { input }), ...(marks && { marks }) }
  return JSON.stringify(question).length > MOST_QUESTION ? undefined : question
}

/**
 * Makes a call by a run, and returns the result of the request: that of the call or, if that does not come soon, what to do
 * until it does. A result counts once; the same call after that is another one, and needs another decision.
 */
export async function callByRun(
  message: McpMessage,
  context: RequestContext,
  { call, stream }: { readonly call: CallOfRun; readonly stream?: CallStream | undefined },
): Promise<object> {
  const { setup, caller } = context
  const { questionSigner: signer } = setup
  const { definition } = call.tool
  const terms: CallTerms = { tool: call.tool, context, stream, modern: message.modern }
  if (!signer) return toCallResult(NEEDS_CONVERSATION, definition, message.modern)
  const directory = setup.directories.getByName(caller.tenant)
  const name = await nameOfCall(signer, context, call)
  const first = Number((await directory.takeAnswer(name, Date.now() + TAKEN_MS))?.reply ?? 0)
  for (let number = first, isEnded = false; ; number++) {
    const handle = await startNumbered(context, call, { signer, name, number })
    // Somebody has deleted it.
    if (!handle) continue
    const streamed: StreamedCall = { request: message.id ?? '', progressToken: stream?.progressToken, name, number }
    if (stream) await askPerson(handle, context, { streamed, stream, signer, after: 0 })
    const record = await handle.record(stream ? 0 : MOST_WAIT_MS)
    const result = await takeResult(record, { ...terms, handle, streamed, isEnded })
    if (result) return result
    isEnded = true
  }
}

/** How long it is known that a result was taken, in milliseconds: longer than its run is stored. */
const TAKEN_MS = 2 * TASK_TTL_MS

interface CallTerms {
  readonly tool: Tool | undefined
  readonly context: RequestContext
  readonly stream: CallStream | undefined
  readonly modern: boolean
}

/**
 * Returns the result of the request of a call: that of the call or, if that is not there yet, what to do until it is.
 * Undefined if another request was given the result of this run. `isEnded`: this request has been ended already.
 */
async function takeResult(
  record: RunRecord,
  {
    tool,
    context,
    stream,
    modern,
    handle,
    streamed,
    isEnded,
  }: CallTerms & { readonly handle: RunHandle; readonly streamed: StreamedCall; readonly isEnded: boolean },
): Promise<object | undefined> {
  const definition = tool?.definition
  const { name, number, request } = streamed
  const result = `${name} ${number}`
  const resultOf = (outcome: ToolOutcome) => toCallResult(outcome, definition ?? {}, modern)
  // Its client may pick the request up again.
  if (!isTerminal(record.status) || stream?.signal.aborted)
    return resultOf(failure(NEEDS_CONVERSATION.error.code, waitText(record, context)))
  const end = stream && !isEnded ? await endRequest(context, stream.session, request, result) : undefined
  if (end && end.reply === undefined) return resultOf(failure('cancelled', 'The client has cancelled this request.'))
  if (end?.reply !== result) {
    const directory = context.setup.directories.getByName(context.caller.tenant)
    if (await directory.takeAnswer(result, Date.now() + TAKEN_MS)) return undefined
    await directory.settleAnswer(name, String(number + 1))
  }
  const clientRecord = await forClient(record, String(handle.conversation), { context, definition })
  return toSettledResult({ record: clientRecord, definition }, modern)
}

/** A stream of a call that a client has lost. */
export interface LostStream extends StreamedCall {
  /** The number of the last event that the client has got. */
  readonly after: number
}

/** Reads the id of the last event that a client has got; undefined for one that was not given to this session and key. */
export async function readLostStream(
  { setup, caller }: EdgeContext,
  { id: session }: McpSession,
  lastId: string,
): Promise<LostStream | undefined> {
  const [, token = '', seq] = /^(.+)\.(\d{1,15})$/.exec(lastId) ?? []
  const { questionSigner: signer } = setup
  const call = signer && (await readToken(signer, token, streamText(caller, session)))
  return isStreamedCall(call) ? { ...call, after: Number(seq) } : undefined
}

/** What is signed holds what it was signed with: this is for the compiler. */
function isStreamedCall(call: unknown): call is StreamedCall {
  return isObject(call) && typeof call['name'] === 'string' && typeof call['number'] === 'number'
}

function streamText({ tenant, key = '' }: Caller, session: string): (payload: string) => string {
  return (payload) => JSON.stringify(['stream', payload, tenant, key, session])
}

/** Continues the stream of a call that its client has lost, after the last event that it has got. */
export async function pickUpCall(
  { after, ...streamed }: LostStream,
  context: RequestContext,
  stream: CallStream,
): Promise<object> {
  const { questionSigner: signer } = context.setup
  const { name, number } = streamed
  if (!signer) return toCallResult(NEEDS_CONVERSATION, {}, false)
  const { id: conversation, runId } = await placeOfCall(context, { signer, name, number })
  const handle = storedRunHandle(context, { runId, conversation, after: 0 })
  await askPerson(handle, context, { streamed, stream, signer, after })
  const record = await handle.record(0)
  const [tool] = await mcpTools(context).find([record.calls[0]?.tool ?? ''])
  const terms: CallTerms = { tool, context, stream, modern: false }
  const result = await takeResult(record, { ...terms, handle, streamed, isEnded: false })
  return result ?? toCallResult(failure('cancelled', OTHERS_RESULT), tool?.definition ?? {}, false)
}

const OTHERS_RESULT = 'Another request with the same arguments was given the result of this call.'

/** Returns the name of a call: that of all calls with the same key, tool, arguments and context. Nobody can guess it. */
function nameOfCall(signer: Signer, { caller }: RequestContext, call: CallOfRun): Promise<string> {
  const { tenant, key = '' } = caller
  const { tool, arguments: args, context = {}, question } = call
  const parts = [tenant, key, tool.definition.name, args, context, question !== undefined]
  return signer.sign(`call ${canonicalJson(parts)}`)
}

/** Starts the run of a call, if it is not there already. Returns undefined if it was deleted. */
async function startNumbered(
  context: RequestContext,
  call: CallOfRun,
  { signer, name, number }: { readonly signer: Signer; readonly name: string; readonly number: number },
): Promise<RunHandle | undefined> {
  try {
    return await startCall(context, call, await placeOfCall(context, { signer, name, number }))
  } catch (error) {
    if (error instanceof Problem && error.details.code === 'conversation_deleted') return undefined
    throw error
  }
}

/** Returns the ids of the conversation and the run by which a call is made. */
async function placeOfCall(
  { setup, caller }: EdgeContext,
  { signer, name, number }: { readonly signer: Signer; readonly name: string; readonly number: number },
): Promise<{ readonly id: string; readonly runId: string }> {
  const place = await signer.sign(`call ${name} ${number}`)
  const id = idIn(termsOfCaller(setup, caller)?.jurisdiction, `mcp_${place}`)
  return { id, runId: await deriveRunId(place) }
}

/**
 * Follows a run to its end, and asks the client of the stream whenever it waits for a person. Sends nothing of the events
 * up to number `after`, which the client has got. Each message has the id of an event, by which its client continues.
 */
async function askPerson(
  { runId, conversation = '' }: RunRef,
  context: RequestContext,
  {
    streamed,
    stream,
    signer,
    after,
  }: {
    readonly streamed: StreamedCall
    readonly stream: CallStream
    readonly signer: Signer
    readonly after: number
  },
): Promise<void> {
  const { session, signal, progressToken } = stream
  const { caller, request: httpRequest } = context
  const stub = conversationStub(context, conversation)
  const call = callId(runId, 1, 0)
  const token = await signToken(signer, streamed, streamText(caller, session.id))
  const send = (seq: number, message?: object) => stream.send(message, `${token}.${seq}`)
  const noticeOf = progressNotices(progressToken)
  const unaskable = new AbortController()
  let question: string | undefined
  let last = after
  const withdraw = () => {
    if (question !== undefined)
      send(last, toNotice('notifications/cancelled', { requestId: question, reason: DECIDED }))
    question = undefined
  }
  /** Asks for what the call waits for, unless the client has been asked before. */
  const ask = async (isNew: boolean): Promise<void> => {
    const reply = await stub.approval(runId, call)
    // Somebody has decided meanwhile.
    if (!reply.ok) return
    const { input, expires, tool, arguments: args } = reply.approval
    const requests = input?.requests ?? approvalOf({ tool, arguments: args }).requests
    const [[asksFor, request] = [], ...others] = Object.entries(requests)
    if (!asksFor || !request || others.length > 0 || !canAsk(session, request)) return unaskable.abort()
    question = await questionId(signer, caller, session.id, {
      ...{ conversation, run: runId, call, expires },
      ...(input && { asksFor }),
    })
    if (isNew) send(last, toRequest(question, request))
  }
  const onEvent = (event: RunEvent): void | Promise<void> => {
    const isNew = event.seq > after
    last = Math.max(last, event.seq)
    if (event.type === 'call.progress' && progressToken !== undefined) {
      const notice = noticeOf(event)
      if (isNew) send(last, notice)
    }
    if (event.type === 'approval.decided') withdraw()
    if (event.type === 'run.waiting') return ask(isNew)
  }
  if (httpRequest.headers.get('mcp-protocol-version') === FIRST_WITH_EMPTY_EVENTS) send(after)
  const quiet = setInterval(() => stream.send(), QUIET_MS)
  await followToEnd(
    context,
    { runId, conversation },
    {
      ms: MOST_ASKING_MS,
      signal: AbortSignal.any([signal, unaskable.signal]),
      news: progressToken === undefined ? 'none' : 'all',
      onEvent,
    },
  ).finally(() => clearInterval(quiet))
  withdraw()
}

/** The revision whose clients take an event without data, by which they can continue before the first message. */
const FIRST_WITH_EMPTY_EVENTS = '2025-11-25'

const DECIDED = 'This question needs no answer any more.'

/** Says for what a call waits, and how to get its result. */
function waitText({ status, waitsFor, calls }: RunRecord, { setup, request }: RequestContext): string {
  const [call] = calls
  if (status !== 'waiting' || waitsFor !== 'approval' || !call)
    return 'This call is being made. Call the tool again with the same arguments to get its result.'
  const place = setup.config.studio
    ? `at ${new URL(`/#/approvals//${call.id}`, request.url).href}`
    : `in the list of approvals of this edge, under the id ${call.id}`
  return (
    `Not run yet: a person must allow this call, ${place}. Tell the user so. Once it is decided, call the tool again with ` +
    'the same arguments to get the result.'
  )
}
