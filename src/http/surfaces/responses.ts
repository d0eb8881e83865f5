import { Hono } from 'hono/tiny'
import { newId, runIdOf } from '../../contract/id.ts'
import { type ResponseOptions, ResponseReader } from '../../wire/client/openai-responses/answer.ts'
import { responseEncoder } from '../../wire/client/openai-responses/encode.ts'
import { parseResponseId, responseId } from '../../wire/client/openai-responses/id.ts'
import { decodeResponses, type ResponsesRequest } from '../../wire/client/openai-responses/request.ts'
import { accept, type RunBody } from '../runs/prepare-run.ts'
import { demand } from '../middleware/auth.ts'
import { readJson } from '../request-body.ts'
import { branch } from '../runs/branch.ts'
import { type Asked, askedBy, type EdgeEnv } from '../context.ts'
import { type Continued, systemOf, takeTurn } from '../runs/continue-run.ts'
import { continueAlone } from '../runs/continue-stateless.ts'
import { type Accepted, launchThere } from '../runs/start-run.ts'
import type { Launched } from '../runs/run-handle.ts'
import { checked, Problem } from '../problem.ts'
import { type Collector, collectRun, type Place, placeOf, startThere } from '../runs/place-run.ts'
import { storedResponse } from './stored-response.ts'
import { streamRun } from '../respond/stream.ts'

/** How long a stored response outside the caller's conversations is kept, in milliseconds: 30 days, as with OpenAI. */
const STORED_MS = 30 * 24 * 60 * 60 * 1000

/** `/v1/responses`, for clients of OpenAI's Responses API. */
export const responses = new Hono<EdgeEnv>()

responses.get('/:id', storedResponse)

responses.post('/', async (c) => {
  const { setup, caller } = c.env
  demand(caller, 'chat')
  const body = checked(decodeResponses(await readJson(c.req.raw, setup.config.maxBodyBytes)))
  const place = placeOf(c.req.raw, body.conversation, 'conversation')
  const { launched, after = 0, asked = [] } = await launch(askedBy(c), body, place)
  const { runId, conversation } = launched
  const options: ResponseOptions = {
    id: responseId({ runId, conversation, after }),
    model: body.model ?? setup.config.model ?? '',
    created: Math.floor(Date.now() / 1000),
    echo: { ...body.echo, ...(place && { conversation: { id: place.id } }) },
    conversation,
    rounds: body.rounds,
    asked,
  }
  if (!body.stream) return collectRun(launched, collectorOf(new ResponseReader(options)))
  return streamRun(launched, responseEncoder(options))
})

/**
 * Starts or continues the run of a response: in the conversation that the request names, or in that of the previous
 * response or of the item that it refers to. Any other response is stored in a conversation of its own, or not at all.
 */
async function launch(asked: Asked, body: ResponsesRequest, place: Place | undefined): Promise<Continued> {
  if (place) return goOn(asked, body, place)
  if (body.previous !== undefined) return goOn(asked, body, previousPlace(body.previous))
  if (body.reference) {
    const { conversation, runId } = body.reference
    return goOn(asked, body, { id: conversation, previous: runId })
  }
  const { answers, input, messages, store, handed } = body
  const begin = store ? (said: RunBody) => startStored(asked, said) : undefined
  return continueAlone(asked, { ...runBody(body), input: messages }, { answers, input, begin, conversation: handed })
}

/**
 * Takes a turn in a conversation, to which only the messages after the last answer are new. If another response has
 * followed `previous` already, the run starts in a branch of the conversation.
 */
async function goOn(
  asked: Asked,
  body: ResponsesRequest,
  { id, previous, create = false }: { readonly id: string; readonly previous?: string; readonly create?: boolean },
): Promise<Continued> {
  const { answers, input } = body
  const run = { ...runBody(body), system: systemOf(body.messages, body.instructions), input }
  const begin: typeof startThere = (_, accepted, start) =>
    startThere(asked, accepted, start).catch((error: unknown) => {
      if (previous === undefined || !(error instanceof Problem) || error.details.code !== 'run_not_last') throw error
      return launchInBranch(asked, accepted, { id, previous })
    })
  return takeTurn(asked, { id, create, after: previous, answers, run, begin })
}

/** Starts a run in a branch, because another response has followed `previous`: each goes on in its own conversation. */
async function launchInBranch(
  { setup, caller: { tenant } }: Asked,
  { run, tools }: Accepted,
  { id, previous }: { readonly id: string; readonly previous: string },
): Promise<Launched> {
  const expires = Date.now() + STORED_MS
  const conversation = await branch(setup, { tenant, id, previous, runId: run.runId, expires })
  const start = { id: conversation, onBusy: 'queue', create: false } as const
  return launchThere(setup, { run: { ...run, conversation }, tools }, start)
}

/** Starts a run in a new conversation, which is not listed; the ids of its responses contain its id. */
async function startStored(asked: Asked, body: RunBody): Promise<Launched> {
  const { setup, caller, request } = asked
  const key = request.headers.get('idempotency-key')
  const id = key === null ? newId('conv') : `conv_${(await runIdOf(caller.tenant, 'responses', key)).slice(4)}`
  const accepted = await accept(asked, body, { conversation: id })
  return launchThere(setup, accepted, { id, onBusy: 'queue', create: true, expires: Date.now() + STORED_MS })
}

function collectorOf(reader: ResponseReader): Collector {
  return {
    event: (event) => reader.collect(event),
    result: () => {
      const { error } = reader
      return error ? { ok: false, error } : { ok: true, body: reader.response }
    },
  }
}

function previousPlace(previous: string): { id: string; previous: string } {
  const place = parseResponseId(previous)
  if (place) return { id: place.conversation, previous: place.runId }
  const message = 'There is no such response, or it was not stored.'
  throw new Problem({ status: 400, code: 'previous_response_not_found', message, param: 'previous_response_id' })
}

function runBody({
  model,
  instructions,
  clientTools,
  toolChoice,
  responseFormat,
  sampling,
  options,
}: ResponsesRequest) {
  return { ...options, model, system: instructions, clientTools, toolChoice, responseFormat, sampling }
}
