import type { ConversationService, StoredMessage } from '../contract/conversation.ts'
import { granted } from './problem.ts'

/** Messages that are fetched at a time. */
const PAGE = 500

/** Up to which message, or to the end of which run; to the last one where neither is said. */
export interface End {
  readonly before?: number
  readonly upTo?: string
}

/** The messages of a conversation, the newest page first, with the whole of results that were cut. */
export async function* pagesOf(source: ConversationService, end: End): AsyncGenerator<readonly StoredMessage[]> {
  for (let page = end; ;) {
    const { messages } = granted(await source.messages({ ...page, limit: PAGE, wholes: true }))
    const [oldest] = messages
    if (!oldest) return
    yield messages
    page = { before: oldest.position }
  }
}
