import type { ConversationService } from '../../contract/conversation.ts'
import { unwrapReply } from '../problem.ts'
import { type MessageRange, messagePages } from './message-pages.ts'

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
