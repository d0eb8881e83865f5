import { traceOf } from '../../contract/trace.ts'
import { Hono } from 'hono/tiny'
import type { ConversationService } from '../../contract/conversation.ts'
import { ID, newId } from '../../contract/id.ts'
import { isObject } from '../../contract/json.ts'
import { isTerminal, type RunRecord, waitsBelow } from '../../contract/run.ts'
import { uiMessagesOf } from '../../wire/client/ui-message/message.ts'
import { decodeUiChat, type UiChatRequest } from '../../wire/client/ui-message/request.ts'
import { UI_MESSAGE_HEADERS, UiMessageEncoder } from '../../wire/client/ui-message/stream.ts'
import { requireScope } from '../middleware/auth.ts'
import { readJson } from '../request-body.ts'
import { shareOfBudget } from '../runs/budget.ts'
import { requestContext, type EdgeEnv } from '../context.ts'
import type { RequestContext } from '../request-context.ts'
import { takeTurn } from '../runs/continue-run.ts'
import { conversationStub } from '../runs/conversation-stub.ts'
import { type RunHandle, storedRunHandle } from '../runs/run-handle.ts'
import { type Problem, problemHeaders, problemJson, unwrapReply } from '../problem.ts'
import { newMessages, readTurns } from '../runs/read-turns.ts'
import { pageOfTurns } from './conversations/conversations.ts'
import { invalidRequest } from './runs.ts'
import { streamRun } from '../respond/stream.ts'
import type { ProblemContext, SurfacePart } from '../surface.ts'

const app = new Hono<EdgeEnv>()

/** `/chat`: the protocol of the AI SDK's `useChat`. The id of a chat is that of its conversation. */
export const uiChat: SurfacePart = {
  name: 'uiChat',
  surfaces: [
    {
      routes: { '/chat': app },
      formats: {
        'ui-message': (handle, beginsAtOnce) =>
          streamRun(handle, new UiMessageEncoder(handle), { headers: UI_MESSAGE_HEADERS, beginsAtOnce }),
      },
      dialect: { under: '/chat', answer: sentenceOrJson },
    },
  ],
}

app.post('/', async (c) => {
  requireScope(c.env.caller, 'chat')
  const json = await readJson(c.req.raw, c.env.setup.config.maxBodyBytes)
  const turn = turnOf(json)
  const { conversation, version } = turn
  const context = requestContext(c, 'all')
  const handle =
    (await regenerateTurn(context, turn)) ??
    (await startTurn(context, turn.regenerate === undefined ? turn : turnOf(json, 'submit-message')))
  return streamRun(handle, new UiMessageEncoder({ version, conversation }), { headers: UI_MESSAGE_HEADERS })
})

function turnOf(json: unknown, trigger?: string): UiChatRequest {
  const decoded = decodeUiChat(trigger ? Object.assign({}, json, { trigger }) : json)
  if (!decoded.ok) throw invalidRequest(decoded.error)
  return decoded.request
}

async function startTurn(
  context: RequestContext,
  { conversation, answers, parameters, follows }: UiChatRequest,
): Promise<RunHandle> {
  const service = conversationStub(context, conversation)
  const replaces = follows === undefined ? undefined : await turnAfter(service, follows)
  const input = follows === undefined ? await newMessages(service, parameters?.input) : parameters?.input
  const turn = { answers, parameters: parameters && input && { ...parameters, input }, replaces }
  return (await takeTurn(context, { id: conversation, create: true, ...turn })).handle
}

/**
 * Runs a turn again, in place of that turn and all later ones; the id of an answer is that of its run. Undefined if the
 * request does not ask for that, or if the message to be answered never arrived: that message then starts a new turn.
 */
