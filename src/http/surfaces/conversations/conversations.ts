import { Hono } from 'hono/tiny'
import { isFilledIn } from '../../../contract/input.ts'
import { canonicalJson, isObject, sha256 } from '../../../contract/json.ts'
import type { CallAnswer, ConversationService } from '../../../contract/conversation.ts'
import { parseEventId } from '../../../wire/events.ts'
import { decodeRunBody } from '../../../wire/client/request.ts'
import { prepareRun } from '../../runs/prepare-run.ts'
import { conversationIdOfPath, pageOf, pageSize, positive, runIdOfPath, conversationOfPath } from './addressed.ts'
import { passThrough } from '../../respond/open-streams.ts'
import { requireScope } from '../../middleware/auth.ts'
import { readJson } from '../../request-body.ts'
import { requestContext, type EdgeEnv } from '../../context.ts'
import { signAnswer } from '../../runs/continue-run.ts'
import { conversationLife } from './conversation-life.ts'
import { answerFormat, queryFormat } from '../../respond/format.ts'
import { startInConversation } from '../../runs/start-run.ts'
import { storedRunHandle } from '../../runs/run-handle.ts'
import { answerRecord, wantsEvents } from '../../respond/native.ts'
import { unwrapReply, Problem } from '../../problem.ts'
import { runHeaders } from '../../runs/run-headers.ts'
import { invalidRequest } from '../runs.ts'
import { SSE_HEADERS } from '../../respond/stream.ts'

/** `/conversations`: creates, lists and deletes them; starts, follows and cancels their runs; answers calls. */
export const conversations = new Hono<EdgeEnv>()

conversations.route('/', conversationLife)

conversations.get('/', async (c) => {
  requireScope(c.env.caller, 'chat')
  const { setup, caller } = c.env
  const { after = '', limit } = c.req.query()
  const ids = await setup.directories.getByName(caller.tenant).list(after, pageSize(limit))
  return c.json(ids.map((id) => ({ id })))
})

conversations.get('/:id/runs', async (c) => {
  requireScope(c.env.caller, 'chat')
  const { before, limit } = c.req.query()
  return c.json(unwrapReply(await conversationOfPath(c).runs({ before, limit: pageSize(limit) })).runs)
})

conversations.get('/:id/messages', async (c) => {
  requireScope(c.env.caller, 'chat')
  return c.json(unwrapReply(await conversationOfPath(c).messages(pageOf(c.req.query()))).messages)
})

conversations.get('/:id/usage', async (c) => {
  requireScope(c.env.caller, 'chat')
  const { usage, runs } = unwrapReply(await conversationOfPath(c).usage())
  return c.json({ ...usage, runs })
})

conversations.post('/:id/runs', async (c) => {
  requireScope(c.env.caller, 'chat')
  const { setup } = c.env
  const id = conversationIdOfPath(c)
  const answer = answerFormat(c)
  const decoded = decodeRunBody(await readJson(c.req.raw, setup.config.maxBodyBytes))
  if (!decoded.ok) throw invalidRequest(decoded.error)
  const context = requestContext(c, wantsEvents(c.req.raw) ? 'all' : undefined)
  const preparedRun = await prepareRun(context, decoded.request, { conversation: id })
  return answer(await startInConversation(context, preparedRun, { id, onBusy: 'queue', create: false }))
})

conversations.get('/:id/runs/:run', async (c) => {
  requireScope(c.env.caller, 'chat')
  return c.json(unwrapReply(await conversationOfPath(c).record(runIdOfPath(c), 0)).record)
})

conversations.get('/:id/runs/:run/events', async (c) => {
  requireScope(c.env.caller, 'chat')
  const runId = runIdOfPath(c)
  const format = queryFormat(c)
  // The failure of a run is sent as an event: this request itself has not failed.
  if (format)
    return format(storedRunHandle(c.env, { runId, conversation: conversationIdOfPath(c), after: 0 }), () => {})
  const after = eventNumber(runId, c.req.header('last-event-id') ?? c.req.query('after'))
  const { stream } = unwrapReply(await conversationOfPath(c).events(runId, after))
  return new Response(passThrough(stream), {
    headers: { ...SSE_HEADERS, ...runHeaders({ runId, conversation: c.req.param('id') }) },
  })
})

conversations.get('/:id/runs/:run/steps/:step/request', async (c) => {
  // The system text and the definitions are the operator's.
  for (const scope of ['tools:admin', 'chat'] as const) requireScope(c.env.caller, scope)
  const step = positive(c.req.param('step'), 'step')
  return c.json(unwrapReply(await conversationOfPath(c).stepRequest(runIdOfPath(c), step)).request)
})

