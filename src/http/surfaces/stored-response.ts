import type { Context } from 'hono'
import type { CallRecord } from '../../contract/run.ts'
import { within } from '../../contract/time-limit.ts'
import { responseEncoder, ResponseReader } from '../../wire/client/openai-responses/answer.ts'
import { chooseRounds } from '../../wire/client/request.ts'
import { APPROVAL_ITEM, itemSuffix, parseResponseId } from '../../wire/client/openai-responses/output.ts'
import { itemsOf, type ListedItem, pageOfItems } from '../../wire/client/openai-responses/stored-items.ts'
import { DEFAULT_ECHO } from '../../wire/client/openai-responses/request.ts'
import { requireScope } from '../middleware/auth.ts'
import type { EdgeEnv } from '../context.ts'
import type { EdgeContext } from '../request-context.ts'
import { conversationStub, conversationStubOfRun } from '../runs/conversation-stub.ts'
import { type RunHandle, storedRunHandle } from '../runs/run-handle.ts'
import { Problem, unwrapReply } from '../problem.ts'
import { invalidRequest } from './runs.ts'
import { streamRun } from '../respond/stream.ts'

/** How long a request for an unfinished response waits for its end, in milliseconds. */
const MOST_WAIT_MS = 1000

/**
 * `GET /v1/responses/{id}`: a stored response, complete or as it stands. With `stream=true` its events, from the first
 * or after the number `starting_after`, so that a client that lost the connection misses nothing. The fields that a
 * response repeats of its request have their defaults: the request is not stored in this form.
 */
export async function storedResponse(c: Context<EdgeEnv>): Promise<Response> {
  const place = await placeOfResponse(c)
  const { stream, starting_after: last = '-1' } = c.req.query()
  return respond(c, place, stream === 'true', last)
}

/**
 * `POST /v1/responses/{id}/cancel`: cancels the run of a response that is in progress, and returns the response with
 * the status `cancelled`. One that has ended is returned as it is.
 */
export async function cancelledResponse(c: Context<EdgeEnv>): Promise<Response> {
  const place = await placeOfResponse(c)
  unwrapReply(await conversationStubOfRun(c.env, place).cancel(place.runId))
  return respond(c, place, false, '-1')
}

/**
 * `DELETE /v1/responses/{id}`: deletes a response with its conversation, which was made for it. Throws a Problem 409 for
 * one that others follow, or in a conversation of the caller's own: a conversation is deleted as a whole.
 */
export async function deletedResponse(c: Context<EdgeEnv>): Promise<Response> {
  const { id, conversation } = await placeOfResponse(c)
  const { setup, caller } = c.env
  const service = conversationStub(c.env, conversation)
  const [{ isListed }, { runs }] = await Promise.all([
    setup.directories.getByName(caller.tenant).room(conversation),
    service.runs({ limit: 2 }).then(unwrapReply),
  ])
  if (isListed || runs.length > 1) {
    const owner = isListed ? 'It is in a conversation of yours' : 'Other responses follow it, or came before it'
    const message = `${owner}. Delete the conversation as a whole: DELETE /conversations/${conversation}`
    throw new Problem({ status: 409, code: 'response_in_use', message })
  }
  unwrapReply(await service.remove())
  return c.json({ id, object: 'response', deleted: true })
}

/**
 * `GET /v1/responses/{id}/input_items`: what a response was asked, the newest first by default: the messages with which
 * its run began or, of a response that continued a run, the answers to calls and the messages after them.
 */
export async function inputItems(c: Context<EdgeEnv>): Promise<Response> {
  const place = await placeOfResponse(c)
  const items = place.after === 0 ? await firstInput(c.env, place) : await answersTo(c.env, place)
  return listItems(c, items.reverse())
}

const MOST_ITEMS = 100
const PAGE_ITEMS = 20

/** Answers with the page of a list that the query asks for. The items come newest first. */
export async function listItems(
  c: Pick<Context<EdgeEnv>, 'req' | 'json'>,
  newestFirst: Parameters<typeof pageOfItems>[0],
): Promise<Response> {
  const { order = 'desc', after, limit = String(PAGE_ITEMS) } = c.req.query()
  if (order !== 'asc' && order !== 'desc')
    throw invalidRequest({ message: '`order` must be "asc" or "desc".', path: 'order' })
  if (!/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > MOST_ITEMS)
    throw invalidRequest({ message: `\`limit\` must be a whole number from 1 to ${MOST_ITEMS}.`, path: 'limit' })
  const page = await pageOfItems(newestFirst, { order, after, limit: Number(limit) })
  if (page) return c.json(page)
  throw invalidRequest({ message: '`after` must be the id of an item of this list.', path: 'after' })
}

