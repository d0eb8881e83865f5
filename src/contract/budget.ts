import { isObject } from './json.ts'
import type { Usage } from './usage.ts'

/** What the runs of an API key may use in a day or a month. A field that is left out is counted but not limited. */
export interface Budget {
  /** Input and output tokens. */
  readonly tokens?: number
  /** In the currency of the model prices. */
  readonly cost?: number
  readonly per: 'day' | 'month'
}

/** How long a request or a run waits for the ledger of a budget, in milliseconds. */
export const LEDGER_MS = 5000

/** What a budget limits. */
export const MEASURES = ['tokens', 'cost'] as const
export type Measure = (typeof MEASURES)[number]

/** What is left of a budget. */
export interface BudgetRemainder {
  readonly tokens?: number | undefined
  readonly cost?: number | undefined
}

/** A day (`2026-02-28`) or a month (`2026-02`) in UTC: its name, and that of the next one. */
export interface Period {
  readonly from: string
  readonly to: string
}

/** The usage of an API key's runs in a period. */
export interface SpendTotals {
  readonly tokens: number
  readonly cost: number
  readonly runs: number
}

/** What a run may use of its key's budget. It draws another share before its next step once it has used this one. */
export interface RunBudget extends BudgetRemainder {
  /** When it draws another one anyway, in epoch milliseconds. Default: never. */
  readonly until?: number
}

/** Who asks for a lease of a budget: an isolate that accepts runs, or a run. */
export interface LeaseRequest {
  readonly budget: Budget
  /** The same for each lease of an isolate. Absent if a run that is under way asks. */
  readonly holder?: string
  /** When the lease that the isolate has expires. Default: it has none. */
  readonly leaseUntil?: number
  /** What runs that the isolate has accepted with that or earlier leases may still use. Default: nothing. */
  readonly open?: BudgetRemainder
  /** The run that gets a lease of its own, if the isolate gets none. */
  readonly run?: string
  /** The least share that the run needs. Default: what the runs of the key use on average. */
  readonly least?: BudgetRemainder
  /** What the run has used so far. It is counted first. */
  readonly spend?: Spend
}

/** A share of what is left of a budget: an isolate accepts runs until they have used it, or one run uses it. */
export interface BudgetLease {
  readonly share: BudgetRemainder
  /** When it expires, in epoch milliseconds. */
  readonly until: number
  /** Whether the run has it. Default: the isolate. */
  readonly isOfRun?: boolean
}

/** The usage of one run of a key so far. */
export interface Spend {
  readonly run: string
  readonly key: string
  /** When this was measured, in epoch milliseconds. */
  readonly at: number
  readonly tokens: number
  readonly cost: number
}

export function makeSpend(key: string, run: string, usage: Usage, at: number): Spend {
  return { run, key, at, ...toAmounts(usage) }
}

/** Returns what counts for a budget. */
export function toAmounts({ inputTokens, outputTokens, cost = 0 }: Usage): Readonly<Record<Measure, number>> {
  return { tokens: inputTokens + outputTokens, cost }
}

/** Makes an amount for each measure that a budget limits. */
export function limitedAmounts(
  { tokens, cost }: BudgetRemainder,
  amountOf: (name: Measure, amount: number) => number,
): BudgetRemainder {
  return {
    ...(tokens !== undefined && { tokens: amountOf('tokens', tokens) }),
    ...(cost !== undefined && { cost: amountOf('cost', cost) }),
  }
}

/** Returns the period that contains a time given in epoch milliseconds. */
export function periodOf(per: Budget['per'], time: number): Period {
  const date = new Date(time)
  const name = () => date.toISOString().slice(0, per === 'day' ? 10 : 7)
  const from = name()
  if (per === 'day') date.setUTCDate(date.getUTCDate() + 1)
  else date.setUTCMonth(date.getUTCMonth() + 1, 1)
  return { from, to: name() }
}

export function isBudget(value: unknown): value is Budget {
  if (!isObject(value)) return false
  const { tokens = 1, cost = 1, per, ...others } = value
  const areAbove0 = [tokens, cost].every((most) => typeof most === 'number' && most > 0)
  return areAbove0 && (per === 'day' || per === 'month') && Object.keys(others).length === 0
}
