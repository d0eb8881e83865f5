import type { Terminal } from '../command/terminal.ts'
import type { EdgeAddress } from '../edge.ts'
import { Failure } from '../failure.ts'
import { type EvalAttempt, attempt } from './attempt.ts'
import { readCases } from './cases.ts'
import { printCase, printTotals } from './report.ts'
import { readDefinitionsOf, readDescriptions, type EvalSide, sidesOf } from './side.ts'
import { outcomesOf, tallyOf } from './tally.ts'

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
