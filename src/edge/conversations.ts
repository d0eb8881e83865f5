import { modelSummaries } from '../conversation/history/summary-context.ts'
import { webhookSender } from '../conversation/run/webhook.ts'
import { fetchFiles } from '../http/runs/fetch-files.ts'
import { textOf } from './env.ts'
import type { Part } from './part.ts'

/**
 * Summaries: a model makes notes on the messages that leave the window of a conversation (`MEMORY_SUMMARY`, or
 * `window.summary` of the conversation), which later runs see in place of these messages.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [summaries] })
 */
export const summaries: Part = {
  name: 'summaries',
  extend: () => ({ summaries: modelSummaries }),
}

/**
 * Webhooks: a URL that a conversation is created with is notified when a run ends or waits for an approval. The messages
 * are signed with `WEBHOOK_SECRET`, and go to `WEBHOOK_HOSTS` alone.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [webhooks] })
 */
export const webhooks: Part = {
  name: 'webhooks',
  extend: ({ env, config: { webhookHosts: hosts, auth }, report }) => ({
    webhooks: webhookSender({ secret: textOf(env, 'WEBHOOK_SECRET'), hosts, isOpen: auth === 'open', report }),
  }),
}

/**
 * Linked files: the edge fetches the files that messages link to from `FILE_HOSTS`, and that the model's server does not
 * fetch by itself, so that they are sent as data.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [linkedFiles] })
 */
export const linkedFiles: Part = { name: 'linkedFiles', extend: () => ({ fetchFiles }) }
