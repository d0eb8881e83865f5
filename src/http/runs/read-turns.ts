import type { ConversationService, Turn } from '../../contract/conversation.ts'
import { ID } from '../../contract/id.ts'
import type { Message } from '../../contract/message.ts'
import { decidedBelow, readTurn, type ShownTurn } from '../../wire/client/shown-turn.ts'
import { unwrapReply } from '../problem.ts'
import type { EdgeContext } from '../request-context.ts'
import { conversationStub } from './conversation-stub.ts'

/** Reads a page of the turns of a conversation, oldest first; none if there is no such conversation, as before its first turn. */
export async function readTurns(
  context: EdgeContext,
  conversation: string,
  page: Parameters<ConversationService['turns']>[0],
): Promise<readonly ShownTurn[]> {
  if (!ID.test(conversation)) return []
  const reply = await conversationStub(context, conversation).turns(page)
  if (!reply.ok && reply.code === 'unknown_conversation') return []
  return Promise.all(unwrapReply(reply).turns.map((turn) => withDecisions(context, turn)))
}

/** Reads a turn with what was decided about the calls of its agents. An agent that is gone tells nothing. */
async function withDecisions(context: EdgeContext, storedTurn: Turn): Promise<ShownTurn> {
  const turn = readTurn(storedTurn)
  const decisions = decidedBelow(turn).map(async ({ conversation, run, call: id }) => {
    const reply = await conversationStub(context, conversation).record(run, 0)
    const call = reply.ok ? reply.record.calls.find((each) => each.id === id) : undefined
    if (!call) return []
    const isRejected = call.error?.code === 'rejected'
    const decision = isRejected ? 'reject' : 'approve'
    return [[id, decision] as const]
  })
  return { ...turn, decisions: new Map((await Promise.all(decisions)).flat()) }
}

/** Returns the messages that a conversation does not have yet: those that no answer followed are sent once more. */
export async function newMessages(
  service: ConversationService,
  input: readonly Message[] = [],
): Promise<readonly Message[]> {
  if (input.length < 2) return input
  const reply = await service.turns({ most: 2 * input.length })
  const stored = reply.ok ? reply.turns.flatMap(({ messages }) => messages.map(({ message }) => idOf(message))) : []
  return input.filter((message, at) => at === input.length - 1 || !stored.includes(idOf(message) ?? ''))
}

function idOf(message: Message): string | undefined {
  return message.role === 'user' ? message.display?.id : undefined
}
