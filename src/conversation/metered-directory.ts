import type { RunShard } from '../contract/directory.ts'
import type { RunReport, Series, UsageKind, UsageRow } from '../contract/metrics.ts'
import type {
  ListedApproval,
  OpenRunCount,
  PlacedRun,
  RunListing,
  ShardQuery,
  StatusCount,
} from '../contract/run-list.ts'
import { Directory } from './directory.ts'
import { RunLedger } from './run-ledger.ts'
import { RunList } from './run-list.ts'

/** A Directory that also lists the tenant's runs and counts what they did: that of an edge with the feature `metrics`. */
export class MeteredDirectory extends Directory implements RunShard {
  readonly #ledger: RunLedger
  readonly #list: RunList

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env)
    this.#ledger = new RunLedger(ctx.storage)
    this.#list = new RunList(ctx.storage)
  }

  override async remove(id: string): Promise<void> {
    await super.remove(id)
    this.#list.remove(id)
  }

  async countRuns(reports: readonly RunReport[]): Promise<boolean[]> {
    return reports.map(({ listing, shard, ...report }) => {
      if (listing) this.#list.put(listing, shard)
      return this.#ledger.count(report, Date.now())
    })
  }

  async usage(from: string, to: string, by: UsageKind, perDay?: boolean): Promise<UsageRow[]> {
    return this.#ledger.usage({ from, to, by, perDay }, Date.now())
  }

  async series(): Promise<Series[]> {
    return this.#ledger.series(Date.now())
  }

  async listRun(listing: RunListing, shard?: number): Promise<void> {
    this.#list.put(listing, shard)
  }

  async runs(query: ShardQuery): Promise<PlacedRun[]> {
    return this.#list.runs(query, Date.now())
  }

  async runCounts(query: ShardQuery): Promise<StatusCount[]> {
    return this.#list.counts(query, Date.now())
  }

  async placeOf(run: string): Promise<number | undefined> {
    return this.#list.placeOf(run)
  }

  async approvals(): Promise<ListedApproval[]> {
    return this.#list.approvals(Date.now())
  }

  async openRuns(): Promise<OpenRunCount[]> {
    return this.#list.open(Date.now())
  }
}