conversations.get('/:id/runs/:run/faults', async (c) => {
  for (const scope of ['tools:admin', 'chat'] as const) requireScope(c.env.caller, scope)
  return c.json({ faults: unwrapReply(await conversationOfPath(c).faults(runIdOfPath(c))).faults })
})

conversations.post('/:id/runs/:run/cancel', async (c) => {
  requireScope(c.env.caller, 'chat')
  const { status } = unwrapReply(await conversationOfPath(c).cancel(runIdOfPath(c)))
  return c.json({ status })
})

conversations.post('/:id/runs/:run/retry', async (c) => {
  requireScope(c.env.caller, 'chat')
  return c.json(unwrapReply(await conversationOfPath(c).retry(runIdOfPath(c))).record)
})

conversations.get('/:id/runs/:run/calls/:call', async (c) => {
  requireScope(c.env.caller, 'approve')
  const { approval } = unwrapReply(await conversationOfPath(c).approval(runIdOfPath(c), c.req.param('call')))
  return c.json({ conversation: c.req.param('id'), ...approval })
})

conversations.post('/:id/runs/:run/calls/:call', async (c) => {
  const { setup, caller } = c.env
  const body = await readJson(c.req.raw, setup.config.maxBodyBytes)
  const answer = await callAnswer(body)
  const isDecision = 'decision' in answer
  requireScope(caller, isDecision ? 'approve' : 'chat')
  const service = conversationOfPath(c)
  const runId = runIdOfPath(c)
  const call = c.req.param('call')
  if (isDecision) await checkArgumentsHash(service, { runId, call, body })
  const { record } = unwrapReply(await service.answer(runId, { [call]: signAnswer(caller, answer) }))
  // A key that may only decide gets nothing else of the run.
  if (!caller.scopes.includes('chat')) return c.json({ id: runId, status: record.status })
  return record.status === 'running' ? c.json(record) : answerRecord(record, { runId, conversation: c.req.param('id') })
})

/**
 * Parses the id of the event after which to read: `<run>.<seq>`, or `<seq>` alone; empty for all events. Any other text
 * becomes Infinity, which the conversation refuses.
 */
function eventNumber(runId: string, text = ''): number {
  if (/^\d{0,15}$/.test(text)) return Number(text)
  const id = parseEventId(text)
  return id?.runId === runId ? id.seq : Infinity
}

async function callAnswer(body: unknown): Promise<CallAnswer> {
  if (isObject(body)) {
    const { decision, reason, result, ok = true, arguments: args, input } = body
    if ((decision === 'approve' || decision === 'reject') && (reason === undefined || typeof reason === 'string')) {
      return {
        ...{ decision, ...(reason !== undefined && { reason }) },
        ...(await changedArguments(decision, args)),
        ...filledIn(input),
      }
    }
    if (result !== undefined && typeof ok === 'boolean') {
      return { result: typeof result === 'string' ? result : JSON.stringify(result), ok }
    }
  }
  const message =
    'Send { "decision": "approve" or "reject", "reason"?, "argumentsHash"?, "arguments"?, "input"? } or { "result": … }.'
  throw invalidRequest({ message, path: 'decision' })
}

/** Reads the arguments that a person puts in the place of the model's. Only the approval of a call may have them. */
async function changedArguments(decision: string, value: unknown) {
  if (value === undefined) return {}
  if (decision === 'approve' && isObject(value)) {
    return { arguments: JSON.stringify(value), argumentsHash: await sha256(canonicalJson(value)) }
  }
  throw invalidRequest({ message: 'Expected an object, in an approval.', path: 'arguments' })
}

/** Reads what a person filled in, by the names of what the call asks for. */
function filledIn(value: unknown) {
  if (value === undefined) return {}
  if (isFilledIn(value)) return { input: value }
  throw invalidRequest({ message: 'Expected an object whose members are objects.', path: 'input' })
}

/**
 * Throws a Problem 409 if a decision names the arguments that it is about (`argumentsHash`, the SHA-256 of their
 * canonical JSON), and the call has others.
 */
async function checkArgumentsHash(
  service: ConversationService,
  { runId, call, body }: { runId: string; call: string; body: unknown },
): Promise<void> {
  const argumentsHash = isObject(body) ? body.argumentsHash : undefined
  if (argumentsHash === undefined) return
  const { calls } = unwrapReply(await service.record(runId, 0)).record
  const record = calls.find(({ id }) => id === call)
  if (!record || (await sha256(canonicalJson(record.arguments))) === argumentsHash) return
  const message = 'The arguments of this call do not match `argumentsHash`.'
  throw new Problem({ status: 409, code: 'arguments_changed', message, param: 'argumentsHash' })
}
