import { Hono } from 'hono/tiny'
import { termsOfCaller } from '../../../contract/caller-terms.ts'
import type {
  CallAnswer,
  ConversationService,
  ConversationSettings,
  Jurisdiction,
  Location,
} from '../../../contract/conversation.ts'
import { ID, newId } from '../../../contract/id.ts'
import { isFilledIn } from '../../../contract/input.ts'
import { canonicalJson, isObject, sha256 } from '../../../contract/json.ts'
import { idIn, jurisdictionOf } from '../../../contract/placement.ts'
import type { Setup } from '../../../contract/setup.ts'
import { traceOf } from '../../../contract/trace.ts'
import { type EdgeEnv, requestContext } from '../../context.ts'
import { requireScope } from '../../middleware/auth.ts'
import { Problem, unwrapReply } from '../../problem.ts'
import type { EdgeContext } from '../../request-context.ts'
import { readJson } from '../../request-body.ts'
import { answerFormat, answerRecord, passThrough, queryFormat, SSE_HEADERS, wantsEvents } from '../../respond/stream.ts'
import { shareOfBudget } from '../../runs/budget.ts'
import { signAnswer } from '../../runs/continue-run.ts'
import { cacheSettings } from '../../runs/place-run.ts'
import { conversationStub } from '../../runs/conversation-stub.ts'
import { copyMessages } from '../../runs/copy-messages.ts'
import { prepareRun } from '../../runs/prepare-run.ts'
import { storedRunHandle } from '../../runs/run-handle.ts'
import { runHeaders, startInConversation } from '../../runs/start-run.ts'
import { countCreated, type CreationContext, requireRoom } from '../../runs/storage-quota.ts'
import { invalidRequest, readQuery } from '../runs.ts'
import { decodeConversationBody, decodeForkBody } from '../../../wire/client/conversation.ts'
import { decodeRunBody } from '../../../wire/client/request.ts'
import { parseEventId } from '../../../wire/events.ts'

interface RouteContext {
  readonly req: { param(name: 'id' | 'run'): string }
  readonly env: EdgeEnv['Bindings']
}

/** Returns the conversation that the path names. */
export function conversationOfPath(c: RouteContext): ConversationService {
  return conversationStub(c.env, conversationIdOfPath(c))
}

/** Returns the conversation's id in the path. An invalid id gets the same 404 as an unknown one or another tenant's. */
export function conversationIdOfPath(c: RouteContext): string {
  return existingId(c.req.param('id'))
}

function existingId(id: string): string {
  if (ID.test(id)) return id
  throw new Problem({ status: 404, code: 'unknown_conversation', message: 'There is no such conversation.' })
}

/** Returns the run's id in the path. Throws a Problem 404 for an invalid one. */
function runIdOfPath(c: RouteContext): string {
  const run = c.req.param('run')
  if (ID.test(run)) return run
  throw new Problem({ status: 404, code: 'unknown_run', message: 'This conversation has no such run.' })
}

const MOST_PER_PAGE = 1000

export function pageSize(limit: string | undefined): number {
  return limit === undefined ? MOST_PER_PAGE : Math.min(positive(limit, 'limit'), MOST_PER_PAGE)
}

/** Reads which page a query asks for: `limit` entries, all before the number `before`. */
export function pageOf({ before, limit }: Readonly<Record<string, string | undefined>>): Page {
  return { before: before === undefined ? before : positive(before, 'before'), limit: pageSize(limit) }
}

/** The most messages of a chat that a page has, unless the request says otherwise. */
const CHAT_PAGE = 100

/** Reads which messages of a chat a query asks for: `limit` at most, all before the message `before`. */
export function pageOfTurns(c: Parameters<typeof readQuery>[0]): Parameters<ConversationService['turns']>[0] {
  const { before, limit = String(CHAT_PAGE) } = readQuery(c, 'before', 'limit')
  return { before, most: pageSize(limit) }
}

interface Page {
  readonly before: number | undefined
  readonly limit: number
}

