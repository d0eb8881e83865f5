import { eventsOf, isSettingsError } from '../ask.ts'
import type { Terminal } from '../command/terminal.ts'
import { type EdgeAddress, refusal, send } from '../edge.ts'
import { type EvalCase, type ExpectedCall, readCases } from './cases.ts'
import { type EvalSide, readDefinitionsOf, readDescriptions, sidesOf } from './side.ts'
import { Failure } from '../failure.ts'
import { matches } from '../../contract/glob.ts'
import { canonicalJson, isObject } from '../../contract/json.ts'
import type { Message } from '../../contract/message.ts'
import type { ClientTool } from '../../contract/run.ts'
import { addUsage, NO_USAGE, type Usage } from '../../contract/usage.ts'

export interface EvaluateOptions {
  readonly root: string
  readonly edge: EdgeAddress
  readonly terminal: Terminal
  readonly signal: AbortSignal
  /** The path of the cases, one JSON object a line. */
  readonly file: string
  /** Default: the edge's. */
  readonly models: readonly string[]
  /** Paths of files with other descriptions, each compared with the edge's own. */
  readonly descriptions: readonly string[]
  /** How often each question is asked, as a number. Default 1. */
  readonly tries?: string | undefined
  /** The share of tries that must pass, on every side, as a number. Default: none. */
  readonly threshold?: string | undefined
}

/**
 * Asks a model the questions of a file through an edge, which calls no tool, and compares the calls that it asks for
 * with those that should follow. Prints each case as it is done and totals at the end; under `--json` one value for each
 * case and side, then one for each side. Returns 1 if a side passes less often than `threshold`.
 */
export async function evaluate(options: EvaluateOptions): Promise<number> {
  const { root, edge, terminal, signal, file, models } = options
  const tries = numberOf('--tries', options.tries ?? '1', { least: 1, most: 100 })
  const threshold = numberOf('--threshold', options.threshold ?? '0', { least: 0, most: 1 })
  const cases = readCases(root, file)
  const files = options.descriptions.map((path) => readDescriptions(root, path))
  const sides = sidesOf(models, files)
  const describe = await readDefinitionsOf(edge, files, signal)
  const attemptsBySide = new Map<EvalSide, EvalAttempt[]>(sides.map((side) => [side, []]))
  for (const each of cases) {
    let offered: readonly string[] = []
    const columns = []
    for (const side of sides) {
      const { model, descriptions } = side
      const clientTools = descriptions && describe(offered, descriptions)
      // The tries of a case run at the same time; the cases do not, for the sake of a provider's limits.
      const attempts = await Promise.all(
        Array.from({ length: tries }, () => attempt(each, { edge, signal, model, clientTools })),
      )
      if (!descriptions) offered = attempts[0]?.tools ?? []
      attemptsBySide.get(side)?.push(...attempts)
      const column = { side, tally: tallyOf(attempts), outcomes: outcomesOf(attempts) }
      columns.push(column)
      const { line, question, calls: expected } = each
      terminal.emit({ line, question, ...nameOf(side, attempts), expected, outcomes: column.outcomes, ...column.tally })
    }
    printCase(terminal, each, columns)
  }
  const totals = sides.map((side) => {
    const attempts = attemptsBySide.get(side) ?? []
    return { side, name: nameOf(side, attempts), tally: tallyOf(attempts) }
  })
  for (const { name, tally } of totals)
    terminal.emit({ ...name, cases: cases.length, rate: tally.passCount / tally.tries, ...tally })
  printTotals(terminal, totals)
  const low = totals.filter(({ tally }) => tally.passCount / tally.tries < threshold)
  if (low.length === 0) return 0
  terminal.print(`Below the threshold of ${threshold}: ${low.map(({ side }) => side.label).join(', ')}\n`)
  return 1
}

/** Returns what tells a side from the others: the model that answered, and the file of its descriptions. */
function nameOf({ label, descriptions }: EvalSide, [first]: readonly EvalAttempt[]) {
  return { side: label, model: first?.model ?? '', descriptions: descriptions?.file ?? 'edge' }
}

