import { TOOL_NAME } from '../contract/id.ts'
import { isObject, parseShallow } from '../contract/json.ts'
import type { Content, DataMark, MadeCall, Message, ToolMessage } from '../contract/message.ts'
import { READ_RESULT } from '../contract/tool.ts'
import { marksOfResult } from './decide/data-flow-guard.ts'
import { isInDoubt, madeBelow, resultText, toolMessage } from './record.ts'
import type { CallState, RunState } from './state.ts'

/** The most characters of the arguments of a call, and of its outcome, in one line. */
export const MOST_ARGUMENTS = 320
const MOST_OUTCOME = 120
const MOST_LINE = 160
/** The most characters of a list of calls. Those beyond it are counted by tool. */
const MOST_LIST = 64_000
/** What a call takes in a list beside its texts. */
const CHARACTERS_A_CALL = 60
/** The most tools that a summary names. */
const MOST_TOOLS = 8
/** The most entries of a list among the arguments of a call. */
const MOST_ENTRIES = 8
/** The fewest characters of each text among the arguments. */
const FEWEST_CHARACTERS = 8

/** Returns the id by which all arguments of a call are read, as they were sent. */
export function argumentsId(callId: string): string {
  return `${callId}.arguments`
}

/** Returns the id by which the calls are read that a call made. */
export function callsId(callId: string): string {
  return `${callId}.calls`
}

type Calls = Pick<RunState, 'calls' | 'offered' | 'marks'>

/** Returns the calls of a run that may have taken effect, in order, with those that its agents made. */
export function effectsOf(state: Calls): readonly MadeCall[] {
  return boundList(state.calls.flatMap((call) => describe(state, call)))
}

/**
 * Returns what a call made that may have taken effect: the calls of a program or of an agent, and what was undone because
 * it failed. `inner`: the calls of the program, if it is one.
 */
export function callsMadeIn(state: Calls, call: CallState, inner: readonly CallState[]): readonly MadeCall[] {
  const calls = allCallsIn(state, call, inner)
  // What no model may read may be in the arguments and results, but not that the calls were made.
  return isWithheld(call) ? countByTool(calls) : boundList(calls)
}

function allCallsIn(state: Calls, call: CallState, inner: readonly CallState[]): readonly MadeCall[] {
  const { result, undone = [] } = call
  const isHidden = isWithheld(call)
  const ofProgram = inner.flatMap((each) => describe(state, each).map((entry) => ({ callId: each.callId, ...entry })))
  return [...ofProgram, ...(result?.calls ?? []), ...undone].map((entry) =>
    isHidden ? { ...entry, outcome: 'withheld' } : entry,
  )
}

function isWithheld({ resultJudgement }: CallState): boolean {
  return resultJudgement?.ok === false
}

/** What is known of a call. */
export interface KnownCall {
  /** As they were sent, as JSON text. */
  readonly arguments: string
  /** Its result, as a model or a program was given it; absent if there is none yet. */
  readonly content?: readonly Content[]
  /** What it made that may have taken effect. */
  readonly calls: readonly MadeCall[]
  /** The marks of all that, beside those that the run had before. */
  readonly marks: readonly DataMark[]
}

/** Returns what the events of a run tell of one of its calls; undefined if the run has no such call. */
export function knownCall(state: Calls, callId: string): KnownCall | undefined {
  const call = state.calls.find((each) => each.callId === callId)
  if (!call) return undefined
  const { parent, result, arguments: text } = call
  const program = parent === undefined ? undefined : state.calls.find((each) => each.callId === parent)
  const isHidden = program !== undefined && isWithheld(program)
  const inner = state.calls.filter((each) => each.parent === callId)
  return {
    arguments: text,
    ...(result && !isHidden && { content: toolMessage(call, result, { marks: [] }).content }),
    calls: allCallsIn(state, call, inner),
    // Also of what is withheld: it may be in the arguments of a call.
    marks: [
      ...new Set([call, ...inner].flatMap((each) => marksOfResult(state, { ...each, resultJudgement: undefined }))),
    ],
  }
}

/** Returns what messages tell of a call; undefined if they have none such. */
export function callAmong(messages: Iterable<Message>, callId: string): KnownCall | undefined {
  let text: string | undefined
  let result: ToolMessage | undefined
  for (const message of messages) {
    if (message.role === 'tool' && message.callId === callId) result ??= message
    if (message.role === 'assistant') text ??= message.calls?.find((call) => call.callId === callId)?.arguments
  }
  if (text === undefined && !result) return undefined
  const { sentArguments = text ?? '', content, calls = [], marks = [] } = result ?? {}
  return { arguments: sentArguments, ...(content && { content }), calls, marks }
}

/** Whether calls of a tool change nothing, so that notes need not tell of each. */
export function isReadOnly({ offered }: Pick<RunState, 'offered'>, tool: string): boolean {
  return tool === READ_RESULT || offered.get(tool)?.annotations.readOnly === true
}

function describe(state: Calls, call: CallState): readonly MadeCall[] {
  const { tool, arguments: text, result, program, wasUndone, lateCalls } = call
  const ofAgent = madeBelow(call).map((entry) => ({ ...entry, by: pathOf(tool, entry.by) }))
  // The calls of a program are in the list of the run's calls.
  if (program || isReadOnly(state, tool)) return ofAgent
  const isUntrusted = marksOfResult(state, call).includes('untrusted')
  const outcome = wasUndone
    ? 'undone'
    : lateCalls
      ? 'cancelled'
      : result
        ? briefOutcome({ text: resultText(result), ok: result.ok, isUntrusted })
        : 'outcome unknown'
  const inDoubt = isInDoubt(call, state.offered) && ({ inDoubt: true } as const)
  return [{ tool, arguments: briefArguments(text), outcome, ...inDoubt }, ...ofAgent]
}

