import {
  type ConversationService,
  type Jurisdiction,
  JURISDICTIONS,
  type Location,
} from '../../contract/conversation.ts'
import type { Setup } from '../../contract/setup.ts'
import type { EdgeContext } from '../request-context.ts'
import { Problem } from '../problem.ts'
import { limitGuesses } from './limit-guesses.ts'

/**
 * Returns the Durable Object of a conversation; each tenant has its own. The id names the jurisdiction, so that the id
 * alone is enough to find the object. `location`: the preferred region of an object that does not exist yet.
 */
export function conversationStub(
  { setup, caller }: EdgeContext,
  conversation: string,
  location?: Location,
): ConversationService {
  const namespace = namespaceIn(setup, jurisdictionOf(conversation))
  const name = `v1/${caller.tenant}/${conversation}`
  const stub = () =>
    location === undefined ? namespace.getByName(name) : namespace.getByName(name, { locationHint: location })
  return limitGuesses({ setup, caller }, name, stub)
}

/** Returns the jurisdiction that the prefix of a conversation's id names, such as `eu__`. */
export function jurisdictionOf(conversation: string): Jurisdiction | undefined {
  return JURISDICTIONS.find((jurisdiction) => conversation.startsWith(`${jurisdiction}__`))
}

function namespaceIn({ conversations }: Setup, jurisdiction?: Jurisdiction): Setup['conversations'] {
  if (jurisdiction === undefined) return conversations
  try {
    const namespace = conversations.jurisdiction?.(jurisdiction)
    if (namespace) return namespace
  } catch {
    // The platform has no jurisdictions, as on a developer's machine.
  }
  const message = `The jurisdiction "${jurisdiction}" is not available on this platform.`
  throw new Problem({ status: 501, code: 'no_such_jurisdiction', message })
}

/** Where a run is stored. Without a `conversation`: in a hidden one that the caller cannot name. */
export interface RunLocation {
  readonly runId: string
  readonly conversation?: string | undefined
}

/** Returns the conversation that stores a run: the caller's or, so that the run can be found again, a hidden one. */
export function conversationStubOfRun(context: EdgeContext, { runId, conversation }: RunLocation): ConversationService {
  // No caller can name a hidden conversation: no id contains a tilde.
  return conversationStub(context, conversation ?? `~${runId}`)
}
