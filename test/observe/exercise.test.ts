import { expect, test } from 'vitest'
import { runLog } from '../../src/cli/dev/run-log.ts'
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
const RUNS = 10
const BUSY: ModelEvent[] = [
  { type: 'error', error: { code: 'model_overloaded', message: 'Too many requests.', status: 529, retryable: true } },
]
const script = Array.from({ length: RUNS }, (_, run) => [
  ...(run === 3 ? [BUSY] : []),
  ask(['charge', { order: run }]),
  say('Charged.'),
]).flat()

/** An edge that is watched as an operator watches it: metrics, traces and the log. */
function watchedEdge() {
  const traces: any[] = []
  const lines: string[] = []
  const report = (entry: object) => void lines.push(JSON.stringify(entry))
  const collect = async (_url: unknown, init?: RequestInit) => {
    traces.push(JSON.parse(typeof init?.body === 'string' ? init.body : '{}').resourceSpans[0].scopeSpans[0].spans)
    return new Response('{}')
  }
  const model = retrying(scripted(script, 'test/scripted'), { sleep: async () => {} })
  const keys = withKeys(
    apiKey('shop', { id: 'shop', budget: { tokens: 300, per: 'day' } }),
    apiKey('operator', { scopes: ['metrics'] }),
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
  return { ...edge, traces, lines }
}

const attributesOf = ({ attributes }: any) =>
  Object.fromEntries(attributes.map(({ key, value }: any) => [key, Object.values(value)[0]]))

test('an operator gets from each alert in the metrics to the cause, in the traces and in the log', async () => {
  const edge = watchedEdge()
  const answers: number[] = []
  for (let run = 0; run < RUNS + 1; run++) {
    answers.push((await edge.post('/runs', { input: 'Charge it' }, bearer('shop'))).status)
    await edge.settle()
  }

  // The alerts: three figures of `GET /metrics`.
  const text = await (await edge.fetch('/metrics', { headers: bearer('operator') })).text()
  const valueOf = (series: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${series} `))
        ?.split(' ')[1],
    )
  const failed = valueOf('edgecall_calls_total{tool="charge",outcome="tool_failed"}')
  expect(failed / (failed + valueOf('edgecall_calls_total{tool="charge",outcome="ok"}'))).toBeCloseTo(1 / 5)
  expect(valueOf('edgecall_model_retries_total{model="test/scripted",code="model_overloaded"}')).toBe(1)
  expect(valueOf('edgecall_tokens_total{model="test/scripted",key="shop",kind="input"}')).toBe(200)
  expect(answers).toEqual([...Array.from({ length: RUNS }, () => 200), 429])

  // The traces: which runs the failed calls and the retry are in.
  const spans = edge.traces.flat()
  const runOf = (span: any) =>
    attributesOf(spans.find(({ traceId, name }) => traceId === span.traceId && name === 'invoke_agent'))[
      'edgecall.run.id'
    ]
  const broken = spans.filter(({ status }) => status.message === 'tool_failed')
  expect(broken.map(({ name }) => name)).toEqual(['execute_tool charge', 'execute_tool charge'])
  const retried = spans.find(({ events }) => events.some(({ name }: any) => name === 'model.retried'))
  expect(attributesOf(retried.events[0])).toEqual({
    'error.type': 'model_overloaded',
    'http.response.status_code': '529',
  })

  // The log, as `edgecall tail` prints it: the causes.
  let printed = ''
  const print = runLog((more) => void (printed += more))
  for (const line of edge.lines) print(line)
  const treeOf = (run: string) => printed.split(/^(?=run_)/m).find((tree) => tree.startsWith(run)) ?? ''
  expect(treeOf(runOf(broken[0]))).toMatch(
    /^│ ! charge {2}failed \(tool_failed\).* Error: The card reader is offline\./m,
  )
  expect(treeOf(runOf(retried))).toMatch(
    /^│ ! test\/scripted {2}failed and is asked again \(model_overloaded 529\).* Too many requests\.$/m,
  )
})

test('a failure of a run is printed as a tree of its own where runs are not logged', () => {
  let printed = ''
  const print = runLog((more) => void (printed += more), false)
  const fault = {
    runId: 'run_a',
    model: 'openai/x',
    code: 'model_overloaded',
    status: 529,
    attempts: 3,
    durationMs: 42,
  }
  print(JSON.stringify({ event: 'model.failed', ...fault, detail: 'Too many requests.' }))
  expect(printed).toBe('run_a\n└ openai/x  failed (model_overloaded 529)  3 attempts  42 ms  Too many requests.\n')
})
