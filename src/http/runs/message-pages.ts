import type { ConversationService, StoredMessage } from '../../contract/conversation.ts'
import { unwrapReply } from '../problem.ts'

/** The number of messages that are fetched at a time. */
const PAGE = 500

/** Where to stop: before a position, or at the end of a run. Default: after the newest message. */
export interface MessageRange {
  readonly before?: number
  readonly upTo?: string
}

/** Reads the messages of a conversation, newest page first, with the complete content of results that were cut. */
export async function* messagePages(
  source: ConversationService,
  end: MessageRange,
): AsyncGenerator<readonly StoredMessage[]> {
  for (let page = end; ;) {
    const { messages } = unwrapReply(await source.messages({ ...page, limit: PAGE, fullResults: true }))
    const [oldest] = messages
    if (!oldest) return
    yield messages
    page = { before: oldest.position }
  }
}