function numberOf(option: string, text: string, { least, most }: { least: number; most: number }): number {
  const number = Number(text)
  const isWhole = least === 0 || Number.isInteger(number)
  if (text.trim() !== '' && isWhole && number >= least && number <= most) return number
  throw new Failure(`${option} must be a number from ${least} to ${most}, not "${text}".`)
}

interface CaseColumn {
  readonly side: EvalSide
  readonly tally: EvalTally
  readonly outcomes: readonly EvalOutcome[]
}

/** Prints how often a case has passed on each side and, where it has not, what was called instead. */
export function printCase(
  { print }: Terminal,
  { line, question, calls }: EvalCase,
  columns: readonly CaseColumn[],
): void {
  const counts = columns.map(({ side, tally }) => `${side.label} ${tally.passCount}/${tally.tries}`)
  print(`${String(line).padStart(3)}  ${counts.join('  ')}  ${oneLine(question)}\n`)
  const failures = columns.flatMap(({ side, outcomes }) =>
    outcomes.flatMap((outcome) => (outcome.isPassed ? [] : `${side.label} ${outcome.times}x ${textOf(outcome)}`)),
  )
  if (failures.length === 0) return
  print(`       expected ${callsText(calls.map(({ tool, arguments: args }) => ({ tool, arguments: args ?? {} })))}\n`)
  for (const failure of failures) print(`       ${oneLine(failure)}\n`)
}

interface Total {
  readonly side: EvalSide
  readonly name: { readonly model: string; readonly descriptions: string }
  readonly tally: EvalTally
}

/** Prints the sums of all cases, the sides beside each other. */
export function printTotals({ print }: Terminal, totals: readonly Total[]): void {
  const rows = [
    ['', ...totals.map(({ side }) => side.label)],
    ['model', ...totals.map(({ name }) => name.model)],
    ['descriptions', ...totals.map(({ name }) => name.descriptions)],
    ['passed', ...totals.map(({ tally }) => share(tally.passCount, tally.tries))],
    ['tool chosen', ...totals.map(({ tally }) => share(tally.chosenCount, tally.tries))],
    ['input tokens', ...totals.map(({ tally }) => String(tally.usage.inputTokens))],
    ['output tokens', ...totals.map(({ tally }) => String(tally.usage.outputTokens))],
    ['cost', ...totals.map(({ tally }) => tally.usage.cost?.toPrecision(3) ?? 'unknown: see MODEL_PRICES')],
    ['time per try', ...totals.map(({ tally }) => `${Math.round(tally.durationMs / tally.tries)} ms`)],
  ]
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  for (const row of rows)
    print(
      `${row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd()}\n`,
    )
}

function share(count: number, tries: number): string {
  return `${count} of ${tries} (${Math.round((100 * count) / tries)} %)`
}

function textOf({ calls, error }: EvalOutcome): string {
  return error ?? callsText(calls)
}

function callsText(calls: readonly CalledTool[]): string {
  if (calls.length === 0) return 'no call'
  return calls.map(({ tool, arguments: args }) => `${tool} ${JSON.stringify(args)}`).join(', ')
}

const MOST_CHARACTERS = 160

