import { Hono } from 'hono/tiny'
import { ID, newId } from '../contract/id.ts'
import { isTerminal } from '../contract/run.ts'
import { decodeUiChat } from '../wire/ui-message/request.ts'
import { UI_MESSAGE_HEADERS, UiMessageEncoder } from '../wire/ui-message/stream.ts'
import { demand } from './auth.ts'
import { readJson } from './body.ts'
import { budgetOf } from './budget.ts'
import { type Asked, askedBy, type EdgeEnv } from './context.ts'
import { takeTurn } from './continue.ts'
import { conversationOf, following, type Launched } from './launch.ts'
import { runHeaders } from './native.ts'
import { granted, Problem } from './problem.ts'
import { invalidRequest } from './runs.ts'
import { throwIfFailed } from './outcome.ts'
import { streamRun } from './stream.ts'

/** `/chat`: what `useChat` of the AI SDK speaks; the id of a chat is that of its conversation. */
export const uiChat = new Hono<EdgeEnv>()

uiChat.post('/', async (c) => {
  const { setup, caller } = c.var
  demand(caller, 'chat')
  const decoded = decodeUiChat(await readJson(c.req.raw, setup.config.maxBodyBytes))
  if (!decoded.ok) throw invalidRequest(decoded.error)
  const { conversation, version, again, ...turn } = decoded.request
  const asked = askedBy(c)
  const launched =
    again === undefined
      ? await takeTurn(asked, { id: conversation, ...turn })
      : await answerAgain(asked, { conversation, again })
  const headers = { ...runHeaders(launched), ...UI_MESSAGE_HEADERS }
  return streamRun(launched, new UiMessageEncoder({ version, conversation }), { headers, onFirst: throwIfFailed })
})

/** Runs once more what the last message answered; the id of a message is that of its run. */
async function answerAgain(
  { setup, caller }: Asked,
  { conversation, again }: { readonly conversation: string; readonly again: string },
): Promise<Launched> {
  const service = conversationOf(setup, caller.tenant, conversation)
  const last = granted(await service.runs({ limit: 1 })).runs.at(-1)?.id ?? ''
  if (again !== '' && again !== last) {
    const message = 'Only the last answer of a chat is given again: what followed another would be left without it.'
    throw new Problem({ status: 409, code: 'answer_not_last', message, param: 'messageId' })
  }
  const budget = await budgetOf({ setup, caller })
  const asked = { runId: newId('run'), caller, ...(budget && { budget }) }
  const { runId: next } = granted(await service.regenerate(last, asked))
  return following(service, { runId: next, conversation, after: 0 })
}

/** The answer that is under way, from its start; 204 where there is none, as the client wants it. */
uiChat.get('/:id/stream', async (c) => {
  const { setup, caller } = c.var
  demand(caller, 'chat')
  const conversation = c.req.param('id')
  if (!ID.test(conversation)) return c.body(null, 204)
  const service = conversationOf(setup, caller.tenant, conversation)
  const reply = await service.runs({ limit: 1 })
  if (!reply.ok && reply.code === 'unknown_conversation') return c.body(null, 204)
  const run = granted(reply).runs.at(-1)
  if (!run || isTerminal(run.status) || run.status === 'waiting') return c.body(null, 204)
  const launched = following(service, { runId: run.id, conversation, after: 0 })
  const headers = { ...runHeaders(launched), ...UI_MESSAGE_HEADERS }
  return streamRun(launched, new UiMessageEncoder({ conversation }), { headers, onFirst: throwIfFailed })
})
