import { visible } from '../../contract/hidden-characters.ts'
import { newId } from '../../contract/id.ts'
import { type CallInput, INPUT_REQUIRED, type InputNeeds } from '../../contract/input.ts'
import type { CallRecord } from '../../contract/run.ts'
import { failure, type Tool, type ToolOutcome } from '../../contract/tool.ts'
import { fieldsOf } from '../../wire/fields.ts'
import { isElicitation, readInput, toCallResult, toInputRequired } from '../../wire/client/mcp/tool.ts'
import {
  CLIENT_CAPABILITIES,
  INVALID_PARAMS,
  isFault,
  type McpFault,
  type McpMessage,
  mcpFault,
} from '../../wire/client/mcp/message.ts'
import { isObject, parseJson } from '../../contract/json.ts'
import { pause } from '../../contract/time-limit.ts'
import { NEEDS_CONVERSATION } from '../../loop/decide/admit.ts'
import { requireScope } from '../middleware/auth.ts'
import type { EdgeContext, RequestContext } from '../request-context.ts'
import { type QuestionedCall, type QuestionState, readState, type SignedQuestion, signState } from '../runs/signer.ts'

/** A call with the answers that it brings. */
export interface AnsweredCall {
  /** The id of the call, which is that of the call that asked. */
  readonly callId: string
  readonly isApproved: boolean
  readonly input?: CallInput | undefined
  /** Set if a person has refused the call. */
  readonly refusal?: ToolOutcome
  /** The question that the answers are to. They count for one call. Default: the call brings no answers. */
  readonly question?: Pick<SignedQuestion, 'id' | 'expires'>
}

/** The name of the question whether a call may be performed. */
const APPROVAL = 'approval'

/**
 * Whether a client can ask a person whether a call may be performed: one of the newest revision that has declared
 * elicitation, with a key that may approve. With FOUR_EYES it cannot, since the key that asks would also answer.
 */
export function mayApprove({ setup, caller }: EdgeContext, { modern, meta }: McpMessage): boolean {
  const canAsk = modern && 'elicitation' in fieldsOf(meta[CLIENT_CAPABILITIES])
  return canAsk && setup.questionSigner !== undefined && !setup.config.fourEyes && caller.scopes.includes('approve')
}

/** The methods that clients serve, by the capability that they declare for each. */
const METHODS = { elicitation: 'elicitation/create', sampling: 'sampling/createMessage', roots: 'roots/list' } as const

/**
 * Returns the methods by which a call may ask a client: those for which a client of the newest revision has declared the
 * capability, of a person only for a key that may answer. None where the edge cannot sign the question.
 */
export function askableMethods({ setup, caller }: EdgeContext, { modern, meta }: McpMessage): readonly string[] {
  if (!modern || setup.questionSigner === undefined) return []
  const capabilities = fieldsOf(meta[CLIENT_CAPABILITIES])
  const mayAnswer = caller.scopes.includes('approve')
  return Object.entries(METHODS)
    .filter(([capability]) => capability in capabilities && (mayAnswer || capability !== 'elicitation'))
    .map(([, method]) => method)
}

/**
 * Reads the answers that a repeated call brings (SEP-2322). They count only with the `requestState` of the question, and
 * those of a person for a key that may approve, as in a conversation: throws a Problem for another key. Answers to what
 * nobody asked are left out.
 */
export async function readAnswers(
  { params }: McpMessage,
  { setup, caller }: EdgeContext,
  call: QuestionedCall,
): Promise<AnsweredCall | McpFault> {
  const { responses, state: text } = readInput(params)
  const { questionSigner: signer } = setup
  if (text === undefined) return { callId: newId('run'), isApproved: false }
  const question = signer && (await readState(signer, call, text))
  if (!question) return mcpFault(INVALID_PARAMS, 'This requestState is of another call or too old: call without it.')
  if (question.isOfPerson) requireScope(caller, 'approve')
  const { call: callId, isApproval, isApproved, names, state } = question
  if (!isApproval) {
    const answers = Object.entries(responses).filter(([name]) => names.includes(name))
    return {
      callId,
      isApproved,
      input: { responses: Object.fromEntries(answers), state },
      question,
    }
  }
  const { action } = responses[APPROVAL] ?? {}
  if (action === 'accept') return { callId, isApproved: true, question }
  const isRefused = action === 'decline' || action === 'cancel'
  if (!isRefused) return { callId, isApproved: false }
  return { callId, isApproved: false, refusal: failure('rejected', 'A person refused this call.'), question }
}

