import type { RunReporter } from '../contract/report.ts'
import { withTimeLimit } from '../contract/time-limit.ts'
import type { Attributes, Span } from './span-recorder.ts'
import { spansOf } from './spans.ts'

export interface OtlpOptions {
  /** The URL that traces are posted to, such as `https://otlp.example.com/v1/traces`. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** `service.name` of the spans. */
  readonly service: string
  /** `service.version` of the spans: the deployed version. Default: it is left out. */
  readonly version?: string | undefined
  /** Adds messages, instructions, definitions of tools, arguments and results. Default: no. */
  readonly includeContent?: boolean
  readonly fetch?: typeof fetch
}

/** The time limit of one request, in milliseconds. */
const MOST_MS = 10_000
/** The most characters of the answer of an endpoint that are logged. */
const MOST_REASON = 200

/**
 * Makes a reporter that sends the spans of runs that have ended or begun to wait as OTLP/HTTP with JSON
 * (https://opentelemetry.io/docs/specs/otlp/), in one request. Runs whose callers did not sample their trace are left out.
 */
export function otlpReporter(settings: OtlpOptions): RunReporter {
  const { url, headers, service, version, includeContent = false, ...options } = settings
  const { fetch: send = fetch } = options
  const post = (body: string) =>
    withTimeLimit(MOST_MS, async (signal) => {
      const type = { 'content-type': 'application/json' }
      const response = await send(url, {
        method: 'POST',
        redirect: 'manual',
        headers: { ...headers, ...type },
        body,
        signal,
      })
      if (response.ok) return response.body?.cancel()
      const text = (await response.text()).slice(0, MOST_REASON)
      throw new Error(`The OTLP endpoint answered ${response.status}${text && `: ${text}`}`)
    })
  return {
    name: 'traces',
    attempts: 5,
    reportsWaits: true,
    openBatch: () => {
      const spans: Span[] = []
      return {
        add: (run) => {
          const { trace } = run.request
          if (trace?.isSampled && trace.hasSpans) spans.push(...spansOf(run, { includeContent }))
        },
        send: async () => {
          if (spans.length > 0) await post(JSON.stringify(encodeSpans(spans, service, version)))
        },
      }
    },
  }
}

const KINDS = { internal: 1, client: 3 }

/** The version of the semantic conventions whose names, those for generative AI apart, the spans have. */
const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.41.0'

/** Encodes spans as an `ExportTraceServiceRequest` in OTLP's JSON. */
export function encodeSpans(spans: readonly Span[], service: string, version?: string): object {
  const names = { 'service.name': service, ...(version !== undefined && { 'service.version': version }) }
  const scopeSpans = [{ scope: { name: 'edgecall' }, spans: spans.map(encodeSpan), schemaUrl: SCHEMA_URL }]
  return { resourceSpans: [{ resource: { attributes: encodeAttributes(names) }, scopeSpans, schemaUrl: SCHEMA_URL }] }
}

function encodeSpan({
  traceId,
  spanId,
  parentId,
  name,
  kind,
  start,
  end,
  attributes,
  error,
  events = [],
  continues,
}: Span): object {
  return {
    ...{ traceId, spanId, parentSpanId: parentId, name, kind: KINDS[kind] },
    startTimeUnixNano: nanoseconds(start),
    endTimeUnixNano: nanoseconds(end),
    attributes: encodeAttributes(attributes),
    events: events.map((event) => ({
      name: event.name,
      timeUnixNano: nanoseconds(event.at),
      attributes: encodeAttributes(event.attributes ?? {}),
    })),
    ...(continues !== undefined && { links: [{ traceId, spanId: continues }] }),
    status: error === undefined ? {} : { code: 2, message: error },
  }
}

/** Numbers that are no integers by their definition, whatever their values. */
const DOUBLES = new Set(['gen_ai.response.time_to_first_chunk', 'edgecall.cost'])

function encodeAttributes(attributes: Attributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value: DOUBLES.has(key) ? { doubleValue: value } : encodeValue(value),
  }))
}

function encodeValue(value: Attributes[string]): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  // OTLP's JSON has 64-bit integers as texts.
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  return { arrayValue: { values: value.map(encodeValue) } }
}

function nanoseconds(ms: number): string {
  return `${Math.round(ms)}000000`
}