/** Fits a text on one line, without control characters, which a terminal would interpret. */
function oneLine(text: string): string {
  const line = text.replace(/[\p{Cc}\s]+/gu, ' ').trim()
  return line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)}…` : line
}

/** The outcomes of several tries. */
export interface EvalTally {
  readonly tries: number
  /** How often exactly the expected tools were called. */
  readonly chosenCount: number
  /** How often they were also called with the expected arguments. */
  readonly passCount: number
  readonly usage: Usage
  /** All tries together, in milliseconds. */
  readonly durationMs: number
}

/** A set of calls, or a failure, and how often it occurred. */
export interface EvalOutcome {
  readonly times: number
  readonly isPassed: boolean
  readonly calls: readonly CalledTool[]
  readonly error?: string
}

/** Counts tries. */
export function tallyOf(attempts: readonly EvalAttempt[]): EvalTally {
  return {
    tries: attempts.length,
    chosenCount: attempts.filter(({ isChosen }) => isChosen).length,
    passCount: attempts.filter(({ isPassed }) => isPassed).length,
    usage: attempts.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE),
    durationMs: attempts.reduce((sum, { durationMs }) => sum + durationMs, 0),
  }
}

/** Groups tries by their outcome, the most frequent first. */
export function outcomesOf(attempts: readonly EvalAttempt[]): readonly EvalOutcome[] {
  const groups = Map.groupBy(attempts, ({ calls, error = '' }) => canonicalJson({ calls, error }))
  const outcomes = [...groups.values()].flatMap(([first, ...others]) => {
    if (!first) return []
    const { calls, isPassed, error } = first
    return { times: others.length + 1, isPassed, calls, ...(error !== undefined && { error }) }
  })
  return outcomes.sort((a, b) => b.times - a.times)
}

/** One try of a case. */
export interface EvalAttempt extends CallMatch {
  readonly calls: readonly CalledTool[]
  /** The name of the model, and the tools that were on offer. */
  readonly model: string
  readonly tools: readonly string[]
  readonly usage: Usage
  readonly durationMs: number
  /** Why the model gave no answer. */
  readonly error?: string
}

export interface AttemptOptions {
  readonly edge: EdgeAddress
  readonly signal: AbortSignal
  readonly model?: string | undefined
  /** The tools on offer in place of the edge's. */
  readonly clientTools?: readonly ClientTool[] | undefined
}

const STAND_IN = 'Done. (This is a stand-in: the tool was not called.)'

/**
 * Asks the question of a case, and answers the calls of the model with stand-in results until all that are expected
 * have come, or another one has. The edge calls nothing. Throws a Failure if the edge refuses the run, or cannot reach
 * the model as it is set up.
 */
export async function attempt(each: EvalCase, options: AttemptOptions): Promise<EvalAttempt> {
  const startedAt = performance.now()
  const messages: Message[] = [{ role: 'user', content: each.question }]
  const calls: CalledTool[] = []
  let usage = NO_USAGE
  for (;;) {
    const round = await ask(messages, each, options)
    usage = addUsage(usage, round.usage)
    calls.push(...round.calls.map(({ tool, arguments: text }) => ({ tool, arguments: parsed(text) })))
    const result = match(calls, each.calls)
    if (round.calls.length === 0 || !result.isOpen || round.error !== undefined) {
      const { model, tools, error } = round
      const durationMs = Math.round(performance.now() - startedAt)
      const isFailed = error !== undefined && { isPassed: false, isChosen: false, error }
      return { ...result, calls, model, tools, usage, durationMs, ...isFailed }
    }
    messages.push({ role: 'assistant', content: round.text, calls: round.calls })
    for (const { callId, tool } of round.calls) {
      messages.push({ role: 'tool', callId, tool, ok: true, content: [{ type: 'text', text: resultOf(tool, each) }] })
    }
  }
}

interface Round {
  readonly model: string
  readonly tools: readonly string[]
  readonly text: string
  readonly calls: readonly { readonly callId: string; readonly tool: string; readonly arguments: string }[]
  readonly usage: Usage
  readonly error?: string
}

/** Has the model answer once. */
async function ask(
  input: readonly Message[],
  { line, system, tools: selection }: EvalCase,
  { edge, signal, model: name, clientTools }: AttemptOptions,
): Promise<Round> {
  const tools = clientTools ? [] : selection
  const body = { input, execution: 'caller', model: name, system, tools, clientTools }
  const response = await send(edge, { method: 'POST', path: '/runs', body, accept: 'text/event-stream' }, signal)
  if (!response.ok) throw await refusal(`The question of line ${line} was refused`, response)
  let [model, offered, text]: [string, readonly string[], string] = [name ?? '', [], '']
  const calls: Round['calls'][number][] = []
  for await (const event of eventsOf(response)) {
    if (event.type === 'run.started') [model, offered] = [event.model, event.tools]
    else if (event.type === 'step.answered') text = event.text
    else if (event.type === 'call.requested')
      calls.push({ callId: event.callId, tool: event.tool, arguments: event.arguments })
    else if (event.type === 'run.finished') {
      const { usage, error } = event
      if (isSettingsError(error?.code))
        throw new Failure(`${model} did not answer: ${error?.message}`, 'Check the model’s settings at the edge.')
      return { model, tools: offered, text, calls, usage, ...(error && { error: `${error.code}: ${error.message}` }) }
    }
  }
  signal.throwIfAborted()
  throw new Failure(`The answer to the question of line ${line} broke off.`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
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
