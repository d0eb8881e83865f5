import { type ConversationService, type Jurisdiction, JURISDICTIONS, type Location } from '../contract/conversation.ts'
import type { Setup } from '../contract/setup.ts'
import type { Asking } from './context.ts'
import { Problem } from './problem.ts'

/**
 * The object of a conversation; tenants never meet. Its id says where it must live, so that whoever has the id finds it;
 * `location` is where a new one had best be.
 */
export function conversationOf(
  setup: Setup,
  tenant: string,
  conversation: string,
  location?: Location,
): ConversationService {
  const objects = objectsIn(setup, jurisdictionOf(conversation))
  const name = `v1/${tenant}/${conversation}`
  return location === undefined ? objects.getByName(name) : objects.getByName(name, { locationHint: location })
}

/** The jurisdiction in which a conversation of this id lives: `eu__…`. */
export function jurisdictionOf(conversation: string): Jurisdiction | undefined {
  return JURISDICTIONS.find((jurisdiction) => conversation.startsWith(`${jurisdiction}__`))
}

function objectsIn({ conversations }: Setup, jurisdiction?: Jurisdiction): Setup['conversations'] {
  if (jurisdiction === undefined) return conversations
  try {
    const there = conversations.jurisdiction?.(jurisdiction)
    if (there) return there
  } catch {
    // The platform knows none, as on a developer's machine.
  }
  const message = `The jurisdiction "${jurisdiction}" is not to be had here.`
  throw new Problem({ status: 501, code: 'no_such_jurisdiction', message })
}

/** Where a run is kept. Without a `conversation` its caller does not know of any. */
export interface Kept {
  readonly runId: string
  readonly conversation?: string | undefined
}

/** The object that keeps a run: its conversation, or one that nobody asked for, where it must be found again. */
export function keeperOf({ setup, caller }: Asking, { runId, conversation }: Kept): ConversationService {
  // No caller can name it: the tilde is in no id.
  return conversationOf(setup, caller.tenant, conversation ?? `~${runId}`)
}