async function regenerateTurn(
  context: RequestContext,
  { conversation, regenerate: replacedRun, follows = '' }: UiChatRequest,
): Promise<RunHandle | undefined> {
  if (replacedRun === undefined) return undefined
  const { caller } = context
  const service = conversationStub(context, conversation)
  const runId = newId('run')
  const budget = await shareOfBudget(context, runId)
  const trace = traceOf(context.request.headers.get('traceparent'), runId, context.setup.hasSpans === true)
  const newRun = { runId, caller, budget, trace }
  const regenerate = (run = '') => service.regenerate(run, newRun, { onward: true })
  const runs = replacedRun === '' ? await service.runs({ limit: 1 }) : undefined
  const last = runs?.ok ? runs.runs.at(-1)?.id : replacedRun
  let reply = await regenerate(last === follows ? '' : last)
  if (!reply.ok && reply.code.startsWith('unknown')) {
    const run = await turnAfter(service, follows)
    if (run === undefined) return undefined
    reply = await regenerate(run)
  }
  return storedRunHandle(context, { runId: unwrapReply(reply).runId, conversation, after: 0 })
}

/** Returns the run of the turn after that of a given run, if any; for '', that of the first turn, if any. */
async function turnAfter(service: ConversationService, run: string): Promise<string | undefined> {
  const reply = await service.turnAfter(run)
  return !reply.ok && run === '' ? undefined : unwrapReply(reply).run
}

/** Returns the messages of a chat, oldest first, without an answer in progress: `…/stream` has that. */
app.get('/:id', async (c) => {
  requireScope(c.env.caller, 'chat')
  const conversation = c.req.param('id')
  const turns = await readTurns(c.env, conversation, pageOfTurns(c))
  return c.json(turns.flatMap((turn) => uiMessagesOf(turn, conversation)))
})

/** Streams the answer that is in progress, from its start; 204 if there is none, as the client expects. */
app.get('/:id/stream', async (c) => {
  requireScope(c.env.caller, 'chat')
  const conversation = c.req.param('id')
  if (!ID.test(conversation)) return c.body(null, 204)
  const service = conversationStub(c.env, conversation)
  const reply = await service.runs({ limit: 1 })
  if (!reply.ok && reply.code === 'unknown_conversation') return c.body(null, 204)
  const run = unwrapReply(reply).runs.at(-1)
  if (!run || isTerminal(run.status)) return c.body(null, 204)
  if (run.status === 'waiting') {
    const { record } = unwrapReply(await service.record(run.id, 0))
    if (record.waitsFor !== 'agent') return c.body(null, 204)
  }
  const handle = storedRunHandle(c.env, { runId: run.id, conversation, after: 0 })
  const options = { headers: UI_MESSAGE_HEADERS, beginsAtOnce: true }
  return streamRun(handle, new UiMessageEncoder({ conversation }), options)
})

/**
 * Answers an error with its message alone if the request accepts any type, as the AI SDK does: it shows the body of the
 * answer as the error of the chat. The header `edgecall-error` has the code. Any other request gets JSON.
 */
function sentenceOrJson(problem: Problem, context?: ProblemContext): Response {
  if (/\bjson\b/i.test(context?.request.headers.get('accept') ?? 'json')) return problemJson(problem)
  const { details } = problem
  const { status, code, message, extra } = details
  const { run } = Object(extra)
  const isWaiting = code === 'run_waiting' && isRecord(run)
  return new Response(isWaiting ? waitingSentence(run) : message, {
    status,
    headers: { ...problemHeaders(details), 'content-type': 'text/plain; charset=utf-8', 'edgecall-error': code },
  })
}

function isRecord(run: unknown): run is RunRecord {
  return isObject(run) && Array.isArray(run['calls'])
}

/** Tells a person what a chat waits for. */
function waitingSentence(run: RunRecord): string {
  const toolsOf = (status: string) => run.calls.flatMap((call) => (call.status === status ? [call.tool] : []))
  const approvals = [...toolsOf('approval'), ...waitsBelow(run).map(({ tool }) => tool)]
  const list = (tools: readonly string[]) => tools.map((tool) => `"${tool}"`).join(' and ')
  if (approvals.length > 0)
    return `This chat waits for a decision about ${list(approvals)}. Approve or reject, then send the message again.`
  const own = toolsOf('caller')
  if (own.length > 0) return `This chat waits for the result of ${list(own)}. Then send the message again.`
  return 'This chat waits for a tool that answers later. Then send the message again.'
}
