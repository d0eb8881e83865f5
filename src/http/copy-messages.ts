import type { ConversationService } from '../contract/conversation.ts'
import { granted } from './problem.ts'

/** Messages that are copied at a time. */
const PAGE = 500

/**
 * Puts what models see of a conversation before a position, or up to the end of a run, into another one, with the whole of
 * results that were cut; of that run also what they see no more.
 */
export async function copyMessages(
  source: ConversationService,
  target: ConversationService,
  end: { readonly before: number } | { readonly upTo: string },
): Promise<void> {
  const run = 'upTo' in end ? end.upTo : ''
  for (let page: object = end; ;) {
    const { messages } = granted(await source.messages({ ...page, limit: PAGE, wholes: true }))
    const [oldest] = messages
    if (!oldest) return
    granted(await target.adopt(messages.filter((message) => !message.replaced || message.run === run)))
    page = { before: oldest.position }
  }
}
