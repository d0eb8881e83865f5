import type { RunListing } from './run-list.ts'
import type { Usage } from './usage.ts'

/** The metrics of a tenant, by their names in OpenMetrics. Durations are in seconds. */
export const METRICS = {
  edgecall_runs: { type: 'counter', help: 'Runs that have ended.', labels: ['model', 'status', 'finish'] },
  edgecall_run_errors: { type: 'counter', help: 'Runs that failed, by the code of the error.', labels: ['code'] },
  edgecall_run_duration_seconds: { type: 'histogram', help: 'From the start of a run to its end.', labels: ['model'] },
  edgecall_queue_seconds: { type: 'histogram', help: 'From the acceptance of a run to its start.', labels: [] },
  edgecall_steps: { type: 'counter', help: 'Answers of models.', labels: ['model'] },
  edgecall_model_duration_seconds: { type: 'histogram', help: 'From a request to its answer.', labels: ['model'] },
  edgecall_first_token_seconds: {
    type: 'histogram',
    help: 'From a request to the first token of its answer.',
    labels: ['model'],
  },
  edgecall_model_retries: {
    type: 'counter',
    help: 'Requests to models that failed and were made again.',
    labels: ['model', 'code'],
  },
  edgecall_model_wait_seconds: {
    type: 'histogram',
    help: 'Waits of runs for models that were overloaded or could not be reached.',
    labels: ['model'],
  },
  edgecall_calls: {
    type: 'counter',
    help: 'Calls of tools. The outcome is `ok` or the code of the error.',
    labels: ['tool', 'outcome'],
  },
  edgecall_call_duration_seconds: { type: 'histogram', help: 'Durations of calls.', labels: ['tool'] },
  edgecall_call_retries: { type: 'counter', help: 'Calls that were sent again.', labels: ['tool'] },
  edgecall_tokens: {
    type: 'counter',
    help: 'Tokens. The kind is `input`, `cached` or `cache_write` (parts of `input`), or `output`.',
    labels: ['model', 'key', 'kind'],
  },
  edgecall_cost: { type: 'counter', help: 'Cost, in the currency of the prices.', labels: ['model', 'key'] },
  edgecall_room_used: {
    type: 'histogram',
    help: 'The part of the room for a prompt that the request of a step has taken, from 0 to 1.',
    labels: ['model'],
  },
  edgecall_context_reductions: {
    type: 'counter',
    help: 'Times that earlier messages were reduced to fit the window of a model.',
    labels: ['model', 'because'],
  },
  edgecall_limits: { type: 'counter', help: 'Limits that runs have reached.', labels: ['limit'] },
  edgecall_approvals: { type: 'counter', help: 'Decisions about calls.', labels: ['decision'] },
  edgecall_open_runs: {
    type: 'gauge',
    help: 'Runs of conversations that wait, or have lasted for ten seconds and have not ended.',
    labels: ['status'],
  },
  edgecall_open_approvals: { type: 'gauge', help: 'Calls that wait for approval.', labels: [] },
  edgecall_held_tools: { type: 'gauge', help: 'Tools that are held back until they are accepted.', labels: [] },
  edgecall_scheduled: {
    type: 'counter',
    help: 'Due times of schedules, and runs that were started from them at once.',
    labels: ['outcome'],
  },
  edgecall_recoveries: { type: 'counter', help: 'How often runs were continued after a crash.', labels: [] },
  edgecall_refused_requests: {
    type: 'counter',
    help: 'Requests that got 401, 403, 429 or 503, by the code of the error.',
    labels: ['status', 'code'],
  },
} as const satisfies Record<string, Metric>

interface Metric {
  readonly type: 'counter' | 'histogram' | 'gauge'
  readonly help: string
  readonly labels: readonly string[]
}

export type MetricName = keyof typeof METRICS

/** The upper bounds of the buckets of a histogram, in seconds. */
export const BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

/** What usage can be summed by. */
export const USAGE_KINDS = ['key', 'model', 'tool'] as const
export type UsageKind = (typeof USAGE_KINDS)[number]

/** Usage of one key, model or tool. That of a tool is the usage of models inside it. */
export interface UsageShare {
  readonly by: UsageKind
  readonly name: string
  readonly calls: number
  readonly usage: Usage
}

/** What a run that has ended did and spent. */
export interface RunReport {
  readonly run: string
  /** When the run ended, in epoch milliseconds. */
  readonly at: number
  readonly shares: readonly UsageShare[]
  /** Additions to the metrics, each series once. */
  readonly series: readonly Series[]
  /** How the list of runs shows it; absent if it is not listed. */
  readonly listing?: RunListing
  /** The shard of its request. */
  readonly shard?: number
}

/** The usage of one key, model or tool in a range of days. */
export interface UsageRow {
  /** The day in UTC, such as `2026-02-28`, if the usage of each day is wanted by itself. */
  readonly day?: string
  readonly name: string
  readonly runs: number
  readonly calls: number
  readonly inputTokens: number
  /** The part of `inputTokens` that providers read from their caches; 0 before this was counted. */
  readonly cachedInputTokens: number
  /** The part of `inputTokens` that providers wrote to their caches; 0 before this was counted. */
  readonly cacheWriteTokens: number
  readonly outputTokens: number
  readonly cost: number
}

