import type { CallInput } from '../../contract/input.ts'
import { newId } from '../../contract/id.ts'
import type { Setup } from '../../contract/setup.ts'
import { chooseOptions } from '../../contract/run-options.ts'
import type { RunRequest } from '../../contract/run.ts'
import type { Caller, Progress, Tool, ToolOutcome, ToolRequest } from '../../contract/tool.ts'
import { callThroughHooks } from '../../loop/perform/call-hooks.ts'
import { admit } from '../../loop/decide/admit.ts'
import { isGuardedBySetup } from '../../loop/perform/eager.ts'
import { HookFailure } from '../../loop/perform/middleware.ts'
import { hookFailed } from '../../loop/perform/fault-policy.ts'
import { faultOf } from '../../loop/perform/record-outcome.ts'
import { loopPorts } from '../../loop/running.ts'
import { newState } from '../../loop/state.ts'
import { execute } from '../../host/execute.ts'
import { termsOfCaller } from '../../contract/caller-terms.ts'
import { countSpend } from './budget.ts'
import type { WaitUntil } from '../request-context.ts'
import { countableUsage } from '../../contract/usage.ts'
import { callPart, traceOf, traceparentOf } from '../../contract/trace.ts'
import { requestValues } from './request-values.ts'

export interface CallOptions {
  readonly arguments: Readonly<Record<string, unknown>>
  /** The tool context that the request brings. */
  readonly context?: Readonly<Record<string, unknown>> | undefined
  /** The answers to the input that an earlier attempt at the call has requested. */
  readonly input?: CallInput | undefined
  /** The id of the call, if it was sent before. Default: a new one. */
  readonly callId?: string
  /** Whether a person has allowed the call. */
  readonly isApproved?: boolean
  readonly setup: Setup
  readonly caller: Caller
  readonly request: Request
  readonly waitUntil: WaitUntil
  readonly progress?: (news: Progress) => void
  /** Default: the signal of the request. */
  readonly signal?: AbortSignal
}

/**
 * Performs one call outside of a run, under the rules of a run: with its limits and through the setup's hooks around
 * calls; a call that needs approval fails. The usage of models inside the tool is counted for the caller's key, and the
 * detail of a failure is reported to operators. Never rejects.
 */
export async function callTool(
  tool: Tool,
  { setup, caller, request, waitUntil, progress = () => {}, signal = request.signal, ...body }: CallOptions,
): Promise<ToolOutcome> {
  const { definition } = tool
  const { name, hash, timeoutMs: ownMs = Infinity, maxResultBytes = Infinity } = definition
  const { config, loop = {} } = setup
  const { limits, compat } = config
  const timeoutMs = Math.min(ownMs, limits.callMs)
  const runId = newId('run')
  const trusted = setup.trusted?.(caller)
  const { report } = loopPorts(setup, runId)
  const values = requestValues(request, config, body.context)
  const run: RunRequest = {
    ...{ runId, durable: false, caller, input: [], model: config.model ?? '', clientTools: [] },
    ...{ context: values, limits, ...chooseOptions(config, {}), execution: 'edge', ...(trusted && { trusted }) },
  }
  const { callId = runId } = body
  const call = { callId, tool: name, arguments: JSON.stringify(body.arguments) }
  const state = newState(run, new Map([[name, definition]]))
  try {
    const isGuarded = isGuardedBySetup({ state, loop }, call)
    const status = body.isApproved === true ? 'approved' : 'proposed'
    const admission = admit(state, { ...call, status, attempt: 0, isGuarded })
    if (admission.do === 'refuse') return admission.failure
  } catch (error) {
    return hookFailed({ report }, call, error instanceof HookFailure ? error.cause : error)
  }
  const trace = traceOf(request.headers.get('traceparent'), runId, false)
  const traceparent = traceparentOf({ trace, runId }, callPart(runId, 1))
  const toolRequest: ToolRequest = {
    name,
    arguments: body.arguments,
    hash,
    context: {
      runId,
      callId,
      idempotencyKey: callId,
      attempt: 1,
      deadline: Date.now() + timeoutMs,
      caller,
      values,
      ...(trusted && { trusted }),
      ...(compat && { compat }),
      ...(traceparent !== undefined && { traceparent }),
      ...(body.input && { input: body.input }),
    },
  }
  const options = { signal, timeoutMs, progress, resultBytes: Math.min(maxResultBytes, limits.resultBytes) }
  const startedAt = Date.now()
  const outcome = await callThroughHooks(
    { loop, report },
    {
      definition,
      request: toolRequest,
      context: () => ({ run, step: 0, messages: [], history: [], signal }),
      send: (request) => (loop.execute ?? execute)(tool, request, options),
    },
  )
  const usage = outcome.usage && countableUsage(outcome.usage)
  if (usage && termsOfCaller(setup, caller)?.budget) waitUntil(countSpend({ setup, caller }, runId, usage))
  const fault = faultOf(outcome)
  if (fault) setup.report({ event: 'call.failed', runId, tool: name, durationMs: Date.now() - startedAt, ...fault })
  return outcome
}
