import type { RunFact } from '../contract/event.ts'
import type { RunReport, UsageShare } from '../contract/metrics.ts'
import type { EndedRun } from '../contract/report.ts'
import { type Sample, seriesOf } from './samples.ts'
import { addUsage, NO_USAGE, type Usage } from '../contract/usage.ts'

/** The tool of calls that name none of the edge: a model may write any name, and each would be a series of its own. */
const UNKNOWN_TOOL = 'unknown'

/** Sums up what a run that has ended did and spent. The same run gives the same report, in any object instance. */
export function reportOf({ request, acceptedAt, facts }: EndedRun): RunReport {
  const { model, runId } = request
  const key = request.caller.key ?? ''
  const samples: Sample[] = []
  const tools = new Map<string, UsageShare>()
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
      case 'call.settled': {
        const { tool, ok, error, durationMs, usage = NO_USAGE } = event
        const outcome = ok ? 'ok' : (error?.code ?? 'failed')
        const name = outcome === 'unknown_tool' ? UNKNOWN_TOOL : tool
        add('edgecall_calls', { tool: name, outcome })
        if (outcome === 'outcome_unknown') add('edgecall_recoveries', {})
        if (durationMs > 0) add('edgecall_call_duration_seconds', { tool: name }, secondsOf(durationMs))
        const share = tools.get(name) ?? { by: 'tool', name, calls: 0, usage: NO_USAGE }
        tools.set(name, { ...share, calls: share.calls + 1, usage: addUsage(share.usage, usage) })
        break
      }
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
        const { status, finish, usage, error } = event
        total = usage
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
  const shares: UsageShare[] = [
    { by: 'key', name: key, calls, usage: total },
    { by: 'model', name: model, calls, usage: total },
    ...tools.values(),
  ]
  return { run: runId, at: endedAt, shares, series: seriesOf(samples) }
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
