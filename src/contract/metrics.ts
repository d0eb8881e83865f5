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
