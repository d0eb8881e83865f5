import { Hono } from 'hono/tiny'
import { BUCKETS, METRICS, type MetricName, type Series } from '../../contract/metrics.ts'
import type { EdgeEnv } from '../context.ts'
import { requireScope } from '../middleware/auth.ts'
import type { Surface } from '../surface.ts'

const app = new Hono<EdgeEnv>()

app.get('/', async (c) => {
  const { caller, setup } = c.env
  requireScope(caller, 'metrics')
  if (!setup.countsRuns) return c.notFound()
  const series = await setup.directories.getByName(caller.tenant).series()
  return c.body(openMetrics(series), 200, { 'content-type': TYPE })
})

/** `GET /metrics`: the metrics of the caller's tenant as OpenMetrics text. */
export const metricsRoute: Surface = { routes: { '/metrics': app } }

const TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

/** Encodes series as OpenMetrics text (https://prometheus.io/docs/specs/om/open_metrics_spec/). */
export function openMetrics(series: readonly Series[]): string {
  const names = [...new Set(series.map(({ name }) => name))].filter(isMetric)
  const lines = names.flatMap((name) => {
    const own = series.filter((each) => each.name === name)
    const { type, help } = METRICS[name]
    const head = [`# TYPE ${name} ${type}`, ...(name.endsWith('_seconds') ? [`# UNIT ${name} seconds`] : [])]
    const samples = type === 'counter' ? own.map(counterLine) : histogramLines(name, own)
    return [...head, `# HELP ${name} ${help}`, ...samples]
  })
  return [...lines, '# EOF', ''].join('\n')
}

/** A newer edge may have counted what this one does not know. */
function isMetric(name: string): name is MetricName {
  return Object.hasOwn(METRICS, name)
}

function counterLine({ name, labels, value }: Series): string {
  return `${name}_total${inBraces(labels)} ${value}`
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
