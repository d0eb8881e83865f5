import type { DirectoryService } from '../contract/directory.ts'
import type { RunReport, Series, UsageKind, UsageRow } from '../contract/metrics.ts'
import type { ListedApproval, ListedRun, OpenRunCount, RunListing, RunQuery } from '../contract/run-list.ts'
import { Directory } from './directory.ts'
import { RunLedger } from './run-ledger.ts'
import { RunList } from './run-list.ts'

/** A Directory that also lists the tenant's runs and counts what they did: that of an edge with the feature `metrics`. */
export class MeteredDirectory extends Directory implements DirectoryService {
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
    return reports.map(({ listing, ...report }) => {
      if (listing) this.#list.put(listing)
      return this.#ledger.count(report, Date.now())
    })
  }

  async usage(from: string, to: string, by: UsageKind): Promise<UsageRow[]> {
    return this.#ledger.usage(from, to, by, Date.now())
  }

  async series(): Promise<Series[]> {
    return this.#ledger.series(Date.now())
  }

  async listRun(listing: RunListing): Promise<void> {
    this.#list.put(listing)
  }

  async runs(query: RunQuery): Promise<ListedRun[] | undefined> {
    return this.#list.runs(query, Date.now())
  }

  async approvals(): Promise<ListedApproval[]> {
    return this.#list.approvals(Date.now())
  }

  async openRuns(): Promise<OpenRunCount[]> {
    return this.#list.open(Date.now())
  }
}
