import { Hono } from 'hono/tiny'
import {
  BUCKETS,
  isMetricName,
  type MetricName,
  METRICS,
  type Series,
  USAGE_KINDS,
  type UsageKind,
  zeroSeries,
} from '../../contract/metrics.ts'
import { isTerminal, RUN_STATUSES } from '../../contract/run.ts'
import { EDGE_TENANT, tenantsAfter } from '../../contract/tenants.ts'
import type { EdgeEnv } from '../context.ts'
import { requireScope } from '../middleware/auth.ts'
import type { EdgeContext } from '../request-context.ts'
import { Problem } from '../problem.ts'
import type { Surface, SurfacePart } from '../surface.ts'
import { readQuery } from './runs.ts'

const app = new Hono<EdgeEnv>()

app.get('/', async (c) => {
  const { caller, setup } = c.env
  requireScope(caller, 'metrics')
  if (!setup.runDirectories) return c.notFound()
  const { tenants, after = '' } = readQuery(c, 'tenants', 'after')
  if (tenants !== undefined && tenants !== 'all')
    throw new Problem({ status: 422, code: 'invalid_request', message: 'Expected "all".', param: 'tenants' })
  const series = tenants === 'all' ? await seriesOfEdge(c.env, after) : await seriesOfTenant(c.env)
  return c.body(openMetrics(series), 200, { 'content-type': TYPE })
})

/** `GET /metrics`: the metrics of the caller's tenant, or of all tenants, as OpenMetrics text. */
export const metricsRoute: SurfacePart = {
  name: 'metricsRoute',
  surfaces: [{ routes: { '/metrics': app } }],
}

/** The most tools of which calls are expected. */
const MOST_TOOLS = 100
/** How many tenants one answer has: each costs some subrequests. */
const MOST_TENANTS = 150
/** How many of them are asked at once. */
const AT_A_TIME = 10

/** Returns the metrics of the caller's tenant, with the series that are still zero. */
async function seriesOfTenant({ caller, setup }: EdgeContext): Promise<readonly Series[]> {
  const [counted, { tools, unavailable }] = await Promise.all([
    countedSeries({ caller, setup }, caller.tenant),
    // Whatever tools are stored, all of those that are held back are listed.
    setup.tools(caller).list({ after: '', limit: MOST_TOOLS }),
  ])
  const heldTools = unavailable.filter(({ pending }) => pending).length
  const expected = zeroSeries({
    models: setup.models.list(),
    tools: tools.slice(0, MOST_TOOLS).map(({ definition }) => definition.name),
    keys: setup.config.apiKeys.filter(({ tenant }) => tenant === caller.tenant).map(({ id }) => id),
    counted,
  })
  return [...counted, ...expected, gauge('edgecall_held_tools', heldTools)]
}

/** Returns the metrics of tenants, those after one, each labelled with its name, and of requests that no tenant has sent. */
async function seriesOfEdge({ caller, setup }: EdgeContext, after: string): Promise<readonly Series[]> {
  requireScope(caller, 'keys')
  const tenants = (await tenantsAfter(setup, after)).slice(0, MOST_TENANTS)
  const all: Series[] = []
  for (let at = 0; at < tenants.length; at += AT_A_TIME) {
    const pages = tenants.slice(at, at + AT_A_TIME).map(async (tenant) => {
      const counted = await countedSeries({ caller, setup }, tenant)
      const expected = zeroSeries({ models: setup.models.list(), tools: [], keys: [], counted })
      const label = `tenant=${JSON.stringify(tenant)}`
      return [...counted, ...expected].map((each) => ({
        ...each,
        labels: each.labels === '' ? label : `${label},${each.labels}`,
      }))
    })
    all.push(...(await Promise.all(pages)).flat())
  }
  const own = after === '' ? ((await setup.runDirectories?.getByName(EDGE_TENANT).series()) ?? []) : []
  return [
    ...all,
    ...own,
    ...(after === '' ? zeroSeries({ models: [], tools: [], keys: [], counted: own, only: 'edge' }) : []),
  ]
}

/** Returns what was counted for a tenant, and how many runs and approvals are open. */
async function countedSeries({ setup }: EdgeContext, tenant: string): Promise<readonly Series[]> {
  const directory = setup.runDirectories?.getByName(tenant)
  if (!directory) return []
  const [series, scheduled, openRuns, approvals] = await Promise.all([
    directory.series(),
    setup.schedules?.getByName(tenant).series() ?? [],
    directory.openRuns(),
    directory.approvals(),
  ])
  const gauges = OPEN_STATUSES.map((status) =>
    gauge('edgecall_open_runs', openRuns.find((each) => each.status === status)?.count ?? 0, `status="${status}"`),
  )
  return [...series, ...scheduled, ...gauges, gauge('edgecall_open_approvals', approvals.length)]
}

