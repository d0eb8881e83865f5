import type { ConversationService } from '../contract/conversation.ts'
import { granted } from './problem.ts'
import { type End, pagesOf } from './pages.ts'

/**
 * Puts what models see of a conversation before a position, or up to the end of a run, into another one, with the whole of
 * results that were cut; of that run also what they see no more.
 */
export async function copyMessages(source: ConversationService, target: ConversationService, end: End): Promise<void> {
  for await (const messages of pagesOf(source, end)) {
    granted(await target.adopt(messages.filter((message) => !message.replaced || message.run === end.upTo)))
  }
}
