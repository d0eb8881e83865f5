import type { StartRequest } from '../../contract/conversation.ts'
import type { RunEvent, RunFinished } from '../../contract/event.ts'
import { begin, reachedActivity } from '../../contract/occupancy.ts'
import { timedFacts } from '../../contract/report.ts'
import type { OnBusy, RunRecord, RunRequest } from '../../contract/run.ts'
import { findIfAvailable, type Tool } from '../../contract/tool.ts'
import { Problem, quotaProblem, unwrapReply } from '../problem.ts'
import type { RequestContext } from '../request-context.ts'
import { countSpend } from './budget.ts'
import { conversationStubOfRun } from './conversation-stub.ts'
import { definitionsText } from './select-tools.ts'
import { cancelledOnDisconnect, reportRun, type RunHandle, storedRunHandle } from './run-handle.ts'
import { requireBytes } from './storage-quota.ts'
import { budgetPort } from '../../loop/perform/begin.ts'
import { loopPorts, memoryJournal } from '../../loop/running.ts'
import { recordOf } from '../../loop/record.ts'
import { run } from '../../loop/drive.ts'
import { newState } from '../../loop/state.ts'

/** A checked request for a run, and the edge's tools on offer in the run. */
export interface PreparedRun {
  readonly run: RunRequest
  readonly tools: readonly Tool[]
  /** What to do if another run is in progress, by the request or its conversation. Default: that of the surface. */
  readonly onBusy?: OnBusy | undefined
}

/**
 * Prepares a run in this Worker; `follow` or `record` starts it. Nothing of it is stored, and it ends if its caller
 * disconnects. However it ends, its usage is counted for the caller's key.
 */
export function runInWorker(
  { setup, request: httpRequest, waitUntil }: RequestContext,
  { run: request, tools }: PreparedRun,
): RunHandle {
  const resolution = setup.models.resolve(request.model)
  if (!resolution.ok) throw new Problem({ status: 503, code: resolution.code, message: resolution.message })
  const { model } = resolution
  const byName = new Map(tools.map((tool) => [tool.definition.name, tool]))
  const abort = new AbortController()
  const state = newState(
    request,
    new Map(tools.map(({ definition }) => [definition.name, definition])),
    setup.loop?.features,
  )
  const reached = reachedActivity(setup, 'concurrentRuns', request.caller)
  if (reached) throw quotaProblem(reached)
  const follow = (onEvent: (event: RunEvent) => void, canRestart?: () => boolean) => {
    const end = begin(setup, 'concurrentRuns', request.caller)
    const acceptedAt = Date.now()
    const { reporters = [] } = setup
    const timedEvents: RunEvent[] = []
    const onEventOfRun = (event: RunEvent) => {
      if (reporters.length > 0 && event.at !== undefined) timedEvents.push(event)
      onEvent(event)
    }
    const completion = run(state, {
      model,
      tools: byName,
      find: (names) => findIfAvailable(setup.tools(request.caller), names),
      history: [],
      journal: memoryJournal(request.runId, onEventOfRun, () => Date.now()),
      signal: AbortSignal.any([abort.signal, httpRequest.signal]),
      now: () => Date.now(),
      mostSubrequests: setup.config.maxSubrequests,
      canRestart,
      ...budgetPort(setup, request),
      ...loopPorts(setup, request.runId),
    }).finally(end)
    const { runId, caller, budget } = request
    const count = () => countSpend({ setup, caller }, runId, state.usage)
    if (budget) waitUntil(completion.then(count, count))
    const definitions = () => tools.map(({ definition }) => definition)
    const report = () => reportRun({ request, acceptedAt, definitions, facts: timedFacts(timedEvents) }, setup)
    if (reporters.length > 0) waitUntil(completion.then(report, report))
    return completion
  }
  return {
    runId: request.runId,
    follow: async (onEvent, _news, canRestart) => void (await follow(onEvent, canRestart)),
    record: async (waitMs) => {
      // A run that is not stored is stopped when the wait elapses, because it could not be fetched later.
      const timer = setTimeout(() => abort.abort(new Error('the wait is over')), waitMs)
      try {
        const record = recordOf(await follow(() => {}))
        if (record.status !== 'cancelled') return record
        const message = 'The run did not finish in time and was stopped, because it is not stored.'
        throw new Problem({ status: 504, code: 'wait_elapsed', message, extra: { runId: record.id, run: record } })
      } finally {
        clearTimeout(timer)
      }
    },
    disconnect: () => abort.abort(new Error('the caller left')),
  }
}

