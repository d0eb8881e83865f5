import type { AgentControl } from '../../contract/agent.ts'
import type { CallInput, InputNeeds } from '../../contract/input.ts'
import { isObject, type JsonObject, withoutUndefined } from '../../contract/json.ts'
import type { ProgramCalls } from '../../contract/program.ts'
import { messageOf } from '../../contract/thrown.ts'
import { within } from '../../contract/time-limit.ts'
import {
  type CallStatus,
  failure,
  type Progress,
  type ReportAddress,
  type Tool,
  type ToolFailure,
  type ToolOutcome,
  type ToolRequest,
  type ToolSuccess,
} from '../../contract/tool.ts'
import { callPart, traceparentOf } from '../../contract/trace.ts'
import { execute, parseArguments, unknownTool } from '../../host/execute.ts'
import { marksReadBy } from '../decide/data-flow-guard.ts'
import { canReconcile } from '../recover.ts'
import { hookContext, type Running } from '../running.ts'
import type { CallState } from '../state.ts'
import { placedMessages, plannerOf, reductionOf } from '../window/planner.ts'
import { compose, HOOK_FAILED, hookFailed, HookFailure, type Middleware } from './hooks.ts'

/**
 * What a call needs of what it belongs to: a run in progress, or a state of its own where it is made outside of a run.
 * `state` has the caller, the context, the limits and the marks; `tools` the tool, by the name that the call has.
 */
export type CallPorts = Pick<Running, 'state' | 'tools' | 'history' | 'prompt' | 'loop' | 'report' | 'signal' | 'now'>

/** One attempt at a call. Times are in epoch milliseconds. */
export interface Attempt {
  /** From 1. */
  readonly attempt: number
  readonly startedAt: number
  readonly deadline: number
}

/** How an attempt is sent. */
export interface CallSending {
  /** The most bytes of the result that are kept. */
  readonly resultBytes: number
  readonly progress: (news: Progress) => void
  /** Receives an outcome that came after the call was given up. */
  readonly onLate?: (outcome: ToolOutcome) => void
  /** Where the outcome may be reported. Default: it cannot be. */
  readonly reportTo?: ReportAddress | undefined
  /** What the call can ask for, by methods of MCP. Default: a person's input, in a conversation. */
  readonly asks?: readonly string[]
  /** The answers to what the call asked for before. Default: what a person filled in (`filledIn` of the call). */
  readonly input?: CallInput | undefined
  /** The calls that the tool can make in the run, if the call is a program. */
  readonly calls?: ProgramCalls
  /** Starts the run of an agent, if the tool is one and the run is stored. */
  readonly startRun?: AgentControl['startRun'] | undefined
}

/** Returns the times of the next attempt at a call. */
export function nextAttempt({ state, now }: Pick<CallPorts, 'state' | 'now'>, call: CallState): Attempt {
  const { timeoutMs = Infinity } = state.offered.get(call.tool) ?? {}
  const startedAt = now()
  return {
    attempt: call.attempt + 1,
    startedAt,
    deadline: startedAt + Math.min(timeoutMs, state.request.limits.callMs),
  }
}

/**
 * Makes one attempt at a call: builds its request, sends it to the tool through the hooks around calls, waits until its
 * time is up, and reports a fault to operators. A call that timed out may have taken effect: a tool with `reconcile` is
 * asked. This is the only way to a tool: for the calls of a model, for those outside of a run (`POST /tools/{name}/call`
 * and MCP), and for any other that is made in the name of a run.
 *
 * The caller has asked `admit` before, and records what comes of it: `call` need not be among the calls of `state`, and
 * nothing of `state` changes. Never rejects. Failures: those of the tool, and `unknown_tool`, `invalid_arguments`,
 * `timeout`, `cancelled`, `tool_failed` and `hook_failed`.
 */
