import { traceOf } from '../../../contract/trace.ts'
import { Hono } from 'hono/tiny'
import type { ConversationSettings, Location } from '../../../contract/conversation.ts'
import { termsOfCaller } from '../../../contract/caller-terms.ts'
import { newId } from '../../../contract/id.ts'
import { idIn, jurisdictionOf } from '../../../contract/placement.ts'
import type { Setup } from '../../../contract/setup.ts'
import { decodeConversationBody, decodeForkBody } from '../../../wire/client/conversation.ts'
import { conversationOfPath, runIdOfPath } from './addressed.ts'
import { requireScope } from '../../middleware/auth.ts'
import { readJson } from '../../request-body.ts'
import { shareOfBudget } from '../../runs/budget.ts'
import type { EdgeEnv } from '../../context.ts'
import { copyMessages } from '../../runs/copy-messages.ts'
import { conversationStub } from '../../runs/conversation-stub.ts'
import { countCreated, type CreationContext, requireRoom } from '../../runs/storage-quota.ts'
import { storedRunHandle } from '../../runs/run-handle.ts'
import { answerFormat } from '../../respond/format.ts'
import { unwrapReply, Problem } from '../../problem.ts'
import { invalidRequest } from '../runs.ts'
import { cacheSettings } from '../../runs/conversation-settings.ts'

/** The routes that create, fork, export and delete conversations, and that run a turn again. */
export const conversationLife = new Hono<EdgeEnv>()

conversationLife.post('/', async (c) => {
  requireScope(c.env.caller, 'chat')
  const { setup } = c.env
  const hasBody = c.req.header('content-type') !== undefined
  const decoded = decodeConversationBody(hasBody ? await readJson(c.req.raw, setup.config.maxBodyBytes) : {})
  if (!decoded.ok) throw invalidRequest(decoded.error)
  const { location, jurisdiction, id: requestedId, ...settings } = decoded.request
  const { jurisdiction: ofKey } = termsOfCaller(setup, c.env.caller) ?? {}
  const id = requestedId ?? idIn(jurisdiction ?? ofKey, newId('conv'))
  if (jurisdiction !== undefined && jurisdictionOf(id) !== jurisdiction) {
    throw invalidRequest({
      message: `The id of a conversation in this jurisdiction must begin with "${jurisdiction}__".`,
      path: 'id',
    })
  }
  checkSettings(setup, settings)
  await createConversation(c.env, { id, settings, ...(location && { location }) })
  return c.json({ id }, 201)
})

conversationLife.post('/:id/fork', async (c) => {
  requireScope(c.env.caller, 'chat')
  const { setup } = c.env
  const source = conversationOfPath(c)
  const decoded = decodeForkBody(await readJson(c.req.raw, setup.config.maxBodyBytes))
  if (!decoded.ok) throw invalidRequest(decoded.error)
  const { at } = decoded.request
  const [last] = unwrapReply(await source.messages({ before: at + 1, limit: 1 })).messages
  if (last?.position !== at)
    throw new Problem({ status: 404, code: 'unknown_message', message: 'There is no such message.' })
  const { role } = last.message
  if (role === 'tool' || (role === 'assistant' && last.message.calls)) {
    const message = 'A conversation can be forked only at a user message or at an answer, not in the middle of a turn.'
    throw new Problem({ status: 422, code: 'not_a_turn', message, param: 'at' })
  }
  const { settings } = unwrapReply(await source.settings())
  const jurisdiction = jurisdictionOf(c.req.param('id'))
  const { id = idIn(jurisdiction, newId('conv')) } = decoded.request
  if (jurisdictionOf(id) !== jurisdiction) {
    throw invalidRequest({ message: 'A fork must be in the jurisdiction of its conversation.', path: 'id' })
  }
  const target = await createConversation(c.env, { id, settings, isNew: true })
  try {
    await copyMessages(source, target, { before: at + 1 })
  } catch (error) {
    // A part of the messages is of no use, and the tenant has no room for it.
    if (error instanceof Problem && error.details.code === 'quota_exceeded') await target.remove()
    throw error
  }
  return c.json({ id }, 201)
})

conversationLife.post('/:id/runs/:run/regenerate', async (c) => {
  requireScope(c.env.caller, 'chat')
  const service = conversationOfPath(c)
  const answer = answerFormat(c)
  const runId = newId('run')
  const budget = await shareOfBudget(c.env, runId)
  const trace = traceOf(c.req.raw.headers.get('traceparent'), runId, c.env.setup.hasSpans === true)
  const repeat = { runId, caller: c.env.caller, ...(budget && { budget }), ...(trace && { trace }) }
  unwrapReply(await service.regenerate(runIdOfPath(c), repeat))
  return answer(storedRunHandle(c.env, { runId, conversation: c.req.param('id'), after: 0 }))
})

conversationLife.get('/:id/export', async (c) => {
  requireScope(c.env.caller, 'chat')
  const { stream } = unwrapReply(await conversationOfPath(c).export())
  return new Response(stream, { headers: { 'content-type': 'application/x-ndjson' } })
})

conversationLife.delete('/:id', async (c) => {
  requireScope(c.env.caller, 'chat')
  const { setup, caller } = c.env
  const reply = await conversationOfPath(c).remove()
  // Also if the conversation was deleted before, but could not be removed from the directory.
  if (reply.ok || reply.code === 'conversation_deleted') {
    await setup.directories.getByName(caller.tenant).remove(c.req.param('id'))
  }
  unwrapReply(reply)
  return c.body(null, 204)
})

/**
 * Creates a conversation. Returns an existing one instead, unless the request has settings, which never change, or
 * wants a new one: then throws a Problem 409.
 */
async function createConversation(
  context: CreationContext,
  { location, isNew = false, id, settings }: NewConversation,
): Promise<ReturnType<typeof conversationStub>> {
  const { tenant } = context.caller
  await requireRoom(context, id, isNew ? Infinity : JSON.stringify(settings).length)
  const service = conversationStub(context, id, location)
  const { created } = unwrapReply(await service.create({ tenant, id, settings }))
  if (created) {
    cacheSettings(context, id, settings)
    countCreated(context)
  }
  if (created || (!isNew && Object.keys(settings).length === 0)) return service
  const message = 'A conversation with this id already exists; its settings cannot be changed.'
  throw new Problem({ status: 409, code: 'conversation_exists', message, param: 'id' })
}

interface NewConversation {
  readonly id: string
  readonly settings: ConversationSettings
  readonly location?: Location
  readonly isNew?: boolean
}

function checkSettings({ models, webhooks, summaries }: Setup, { model, webhook, window }: ConversationSettings): void {
  const resolved = model === undefined ? undefined : models.resolve(model)
  if (resolved?.ok === false) throw invalidRequest({ message: resolved.message, path: 'model' })
  if (window?.summary && !summaries) {
    throw invalidRequest({ message: 'This edge makes no summaries.', path: 'window.summary' })
  }
  if (webhook === undefined) return
  const message = webhooks ? webhooks.refusal(webhook) : 'This edge sends no webhooks.'
  if (message !== undefined) throw invalidRequest({ message, path: 'webhook' })
}
