import { answerReporter } from '../../src/triggers/answers.ts'
import { triggerHandlers, type Triggers } from '../../src/triggers/triggers.ts'
import { webhookRoutes } from '../../src/triggers/webhooks.ts'
import { say } from '../fixtures/play.ts'
import type { TestSetup } from '../fixtures/setup.ts'
import { keptEdge } from '../http/kept-edge.ts'
import type { Setup } from '../../src/contract/setup.ts'
import { workerOf } from './schedules-world.ts'

/** The secret of the services that send webhooks, in the variable `HOOK_SECRET`. */
export const SECRET = 'a secret of the service'
/** The context of an event. As that of the platform, its method works on it alone. */
export const ctx = {
  works: [] as Promise<unknown>[],
  waitUntil(work: Promise<unknown>) {
    this.works.push(work)
  },
}

/** An edge with these triggers in plain Node, and what its conversations were sent. */
export function triggeredEdge(
  table: Triggers,
  {
    env = { HOOK_SECRET: `an older secret, ${SECRET}` },
    script = Array.from({ length: 20 }, () => say('Done.')),
    setup = {},
    ...parts
  }: {
    readonly env?: Record<string, unknown>
    readonly script?: Parameters<typeof keptEdge>[0]['script']
    readonly setup?: Partial<Setup>
  } & Omit<TestSetup, 'others'> = {},
) {
  const reports: Record<string, unknown>[] = []
  const own: ReturnType<typeof keptEdge> = keptEdge({
    script,
    ...parts,
    setup: {
      triggerEnv: env,
      report: (entry) => void reports.push(entry),
      reporters: [answerReporter(() => own.setup)],
      ...setup,
    },
  })
  const app = workerOf(own.setup, webhookRoutes(table))
  const conversations = () => [...own.objects.keys()].map((name) => name.replace('v1/', ''))
  const post = async (name: string, body: string, headers: Record<string, string> = {}) => {
    const request = new Request(`http://127.0.0.1:8787/triggers/${name}`, { method: 'POST', body, headers })
    const response = await app.fetch(request, {}, ctx)
    const text = await response.text()
    return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text }
  }
  const send = (url: string, init?: RequestInit) => Promise.resolve(app.fetch(new Request(url, init), {}, ctx))
  return { own, post, send, conversations, reports, handlers: triggerHandlers(table, () => own.setup) }
}
