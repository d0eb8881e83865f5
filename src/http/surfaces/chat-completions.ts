import { Hono } from 'hono/tiny'
import { runOfCall } from '../../contract/id.ts'
import type { ToolCall } from '../../contract/message.ts'
import { answersOf, newPart } from '../../wire/client/call-answer.ts'
import { completionCollector } from '../../wire/client/openai-chat/collect.ts'
import { type ChatRequest, decodeRequest } from '../../wire/client/openai-chat/request.ts'
import { completionEncoder } from '../../wire/client/openai-chat/answer.ts'
import { demand } from '../middleware/auth.ts'
import { readJson } from '../request-body.ts'
import { type Asked, askedBy, type EdgeEnv } from '../context.ts'
import { type Continued, systemOf, takeTurn } from '../runs/continue-run.ts'
import { continueAlone } from '../runs/continue-stateless.ts'
import type { Launched } from '../runs/run-handle.ts'
import { checked } from '../problem.ts'
import { collectRun, type Place, placeOf } from '../runs/place-run.ts'
import { streamRun } from '../respond/stream.ts'

/** `POST /v1/chat/completions`, for clients of OpenAI's Chat Completions API. */
export const chatCompletions = new Hono<EdgeEnv>()

chatCompletions.post('/', async (c) => {
  const { setup, caller } = c.env
  demand(caller, 'chat')
  const request = checked(decodeRequest(await readJson(c.req.raw, setup.config.maxBodyBytes)))
  // The response names the model as the request did; if the request named none, the default model.
  const chat = { model: setup.config.model ?? '', ...request }
  const place = placeOf(c.req.raw, chat.edgecall.conversation, 'edgecall.conversation')
  const { launched } = await launch(askedBy(c), request, place)
  if (!chat.stream) return collectRun(launched, completionCollector(options(launched, chat)))
  const encoder = completionEncoder({ ...options(launched, chat), includeUsage: chat.includeUsage })
  return streamRun(launched, encoder)
})

/**
 * Starts or continues a run. Only the messages after the last answer are new to a conversation; results among them
 * continue the run that waits for them.
 */
async function launch(asked: Asked, chat: ChatRequest, place: Place | undefined): Promise<Continued> {
  const { messages } = chat
  const { results, input } = newPart(messages)
  const answers = answersOf(results)
  const body = { ...bodyOf(chat), input: messages }
  if (!place) return continueAlone(asked, body, { answers, input })
  return takeTurn(asked, { ...place, answers, run: { ...body, input, system: systemOf(messages) } })
}

function options(
  { runId, conversation }: Launched,
  { model, messages, edgecall, responseFormat }: ChatRequest & { readonly model: string },
) {
  // Each response of a run has its own id: one that goes on with results is named after the last call among them.
  const answered = newPart(messages).results.findLast(({ callId }) => runOfCall(callId) === runId)
  return {
    id: `chatcmpl-${answered?.callId ?? runId}`,
    model,
    created: Math.floor(Date.now() / 1000),
    conversation,
    rounds: edgecall.rounds,
    whole: responseFormat?.type === 'json_schema',
    waitingText: (calls: readonly ToolCall[]) => {
      const tools = calls.map((call) => `"${call.tool}"`).join(', ')
      const url = `/conversations/${conversation}/runs/${runId}/calls/`
      return `Waiting for approval of ${tools}. Decide by POST ${calls.map((call) => url + call.callId).join(' and ')}.`
    },
  }
}

function bodyOf({ model, clientTools, toolChoice, responseFormat, sampling, edgecall }: ChatRequest) {
  const { conversation: _, rounds: __, ...options } = edgecall
  return { model, clientTools, toolChoice, responseFormat, sampling, ...options }
}
