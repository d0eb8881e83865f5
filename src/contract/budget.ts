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

/** What a budget limits. */
export const MEASURES = ['tokens', 'cost'] as const

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

/** Who asks for a lease of a budget. */
export interface LeaseRequest {
  /** The same for each lease of an isolate. */
  readonly holder: string
  readonly budget: Budget
}

/** A share of what is left of a budget: its holder accepts runs until they have used it. */
export interface BudgetLease {
  readonly share: BudgetRemainder
  /** When it expires, in epoch milliseconds. */
  readonly until: number
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

export function spendOf(key: string, run: string, usage: Usage, at: number): Spend {
  const { inputTokens, outputTokens, cost = 0 } = usage
  return { run, key, at, tokens: inputTokens + outputTokens, cost }
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
