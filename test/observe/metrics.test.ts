import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { load } from 'js-yaml'
import { expect, test } from 'vitest'
import { METRICS, type RunReport } from '../../src/contract/metrics.ts'
import type { ReportedRun } from '../../src/contract/report.ts'
import { failure } from '../../src/contract/tool.ts'
import { openMetrics } from '../../src/http/surfaces/metrics.ts'
import { dataPointOf, metricsReporter, reportOf, toSeries } from '../../src/observe/run-report.ts'
import { makeDirectory, memoryDirectories } from '../fixtures/directories.ts'
import { ask, play, requestOf, say, tool } from '../fixtures/play.ts'

/** A run that has ended, whose facts are a second apart. */
async function ended(scene: Parameters<typeof play>[0]): Promise<ReportedRun> {
  const { events } = await play(scene)
  let at = Date.now()
  const facts = events.flatMap((event) => (event.type.endsWith('.delta') ? [] : [{ event, at: (at += 1000) }]))
  const first = facts[0]?.at ?? 0
  return { request: requestOf(scene.request ?? {}), acceptedAt: first - 500, facts: facts as ReportedRun['facts'] }
}

const scene = {
  script: [ask(['add', { a: 1 }], ['add', { a: 2 }], ['broken'], ['invented']), say('done')],
  tools: [tool('add', () => '3'), tool('broken', () => failure('gone', 'It is gone.'))],
  price: { input: 1e6, output: 2e6 },
}

test('a run is counted by its model, its key, its tools and their outcomes, and a name that a model invents is not a label', async () => {
  const directory = makeDirectory()
  const run = await ended({ ...scene, request: { caller: { tenant: 'acme', key: 'web', scopes: [] } } })
  await directory.countRuns([reportOf(run)])
  const lines = openMetrics(await directory.series()).split('\n')
  const values = lines.filter((line) => !line.startsWith('#') && !line.includes('_seconds'))
  expect(values).toEqual([
    'edgecall_calls_total{tool="add",outcome="ok"} 2',
    'edgecall_calls_total{tool="broken",outcome="gone"} 1',
    'edgecall_calls_total{tool="unknown",outcome="unknown_tool"} 1',
    'edgecall_cost_total{model="test/scripted",key="web"} 40',
    'edgecall_runs_total{model="test/scripted",status="completed",finish="stop"} 1',
    'edgecall_steps_total{model="test/scripted"} 2',
    'edgecall_tokens_total{model="test/scripted",key="web",kind="input"} 20',
    'edgecall_tokens_total{model="test/scripted",key="web",kind="output"} 10',
    '',
  ])
  expect(lines.filter((line) => line.startsWith('edgecall_queue_seconds'))).toEqual([
    ...[0.05, 0.1, 0.25].map((le) => `edgecall_queue_seconds_bucket{le="${le}"} 0`),
    ...[0.5, 1, 2.5, 5, 10, 30, 60, 300, '+Inf'].map((le) => `edgecall_queue_seconds_bucket{le="${le}"} 1`),
    'edgecall_queue_seconds_sum 0.5',
    'edgecall_queue_seconds_count 1',
  ])
  expect(lines.slice(0, 2)).toEqual([
    '# TYPE edgecall_calls counter',
    '# HELP edgecall_calls Calls of tools. The outcome is `ok` or the code of the error.',
  ])
  expect(lines.slice(-2)).toEqual(['# EOF', ''])
})

