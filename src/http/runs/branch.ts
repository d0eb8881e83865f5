import { deriveRunId } from '../../contract/id.ts'
import type { EdgeContext } from '../request-context.ts'
import { copyMessages } from './copy-messages.ts'
import { idIn, jurisdictionOf } from '../../contract/placement.ts'
import { conversationStub } from './conversation-stub.ts'
import { unwrapReply } from '../problem.ts'

export interface BranchRequest {
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
