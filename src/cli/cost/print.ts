import type { Terminal } from '../command/terminal.ts'
import { Failure } from '../failure.ts'
import { costOf, MONTHLY, PRICES_OF } from './estimate.ts'

export interface CostOptions {
  readonly terminal: Terminal
  /** Numbers, as they were typed: `1e6` will do. */
  readonly runs?: string | undefined
  readonly steps?: string | undefined
  readonly seconds?: string | undefined
  readonly unstored: boolean
}

/** Prints what a month of runs costs at Cloudflare, as an estimate. Throws a Failure for what is not a number. */
export function printCost({ terminal, unstored, ...options }: CostOptions): void {
  const runs = numberOf('runs', options.runs ?? '1e6')
  const steps = numberOf('steps', options.steps ?? '3')
  const seconds = numberOf('seconds', options.seconds ?? '2')
  if (!Number.isInteger(steps)) throw new Failure(`--steps must be a whole number from 1, not ${steps}.`)
  const { lines, total } = costOf({ runs, steps, seconds, isStored: !unstored })
  const rows = lines.map(({ item, used, included, cost }) => [item, integer(used), integer(included), dollars(cost)])
  terminal.print(`${integer(runs)} runs a month, ${steps} steps each, ${seconds} s for each answer of a model\n\n`)
  terminal.print(tableOf([['', 'used', 'included', 'cost'], ...rows, ['Workers Paid', '', '', dollars(MONTHLY)]]))
  terminal.print(
    `\n${dollars(total)} a month without the models, by Cloudflare’s prices of ${PRICES_OF}. An estimate.\n`,
  )
  terminal.emit({ runs, steps, seconds, isStored: !unstored, pricesOf: PRICES_OF, monthly: MONTHLY, lines, total })
}

function numberOf(name: string, text: string): number {
  const number = Number(text)
  if (text.trim() !== '' && Number.isFinite(number) && number > 0) return number
  throw new Failure(`--${name} must be a number above 0, not "${text}".`)
}

function integer(number: number): string {
  return Math.round(number).toLocaleString('en')
}

function dollars(amount: number): string {
  return `$${amount.toFixed(2)}`
}

/** Aligns the first column to the left and the others to the right. */
function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) => row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))))
    .map((cells) => `${cells.join('  ').trimEnd()}\n`)
    .join('')
}
