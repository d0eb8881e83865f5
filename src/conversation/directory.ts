import { DurableObject } from 'cloudflare:workers'
import type { Spend, SpendTotals } from '../contract/budget.ts'
import type { DirectoryService } from '../contract/conversation.ts'
import type { StoredTotals } from '../contract/quotas.ts'
import type { RunReport, Series, UsageKind, UsageRow } from '../contract/metrics.ts'
import { ConversationList } from './conversation-list.ts'
import { RunLedger } from './run-ledger.ts'
import { SpendLedger } from './spend-ledger.ts'

/** The Durable Object that lists a tenant's conversations and counts the usage of its API keys. Doors export it. */
export class Directory extends DurableObject implements DirectoryService {
  readonly #ledger: SpendLedger
  readonly #conversations: ConversationList
  readonly #runs: RunLedger

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env)
    this.#ledger = new SpendLedger(ctx.storage)
    this.#conversations = new ConversationList(ctx.storage)
    this.#runs = new RunLedger(ctx.storage)
  }

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
  }

  async spendTotals(key: string, period: string): Promise<SpendTotals> {
    return this.#ledger.totals(`${key}/${period}`)
  }

  async countRun(report: RunReport): Promise<boolean> {
    return this.#runs.count(report, Date.now())
  }

  async usage(from: string, to: string, by: UsageKind): Promise<UsageRow[]> {
    return this.#runs.usage(from, to, by, Date.now())
  }

  async series(): Promise<Series[]> {
    return this.#runs.series(Date.now())
  }
}
