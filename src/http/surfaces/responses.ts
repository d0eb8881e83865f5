import type { Context } from 'hono'
import { Hono } from 'hono/tiny'
import { newId, deriveRunId } from '../../contract/id.ts'
import type { ConversationService } from '../../contract/conversation.ts'
import type { Message } from '../../contract/message.ts'
import { isTerminal } from '../../contract/run.ts'
import { askForSummary } from '../../wire/client/openai-responses/compaction.ts'
import { compactedResponse } from '../../wire/client/openai-responses/stored-items.ts'
import { responseEncoder, type ResponseOptions, ResponseReader } from '../../wire/client/openai-responses/answer.ts'
import { parseResponseId, responseId, type ResponsePlace } from '../../wire/client/openai-responses/output.ts'
import { decodeResponses, type ResponsesRequest } from '../../wire/client/openai-responses/request.ts'
import { type CallAnswers, chooseRounds, isHeldBack } from '../../wire/client/request.ts'
import { partsOf } from '../../wire/schema.ts'
import { makeWaitingText } from '../../wire/client/visible-text.ts'
import { estimateTokens, prepareRun, type RunParameters } from '../runs/prepare-run.ts'
import { requireScope } from '../middleware/auth.ts'
import { readJson } from '../request-body.ts'
import { termsOfCaller } from '../../contract/caller-terms.ts'
import { idIn } from '../../contract/placement.ts'
import { branchConversation, currentMessages } from '../runs/copy-messages.ts'
import { requestContext, type EdgeEnv } from '../context.ts'
import type { RequestContext } from '../request-context.ts'
import { type ContinuedRun, nothingToAnswer, systemOf, takeTurn } from '../runs/continue-run.ts'
import { callsInMessage, continueStateless } from '../runs/stateless-turn.ts'
import { startSummary } from '../runs/summary.ts'
import { conversationStub } from '../runs/conversation-stub.ts'
import { requireBytes } from '../runs/storage-quota.ts'
import { type PreparedRun, runHeaders, startInConversation } from '../runs/start-run.ts'
import { type RunHandle, storedRunHandle } from '../runs/run-handle.ts'
import { unwrapReply, unwrapRequest, Problem } from '../problem.ts'
import {
  type Collector,
  collectRun,
  type ConversationTarget,
  conversationTarget,
  settingsOf,
  startInListedConversation,
  withDefaults,
} from '../runs/place-run.ts'
import { cancelledResponse, deletedResponse, inputItems, storedResponse } from './stored-response.ts'
import { type MemberReport, reportMembers, withHeaders, withHosted } from '../respond/ignored.ts'
import { streamRun } from '../respond/stream.ts'
import type { SurfacePart } from '../surface.ts'
import { openAiConversations } from './conversations/openai.ts'
import { modelRoutes, OPENAI } from './models.ts'

/** How long a stored response outside the caller's conversations is kept, in milliseconds: 30 days, as with OpenAI. */
const STORED_MS = 30 * 24 * 60 * 60 * 1000

/** The client of AI SDK 5, whose whole answers may have no items of the type `mcp_call` or `mcp_approval_request`. */
const KNOWS_NO_MCP = /\bai-sdk\/openai\/2\./

const app = new Hono<EdgeEnv>()

/** `/v1/responses`, for clients of OpenAI's Responses API. */
export const responsesApi: SurfacePart = {
  name: 'responsesApi',
  surfaces: [
    {
      routes: { '/v1/responses': app, '/v1/conversations': openAiConversations, '/v1/models': modelRoutes },
      dialect: OPENAI,
    },
  ],
}

app.get('/:id', storedResponse)
app.delete('/:id', deletedResponse)
app.post('/:id/cancel', cancelledResponse)
app.get('/:id/input_items', inputItems)

/**
 * Counts by the estimate with which the edge plans what a model sees: no provider is asked. Earlier messages of the
 * conversation count whole, though a model may be sent less of them.
 */
