import { ConfigError } from '../contract/config.ts'
import type { RunReporter } from '../contract/report.ts'
import { listVar, textVar } from '../contract/vars.ts'
import { otlpReporter } from '../observe/otlp.ts'
import type { SetupParts } from './parts.ts'

/** A feature of an edge: traces of its runs. */
export type TracesFeature = (parts: SetupParts) => RunReporter | undefined

/**
 * Traces: each run that has ended is sent to an OpenTelemetry collector over OTLP/HTTP, if `OTLP_ENDPOINT` names one.
 * OpenTelemetry's own variables, such as `OTEL_EXPORTER_OTLP_ENDPOINT`, do the same.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, traces })
 */
export const traces: TracesFeature = ({ env, config: { includeContent } }) => {
  const endpoint = textVar(env, 'OTLP_ENDPOINT') ?? textVar(env, 'OTEL_EXPORTER_OTLP_ENDPOINT')
  if (endpoint === undefined) return undefined
  if (!/^https?:$/.test(URL.parse(endpoint)?.protocol ?? '')) throw new ConfigError('OTLP_ENDPOINT', 'a URL')
  const base = endpoint.replace(/\/+$/, '')
  return otlpReporter({
    url: base.endsWith('/v1/traces') ? base : `${base}/v1/traces`,
    headers: headersOf(env['OTLP_HEADERS'] === undefined ? 'OTEL_EXPORTER_OTLP_HEADERS' : 'OTLP_HEADERS', env),
    service: textVar(env, 'OTEL_SERVICE_NAME') ?? 'edgecall',
    includeContent,
  })
}

/** Reads headers as OpenTelemetry's variables have them: `name=value,name=value`, with percent-encoded values. */
function headersOf(name: string, env: SetupParts['env']): Record<string, string> {
  const pairs = (listVar(env, name) ?? []).map((pair): [string, string] => {
    const [, header, value] = /^([\w-]+)\s*=\s*(.+)$/.exec(pair) ?? []
    if (header === undefined || value === undefined) throw new ConfigError(name, 'a list of name=value')
    return [header, decodeURIComponent(value)]
  })
  return Object.fromEntries(pairs)
}
