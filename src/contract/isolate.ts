import type { BudgetLease, RunBudget, SpendTotals } from './budget.ts'
import type { ConversationSettings } from './conversation.ts'
import type { StoredTotals } from './quotas.ts'
import type { RateWindow } from './rate-window.ts'
import type { RecentMap } from './recent-map.ts'
import type { ReportBatch } from './report.ts'
import type { ToolText } from './tool.ts'

/**
 * What an isolate remembers of an edge from one request to the next: it belongs to the setup (`setup.isolate`), which an
 * isolate makes once for its Worker and its objects. These are plain values, never promises or stubs, which belong to the
 * request that made them. Each field is made, read and written by the one file that it names.
 */
export interface Isolate {
  /** When each activity under way began, the oldest first, by activity, tenant and key. `contract/occupancy.ts` */
  activities?: Map<string, Set<{ readonly at: number }>>
  /** Requests without a key by address, and bytes of reports by call. `http/middleware/rate.ts` */
  publicRates?: { readonly byAddress: RateWindow; readonly byCall: RateWindow }
  /** The public keys of identity providers, by the ids of these. `http/middleware/token.ts` */
  publicKeys?: Map<string, PublicKeys>
  /** The refresh tokens that are being exchanged, by their hashes. `http/surfaces/sign-in-refresh.ts` */
  refreshes?: RecentMap<string, true>
  /** The tools that streams of `/mcp` watch, by caller. `http/surfaces/mcp.ts` */
  toolViews?: RecentMap<string, WatchedTools>
  /** The settings of conversations, by tenant and id. `http/runs/place-run.ts` */
  settings?: RecentMap<string, ConversationSettings>
  /** The requests of keys for conversations that do not exist, and the names of those that do. `http/runs/conversation-stub.ts` */
  guesses?: { readonly byKey: RateWindow; readonly existing: RecentMap<string, true> }
  /** The number and size of the conversations of tenants, by tenant. `http/runs/storage-quota.ts` */
  totals?: RecentMap<string, LatestTotals>
  /** The leases of budgets. `http/runs/budget.ts` */
  leases?: Leases
  /** The requests that were refused and are not counted yet, by tenant and labels. `http/app/edge.ts` */
  refusals?: Map<string, Map<string, number>> | undefined
  /** By when they are counted, in epoch milliseconds. After that, the request that was to count them is lost. `http/app/edge.ts` */
  refusalsDue?: number
  /** The reports of runs that are about to be sent. `http/runs/run-handle.ts` */
  reports?: OpenReports | undefined
}

/** The tools of a caller, as they were last read. */
export interface WatchedTools {
  /** When they were read, in epoch milliseconds, or began to be read again. */
  readonly at: number
  readonly texts: readonly ToolText[]
  /** How often they have changed since they are watched. */
  readonly revision: number
}

/** The public keys of an identity provider. */
export interface PublicKeys {
  readonly keys: readonly (JsonWebKey & { readonly kid: string })[]
  /** When they were read, in epoch milliseconds; later than that if they are to count for longer. */
  readonly at: number
  /** When they could last not be read. Default: they always could. */
  readonly failedAt?: number
}

/** What an isolate last learned of the conversations of a tenant. */
export interface LatestTotals {
  readonly totals: StoredTotals
  /** The conversations that this isolate has created since it asked for the totals. */
  readonly created: number
  /** When they were learned, in epoch milliseconds. */
  readonly at: number
}

/** The leases that an isolate holds, by tenant, key and period. */
export interface Leases {
  readonly holder: string
  readonly byBudget: RecentMap<string, HeldLease>
}

export interface HeldLease extends BudgetLease {
  /** The usage of the key when the lease was drawn. */
  readonly totals: SpendTotals
  /** What this isolate's runs have used since then, and are expected to use. */
  readonly used: { tokens: number; cost: number }
  /** The shares of the runs that were accepted with this lease or with earlier ones, until it is known that they ended. */
  readonly shares: Map<string, RunBudget>
}

/** The reports of runs, one batch for each reporter by its name. */
export interface OpenReports {
  readonly openedAt: number
  readonly runIds: string[]
  readonly reports: ReadonlyMap<string, ReportBatch>
}
