import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Terminal } from '../command/terminal.ts'
import type { EdgeAddress } from '../edge.ts'
import { attempt, type EvalAttempt } from './attempt.ts'
import { readCases } from './cases.ts'
import { markdownReport, printCase, printTotals } from './report.ts'
import { type EvalColumn, type EvalResult, outcomesOf, readResults, tallyOf } from './results.ts'
import { CODE_MODES, type CodeMode, type EvalSide, readDefinitionsOf, readDescriptions, sidesOf } from './side.ts'
import { Failure } from '../failure.ts'
import { listAllTools } from '../listing.ts'

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
  /** Modes of programs that are compared. Default: the edge's. */
  readonly code: readonly string[]
  /** Whether the edge calls the tools. Default: it calls none. */
  readonly live: boolean
  /** How often each question is asked, as a number. Default 1. */
  readonly tries?: string | undefined
  /** The share of tries that must pass, on every side, as a number. Default: none. */
  readonly threshold?: string | undefined
  /** The path of results that were printed under `--json` before, which are shown beside the new ones. */
  readonly before?: string | undefined
  /** The path to which a page in Markdown is written. */
  readonly report?: string | undefined
}

/**
 * Asks a model the questions of a file through an edge, and compares the calls that it asks for with those that should
 * follow. Prints each case as it is done and totals at the end; under `--json` one value for each case and side, then one
 * for each side. Returns 1 if a side passes less often than `threshold`.
 */
export async function evaluate(options: EvaluateOptions): Promise<number> {
  const { root, edge, terminal, signal, file, models, live, report } = options
  const tries = numberOf('--tries', options.tries ?? '1', { least: 1, most: 100 })
  const threshold = numberOf('--threshold', options.threshold ?? '0', { least: 0, most: 1 })
  const cases = readCases(root, file)
  const files = options.descriptions.map((path) => readDescriptions(root, path))
  const codes = readModes(options)
  const before = (options.before === undefined ? [] : readResults(root, options.before)).map((column) => {
    return { ...column, side: `before ${column.side}` }
  })
  const sides = sidesOf(models, files, codes)
  const describe = await readDefinitionsOf(edge, files, signal)
  const withheld = live ? await writingTools(edge, signal) : undefined
  const results = new Map(
    sides.map((side) => [side, { attempts: Array.of<EvalAttempt>(), cases: Array.of<EvalResult>() }]),
  )
  for (const each of cases) {
    const { line, question, calls: expected } = each
    let offered: readonly string[] = []
    const columns = before.flatMap(({ side, cases: earlier }) =>
      earlier.flatMap((result) => (result.question === question ? { side, ...result } : [])),
    )
    for (const [side, done] of results) {
      const { model, descriptions, code } = side
      const clientTools = descriptions && describe(offered, descriptions)
      // The tries of a case run at the same time; the cases do not, for the sake of a provider's limits.
      const attempts = await Promise.all(
        Array.from({ length: tries }, () => attempt(each, { edge, signal, model, code, clientTools, withheld })),
      )
      if (!descriptions) offered = attempts[0]?.tools ?? []
      const result = { question, expected, outcomes: outcomesOf(attempts), tally: tallyOf(attempts) }
      done.attempts.push(...attempts)
      done.cases.push(result)
      columns.push({ side: side.label, ...result })
      const { outcomes, tally } = result
      terminal.emit({ line, question, ...nameOf(side, attempts), expected, outcomes, ...tally })
    }
    printCase(terminal, each, columns)
  }
  const columns = Array.from(results, ([side, done]): EvalColumn => {
    return { ...nameOf(side, done.attempts), cases: done.cases, tally: tallyOf(done.attempts) }
  })
  for (const { cases: done, tally, ...name } of columns)
    terminal.emit({ ...name, cases: done.length, rate: tally.passCount / tally.tries, ...tally })
  printTotals(terminal, [...before, ...columns])
  if (report !== undefined) writeFileSync(resolve(root, report), markdownReport(file, [...before, ...columns]))
  const low = columns.filter(({ tally }) => tally.passCount / tally.tries < threshold)
  if (low.length === 0) return 0
  terminal.print(`Below the threshold of ${threshold}: ${low.map(({ side }) => side).join(', ')}\n`)
  return 1
}

function readModes({ code, live, descriptions }: EvaluateOptions): readonly CodeMode[] {
  const modes = code.map((name) => {
    const mode = CODE_MODES.find((each) => each === name)
    if (mode === undefined) throw new Failure(`--code must be ${CODE_MODES.join(', ')}, not "${name}".`)
    return mode
  })
  if (modes.length > 0 && !live) throw new Failure('--code needs --live: programs call tools.')
  if (live && descriptions.length > 0)
    throw new Failure(
      '--live and --descriptions cannot be combined: only tools with the deployed descriptions are called.',
    )
  return modes
}

/** Returns the names of the tools that do more than read. */
async function writingTools(edge: EdgeAddress, signal: AbortSignal): Promise<readonly string[]> {
  const tools = await listAllTools(edge, signal)
  return tools.flatMap(({ name, annotations }) => (annotations?.readOnly === true ? [] : [name]))
}

/** Returns what tells a side from the others: the model that answered, the file of its descriptions, and the mode. */
function nameOf({ label, descriptions, code }: EvalSide, [first]: readonly EvalAttempt[]) {
  const name = { side: label, model: first?.model ?? '', descriptions: descriptions?.file ?? 'edge' }
  return code === undefined ? name : { ...name, code }
}

function numberOf(option: string, text: string, { least, most }: { least: number; most: number }): number {
  const number = Number(text)
  const isWhole = least === 0 || Number.isInteger(number)
  if (text.trim() !== '' && isWhole && number >= least && number <= most) return number
  throw new Failure(`${option} must be a number from ${least} to ${most}, not "${text}".`)
}
