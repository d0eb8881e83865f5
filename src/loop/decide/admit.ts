import { type LimitName, mostCalls, NEVER } from '../../contract/limits.ts'
import type { ToolCall } from '../../contract/message.ts'
import type { NamedTool } from '../../contract/tool-names.ts'
import { failure, mayCall, READ_RESULT, type ToolFailure } from '../../contract/tool.ts'
import { needsApproval } from '../../host/approval.ts'
import { parseArguments } from '../../host/parse-arguments.ts'
import { unknownTool } from '../../host/unknown-tool.ts'
import { startedCalls } from '../recover.ts'
import { type CallState, ownUsage, type RunState } from '../state.ts'
import { answersLimit, compatLimit, countsFinalAnswer } from './compat.ts'
import { needsDataFlowApproval } from './data-flow-guard.ts'

/**
 * What happens to a call that a model has proposed. `early`: it may start before the model's answer is complete. `answer`:
 * it is decided when that is complete. `because`: why a person must approve it.
 */
export type Admission =
  | { readonly do: 'run' | 'early' }
  | { readonly do: 'wait'; readonly for: 'caller' | 'answer' }
  | { readonly do: 'wait'; readonly for: 'approval'; readonly because: 'rule' | 'untrusted_data' }
  | { readonly do: 'refuse'; readonly failure: ToolFailure }

/**
 * Applies the rules of calls to a call that was proposed, or approved by a person at once: limits, repeats, what is on offer, its arguments, who runs it, and
 * approval. This is the only place that does, for every way on which a call can come. Pure: the setup's own rule of
 * approval is asked before (`isGuarded`).
 */
export function admit(state: RunState, call: CallState): Admission {
  const refusal = refusalOf(state, call)
  if (refusal) return { do: 'refuse', failure: refusal }
  if (call.status === 'approved') return { do: 'run' }
  if (runsAtCaller(state, call)) {
    const cannotWait = call.parent !== undefined && !state.request.durable
    return cannotWait ? { do: 'refuse', failure: PROGRAM_CANNOT_WAIT } : { do: 'wait', for: 'caller' }
  }
  const isGuarded = call.isGuarded === true || needsApproval(state.offered.get(call.tool)?.approval, call.arguments)
  if (!isGuarded && !needsDataFlowApproval(state, call)) return { do: 'run' }
  if (!state.request.conversation) return { do: 'refuse', failure: NEEDS_CONVERSATION }
  return { do: 'wait', for: 'approval', because: isGuarded ? 'rule' : 'untrusted_data' }
}

/**
 * Applies the same rules to a call of an answer that is not complete yet. `before`: the calls before it in this answer. It
 * may start at once if it would run then, whatever follows in the answer: it can be sent again without harm, waits for
 * nothing, and no limit counts the tokens of the answer.
 */
export function admitEarly(state: RunState, call: CallState, before: readonly ToolCall[]): Admission {
  const { request, calls, step, offered } = state
  const { limits } = request
  const definition = offered.get(call.tool)
  const { readOnly, idempotent } = definition?.annotations ?? {}
  const { budget = request.budget } = state
  const countsTokens = [limits.tokens, limits.cost, budget].some((limit) => limit !== undefined)
  const waits = definition?.later === true || groupSize(state, call.tool) !== undefined
  const isHarmless = readOnly === true || idempotent === true
  if (!step || !request.eager || state.limit || !isHarmless || waits || countsTokens) return AFTER_ANSWER
  if (startedCalls(state).length >= limits.concurrentCalls) return AFTER_ANSWER
  // An attempt at the step that was lost may have sent the same call, or another one with its id.
  const isKnown = (each: ToolCall) => each.callId === call.callId || isSameCall(state, each, call)
  if ([...calls, ...step.early, ...before].some(isKnown)) return AFTER_ANSWER
  const proposed = before.map((each): CallState => ({
    ...each,
    status: 'proposed',
    attempt: 0,
    round: state.rounds + 1,
  }))
  const lost = step.early.filter(({ callId }) => !before.some((each) => each.callId === callId))
  const stateThen: RunState = {
    ...state,
    rounds: state.rounds + 1,
    calls: [...calls, ...lost, ...proposed, call],
    step: { ...step, calls: [...proposed, call] },
  }
  return admit(stateThen, call).do === 'run' ? { do: 'early' } : AFTER_ANSWER
}

