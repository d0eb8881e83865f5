import { DurableObject } from 'cloudflare:workers'
import type { BudgetLease, LeaseRequest, Spend, SpendTotals } from '../contract/budget.ts'
import type { DirectoryService, RunShard, TakenAnswer } from '../contract/directory.ts'
import type { RunReport, Series, UsageKind, UsageRow } from '../contract/metrics.ts'
import type { StoredTotals } from '../contract/quotas.ts'
import type {
  ListedApproval,
  OpenRunCount,
  PlacedRun,
  RunListing,
  ShardQuery,
  StatusCount,
} from '../contract/run-list.ts'
import { AnswerLedger } from './answer-ledger.ts'
import { BudgetLeases, periodIds, SpendLedger } from './budget-ledger.ts'
import { ConversationList, RunList } from './run-list.ts'
import { RunLedger } from './run-ledger.ts'

/** The Durable Object that lists a tenant's conversations and counts what its API keys spend. */
export class Directory extends DurableObject implements DirectoryService {
  readonly #ledger: SpendLedger
  readonly #leases: BudgetLeases
  readonly #conversations: ConversationList
  readonly #answers: AnswerLedger

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env)
    this.#ledger = new SpendLedger(ctx.storage)
    this.#leases = new BudgetLeases(ctx.storage)
    this.#conversations = new ConversationList(ctx.storage)
    this.#answers = new AnswerLedger(ctx.storage)
  }

  /** Returns the totals, which edges of earlier versions read. */
  async add(id: string): Promise<StoredTotals> {
    return this.#conversations.add(id)
  }

  async resize(id: string, bytes: number, until?: number): Promise<StoredTotals> {
    return until === undefined
      ? this.#conversations.resize(id, bytes)
      : this.#conversations.resizeUnlisted(id, bytes, until)
  }

  async room(id: string): Promise<StoredTotals & { readonly isListed: boolean }> {
    return { ...this.#conversations.totals(), isListed: this.#conversations.bytesOf(id) !== undefined }
  }

  async remove(id: string): Promise<void> {
    this.#conversations.remove(id)
  }

  async list(after: string, limit: number): Promise<string[]> {
    return this.#conversations.list(after, limit)
  }

  async count(spend: Spend): Promise<void> {
    this.#ledger.count(spend, Date.now())
    this.#leases.release(periodIds(spend), spend.run)
  }

  async spendTotals(
    key: string,
    period: string,
    request?: LeaseRequest,
    formerKeys: readonly string[] = [],
  ): Promise<SpendTotals & { readonly lease?: BudgetLease | undefined }> {
    const id = `${key}/${period}`
    for (const former of formerKeys) if (former !== key) this.#ledger.move(`${former}/${period}`, id, Date.now())
    if (request?.spend) this.#ledger.count(request.spend, Date.now())
    const totals = this.#ledger.totals(id)
    return request ? { ...totals, lease: this.#leases.draw(id, request, totals, Date.now()) } : totals
  }

  async takeAnswer(question: string, until: number, reply?: string): Promise<TakenAnswer | undefined> {
    return this.#answers.take({ question, until, reply }, Date.now())
  }

  async settleAnswer(question: string, reply: string): Promise<void> {
    this.#answers.settle(question, reply)
  }
}

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