export async function callTool(
  ports: CallPorts,
  call: CallState,
  attempt: Attempt,
  options: CallSending,
): Promise<ToolOutcome> {
  const { state, tools, signal, loop } = ports
  const tool = tools.get(call.tool)
  const request = toolRequest(ports, call, { ...attempt, ...options })
  if (!tool) return reportFault(ports, call, attempt, unknownTool(call.tool, [...tools.keys()]))
  if (!request.ok) return reportFault(ports, call, attempt, request)
  const { resultBytes, progress, onLate, calls, startRun } = options
  const timeoutMs = attempt.deadline - attempt.startedAt
  const own = { calls, startRun }
  const executeOptions = { signal, timeoutMs, resultBytes, progress, ...own }
  const outcome = await throughHooks(ports, tool, request.value, async (input) => {
    const answer = await (loop.execute ?? execute)(tool, input, { ...executeOptions, onLate })
    return isTimeout(answer) && canReconcile(state, call)
      ? reconcileTimeout(ports, { ...call, ...attempt }, answer)
      : answer
  })
  return reportFault(ports, call, attempt, outcome)
}

/**
 * Takes the outcome of a call that its tool has answered later: it passes the hooks around calls as an immediate one, and
 * its fault is reported. Never rejects.
 */
export async function receiveOutcome(
  ports: CallPorts,
  call: CallState,
  attempt: Attempt,
  outcome: ToolOutcome,
): Promise<ToolOutcome> {
  const tool = ports.tools.get(call.tool)
  const request = toolRequest(ports, call, attempt)
  const received = tool && request.ok ? await throughHooks(ports, tool, request.value, async () => outcome) : outcome
  return reportFault(ports, call, attempt, received)
}

/** The time limit of asking a tool for the status of a call, in milliseconds. */
const STATUS_MS = 10_000

/** Asks the tool for the status of a call that was sent. Never rejects: `unknown` if the tool cannot tell. */
export async function askStatus(ports: CallPorts, call: CallState): Promise<CallStatus> {
  const { callId, tool: name, attempt, deadline = 0 } = call
  const tool = ports.tools.get(name)
  const request = toolRequest(ports, call, { attempt, deadline })
  if (!tool?.status || !request.ok) return 'unknown'
  try {
    return await within<CallStatus>(STATUS_MS, tool.status(request.value), 'unknown')
  } catch (error) {
    ports.report({ callId, tool: name, code: 'status_failed', detail: messageOf(error) })
    return 'unknown'
  }
}

/** Asks the tool for the outcome of a call that it answers later. Undefined if the tool could not be asked. Never rejects. */
export async function pollTool(ports: CallPorts, call: CallState): Promise<ToolOutcome | undefined> {
  const { callId, tool: name, attempt, later } = call
  const { callMs } = ports.state.request.limits
  const request = toolRequest(ports, call, { attempt, deadline: ports.now() + callMs })
  try {
    const answer = request.ok && ports.tools.get(name)?.poll?.(request.value, later?.state)
    return answer ? await within<ToolOutcome | undefined>(callMs, answer, undefined) : undefined
  } catch (error) {
    ports.report({ callId, tool: name, code: 'poll_failed', detail: messageOf(error) })
    return undefined
  }
}

/** Asks the tool to undo a call that had this outcome. Never rejects: a call that cannot be undone is a failure. */
export async function undoCall(ports: CallPorts, call: CallState, outcome: ToolSuccess): Promise<ToolOutcome> {
  const tool = ports.tools.get(call.tool)
  const { callMs } = ports.state.request.limits
  const request = toolRequest(ports, call, { attempt: call.attempt, deadline: ports.now() + callMs })
  if (!tool?.undo || !request.ok) return failure('tool_unavailable', 'Its tool is not available any more.')
  const timeout = failure('timeout', `It was not undone within ${callMs} ms.`)
  try {
    return await within<ToolOutcome>(callMs, tool.undo(request.value, outcome), timeout)
  } catch (error) {
    return failure('tool_failed', 'Undoing it failed.', messageOf(error))
  }
}

export function isTimeout(outcome: ToolOutcome): boolean {
  return !outcome.ok && outcome.error.code === 'timeout'
}

/** Asks the tool about a call that timed out: the call may have taken effect all the same. */
async function reconcileTimeout(ports: CallPorts, call: CallState, outcome: ToolOutcome): Promise<ToolOutcome> {
  const status = await askStatus(ports, call)
  if (status === 'done')
    return { ok: true, content: [{ type: 'text', text: 'The call took effect, but only after its time limit.' }] }
  return typeof status === 'string' ? outcome : status
}

