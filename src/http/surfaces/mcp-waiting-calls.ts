import { termsOfCaller } from '../../contract/caller-terms.ts'
import type { RunEvent } from '../../contract/event.ts'
import { callId, deriveRunId } from '../../contract/id.ts'
import { canonicalJson } from '../../contract/json.ts'
import { idIn } from '../../contract/placement.ts'
import { isTerminal, type RunRecord } from '../../contract/run.ts'
import type { Signer } from '../../contract/signer.ts'
import { pause } from '../../contract/time-limit.ts'
import { failure, type Progress, type ToolFailure, type ToolOutcome } from '../../contract/tool.ts'
import { NEEDS_CONVERSATION } from '../../loop/decide/admit.ts'
import { type McpMessage, toNotice, toRequest } from '../../wire/client/mcp/message.ts'
import { toSettledResult } from '../../wire/client/mcp/task.ts'
import { toCallResult } from '../../wire/client/mcp/tool.ts'
import { Problem } from '../problem.ts'
import type { RequestContext } from '../request-context.ts'
import { conversationStub } from '../runs/conversation-stub.ts'
import type { RunHandle } from '../runs/run-handle.ts'
import { approvalOf } from './mcp-questions.ts'
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
  /** Sends a message; without one, a sign of life. */
  readonly send: (message?: object) => void
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal
  readonly progress?: ((news: Progress) => void) | undefined
}

/** How long the stream of a call waits for a person, and how often it looks, in milliseconds. */
const MOST_ASKING_MS = 600_000
const LOOK_MS = 500
/** After how many looks there is a sign of life. */
const QUIET_LOOKS = 20
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
  const resultOf = (outcome: ToolOutcome) => toCallResult(outcome, definition, message.modern)
  if (!signer) return resultOf(NEEDS_CONVERSATION)
  const directory = setup.directories.getByName(caller.tenant)
  const name = await nameOfCall(signer, context, call)
  const until = Date.now() + 2 * TASK_TTL_MS
  let isEnded = false
  for (let number = Number((await directory.takeAnswer(name, until))?.reply ?? 0); ; number++) {
    const handle = await startNumbered(context, call, { signer, name, number })
    // Somebody has deleted it.
    if (!handle) continue
    const record = stream
      ? await askPerson(handle, context, { call, stream, signer })
      : await handle.record(MOST_WAIT_MS)
    if (!isTerminal(record.status)) return resultOf(failure(NEEDS_CONVERSATION.error.code, waitText(record, context)))
    const isOpen = !stream || isEnded || (await endRequest(context, stream.session, message.id))
    if (!isOpen || stream?.signal.aborted)
      return resultOf(failure('cancelled', 'The client has cancelled this request.'))
    isEnded = true
    if (await directory.takeAnswer(`${name} ${number}`, until)) continue
    await directory.settleAnswer(name, String(number + 1))
    const clientRecord = await forClient(record, String(handle.conversation), { context, definition })
    return toSettledResult({ record: clientRecord, definition }, message.modern)
  }
}

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
  const { setup, caller } = context
  const place = await signer.sign(`call ${name} ${number}`)
  const id = idIn(termsOfCaller(setup, caller)?.jurisdiction, `mcp_${place}`)
  try {
    return await startCall(context, call, { id, runId: await deriveRunId(place) })
  } catch (error) {
    if (error instanceof Problem && error.details.code === 'conversation_deleted') return undefined
    throw error
  }
}

/** Follows a run, and asks the client of the stream whenever it waits for a person. Returns the record at the end. */
async function askPerson(
  handle: RunHandle,
  context: RequestContext,
  { call, stream, signer }: { readonly call: CallOfRun; readonly stream: CallStream; readonly signer: Signer },
): Promise<RunRecord> {
  const { session, send, signal, progress } = stream
  const { runId, conversation = '' } = handle
  const stub = conversationStub(context, conversation)
  const id = callId(runId, 1, 0)
  let isOver = false
  let isWaiting = false
  let question: string | undefined
  const withdraw = () => {
    if (question !== undefined) send(toNotice('notifications/cancelled', { requestId: question, reason: DECIDED }))
    question = undefined
  }
  const onEvent = (event: RunEvent) => {
    if (event.type === 'call.progress') progress?.(event)
    if (event.type === 'run.finished') isOver = true
    if (event.type === 'approval.requested') isWaiting = true
    if (event.type !== 'approval.decided') return
    isWaiting = false
    withdraw()
  }
  /** Asks for what the call waits for; returns whether it can be asked here. */
  const ask = async (): Promise<boolean> => {
    const reply = await stub.approval(runId, id)
    // Somebody has decided meanwhile.
    if (!reply.ok) return true
    const { input, expires } = reply.approval
    const requests =
      input?.requests ?? approvalOf({ tool: call.tool.definition.name, arguments: call.arguments }).requests
    const [[asksFor, request] = [], ...others] = Object.entries(requests)
    if (!asksFor || !request || others.length > 0 || !canAsk(session, request)) return false
    const wait = { conversation, run: runId, call: id, expires, ...(input && { asksFor }) }
    question = await questionId(signer, context.caller, session.id, wait)
    send(toRequest(question, request))
    return true
  }
  const until = Date.now() + MOST_ASKING_MS
  for (let looks = 1; ; looks++) {
    await handle.follow(onEvent, progress ? 'all' : 'none')
    const mustAsk = isWaiting && question === undefined
    if (isOver || Date.now() > until || (mustAsk && !(await ask()))) break
    await pause(LOOK_MS, signal)
    if (signal.aborted) break
    if (looks % QUIET_LOOKS === 0) send()
  }
  withdraw()
  return handle.record(0)
}

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
