import type { ConversationSettings } from '../../contract/conversation.ts'
import { RecentMap } from '../../contract/recent-map.ts'
import type { EdgeContext } from '../request-context.ts'
import { conversationStub } from './conversation-stub.ts'

/**
 * How long an isolate caches settings, in milliseconds. They never change, but a conversation that expired may be
 * created again with other ones.
 */
const MOST_AGE_MS = 60_000
const MOST_ENTRIES = 1000

/** Caches the settings of a conversation, so that its next runs in this isolate need not ask for them. */
export function cacheSettings(
  { setup, caller }: EdgeContext,
  conversation: string,
  settings: ConversationSettings,
): void {
  const entries = (setup.isolate.settings ??= new RecentMap({ most: MOST_ENTRIES, maxAgeMs: MOST_AGE_MS }))
  entries.set(`${caller.tenant}/${conversation}`, settings)
}

/** Returns the settings of a conversation; empty if it does not exist, which its reply to the next request reports. */
export async function settingsOf(context: EdgeContext, conversation: string): Promise<ConversationSettings> {
  const cached = context.setup.isolate.settings?.get(`${context.caller.tenant}/${conversation}`)
  if (cached) return cached
  const reply = await conversationStub(context, conversation).settings()
  if (!reply.ok) return {}
  cacheSettings(context, conversation, reply.settings)
  return reply.settings
}

/** Completes a request with the defaults of its conversation. Values in the request take precedence. */
export function withDefaults<
  Body extends { readonly context?: object | undefined; readonly limits?: object | undefined },
>({ window: _window, ttlSeconds: _ttl, webhook: _webhook, ...defaults }: ConversationSettings, body: Body): Body {
  const missing = Object.entries(defaults).filter(([name]) => Reflect.get(body, name) === undefined)
  return {
    ...body,
    ...Object.fromEntries(missing),
    ...((defaults.context ?? body.context) && { context: { ...defaults.context, ...body.context } }),
    ...((defaults.limits ?? body.limits) && { limits: { ...defaults.limits, ...body.limits } }),
  }
}