/**
 * Performs a call that brings answers, once for each question: a request that is repeated gets what the first one was
 * answered with, or an error of the call where that is not known.
 */
export async function performOnce(
  { modern }: McpMessage,
  { setup, caller, request }: RequestContext,
  {
    tool,
    answers: { question },
    perform,
  }: { readonly tool: Tool; readonly answers: AnsweredCall; readonly perform: () => Promise<object> },
): Promise<object> {
  if (!question) return perform()
  const { id, expires } = question
  const directory = setup.directories.getByName(caller.tenant)
  const until = Date.now() + MOST_WAIT_MS
  let first = await directory.takeAnswer(id, expires)
  for (let ms = LOOK_MS; first && first.reply === undefined && Date.now() < until; ms *= 1.5) {
    await pause(ms, request.signal)
    request.signal.throwIfAborted()
    first = await directory.takeAnswer(id, expires)
  }
  if (first) {
    const reply = parseJson(first.reply ?? '')
    return isObject(reply) ? reply : toCallResult(failure('in_doubt', IN_DOUBT), tool.definition, modern)
  }
  const answer = await perform()
  const text = JSON.stringify(answer)
  // The answer counts no more, even if this fails.
  if (text.length <= MOST_REPLY) await directory.settleAnswer(id, text).catch(() => {})
  return answer
}

const IN_DOUBT = 'A person has allowed this call once. It was made, and what came of it is not known: check that first.'
/** How long a repeated request waits for the first, and how soon it looks first, then less and less often, in milliseconds. */
const MOST_WAIT_MS = 60_000
const LOOK_MS = 250
/** The most characters of an answer that is kept for repeated requests: as many bytes as a row may have, at worst. */
const MOST_REPLY = 600_000

/**
 * Answers a call with its result or, where the client can be asked for what the call needs, with the question. A person
 * is asked only for a key that may answer.
 */
export async function answerCall(
  message: McpMessage,
  context: EdgeContext,
  {
    tool,
    outcome,
    call,
    answers,
  }: {
    readonly tool: Tool
    readonly outcome: ToolOutcome
    readonly call: QuestionedCall
    readonly answers: AnsweredCall
  },
): Promise<object> {
  const { meta, modern } = message
  const { callId, isApproved } = answers
  const { questionSigner: signer } = context.setup
  const result = toCallResult(outcome, tool.definition, modern)
  if (outcome.ok) return result
  const isApproval = outcome === NEEDS_CONVERSATION && !isApproved && mayApprove(context, message)
  const needs = isApproval ? approvalOf(call) : outcome.input
  if (!needs || !modern) return result
  const payload = toInputRequired(needs, meta[CLIENT_CAPABILITIES])
  if (isFault(payload)) return payload
  const { inputRequests } = payload
  const isOfPerson = Object.values(inputRequests).some(isElicitation)
  const mayAnswer = !isOfPerson || context.caller.scopes.includes('approve')
  if (!signer || !mayAnswer) {
    return toCallResult(failure(INPUT_REQUIRED, signer ? NO_SCOPE : NO_SECRET), tool.definition, modern)
  }
  const names = Object.keys(inputRequests)
  const question: QuestionState = { call: callId, names, isApproval, isApproved, isOfPerson, state: needs.state }
  return { ...payload, requestState: await signState(signer, call, question) }
}

const NO_SCOPE = 'This tool asks a person for input, who can answer only with a key that has the scope approve.'
const NO_SECRET = 'This tool asks for input, which this edge passes on only if it has an OUTCOME_SECRET.'

export function approvalOf({ tool, arguments: args }: Pick<CallRecord, 'tool' | 'arguments'>): InputNeeds {
  const message = visible(`Allow the call of "${tool}" with ${JSON.stringify(args)}?`)
  const params = { mode: 'form', message, requestedSchema: { type: 'object', properties: {} } }
  return { requests: { [APPROVAL]: { method: 'elicitation/create', params } } }
}
