import { eventsOf, isSettingsError } from '../ask.ts'
import { type EdgeAddress, refusal, send } from '../edge.ts'
import type { EvalCase, ExpectedCall } from './cases.ts'
import type { EvalSide } from './side.ts'
import { Failure } from '../failure.ts'
import type { RunEvent } from '../../contract/event.ts'
import { matches } from '../../contract/tool-names.ts'
import { parseExactly } from '../../contract/exact-numbers.ts'
import { isObject } from '../../contract/json.ts'
import type { Message } from '../../contract/message.ts'
import { RUN_CODE } from '../../contract/program.ts'
import type { ClientTool } from '../../contract/run.ts'
import { READ_RESULT, TOOL_SEARCH } from '../../contract/tool.ts'
import { addUsage, NO_USAGE, type Usage } from '../../contract/usage.ts'

/** One try of a case. */
export interface EvalAttempt extends Omit<CallMatch, 'isOpen'> {
  readonly calls: readonly CalledTool[]
  /** The answer, if it is not as expected. */
  readonly answer?: string
  /** The name of the model, and the tools that were on offer. */
  readonly model: string
  readonly tools: readonly string[]
  /** How often the model was asked. */
  readonly requests: number
  readonly usage: Usage
  readonly durationMs: number
  /** Why the model gave no answer. */
  readonly error?: string
}

export interface AttemptOptions extends Pick<EvalSide, 'model' | 'code'> {
  readonly edge: EdgeAddress
  readonly signal: AbortSignal
  /** The tools on offer in place of the edge's. */
  readonly clientTools?: readonly ClientTool[] | undefined
  /** Set if tools are called: those that are not offered unless the case names them. Default: no tool is called. */
  readonly withheld?: readonly string[] | undefined
}

const STAND_IN = 'Done. (This is a stand-in: the tool was not called.)'

/**
 * Asks the question of a case. Unless tools are called, answers the calls of the model with stand-in results until all that
 * are expected have come, and the answer if one is expected, or another call has. Throws a Failure if the edge refuses the
 * run, or cannot reach the model as it is set up.
 */
export async function attempt(each: EvalCase, options: AttemptOptions): Promise<EvalAttempt> {
  const startedAt = performance.now()
  const { model, tools, requests, usage, calls, text, error } = await (options.withheld
    ? ask([{ role: 'user', content: each.question }], each, options)
    : askInRounds(each, options))
  const { isChosen, isPassed } = match(calls, each.calls)
  const isAnswered = each.answer.every((part) => matches([`*${part.toLowerCase()}*`], text.toLowerCase()))
  return {
    isChosen: isChosen && error === undefined,
    isPassed: isPassed && isAnswered && error === undefined,
    ...{ calls, model, tools, requests, usage, durationMs: Math.round(performance.now() - startedAt) },
    ...(!isAnswered && { answer: text }),
    ...(error !== undefined && { error }),
  }
}

async function askInRounds(each: EvalCase, options: AttemptOptions): Promise<Round> {
  const messages: Message[] = [{ role: 'user', content: each.question }]
  const calls: CalledTool[] = []
  let usage = NO_USAGE
  for (let requests = 1; ; requests++) {
    const round = await ask(messages, each, options)
    usage = addUsage(usage, round.usage)
    calls.push(...round.calls)
    const { isOpen, isPassed } = match(calls, each.calls)
    const continues = isOpen || (isPassed && each.answer.length > 0)
    if (round.calls.length === 0 || !continues || round.error !== undefined) return { ...round, calls, usage, requests }
    messages.push({ role: 'assistant', content: round.text, calls: round.requested })
    for (const { callId, tool } of round.requested) {
      messages.push({ role: 'tool', callId, tool, ok: true, content: [{ type: 'text', text: resultOf(tool, each) }] })
    }
  }
}

interface Round {
  readonly model: string
  readonly tools: readonly string[]
  readonly requests: number
  readonly text: string
  readonly calls: readonly CalledTool[]
  /** Those that the caller is to answer. */
  readonly requested: readonly { readonly callId: string; readonly tool: string; readonly arguments: string }[]
  readonly usage: Usage
  readonly error?: string
}

/** Tools by which a model gets at others. What they call is compared instead. */
const OWN_TOOLS: readonly string[] = [RUN_CODE, READ_RESULT, TOOL_SEARCH]

