import * as v from 'valibot'
import type { CalledTool, EvalAttempt } from './attempt.ts'
import { type ExpectedCall, readContent } from './cases.ts'
import { Failure } from '../failure.ts'
import { canonicalJson } from '../../contract/json.ts'
import { addUsage, NO_USAGE, type Usage } from '../../contract/usage.ts'

/** The outcomes of several tries. */
export interface EvalTally {
  readonly tries: number
  /** How often exactly the expected tools were called. */
  readonly chosenCount: number
  /** How often they were also called with the expected arguments, and the answer was as expected. */
  readonly passCount: number
  /** How often the model was asked, and how many calls of tools it asked for, in all tries together. */
  readonly requests: number
  readonly callCount: number
  readonly usage: Usage
  /** All tries together, in milliseconds. */
  readonly durationMs: number
}

/** A set of calls, an answer that is not as expected, or a failure, and how often it occurred. */
export interface EvalOutcome {
  readonly times: number
  readonly isPassed: boolean
  readonly calls: readonly CalledTool[]
  readonly answer?: string | undefined
  readonly error?: string | undefined
}

/** The results of one side: of one model, set of descriptions and mode. */
export interface EvalColumn {
  readonly side: string
  readonly model: string
  /** The file of the descriptions; `edge` for those of the edge. */
  readonly descriptions: string
  readonly code?: string | undefined
  readonly cases: readonly EvalResult[]
  readonly tally: EvalTally
}

/** The result of one case on one side. */
export interface EvalResult {
  readonly question: string
  readonly expected: readonly ExpectedCall[]
  readonly outcomes: readonly EvalOutcome[]
  readonly tally: EvalTally
}

/** Counts tries. */
export function tallyOf(attempts: readonly EvalAttempt[]): EvalTally {
  const sum = (count: (each: EvalAttempt) => number) => attempts.reduce((total, each) => total + count(each), 0)
  return {
    tries: attempts.length,
    chosenCount: attempts.filter(({ isChosen }) => isChosen).length,
    passCount: attempts.filter(({ isPassed }) => isPassed).length,
    requests: sum(({ requests }) => requests),
    callCount: sum(({ calls }) => calls.length),
    usage: attempts.reduce((total, { usage }) => addUsage(total, usage), NO_USAGE),
    durationMs: sum(({ durationMs }) => durationMs),
  }
}

/** Groups tries by their outcome, the most frequent first. */
export function outcomesOf(attempts: readonly EvalAttempt[]): readonly EvalOutcome[] {
  const groups = Map.groupBy(attempts, ({ calls, answer = null, error = '' }) =>
    canonicalJson({ calls, answer, error }),
  )
  const outcomes = [...groups.values()].flatMap(([first, ...others]) => {
    if (!first) return []
    const { calls, isPassed, answer, error } = first
    const reasons = { ...(answer !== undefined && { answer }), ...(error !== undefined && { error }) }
    return { times: others.length + 1, isPassed, calls, ...reasons }
  })
  return outcomes.sort((a, b) => b.times - a.times)
}

const count = v.number()

const TALLY = {
  tries: count,
  chosenCount: count,
  passCount: count,
  requests: count,
  callCount: count,
  durationMs: count,
  usage: v.object({ inputTokens: count, outputTokens: count, cost: v.exactOptional(count) }),
}
const SIDE = { side: v.string(), model: v.string(), descriptions: v.string(), code: v.optional(v.string()) }
const CALL = v.object({ tool: v.string(), arguments: v.unknown() })
const EXPECTED = v.object({ tool: v.string(), arguments: v.optional(v.record(v.string(), v.unknown())) })
const OUTCOME = v.object({
  times: count,
  isPassed: v.boolean(),
  calls: v.array(CALL),
  answer: v.optional(v.string()),
  error: v.optional(v.string()),
})

/** The two kinds of lines that `eval --json` prints: one for each case and side, then one for each side. */
const LINE = v.union([
  v.object({ question: v.string(), expected: v.array(EXPECTED), outcomes: v.array(OUTCOME), ...SIDE, ...TALLY }),
  v.object({ cases: count, ...SIDE, ...TALLY }),
])

/** Reads what `eval --json` has printed. Throws a Failure if a file has something else. */
export function readResults(root: string, file: string): readonly EvalColumn[] {
  const lines = readContent(root, file)
    .split('\n')
    .flatMap((text, index) => (text.trim() === '' ? [] : readLine(text, file, index + 1)))
  const columns = lines.flatMap((line) => {
    if (!('cases' in line)) return []
    const { side, model, descriptions, code, cases: _count, ...tally } = line
    const cases = lines.flatMap((each) => (!('cases' in each) && each.side === side ? resultIn(each) : []))
    return { side, model, descriptions, code, tally, cases }
  })
  if (columns.length === 0) throw new Failure(`${file} has no results.`, 'Write them with: edgecall eval FILE --json')
  return columns
}

type CaseLine = Extract<v.InferOutput<typeof LINE>, { readonly question: string }>

function resultIn({
  question,
  expected,
  outcomes,
  side: _side,
  model: _model,
  descriptions: _descriptions,
  ...tally
}: CaseLine): EvalResult {
  return { question, expected, outcomes, tally }
}

function readLine(text: string, file: string, line: number): v.InferOutput<typeof LINE> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  const result = v.safeParse(LINE, value)
  if (result.success) return result.output
  throw new Failure(`${file}:${line} is not a result.`, 'Write results with: edgecall eval FILE --json')
}
