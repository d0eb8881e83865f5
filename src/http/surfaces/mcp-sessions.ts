import { newId } from '../../contract/id.ts'
import type { InputRequest } from '../../contract/input.ts'
import { isObject } from '../../contract/json.ts'
import type { TakenAnswer } from '../../contract/directory.ts'
import type { CallAnswer, PendingApproval } from '../../contract/conversation.ts'
import { readToken, type Signer, signToken } from '../../contract/signer.ts'
import type { Caller } from '../../contract/tool.ts'
import {
  INVALID_REQUEST,
  type McpFault,
  mcpFault,
  type McpMessage,
  type McpReply,
} from '../../wire/client/mcp/message.ts'
import { fieldsOf, textAt } from '../../wire/fields.ts'
import { requireScope } from '../middleware/auth.ts'
import { unwrapReply } from '../problem.ts'
import type { EdgeContext, RequestContext } from '../request-context.ts'
import { signAnswer } from '../runs/continue-run.ts'
import { conversationStub } from '../runs/conversation-stub.ts'

/*
 * A client of an older revision declares once, by `initialize`, whether it can ask a person (elicitation), and answers a
 * question by a request of its own, which any isolate may get. So its session id says what it has declared, and the id of
 * a question says which call it is about: nothing is kept in between.
 */

/** The header with the id of a session. */
export const SESSION = 'mcp-session-id'

/** The ways in which a client can ask a person: by a form, or by an address to open. */
const MODES = ['form', 'url'] as const

/** The method by which a client is asked for what a person knows. */
export const ASK_PERSON = 'elicitation/create'

/** A session of a client of an older revision that can ask a person. */
export interface McpSession {
  readonly id: string
  readonly modes: readonly string[]
}

/**
 * Makes the id of a session with a client that has declared elicitation. Undefined for any other client, and for an edge
 * that cannot sign what it asks: these need no session.
 */
export function openSession({ setup }: EdgeContext, { params }: McpMessage): string | undefined {
  const { elicitation } = fieldsOf(params['capabilities'])
  if (!isObject(elicitation) || !setup.questionSigner) return undefined
  const modes = MODES.filter((mode) => mode in elicitation)
  // Without a mode, it is that of the revision before, which had forms alone.
  return `${modes.join('+') || 'form'}.${newId('mcp')}`
}

function sessionOf({ headers }: Request): McpSession | undefined {
  const id = headers.get(SESSION) ?? ''
  const [, modes] = /^(form|url|form\+url)\.mcp_[A-Za-z0-9]{22}$/.exec(id) ?? []
  return modes === undefined ? undefined : { id, modes: modes.split('+') }
}

/**
 * Returns the session of a call, if its client can ask a person while it waits for the answer, and its key may approve.
 * With FOUR_EYES it cannot, since the key that asks would also answer.
 */
export function askingSession(
  { setup, caller, request }: RequestContext,
  { modern }: Pick<McpMessage, 'modern'>,
): McpSession | undefined {
  const mayAnswer = caller.scopes.includes('approve') && !setup.config.fourEyes && setup.questionSigner !== undefined
  const takesEvents = request.headers.get('accept')?.includes('text/event-stream') === true
  return !modern && mayAnswer && takesEvents ? sessionOf(request) : undefined
}

/** Whether the client of a session can ask its person for this. */
export function canAsk({ modes }: McpSession, { method, params }: InputRequest): boolean {
  return method === ASK_PERSON && modes.includes(textAt(fieldsOf(params), 'mode') || 'form')
}

/** What a question in a session is about: one wait of a call for a person. */
interface QuestionedWait {
  readonly conversation: string
  readonly run: string
  readonly call: string
  /** The name of what the tool asks for; absent if the question is whether the call may be performed. */
  readonly asksFor?: string
  /** When the wait ends, in epoch milliseconds: a call never waits twice until the same time for the same thing. */
  readonly expires: number
}

/** Makes the id of a question, which counts in its session and for its key alone. */
export async function questionId(
  signer: Signer,
  caller: Caller,
  session: string,
  wait: QuestionedWait,
): Promise<string> {
  return signToken(signer, wait, questionText(caller, session))
}

function questionText({ tenant, key = '' }: Caller, session: string): (payload: string) => string {
  return (payload) => JSON.stringify(['elicitation', payload, tenant, key, session])
}

async function readQuestion(
  { setup, caller, request }: RequestContext,
  id: unknown,
): Promise<QuestionedWait | undefined> {
  const { questionSigner: signer } = setup
  const text = questionText(caller, request.headers.get(SESSION) ?? '')
  const wait = signer && (await readToken(signer, String(id), text))
  return isWait(wait) ? wait : undefined
}

/** What is signed holds what it was signed with: this is for the compiler. */
function isWait(wait: unknown): wait is QuestionedWait {
  return isObject(wait) && typeof wait['conversation'] === 'string' && typeof wait['expires'] === 'number'
}

/**
 * Takes the reply of a client to a question: it decides about the call if that still waits for this answer. Throws a
 * Problem for a key that may not approve. Returns a fault for a reply to what this client was not asked.
 */
export async function takeReply(
  { id, result, error }: McpReply,
  context: RequestContext,
): Promise<McpFault | undefined> {
  const wait = await readQuestion(context, id)
  if (!wait) return mcpFault(INVALID_REQUEST, 'This session has not asked what this message replies to.', 400)
  requireScope(context.caller, 'approve')
  const stub = conversationStub(context, wait.conversation)
  const reply = await stub.approval(wait.run, wait.call)
  // Somebody else may have decided before, or the wait be over.
  if (!reply.ok || !isSameWait(reply.approval, wait)) return undefined
  const { action, content } = fieldsOf(result)
  const answer: CallAnswer =
    action === 'accept'
      ? {
          decision: 'approve',
          argumentsHash: reply.approval.argumentsHash,
          ...(wait.asksFor !== undefined && { input: { [wait.asksFor]: isObject(content) ? content : {} } }),
        }
      : { decision: 'reject', ...(error !== undefined && { reason: 'the client could not ask a person' }) }
  const decision = await stub.answer(wait.run, { [wait.call]: signAnswer(context.caller, answer) })
  if (!decision.ok && decision.code !== 'call_already_answered') unwrapReply(decision)
  return undefined
}

function isSameWait({ expires, input }: PendingApproval, { expires: expected, asksFor }: QuestionedWait): boolean {
  return expires === expected && (asksFor === undefined ? !input : Object.hasOwn(input?.requests ?? {}, asksFor))
}

/** How long a client may take to cancel a request, in milliseconds. */
const REQUEST_MS = 3_600_000

/**
 * Ends a request of a session, once: by the `result` of a call, or because the client does not wait for that any more.
 * Returns how it had ended before: by a result, or without; undefined if it had not.
 */
export async function endRequest(
  { setup, caller }: EdgeContext,
  { id }: McpSession,
  request: unknown,
  result?: string,
): Promise<TakenAnswer | undefined> {
  const directory = setup.directories.getByName(caller.tenant)
  return directory.takeAnswer(`request ${id} ${JSON.stringify(request)}`, Date.now() + REQUEST_MS, result)
}

/** Takes a notification: that a request is cancelled, so that its answer is left to the next call; others change nothing. */
export async function takeNotice({ method, params, modern }: McpMessage, context: RequestContext): Promise<void> {
  const session = modern || method !== 'notifications/cancelled' ? undefined : sessionOf(context.request)
  if (session) await endRequest(context, session, params['requestId'])
}