app.post('/input_tokens', async (c) => {
  const { caller } = c.env
  requireScope(caller, 'chat')
  const { body, headers, replacements } = await readMembers(c, await readBody(c))
  const context = { ...requestContext(c), replacements }
  const parameters = { ...parametersOf(body), input: await allMessages(context, body) }
  const input_tokens = await estimateTokens(context, parameters)
  return c.json({ object: 'response.input_tokens', input_tokens }, { headers: headers() })
})

/** Compacts a conversation: the messages of the user, and a summary of all else which a model writes. */
app.post('/compact', async (c) => {
  requireScope(c.env.caller, 'chat')
  const { body, headers } = await readMembers(c, askForSummary(await readBody(c)))
  const context = requestContext(c, 'end')
  const messages = await allMessages(context, body)
  const handle = await startSummary(context, { ...parametersOf(body), input: messages })
  const reader = new ResponseReader({
    id: responseId({ runId: handle.runId, after: 0 }),
    model: '',
    created: Math.floor(Date.now() / 1000),
    echo: {},
    rounds: 'final',
    waitsForAnswer: true,
    isCompaction: true,
  })
  const { event, result } = makeCollector(reader)
  const collector: Collector = {
    event,
    result: () => {
      const answer = result()
      return answer.ok ? { ok: true, body: compactedResponse(reader.response, messages) } : answer
    },
  }
  return withHeaders(await collectRun(handle, collector), headers())
})

app.post('/', async (c) => {
  const { setup, caller } = c.env
  requireScope(caller, 'chat')
  const { body, headers, replacements } = await readMembers(c, await readBody(c))
  const target = conversationTarget(c.req.raw, body.conversation, 'conversation')
  const isDetached = body.background && !body.stream && !body.isCompaction
  const context = { ...requestContext(c, isDetached ? undefined : body.stream ? 'text' : 'end'), replacements }
  const { handle, after = 0, approvals = [] } = await startOrContinue(context, body, target)
  const { runId, conversation } = handle
  const hidesCalls = !body.stream && KNOWS_NO_MCP.test(c.req.header('user-agent') ?? '')
  const options: ResponseOptions = {
    id: responseId({ runId, conversation, after }),
    model: body.model ?? setup.config.model ?? '',
    created: Math.floor(Date.now() / 1000),
    echo: { ...body.echo, ...(target && { conversation: { id: target.id } }) },
    conversation,
    rounds: chooseRounds(setup.config, body, body.stream),
    waitsForAnswer: !body.stream || isHeldBack(body.responseFormat),
    hasEncryptedContent: body.hasEncryptedContent,
    isCompaction: body.isCompaction,
    pendingApprovals: approvals,
    forms: body.forms,
    ...(hidesCalls && { hidesCalls, waitingText: makeWaitingText(handle) }),
  }
  if (isDetached)
    return Response.json(new ResponseReader(options).response, { headers: { ...runHeaders(handle), ...headers() } })
  if (!body.stream) return withHeaders(await collectRun(handle, makeCollector(new ResponseReader(options))), headers())
  return streamRun(handle, responseEncoder(options), { headers: headers() })
})

function readBody(c: Context<EdgeEnv>): Promise<unknown> {
  return readJson(c.req.raw, c.env.setup.config.maxBodyBytes)
}

/** Reads a request for the tools that the edge has, with what says what it ignores. */
async function readMembers(c: Context<EdgeEnv>, json: unknown): Promise<ReportedBody> {
  const body = unwrapRequest(decodeResponses(json))
  const { tools, ignored } = await withHosted(c.env, body.options.tools, body.hostedTools)
  const { hints, ...report } = reportMembers(c.env, '/v1/responses', {
    ...body,
    ignored: [...body.ignored, ...ignored],
  })
  return { body: { ...body, options: { ...body.options, hints, ...(tools && { tools }) } }, ...report }
}

