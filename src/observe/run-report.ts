import type { Objects, PendingApproval } from '../contract/conversation.ts'
import type { RunFact } from '../contract/event.ts'
import { contentText } from '../contract/message.ts'
import {
  BUCKETS,
  encodeLabels,
  type MetricName,
  METRICS,
  type RunReport,
  type Series,
  type UsageShare,
} from '../contract/metrics.ts'
import { jurisdictionOf } from '../contract/placement.ts'
import type { ReportedRun, RunReporter, UnendedRun } from '../contract/report.ts'
import type { ListedApproval, ListedRun, RunListing } from '../contract/run-list.ts'
import type { RunRequest } from '../contract/run.ts'
import { addUsage, NO_USAGE, subtractUsage, type Usage } from '../contract/usage.ts'
import type { RunDirectory } from '../contract/directory.ts'

/** The tool of calls that name none of the edge: a model may write any name, and each would be a series of its own. */
const UNKNOWN_TOOL = 'unknown'

/** Sums up what a run that has ended did and spent. The same run gives the same report, in any object instance. */
export function reportOf({ request, acceptedAt, facts }: ReportedRun): RunReport {
  const { model, runId } = request
  const key = request.caller.key ?? ''
  const samples: Sample[] = []
  const tools = new Map<string, UsageShare>()
  /** The calls of agents whose runs are reported by themselves. */
  const agentCalls = new Set<string>()
  const add = (name: Sample['name'], labels: Sample['labels'], value = 1) => samples.push({ name, labels, value })
  const startedAt = facts[0]?.at ?? acceptedAt
  let endedAt = startedAt
  let askedAt = startedAt
  let total: Usage = NO_USAGE
  add('edgecall_queue_seconds', {}, secondsOf(startedAt - acceptedAt))
  for (const { event, at, newsAt } of facts) {
    endedAt = at
    switch (event.type) {
      case 'model.retried':
      case 'model.waiting':
        add('edgecall_model_retries', { model, code: event.code })
        if ('until' in event) add('edgecall_model_wait_seconds', { model }, secondsOf(event.until - event.at))
        break
      case 'step.started':
      case 'step.restarted':
        askedAt = at
        if ('because' in event) samples.push(...restartSamples(event.because, model))
        break
      case 'step.answered':
        add('edgecall_steps', { model })
        add('edgecall_model_duration_seconds', { model }, secondsOf(at - askedAt))
        for (const part of roomUsed(event)) add('edgecall_room_used', { model }, part)
        if (newsAt !== undefined) add('edgecall_first_token_seconds', { model }, secondsOf(newsAt - askedAt))
        break
      case 'call.interrupted':
        add('edgecall_call_retries', { tool: event.tool })
        if (event.because === undefined) add('edgecall_recoveries', {})
        break
      case 'call.started':
        if (event.isAgent) agentCalls.add(event.callId)
        break
      case 'call.settled':
        samples.push(...callSamples(event))
        addCall(tools, agentCalls.has(event.callId) ? { ...event, usage: NO_USAGE } : event)
        break
      case 'context.reduced':
        add('edgecall_context_reductions', { model, because: event.because ?? 'full' })
        break
      case 'limit.reached':
        add('edgecall_limits', { limit: event.which })
        break
      case 'approval.decided':
        add('edgecall_approvals', { decision: event.decision })
        break
      case 'run.finished': {
        const { status, finish, usage, agentUsage = NO_USAGE, error } = event
        total = subtractUsage(usage, agentUsage)
        add('edgecall_runs', { model, status, finish })
        if (status === 'failed') add('edgecall_run_errors', { code: error?.code ?? 'failed' })
        add('edgecall_run_duration_seconds', { model }, secondsOf(at - startedAt))
        break
      }
      default:
    }
  }
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0, cost = 0 } = total
  const kinds = { input: inputTokens, cached: cachedInputTokens, cache_write: cacheWriteTokens, output: outputTokens }
  for (const [kind, tokens] of Object.entries(kinds))
    if (tokens > 0) add('edgecall_tokens', { model, key, kind }, tokens)
  if (cost > 0) add('edgecall_cost', { model, key }, cost)
  const calls = [...tools.values()].reduce((sum, share) => sum + share.calls, 0)
  addAgent(request, tools, total)
  const shares: UsageShare[] = [
    { by: 'key', name: key, calls, usage: total },
    { by: 'model', name: model, calls, usage: total },
    ...tools.values(),
  ]
  return { run: runId, at: endedAt, shares, series: toSeries(samples) }
}

type Settled = Extract<RunFact, { type: 'call.settled' }>

function callSamples({ tool, ok, error, durationMs }: Settled): readonly Sample[] {
  const outcome = ok ? 'ok' : (error?.code ?? 'failed')
  const name = toolName(tool, error)
  const samples: Sample[] = [{ name: 'edgecall_calls', labels: { tool: name, outcome }, value: 1 }]
  if (outcome === 'outcome_unknown') samples.push({ name: 'edgecall_recoveries', labels: {}, value: 1 })
  if (durationMs > 0)
    samples.push({ name: 'edgecall_call_duration_seconds', labels: { tool: name }, value: secondsOf(durationMs) })
  return samples
}

