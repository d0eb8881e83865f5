import { Hono } from 'hono/tiny'
import type { Config } from '../../contract/config.ts'
import { runOfCall } from '../../contract/id.ts'
import { chooseRounds, isHeldBack, newPart } from '../../wire/client/request.ts'
import { completionCollector, completionEncoder } from '../../wire/client/openai-chat/answer.ts'
import { type ChatRequest, decodeRequest } from '../../wire/client/openai-chat/request.ts'
import { makeWaitingText } from '../../wire/client/visible-text.ts'
import { requireScope } from '../middleware/auth.ts'
import { readJson } from '../request-body.ts'
import { requestContext, type EdgeEnv } from '../context.ts'
import { takeMessages } from '../runs/stateless-turn.ts'
import type { RunParameters } from '../runs/prepare-run.ts'
import type { RunHandle } from '../runs/run-handle.ts'
import { unwrapRequest } from '../problem.ts'
import { collectRun, conversationTarget } from '../runs/place-run.ts'
import { reportMembers, withHeaders } from '../respond/ignored.ts'
import { streamRun } from '../respond/stream.ts'
import type { SurfacePart } from '../surface.ts'
import { modelRoutes, OPENAI } from './models.ts'

const app = new Hono<EdgeEnv>()

/** `POST /v1/chat/completions`, for clients of OpenAI's Chat Completions API. */
export const chatCompletions: SurfacePart = {
  name: 'chatCompletions',
  surfaces: [
    {
      routes: { '/v1/chat/completions': app, '/v1/models': modelRoutes },
      dialect: OPENAI,
    },
  ],
}

app.post('/', async (c) => {
  const { setup, caller } = c.env
  requireScope(caller, 'chat')
  const request = unwrapRequest(decodeRequest(await readJson(c.req.raw, setup.config.maxBodyBytes)))
  // The response names the model as the request did; if the request named none, the default model.
  const chat = { model: setup.config.model ?? '', ...request }
  const target = conversationTarget(c.req.raw, chat.edgecall.conversation, 'edgecall.conversation')
  const { headers, hints, replacements } = reportMembers(c.env, '/v1/chat/completions', request)
  const parameters = { ...parametersOf(request), hints }
  const context = { ...requestContext(c, chat.stream ? 'text' : 'end'), replacements }
  const { handle } = await takeMessages(context, parameters, target)
  if (!chat.stream)
    return withHeaders(
      await collectRun(handle, completionCollector(answerOptions(handle, chat, setup.config))),
      headers(),
    )
  const encoder = completionEncoder({ ...answerOptions(handle, chat, setup.config), includeUsage: chat.includeUsage })
  return streamRun(handle, encoder, { headers: headers() })
})

function answerOptions(
  { runId, conversation }: RunHandle,
  { model, messages, edgecall, responseFormat, stream, customTools }: ChatRequest & { readonly model: string },
  config: Config,
) {
  // Each response of a run has its own id: one that continues with results is named after the last call among them.
  const lastResult = newPart(messages).results.findLast(({ callId }) => runOfCall(callId) === runId)
  return {
    id: `chatcmpl-${lastResult?.callId ?? runId}`,
    model,
    created: Math.floor(Date.now() / 1000),
    conversation,
    customTools,
    rounds: chooseRounds(config, edgecall, stream),
    waitsForAnswer: isHeldBack(responseFormat),
    waitingText: makeWaitingText({ runId, conversation }),
  }
}

function parametersOf({
  model,
  messages: input,
  clientTools,
  toolChoice,
  responseFormat,
  sampling,
  edgecall,
}: ChatRequest): RunParameters {
  const { conversation: _, rounds: __, ...options } = edgecall
  return { namesFiles: true, input, model, clientTools, toolChoice, responseFormat, sampling, ...options }
}
