import { DurableObject } from 'cloudflare:workers'
import type { DirectoryService } from '../contract/conversation.ts'

/** The Durable Object that knows the conversations of one tenant: `export { Directory } from …`. */
export class Directory extends DurableObject implements DirectoryService {
  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env)
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
}
