/** The rule of one quota: where an edge sets it, and what it is by default. */
interface QuotaRule {
  /** The variable of the edge that sets the quota. */
  readonly variable: string
  readonly initial: number
  /** What it counts: what a tenant stores, or what is under way in one isolate for a tenant or for a key. */
  readonly of: 'storage' | 'tenant' | 'key'
}

/** The quotas of tenants and keys. The configuration and docs/run-configuration.md are made from this list. */
export const QUOTAS = {
  /**
   * The maximum number of conversations of a tenant. An isolate reads their number at most once a minute, so conversations
   * that are created in the same minute can exceed the quota. So can all while the number cannot be read.
   */
  conversations: { variable: 'MAX_CONVERSATIONS', initial: 100_000, of: 'storage' },
  /**
   * The maximum number of bytes that a tenant's conversations store. A conversation reports its size each time that it has
   * doubled, so together they may store twice as much. Then new runs, results of callers, reported outcomes, forks and
   * copies are refused. Unlisted conversations, such as those of stored responses, count once they are larger than 256 KiB,
   * until they are deleted.
   */
  storedBytes: { variable: 'MAX_STORED_BYTES', initial: 10 * 1024 ** 3, of: 'storage' },
  /** The maximum number of stored definitions of a tenant. Those of the edge have no quota. */
  definitions: { variable: 'MAX_DEFINITIONS', initial: 1000, of: 'storage' },
  /** The maximum number of schedules of a tenant. */
  schedules: { variable: 'MAX_SCHEDULES', initial: 10_000, of: 'storage' },
  /**
   * The maximum number of open requests of a tenant, including streams. Each isolate counts its own requests, each for at
   * most five minutes.
   */
  openRequests: { variable: 'MAX_OPEN_REQUESTS', initial: 1000, of: 'tenant' },
  /**
   * The maximum number of open requests of a key, including streams. Each isolate counts its own requests, each for at most
   * five minutes.
   */
  openRequestsPerKey: { variable: 'MAX_OPEN_REQUESTS_PER_KEY', initial: 500, of: 'key' },
  /**
   * The maximum number of concurrent runs of a tenant, without those that wait for people or callers. Each isolate counts
   * its own runs, each for at most five minutes.
   */
  concurrentRuns: { variable: 'MAX_CONCURRENT_RUNS', initial: 1000, of: 'tenant' },
  /**
   * The maximum number of concurrent runs of a key, without those that wait for people or callers. Each isolate counts its
   * own runs, each for at most five minutes.
   */
  concurrentRunsPerKey: { variable: 'MAX_CONCURRENT_RUNS_PER_KEY', initial: 500, of: 'key' },
} as const satisfies Readonly<Record<string, QuotaRule>>

export type Quota = keyof typeof QUOTAS
export type Quotas = Readonly<Record<Quota, number>>

/** A quota that is used up. */
export interface ReachedQuota {
  readonly quota: Quota
  readonly used: number
  readonly limit: number
}

/** What the conversations of a tenant take up. */
export interface StoredTotals {
  readonly conversations: number
  /** As they last reported it. */
  readonly storedBytes: number
}

/** How many bytes a conversation counts for until it reports more. */
export const FIRST_BYTES = 128 * 1024

/** Makes quotas of a value for each of them. */
export function quotasOf(valueOf: (rule: QuotaRule) => number): Quotas {
  const entries = Object.entries(QUOTAS).map(([name, rule]): readonly unknown[] => [name, valueOf(rule)])
  return Object.fromEntries(entries)
}

/** Returns the first of the quotas on storage that is used up. */
export function reachedStorage(totals: StoredTotals, quotas: Quotas): ReachedQuota | undefined {
  const quota = (['conversations', 'storedBytes'] as const).find((name) => totals[name] >= quotas[name])
  return quota && { quota, used: totals[quota], limit: quotas[quota] }
}

/** Returns the text for a caller whose request is refused because of a quota. */
export function quotaMessage({ quota, used, limit }: ReachedQuota): string {
  return `The quota ${QUOTAS[quota].variable} is used up: ${used} of ${limit}.`
}
