import type { ConversationSettings } from '../contract/conversation.ts'
import type { Setup } from '../contract/setup.ts'
import { conversationOf } from './keeper.ts'

/** How long an isolate remembers settings, which never change: a conversation that expired may be made anew. */
const MOST_AGE_MS = 60_000
const MOST_KNOWN = 1000

const known = new WeakMap<Setup, Map<string, { readonly settings: ConversationSettings; readonly until: number }>>()

/** Spares the next run of a conversation that was just made here the question. */
export function remember(setup: Setup, tenant: string, conversation: string, settings: ConversationSettings): void {
  const all = known.get(setup) ?? new Map()
  known.set(setup, all)
  if (all.size >= MOST_KNOWN) all.clear()
  all.set(`${tenant}/${conversation}`, { settings, until: Date.now() + MOST_AGE_MS })
}

/** The settings of a conversation; empty where there is no such conversation, which its next answer tells. */
export async function settingsOf(setup: Setup, tenant: string, conversation: string): Promise<ConversationSettings> {
  const remembered = known.get(setup)?.get(`${tenant}/${conversation}`)
  if (remembered && remembered.until > Date.now()) return remembered.settings
  const reply = await conversationOf(setup, tenant, conversation).settings()
  if (!reply.ok) return {}
  remember(setup, tenant, conversation, reply.settings)
  return reply.settings
}

/** A request with the defaults of its conversation: what it says itself wins. */
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
