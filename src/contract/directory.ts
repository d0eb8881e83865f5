import type { BudgetLease, LeaseRequest, Spend, SpendTotals } from './budget.ts'
import type { RunReport, Series, UsageKind, UsageRow } from './metrics.ts'
import type { StoredTotals } from './quotas.ts'
import type { ListedApproval, ListedRun, OpenRunCount, RunListing, RunQuery } from './run-list.ts'

/** The conversations of a tenant, ordered by id, and what its API keys spend. */
export interface DirectoryService extends RunDirectory {
  /** Lists a conversation. */
  add(id: string): Promise<unknown>
  /**
   * Counts a listed conversation for this many bytes from now on; or, with `until`, one that is not listed, up to that
   * time in epoch milliseconds. Returns what all take up.
   */
  resize(id: string, bytes: number, until?: number): Promise<StoredTotals>
  /** Returns what all conversations take up, and whether this one is listed. */
  room(id: string): Promise<StoredTotals & { readonly isListed: boolean }>
  /** Takes a conversation and its runs off the lists. */
  remove(id: string): Promise<void>
  list(after: string, limit: number): Promise<readonly string[]>
  /** Counts the usage of a run. Reporting the same usage again adds nothing. */
  count(spend: Spend): Promise<void>
  /**
   * Returns the usage of a key's runs in a day (`2026-02-28`) or a month (`2026-02`). With a request for a lease: also a
   * lease, unless too little is left to share.
   */
  spendTotals(
    key: string,
    period: string,
    request?: LeaseRequest,
  ): Promise<SpendTotals & { readonly lease?: BudgetLease | undefined }>
}

/** The runs of a tenant. An edge without the feature `metrics` need not have this part of a directory. */
export interface RunDirectory {
  /** Lists a run of a conversation, or how it stands now. */
  listRun(listing: RunListing): Promise<void>
  /** Returns the runs that a query wants, newest first; undefined if the run that they should come after is not listed. */
  runs(query: RunQuery): Promise<readonly ListedRun[] | undefined>
  /** Returns the calls of all conversations that wait for a person, the one that has waited longest first. */
  approvals(): Promise<readonly ListedApproval[]>
  /**
   * Counts what runs that have ended did and spent, and lists them. Returns for each whether it is counted now; one that
   * was counted before is not counted again.
   */
  countRuns(reports: readonly RunReport[]): Promise<readonly boolean[]>
  /** Returns the usage from one day (`2026-02-28`) to another, both included, the greatest cost first. */
  usage(from: string, to: string, by: UsageKind): Promise<readonly UsageRow[]>
  /** Returns the metrics of all runs that were counted. */
  series(): Promise<readonly Series[]>
  /** Returns how many of the listed runs have not ended, by status. */
  openRuns(): Promise<readonly OpenRunCount[]>
}