function toolName(tool: string, error: Settled['error']): string {
  return error?.code === 'unknown_tool' ? UNKNOWN_TOOL : tool
}

/** Adds a call to the share of its tool, with the usage of the models that ran inside the tool. */
function addCall(shares: Map<string, UsageShare>, { tool, error, usage = NO_USAGE }: Settled): void {
  addShare(shares, toolName(tool, error), { calls: 1, usage })
}

/** Adds what the run of an agent has used itself to the share of the agent. */
function addAgent({ agent }: RunRequest, shares: Map<string, UsageShare>, usage: Usage): void {
  const name = agent?.path.at(-1)?.agent
  if (name !== undefined) addShare(shares, name, { calls: 0, usage })
}

function addShare(
  shares: Map<string, UsageShare>,
  name: string,
  { calls, usage }: Pick<UsageShare, 'calls' | 'usage'>,
): void {
  const share = shares.get(name) ?? { by: 'tool', name, calls: 0, usage: NO_USAGE }
  shares.set(name, { ...share, calls: share.calls + calls, usage: addUsage(share.usage, usage) })
}

/** Returns what a repeated request of a step counts as. Waits for the model are counted as such. */
function restartSamples(because: string | undefined, model: string): readonly Sample[] {
  if (because === undefined || because === 'waited') return []
  if (because === 'interrupted') return [{ name: 'edgecall_recoveries', labels: {}, value: 1 }]
  return [{ name: 'edgecall_model_retries', labels: { model, code: because }, value: 1 }]
}

/** Returns the part of the room that the request of a step has taken; nothing if it is unknown. */
function roomUsed({ usage, roomLeft }: Extract<RunFact, { type: 'step.answered' }>): readonly number[] {
  if (!usage || roomLeft === undefined) return []
  return [usage.inputTokens / Math.max(1, usage.inputTokens + roomLeft)]
}

function secondsOf(ms: number): number {
  return Math.max(0, ms) / 1000
}

/** The most characters of a question, of a tool's description and of the arguments of a call that a list shows. */
const QUESTION = 200
const DESCRIPTION = 500
const ARGUMENTS = 16 * 1024
/** The most tools, and the most error codes, that a list shows of a run: a model may invent names. */
const MOST_NAMES = 50

/** How the list of runs shows one that has ended; undefined if no caller can name its conversation. */
function endedListing({ request, acceptedAt, facts, expires }: ReportedRun): RunListing | undefined {
  const tools: string[] = []
  const errors: string[] = []
  let steps = 0
  let end: Pick<ListedRun, 'status' | 'ended' | 'cost' | 'tokens' | 'limit'> | undefined
  for (const { event, at } of facts) {
    if (event.type === 'call.settled') tools.push(event.tool)
    const error = event.type === 'call.settled' || event.type === 'run.finished' ? event.error : undefined
    if (error) errors.push(error.code)
    if (event.type === 'step.answered') steps += 1
    if (event.type === 'run.finished') {
      const { status, usage, which } = event
      end = { status, ended: at, ...countSpending(usage), ...(which && { limit: which }) }
    }
  }
  const { conversation } = request
  if (conversation === undefined || end?.ended === undefined) return undefined
  const run = { ...end, ...detailsOf(request, tools, errors), steps, created: acceptedAt, conversation }
  return { run, at: end.ended, expires, approvals: [] }
}

/** How the list of runs shows one that has not ended; undefined if no caller can name its conversation. */
function unendedListing(unended: UnendedRun): RunListing | undefined {
  const { request, acceptedAt, status, tools, errors, steps, usage, approvals, since, at, expires } = unended
  const { conversation } = request
  if (conversation === undefined) return undefined
  const details = detailsOf(request, tools, errors)
  const run = { status, ...countSpending(usage), ...details, steps, created: acceptedAt, conversation }
  const { question } = details
  const listings = approvals.map((approval) => ({
    conversation,
    question,
    since,
    ...shortened(approval, mayLeave(conversation)),
  }))
  return { run, at, expires, approvals: listings }
}

function countSpending({ inputTokens, outputTokens, cost = 0 }: Usage): Pick<ListedRun, 'cost' | 'tokens'> {
  return { cost, tokens: inputTokens + outputTokens }
}

/** Whether the list may show content: it is stored outside of all jurisdictions. */
function mayLeave(conversation = ''): boolean {
  return jurisdictionOf(conversation) === undefined
}

function detailsOf(
  { runId, model, input, caller, conversation, agent }: RunRequest,
  tools: readonly string[],
  errors: readonly string[],
) {
  const question = mayLeave(conversation) ? input.findLast(({ role }) => role === 'user') : undefined
  const text = question?.role === 'user' ? contentText(question.content) : ''
  return {
    id: runId,
    question: text.slice(0, QUESTION),
    model,
    key: caller.key,
    ...(agent && { path: agent.path }),
    tools: [...new Set(tools)].slice(0, MOST_NAMES),
    errors: [...new Set(errors)].slice(0, MOST_NAMES),
  }
}

