import type { Terminal } from '../command/terminal.ts'
import { Failure } from '../failure.ts'
import { ROWS_READ, ROWS_WRITTEN } from '../../contract/platform.ts'

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

/** Cloudflare's prices in US dollars, of the Workers Paid plan. Each amount above the included one of a month is billed. */
export const PRICES_OF = '2026-11'

/** What a month costs before any use. */
export const MONTHLY = 5

/**
 * Sources: https://developers.cloudflare.com/workers/platform/pricing, …/durable-objects/platform/pricing,
 * …/kv/platform/pricing and …/workers/observability/logs/workers-logs.
 */
export const PRICES = {
  'requests to Workers': { included: 10e6, perMillion: 0.3 },
  'milliseconds of CPU': { included: 30e6, perMillion: 0.02 },
  'requests to objects': { included: 1e6, perMillion: 0.15 },
  'GB-seconds of objects': { included: 400e3, perMillion: 12.5 },
  'rows read': { included: 25e9, perMillion: 0.001 },
  'rows written': { included: 50e6, perMillion: 1 },
  'kilobytes stored': { included: 5e6, perMillion: 0.2 },
  'reads of KV': { included: 10e6, perMillion: 0.5 },
  'log lines': { included: 20e6, perMillion: 0.6 },
} as const

type Item = keyof typeof PRICES

const ALARMS = 2
/** Assumed, with the CPU of the tools. */
const CPU_MS = 10
const OBJECT_GIGABYTES = 0.128
const KILOBYTES_PER_STEP = 20 / 3

export interface Load {
  /** Runs a month. */
  readonly runs: number
  /** Answers of a model in a run; all but the last ask for one call. */
  readonly steps: number
  /** The seconds that a model takes for an answer. The object of the conversation is billed for them. */
  readonly seconds: number
  /** Whether the runs belong to conversations. Of other runs only the usage is stored, in the object of the tenant. */
  readonly isStored: boolean
}

/** Returns what one run uses. The time in which it waits for a person or its caller is not billed: the object sleeps. */
export function usageOfRun({ steps, seconds, isStored }: Omit<Load, 'runs'>): Readonly<Record<Item, number>> {
  const calls = steps - 1
  const stored = (amount: number) => (isStored ? amount : 0)
  // The start, which brings the events, and the alarms; and the tenant's object counts the run.
  const objectRequests = stored(1 + ALARMS) + 1
  const { run, stepWithCall, alarm, listing, usage } = ROWS_WRITTEN
  return {
    'requests to Workers': 1,
    'milliseconds of CPU': CPU_MS,
    'requests to objects': objectRequests,
    'GB-seconds of objects': stored(steps * seconds * OBJECT_GIGABYTES),
    'rows read': stored(ROWS_READ.run + calls * ROWS_READ.stepWithCall),
    'rows written': stored(run + calls * stepWithCall + ALARMS * alarm + listing) + usage,
    'kilobytes stored': stored(steps * KILOBYTES_PER_STEP),
    // The index of stored tools, where the isolate has not read it in the last ten seconds.
    'reads of KV': 1,
    // Workers Logs writes one for each invocation: of the edge, of the objects, and of each tool.
    'log lines': 1 + objectRequests + calls,
  }
}

export interface CostLine {
  readonly item: Item
  /** In a month. */
  readonly used: number
  readonly included: number
  /** US dollars. */
  readonly cost: number
}

/** Returns what a load costs in a month, by item, without the models. */
export function costOf({ runs, ...run }: Load): { readonly lines: readonly CostLine[]; readonly total: number } {
  const usage = usageOfRun(run)
  const lines = items().map((item): CostLine => {
    const { included, perMillion } = PRICES[item]
    const used = runs * usage[item]
    return { item, used, included, cost: (Math.max(0, used - included) / 1e6) * perMillion }
  })
  return { lines, total: lines.reduce((sum, { cost }) => sum + cost, MONTHLY) }
}

function items(): readonly Item[] {
  return Object.keys(PRICES).filter((name): name is Item => name in PRICES)
}
