import { Hono } from 'hono/tiny'
import type { CallAnswer } from '../contract/conversation.ts'
import { ID, runOfCall } from '../contract/id.ts'
import { type Message, textOf, type ToolCall, type ToolMessage } from '../contract/message.ts'
import type { Finish } from '../contract/run.ts'
import { completionCollector } from '../wire/openai-chat/collect.ts'
import { type ChatRequest, decodeRequest } from '../wire/openai-chat/request.ts'
import { completionEncoder } from '../wire/openai-chat/answer.ts'
import { accept } from './accept.ts'
import { demand } from './auth.ts'
import { readJson } from './body.ts'
import { type Asked as AskedOf, continueRun } from './continue.ts'
import type { EdgeEnv, WaitUntil } from './context.ts'
import { conversationOf, hiddenConversation, type Launched, launchHere, launchHidden, launchThere } from './launch.ts'
import { runHeaders } from './native.ts'
import { failedProblem, throwIfFailed } from './outcome.ts'
import { Problem } from './problem.ts'
import { streamRun } from './stream.ts'

/** `POST /v1/chat/completions`, as OpenAI's clients speak it. */
export const chatCompletions = new Hono<EdgeEnv>()

chatCompletions.post('/', async (c) => {
  const { setup, caller } = c.var
  demand(caller, 'chat')
  const decoded = decodeRequest(await readJson(c.req.raw, setup.config.maxBodyBytes))
  if (!decoded.ok) {
    const { message, param, code } = decoded.error
    throw new Problem({ status: 400, code, message, ...(param !== null && { param }) })
  }
  // The answer names the model as the request did, or the default that it left the choice to.
  const chat = { model: setup.config.model ?? '', ...decoded.request }
  const asked = { setup, caller, request: c.req.raw, waitUntil: c.env.waitUntil, chat: decoded.request }
  const header = c.req.header('x-conversation-id')
  const id = header ?? chat.edgecall.conversation
  const launched =
    id === undefined ? await withoutConversation(asked) : await withConversation(asked, id, header !== undefined)
  return chat.stream ? stream(launched, chat) : collect(launched, chat)
})

interface Asked extends AskedOf {
  readonly chat: ChatRequest
  readonly waitUntil: WaitUntil
}

/** Only what follows the last answer is new to a conversation; results among it continue the run that waits for them. */
async function withConversation(asked: Asked, id: string, create: boolean): Promise<Launched> {
  const { setup, caller, chat } = asked
  if (!ID.test(id)) {
    const message = `A conversation's id matches ${ID.source}.`
    throw new Problem({ status: 400, code: 'invalid_conversation_id', message, param: 'edgecall.conversation' })
  }
  const service = conversationOf(setup, caller.tenant, id)
  const { results, input } = newPart(chat.messages)
  if (results.length > 0) {
    const answers = answersOf(results)
    const runId = runOf(results, input)
    const continued = await continueRun(caller, service, { runId, conversation: id, answers, isAlone: true })
    if (continued) return continued.launched
  }
  const system = chat.messages.filter((message) => message.role === 'system').map((message) => message.content)
  const body = { ...bodyOf(chat), input, ...(system.length > 0 && { system: system.join('\n\n') }) }
  const accepted = await accept(asked, body, { conversation: id })
  const launched = await launchThere(service, accepted, { id, onBusy: 'queue', create })
  if (launched.created) await setup.directories.getByName(caller.tenant).add(id)
  return launched
}

/**
 * Nothing is kept, unless the run may both run tools here and hand calls to its caller: then its journal goes to a
 * hidden conversation, which the ids of those calls find again, so that nothing runs twice. So does that of a run with an
 * Idempotency-Key.
 */
async function withoutConversation(asked: Asked): Promise<Launched> {
  const { setup, caller, chat } = asked
  const { results, input } = newPart(chat.messages)
  if (results.some((result) => runOfCall(result.callId) !== undefined)) {
    const runId = runOf(results, input)
    const service = hiddenConversation(setup, caller.tenant, runId)
    // A run that only handed calls out left nothing behind: its history is all here.
    const where = { runId, answers: answersOf(results), isAlone: true, mayBeGone: true }
    const continued = await continueRun(caller, service, where)
    if (continued) return continued.launched
  }
  const accepted = await accept(asked, { ...bodyOf(chat), input: chat.messages })
  const { run, tools } = accepted
  const handsOut = run.clientTools.length > 0 && tools.length > 0 && run.execution === 'edge'
  return handsOut || run.fingerprint !== undefined ? launchHidden(setup, accepted) : launchHere(asked, accepted)
}

async function stream(launched: Launched, chat: ChatRequest): Promise<Response> {
  const encoder = completionEncoder({ ...options(launched, chat), includeUsage: chat.includeUsage })
  return streamRun(launched, encoder, { headers: runHeaders(launched), onFirst: throwIfFailed })
}

async function collect(launched: Launched, chat: ChatRequest): Promise<Response> {
  const { runId } = launched
  const collector = completionCollector(options(launched, chat))
  let started = false
  let finish: Finish = 'error'
  await launched.follow((event) => {
    started ||= event.type === 'call.started'
    if (event.type === 'run.finished') finish = event.finish
    collector.event(event)
  })
  const result = collector.result()
  if (result.ok) return Response.json(result.body, { headers: runHeaders(launched) })
  throw failedProblem({ finish, error: result.error }, { runId, started })
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

/** What follows the last answer: results of the caller's calls, and the rest. */
function newPart(messages: readonly Message[]): { results: ToolMessage[]; input: Message[] } {
  const after = messages.slice(messages.findLastIndex((message) => message.role === 'assistant') + 1)
  return {
    results: after.filter((message) => message.role === 'tool'),
    input: after.filter((message) => message.role === 'user'),
  }
}

/** The one run that all these results are for; they come alone, since its answer comes first. */
function runOf(results: readonly ToolMessage[], input: readonly Message[]): string {
  const [runId, ...others] = new Set(results.map((result) => runOfCall(result.callId)))
  if (runId !== undefined && others.length === 0 && input.length === 0) return runId
  const message = 'Send the results of one run, alone; then the next message.'
  throw new Problem({ status: 400, code: 'unknown_call', message, param: 'messages' })
}

function answersOf(results: readonly ToolMessage[]): Record<string, CallAnswer> {
  return Object.fromEntries(results.map(({ callId, content }) => [callId, { result: textOf(content), ok: true }]))
}