/** Sends a request through the hooks around calls. Never rejects: the failure of a hook is a fatal outcome. */
async function throughHooks(
  ports: CallPorts,
  { definition }: Tool,
  request: ToolRequest,
  send: (request: ToolRequest) => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const middleware = (ports.loop.hooks ?? []).flatMap((hook): Middleware<ToolRequest, ToolOutcome>[] =>
    hook.call ? [(input, next) => hook.call?.(input, next, { ...hookContext(ports), definition }) ?? next(input)] : [],
  )
  try {
    return await compose(middleware, send)(request)
  } catch (error) {
    const { callId } = request.context
    const cause = error instanceof HookFailure ? error.cause : error
    return hookFailed(ports, { callId, tool: definition.name }, cause)
  }
}

/** Builds the request of one attempt at a call, or returns a failure for the model if its arguments are invalid. */
function toolRequest(
  { state, tools, history, prompt, loop }: CallPorts,
  { callId, tool: name, arguments: text, key = callId, needs, filledIn = {}, parent }: CallState,
  { attempt, deadline, reportTo, asks, input }: RequestTerms,
): { readonly ok: true; readonly value: ToolRequest } | ToolFailure {
  const parsed = parseArguments(name, text)
  if (!parsed.ok) return parsed
  const { runId, conversation, caller, context, trusted, compat } = state.request
  // LangChain4j gives tools the memory id "default" where a request names none.
  const conversationId = conversation ?? (compat === 'langchain4j' ? 'default' : undefined)
  const traceparent = traceparentOf(state.request, callPart(callId, attempt))
  const { hash = '', history: wantsHistory = false } = tools.get(name)?.definition ?? {}
  const methods = asks ?? (conversation === undefined ? [] : [ELICIT])
  const marks = marksReadBy(state, { parent })
  const answers = input ?? (needs && answerTo(needs, filledIn))
  return {
    ok: true,
    value: {
      name,
      arguments: parsed.value,
      hash,
      context: withoutUndefined({
        conversationId,
        runId,
        callId,
        idempotencyKey: key,
        attempt,
        deadline,
        caller,
        // A copy, since a tool in this isolate could otherwise change what other calls see.
        values: Object.keys(context).length > 0 ? structuredClone(context) : {},
        trusted,
        compat,
        traceparent,
        asks: methods.length > 0 ? methods : undefined,
        input: answers,
        reportTo,
        marks: marks.size > 0 ? [...marks] : undefined,
        history: wantsHistory
          ? plannerOf(loop).visible(placedMessages({ state, history, prompt }), reductionOf({ state, prompt }))
          : undefined,
      }),
    },
  }
}

type RequestTerms = Pick<Attempt, 'attempt' | 'deadline'> & Partial<Pick<CallSending, 'reportTo' | 'asks' | 'input'>>

const ELICIT = 'elicitation/create'

/** Whether a person who decides about calls can answer all that a call asks for. */
export function isForPerson({ requests }: InputNeeds): boolean {
  return Object.values(requests ?? {}).every((request) => request?.method === ELICIT && isObject(request.params))
}

/** Returns the answers of a person who has approved. A page that was opened has no content. */
function answerTo({ requests, state }: InputNeeds, filledIn: Readonly<Record<string, JsonObject>>): CallInput {
  const responses = Object.entries(requests).map(([name, { params }]) => {
    return [name, { action: 'accept', ...(params['mode'] !== 'url' && { content: filledIn[name] ?? {} }) }]
  })
  return { responses: Object.fromEntries(responses), state }
}

/** The codes of failures that the model or the caller causes, not the tool. */
const NOT_FAULTS: ReadonlySet<string> = new Set([
  'invalid_arguments',
  'unknown_tool',
  'cancelled',
  'later',
  'suspended',
  HOOK_FAILED.code,
])

/** Reports what operators must know of an outcome, if the tool has failed; returns the outcome. */
function reportFault(
  { report, now }: CallPorts,
  { callId, tool }: CallState,
  { attempt, startedAt }: Attempt,
  outcome: ToolOutcome,
): ToolOutcome {
  if (outcome.ok) return outcome
  const { code, detail } = outcome.error
  if (detail === undefined && NOT_FAULTS.has(code)) return outcome
  report({ callId, tool, attempts: attempt, durationMs: now() - startedAt, code, detail })
  return outcome
}
