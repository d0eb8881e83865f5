import { DurableObject } from 'cloudflare:workers'
import type { BudgetLease, LeaseRequest, Spend, SpendTotals } from '../contract/budget.ts'
import type { DirectoryService } from '../contract/directory.ts'
import type { StoredTotals } from '../contract/quotas.ts'
import { BudgetLeases } from './budget-leases.ts'
import { ConversationList } from './conversation-list.ts'
import { periodIds, SpendLedger } from './spend-ledger.ts'

/** The Durable Object that lists a tenant's conversations and counts what its API keys spend. */
export class Directory extends DurableObject implements DirectoryService {
  readonly #ledger: SpendLedger
  readonly #leases: BudgetLeases
  readonly #conversations: ConversationList

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env)
    this.#ledger = new SpendLedger(ctx.storage)
    this.#leases = new BudgetLeases(ctx.storage)
    this.#conversations = new ConversationList(ctx.storage)
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
}