interface ReportedBody extends Pick<MemberReport, 'headers' | 'replacements'> {
  readonly body: ResponsesRequest & { readonly options: Pick<RunParameters, 'hints'> }
}

/** Returns the messages of a request after those of the conversation that it continues, if any. */
async function allMessages(context: RequestContext, body: ResponsesRequest): Promise<readonly Message[]> {
  const target = conversationTarget(context.request, body.conversation, 'conversation')
  const { id, previous } = target ? { id: target.id } : (earlierPlace(body) ?? {})
  if (id === undefined) return body.messages
  const service = conversationStub(context, id)
  if (body.isCompaction) await requireEnd(service)
  const end = previous === undefined ? {} : { upTo: previous }
  return [...(await currentMessages(service, end)), ...body.messages]
}

/** Refuses to compact a conversation with an open run: the summary would lack what that has done, and what it waits for. */
async function requireEnd(service: ConversationService): Promise<void> {
  const { runs } = unwrapReply(await service.runs({ limit: 20 }))
  const run = runs.find(({ status }) => !isTerminal(status))
  if (!run) return
  const isWaiting = run.status === 'waiting'
  const code = isWaiting ? 'run_waiting' : 'conversation_busy'
  throw new Problem({
    status: 409,
    code,
    message: `The run ${run.id} has not ended. Compact its conversation afterwards.`,
  })
}

/**
 * Starts or continues the run of a response: in the conversation that the request names, or in that of the previous
 * response or of the item that it refers to. Any other response is stored in a conversation of its own, or not at all.
 */
async function startOrContinue(
  context: RequestContext,
  body: ResponsesRequest,
  target: ConversationTarget | undefined,
): Promise<ContinuedRun> {
  if (body.isCompaction) {
    const input = await allMessages(context, body)
    return { handle: await startSummary(context, { ...parametersOf(body), input }) }
  }
  if (target) return continueConversation(context, body, target)
  const place = earlierPlace(body)
  if (place) return continueConversation(context, body, place)
  const { answers, messages, store, callConversation } = body
  const start = store ? (parameters: RunParameters) => startInNewConversation(context, parameters) : undefined
  return continueStateless(
    context,
    { ...parametersOf(body), input: messages },
    { answers, start, conversation: callConversation },
  )
}

/**
 * Takes a turn in a conversation, to which only the messages after the last answer are new. If another response has
 * followed `previous` already, the run starts in a branch of the conversation.
 */
async function continueConversation(
  context: RequestContext,
  body: ResponsesRequest,
  { id, previous, create = false }: { readonly id: string; readonly previous?: string; readonly create?: boolean },
): Promise<ContinuedRun> {
  const { answers, input } = body
  const parameters = { ...parametersOf(body), system: systemOf(body.earlier, body.instructions), input }
  const place = parseResponseId(body.previous ?? '')
  const hasResults = place !== undefined && Object.values(answers).some((answer) => 'result' in answer)
  const start: typeof startInListedConversation = (_, preparedRun, startOptions) =>
    startInListedConversation(context, preparedRun, startOptions).catch((error: unknown) => {
      if (previous === undefined || !(error instanceof Problem) || error.details.code !== 'run_not_last') throw error
      return startInBranch(context, preparedRun, { id, previous })
    })
  const turn = { id, create, after: previous, answers, parameters, start }
  if (!hasResults) return takeTurn(context, turn)
  // The request sends results once: they are not ignored as those of a history are.
  return takeTurn(context, { ...turn, start: () => Promise.reject(nothingToAnswer()) }).catch(
    async (error: unknown) => {
      if (!(error instanceof Problem) || error.details.code !== 'call_already_answered') throw error
      const { record } = unwrapReply(await conversationStub(context, id).record(place.runId, 0))
      // A run that has failed is continued by a message, with what it has done.
      if (record.status === 'failed') return takeTurn(context, turn)
      const messages = await messagesUpTo(context, place, answers)
      if (!messages) throw error
      const request = withDefaults(await settingsOf(context, id), { ...parameters, input: [...messages, ...input] })
      return { handle: await startInNewConversation(context, request) }
    },
  )
}

