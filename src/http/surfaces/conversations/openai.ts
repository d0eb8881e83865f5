import type { Context } from 'hono'
import { Hono } from 'hono/tiny'
import type { ConversationService, StoredMessage } from '../../../contract/conversation.ts'
import {
  conversationChangeBody,
  decodeItems,
  itemsOf,
  type ListedItem,
  nameOfItem,
  newConversationBody,
  newItemsBody,
} from '../../../wire/client/openai-responses/stored-items.ts'
import type { EdgeEnv } from '../../context.ts'
import { requireScope } from '../../middleware/auth.ts'
import { Problem, unwrapReply, unwrapRequest } from '../../problem.ts'
import { readJson } from '../../request-body.ts'
import { checkFiles } from '../../runs/prepare-run.ts'
import { listItems } from '../stored-response.ts'
import { conversationOfPath, makeConversation, newConversationId, removeConversation } from './conversations.ts'

/** How many messages are read at a time. */
const PAGE = 100

/**
 * `/v1/conversations`: the conversations of the edge as OpenAI's clients make, read and delete them. A response is in one
 * if its request names it (`conversation`).
 */
export const openAiConversations = new Hono<EdgeEnv>()

const app = openAiConversations

app.use(async (c, next) => {
  requireScope(c.env.caller, 'chat')
  await next()
})

app.post('/', async (c) => {
  const hasBody = c.req.header('content-type') !== undefined
  const messages = hasBody ? await readMessages(c, newConversationBody) : []
  const id = newConversationId(c.env)
  const { service } = await makeConversation(c.env, { id, settings: {} })
  if (messages.length > 0) unwrapReply(await service.append(messages))
  return c.json(await describe(service, id))
})

app.get('/:id', async (c) => c.json(await describe(conversationOfPath(c), c.req.param('id'))))

app.post('/:id', async (c) => {
  await readMessages(c, conversationChangeBody)
  return c.json(await describe(conversationOfPath(c), c.req.param('id')))
})

app.delete('/:id', async (c) => {
  await removeConversation(c)
  return c.json({ id: c.req.param('id'), object: 'conversation.deleted', deleted: true })
})

app.get('/:id/items', (c) => {
  const position = nameOfItem(c.req.query('after') ?? '')
  const isNewestFirst = c.req.query('order') !== 'asc'
  const before = position !== undefined && isNewestFirst ? Number(position) + 1 : undefined
  return listItems(c, newestItems(conversationOfPath(c), before))
})

app.post('/:id/items', async (c) => {
  const service = conversationOfPath(c)
  const { messages } = unwrapReply(await service.append(await readMessages(c, newItemsBody)))
  const data = messages.flatMap(itemsOfMessage)
  const [first_id, last_id] = [data[0]?.id ?? null, data.at(-1)?.id ?? null]
  return c.json({ object: 'list', data, first_id, last_id, has_more: false })
})

app.get('/:id/items/:item', async (c) => {
  const id = c.req.param('item')
  const before = Number(nameOfItem(id) ?? 0) + 1
  const { messages } = unwrapReply(await conversationOfPath(c).messages({ before, limit: 1 }))
  const item = messages.flatMap(itemsOfMessage).find((each) => each.id === id)
  if (item) return c.json(item)
  throw new Problem({ status: 404, code: 'item_not_found', message: 'This conversation has no such item.' })
})

async function readMessages(c: Context<EdgeEnv>, schema: Parameters<typeof decodeItems>[0]) {
  const messages = unwrapRequest(decodeItems(schema, await readJson(c.req.raw, c.env.setup.config.maxBodyBytes)))
  checkFiles(messages)
  return messages
}

async function describe(service: ConversationService, id: string): Promise<object> {
  const { created = 0 } = unwrapReply(await service.settings())
  return { id, object: 'conversation', created_at: Math.floor(created / 1000), metadata: {} }
}

/** Reads the items that models see, newest first, from before a position on. */
async function* newestItems(service: ConversationService, before: number | undefined): AsyncGenerator<ListedItem> {
  for (let end = before; ;) {
    const { messages } = unwrapReply(await service.messages({ before: end, limit: PAGE }))
    for (const message of messages.toReversed()) yield* itemsOfMessage(message).toReversed()
    const [oldest] = messages
    if (!oldest) return
    end = oldest.position
  }
}

function itemsOfMessage({ position, message, replaced }: StoredMessage): ListedItem[] {
  return replaced ? [] : itemsOf(String(position), message)
}
