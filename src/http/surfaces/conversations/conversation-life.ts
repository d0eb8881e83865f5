import { Hono } from 'hono/tiny'
import {
  type ConversationSettings,
  type Jurisdiction,
  type Location,
  mayNotify,
} from '../../../contract/conversation.ts'
import { newId } from '../../../contract/id.ts'
import type { Setup } from '../../../contract/setup.ts'
import { decodeConversationBody, decodeForkBody } from '../../../wire/client/conversation.ts'
import { serviceOf, runIdOf } from './addressed.ts'
import { demand } from '../../middleware/auth.ts'
import { readJson } from '../../request-body.ts'
import { budgetOf } from '../../runs/budget.ts'
import type { EdgeEnv } from '../../context.ts'
import { copyMessages } from '../../runs/copy-messages.ts'
import { conversationOf, jurisdictionOf } from '../../runs/conversation-stub.ts'
import { following } from '../../runs/run-handle.ts'
import { answering } from '../../respond/format.ts'
import { granted, Problem } from '../../problem.ts'
import { invalidRequest } from '../runs.ts'
import { remember } from '../../runs/conversation-settings.ts'

/** The routes that create, fork, export and delete conversations, and that run a turn again. */
export const conversationLife = new Hono<EdgeEnv>()

conversationLife.post('/', async (c) => {
  demand(c.env.caller, 'chat')
  const { setup, caller } = c.env
  const hasBody = c.req.header('content-type') !== undefined
  const decoded = decodeConversationBody(hasBody ? await readJson(c.req.raw, setup.config.maxBodyBytes) : {})
  if (!decoded.ok) throw invalidRequest(decoded.error)
  const { location, jurisdiction, id: wished, ...settings } = decoded.request
  const id = wished ?? newIdIn(jurisdiction)
  if (jurisdiction !== undefined && jurisdictionOf(id) !== jurisdiction) {
    throw invalidRequest({ message: `The id of a conversation there begins with "${jurisdiction}__".`, path: 'id' })
  }
  checkSettings(setup, settings)
  await make(setup, { tenant: caller.tenant, id, settings, ...(location && { location }) })
  await setup.directories.getByName(caller.tenant).add(id)
  return c.json({ id }, 201)
})

conversationLife.post('/:id/fork', async (c) => {
  demand(c.env.caller, 'chat')
  const { setup, caller } = c.env
  const source = serviceOf(c)
  const decoded = decodeForkBody(await readJson(c.req.raw, setup.config.maxBodyBytes))
  if (!decoded.ok) throw invalidRequest(decoded.error)
  const { at } = decoded.request
  const [last] = granted(await source.messages({ before: at + 1, limit: 1 })).messages
  if (last?.position !== at)
    throw new Problem({ status: 404, code: 'unknown_message', message: 'There is no such message.' })
  const { role } = last.message
  if (role === 'tool' || (role === 'assistant' && last.message.calls)) {
    const message = 'A conversation is forked at what a user said or at an answer, not in the middle of a turn.'
    throw new Problem({ status: 422, code: 'not_a_turn', message, param: 'at' })
  }
  const { settings } = granted(await source.settings())
  const place = jurisdictionOf(c.req.param('id'))
  const { id = newIdIn(place) } = decoded.request
  if (jurisdictionOf(id) !== place) {
    throw invalidRequest({ message: 'A fork stays in the jurisdiction of its conversation.', path: 'id' })
  }
  const target = await make(setup, { tenant: caller.tenant, id, settings, isNew: true })
  await copyMessages(source, target, { before: at + 1 })
  await setup.directories.getByName(caller.tenant).add(id)
  return c.json({ id }, 201)
})

function newIdIn(jurisdiction: Jurisdiction | undefined): string {
  return `${jurisdiction === undefined ? '' : `${jurisdiction}__`}${newId('conv')}`
}

conversationLife.post('/:id/runs/:run/regenerate', async (c) => {
  demand(c.env.caller, 'chat')
  const service = serviceOf(c)
  const answer = answering(c.req.raw)
  const budget = await budgetOf(c.env)
  const again = { runId: newId('run'), caller: c.env.caller, ...(budget && { budget }) }
  const { runId } = granted(await service.regenerate(runIdOf(c), again))
  return answer(following(c.env, { runId, conversation: c.req.param('id'), after: 0 }))
})

conversationLife.get('/:id/export', async (c) => {
  demand(c.env.caller, 'chat')
  const { stream } = granted(await serviceOf(c).export())
  return new Response(stream, { headers: { 'content-type': 'application/x-ndjson' } })
})

conversationLife.delete('/:id', async (c) => {
  demand(c.env.caller, 'chat')
  const { setup, caller } = c.env
  const removed = await serviceOf(c).remove()
  // Also if the conversation was deleted before, but could not be removed from the directory.
  if (removed.ok || removed.code === 'conversation_deleted') {
    await setup.directories.getByName(caller.tenant).remove(c.req.param('id'))
  }
  granted(removed)
  return c.body(null, 204)
})

/**
 * Creates a conversation. Returns an existing one instead, unless the request has settings, which never change, or
 * wants a new one: then throws a Problem 409.
 */
async function make(
  setup: Setup,
  { location, isNew = false, ...request }: MakeRequest,
): Promise<ReturnType<typeof conversationOf>> {
  const service = conversationOf(setup, request.tenant, request.id, location)
  const { created } = granted(await service.create(request))
  if (created) remember(setup, request.tenant, request.id, request.settings)
  if (created || (!isNew && Object.keys(request.settings).length === 0)) return service
  const message = 'There is a conversation of this id already; its settings cannot be changed.'
  throw new Problem({ status: 409, code: 'conversation_exists', message, param: 'id' })
}

interface MakeRequest {
  readonly tenant: string
  readonly id: string
  readonly settings: ConversationSettings
  readonly location?: Location
  readonly isNew?: boolean
}

function checkSettings({ models, config, webhook: allowed }: Setup, { model, webhook }: ConversationSettings): void {
  const resolved = model === undefined ? undefined : models.resolve(model)
  if (resolved?.ok === false) throw invalidRequest({ message: resolved.message, path: 'model' })
  if (webhook === undefined || (allowed && mayNotify(webhook, allowed, config.auth === 'open'))) return
  const message = allowed
    ? 'A webhook goes to an https URL of a host that WEBHOOK_HOSTS names.'
    : 'This edge sends no webhooks: WEBHOOK_SECRET is not set.'
  throw invalidRequest({ message, path: 'webhook' })
}
