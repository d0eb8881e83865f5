import { type LimitName, mostCalls, NEVER } from '../../contract/limits.ts'
import type { ToolCall } from '../../contract/message.ts'
import { matches, type NamedTool } from '../../contract/tool-names.ts'
import { type Approval, type Condition, mayCall } from '../../contract/tool-definition.ts'
import { failure, READ_RESULT, type ToolFailure } from '../../contract/tool.ts'
import { parseArguments, unknownTool } from '../../host/execute.ts'
import { startedCalls } from '../recover.ts'
import { type CallState, ownUsage, type RunState } from '../state.ts'
import { countEarlier, isSameCall } from './call-counts.ts'
import { answersLimit, compatLimit, countsFinalAnswer } from './compat.ts'
import { needsDataFlowApproval } from './data-flow-guard.ts'
import { readExactly } from '../../contract/exact-numbers.ts'
import { partAt, pointerKeys } from '../../contract/json.ts'

/**
 * What happens to a call that a model has proposed. `early`: it may start before the model's answer is complete. `answer`:
 * it is decided when that is complete. `judgement`: a decision model is asked first. `because`: why a person must approve it.
 */
export type Admission =
  | { readonly do: 'run' | 'early' }
  | { readonly do: 'wait'; readonly for: 'caller' | 'answer' | 'judgement' }
  | { readonly do: 'wait'; readonly for: 'approval'; readonly because: 'rule' | 'untrusted_data' }
  | { readonly do: 'refuse'; readonly failure: ToolFailure }

/**
 * Applies the rules of calls to a call that was proposed, or approved by a person at once: limits, repeats, what is on offer, its arguments, who runs it, and
 * approval. This is the only place that does, for every way on which a call can come. Pure: the setup's own rule of
 * approval is asked before (`isGuarded`). `rules`: those of the step, for who asks for many calls of it.
 */
export function admit(state: RunState, call: CallState, rules: StepRules = stepRules(state)): Admission {
  const refusal = refusalOf(state, call, rules)
  if (refusal) return { do: 'refuse', failure: refusal }
  if (call.status === 'approved') return { do: 'run' }
  if (runsAtCaller(state, call)) {
    const cannotWait = call.parent !== undefined && !state.request.durable
    return cannotWait ? { do: 'refuse', failure: PROGRAM_CANNOT_WAIT } : { do: 'wait', for: 'caller' }
  }
  const isGuarded = call.isGuarded === true || needsApproval(state.offered.get(call.tool)?.approval, call.arguments)
  const isTainted = needsDataFlowApproval(state, call)
  if (!isGuarded && !isTainted) return { do: 'run' }
  if (!state.request.conversation) return { do: 'refuse', failure: NEEDS_CONVERSATION }
  const asksModel = isGuarded && modelMayApprove(state, call)
  if (asksModel && !isTainted && call.judgement?.ok !== false)
    return call.judgement ? { do: 'run' } : { do: 'wait', for: 'judgement' }
  return { do: 'wait', for: 'approval', because: isGuarded && !(asksModel && isTainted) ? 'rule' : 'untrusted_data' }
}

/**
 * Whether a decision model may approve a call in a person's place: if nothing but a policy that says `decide` demands the
 * approval, and a user has written what the run was started with.
 */
function modelMayApprove({ offered, request }: RunState, { tool, isGuarded }: CallState): boolean {
  const hasUser = request.isFromUser === true && !request.isFromCopy
  return hasUser && isGuarded !== true && offered.get(tool)?.modelMayApprove === true
}

/**
 * Applies the same rules to a call of an answer that is not complete yet. `before`: the calls before it in this answer. It
 * may start at once if it would run then, whatever follows in the answer: it can be sent again without harm, waits for
 * nothing, and no limit counts the tokens of the answer. Each is compared with those before it, so that only the first
 * calls of an answer start early.
 */