/** A part of a metric with its labels, and its value. */
export interface Series {
  /** A MetricName; a newer edge may have counted others. */
  readonly name: string
  /** As in OpenMetrics, without braces. */
  readonly labels: string
  readonly part: 'value' | 'sum' | 'bucket'
  /** The upper bound of a bucket of a histogram, which counts the values above the bound before; -1 for no bound. */
  readonly le: number
  readonly value: number
}

/** The statuses whose requests count as refused, and codes of each that are expected to come. */
export const REFUSALS: Readonly<Record<number, readonly string[]>> = {
  401: ['unauthorized'],
  403: ['missing_scope'],
  429: ['rate_limited', 'budget_exhausted'],
  503: ['tools_unavailable'],
}

/** The labels of series that are expected, by the name of their metric. */
type ExpectedLabels = Partial<Record<MetricName, readonly Readonly<Record<string, string>>[]>>

export interface ExpectedSeries {
  readonly models: readonly string[]
  readonly tools: readonly string[]
  readonly keys: readonly string[]
  /** The series that were counted already. */
  readonly counted: readonly Series[]
  /** `edge`: those of requests that no tenant has sent alone. Default: all. */
  readonly only?: 'edge'
}

/** The most series that are expected. */
const MOST_EXPECTED = 2000

/**
 * Returns the series that are to be expected and were not counted yet, with the value 0. A series that begins with 1 has
 * not risen for Prometheus, so that its first event would never show.
 */
export function zeroSeries({ models, tools, keys, counted, only }: ExpectedSeries): readonly Series[] {
  const present = new Set(counted.map(({ name, labels }) => `${name}{${labels}}`))
  const refusals = Object.entries(REFUSALS).flatMap(([status, codes]) => codes.map((code) => ({ status, code })))
  const expected: ExpectedLabels =
    only === 'edge'
      ? { edgecall_refused_requests: refusals }
      : { ...labelsOf({ models, tools, keys }), edgecall_refused_requests: refusals }
  const zeros = Object.entries(expected).flatMap(([name, list]) =>
    list.flatMap((values): Series[] => {
      const labels = encodeLabels(values)
      if (present.has(`${name}{${labels}}`)) return []
      const isHistogram = isMetricName(name) && METRICS[name].type === 'histogram'
      return [{ name, labels, part: isHistogram ? 'sum' : 'value', le: 0, value: 0 }]
    }),
  )
  return zeros.slice(0, MOST_EXPECTED)
}

const ENDS = [
  ['completed', 'stop'],
  ['completed', 'limit'],
  ['failed', 'error'],
  ['cancelled', 'cancelled'],
] as const
const MODEL_FAULTS = [
  'model_rate_limited',
  'model_unavailable',
  'model_unreachable',
  'model_timeout',
  'model_stream_cut',
] as const
const RUN_FAULTS = [...MODEL_FAULTS, 'model_unauthorized', 'model_refused_request', 'internal_error'] as const
const CALL_OUTCOMES = ['ok', 'tool_failed', 'invalid_arguments', 'timeout'] as const
const LIMITS = ['steps', 'calls', 'callsPerTool', 'sameCalls', 'runMs', 'tokens', 'cost'] as const
const TOKEN_KINDS = ['input', 'cached', 'cache_write', 'output'] as const

function labelsOf({ models, tools, keys }: Pick<ExpectedSeries, 'models' | 'tools' | 'keys'>): ExpectedLabels {
  const perModel = models.map((model) => ({ model }))
  const perTool = tools.map((tool) => ({ tool }))
  const perKey = models.flatMap((model) => keys.map((key) => ({ model, key })))
  return {
    edgecall_run_errors: RUN_FAULTS.map((code) => ({ code })),
    edgecall_queue_seconds: [{}],
    edgecall_limits: LIMITS.map((limit) => ({ limit })),
    edgecall_approvals: ['approve', 'reject'].map((decision) => ({ decision })),
    edgecall_recoveries: [{}],
    edgecall_runs: models.flatMap((model) => ENDS.map(([status, finish]) => ({ model, status, finish }))),
    edgecall_steps: perModel,
    edgecall_run_duration_seconds: perModel,
    edgecall_model_duration_seconds: perModel,
    edgecall_first_token_seconds: perModel,
    edgecall_model_retries: models.flatMap((model) => MODEL_FAULTS.map((code) => ({ model, code }))),
    edgecall_calls: tools.flatMap((tool) => CALL_OUTCOMES.map((outcome) => ({ tool, outcome }))),
    edgecall_call_duration_seconds: perTool,
    edgecall_call_retries: perTool,
    edgecall_cost: perKey,
    edgecall_tokens: perKey.flatMap((each) => TOKEN_KINDS.map((kind) => ({ ...each, kind }))),
  }
}

/** Whether this version knows a metric: a newer edge may have counted others. */
export function isMetricName(name: string): name is MetricName {
  return Object.hasOwn(METRICS, name)
}

/** Encodes labels as OpenMetrics has them. */
export function encodeLabels(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`))}"`)
    .join(',')
}