/** How long a hidden conversation is kept, in milliseconds. */
const HIDDEN_MS = 24 * 60 * 60 * 1000

/** Starts a run in a hidden conversation, which is kept for a day. */
export async function startEphemeral(context: RequestContext, { run, tools }: PreparedRun): Promise<RunHandle> {
  requireBytes(context)
  const durableRun = { run: { ...run, durable: true }, tools }
  return startInConversation(context, durableRun, { onBusy: 'queue', create: true, expires: Date.now() + HIDDEN_MS })
}

/**
 * Starts a run in its conversation. Without an `id`: in a hidden one. The run continues if its caller disconnects,
 * unless it has the option `cancelOnDisconnect`.
 */
export async function startInConversation(
  requestContext: RequestContext,
  { run, tools, onBusy }: PreparedRun,
  { id: conversation, ...start }: Omit<StartRequest, 'run' | 'tools'> & { readonly id?: string },
): Promise<RunHandle & { readonly created: boolean }> {
  const context = { setup: requestContext.setup, caller: run.caller }
  const stub = conversationStubOfRun(context, { runId: run.runId, conversation })
  const { follow } = requestContext
  const reply = unwrapReply(
    await stub.start({ run, tools: definitionsText(tools), ...start, onBusy: onBusy ?? start.onBusy, follow }),
  )
  const { runId, created, replayed, joinedAfter, stream } = reply
  const handle = storedRunHandle(
    context,
    { runId, conversation, after: joinedAfter ?? 0 },
    { stub, stream, news: follow },
  )
  return {
    ...(run.cancelOnDisconnect ? cancelledOnDisconnect(requestContext, handle) : handle),
    created,
    replayed,
    joined: joinedAfter !== undefined,
  }
}

/** Makes the Problem of a failed run. `started`: a tool call had started, so clients must not retry by themselves. */
export function failedProblem(
  { error, finish }: Pick<RunFinished, 'finish'> & { readonly error?: RunFinished['error'] | undefined },
  { run, hasStarted, record }: { run: RunRef; hasStarted: boolean; record?: RunRecord },
): Problem {
  const { code = 'run_failed', message = 'The run failed.', retryAfterMs, retryable = false, attempts } = error ?? {}
  // Such a run has waited for a short time only.
  const isOutage = run.conversation === undefined && run.replayed !== true && OUTAGES.has(code)
  return new Problem({
    status: error?.status ?? statusOfCode(code, finish),
    code,
    message,
    retryAfterMs,
    mayRetry: (retryable || isOutage) && !hasStarted,
    extra: { runId: run.runId, run: record },
    headers: { ...runHeaders(run), ...(attempts !== undefined && { 'x-model-attempts': String(attempts) }) },
  })
}

/** Throws the Problem of a run that failed before any visible event: its response can still have an error status. */
export function throwIfFailed(event: RunEvent, run: RunRef): void {
  if (event.type !== 'run.finished' || event.status !== 'failed') return
  throw failedProblem(event, { run, hasStarted: false })
}

export function statusOfCode(code: string, finish: RunFinished['finish']): number {
  return STATUSES[code] ?? (finish === 'limit' ? 422 : 502)
}

/**
 * The statuses of failed runs. What the provider refuses for good has one that no SDK retries; the refusal of the edge's
 * own key is 424 (RFC 4918, section 11.4), so that no caller takes it for a refusal of its key.
 */
const STATUSES: Readonly<Record<string, number>> = {
  run_timeout: 504,
  run_cancelled: 409,
  run_not_allowed: 409,
  run_parked: 503,
  subrequest_limit: 422,
  model_not_configured: 503,
  model_refused_request: 400,
  model_context_exceeded: 400,
  model_without_tools: 400,
  model_quota_exceeded: 402,
  model_not_found: 404,
  model_unauthorized: 424,
  model_rate_limited: 429,
}

/** The failures of a provider that is overloaded or cannot be reached. */
const OUTAGES = new Set(['model_rate_limited', 'model_unavailable', 'model_unreachable'])

export type RunRef = Pick<RunHandle, 'runId' | 'conversation' | 'replayed' | 'joined'>

/** Returns the headers of every response with a run, in all formats. */
export function runHeaders({ runId, conversation, replayed, joined }: RunRef): Record<string, string> {
  return {
    'x-run-id': runId,
    ...(conversation !== undefined && { 'x-conversation-id': conversation }),
    ...(replayed === true && { 'idempotent-replayed': 'true' }),
    ...(joined === true && { 'x-run-joined': 'true' }),
  }
}
