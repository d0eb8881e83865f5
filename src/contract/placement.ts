import { termsOfCaller } from './caller-terms.ts'
import { type Jurisdiction, JURISDICTIONS } from './conversation.ts'
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

/**
 * Returns the id of the hidden conversation that stores a run without one, in the jurisdiction of the caller's key. No
 * caller can name it: no id contains a tilde.
 */
export function hiddenConversation(setup: Pick<Setup, 'config' | 'storedKeys'>, caller: Caller, runId: string): string {
  return idIn(termsOfCaller(setup, caller)?.jurisdiction, `~${runId}`)
}
