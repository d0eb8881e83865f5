import { DurableObject } from 'cloudflare:workers'
import * as v from 'valibot'
import { defineTool, onceInSql, type RunContext, serveTools, type SqlOnce, ToolError } from 'edgecall/tool'

interface Env {
  readonly LEDGERS: DurableObjectNamespace<Ledger>
}

interface Refund {
  readonly number: string
  readonly amount: number
}

/** The refunds of one tenant. */
export class Ledger extends DurableObject<Env> {
  readonly #once: SqlOnce

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env)
    ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS refunds (number TEXT PRIMARY KEY, amount REAL NOT NULL)')
    this.#once = onceInSql(ctx.storage)
  }

  /** Refunds an order, once for each key. Returns whether it was refunded now or by this key before. */
  refund(key: string, { number, amount }: Refund): boolean {
    return this.#once.sync(key, () => {
      const { rowsWritten } = this.ctx.storage.sql.exec('INSERT OR IGNORE INTO refunds VALUES (?, ?)', number, amount)
      return rowsWritten > 0
    })
  }

  list(): Refund[] {
    return this.ctx.storage.sql.exec<Refund & Record<string, SqlStorageValue>>('SELECT * FROM refunds').toArray()
  }
}

const refund = defineTool({
  name: 'refund',
  description: 'Refunds an order, in part or in full. Use it when a customer is owed money. Answers what was refunded.',
  input: v.object({
    number: v.pipe(v.string(), v.description('The number of the order')),
    amount: v.pipe(v.number(), v.minValue(0.01), v.description('In euros; at most the price of the order')),
  }),
  annotations: { idempotent: true, destructive: true, openWorld: false },
  // A refund of up to 20 euros goes through. A person agrees to all others.
  approval: { unless: { '/amount': { maximum: 20 } } },
  run: async (input, context: RunContext<Env>) => {
    const isRefunded = await ledgerOf(context).refund(context.idempotencyKey, input)
    if (!isRefunded) throw new ToolError(`The order ${input.number} was refunded before.`)
    return { refunded: input.amount }
  },
})

const listRefunds = defineTool({
  name: 'listRefunds',
  description: 'Lists all refunds of the shop. Use it for questions on what was refunded.',
  input: v.object({}),
  annotations: { readOnly: true, openWorld: false, private: true },
  run: async (_, context: RunContext<Env>) => ({ refunds: await ledgerOf(context).list() }),
})

function ledgerOf({ env, caller }: RunContext<Env>) {
  return env.LEDGERS.get(env.LEDGERS.idFromName(caller.tenant))
}

export default serveTools(refund, listRefunds)
