import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { load } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { freePort } from '../cli/command.ts'
import { eventually } from '../fixtures/eventually.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'

const BIN = process.env['PROMETHEUS_BIN'] ?? '/usr/bin'
const hasPrometheus = ['prometheus', 'promtool'].every((name) => existsSync(join(BIN, name)))
const run = promisify(execFile)
/** When the first run ends, in epoch seconds, and how often the metrics are read. */
const EVENTS_AT = Date.parse('2026-03-01T12:00:00Z') / 1000
const INTERVAL = 15
const folder = mkdtempSync(join(tmpdir(), 'prometheus-test-'))
const ALERTS = 'docs/prometheus-alerts.yml'
let stop = async () => {}
let origin = ''

function failSlowly() {
  vi.setSystemTime(Date.now() + 20)
  return { ok: false, error: { code: 'tool_failed', message: 'Closed.' } }
}

/** The metrics of an edge before anything has happened, and after runs, failures and refusals. */
async function readMetrics(): Promise<readonly [before: string, after: string]> {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: EVENTS_AT * 1000 })
  const keys = withKeys(
    apiKey('web', { id: 'web', budget: { tokens: 100, per: 'month' } }),
    apiKey('reader', { scopes: ['metrics'] }),
  )
  const edge = keptEdge({
    script: Array.from({ length: 12 }, (_, at) => (at % 2 === 0 ? ask(['pay']) : say('Done.'))),
    vars: { ...keys, MODELS: 'test/scripted' },
    tools: [tool('pay', failSlowly)],
    listsRuns: true,
  })
  const read = async () => (await edge.fetch('/metrics', { headers: bearer('reader') })).text()
  const before = await read()
  const statuses: number[] = []
  for (let count = 0; count < 5; count++) {
    const response = await edge.post('/runs', { input: 'Pay' }, bearer('web'))
    statuses.push(response.status)
    await response.text()
    await vi.advanceTimersByTimeAsync(5000)
    await edge.settle()
  }
  expect(statuses).toEqual([200, 200, 200, 200, 429])
  const after = await read()
  vi.useRealTimers()
  return [before, after]
}

/** Returns what Prometheus stores if it reads these metrics for five minutes each. */
function scraped([before, after]: readonly [string, string]): string {
  const [heads, samples] = [new Map<string, string[]>(), new Map<string, string[]>()]
  for (let at = EVENTS_AT - 300; at < EVENTS_AT + 300; at += INTERVAL) {
    for (const line of (at < EVENTS_AT ? before : after).split('\n')) {
      const name = /^# TYPE (\S+)/.exec(line)?.[1] ?? /^(edgecall_\w+)/.exec(line)?.[1]
      if (name === undefined) continue
      if (line.startsWith('# TYPE')) heads.set(name, [line])
      else {
        const family = name.replace(/_(?:total|bucket|sum|count)$/, '')
        samples.set(family, [...(samples.get(family) ?? []), `${line} ${at}`])
      }
    }
  }
  const families = Array.from(samples, ([name, lines]) => {
    // Those of one series follow each other.
    const sorted = lines.toSorted((a, b) => {
      const [x, y] = [a, b].map((line) => line.replace(/ \S+ \S+$/, ''))
      return x === y ? 0 : (x ?? '') < (y ?? '') ? -1 : 1
    })
    return [...(heads.get(name) ?? []), ...sorted]
  })
  return [...families.flat(), '# EOF', ''].join('\n')
}

async function query(expr: string): Promise<{ readonly metric: Record<string, string>; readonly value: string }[]> {
  const parameters = new URLSearchParams({ query: expr, time: String(EVENTS_AT + 120) })
  const response = await fetch(`${origin}/api/v1/query?${parameters.toString()}`)
  const { status, data, error }: any = await response.json()
  expect(status, `${expr}: ${error}`).toBe('success')
  return data.result.map(({ metric, value }: any) => ({ metric, value: value[1] }))
}

describe.skipIf(!hasPrometheus)('a real Prometheus', () => {
  beforeAll(async () => {
    writeFileSync(join(folder, 'metrics.txt'), scraped(await readMetrics()))
    const data = join(folder, 'data')
    await run(join(BIN, 'promtool'), ['tsdb', 'create-blocks-from', 'openmetrics', join(folder, 'metrics.txt'), data])
    writeFileSync(join(folder, 'prometheus.yml'), 'global: {}\n')
    const port = await freePort()
    origin = `http://127.0.0.1:${port}`
    const child = spawn(
      join(BIN, 'prometheus'),
      [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${data}`,
        '--storage.tsdb.retention.time=100y',
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: 'ignore' },
    )
    stop = async () => {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }
    await eventually(async () => expect((await fetch(`${origin}/-/ready`)).status).toBe(200))
  })
  afterAll(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })

  test('accepts the alert rules', async () => {
    const { stdout } = await run(join(BIN, 'promtool'), ['check', 'rules', ALERTS])
    expect(stdout).toContain('SUCCESS: 11 rules found')
  })

  test('counts the first event of each series', async () => {
    const [errors] = await query('sum(increase(edgecall_refused_requests_total{code="budget_exhausted"}[5m]))')
    expect(Number(errors?.value)).toBeGreaterThan(0.9)
    const [runs] = await query('sum(increase(edgecall_runs_total[5m]))')
    expect(Number(runs?.value)).toBeGreaterThan(3.9)
    const [queued] = await query('sum(increase(edgecall_queue_seconds_count[5m]))')
    expect(Number(queued?.value)).toBeGreaterThan(3.9)
  })

  test('fires the alerts about what has happened, and no others', async () => {
    const { groups }: any = load(readFileSync(ALERTS, 'utf8'))
    const names: string[] = []
    for (const { alert, expr } of groups[0].rules) if ((await query(expr)).length > 0) names.push(alert)
    expect(names).toEqual(['EdgecallToolFails', 'EdgecallBudgetExhausted'])
  })

  test('draws each panel of the dashboard without a value that is not a number', async () => {
    const { panels } = JSON.parse(readFileSync('docs/grafana-dashboard.json', 'utf8'))
    const empty: string[] = []
    for (const { title, targets = [] } of panels) {
      for (const { expr } of targets) {
        const series = await query(expr.replaceAll('$__rate_interval', '5m'))
        expect(
          series.map(({ value }) => value),
          expr,
        ).not.toContain('NaN')
        if (series.length === 0) empty.push(title)
      }
    }
    // Nothing of these has happened.
    expect(empty).toEqual(['Schedules'])
  })
})
