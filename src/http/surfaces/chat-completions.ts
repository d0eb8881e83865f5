import { Hono } from 'hono/tiny'
import type { Config } from '../../contract/config.ts'
import { runOfCall } from '../../contract/id.ts'
import { type InputNeeds, questionsOf } from '../../contract/input.ts'
import { answersOf, newPart } from '../../wire/client/call-answer.ts'
import { completionCollector, completionEncoder } from '../../wire/client/openai-chat/answer.ts'
import { type ChatRequest, decodeRequest } from '../../wire/client/openai-chat/request.ts'
import { chooseRounds, isHeldBack } from '../../wire/client/request.ts'
import type { CallToDecide } from '../../wire/client/visible-text.ts'
import { requireScope } from '../middleware/auth.ts'
import { readJson } from '../request-body.ts'
import { requestContext, type EdgeEnv } from '../context.ts'
import type { RequestContext } from '../request-context.ts'
import { type ContinuedRun, systemOf, takeTurn } from '../runs/continue-run.ts'
import { continueStateless } from '../runs/continue-stateless.ts'
import type { RunHandle } from '../runs/run-handle.ts'
import { unwrapRequest } from '../problem.ts'
import { collectRun, type ConversationTarget, conversationTarget } from '../runs/place-run.ts'
import { streamRun } from '../respond/stream.ts'
import type { SurfacePart } from '../surface.ts'
import { modelRoutes, OPENAI_ERRORS } from './models.ts'

const app = new Hono<EdgeEnv>()

/** `POST /v1/chat/completions`, for clients of OpenAI's Chat Completions API. */
export const chatCompletions: SurfacePart = {
  name: 'chatCompletions',
  surfaces: [
    {
      routes: { '/v1/chat/completions': app, '/v1/models': modelRoutes },
      errors: OPENAI_ERRORS,
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
  const { handle } = await startOrContinue(requestContext(c, chat.stream ? 'text' : 'none'), request, target)
  if (!chat.stream) return collectRun(handle, completionCollector(answerOptions(handle, chat, setup.config)))
  const encoder = completionEncoder({ ...answerOptions(handle, chat, setup.config), includeUsage: chat.includeUsage })
  return streamRun(handle, encoder)
})

/**
 * Starts or continues a run. Only the messages after the last answer are new to a conversation; results among them
 * continue the run that waits for them.
 */
async function startOrContinue(
  context: RequestContext,
  chat: ChatRequest,
  target: ConversationTarget | undefined,
): Promise<ContinuedRun> {
  const { messages } = chat
  const { results, input } = newPart(messages)
  const answers = answersOf(results)
  const parameters = { ...parametersOf(chat), input: messages }
  if (!target) return continueStateless(context, parameters, { answers, input })
  return takeTurn(context, { ...target, answers, parameters: { ...parameters, input, system: systemOf(messages) } })
}

function answerOptions(
  { runId, conversation }: RunHandle,
  { model, messages, edgecall, responseFormat, stream }: ChatRequest & { readonly model: string },
  config: Config,
) {
  // Each response of a run has its own id: one that continues with results is named after the last call among them.
  const lastResult = newPart(messages).results.findLast(({ callId }) => runOfCall(callId) === runId)
  return {
    id: `chatcmpl-${lastResult?.callId ?? runId}`,
    model,
    created: Math.floor(Date.now() / 1000),
    conversation,
    rounds: chooseRounds(config, edgecall, stream),
    waitsForAnswer: isHeldBack(responseFormat),
    waitingText: (calls: readonly CallToDecide[]) => {
      const questions = (input: InputNeeds) =>
        questionsOf(input).map(({ message, url = '' }) => `${message} ${url}`.trim())
      const tools = calls
        .map(({ tool, input }) => (input ? `"${tool}" (it asks: ${questions(input).join(' ')})` : `"${tool}"`))
        .join(', ')
      const url = `/conversations/${conversation}/runs/${runId}/calls/`
      if (calls.length === 0)
        return `Waiting for a tool that answers later. GET /conversations/${conversation}/runs/${runId} has the answer then.`
      return `Waiting for approval of ${tools}. Decide by POST ${calls.map((call) => url + call.callId).join(' and ')}.`
    },
  }
}

function parametersOf({ model, clientTools, toolChoice, responseFormat, sampling, edgecall }: ChatRequest) {
  const { conversation: _, rounds: __, ...options } = edgecall
  return { model, clientTools, toolChoice, responseFormat, sampling, ...options }
}
