import { Hono } from 'hono/tiny'
import type { ToolCall } from '../contract/message.ts'
import { answersOf, newPart } from '../wire/call-answer.ts'
import { completionCollector } from '../wire/openai-chat/collect.ts'
import { type ChatRequest, decodeRequest } from '../wire/openai-chat/request.ts'
import { completionEncoder } from '../wire/openai-chat/answer.ts'
import { accept } from './accept.ts'
import { demand } from './auth.ts'
import { readJson } from './body.ts'
import { type Asked as AskedOf, askedBy, type EdgeEnv } from './context.ts'
import { continueRun, notAsked, runOfAnswers } from './continue.ts'
import type { Launched } from './launch.ts'
import { Problem } from './problem.ts'
import { collectRun, type Place, placeOf, startAlone, startThere } from './start.ts'
import { streamRun } from './stream.ts'

/** `POST /v1/chat/completions`, as OpenAI's clients speak it. */
export const chatCompletions = new Hono<EdgeEnv>()

chatCompletions.post('/', async (c) => {
  const { setup, caller } = c.env
  demand(caller, 'chat')
  const decoded = decodeRequest(await readJson(c.req.raw, setup.config.maxBodyBytes))
  if (!decoded.ok) {
    const { message, param, code } = decoded.error
    throw new Problem({ status: 400, code, message, ...(param !== null && { param }) })
  }
  // The answer names the model as the request did, or the default that it left the choice to.
  const chat = { model: setup.config.model ?? '', ...decoded.request }
  const asked = { ...askedBy(c), chat: decoded.request }
  const place = placeOf(c.req.raw, chat.edgecall.conversation, 'edgecall.conversation')
  const launched = place ? await withConversation(asked, place) : await withoutConversation(asked)
  if (!chat.stream) return collectRun(launched, completionCollector(options(launched, chat)))
  const encoder = completionEncoder({ ...options(launched, chat), includeUsage: chat.includeUsage })
  return streamRun(launched, encoder)
})

interface Asked extends AskedOf {
  readonly chat: ChatRequest
}

/** Only what follows the last answer is new to a conversation; results among it continue the run that waits for them. */
async function withConversation(asked: Asked, place: Place): Promise<Launched> {
  const { chat } = asked
  const { id } = place
  const { results, input } = newPart(chat.messages)
  const answers = answersOf(results)
  const runId = runOfAnswers(answers)
  const isAlone = input.length === 0
  if (runId !== undefined) {
    const continued = await continueRun(asked, { runId, conversation: id, answers, isAlone })
    if (continued) return continued.launched
  }
  if (isAlone && results.length > 0) throw notAsked()
  const system = chat.messages.filter((message) => message.role === 'system').map((message) => message.content)
  const body = { ...bodyOf(chat), input, ...(system.length > 0 && { system: system.join('\n\n') }) }
  return startThere(asked, await accept(asked, body, { conversation: id }), place)
}

async function withoutConversation(asked: Asked): Promise<Launched> {
  const { chat } = asked
  const { results, input } = newPart(chat.messages)
  const answers = answersOf(results)
  const runId = runOfAnswers(answers)
  if (runId !== undefined) {
    // A run that only handed calls out left nothing behind: its history is all here.
    const where = { runId, answers, isAlone: input.length === 0, mayBeGone: true }
    const continued = await continueRun(asked, where)
    if (continued) return continued.launched
  }
  return startAlone(asked, await accept(asked, { ...bodyOf(chat), input: chat.messages }))
}

function options({ runId, conversation }: Launched, { model = '', edgecall, responseFormat }: ChatRequest) {
  return {
    id: `chatcmpl-${runId}`,
    model,
    created: Math.floor(Date.now() / 1000),
    ...(conversation !== undefined && { conversation }),
    ...(edgecall.rounds && { rounds: edgecall.rounds }),
    ...(responseFormat?.type === 'json_schema' && { whole: true }),
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