/** Has the model answer: once if no tool is called, else until the run has ended. */
async function ask(
  input: readonly Message[],
  { line, system, tools: selection }: EvalCase,
  { edge, signal, model: name, code, clientTools, withheld }: AttemptOptions,
): Promise<Round> {
  const tools = clientTools ? [] : (selection ?? (withheld && { remove: withheld }))
  const execution = withheld ? undefined : 'caller'
  const body = { input, execution, model: name, code, system, tools, clientTools }
  const response = await send(edge, { method: 'POST', path: '/runs', body, accept: 'text/event-stream' }, signal)
  if (!response.ok) throw await refusal(`The question of line ${line} was refused`, response)
  let [model, offered, text, requests]: [string, readonly string[], string, number] = [name ?? '', [], '', 0]
  const requested: Round['requested'][number][] = []
  const calls: CalledTool[] = []
  for await (const event of eventsOf(response)) {
    calls.push(...callsIn(event))
    if (event.type === 'run.started') [model, offered] = [event.model, event.tools]
    else if (event.type === 'step.started' || event.type === 'step.restarted') requests += 1
    else if (event.type === 'step.answered') text = event.text
    else if (event.type === 'call.requested') {
      const { callId, tool, arguments: args } = event
      requested.push({ callId, tool, arguments: args })
    } else if (event.type === 'run.finished') {
      const { usage, error, answer } = event
      if (isSettingsError(error?.code))
        throw new Failure(`${model} did not answer: ${error?.message}`, 'Check the model’s settings at the edge.')
      const failure = error && { error: `${error.code}: ${error.message}` }
      return { model, tools: offered, requests, text: withheld ? answer : text, calls, requested, usage, ...failure }
    }
  }
  signal.throwIfAborted()
  throw new Failure(`The answer to the question of line ${line} broke off.`)
}

/** Returns the calls that an event tells of: those of an answer, and those of a program. */
function callsIn(event: RunEvent): readonly CalledTool[] {
  const calls = event.type === 'step.answered' ? event.calls : event.type === 'call.issued' ? [event] : []
  return calls
    .filter(({ tool }) => !OWN_TOOLS.includes(tool))
    .map(({ tool, arguments: text }) => ({ tool, arguments: parsed(text) }))
}

function parsed(text: string): unknown {
  try {
    return parseExactly(text)
  } catch {
    return text
  }
}

function resultOf(tool: string, { results }: EvalCase): string {
  const result = Object.hasOwn(results, tool) ? results[tool] : STAND_IN
  return typeof result === 'string' ? result : JSON.stringify(result)
}

/** A call that a model asked for. */
export interface CalledTool {
  readonly tool: string
  /** Parsed; the text itself if it is not JSON. */
  readonly arguments: unknown
}

export interface CallMatch {
  /** Whether exactly the expected tools were called. */
  readonly isChosen: boolean
  /** Whether they were also called with the expected arguments. */
  readonly isPassed: boolean
  /** Whether further calls could still lead to a pass: all so far were expected, and some are missing. */
  readonly isOpen: boolean
}

/** Compares the calls of a model with those that should follow, in any order. */
export function match(calls: readonly CalledTool[], expected: readonly ExpectedCall[]): CallMatch {
  const missing = [...expected]
  const take = (isTaken: (each: ExpectedCall) => boolean): boolean => {
    const index = missing.findIndex(isTaken)
    if (index >= 0) missing.splice(index, 1)
    return index >= 0
  }
  // Calls that fit are matched first, so that one with other arguments does not take the place of one that fits.
  const others = calls.filter(
    (call) => !take((each) => each.tool === call.tool && fits(call.arguments, each.arguments ?? {})),
  )
  const strangers = others.filter((call) => !take((each) => each.tool === call.tool))
  return {
    isChosen: strangers.length === 0 && missing.length === 0,
    isPassed: others.length === 0 && missing.length === 0,
    isOpen: others.length === 0 && missing.length > 0,
  }
}

/** Returns whether a value has all that is expected: members of objects, items of arrays, texts with `*` for any text. */
function fits(value: unknown, expected: unknown): boolean {
  if (typeof expected === 'string') return typeof value === 'string' && matches([expected], value)
  if (Array.isArray(expected)) {
    return (
      Array.isArray(value) && value.length === expected.length && expected.every((each, at) => fits(value[at], each))
    )
  }
  if (!isObject(expected)) return value === expected
  return isObject(value) && Object.entries(expected).every(([name, each]) => fits(value[name], each))
}