export function admitEarly(state: RunState, call: CallState, before: readonly ToolCall[]): Admission {
  const { request, calls, step, offered } = state
  const { limits } = request
  const definition = offered.get(call.tool)
  const { readOnly, idempotent } = definition?.annotations ?? {}
  const waits = definition?.later === true || groupSize(state, call.tool) !== undefined
  const isHarmless = readOnly === true || idempotent === true
  if (before.length >= MOST_EARLY) return AFTER_ANSWER
  if (!step || !request.eager || state.limit || !isHarmless || waits || countsTokens(state)) return AFTER_ANSWER
  if (calls.length + before.length >= limits.calls || startedCalls(state).length >= limits.concurrentCalls)
    return AFTER_ANSWER
  const beforeIds = new Set(before.map(({ callId }) => callId))
  const lost = step.early.filter(({ callId }) => !beforeIds.has(callId))
  const earlier = countEarlier(state, call, [...lost, ...before])
  // An attempt at the step that was lost may have sent the same call, or another one with its id.
  const wasSent = step.byId.has(call.callId) || step.early.some((each) => isSameCall(state, each, call))
  if (wasSent || earlier.equal > 0 || beforeIds.has(call.callId)) return AFTER_ANSWER
  const round = state.rounds + 1
  // Only in an answer that a limit can replace does it matter what comes of the calls before.
  const proposed =
    request.compat === undefined
      ? []
      : before.map((each, at): CallState => ({
          ...each,
          ...{ status: 'proposed', attempt: 0, round },
          earlier: countEarlier(state, each, [...lost, ...before.slice(0, at)]),
        }))
  const ownCall: CallState = { ...call, round, earlier }
  const stateThen: RunState = { ...state, rounds: round, step: { ...step, calls: [...proposed, ownCall] } }
  return admit(stateThen, ownCall).do === 'run' ? { do: 'early' } : AFTER_ANSWER
}

/** Whether a limit counts the tokens of the run: then those of an answer without usage are estimated. */
export function countsTokens({ request, budget = request.budget }: RunState): boolean {
  const { tokens, cost } = request.limits
  return tokens !== undefined || cost !== undefined || budget !== undefined
}

/** How many calls of an answer may start before it is complete. */
const MOST_EARLY = 100
const AFTER_ANSWER: Admission = { do: 'wait', for: 'answer' }

/** The refusal of a call that nothing but an approval lacks, where nobody can be asked. */
export const NEEDS_CONVERSATION = failure(
  'approval_needs_conversation',
  'Not run: this call needs approval by a person, which is possible in a conversation only.',
)

const PROGRAM_CANNOT_WAIT = failure(
  'caller_needs_conversation',
  'Not run: the caller runs this tool itself, and a program can wait for it in a conversation only.',
)

/** What the rules of all calls of a step are computed from, once. */
export interface StepRules {
  /** The names that the model may call, and those that programs may. */
  readonly forModel: readonly string[]
  readonly forPrograms: readonly string[]
  /** The first call of the answer that exceeds a limit whose text is the answer of the run. */
  readonly answeredByLimit?: CallState | undefined
}

/** Returns the rules of the step under way, as long as none of its calls changes. */
export function stepRules(state: RunState): StepRules {
  const { request, step, limit } = state
  const exceeds = (call: CallState) => call.status === 'proposed' && answersLimit(request, endingLimit(state, call))
  return {
    // Some models ignore `toolChoice: none`, and some providers do not support it.
    forModel: request.toolChoice === 'none' ? [] : namesOnOffer(state),
    forPrograms: state.features.flatMap(({ innerNames }) => innerNames?.(state) ?? []),
    answeredByLimit: limit || request.compat === undefined ? undefined : step?.calls.find(exceeds),
  }
}

/** Returns the result of a call that must not run; undefined if it may run. */
function refusalOf(state: RunState, call: CallState, rules: StepRules): ToolFailure | undefined {
  const overLimit = refuseOverLimit(state, call, rules)
  if (overLimit) return overLimit
  const onOffer = call.parent === undefined ? rules.forModel : rules.forPrograms
  if (!onOffer.includes(call.tool)) return unknownTool(call.tool, onOffer)
  const parsed = parseArguments(call.tool, call.arguments)
  return parsed.ok ? undefined : parsed
}

/**
 * Returns the names of the tools that the model sees: those of the step, if it has its own selection, as far as models may
 * call them.
 */