const AFTER_ANSWER: Admission = { do: 'wait', for: 'answer' }

const NEEDS_CONVERSATION = failure(
  'approval_needs_conversation',
  'Not run: this call needs approval by a person, which is possible in a conversation only.',
)

const PROGRAM_CANNOT_WAIT = failure(
  'caller_needs_conversation',
  'Not run: the caller runs this tool itself, and a program can wait for it in a conversation only.',
)

/** Returns the result of a call that must not run; undefined if it may run. */
function refusalOf(state: RunState, call: CallState): ToolFailure | undefined {
  const overLimit = refuseOverLimit(state, call)
  if (overLimit) return overLimit
  // Some models ignore `toolChoice: none`, and some providers do not support it.
  const forModel = state.request.toolChoice === 'none' ? [] : namesOnOffer(state)
  const onOffer = call.parent === undefined ? forModel : namesForPrograms(state)
  if (!onOffer.includes(call.tool)) return unknownTool(call.tool, onOffer)
  const parsed = parseArguments(call.tool, call.arguments)
  return parsed.ok ? undefined : parsed
}

/** Returns the names of the tools that the model sees: those of the step, if it has its own selection. */
export function namesOnOffer({ offered, request, step, hasTruncatedResult }: RunState): readonly string[] {
  const edgeNames = [...offered.values()].filter((tool) => mayCall(tool, 'model')).map(({ name }) => name)
  const names = step?.tools ?? [...edgeNames, ...request.clientTools.map((tool) => tool.name)]
  return hasTruncatedResult && !names.includes(READ_RESULT) ? [...names, READ_RESULT] : names
}

/** Returns the names of the tools that programs may call: whether or not the model sees them in this step. */
function namesForPrograms({ offered, request }: RunState): readonly string[] {
  const edgeNames = [...offered.values()].filter((tool) => mayCall(tool, 'program')).map(({ name }) => name)
  return [...edgeNames, ...request.clientTools.map((tool) => tool.name)]
}

function runsAtCaller({ request, step }: RunState, { tool }: ToolCall): boolean {
  const execution = step?.answer?.execution ?? request.execution
  return execution === 'caller' || request.clientTools.some(({ name }) => name === tool)
}

/** Returns the calls of the run before this one, in the order in which they were asked for; those that were lost first. */
function callsBefore({ calls, lostCalls }: RunState, call: CallState): readonly CallState[] {
  const index = calls.indexOf(call)
  return [...lostCalls, ...(index < 0 ? calls : calls.slice(0, index))]
}

/** Returns the limit that this proposed call exceeds, counting the run's calls in the order they were asked for. */
function overLimit(state: RunState, call: CallState): LimitName | undefined {
  const { request, rounds, usage } = state
  const own = ownUsage(state)
  const { limits } = request
  const { budget = request.budget ?? {} } = state
  const { tokens = Infinity, cost = Infinity } = limits
  if (rounds > limits.steps) return 'steps'
  if (usage.inputTokens + usage.outputTokens > tokens) return 'tokens'
  if (own.inputTokens + own.outputTokens > (budget.tokens ?? Infinity)) return 'tokens'
  if ((usage.cost ?? 0) > cost || (own.cost ?? 0) > (budget.cost ?? Infinity)) return 'cost'
  const before = callsBefore(state, call)
  // An answer of thousands of calls is not compared with all before each of them.
  if (before.length >= 2 * limits.calls) return 'calls'
  const { tool, target } = namedTools(state, call.tool)
  if (before.filter((each) => each.tool === call.tool).length >= mostCalls(limits, tool)) return 'callsPerTool'
  const ofTarget = before.filter((each) => targetOf(state, each.tool) === target.name)
  if (ofTarget.length >= mostCalls(limits, target)) return 'callsPerTool'
  return before.length >= limits.calls ? 'calls' : undefined
}

