import type { BudgetLease, LeaseRequest, Spend, SpendTotals } from './budget.ts'
import type { RunReport, Series, UsageKind, UsageRow } from './metrics.ts'
import type { StoredTotals } from './quotas.ts'
import type {
  ListedApproval,
  ListedRun,
  OpenRunCount,
  PlacedRun,
  RunListing,
  RunQuery,
  ShardQuery,
  StatusCount,
} from './run-list.ts'

/**
 * The conversations of a tenant, ordered by id, and what its API keys spend. `shard` is the object that lists the
 * conversation, of those that the directory is divided among (`shardOf`); an object itself ignores it.
 */
export interface DirectoryService {
  /** Lists a conversation. Without `shard`: unless one of the objects lists it. */
  add(id: string, shard?: number): Promise<unknown>
  /**
   * Counts a listed conversation for this many bytes from now on; or, with `until`, one that is not listed, up to that
   * time in epoch milliseconds. Returns what all take up.
   */
  resize(id: string, bytes: number, until?: number, shard?: number): Promise<StoredTotals>
  /** Returns what all conversations take up, and whether this one is listed. */
  room(id: string): Promise<StoredTotals & { readonly isListed: boolean }>
  /** Takes a conversation and its runs off the lists. */
  remove(id: string): Promise<void>
  list(after: string, limit: number): Promise<readonly string[]>
  /** Counts the usage of a run. Reporting the same usage again adds nothing. */
  count(spend: Spend): Promise<void>
  /**
   * Returns the usage of a key's runs in a day (`2026-02-28`) or a month (`2026-02`). With a request for a lease: also a
   * lease, unless too little is left to share. `formerKeys`: earlier names of the key, whose usage is moved to it first.
   */
  spendTotals(
    key: string,
    period: string,
    request?: LeaseRequest,
    formerKeys?: readonly string[],
  ): Promise<SpendTotals & { readonly lease?: BudgetLease | undefined }>
  /**
   * Takes the answer to a question that was asked outside of a conversation: it counts for one call. Returns undefined to
   * the first who does, and what is known of the call to all others, up to a time in epoch milliseconds. `reply`: what the
   * others are told from the start.
   */
  takeAnswer(question: string, until: number, reply?: string): Promise<TakenAnswer | undefined>
  /** Stores what the call was answered with. */
  settleAnswer(question: string, reply: string): Promise<void>
}

/** An answer that a call has used. */
export interface TakenAnswer {
  /** What the call was answered with, as text. Default: it has not ended, or nobody knows how. */
  readonly reply?: string | undefined
}

/** The runs of a tenant: the part of its directory that the part `metrics` adds. */
export interface RunDirectory {
  /** Lists a run of a conversation, or how it stands now. `shard`: that of its request. */
  listRun(listing: RunListing, shard?: number): Promise<void>
  /** Returns the runs that a query wants, newest first; undefined if the run that they should come after is not listed. */
  runs(query: RunQuery): Promise<readonly ListedRun[] | undefined>
  /** Returns how many of the runs that a query wants have each status, and what they cost. */
  runCounts(query: RunQuery): Promise<readonly StatusCount[]>
  /** Returns the calls of all conversations that wait for a person, the one that has waited longest first. */
  approvals(): Promise<readonly ListedApproval[]>
  /**
   * Counts what runs that have ended did and spent, and lists them. Returns for each whether it is counted now; one that
   * was counted before is not counted again.
   */
  countRuns(reports: readonly RunReport[]): Promise<readonly boolean[]>
  /**
   * Returns the usage from one day (`2026-02-28`) to another, both included, the greatest cost first; with `perDay` that
   * of each day by itself, the oldest first.
   */
  usage(from: string, to: string, by: UsageKind, perDay?: boolean): Promise<readonly UsageRow[]>
  /** Returns the metrics of all runs that were counted. */
  series(): Promise<readonly Series[]>
  /** Returns how many of the listed runs have not ended, by status. */
  openRuns(): Promise<readonly OpenRunCount[]>
}

/** The runs that one of the objects lists, which a directory is divided among. */
export interface RunShard extends Omit<RunDirectory, 'runs' | 'runCounts'> {
  runs(query: ShardQuery): Promise<readonly PlacedRun[]>
  runCounts(query: ShardQuery): Promise<readonly StatusCount[]>
  /** Returns the place of a run among those of all objects; undefined if it is not listed in this one. */
  placeOf(run: string): Promise<number | undefined>
}
