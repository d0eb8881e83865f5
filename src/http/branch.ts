import { runIdOf } from '../contract/id.ts'
import type { Setup } from '../contract/setup.ts'
import { copyMessages } from './copy-messages.ts'
import { conversationOf, jurisdictionOf } from './keeper.ts'
import { granted } from './problem.ts'

export interface Branching {
  readonly tenant: string
  /** The conversation, which stays as it is. */
  readonly id: string
  /** The last run that both have. */
  readonly previous: string
  /** The run that the branch is made for: the same one finds the branch that is there. */
  readonly runId: string
  /** Epoch milliseconds after which nothing of the branch is kept. */
  readonly expires: number
}

/**
 * The id of a conversation, not listed, that begins as another one up to the end of a run. Throws a Problem for a run that is not
 * there, and for one that has not ended.
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
