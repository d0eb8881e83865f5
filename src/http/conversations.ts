import { Hono } from 'hono/tiny'
import { ID, newId } from '../contract/id.ts'
import { isObject } from '../contract/json.ts'
import type { CallAnswer, ConversationService } from '../contract/conversation.ts'
import { parseEventId } from '../wire/events.ts'
import { decodeRunBody } from '../wire/request.ts'
import { accept } from './accept.ts'
import { demand } from './auth.ts'
import { readJson } from './body.ts'
import type { EdgeEnv } from './context.ts'
import { conversationOf, launchThere } from './launch.ts'
import { answerRecord, answerRun, runHeaders } from './native.ts'
import { granted, Problem } from './problem.ts'
import { invalidRequest } from './runs.ts'
import { SSE_HEADERS } from './stream.ts'

const MOST_LISTED = 1000

/** `/conversations`: making, listing, running, following, answering and deleting. */
export const conversations = new Hono<EdgeEnv>()

conversations.post('/', async (c) => {
  demand(c.var.caller, 'chat')
  const { setup, caller } = c.var
  const hasBody = c.req.header('content-type') !== undefined
  const body = hasBody ? await readJson(c.req.raw, setup.config.maxBodyBytes) : {}
  const { id = newId('conv') } = isObject(body) ? body : {}
  if (typeof id !== 'string' || !ID.test(id)) {
    throw invalidRequest({ message: `A conversation's id matches ${ID.source}.`, path: 'id' })
  }
  granted(await conversationOf(setup, caller.tenant, id).create())
  await setup.directories.getByName(caller.tenant).add(id)
  return c.json({ id }, 201)
})

conversations.get('/', async (c) => {
  demand(c.var.caller, 'chat')
  const { setup, caller } = c.var
  const { after = '', limit } = c.req.query()
  const ids = await setup.directories.getByName(caller.tenant).list(after, pageSize(limit))
  return c.json(ids.map((id) => ({ id })))
})

conversations.delete('/:id', async (c) => {
  demand(c.var.caller, 'chat')
  const { setup, caller } = c.var
  granted(await serviceOf(c).remove())
  await setup.directories.getByName(caller.tenant).remove(c.req.param('id'))
  return c.body(null, 204)
})

conversations.get('/:id/runs', async (c) => {
  demand(c.var.caller, 'chat')
  return c.json(granted(await serviceOf(c).runs()).runs)
})

conversations.get('/:id/messages', async (c) => {
  demand(c.var.caller, 'chat')
  const { before, limit } = c.req.query()
  const page = { limit: pageSize(limit), ...(before !== undefined && { before: positive(before, 'before') }) }
  return c.json(granted(await serviceOf(c).messages(page)).messages)
})

conversations.get('/:id/usage', async (c) => {
  demand(c.var.caller, 'chat')
  const { usage, runs } = granted(await serviceOf(c).usage())
  return c.json({ ...usage, runs })
})

conversations.post('/:id/runs', async (c) => {
  demand(c.var.caller, 'chat')
  const { setup, caller } = c.var
  const service = serviceOf(c)
  const id = c.req.param('id')
  const decoded = decodeRunBody(await readJson(c.req.raw, setup.config.maxBodyBytes))
  if (!decoded.ok) throw invalidRequest(decoded.error)
  const accepted = await accept({ setup, caller, request: c.req.raw }, decoded.request, { conversation: id })
  const { onBusy = 'queue' } = decoded.request
  return answerRun(c.req.raw, await launchThere(service, accepted, { id, onBusy, create: false }))
})

conversations.get('/:id/runs/:run', async (c) => {
  demand(c.var.caller, 'chat')
  return c.json(granted(await serviceOf(c).record(runIdOf(c), 0)).record)
})

conversations.get('/:id/runs/:run/events', async (c) => {
  demand(c.var.caller, 'chat')
  const runId = runIdOf(c)
  const after = cursor(runId, c.req.header('last-event-id') ?? c.req.query('after'))
  const { stream } = granted(await serviceOf(c).events(runId, after))
  return new Response(stream, {
    headers: { ...SSE_HEADERS, ...runHeaders({ runId, conversation: c.req.param('id') }) },
  })
})

conversations.post('/:id/runs/:run/cancel', async (c) => {
  demand(c.var.caller, 'chat')
  const { status } = granted(await serviceOf(c).cancel(runIdOf(c)))
  return c.json({ status })
})

conversations.post('/:id/runs/:run/calls/:call', async (c) => {
  const { setup, caller } = c.var
  const body = await readJson(c.req.raw, setup.config.maxBodyBytes)
  const answer = callAnswer(body)
  demand(caller, 'decision' in answer ? 'approve' : 'chat')
  const runId = runIdOf(c)
  const { record } = granted(await serviceOf(c).answer(runId, { [c.req.param('call')]: answer }))
  return record.status === 'running' ? c.json(record) : answerRecord(record, { runId, conversation: c.req.param('id') })
})

interface Routed {
  readonly req: { param(name: 'id' | 'run'): string }
  readonly var: EdgeEnv['Variables']
}

/** An id that cannot be one names nothing, as a foreign one does. */
function serviceOf(c: Routed): ConversationService {
  const id = c.req.param('id')
  if (ID.test(id)) return conversationOf(c.var.setup, c.var.caller.tenant, id)
  throw new Problem({ status: 404, code: 'unknown_conversation', message: 'There is no such conversation.' })
}

function runIdOf(c: Routed): string {
  const run = c.req.param('run')
  if (ID.test(run)) return run
  throw new Problem({ status: 404, code: 'unknown_run', message: 'This conversation has no such run.' })
}

/** The number after which to read: `<run>.<seq>`, or `<seq>` alone. */
function cursor(runId: string, text = ''): number {
  if (text === '') return 0
  if (/^\d{1,15}$/.test(text)) return Number(text)
  const id = parseEventId(text)
  if (id?.runId === runId) return id.seq
  throw new Problem({ status: 400, code: 'bad_event_id', message: `"${text.slice(0, 80)}" is no event of this run.` })
}

function pageSize(limit: string | undefined): number {
  return limit === undefined ? MOST_LISTED : Math.min(positive(limit, 'limit'), MOST_LISTED)
}

function positive(text: string, path: string): number {
  if (/^[1-9]\d{0,15}$/.test(text)) return Number(text)
  throw invalidRequest({ message: `"${path}" is a whole number from 1.`, path })
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
  const message = 'Send { "decision": "approve" or "reject", "reason"? } or { "result": … }.'
  throw invalidRequest({ message, path: 'decision' })
}