/**
 * Returns the messages up to calls that a response has asked for, with these results in the place of those that it has got
 * since. Returns undefined if the response has not asked for all of these calls.
 */
async function messagesUpTo(
  context: RequestContext,
  place: ResponsePlace & { readonly conversation: string },
  answers: CallAnswers,
): Promise<readonly Message[] | undefined> {
  const askedCalls = new Set<string>()
  await storedRunHandle(context, place).follow((event) => {
    if (event.type === 'call.requested') askedCalls.add(event.callId)
  })
  const stored = await currentMessages(conversationStub(context, place.conversation), { upTo: place.runId })
  const at = stored.findLastIndex((message) => callsInMessage(message).some(({ callId }) => callId in answers))
  const calls = callsInMessage(stored[at])
  const results = calls.flatMap(({ callId, tool }): readonly Message[] => {
    const answer = answers[callId]
    if (!answer) return stored.filter((message) => message.role === 'tool' && message.callId === callId)
    if (!('result' in answer) || !askedCalls.has(callId)) return []
    return [{ role: 'tool', callId, tool, ok: answer.ok, content: answer.content ?? partsOf(answer.result) }]
  })
  return calls.length > 0 && results.length === calls.length ? [...stored.slice(0, at + 1), ...results] : undefined
}

/** Starts a run in a branch, because another response has followed `previous`: each continues in its own conversation. */
async function startInBranch(
  context: RequestContext,
  { run, tools }: PreparedRun,
  { id, previous }: { readonly id: string; readonly previous: string },
): Promise<RunHandle> {
  const expires = Date.now() + STORED_MS
  const conversation = await branchConversation(context, { id, previous, runId: run.runId, expires })
  const start = { id: conversation, onBusy: 'queue', create: false } as const
  return startInConversation(context, { run: { ...run, conversation }, tools }, start)
}

/** Starts a run in a new conversation, which is not listed; the ids of its responses contain its id. */
async function startInNewConversation(context: RequestContext, parameters: RunParameters): Promise<RunHandle> {
  const { setup, caller, request } = context
  requireBytes(context)
  const key = request.headers.get('idempotency-key')
  const name = key === null ? newId('conv') : `conv_${(await deriveRunId(caller.tenant, 'responses', key)).slice(4)}`
  const id = idIn(termsOfCaller(setup, caller)?.jurisdiction, name)
  const preparedRun = await prepareRun(context, parameters, { conversation: id })
  return startInConversation(context, preparedRun, {
    id,
    onBusy: 'queue',
    create: true,
    expires: Date.now() + STORED_MS,
  })
}

function makeCollector(reader: ResponseReader): Collector {
  return {
    event: (event) => reader.collect(event),
    result: () => {
      const { error } = reader
      return error ? { ok: false, error } : { ok: true, body: reader.response }
    },
  }
}

/** Returns the conversation and the run that a request continues: those of the response or the item that it names. */
function earlierPlace({ previous, reference }: ResponsesRequest): { id: string; previous: string } | undefined {
  if (previous === undefined) return reference && { id: reference.conversation, previous: reference.runId }
  const place = parseResponseId(previous)
  if (place) return { id: place.conversation, previous: place.runId }
  const message = 'There is no such response, or it was not stored.'
  throw new Problem({ status: 400, code: 'previous_response_not_found', message, param: 'previous_response_id' })
}

function parametersOf({
  model,
  instructions,
  clientTools,
  toolChoice,
  responseFormat,
  sampling,
  options,
}: ResponsesRequest) {
  return {
    ...options,
    namesFiles: true,
    model,
    system: instructions,
    clientTools,
    toolChoice,
    responseFormat,
    sampling,
  }
}