const OPEN_STATUSES = RUN_STATUSES.filter((status) => !isTerminal(status))

function gauge(name: MetricName, value: number, labels = ''): Series {
  return { name, labels, part: 'value', le: 0, value }
}

const TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

/** Encodes series as OpenMetrics text (https://prometheus.io/docs/specs/om/open_metrics_spec/). */
export function openMetrics(series: readonly Series[]): string {
  const names = [...new Set(series.map(({ name }) => name))].filter(isMetricName)
  const lines = names.flatMap((name) => {
    const own = series.filter((each) => each.name === name)
    const { type, help } = METRICS[name]
    const head = [`# TYPE ${name} ${type}`, ...(name.endsWith('_seconds') ? [`# UNIT ${name} seconds`] : [])]
    const samples = type === 'histogram' ? histogramLines(name, own) : own.map(valueLine)
    return [...head, `# HELP ${name} ${help}`, ...samples]
  })
  return [...lines, '# EOF', ''].join('\n')
}

function valueLine({ name, labels, value }: Series): string {
  const suffix = isMetricName(name) && METRICS[name].type === 'counter' ? '_total' : ''
  return `${name}${suffix}${inBraces(labels)} ${value}`
}

/** Stored buckets are separate; those of OpenMetrics are cumulative. */
function histogramLines(name: string, series: readonly Series[]): string[] {
  return [...new Set(series.map(({ labels }) => labels))].flatMap((labels) => {
    const own = series.filter((each) => each.labels === labels)
    const inBucket = (le: number) => own.find((each) => each.part === 'bucket' && each.le === le)?.value ?? 0
    let count = 0
    const buckets = BUCKETS.map((limit) => {
      count += inBucket(limit)
      return `${name}_bucket${inBraces(labels, `le="${limit}"`)} ${count}`
    })
    count += inBucket(-1)
    const sum = own.find(({ part }) => part === 'sum')?.value ?? 0
    return [
      ...buckets,
      `${name}_bucket${inBraces(labels, 'le="+Inf"')} ${count}`,
      `${name}_sum${inBraces(labels)} ${sum}`,
      `${name}_count${inBraces(labels)} ${count}`,
    ]
  })
}

function inBraces(...labels: readonly string[]): string {
  const text = labels.filter((each) => each !== '').join(',')
  return text === '' ? '' : `{${text}}`
}

const usageRoutes = new Hono<EdgeEnv>()

/** `GET /usage?by=`: the usage of the whole tenant by key, model or tool, from one day to another; `per=day`: of each day. */
export const usageBy: Surface = { routes: { '/usage': usageRoutes } }

usageRoutes.get('/', async (c) => {
  const { caller, setup } = c.env
  requireScope(caller, 'metrics')
  const query = readQuery(c, 'by', 'from', 'to', 'per')
  const runs = setup.runDirectories?.getByName(caller.tenant)
  if (!runs) {
    throw new Problem({ status: 404, code: 'not_found', message: 'This edge does not count the usage of runs.' })
  }
  const by = USAGE_KINDS.find((each) => each === query.by)
  if (!by) throw invalid('by', 'Expected "key", "model" or "tool".')
  const today = new Date().toISOString().slice(0, 10)
  const from = dayOf(query, 'from') ?? `${today.slice(0, 7)}-01`
  const to = dayOf(query, 'to') ?? today
  if (from > to) throw invalid('from', 'Expected a day up to `to`.')
  const { per } = query
  if (per !== undefined && per !== 'day') throw invalid('per', 'Expected "day".')
  const rows = await runs.usage(from, to, by satisfies UsageKind, per === 'day')
  return c.json({ by, from, to, usage: rows })
})

/** Reads a day of the query, such as `2026-02-28`. */
function dayOf(query: Partial<Record<'from' | 'to', string>>, param: 'from' | 'to'): string | undefined {
  const day = query[param]
  if (day === undefined) return undefined
  const time = Date.parse(`${day}T00:00:00Z`)
  const isDay = /^\d{4}-\d\d-\d\d$/.test(day) && !Number.isNaN(time) && new Date(time).toISOString().startsWith(day)
  if (!isDay) throw invalid(param, 'Expected a day in UTC, such as 2026-02-28.')
  return day
}

function invalid(param: string, message: string): Problem {
  return new Problem({ status: 422, code: 'invalid_request', message, param })
}
