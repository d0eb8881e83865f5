import { isObject } from './json.ts'

/** What the runs of a key may use in a day or a month. What it does not name is counted and has no end. */
export interface Budget {
  /** Input and output tokens. */
  readonly tokens?: number
  /** In the currency of the models' prices. */
  readonly cost?: number
  readonly per: 'day' | 'month'
}

/** What is left of a budget. */
export type Left = Omit<Budget, 'per'>

/** A day or a month of UTC: epoch milliseconds, `to` the first that is not in it. */
export interface Period {
  readonly from: number
  readonly to: number
}

/** What the runs of a key have used in a period. */
export interface Spent {
  readonly tokens: number
  readonly cost: number
  readonly runs: number
}

/** What one run of a key has used so far. */
export interface Spend {
  readonly run: string
  readonly key: string
  /** When that was known, in epoch milliseconds. */
  readonly at: number
  readonly tokens: number
  readonly cost: number
}

export const DAY_MS = 24 * 60 * 60 * 1000

/** The period that a time is in. */
export function periodOf(per: Budget['per'], time: number): Period {
  const date = new Date(time)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  if (per === 'month') return { from: Date.UTC(year, month), to: Date.UTC(year, month + 1) }
  const from = Date.UTC(year, month, day)
  return { from, to: from + DAY_MS }
}

/** What is left; nothing of either is below 0. */
export function leftOf({ tokens, cost }: Budget, spent: Spent): Left {
  return {
    ...(tokens !== undefined && { tokens: Math.max(0, tokens - spent.tokens) }),
    ...(cost !== undefined && { cost: Math.max(0, cost - spent.cost) }),
  }
}

export function isBudget(value: unknown): value is Budget {
  if (!isObject(value)) return false
  const { tokens = 1, cost = 1, per, ...others } = value
  const isAbove0 = (amount: unknown) => typeof amount === 'number' && amount > 0 && Number.isFinite(amount)
  return isAbove0(tokens) && isAbove0(cost) && (per === 'day' || per === 'month') && Object.keys(others).length === 0
}
