import type { ConversationService, StoredMessage } from '../../contract/conversation.ts'
import type { Message } from '../../contract/message.ts'
import { deriveRunId } from '../../contract/id.ts'
import { idIn, jurisdictionOf } from '../../contract/placement.ts'
import { unwrapReply } from '../problem.ts'
import type { EdgeContext } from '../request-context.ts'
import { conversationStub } from './conversation-stub.ts'

interface BranchRequest {
  /** The conversation to branch from. It is not changed. */
  readonly id: string
  /** The last run that the branch shares with that conversation. */
  readonly previous: string
  /** The run that the branch is made for. The same run always gets the same branch. */
  readonly runId: string
  /** The time at which the branch is deleted, in epoch milliseconds. */
  readonly expires: number
}

/**
 * Copies a conversation up to the end of a run into a new conversation, which is not listed, and returns the new id.
 * Throws a Problem if the run does not exist or has not ended.
 */
export async function branchConversation(
  context: EdgeContext,
  { id, previous, runId, expires }: BranchRequest,
): Promise<string> {
  const { tenant } = context.caller
  const source = conversationStub(context, id)
  const { settings } = unwrapReply(await source.settings())
  const name = (await deriveRunId(tenant, 'branch', id, previous, runId)).replace('run', 'conv')
  const request = { tenant, id: idIn(jurisdictionOf(id), name), settings, expires }
  const target = conversationStub(context, request.id)
  unwrapReply(await target.create(request))
  await copyMessages(source, target, { upTo: previous })
  return request.id
}

/**
 * Copies the messages that models see, before a position or up to the end of a run, to another conversation, with the
 * complete content of results that were cut. Of that run, also copies messages that models no longer see.
 */
export async function copyMessages(
  source: ConversationService,
  target: ConversationService,
  end: MessageRange,
): Promise<void> {
  for await (const messages of messagePages(source, end)) {
    unwrapReply(await target.adopt(messages.filter((message) => !message.replaced || message.run === end.upTo)))
  }
}

/**
 * Returns the messages that models see, oldest first, up to the end of a run or to the newest message. All of them are in
 * memory, so this is for what a request has sent or is about to send as a whole, not for copies.
 */
export async function currentMessages(service: ConversationService, end: MessageRange): Promise<Message[]> {
  const messages: Message[] = []
  for await (const page of messagePages(service, end))
    messages.unshift(...page.flatMap(({ message, replaced }) => (replaced ? [] : message)))
  return messages
}

/** The number of messages that are fetched at a time. */
const PAGE = 500

/** Where to stop: before a position, or at the end of a run. Default: after the newest message. */
interface MessageRange {
  readonly before?: number
  readonly upTo?: string
}

/** Reads the messages of a conversation, newest page first, with the complete content of results that were cut. */
async function* messagePages(source: ConversationService, end: MessageRange): AsyncGenerator<readonly StoredMessage[]> {
  for (let page = end; ;) {
    const { messages } = unwrapReply(await source.messages({ ...page, limit: PAGE, fullResults: true }))
    const [oldest] = messages
    if (!oldest) return
    yield messages
    page = { before: oldest.position }
  }
}
