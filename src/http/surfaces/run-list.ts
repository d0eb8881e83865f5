import type { Context } from 'hono'
import { Hono } from 'hono/tiny'
import { RUN_STATUSES, type RunStatus } from '../../contract/run.ts'
import { RUN_SORTS, type RunQuery, type RunSort } from '../../contract/run-list.ts'
import type { EdgeEnv } from '../context.ts'
import { requireScope } from '../middleware/auth.ts'
import { Problem } from '../problem.ts'
import type { SurfacePart } from '../surface.ts'
import { pageSize } from './conversations/conversations.ts'
import { invalidRequest, readQuery } from './runs.ts'

/** The parameters that say which runs are meant. */
const FILTERS = [
  'status',
  'tool',
  'error',
  'model',
  'key',
  'query',
  'cost',
  'duration',
  'from',
  'to',
  'agents',
  'parent',
] as const

const runs = new Hono<EdgeEnv>()
const approvals = new Hono<EdgeEnv>()

runs.get('/', async (c) => {
  requireScope(c.env.caller, 'chat')
  const page = await directoryOf(c).runs(queryOf(readQuery(c, ...FILTERS, 'latest', 'before', 'limit', 'sort')))
  if (page) return c.json(page)
  throw new Problem({ status: 404, code: 'unknown_run', message: 'The run in `before` is not listed.' })
})

runs.get('/counts', async (c) => {
  requireScope(c.env.caller, 'chat')
  const counts = await directoryOf(c).runCounts(queryOf(readQuery(c, ...FILTERS)))
  return c.json({
    runs: counts.reduce((sum, { count }) => sum + count, 0),
    cost: counts.reduce((sum, { cost }) => sum + cost, 0),
    statuses: Object.fromEntries(counts.map(({ status, count }) => [status, count])),
  })
})

approvals.get('/', async (c) => {
  const { caller } = c.env
  requireScope(caller, 'approve')
  readQuery(c)
  const calls = await directoryOf(c).approvals()
  // Who may only decide sees nothing else of the run.
  return c.json(caller.scopes.includes('chat') ? calls : calls.map(({ question: _question, ...call }) => call))
})

/**
 * `GET /runs`: the runs of all conversations of the tenant, filtered; `/runs/counts` counts them. `GET /approvals`: all calls that wait for a person.
 * The part `metrics` lists them.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [metrics, runList] })
 */
export const runList: SurfacePart = {
  name: 'runList',
  surfaces: [{ routes: { '/runs': runs, '/approvals': approvals } }],
}

function directoryOf({ env: { setup, caller } }: Context<EdgeEnv>) {
  const runs = setup.runDirectories?.getByName(caller.tenant)
  if (runs) return runs
  throw new Problem({ status: 404, code: 'not_found', message: 'This edge does not list runs.' })
}

function queryOf(query: Readonly<Record<string, string | undefined>>): RunQuery {
  const { status, tool, error, model, key, query: text, cost, duration, from, to, latest, before, limit, sort } = query
  const { agents, parent } = query
  if (sort !== undefined && (before !== undefined || latest === 'true')) {
    throw invalidRequest({ message: '"sort" cannot be combined with "before" or "latest".', path: 'sort' })
  }
  return {
    limit: pageSize(limit),
    ...(status !== undefined && { status: statusOf(status) }),
    tool,
    ...(error !== undefined && { error }),
    model,
    key,
    ...(text !== undefined && { text }),
    ...(cost !== undefined && { cost: numberOf(cost, 'cost') }),
    ...(duration !== undefined && { duration: numberOf(duration, 'duration') }),
    ...(from !== undefined && { from: timeOf(from, 'from') }),
    ...(to !== undefined && { to: timeOf(to, 'to') + (isDay(to) ? DAY_MS : 0) }),
    ...(agents === 'true' && { hasAgents: true }),
    parent,
    ...(latest === 'true' && { isLatest: true }),
    before,
    ...(sort !== undefined && { sort: readSort(sort) }),
  }
}

function statusOf(text: string): RunStatus {
  const status = RUN_STATUSES.find((each) => each === text)
  if (status) return status
  throw invalidRequest({ message: `"status" must be one of ${RUN_STATUSES.join(', ')}.`, path: 'status' })
}

function readSort(text: string): RunSort {
  const sort = RUN_SORTS.find((each) => each === text)
  if (sort) return sort
  throw invalidRequest({ message: `"sort" must be one of ${RUN_SORTS.join(', ')}.`, path: 'sort' })
}

function numberOf(text: string, path: string): number {
  if (/^\d{1,15}(?:\.\d+)?$/.test(text)) return Number(text)
  throw invalidRequest({ message: `"${path}" must be a number from 0.`, path })
}

const DAY_MS = 24 * 60 * 60 * 1000

/** Reads a day in UTC, or a time with its offset. */
function timeOf(text: string, path: string): number {
  const time =
    isDay(text) || /^\d{4}-\d\d-\d\dT\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : NaN
  if (!Number.isNaN(time)) return time
  const message = `"${path}" must be a day in UTC, such as 2026-02-28, or a time, such as 2026-02-28T12:00:00Z.`
  throw invalidRequest({ message, path })
}

function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text)
}