/** Returns the items of the messages with which a run began. */
async function firstInput(context: EdgeContext, { conversation, runId }: StoredPlace): Promise<ListedItem[]> {
  const { input = [] } = unwrapReply(await conversationStub(context, conversation).callerRun(runId, 'input'))
  return input.flatMap(({ position, message }) => itemsOf(String(position), message))
}

/** Returns the items of what let a run continue, from the event of the response on to its next step. */
async function answersTo(context: EdgeContext, { conversation, runId, after }: StoredPlace): Promise<ListedItem[]> {
  const handedOut = new Set<string>()
  const items: ListedItem[] = []
  const run = storedRunHandle(context, { runId, conversation, after: 0 })
  await run.follow((event) => {
    if (event.type === 'call.requested') handedOut.add(event.callId)
    if (event.seq <= after) return
    const { seq } = event
    if (event.type === 'step.started') run.disconnect()
    else if (event.type === 'input.added')
      items.push(...event.messages.flatMap((message, index) => itemsOf(`${seq}_${index}`, message)))
    else if (event.type === 'approval.decided') {
      const { callId, decision, reason } = event
      items.push({
        id: `mcpa_${seq}`,
        type: 'mcp_approval_response',
        approval_request_id: `${APPROVAL_ITEM}${callId}${itemSuffix(conversation)}`,
        approve: decision === 'approve',
        ...(reason !== undefined && { reason }),
      })
    } else if (event.type === 'call.settled' && handedOut.has(event.callId)) {
      const { callId, tool, ok, content = [] } = event
      items.push(...itemsOf(String(seq), { role: 'tool', callId, tool, ok, content }))
    }
  }, 'none')
  return items
}

/** Returns the place of the response that the path names, if it is stored. */
async function placeOfResponse(c: Context<EdgeEnv>): Promise<StoredPlace> {
  requireScope(c.env.caller, 'chat')
  const id = c.req.param('id') ?? ''
  const place = parseResponseId(id)
  const reply = place && (await conversationStubOfRun(c.env, place).record(place.runId, 0))
  if (place && reply?.ok) return { id, ...place }
  const message = 'There is no such response, or it was not stored.'
  throw new Problem({ status: 404, code: 'response_not_found', message })
}

interface StoredPlace {
  readonly id: string
  readonly runId: string
  readonly conversation: string
  readonly after: number
}

async function respond(c: Context<EdgeEnv>, place: StoredPlace, isStreamed: boolean, last: string): Promise<Response> {
  const { id, conversation, after } = place
  const approvals: Pick<CallRecord, 'id' | 'arguments'>[] = []
  const rounds = chooseRounds(c.env.setup.config, {}, isStreamed)
  const textOptions = { rounds, waitsForAnswer: !isStreamed }
  const options = {
    id,
    model: '',
    created: 0,
    echo: DEFAULT_ECHO,
    conversation,
    pendingApprovals: approvals,
    ...textOptions,
  }
  const run = storedRunHandle(c.env, { runId: place.runId, conversation, after: 0 })
  const follow: RunHandle['follow'] = (onEvent, news) =>
    run.follow((event) => {
      if (event.type === 'run.started') {
        options.model = event.model
        options.created = Math.floor(event.at / 1000)
      }
      if (event.seq > after) return onEvent(event)
      if (event.type === 'approval.requested') approvals.push({ id: event.callId, arguments: event.arguments })
    }, news)
  if (!/^(?:-1|\d{1,15})$/.test(last))
    throw invalidRequest({ message: '`starting_after` must be the number of an event.', path: 'starting_after' })
  if (isStreamed) {
    return streamRun({ ...run, follow }, responseEncoder(options, Number(last)), { beginsAtOnce: true })
  }
  const reader = new ResponseReader(options)
  const completion = Promise.withResolvers<void>()
  follow((event) => {
    reader.collect(event)
    if (reader.isOver) completion.resolve()
  }, 'none').then(completion.resolve, completion.reject)
  await within(MOST_WAIT_MS, completion.promise, undefined)
  run.disconnect()
  return c.json(reader.response)
}
