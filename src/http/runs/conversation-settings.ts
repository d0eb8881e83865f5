import type { ConversationSettings } from '../../contract/conversation.ts'
import type { Setup } from '../../contract/setup.ts'
import { conversationOf } from './conversation-stub.ts'

/**
 * How long an isolate caches settings, in milliseconds. They never change, but a conversation that expired may be
 * created again with other ones.
 */
const MOST_AGE_MS = 60_000
const MOST_KNOWN = 1000

const known = new WeakMap<Setup, Map<string, { readonly settings: ConversationSettings; readonly until: number }>>()

/** Caches the settings of a conversation, so that its next runs in this isolate need not ask for them. */
export function remember(setup: Setup, tenant: string, conversation: string, settings: ConversationSettings): void {
  const all = known.get(setup) ?? new Map()
  known.set(setup, all)
  if (all.size >= MOST_KNOWN) all.clear()
  all.set(`${tenant}/${conversation}`, { settings, until: Date.now() + MOST_AGE_MS })
}

/** Returns the settings of a conversation; empty if it does not exist, as its reply to the next request will tell. */
export async function settingsOf(setup: Setup, tenant: string, conversation: string): Promise<ConversationSettings> {
  const remembered = known.get(setup)?.get(`${tenant}/${conversation}`)
  if (remembered && remembered.until > Date.now()) return remembered.settings
  const reply = await conversationOf(setup, tenant, conversation).settings()
  if (!reply.ok) return {}
  remember(setup, tenant, conversation, reply.settings)
  return reply.settings
}

/** Completes a request with the defaults of its conversation. Values in the request win. */
export function withDefaults<
  Body extends { readonly context?: object | undefined; readonly limits?: object | undefined },
>({ window: _window, ttlSeconds: _ttl, webhook: _webhook, ...defaults }: ConversationSettings, body: Body): Body {
  const unsaid = Object.entries(defaults).filter(([name]) => Reflect.get(body, name) === undefined)
  return {
    ...body,
    ...Object.fromEntries(unsaid),
    ...((defaults.context ?? body.context) && { context: { ...defaults.context, ...body.context } }),
    ...((defaults.limits ?? body.limits) && { limits: { ...defaults.limits, ...body.limits } }),
  }
}
