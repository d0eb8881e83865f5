import { Hono } from 'hono/tiny'
import { newId, runOfCall } from '../../contract/id.ts'
import type { Message } from '../../contract/message.ts'
import { UNKNOWN_WINDOW } from '../../contract/model.ts'
import type { Setup } from '../../contract/setup.ts'
import {
  anthropicErrorObject,
  isOverload,
  messageCollector,
  messageEncoder,
  type MessageOptions,
} from '../../wire/client/anthropic-messages/answer.ts'
import { decodeCount, decodeMessages, type MessagesRequest } from '../../wire/client/anthropic-messages/request.ts'
import { readBetas } from '../../wire/client/anthropic-messages/members.ts'
import { chooseRounds, isHeldBack, newPart } from '../../wire/client/request.ts'
import { summaryMessage } from '../../wire/client/summary.ts'
import { makeWaitingText } from '../../wire/client/visible-text.ts'
import { type EdgeEnv, requestContext } from '../context.ts'
import type { RequestContext } from '../request-context.ts'
import { requireScope } from '../middleware/auth.ts'
import { type Problem, problemHeaders, unwrapRequest } from '../problem.ts'
import { readJson } from '../request-body.ts'
import { type MemberReport, reportMembers, withHeaders, withHosted } from '../respond/ignored.ts'
import { streamRun } from '../respond/stream.ts'
import { type AppliedEdit, editContext } from '../runs/context-edits.ts'
import { startSummary, summarize, withSummaryRequest } from '../runs/summary.ts'
import type { RunHandle } from '../runs/run-handle.ts'
import { takeMessages } from '../runs/stateless-turn.ts'
import { collectRun, type ConversationTarget, conversationTarget } from '../runs/place-run.ts'
import { estimateTokens, modelOf, type RunParameters } from '../runs/prepare-run.ts'
import type { SurfacePart } from '../surface.ts'

const app = new Hono<EdgeEnv>()
const models = new Hono<EdgeEnv>()

/** The header with the version of the API, which all clients of Anthropic's send. */
const VERSION = 'anthropic-version'

/** `POST /v1/messages`, for clients of Anthropic's Messages API. Keys may also come in the header `x-api-key`. */
export const messagesApi: SurfacePart = {
  name: 'messagesApi',
  surfaces: [
    {
      routes: { '/v1/messages': app },
      dialect: { under: '/v1/messages', keyHeader: 'x-api-key', answer: anthropicError },
    },
    {
      routes: { '/v1/models': models },
      dialect: { under: '/v1/models', header: VERSION, keyHeader: 'x-api-key', answer: anthropicError },
    },
  ],
}

app.post('/', async (c) => {
  const { setup, caller } = c.env
  requireScope(caller, 'chat')
  const request = unwrapRequest(decodeMessages(await readJson(c.req.raw, setup.config.maxBodyBytes)))
  const { stream, model = setup.config.model ?? '', messages, edgecall, responseFormat } = request
  const target = conversationTarget(c.req.raw, edgecall.conversation, 'edgecall.conversation')
  const requested = requestContext(c, stream ? 'text' : 'end')
  const members = await readMembers(requested, request, target !== undefined)
  const { parameters, edits } = members
  const context = { ...requested, replacements: members.replacements }
  const { handle, ...compaction } = await start(context, request, { parameters, target })
  // Each message of a run has its own id: one that continues with results is named after the last call among them.
  const lastResult = newPart(messages).results.findLast(({ callId }) => runOfCall(callId) === handle.runId)
  const options: MessageOptions = {
    id: `msg_${lastResult?.callId ?? handle.runId}`,
    model,
    toolNames: request.toolNames,
    created: Date.now(),
    conversation: handle.conversation,
    rounds: chooseRounds(setup.config, edgecall, stream),
    waitsForAnswer: isHeldBack(responseFormat),
    waitingText: makeWaitingText(handle),
    edits,
    ...compaction,
    showsCalls: /\bmcp-client\b/.test(c.req.header('anthropic-beta') ?? ''),
  }
  const headers = { 'request-id': handle.runId, ...members.headers() }
  if (stream) return streamRun(handle, messageEncoder(options), { headers })
  return withHeaders(await collectRun(handle, messageCollector(options)), headers)
})

/**
 * Starts or continues the run of a request. If a summary of its messages is asked for, and they are long enough, the run
 * writes that summary, or begins with it. A conversation shortens by itself.
 */