test('a run that is reported again is counted once, and has one data point', async () => {
  const points: object[] = []
  const directories = memoryDirectories()
  const reporter = metricsReporter(directories, { writeDataPoint: (point) => void points.push(point) })
  const run = await ended(scene)
  const batch = reporter.openBatch()
  batch.add(run)
  await batch.send()
  await batch.send()
  // Its end is some seconds from now, perhaps after midnight.
  const day = new Date(run.facts.at(-1)?.at ?? 0).toISOString().slice(0, 10)
  const total = {
    runs: 1,
    calls: 4,
    inputTokens: 20,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 10,
    cost: 40,
  }
  const directory = directories.getByName('acme')
  expect(await directory.usage(day, day, 'model')).toEqual([{ name: 'test/scripted', ...total }])
  expect(await directory.usage(day, day, 'tool')).toEqual([
    {
      name: 'add',
      runs: 1,
      calls: 2,
      inputTokens: 0,
      cachedInputTokens: 0,
      cacheWriteTokens: 0,
      outputTokens: 0,
      cost: 0,
    },
    {
      name: 'broken',
      runs: 1,
      calls: 1,
      inputTokens: 0,
      cachedInputTokens: 0,
      cacheWriteTokens: 0,
      outputTokens: 0,
      cost: 0,
    },
    {
      name: 'unknown',
      runs: 1,
      calls: 1,
      inputTokens: 0,
      cachedInputTokens: 0,
      cacheWriteTokens: 0,
      outputTokens: 0,
      cost: 0,
    },
  ])
  expect(await directory.usage('2020-01-01', '2020-01-31', 'model')).toEqual([])
  expect(points).toEqual([dataPointOf(run)])
  expect(points).toMatchObject([
    { indexes: ['acme'], blobs: ['test/scripted', '', 'completed', 'stop', '', '', run.request.runId] },
  ])
})

test('runs are counted once each, whether their reports are summed up already or not, and after a restart', async () => {
  const database = new DatabaseSync(':memory:')
  const at = Date.now()
  const day = new Date(at).toISOString().slice(0, 10)
  const usage = { inputTokens: 2, outputTokens: 1, cost: 0.5 }
  const report = (run: string): RunReport => ({
    ...{ run, at, shares: [{ by: 'key', name: 'web', calls: 1, usage }] },
    series: toSeries([{ name: 'edgecall_steps', labels: { model: 'm' }, value: 3 }]),
  })
  const counted: boolean[] = []
  for (let run = 0; run < 120; run++) {
    const directory = makeDirectory(database)
    counted.push(...(await directory.countRuns([report(`run-${run}`), report(`run-${run >> 1}`)])))
  }
  expect(counted.filter((isNew) => isNew)).toHaveLength(120)
  const directory = makeDirectory(database)
  const row = {
    name: 'web',
    runs: 120,
    calls: 120,
    inputTokens: 240,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 120,
    cost: 60,
  }
  expect(await directory.usage(day, day, 'key')).toEqual([row])
  const series = [{ name: 'edgecall_steps', labels: 'model="m"', part: 'value', le: 0, value: 360 }]
  expect(await directory.series()).toEqual(series)
  expect(await directory.countRuns([report('run-7')])).toEqual([false])
  expect(await directory.series()).toEqual(series)
})

test('usage that an earlier version counted gets columns for what came from caches', async () => {
  const at = Date.now()
  const day = new Date(at).toISOString().slice(0, 10)
  const usage = { inputTokens: 9, outputTokens: 1, cachedInputTokens: 4, cacheWriteTokens: 2 }
  const before = { name: 'web', runs: 2, calls: 3, inputTokens: 20, outputTokens: 10, cost: 0 }
  const used = 'day TEXT, by TEXT, name TEXT, runs INTEGER, calls INTEGER, input INTEGER, output INTEGER, cost REAL'
  for (const [columns, values] of [
    ['', ''],
    [', cached INTEGER NOT NULL DEFAULT 0', ', 0'],
  ]) {
    const database = new DatabaseSync(':memory:')
    database.exec(`CREATE TABLE counted (run TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
      CREATE TABLE used (${used}${columns}, PRIMARY KEY (day, by, name)) WITHOUT ROWID;
      INSERT INTO used VALUES ('${day}', 'key', 'web', 2, 3, 20, 10, 0${values})`)
    const directory = makeDirectory(database)
    expect(await directory.usage(day, day, 'key')).toEqual([{ ...before, cachedInputTokens: 0, cacheWriteTokens: 0 }])
    await directory.countRuns([{ run: 'r', at, shares: [{ by: 'key', name: 'web', calls: 0, usage }], series: [] }])
    expect(await makeDirectory(database).usage(day, day, 'key')).toEqual([
      { ...before, runs: 3, inputTokens: 29, cachedInputTokens: 4, cacheWriteTokens: 2, outputTokens: 11 },
    ])
  }
})

