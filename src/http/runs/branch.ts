import { runIdOf } from '../../contract/id.ts'
import type { Setup } from '../../contract/setup.ts'
import { copyMessages } from './copy-messages.ts'
import { conversationOf, jurisdictionOf } from './conversation-stub.ts'
import { granted } from '../problem.ts'

export interface Branching {
  readonly tenant: string
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
export async function branch(setup: Setup, { tenant, id, previous, runId, expires }: Branching): Promise<string> {
  const source = conversationOf(setup, tenant, id)
  const { settings } = granted(await source.settings())
  const place = jurisdictionOf(id)
  const name = (await runIdOf(tenant, 'branch', id, previous, runId)).replace('run', 'conv')
  const made = { tenant, id: place ? `${place}__${name}` : name, settings, expires }
  const service = conversationOf(setup, tenant, made.id)
  granted(await service.create(made))
  await copyMessages(source, service, { upTo: previous })
  return made.id
}
