import { ConfigError } from '../contract/config.ts'
import { listVar, textVar, type Vars } from '../contract/vars.ts'
import { MeteredDirectory } from '../conversation/metered-directory.ts'
import { usageBy } from '../http/surfaces/usage-by.ts'
import { writesDataPoints } from '../observe/analytics.ts'
import { metricsReporter } from '../observe/metrics-reporter.ts'
import { otlpReporter } from '../observe/otlp.ts'
import { shardedRuns } from './directories.ts'
import type { Part } from './part.ts'

/**
 * Metrics and usage: each run that has ended is counted once for its tenant. The part `metricsRoute` serves the metrics,
 * and `GET /usage?by=` the usage; the part `runList` serves the list of runs and of the calls that wait for people. The
 * binding `METRICS`, an Analytics Engine dataset, gets a data point for each run too.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [metrics, metricsRoute] })
 */
export const metrics: Part = {
  name: 'metrics',
  surfaces: [usageBy],
  extend: ({ env, config, reporters = [] }) => {
    const runDirectories = shardedRuns(env.DIRECTORIES, config.directoryShards)
    const { METRICS: dataset } = env
    const reporter = metricsReporter(runDirectories, writesDataPoints(dataset) ? dataset : undefined)
    return { runDirectories, reporters: [...reporters, reporter] }
  },
  objects: { Directory: MeteredDirectory },
}

/**
 * Traces: each run that has ended is sent to an OpenTelemetry collector over OTLP/HTTP, if `OTLP_ENDPOINT` names one.
 * OpenTelemetry's own variables, such as `OTEL_EXPORTER_OTLP_ENDPOINT`, do the same.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [traces] })
 */
export const traces: Part = {
  name: 'traces',
  extend: ({ env, config: { includeContent }, reporters = [] }) => {
    const endpoint = textVar(env, 'OTLP_ENDPOINT') ?? textVar(env, 'OTEL_EXPORTER_OTLP_ENDPOINT')
    if (endpoint === undefined) return {}
    if (!/^https?:$/.test(URL.parse(endpoint)?.protocol ?? '')) throw new ConfigError('OTLP_ENDPOINT', 'a URL')
    const base = endpoint.replace(/\/+$/, '')
    const reporter = otlpReporter({
      url: base.endsWith('/v1/traces') ? base : `${base}/v1/traces`,
      headers: headersOf(env['OTLP_HEADERS'] === undefined ? 'OTEL_EXPORTER_OTLP_HEADERS' : 'OTLP_HEADERS', env),
      service: textVar(env, 'OTEL_SERVICE_NAME') ?? 'edgecall',
      includeContent,
    })
    return { reporters: [...reporters, reporter], hasSpans: true }
  },
}

/** Reads headers as OpenTelemetry's variables have them: `name=value,name=value`, with percent-encoded values. */
function headersOf(name: string, env: Vars): Record<string, string> {
  const pairs = (listVar(env, name) ?? []).map((pair): [string, string] => {
    const [, header, value] = /^([\w-]+)\s*=\s*(.+)$/.exec(pair) ?? []
    if (header === undefined || value === undefined) throw new ConfigError(name, 'a list of name=value')
    return [header, decodeURIComponent(value)]
  })
  return Object.fromEntries(pairs)
}
