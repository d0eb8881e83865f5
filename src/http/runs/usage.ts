import type { Context } from 'hono'
import type { EdgeEnv } from '../context.ts'
import { requireScope } from '../middleware/auth.ts'
import { budgetUsageOf } from './budget.ts'
import { quotaUsage } from './quota-usage.ts'

/** `GET /usage`: the usage of the caller's key in the period of its budget, if it has one, and of its quotas. */
export async function answerUsage(c: Context<EdgeEnv>): Promise<Response> {
  requireScope(c.env.caller, 'chat')
  const [budget, quotas] = await Promise.all([budgetUsageOf(c.env), quotaUsage(c.env)])
  return c.json({ key: c.env.caller.key, ...budget, quotas })
}
