import { termsOfCaller } from './caller-terms.ts'
import { type ConversationService, type Jurisdiction, JURISDICTIONS } from './conversation.ts'
import type { Setup } from './setup.ts'
import type { Caller } from './tool.ts'

/** Returns the jurisdiction that the prefix of a conversation's id names, such as `eu__`. */
export function jurisdictionOf(conversation: string): Jurisdiction | undefined {
  return JURISDICTIONS.find((jurisdiction) => conversation.startsWith(`${jurisdiction}__`))
}

/** Returns the id of a conversation in a jurisdiction, so that the id alone is enough to find it. */
export function idIn(jurisdiction: Jurisdiction | undefined, name: string): string {
  return jurisdiction === undefined ? name : `${jurisdiction}__${name}`
}

/** Returns the name of the object that stores a conversation; each tenant has its own. */
export function objectName(tenant: string, conversation: string): string {
  return `v1/${tenant}/${conversation}`
}

/** Returns the object of a conversation in its jurisdiction, for another object of the same tenant. */
export function conversationObject(
  { conversations }: Pick<Setup, 'conversations'>,
  tenant: string,
  conversation: string,
): ConversationService {
  const jurisdiction = jurisdictionOf(conversation)
  const namespace = jurisdiction === undefined ? conversations : conversations.jurisdiction?.(jurisdiction)
  if (!namespace) throw new Error(`The platform has no jurisdiction "${jurisdiction}".`)
  return namespace.getByName(objectName(tenant, conversation))
}

/**
 * Returns the id of the hidden conversation that stores a run without one, in the jurisdiction of the caller's key. No
 * caller can name it: no id contains a tilde.
 */
export function hiddenConversation(setup: Pick<Setup, 'config' | 'storedKeys'>, caller: Caller, runId: string): string {
  return idIn(termsOfCaller(setup, caller)?.jurisdiction, `~${runId}`)
}

/**
 * Returns the number of the object that lists a conversation, or a run without one, out of the objects of its tenant's
 * directory. The first, 0, has the budgets, so others list if there are any. By FNV-1a
 * (http://www.isthe.com/chongo/tech/comp/fnv/) of the id.
 */
export function shardOf(id: string, objects: number): number {
  if (objects === 1) return 0
  let hash = 0x811c9dc5
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193)
  return 1 + ((hash >>> 0) % (objects - 1))
}