async function start(
  context: RequestContext,
  { compaction }: MessagesRequest,
  { parameters, target }: { readonly parameters: RunParameters; readonly target: ConversationTarget | undefined },
): Promise<{ readonly handle: RunHandle } & Pick<MessageOptions, 'isCompaction' | 'summary'>> {
  const isLong =
    compaction !== undefined &&
    (compaction.trigger === 0 ||
      (target === undefined && (await estimateTokens(context, parameters)) > compaction.trigger))
  if (!isLong) return takeMessages(context, parameters, target)
  const { max_completion_tokens: _most, stop: _stop, ...sampling } = parameters.sampling ?? {}
  const input = withSummaryRequest(parameters.input, compaction.instructions)
  const request = { ...parameters, sampling, input }
  if (compaction.isAnswer) return { handle: await startSummary(context, request), isCompaction: true }
  const summary = await summarize(context, request)
  if (summary.text === null) return { ...(await takeMessages(context, parameters, target)), summary }
  // What the request has asked last is left as it is.
  const { others } = newPart(parameters.input)
  const isSystem = ({ role }: Message) => role === 'system'
  const first = parameters.input.filter((message) => isSystem(message) && !others.includes(message))
  const messages = [...first, summaryMessage(summary.text), ...others]
  return { ...(await takeMessages(context, { ...parameters, input: messages }, target)), summary }
}

/** Counts by the estimate with which the edge plans what a model sees: no provider is asked. */
app.post('/count_tokens', async (c) => {
  requireScope(c.env.caller, 'chat')
  const json = await readJson(c.req.raw, c.env.setup.config.maxBodyBytes)
  const request = unwrapRequest(decodeCount(json))
  const context = requestContext(c)
  const { parameters, headers, replacements, edits } = await readMembers(context, request)
  const input_tokens = await estimateTokens({ ...context, replacements }, parameters)
  const cleared = (edits ?? []).reduce((total, edit) => total + edit.cleared_input_tokens, 0)
  const context_management = edits && { original_input_tokens: input_tokens + cleared }
  return c.json({ input_tokens, ...(context_management && { context_management }) }, { headers: headers() })
})

/** Returns the parameters of a request for the tools that the edge has, and what says what it ignores. */
async function readMembers(
  context: RequestContext,
  request: MessagesRequest,
  isStored = false,
): Promise<
  Pick<MemberReport, 'headers' | 'replacements'> & {
    readonly parameters: RunParameters
    readonly edits?: readonly AppliedEdit[] | undefined
  }
> {
  const { tools, ignored } = await withHosted(context, request.edgecall.tools, request.hostedTools)
  const betas = readBetas(context.request.headers.get('anthropic-beta') ?? undefined)
  const { hints, ...report } = reportMembers(context, '/v1/messages', {
    model: request.model,
    ignored: [...request.ignored, ...ignored],
    hints: [...request.hints, ...betas],
  })
  // A conversation shortens what it has stored by itself.
  const edited = editContext(request.messages, isStored ? [] : (request.edits ?? []))
  const parameters = { ...toParameters(request), input: edited.messages, hints, ...(tools && { tools }) }
  return { parameters, ...report, ...(request.edits && { edits: edited.edits }) }
}

function toParameters({
  model,
  messages,
  clientTools,
  toolChoice,
  responseFormat,
  sampling,
  edgecall,
}: MessagesRequest): RunParameters {
  const { conversation: _, rounds: __, ...options } = edgecall
  return { namesFiles: true, input: messages, model, clientTools, toolChoice, responseFormat, sampling, ...options }
}

models.get('/', (c, next) => {
  if (c.req.header(VERSION) === undefined) return next()
  const { setup, caller } = c.env
  requireScope(caller, 'chat')
  const data = setup.models.list().map((name) => describeModel(setup, name))
  const [first_id, last_id] = [data[0]?.id ?? null, data.at(-1)?.id ?? null]
  return c.json({ data, has_more: false, first_id, last_id })
})

models.get('/:name{.+}', (c, next) => {
  if (c.req.header(VERSION) === undefined) return next()
  requireScope(c.env.caller, 'chat')
  return c.json(describeModel(c.env.setup, modelOf(c.env.setup, c.req.param('name')).name))
})

function describeModel({ models }: Setup, id: string) {
  const resolution = models.resolve(id)
  const { contextTokens, outputTokens = null } = (resolution.ok && resolution.model.window) || UNKNOWN_WINDOW
  const limits = { max_input_tokens: contextTokens, max_tokens: outputTokens }
  return { type: 'model', id, display_name: id, created_at: CREATED, ...limits }
}

/** The time of every model, as in `GET /v1/models` of OpenAI's clients. */
const CREATED = '2026-01-01T00:00:00Z'

/** Returns a response in Anthropic's error format. Its request is named after the run, if there is one. */
function anthropicError({ details }: Problem): Response {
  const status = isOverload(details.code) ? 529 : details.status
  const { runId } = details.extra ?? {}
  const id = typeof runId === 'string' ? runId : newId('req')
  const headers = { ...problemHeaders(details), 'request-id': id }
  return Response.json(anthropicErrorObject(details, id), { status, headers })
}
