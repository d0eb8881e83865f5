import { DurableObject } from 'cloudflare:workers'
import type { Spend, SpendTotals } from '../contract/budget.ts'
import type { DirectoryService } from '../contract/conversation.ts'
import { SpendLedger } from './spend-ledger.ts'

/** The Durable Object that lists a tenant's conversations and counts the usage of its API keys. Doors export it. */
export class Directory extends DurableObject implements DirectoryService {
  readonly #ledger: SpendLedger

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env)
    this.#ledger = new SpendLedger(ctx.storage)
    ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS conversations (id TEXT PRIMARY KEY) WITHOUT ROWID')
  }

  async add(id: string): Promise<void> {
    this.ctx.storage.sql.exec('INSERT OR IGNORE INTO conversations VALUES (?)', id)
  }

  async remove(id: string): Promise<void> {
    this.ctx.storage.sql.exec('DELETE FROM conversations WHERE id = ?', id)
  }

  async list(after: string, limit: number): Promise<string[]> {
    const query = 'SELECT id FROM conversations WHERE id > ? ORDER BY id LIMIT ?'
    return this.ctx.storage.sql
      .exec<{ id: string }>(query, after, limit)
      .toArray()
      .map(({ id }) => id)
  }

  async count(spend: Spend): Promise<void> {
    this.#ledger.count(spend, Date.now())
  }

  async spendTotals(key: string, period: string): Promise<SpendTotals> {
    return this.#ledger.totals(`${key}/${period}`)
  }
}
