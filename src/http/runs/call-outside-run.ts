import type { CallInput } from '../../contract/input.ts'
import { newId } from '../../contract/id.ts'
import type { DataMark } from '../../contract/message.ts'
import type { Setup } from '../../contract/setup.ts'
import { chooseOptions } from '../../contract/run-options.ts'
import type { RunRequest } from '../../contract/run.ts'
import type { Caller, Progress, Tool, ToolOutcome } from '../../contract/tool.ts'
import { admit } from '../../loop/decide/admit.ts'
import { type CallPorts, callTool, nextAttempt } from '../../loop/perform/call-tool.ts'
import { hookFailed, HookFailure, isGuardedBySetup } from '../../loop/perform/hooks.ts'
import { loopPorts } from '../../loop/running.ts'
import { type CallState, newState } from '../../loop/state.ts'
import { termsOfCaller } from '../../contract/caller-terms.ts'
import { countSpend } from './budget.ts'
import type { WaitUntil } from '../request-context.ts'
import { countableUsage } from '../../contract/usage.ts'
import { traceOf } from '../../contract/trace.ts'
import { requestValues } from './select-tools.ts'

export interface CallOptions {
  readonly arguments: Readonly<Record<string, unknown>>
  /** The tool context that the request brings. */
  readonly context?: Readonly<Record<string, unknown>> | undefined
  /** The answers to the input that an earlier attempt at the call has requested. */
  readonly input?: CallInput | undefined
  /** What the caller can be asked for, by methods of MCP. Default: nothing. */
  readonly asks?: readonly string[]
  /** The id of the call, if it was sent before. Default: a new one. */
  readonly callId?: string
  /** Whether a person has allowed the call. */
  readonly isApproved?: boolean
  /** The marks of what is in the arguments. Default: none, as the caller writes them. */
  readonly marks?: readonly DataMark[]
  readonly setup: Setup
  readonly caller: Caller
  readonly request: Request
  readonly waitUntil: WaitUntil
  readonly progress?: (news: Progress) => void
  /** The most bytes of the result. Default: the limit of runs. */
  readonly resultBytes?: number
  /** Default: the signal of the request. */
  readonly signal?: AbortSignal
}

/**
 * Performs one call outside of a run, under the rules of a run (`admit`) and as a run performs it (`callTool`); a call
 * that needs approval fails. The usage of models inside the tool is counted for the caller's key. Never rejects.
 */
export async function callOutsideRun(tool: Tool, options: CallOptions): Promise<ToolOutcome> {
  const { setup, caller, request, waitUntil, progress = () => {}, signal = request.signal } = options
  const { definition } = tool
  const { name, maxResultBytes = Infinity } = definition
  const { loop = {} } = setup
  const run = requestOfCall(options)
  const { runId, limits } = run
  const { callId = runId, isApproved = false, input, asks = [] } = options
  const status = isApproved ? 'approved' : 'proposed'
  const call: CallState = { callId, tool: name, arguments: JSON.stringify(options.arguments), status, attempt: 0 }
  const { report } = loopPorts(setup, runId)
  const state = newState(run, new Map([[name, definition]]))
  for (const mark of options.marks ?? []) state.marks.add(mark)
  const tools = new Map([[name, tool]])
  const ports: CallPorts = { state, tools, loop, report, signal, now: Date.now, history: [], prompt: undefined }
  try {
    const admission = admit(state, { ...call, isGuarded: isGuardedBySetup(ports, call) })
    if (admission.do === 'refuse') return admission.failure
  } catch (error) {
    return hookFailed(ports, call, error instanceof HookFailure ? error.cause : error)
  }
  const outcome = await callTool(ports, call, nextAttempt(ports, call), {
    resultBytes: Math.min(maxResultBytes, options.resultBytes ?? limits.resultBytes),
    progress,
    asks,
    input,
  })
  const usage = outcome.usage && countableUsage(outcome.usage)
  if (usage && termsOfCaller(setup, caller)?.budget) waitUntil(countSpend({ setup, caller }, runId, usage))
  return outcome
}

/** Returns the request of a run that would make this call alone. */
function requestOfCall({ setup, caller, request, context }: CallOptions): RunRequest {
  const { config } = setup
  const runId = newId('run')
  const trusted = setup.trusted?.(caller)
  const trace = traceOf(request.headers.get('traceparent'), runId, false)
  const { compat } = config
  return {
    runId,
    durable: false,
    caller,
    input: [],
    model: config.model ?? '',
    clientTools: [],
    context: requestValues(request, config, context),
    limits: config.limits,
    ...chooseOptions(config, {}),
    execution: 'edge',
    ...(!config.taintRule && { taintRule: false }),
    ...(compat && { compat }),
    trusted,
    trace,
  }
}