/** Parses the parameter `path`, which must be a whole number from 1. Throws a Problem 400 for other text. */
function positive(text: string, path: string): number {
  if (/^[1-9]\d{0,15}$/.test(text)) return Number(text)
  throw invalidRequest({ message: `"${path}" must be a whole number from 1.`, path })
}

/** The routes that create, fork, export and delete conversations, and that run a turn again. */
const conversationLife = new Hono<EdgeEnv>()

conversationLife.post('/', async (c) => {
  requireScope(c.env.caller, 'chat')
  const { setup } = c.env
  const hasBody = c.req.header('content-type') !== undefined
  const decoded = decodeConversationBody(hasBody ? await readJson(c.req.raw, setup.config.maxBodyBytes) : {})
  if (!decoded.ok) throw invalidRequest(decoded.error)
  const { location, jurisdiction, id: requestedId, ...settings } = decoded.request
  const id = requestedId ?? newConversationId(c.env, jurisdiction)
  if (jurisdiction !== undefined && jurisdictionOf(id) !== jurisdiction) {
    throw invalidRequest({
      message: `The id of a conversation in this jurisdiction must begin with "${jurisdiction}__".`,
      path: 'id',
    })
  }
  checkSettings(setup, settings)
  const { created } = await makeConversation(c.env, { id, settings, ...(location && { location }) })
  return c.json({ id }, created ? 201 : 200)
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
  const { service: target } = await makeConversation(c.env, { id, settings, isNew: true })
  try {
    await copyMessages(source, target, { before: at + 1 })
  } catch (error) {
    // With a part of the messages, it would be taken for the whole fork. What the caller is told is why there is none.
    await removeFromTenant(c.env, target, id).catch(() => {})
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
  const repeat = { runId, caller: c.env.caller, budget, trace }
  unwrapReply(await service.regenerate(runIdOfPath(c), repeat))
  return answer(storedRunHandle(c.env, { runId, conversation: c.req.param('id'), after: 0 }))
})

conversationLife.get('/:id/export', async (c) => {
  requireScope(c.env.caller, 'chat')
  readQuery(c)
  const { stream } = unwrapReply(await conversationOfPath(c).export())
  return new Response(stream, { headers: { 'content-type': 'application/x-ndjson' } })
})

conversationLife.delete('/:id', async (c) => {
  requireScope(c.env.caller, 'chat')
  await removeConversation(c)
  return c.body(null, 204)
})

/** Deletes the conversation that the path names. */
export async function removeConversation(c: RouteContext): Promise<void> {
  await removeFromTenant(c.env, conversationOfPath(c), c.req.param('id'))
}

async function removeFromTenant({ setup, caller }: EdgeContext, service: ConversationService, id: string) {
  const reply = await service.remove()
  // Also if the conversation was deleted before, but could not be removed from the directory.
  if (reply.ok || reply.code === 'conversation_deleted') {
    await setup.directories.getByName(caller.tenant).remove(id)
  }
  unwrapReply(reply)
}

/** Makes the id of a conversation, by default in the jurisdiction of the caller's key. */
export function newConversationId({ setup, caller }: EdgeContext, jurisdiction?: Jurisdiction): string {
  return idIn(jurisdiction ?? termsOfCaller(setup, caller)?.jurisdiction, newId('conv'))
}

/**
 * Creates a conversation. Returns an existing one instead, unless the request has settings, which never change, or
 * wants a new one: then throws a Problem 409.
 */
export async function makeConversation(
  context: CreationContext,
  { location, isNew = false, id, settings }: NewConversation,
): Promise<{ readonly service: ReturnType<typeof conversationStub>; readonly created: boolean }> {
  const { tenant } = context.caller
  await requireRoom(context, id, isNew ? Infinity : JSON.stringify(settings).length)
  const service = conversationStub(context, id, location)
  const { created } = unwrapReply(await service.create({ tenant, id, settings }))
  if (created) {
    cacheSettings(context, id, settings)
    countCreated(context)
  }
  if (created || (!isNew && Object.keys(settings).length === 0)) return { service, created }
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

/** `/conversations`: creates, lists and deletes them; starts, follows and cancels their runs; answers calls. */
export const conversations = new Hono<EdgeEnv>()

conversations.route('/', conversationLife)

conversations.get('/', async (c) => {
  requireScope(c.env.caller, 'chat')
  const { setup, caller } = c.env
  const { after = '', limit, parent } = readQuery(c, 'after', 'limit', 'parent')
  if (parent !== undefined) {
    const page = { after, limit: pageSize(limit) }
    return c.json(unwrapReply(await conversationStub(c.env, existingId(parent)).children(page)).children)
  }
  const ids = await setup.directories.getByName(caller.tenant).list(after, pageSize(limit))
  return c.json(ids.map((id) => ({ id })))
})

conversations.get('/:id/runs', async (c) => {
  requireScope(c.env.caller, 'chat')
  const { before, limit } = readQuery(c, 'before', 'limit')
  return c.json(unwrapReply(await conversationOfPath(c).runs({ before, limit: pageSize(limit) })).runs)
})

conversations.get('/:id/messages', async (c) => {
  requireScope(c.env.caller, 'chat')
  return c.json(unwrapReply(await conversationOfPath(c).messages(pageOf(readQuery(c, 'before', 'limit')))).messages)
})

conversations.get('/:id/usage', async (c) => {
  requireScope(c.env.caller, 'chat')
  readQuery(c)
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
  readQuery(c)
  return c.json(unwrapReply(await conversationOfPath(c).record(runIdOfPath(c), 0)).record)
})

conversations.get('/:id/runs/:run/events', async (c) => {
  requireScope(c.env.caller, 'chat')
  const runId = runIdOfPath(c)
  const { after: afterEvent } = readQuery(c, 'after', 'format')
  const format = queryFormat(c)
  const after = format ? 0 : eventNumber(runId, c.req.header('last-event-id') ?? afterEvent)
  const stub = conversationOfPath(c)
  const { stream, isOver } = unwrapReply(await stub.events(runId, after))
  if (format) {
    const location = { runId, conversation: conversationIdOfPath(c), after }
    return format(storedRunHandle(c.env, location, { stub, stream, news: 'all' }), true)
  }
  if (isOver) {
    // An `EventSource` asks again until it gets 204.
    await stream.cancel()
    return c.body(null, 204)
  }
  return new Response(passThrough(stream), {
    headers: { ...SSE_HEADERS, ...runHeaders({ runId, conversation: c.req.param('id') }) },
  })
})

conversations.get('/:id/runs/:run/steps/:step/request', async (c) => {
  // The system text and the definitions are the operator's.
  for (const scope of ['tools:admin', 'chat'] as const) requireScope(c.env.caller, scope)
  readQuery(c)
  const step = positive(c.req.param('step'), 'step')
  return c.json(unwrapReply(await conversationOfPath(c).stepRequest(runIdOfPath(c), step)).request)
})

conversations.get('/:id/runs/:run/faults', async (c) => {
  for (const scope of ['tools:admin', 'chat'] as const) requireScope(c.env.caller, scope)
  readQuery(c)
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
  readQuery(c)
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
  const goesOn = record.status === 'running' || record.waitsFor === 'agent'
  return goesOn ? c.json(record) : answerRecord(record, { runId, conversation: c.req.param('id') })
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
        ...{ decision, reason },
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
  // A call of an agent is in another run.
  const below = record ? undefined : await service.approval(runId, call)
  if (!record && !below?.ok) return
  const current = below?.ok ? below.approval.argumentsHash : await sha256(canonicalJson(record?.arguments))
  if (current === argumentsHash) return
  const message = 'The arguments of this call do not match `argumentsHash`.'
  throw new Problem({ status: 409, code: 'arguments_changed', message, param: 'argumentsHash' })
}