/**
 * Returns the limit that ends the run, or its use of tools, if this proposed call exceeds it. With `onLimit: 'model'`, a
 * limit on the number of calls ends neither: only the call is refused. Repeats end it if all calls of three answers in a
 * row were refused for them.
 */
function endingLimit(state: RunState, call: CallState): LimitName | undefined {
  const which = overLimit(state, call)
  if (which === undefined) return isLastRepeat(state, call) ? 'sameCalls' : undefined
  const isCallLimit = which === 'calls' || which === 'callsPerTool'
  return isCallLimit && state.request.onLimit === 'model' ? undefined : which
}

/** Returns the limit that ends the run, or its use of tools, with these open calls; undefined if it was reached before. */
export function limitReached(state: RunState, openCalls: readonly CallState[]): LimitName | undefined {
  if (state.limit) return undefined
  if (state.steps > state.request.limits.steps && countsFinalAnswer(state.request)) return 'steps'
  for (const call of openCalls) {
    const which = call.status === 'proposed' ? endingLimit(state, call) : undefined
    if (which) return which
  }
  return undefined
}

/** The code of a call in an answer that should have been final, since a limit was reached. */
export const NO_MORE_TOOLS = 'no_more_tools'

const AFTER_LIMIT = 'Not run: a limit of the run was reached before this call.'

/** Returns the result of a call that exceeds a limit; undefined if it exceeds none. */
function refuseOverLimit(state: RunState, call: CallState): ToolFailure | undefined {
  if (state.limit && state.limit.step < state.steps)
    return failure(NO_MORE_TOOLS, 'Not run: no more tools may be called in this run.')
  if (followsLimit(state, call)) return failure(NO_MORE_TOOLS, AFTER_LIMIT)
  const which = overLimit(state, call)
  if (which === undefined) return refuseRepeated(state, call)
  const { compat, limits } = state.request
  const libraryText = compat && compatLimit(compat, which, limits, namedTools(state, call.tool).tool)
  if (libraryText !== undefined) return failure('limit', libraryText)
  if (endingLimit(state, call)) {
    return failure('limit', `Not run: this run's limit "${which}" is reached. Answer with what you have.`)
  }
  const what = which === 'calls' ? 'tool' : `call of "${call.tool}"`
  return failure('limit', `Not run: this run's limit "${which}" is reached. No further ${what} is run in it.`)
}

/** Whether a call before this one, in the same answer, exceeds a limit whose text is the answer of the run. */
function followsLimit(state: RunState, call: CallState): boolean {
  const { request, step, limit } = state
  if (limit || request.compat === undefined) return false
  const before = step?.calls.slice(0, Math.max(0, step.calls.indexOf(call))) ?? []
  return before.some((each) => each.status === 'proposed' && answersLimit(request, endingLimit(state, each)))
}

/** The code of a call that was refused because it was made before. */
export const REPEATED_CALL = 'repeated_call'

/** After how many equal results in successive answers a call is refused, if the run made no other call in between. */
const MOST_EQUAL_RESULTS = 2

/** How many answers in a row may consist of refused repeats before the model must answer without tools. */
export const MOST_REPEATED_ROUNDS = 3

function refuseRepeated(state: RunState, call: CallState): ToolFailure | undefined {
  const why = repeatOf(state, call)
  if (why === undefined) return undefined
  const remedy = isLastRepeat(state, call)
    ? 'This run\'s limit "sameCalls" is reached. Answer with what you have.'
    : 'Use its results, or change the arguments.'
  return failure(REPEATED_CALL, `Not run: "${call.tool}" ${why}. ${remedy}`)
}

