import { termsOfCaller } from '../../contract/caller-terms.ts'
import type { ConversationService, Jurisdiction, Location } from '../../contract/conversation.ts'
import { hiddenConversation, jurisdictionOf } from '../../contract/placement.ts'
import type { Setup } from '../../contract/setup.ts'
import type { EdgeContext } from '../request-context.ts'
import { Problem } from '../problem.ts'
import { limitGuesses } from './limit-guesses.ts'

/**
 * Returns the Durable Object of a conversation; each tenant has its own. The id names the jurisdiction, so that the id
 * alone is enough to find the object. `location`: the preferred region of an object that does not exist yet. Default:
 * that of the caller's key. Throws a Problem 403 if the caller's key has another jurisdiction.
 */
export function conversationStub(
  { setup, caller }: EdgeContext,
  conversation: string,
  location?: Location,
): ConversationService {
  const terms = termsOfCaller(setup, caller)
  const jurisdiction = jurisdictionOf(conversation)
  if (terms?.jurisdiction && terms.jurisdiction !== jurisdiction) throw otherJurisdiction(terms.jurisdiction)
  const namespace = namespaceIn(setup, jurisdiction)
  const name = `v1/${caller.tenant}/${conversation}`
  const locationHint = location ?? terms?.location
  const stub = () =>
    locationHint === undefined ? namespace.getByName(name) : namespace.getByName(name, { locationHint })
  return limitGuesses({ setup, caller }, name, stub)
}

function otherJurisdiction(jurisdiction: Jurisdiction): Problem {
  return new Problem({
    status: 403,
    code: 'other_jurisdiction',
    message: `This key may only use conversations in the jurisdiction "${jurisdiction}", whose ids begin with "${jurisdiction}__".`,
  })
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
  const { setup, caller } = context
  return conversationStub(context, conversation ?? hiddenConversation(setup, caller, runId))
}