test('reading the metrics and the usage of a tenant without runs stores nothing', async () => {
  const database = new DatabaseSync(':memory:')
  const directory = makeDirectory(database)
  expect(await directory.series()).toEqual([])
  expect(await directory.usage('2026-01-01', '2026-12-31', 'key')).toEqual([])
  expect(database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()).toEqual([])
})

test('a label is escaped as OpenMetrics demands', async () => {
  const directory = makeDirectory()
  const sample = { name: 'edgecall_cost', labels: { model: 'a"b\\c\nd', key: '' }, value: 0.5 } as const
  await directory.countRuns([{ run: 'r', at: Date.now(), shares: [], series: toSeries([sample]) }])
  expect(openMetrics(await directory.series())).toContain('edgecall_cost_total{model="a\\"b\\\\c\\nd",key=""} 0.5\n')
})

test('names of a day and series are bounded', async () => {
  const directory = makeDirectory()
  const at = Date.now()
  const usage = { inputTokens: 1, outputTokens: 0 }
  const names = Array.from({ length: 1200 }, (_, index) => `key-${index}`)
  const report: RunReport = {
    run: 'r',
    at,
    shares: names.map((name) => ({ by: 'key', name, calls: 0, usage })),
    series: toSeries(
      Array.from({ length: 5000 }, (_, index) => ({ name: 'edgecall_cost', labels: { model: `m${index}` }, value: 1 })),
    ),
  }
  const series = toSeries([{ name: 'edgecall_cost', labels: { model: 'new' }, value: 1 }])
  await directory.countRuns([report, { ...report, run: 's', series }])
  const day = new Date(at).toISOString().slice(0, 10)
  const rows = await directory.usage(day, day, 'key')
  expect(rows.length).toBeLessThanOrEqual(1001)
  expect(rows.reduce((sum, row) => sum + row.inputTokens, 0)).toBe(2400)
  expect(await directory.series()).toHaveLength(5000)
})

test('each metric of the dashboard and of the alerts exists, with the labels that they use', () => {
  const dashboard = JSON.parse(readFileSync('docs/grafana-dashboard.json', 'utf8'))
  const queries: string[] = dashboard.panels.flatMap((panel: any) => (panel.targets ?? []).map(({ expr }: any) => expr))
  const { groups }: any = load(readFileSync('docs/prometheus-alerts.yml', 'utf8'))
  queries.push(...groups.flatMap(({ rules }: any) => rules.map(({ expr }: any) => expr)))
  expect(queries.length).toBeGreaterThan(25)
  const series = Object.entries(METRICS).flatMap(([name, { type }]) =>
    type === 'counter'
      ? [`${name}_total`]
      : type === 'gauge'
        ? [name]
        : [`${name}_bucket`, `${name}_sum`, `${name}_count`],
  )
  for (const query of queries) {
    const used = query.match(/edgecall_\w+/g) ?? []
    expect(used.length, query).toBeGreaterThan(0)
    expect(
      used.filter((name) => !series.includes(name)),
      query,
    ).toEqual([])
    const names = used.flatMap(
      (name) => METRICS[name.replace(/_(?:total|bucket|sum|count)$/, '') as keyof typeof METRICS].labels,
    )
    const labels = [...query.matchAll(/by \(([^)]*)\)|(\w+)(?==~?")|(\w+)(?=!=")/g)].flatMap(
      ([, list = '', ...rest]) => [...list.split(/,\s*/), ...rest],
    )
    expect(
      labels.filter((label) => label && label !== 'le' && !(names as string[]).includes(label)),
      query,
    ).toEqual([])
  }
})
