import type { Webhooks } from '../contract/webhooks.ts'
import { webhookSender } from '../conversation/run/webhook.ts'
import { textOf } from './env.ts'
import type { SetupParts } from './parts.ts'

/** A feature of an edge: notices of the runs of conversations. */
export type WebhooksFeature = (parts: SetupParts) => Webhooks

/**
 * Webhooks: a URL that a conversation is created with is notified when a run ends or waits for an approval. The messages
 * are signed with `WEBHOOK_SECRET`, and go to `WEBHOOK_HOSTS` alone.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, webhooks })
 */
export const webhooks: WebhooksFeature = ({ env, config: { webhookHosts: hosts, auth }, report }) =>
  webhookSender({ secret: textOf(env, 'WEBHOOK_SECRET'), hosts, isOpen: auth === 'open', report })
