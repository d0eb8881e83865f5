import type { Context } from 'hono'
import { Hono } from 'hono/tiny'
import { USAGE_KINDS, type UsageKind } from '../../contract/metrics.ts'
import type { EdgeEnv } from '../context.ts'
import { requireScope } from '../middleware/auth.ts'
import { Problem } from '../problem.ts'
import type { Surface } from '../surface.ts'

const usageRoutes = new Hono<EdgeEnv>()

/** `GET /usage?by=`: the usage of the whole tenant by key, model or tool, from one day to another; `per=day`: of each day. */
export const usageBy: Surface = { routes: { '/usage': usageRoutes } }

usageRoutes.get('/', (c) => answerUsageBy(c, c.req.query('by') ?? ''))

async function answerUsageBy(c: Context<EdgeEnv>, kind: string): Promise<Response> {
  const { caller, setup } = c.env
  requireScope(caller, 'metrics')
  const runs = setup.runDirectories?.getByName(caller.tenant)
  if (!runs) {
    throw new Problem({ status: 404, code: 'not_found', message: 'This edge does not count the usage of runs.' })
  }
  const by = USAGE_KINDS.find((each) => each === kind)
  if (!by) throw invalid('by', 'Expected "key", "model" or "tool".')
  const today = new Date().toISOString().slice(0, 10)
  const from = dayOf(c, 'from') ?? `${today.slice(0, 7)}-01`
  const to = dayOf(c, 'to') ?? today
  if (from > to) throw invalid('from', 'Expected a day up to `to`.')
  const per = c.req.query('per')
  if (per !== undefined && per !== 'day') throw invalid('per', 'Expected "day".')
  const rows = await runs.usage(from, to, by satisfies UsageKind, per === 'day')
  return c.json({ by, from, to, usage: rows })
}

/** Reads a day of the query, such as `2026-02-28`. */
function dayOf(c: Context<EdgeEnv>, param: 'from' | 'to'): string | undefined {
  const day = c.req.query(param)
  if (day === undefined) return undefined
  const time = Date.parse(`${day}T00:00:00Z`)
  const isDay = /^\d{4}-\d\d-\d\d$/.test(day) && !Number.isNaN(time) && new Date(time).toISOString().startsWith(day)
  if (!isDay) throw invalid(param, 'Expected a day in UTC, such as 2026-02-28.')
  return day
}

function invalid(param: string, message: string): Problem {
  return new Problem({ status: 422, code: 'invalid_request', message, param })
}
