import type { ModelEvent } from '../../src/contract/model.ts'
import { modelChooser } from '../../src/model/choose.ts'
import { retrying } from '../../src/model/retry.ts'
import { scripted } from '../fixtures/scripted.ts'
import { logs } from '../../src/observe/log.ts'
import { otlpReporter } from '../../src/observe/otlp.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { type KeptEdge, keptEdge } from '../http/kept-edge.ts'

/** The exercise of docs/observe.md: a tool that fails one time in five, a model that retries, a budget that runs out. */
/** The runs that the budget pays for. It runs out in the one after them. */
export const RUNS = 10
const BUSY: ModelEvent[] = [
  { type: 'error', error: { code: 'model_overloaded', message: 'Too many requests.', status: 529, retryable: true } },
]
const script = Array.from({ length: RUNS + 1 }, (_, run) => [
  ...(run === 3 ? [BUSY] : []),
  ask(['charge', { order: run }]),
  say('Charged.'),
]).flat()

/** An edge that is watched as an operator watches it: metrics, traces and the log. */
export function watchedEdge() {
  const traces: any[] = []
  const lines: string[] = []
  const report = (entry: object) => void lines.push(JSON.stringify(entry))
  const collect = async (_url: unknown, init?: RequestInit) => {
    traces.push(JSON.parse(typeof init?.body === 'string' ? init.body : '{}').resourceSpans[0].scopeSpans[0].spans)
    return new Response('{}')
  }
  const model = retrying(scripted(script, 'test/scripted'), { sleep: async () => {} })
  const keys = withKeys(
    apiKey('shop', { id: 'shop', budget: { tokens: 310, per: 'day' } }),
    apiKey('operator', { scopes: ['metrics', 'chat', 'tools:read', 'tools:admin'] }),
  )
  const charge = tool('charge', ({ order }) => {
    if (Number(order) % 5 === 4) throw new Error('The card reader is offline.')
    return 'charged'
  })
  const edge: KeptEdge = keptEdge({
    script: [],
    listsRuns: true,
    tools: [charge],
    vars: { ...keys, MODEL: 'test/scripted' },
    setup: {
      models: modelChooser({
        providers: { test: () => model },
        defaultModel: 'test/scripted',
        allowed: ['test/scripted'],
        prices: {},
      }),
      report,
      loop: { observe: logs(report) },
      hasSpans: true,
      reporters: [
        otlpReporter({ url: 'https://otlp.test/v1/traces', headers: {}, service: 'edgecall', fetch: collect }),
      ],
    },
  })
  /** Runs once in a conversation of its own, as the shop does. Returns the status of the answer. */
  const charges = async (run: number): Promise<number> => {
    await edge.post('/conversations', { id: `order-${run}` }, bearer('shop'))
    const { status } = await edge.post(
      `/conversations/order-${run}/runs`,
      { input: `Charge order ${run}` },
      bearer('shop'),
    )
    await edge.settle()
    return status
  }
  return { ...edge, traces, lines, charges }
}
