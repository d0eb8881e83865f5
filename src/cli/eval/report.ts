import type { Terminal } from '../command/terminal.ts'
import type { EvalCase } from './cases.ts'
import type { CalledTool } from './match.ts'
import type { EvalSide } from './side.ts'
import type { EvalOutcome, EvalTally } from './tally.ts'

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
