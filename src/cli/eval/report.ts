import type { Terminal } from '../command/terminal.ts'
import type { CalledTool } from './attempt.ts'
import type { EvalCase } from './cases.ts'
import type { EvalColumn, EvalOutcome, EvalResult, EvalTally } from './results.ts'

/** Prints how often a case has passed on each side and, where it has not, what was called instead. */
export function printCase(
  { print }: Terminal,
  { line, question, calls, answer }: EvalCase,
  columns: readonly (EvalResult & { readonly side: string })[],
): void {
  const counts = columns.map(({ side, tally }) => `${side} ${tally.passCount}/${tally.tries}`)
  print(`${String(line).padStart(3)}  ${counts.join('  ')}  ${oneLine(question)}\n`)
  const failures = columns.flatMap(({ side, outcomes }) =>
    outcomes.flatMap((outcome) => (outcome.isPassed ? [] : `${side} ${outcome.times}x ${textOf(outcome)}`)),
  )
  if (failures.length === 0) return
  const expected = callsText(calls.map(({ tool, arguments: args }) => ({ tool, arguments: args ?? {} })))
  print(`       expected ${expected}${answer.length > 0 ? `, then ${answer.map(quoted).join(', ')}` : ''}\n`)
  for (const failure of failures) print(`       ${oneLine(failure)}\n`)
}

/** Prints the sums of all cases, the sides beside each other. */
export function printTotals({ print }: Terminal, columns: readonly EvalColumn[]): void {
  const rows = totals(columns)
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  for (const row of rows) {
    const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0))
    print(`${cells.join('  ').trimEnd()}\n`)
  }
}

/** Returns a page in Markdown with the sides beside each other: the sums, then each case. */
export function markdownReport(file: string, columns: readonly EvalColumn[]): string {
  const questions = [...new Set(columns.flatMap(({ cases }) => cases.map(({ question }) => question)))]
  const cases = questions.map((question) => [
    question,
    ...columns.map((column) => resultText(column.cases.find((each) => each.question === question))),
  ])
  const header = ['Question', ...columns.map(({ side }) => side)]
  return `# ${file}\n\n${markdownTable(totals(columns))}\n## Cases\n\n${markdownTable([header, ...cases])}`
}

function resultText(result: EvalResult | undefined): string {
  if (!result) return 'not asked'
  const { tally, outcomes } = result
  const failures = outcomes.flatMap((each) => (each.isPassed ? [] : `${each.times}x ${oneLine(textOf(each))}`))
  return [`${tally.passCount}/${tally.tries}`, ...failures].join('; ')
}

function markdownTable(rows: readonly (readonly string[])[]): string {
  const lines = rows.map((row) => `| ${row.map(markdownCell).join(' | ')} |\n`)
  return [lines[0], `|${' --- |'.repeat(rows[0]?.length ?? 0)}\n`, ...lines.slice(1)].join('')
}

/** Writes text into a cell so that nothing in it is read as Markdown or HTML. */
function markdownCell(text: string): string {
  return oneLine(text).replace(/[\\`*_[\]<>|~#&]/g, (char) => `&#${char.charCodeAt(0)};`)
}

/** Returns the sums of all cases as rows of a table, whose first one names the sides. */
function totals(columns: readonly EvalColumn[]): readonly (readonly string[])[] {
  const row = (name: string, cell: (tally: EvalTally) => string) => [name, ...columns.map(({ tally }) => cell(tally))]
  const hasCode = columns.some(({ code }) => code !== undefined)
  return [
    ['', ...columns.map(({ side }) => side)],
    ['model', ...columns.map(({ model }) => model)],
    ['descriptions', ...columns.map(({ descriptions }) => descriptions)],
    ...(hasCode ? [['code mode', ...columns.map(({ code }) => code ?? 'as the edge has it')]] : []),
    row('passed', ({ passCount, tries }) => share(passCount, tries)),
    row('tool chosen', ({ chosenCount, tries }) => share(chosenCount, tries)),
    row('calls', ({ callCount }) => String(callCount)),
    row('model requests', ({ requests }) => String(requests)),
    row('input tokens', ({ usage }) => String(usage.inputTokens)),
    row('output tokens', ({ usage }) => String(usage.outputTokens)),
    row('cost', ({ usage }) => usage.cost?.toPrecision(3) ?? 'unknown: see MODEL_PRICES'),
    row('time per try', ({ durationMs, tries }) => `${Math.round(durationMs / tries)} ms`),
  ]
}

function share(count: number, tries: number): string {
  return `${count} of ${tries} (${Math.round((100 * count) / tries)} %)`
}

function textOf({ calls, answer, error }: EvalOutcome): string {
  return error ?? `${callsText(calls)}${answer === undefined ? '' : `, then ${quoted(answer)}`}`
}

function callsText(calls: readonly CalledTool[]): string {
  if (calls.length === 0) return 'no call'
  return calls.map(({ tool, arguments: args }) => `${tool} ${JSON.stringify(args)}`).join(', ')
}

function quoted(text: string): string {
  return `“${text}”`
}

const MOST_CHARACTERS = 160

/** Fits a text on one line, without control characters, which a terminal would interpret. */
function oneLine(text: string): string {
  const line = text.replace(/[\p{Cc}\s]+/gu, ' ').trim()
  return line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)}…` : line
}
