import { Hono } from 'hono/tiny'
import { canonicalJson, isObject, sha256 } from '../../../contract/json.ts'
import type { CallAnswer, ConversationService } from '../../../contract/conversation.ts'
import { parseEventId } from '../../../wire/events.ts'
import { decodeRunBody } from '../../../wire/client/request.ts'
import { accept } from '../../runs/prepare-run.ts'
import { idOf, pageOf, pageSize, runIdOf, serviceOf } from './addressed.ts'
import { demand } from '../../middleware/auth.ts'
import { readJson } from '../../request-body.ts'
import { askedBy, type EdgeEnv } from '../../context.ts'
import { signedBy } from '../../runs/continue-run.ts'
import { conversationLife } from './conversation-life.ts'
import { answering, formatOf } from '../../respond/format.ts'
import { launchThere } from '../../runs/start-run.ts'
import { following } from '../../runs/run-handle.ts'
import { answerRecord } from '../../respond/native.ts'
import { granted, Problem } from '../../problem.ts'
import { runHeaders } from '../../runs/run-headers.ts'
import { invalidRequest } from '../runs.ts'
import { SSE_HEADERS } from '../../respond/stream.ts'

/** `/conversations`: creates, lists and deletes them; starts, follows and cancels their runs; answers calls. */
export const conversations = new Hono<EdgeEnv>()

conversations.route('/', conversationLife)

conversations.get('/', async (c) => {
  demand(c.env.caller, 'chat')
  const { setup, caller } = c.env
  const { after = '', limit } = c.req.query()
  const ids = await setup.directories.getByName(caller.tenant).list(after, pageSize(limit))
  return c.json(ids.map((id) => ({ id })))
})

conversations.get('/:id/runs', async (c) => {
  demand(c.env.caller, 'chat')
  const { before, limit } = c.req.query()
  return c.json(granted(await serviceOf(c).runs({ before, limit: pageSize(limit) })).runs)
})

conversations.get('/:id/messages', async (c) => {
  demand(c.env.caller, 'chat')
  return c.json(granted(await serviceOf(c).messages(pageOf(c.req.query()))).messages)
})

conversations.get('/:id/usage', async (c) => {
  demand(c.env.caller, 'chat')
  const { usage, runs } = granted(await serviceOf(c).usage())
  return c.json({ ...usage, runs })
})

conversations.post('/:id/runs', async (c) => {
  demand(c.env.caller, 'chat')
  const { setup } = c.env
  const id = idOf(c)
  const answer = answering(c.req.raw)
  const decoded = decodeRunBody(await readJson(c.req.raw, setup.config.maxBodyBytes))
  if (!decoded.ok) throw invalidRequest(decoded.error)
  const accepted = await accept(askedBy(c), decoded.request, { conversation: id })
  const { onBusy = 'queue' } = decoded.request
  return answer(await launchThere(setup, accepted, { id, onBusy, create: false }))
})

conversations.get('/:id/runs/:run', async (c) => {
  demand(c.env.caller, 'chat')
  return c.json(granted(await serviceOf(c).record(runIdOf(c), 0)).record)
})

conversations.get('/:id/runs/:run/events', async (c) => {
  demand(c.env.caller, 'chat')
  const runId = runIdOf(c)
  const format = formatOf(c.req.raw)
  // The failure of a run is sent as an event: this request itself has not failed.
  if (format) return format(following(c.env, { runId, conversation: idOf(c), after: 0 }), () => {})
  const after = cursor(runId, c.req.header('last-event-id') ?? c.req.query('after'))
  const { stream } = granted(await serviceOf(c).events(runId, after))
  return new Response(stream, {
    headers: { ...SSE_HEADERS, ...runHeaders({ runId, conversation: c.req.param('id') }) },
  })
})

conversations.post('/:id/runs/:run/cancel', async (c) => {
  demand(c.env.caller, 'chat')
  const { status } = granted(await serviceOf(c).cancel(runIdOf(c)))
  return c.json({ status })
})

conversations.post('/:id/runs/:run/calls/:call', async (c) => {
  const { setup, caller } = c.env
  const body = await readJson(c.req.raw, setup.config.maxBodyBytes)
  const answer = callAnswer(body)
  const isDecision = 'decision' in answer
  demand(caller, isDecision ? 'approve' : 'chat')
  const service = serviceOf(c)
  const runId = runIdOf(c)
  const call = c.req.param('call')
  if (isDecision) await checkSeen(service, { runId, call, body })
  const { record } = granted(await service.answer(runId, { [call]: signedBy(caller, answer) }))
  return record.status === 'running' ? c.json(record) : answerRecord(record, { runId, conversation: c.req.param('id') })
})

/**
 * Parses the id of the event after which to read: `<run>.<seq>`, or `<seq>` alone; empty for all events. Any other text
 * becomes Infinity, which the conversation refuses.
 */
function cursor(runId: string, text = ''): number {
  if (/^\d{0,15}$/.test(text)) return Number(text)
  const id = parseEventId(text)
  return id?.runId === runId ? id.seq : Infinity
}

function callAnswer(body: unknown): CallAnswer {
  if (isObject(body)) {
    const { decision, reason, result, ok = true } = body
    if ((decision === 'approve' || decision === 'reject') && (reason === undefined || typeof reason === 'string')) {
      return reason === undefined ? { decision } : { decision, reason }
    }
    if (result !== undefined && typeof ok === 'boolean') {
      return { result: typeof result === 'string' ? result : JSON.stringify(result), ok }
    }
  }
  const message = 'Send { "decision": "approve" or "reject", "reason"?, "argumentsHash"? } or { "result": … }.'
  throw invalidRequest({ message, path: 'decision' })
}

/**
 * Throws a Problem 409 if a decision names the arguments that it is about (`argumentsHash`, the SHA-256 of their
 * canonical JSON), and the call has others.
 */
async function checkSeen(
  service: ConversationService,
  { runId, call, body }: { runId: string; call: string; body: unknown },
): Promise<void> {
  const seen = isObject(body) ? body.argumentsHash : undefined
  if (seen === undefined) return
  const { calls } = granted(await service.record(runId, 0)).record
  const asked = calls.find(({ id }) => id === call)
  if (!asked || (await sha256(canonicalJson(asked.arguments))) === seen) return
  const message = 'The arguments of this call are others than those that were decided about.'
  throw new Problem({ status: 409, code: 'arguments_changed', message, param: 'argumentsHash' })
}