function pathOf(tool: string, agents: string | undefined): string {
  return agents === undefined ? tool : `${tool} > ${agents}`
}

/** Returns what the outcome of an agent says that it did, in the form in which the edge itself would say it. */
export function toldCalls(calls: readonly MadeCall[]): readonly MadeCall[] {
  const isName = (name: string) => TOOL_NAME.test(name)
  return boundList(
    calls.flatMap(({ tool, arguments: text, outcome, by: agents, times, inDoubt }): MadeCall[] => {
      if (!isName(tool) || !(agents?.split(' > ').every(isName) ?? true)) return []
      const own = { ...(agents !== undefined && { by: agents }), ...(inDoubt === true && { inDoubt }) }
      if (times !== undefined) return [{ tool, arguments: '', outcome: '', ...own, times }]
      return [
        { tool, arguments: briefArguments(text), outcome: clip(outcome.replaceAll(/\s+/g, ' '), MOST_LINE), ...own },
      ]
    }),
  )
}

/** Returns the first calls of a list that is too long, and how many more of each tool there are. */
function boundList(calls: readonly MadeCall[]): readonly MadeCall[] {
  let size = 0
  const end = calls.findIndex((entry) => (size += CHARACTERS_A_CALL + callLine(entry).length) > MOST_LIST)
  if (end < 0) return calls
  return [...calls.slice(0, end), ...countByTool(calls.slice(end))]
}

function countByTool(calls: readonly MadeCall[]): readonly MadeCall[] {
  const inDoubt = new Set(calls.filter((each) => each.inDoubt).map(({ tool }) => tool))
  return [...countTools(calls)].map(([tool, times]) => {
    return { tool, arguments: '', outcome: '', times, ...(inDoubt.has(tool) && { inDoubt: true }) }
  })
}

/** Returns a call that was made as one line. */
export function callLine({ tool, arguments: text, outcome, callId, by: agents, times }: MadeCall): string {
  if (times !== undefined) return `${tool} ×${times}`
  const id = callId === undefined ? '' : ` [${callId}]`
  return `${agents === undefined ? '' : `${agents}: `}${tool}(${text}) → ${outcome}${id}`
}

/** Returns how many calls of each tool were made, as text. */
export function summaryOf(calls: readonly MadeCall[]): string {
  const counts = [...countTools(calls)].map(([tool, times]) => `${tool} ×${times}`)
  const rest = counts.length - MOST_TOOLS
  return rest > 0 ? `${counts.slice(0, MOST_TOOLS).join(', ')} and ${rest} more tools` : counts.join(', ')
}

function countTools(calls: readonly MadeCall[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { tool, times = 1 } of calls) counts.set(tool, (counts.get(tool) ?? 0) + times)
  return counts
}

interface OutcomeText {
  readonly text: string
  readonly ok: boolean
  readonly isUntrusted: boolean
}

/** Returns an outcome in a few words. */
export function briefOutcome({ text, ok, isUntrusted }: OutcomeText): string {
  // Text that others wrote must not gain authority by being repeated in the notes.
  const words = isUntrusted ? `${text.length} characters` : excerpt(text, MOST_OUTCOME)
  return `${ok ? '' : 'failed: '}${words}`
}

/**
 * Returns arguments as one line of JSON, of at most about so many characters. The middle of each long text is left out, so
 * that what tells one call from another is kept.
 */
export function briefArguments(text: string, most = MOST_ARGUMENTS): string {
  const value = parseShallow(text)
  if (value === undefined) return JSON.stringify(clipMiddle(text.replaceAll(/\s+/g, ' '), most))
  for (let each = Math.floor(most / 5); each >= FEWEST_CHARACTERS; each = Math.floor(each / 2)) {
    const line = JSON.stringify(briefValue(value, each))
    if (line.length <= most) return line
  }
  return JSON.stringify(clipMiddle(JSON.stringify(value), most))
}

function briefValue(value: unknown, most: number): unknown {
  if (typeof value === 'string') return clipMiddle(value, most)
  if (Array.isArray(value)) {
    const entries = value.slice(0, MOST_ENTRIES).map((each) => briefValue(each, most))
    return value.length > MOST_ENTRIES ? [...entries, `… ${value.length - MOST_ENTRIES} more`] : entries
  }
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, each]) => [key, briefValue(each, most)] as const)
  const size = ([key, each]: readonly [string, unknown]) => key.length + JSON.stringify(each).length
  return Object.fromEntries(entries.sort((one, other) => size(one) - size(other)))
}

/** Returns the beginning of a text as a JSON string, which has no line breaks. */
export function excerpt(text: string, most: number): string {
  return JSON.stringify(clip(text, most))
}

/** Returns the beginning of a text. */
export function clip(text: string, most: number): string {
  if (text.length <= most) return text
  return `${text
    .slice(0, most)
    .toWellFormed()
    .replace(/\uFFFD$/, '')}…`
}

/** Returns the beginning and the end of a text: ids often differ only there. */
function clipMiddle(text: string, most: number): string {
  if (text.length <= most) return text
  const end = Math.floor(most / 3)
  return `${clip(text, most - end)}${text
    .slice(text.length - end)
    .toWellFormed()
    .replace(/^\uFFFD/, '')}`
}
