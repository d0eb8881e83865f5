/**
 * The edge with all kinds of runs: agents, of which one calls the other, and triggers. It has one more path, by which a
 * message of a queue is delivered: the local queues of `wrangler dev` forget what they hold when they are killed.
 */
import { agentSource } from '../../../src/agent.ts'
import type { AgentOptions } from '../../../src/contract/agent.ts'
import { createEdge, emailTrigger, githubWebhooks, queueTrigger, triggers, webhookTrigger } from '../../../src/edge.ts'
import { everything } from '../../../src/everything.ts'
import { DELIVERIES } from './deliveries.ts'

export { Catalog } from '../../../src/edge.ts'

const EFFECTS = ['plain', 'idempotent', 'readOnly', 'approved', 'later', 'tellsOutcome', 'tellsDone', 'tellsNothing']

const agent = (name: string, tools: readonly string[]): AgentOptions => {
  return { name, description: `Does what it is told, as the ${name}.`, instructions: name, tools, durable: true }
}

/** The run of an event that says a script. Those of queues and mail are in a conversation that is named after it. */
const runOf = (text: string) => ({ run: { input: text.trim() } })
const namedRunOf = (text: string) => ({ ...runOf(text), conversation: text.trim().replace('case ', 'of-') })

const edge = createEdge({
  ...everything,
  use: [
    ...everything.use,
    triggers({
      orders: queueTrigger({ queue: 'orders', as: 'x', start: ({ body }) => namedRunOf(String(body)) }),
      hook: webhookTrigger({ scheme: githubWebhooks('HOOK_SECRET'), as: 'x', start: ({ text }) => runOf(text) }),
      desk: emailTrigger({ as: 'x', from: ['@example.com'], start: ({ text }) => namedRunOf(text) }),
    }),
  ],
  sources: (setup) => [agentSource([agent('boss', ['clerk', ...EFFECTS]), agent('clerk', EFFECTS)], setup)],
})

type Env = Parameters<typeof edge.fetch>[1]

export const { Conversation, Directory, Schedules } = edge
export default {
  ...edge,
  fetch: async (request: Request, env: Env, context: ExecutionContext): Promise<Response> => {
    if (new URL(request.url).pathname !== DELIVERIES) return edge.fetch(request, env, context)
    const message = await request.json<{ readonly id: string; readonly body: unknown }>()
    let outcome = ''
    const settle = { ack: () => void (outcome = 'ack'), retry: () => void (outcome = 'retry') }
    await edge.queue?.({ queue: 'orders', messages: [{ ...message, attempts: 1, ...settle }] }, env, context)
    return Response.json({ outcome })
  },
}