export function namesOnOffer({ offered, request, step, hasTruncatedResult }: RunState): readonly string[] {
  const all = step?.tools ?? [...offered.keys(), ...request.clientTools.map((tool) => tool.name)]
  const names = all.filter((name) => mayCall(offered.get(name) ?? {}, 'model'))
  return hasTruncatedResult && !names.includes(READ_RESULT) ? [...names, READ_RESULT] : names
}

function runsAtCaller({ request, step }: RunState, { tool }: ToolCall): boolean {
  const execution = step?.answer?.execution ?? request.execution
  return execution === 'caller' || request.clientTools.some(({ name }) => name === tool)
}

const FIRST_CALL = { all: 0, ofTool: 0, ofTarget: 0, equal: 0 }

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
  const { all, ofTool, ofTarget } = call.earlier ?? FIRST_CALL
  const { tool, target } = namedTools(state, call.tool)
  if (ofTool >= mostCalls(limits, tool) || ofTarget >= mostCalls(limits, target)) return 'callsPerTool'
  return all >= limits.calls ? 'calls' : undefined
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
function refuseOverLimit(state: RunState, call: CallState, rules: StepRules): ToolFailure | undefined {
  if (state.limit && state.limit.step < state.steps)
    return failure(NO_MORE_TOOLS, 'Not run: no more tools may be called in this run.')
  if (followsLimit(call, rules)) return failure(NO_MORE_TOOLS, AFTER_LIMIT)
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
function followsLimit(call: CallState, { answeredByLimit: first }: StepRules): boolean {
  return first !== undefined && (first.earlier?.all ?? 0) < (call.earlier?.all ?? 0)
}

/** The code of a call that was refused because it was made before. */
export const REPEATED_CALL = 'repeated_call'

/** After how many equal results in successive answers a call is refused, if the run made no other call in between. */
const MOST_EQUAL_RESULTS = 2

/** How many answers in a row may consist of refused repeats before the model must answer without tools. */
export const MOST_REPEATED_ROUNDS = 3

function refuseRepeated(state: RunState, call: CallState): ToolFailure | undefined {
  const why = findRepeat(state, call)
  if (why === undefined) return undefined
  const remedy = isLastRepeat(state, call)
    ? 'This run\'s limit "sameCalls" is reached. Answer with what you have.'
    : 'Use its results, or change the arguments.'
  return failure(REPEATED_CALL, `Not run: "${call.tool}" ${why}. ${remedy}`)
}

/** Returns in words why a call counts as repeated; undefined if it does not. */
function findRepeat(state: RunState, call: CallState): string | undefined {
  const { sameCalls } = state.request.limits
  // Runs of earlier versions do not have this limit.
  if (!(sameCalls < NEVER)) return undefined
  const { equal: repeats } = call.earlier ?? FIRST_CALL
  if (repeats >= sameCalls) return `was called ${repeats} times with these arguments`
  return isStale(state, call) ? 'gave the same result each time it was called with these arguments' : undefined
}

/** Whether a call counts as repeated. */
export function isRepeat(state: RunState, call: CallState): boolean {
  return findRepeat(state, call) !== undefined
}

/**
 * Whether the last answers that called tools all made this call alone, with equal results. A tool that says that it has
 * effects (`readOnly: false`), such as one that turns a page, may report each in the same words.
 */
function isStale(state: RunState, call: CallState): boolean {
  const { staleCall, offered } = state
  return (
    staleCall !== undefined &&
    offered.get(call.tool)?.annotations.readOnly !== false &&
    isSameCall(state, staleCall, call)
  )
}

/** Returns the call that each of the last answers with calls made alone, with equal results; undefined if they differ. */
export function findStaleCall(state: RunState): CallState | undefined {
  const last = state.calls.at(-1)
  if (!last) return undefined
  const results = new Map<number, string>()
  for (let at = state.calls.length - 1; at >= 0; at--) {
    const each = state.calls[at]
    if (!each?.round || !each.result || !isSameCall(state, each, last)) return undefined
    if (each.attempt === 0 && each.result.error?.code === REPEATED_CALL) continue
    const text = JSON.stringify([each.result.content, each.result.error])
    if ([...results.values()].some((other) => other !== text)) return undefined
    results.set(each.round, text)
    if (results.size >= MOST_EQUAL_RESULTS) return last
  }
  return undefined
}

/** Whether all calls of this answer are repeats, as all of the answers before it were. */
function isLastRepeat(state: RunState, call: CallState): boolean {
  const { step, repeatedRounds } = state
  return repeatedRounds + 1 >= MOST_REPEATED_ROUNDS && step?.hasOnlyRepeats === true && isRepeat(state, call)
}

/** Returns the tool that a call names, and the one that it reaches: the same unless it is a call of an alias. */
export function namedTools(
  { offered }: Pick<RunState, 'offered'>,
  name: string,
): { readonly tool: NamedTool; readonly target: NamedTool } {
  const { ownName, aliasOf = name } = offered.get(name) ?? {}
  // An alias has no name on a server: its `ownName` is that of the tool behind it.
  return { tool: aliasOf === name ? { name, ownName } : { name }, target: { name: aliasOf, ownName } }
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

/**
 * Returns whether a call needs a person's approval. `args` are its arguments as the text that the model wrote. An
 * argument that is missing, has another type or cannot be parsed meets no condition; without conditions, every call
 * needs approval.
 */
export function needsApproval(approval: Approval = 'never', text: string): boolean {
  if (typeof approval === 'string') return approval === 'always'
  const value = readExactly(text)
  const conditions = Object.entries(approval.unless)
  return (
    !conditions[0] ||
    !conditions.every(([pointer, condition]) => meetsCondition(partAt(value, pointerKeys(pointer)), condition))
  )
}

/**
 * What separates lines or ends texts for a tool: `*@acme.com` would else be met by another address, a line break and
 * then one of Acme.
 */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u

function meetsCondition(value: unknown, { minimum, maximum, enum: values, like }: Condition): boolean {
  if (minimum !== undefined && !(typeof value === 'number' && value >= minimum)) return false
  if (maximum !== undefined && !(typeof value === 'number' && value <= maximum)) return false
  if (values && !values.some((each) => each === value)) return false
  if (!like) return value !== undefined
  return typeof value === 'string' && !CONTROL.test(value) && like.some((pattern) => isLike(pattern, value))
}

/** Matches one address of mail, without a name, a quoted part or a second address. */
const ADDRESS = /^[^\s@,;:<>()[\]\\"]+@[^\s@,;:<>()[\]\\"]+$/

/** Matches the scheme and authority of a URL, and the rest of it. */
const ADDRESS_OF_SITE = /^([a-z][a-z\d+.-]*:\/\/[^/?#\\]*)(.*)$/i

/**
 * Whether a text meets a pattern. A pattern with an `@` is met by one address alone. In one that begins as a URL, what
 * stands for the host is met by the host alone: no path of another site contains it.
 */
function isLike(pattern: string, text: string): boolean {
  const [, site, rest = ''] = ADDRESS_OF_SITE.exec(pattern) ?? []
  if (site !== undefined) {
    const [, textSite, textRest = ''] = ADDRESS_OF_SITE.exec(text) ?? []
    const isOpen = rest === '' && site.endsWith('*')
    if (textSite === undefined || /[\s@]/.test(textSite)) return false
    const [path = ''] = textRest.split(/[?#]/)
    return matches([site], textSite) && (isOpen || (matches([rest], textRest) && isDirect(rest, path)))
  }
  return (!pattern.includes('@') || ADDRESS.test(text)) && matches([pattern], text) && isDirect(pattern, text)
}

/** Matches dots, slashes and backslashes as URLs encode them, once or several times, and as old servers took them. */
const ENCODED_PATH = /%(?:25)*(?:2e|2f|5c|c0|e0%(?:25)*80)/i

/**
 * Whether a text leads where it seems to: no `..` leads out of what stands before it, and in a path there are no `.`,
 * doubled slashes, backslashes or encoded ones, which services read in different ways. What is in the pattern itself is allowed.
 */
function isDirect(pattern: string, text: string): boolean {
  const segments = text.split(/[/\\]/).map((segment) => segment.replace(/;.*/, '').trim())
  const has = (part: string) => text.includes(part) && !pattern.includes(part)
  if (segments.length > 1 && segments.includes('..')) return false
  if (!/[/\\]/.test(pattern)) return true
  return !segments.includes('.') && !has('//') && !has('\\') && !ENCODED_PATH.test(text)
}
