import { Hono } from 'hono/tiny'
import { periodOf } from '../contract/budget.ts'
import { demand, keyOf } from './auth.ts'
import type { EdgeEnv } from './context.ts'
import { Problem } from './problem.ts'

/** `GET /usage`: what the runs of the caller's key have used in the period of its budget. */
export const usage = new Hono<EdgeEnv>()

usage.get('/', async (c) => {
  const { setup, caller } = c.var
  demand(caller, 'chat')
  const { budget } = keyOf(setup.config, caller) ?? {}
  const { tenant, key } = caller
  if (!budget || key === undefined) {
    const message = 'What this key uses is not counted: it has no budget.'
    throw new Problem({ status: 404, code: 'no_budget', message })
  }
  const period = periodOf(budget.per, Date.now())
  const { tokens, cost, runs } = await setup.directories.getByName(tenant).spent(key, period)
  return c.json({
    key,
    period: { from: new Date(period.from).toISOString(), to: new Date(period.to).toISOString() },
    tokens,
    ...((cost > 0 || budget.cost !== undefined) && { cost }),
    runs,
    budget,
  })
})