/** Returns in words why a call counts as repeated; undefined if it does not. */
function repeatOf(state: RunState, call: CallState): string | undefined {
  const { sameCalls } = state.request.limits
  // Runs of earlier versions do not have this limit.
  if (!(sameCalls < NEVER)) return undefined
  const before = callsBefore(state, call)
  const repeats = before.filter((each) => isSameCall(state, each, call)).length
  if (repeats >= sameCalls) return `was called ${repeats} times with these arguments`
  return hasEqualResults(state, call) ? 'gave the same result each time it was called with these arguments' : undefined
}

/**
 * Whether the last answers that called tools all made this call alone, with equal results. A tool that says that it has
 * effects (`readOnly: false`), such as one that turns a page, may report each in the same words.
 */
function hasEqualResults(state: RunState, call: CallState): boolean {
  const { calls, rounds, offered } = state
  if (offered.get(call.tool)?.annotations.readOnly === false) return false
  const results = new Map<number, string>()
  for (const each of calls.toReversed()) {
    const { round = 0, result, attempt } = each
    if (round === rounds) continue
    if (round === 0 || !isSameCall(state, each, call) || !result) break
    if (attempt === 0 && result.error?.code === REPEATED_CALL) continue
    const text = JSON.stringify([result.content, result.error])
    if ([...results.values()].some((other) => other !== text)) break
    results.set(round, text)
    if (results.size >= MOST_EQUAL_RESULTS) return true
  }
  return false
}

/** Whether all calls of this answer are repeats, as all of the answers before it were. */
function isLastRepeat(state: RunState, call: CallState): boolean {
  const { step, repeatedRounds } = state
  return (
    repeatedRounds + 1 >= MOST_REPEATED_ROUNDS &&
    repeatOf(state, call) !== undefined &&
    step?.calls.every((each) => repeatOf(state, each) !== undefined) === true
  )
}

/** Returns the name of the tool that a call reaches: the tool behind an alias, else the tool itself. */
export function targetOf({ offered }: Pick<RunState, 'offered'>, tool: string): string {
  return offered.get(tool)?.aliasOf ?? tool
}

/** Returns the tool that a call names, and the one that it reaches: the same unless it is a call of an alias. */
export function namedTools(
  { offered }: Pick<RunState, 'offered'>,
  name: string,
): { readonly tool: NamedTool; readonly target: NamedTool } {
  const { ownName, aliasOf } = offered.get(name) ?? {}
  const own = ownName === undefined ? {} : { ownName }
  // An alias has no name on a server: its `ownName` is that of the tool behind it.
  return aliasOf === undefined
    ? { tool: { name, ...own }, target: { name, ...own } }
    : { tool: { name }, target: { name: aliasOf, ...own } }
}

/** Whether two calls are of the same tool, by whatever name, with the same arguments. */
function isSameCall(
  state: Pick<RunState, 'offered'>,
  one: Pick<ToolCall, 'tool' | 'arguments'>,
  other: Pick<ToolCall, 'tool' | 'arguments'>,
): boolean {
  return targetOf(state, one.tool) === targetOf(state, other.tool) && one.arguments === other.arguments
}

/** Returns how many calls of the group of a tool may run at the same time; undefined if it is in none. */
export function groupSize({ offered }: Pick<RunState, 'offered'>, tool: string): number | undefined {
  const { exclusive, maxConcurrent } = offered.get(tool) ?? {}
  return typeof exclusive === 'string' || exclusive === true ? 1 : maxConcurrent
}

/** Throws a TypeError if two calls of one answer have the same id: their results could not be told apart. */
export function refuseDuplicateIds(calls: readonly ToolCall[]): void {
  const ids = new Set<string>()
  const duplicate = calls.find(({ callId }) => ids.size === ids.add(callId).size)?.callId
  if (duplicate !== undefined) throw new TypeError(`Two calls of one answer have the id "${duplicate}"`)
}
