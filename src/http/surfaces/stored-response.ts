import type { Context } from 'hono'
import type { CallRecord } from '../../contract/run.ts'
import { within } from '../../contract/time-limit.ts'
import { responseEncoder, ResponseReader } from '../../wire/client/openai-responses/answer.ts'
import { chooseRounds } from '../../wire/client/request.ts'
import { parseResponseId } from '../../wire/client/openai-responses/output.ts'
import { DEFAULT_ECHO } from '../../wire/client/openai-responses/request.ts'
import { requireScope } from '../middleware/auth.ts'
import type { EdgeEnv } from '../context.ts'
import { conversationStubOfRun } from '../runs/conversation-stub.ts'
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
    return streamRun({ ...run, follow }, responseEncoder(options, Number(last)), { onFirst: () => {} })
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