function shortened({ arguments: input, definition, program, ...rest }: PendingApproval, isShown: boolean) {
  const isShort = isShown && (JSON.stringify(input) ?? '').length <= ARGUMENTS
  const hasProgram = isShown && program !== undefined && program.length <= ARGUMENTS
  const approval = { ...rest, ...(hasProgram && { program }) }
  if (!definition) return { ...approval, ...(isShort && { arguments: input }) }
  const { inputSchema: _inputSchema, description, ...facts } = definition
  const display = { ...facts, description: description.slice(0, DESCRIPTION) } satisfies ListedApproval['definition']
  return { ...approval, ...(isShort && { arguments: input }), definition: display }
}

/** An addition to a counter, or a value that a histogram observes. */
export interface Sample {
  readonly name: MetricName
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Returns what samples add to the series of metrics, each series once. */
export function toSeries(samples: readonly Sample[]): Series[] {
  const series = new Map<string, Series>()
  const add = (part: Series) => {
    const id = JSON.stringify([part.name, part.labels, part.part, part.le])
    series.set(id, { ...part, value: part.value + (series.get(id)?.value ?? 0) })
  }
  for (const { name, labels: values, value } of samples) {
    const labels = encodeLabels(values)
    if (METRICS[name].type === 'counter') {
      add({ name, labels, part: 'value', le: 0, value })
      continue
    }
    add({ name, labels, part: 'sum', le: 0, value })
    add({ name, labels, part: 'bucket', le: BUCKETS.find((limit) => value <= limit) ?? -1, value: 1 })
  }
  return [...series.values()]
}

/**
 * Makes a reporter that counts each run once in the directory of its tenant, whatever is reported twice, and writes a data
 * point for it if there is a dataset. The same object of the directory lists the runs of conversations and the calls that wait for people.
 */
export function metricsReporter(directories: Objects<RunDirectory>, dataset?: Dataset): RunReporter {
  return {
    name: 'metrics',
    openBatch: () => {
      const tenants = new Map<string, TenantBatch>()
      return {
        add: (run) => {
          const { tenant } = run.request.caller
          const batch = tenants.get(tenant) ?? { reports: [], points: [] }
          tenants.set(tenant, batch)
          batch.reports.push(listedReport(run))
          if (dataset) batch.points.push(dataPointOf(run))
        },
        send: async () => {
          await Promise.all(
            Array.from(tenants, async ([tenant, { reports, points }]) => {
              const isNew = await directories.getByName(tenant).countRuns(reports)
              for (const [at, point] of points.entries()) if (isNew[at]) dataset?.writeDataPoint(point)
            }),
          )
        },
      }
    },
    reportUnended: async (run) => {
      const { caller, shard } = run.request
      const listing = unendedListing(run)
      if (listing) await directories.getByName(caller.tenant).listRun(listing, shard)
    },
  }
}

/** The reports of one tenant's runs, and the data points of the same runs in the same order. */
interface TenantBatch {
  readonly reports: RunReport[]
  readonly points: DataPoint[]
}

function listedReport(run: ReportedRun): RunReport {
  const { shard } = run.request
  const listing = endedListing(run)
  return { ...reportOf(run), ...(listing && { listing }), ...(shard !== undefined && { shard }) }
}

/** A dataset of Analytics Engine, as far as it is used. */
export interface Dataset {
  writeDataPoint(point: DataPoint): void
}

export interface DataPoint {
  readonly indexes: string[]
  readonly blobs: string[]
  readonly doubles: number[]
}

/** Whether a value of the env is a dataset. A variable of that name may be anything. */
export function writesDataPoints(value: unknown): value is Dataset {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, 'writeDataPoint') === 'function'
}

/**
 * Returns the data point of a run. Index: the tenant. Blobs: model, key, status, finish, error code, limit, run id.
 * Doubles: run duration in milliseconds, steps, calls, failed calls, input tokens, output tokens, cost, retries of models.
 */
export function dataPointOf({ request, facts }: ReportedRun): DataPoint {
  const { model, caller, runId } = request
  const last = facts.findLast(({ event }) => event.type === 'run.finished')
  const end = last?.event.type === 'run.finished' ? last.event : undefined
  const settled = facts.flatMap(({ event }) => (event.type === 'call.settled' ? [event] : []))
  const countOf = (type: string) => facts.filter(({ event }) => event.type === type).length
  const own = end && subtractUsage(end.usage, end.agentUsage ?? NO_USAGE)
  const { inputTokens = 0, outputTokens = 0, cost = 0 } = own ?? {}
  const durationMs = (last?.at ?? 0) - (facts[0]?.at ?? 0)
  const failed = settled.filter(({ ok }) => !ok).length
  return {
    indexes: [caller.tenant],
    blobs: [
      ...[model, caller.key ?? '', end?.status ?? '', end?.finish ?? ''],
      ...[end?.error?.code ?? '', end?.which ?? '', runId],
    ],
    doubles: [
      ...[durationMs, countOf('step.answered'), settled.length, failed],
      ...[inputTokens, outputTokens, cost, countOf('model.retried')],
    ],
  }
}
