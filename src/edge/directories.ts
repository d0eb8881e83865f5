import type { Objects } from '../contract/conversation.ts'
import type { DirectoryService, RunDirectory, RunShard } from '../contract/directory.ts'
import type { RunReport, UsageRow } from '../contract/metrics.ts'
import type { StoredTotals } from '../contract/quotas.ts'
import { type PlacedRun, type RunQuery, sortValue } from '../contract/run-list.ts'
import { shardOf } from '../contract/placement.ts'
import type { Part } from './part.ts'

/**
 * Sharded directories: `DIRECTORY_SHARDS` objects list the conversations of each tenant, for tenants with more requests
 * than one object can take. An edge with more than one must name this part.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [shardedDirectories] })
 */
export const shardedDirectories: Part = {
  name: 'shardedDirectories',
  extend: ({ env, config }) => ({ directories: dividedDirectories(env.DIRECTORIES, config.directoryShards) }),
}

/**
 * Returns directories that are divided among this many objects, of which `shardOf` names the one that lists a
 * conversation. The first is the tenant's only object without shards, and has its budgets. What was listed while there
 * were fewer stays where it is: all objects are read, and a conversation is removed from each.
 */
export function dividedDirectories(directories: Objects<DirectoryService>, objects: number): Objects<DirectoryService> {
  return { getByName: (tenant) => mergedDirectory(tenantObjects(directories, tenant, objects)) }
}

/** The objects of a tenant's directory. */
interface TenantObjects<Service> {
  /** All that are in use. */
  readonly all: readonly Service[]
  /** Returns the object with a number, which may be in use since a later deployment only. */
  readonly at: (shard: number) => Service
}

function tenantObjects<Service>(namespace: Objects<Service>, tenant: string, objects: number): TenantObjects<Service> {
  // No tenant's name contains a slash.
  const at = (shard: number) => namespace.getByName(shard === 0 ? tenant : `${tenant}/${shard}`)
  return { all: Array.from({ length: objects }, (_, shard) => at(shard)), at }
}

function mergedDirectory({ all, at }: TenantObjects<DirectoryService>): DirectoryService {
  const first = at(0)
  return {
    add: async (id, shard) => {
      if (shard !== undefined || all.length === 1) return at(shard ?? 0).add(id)
      const rooms = await Promise.all(all.map((each) => each.room(id)))
      if (!rooms.some(({ isListed }) => isListed)) await at(shardOf(id, all.length)).add(id)
    },
    resize: async (id, bytes, until, shard = 0) => {
      const totals = all.map((each, index) => (index === shard ? each.resize(id, bytes, until) : each.room(id)))
      return sumOf(await Promise.all(totals))
    },
    room: async (id) => {
      const rooms = await Promise.all(all.map((each) => each.room(id)))
      return { ...sumOf(rooms), isListed: rooms.some(({ isListed }) => isListed) }
    },
    remove: async (id) => void (await Promise.all(all.map((each) => each.remove(id)))),
    list: async (after, limit) => {
      const pages = await Promise.all(all.map((each) => each.list(after, limit)))
      return pages
        .flat()
        .toSorted((a, b) => (a < b ? -1 : 1))
        .slice(0, limit)
    },
    count: (spend) => first.count(spend),
    spendTotals: (...request) => first.spendTotals(...request),
    takeAnswer: (...question) => first.takeAnswer(...question),
    settleAnswer: (...reply) => first.settleAnswer(...reply),
  }
}

function sumOf(totals: readonly StoredTotals[]): StoredTotals {
  const sum = (name: keyof StoredTotals) => totals.reduce((total, each) => total + each[name], 0)
  return { conversations: sum('conversations'), storedBytes: sum('storedBytes') }
}

/** The most calls that wait for a person, and the most names of usage, that are returned, as by one object. */
const MOST = 1000

/**
 * Returns what the objects of a tenant's directory list and count of its runs, as one. The request of a run says which
 * object that is, so a run that is reported again after their number has grown is still counted once.
 */
export function shardedRuns(directories: Objects<RunShard>, objects: number): Objects<RunDirectory> {
  return { getByName: (tenant) => mergedRuns(tenantObjects(directories, tenant, objects)) }
}

function mergedRuns({ all, at }: TenantObjects<RunShard>): RunDirectory {
  return {
    listRun: (listing, shard = 0) => at(shard).listRun(listing, shard),
    countRuns: (reports) => countRuns(reports, at),
    runs: async (query) => (await placedRuns(all, query))?.map(({ place: _place, shard: _shard, ...run }) => run),
    runCounts: async (query) => {
      const rows = (await Promise.all(all.map((each) => each.runCounts(query)))).flat()
      return sumBy(rows, ({ status }) => status, ['count', 'cost'])
    },
    approvals: async () => {
      const calls = (await Promise.all(all.map((each) => each.approvals()))).flat()
      return calls.toSorted((a, b) => a.since - b.since).slice(0, MOST)
    },
    usage: async (from, to, by, perDay) => {
      const rows = (await Promise.all(all.map((each) => each.usage(from, to, by, perDay)))).flat()
      const sums = sumBy(rows, ({ day, name }) => JSON.stringify([day, name]), USAGE_FIGURES).toSorted(byCost)
      return perDay ? sums : sums.slice(0, MOST)
    },
    series: async () => {
      const rows = (await Promise.all(all.map((each) => each.series()))).flat()
      return sumBy(rows, ({ name, labels, part, le }) => JSON.stringify([name, labels, part, le]), ['value'])
    },
    openRuns: async () => {
      const rows = (await Promise.all(all.map((each) => each.openRuns()))).flat()
      return sumBy(rows, ({ status }) => status, ['count'])
    },
  }
}

const TOKENS = ['inputTokens', 'cachedInputTokens', 'cacheWriteTokens', 'outputTokens'] as const
const USAGE_FIGURES = ['runs', 'calls', ...TOKENS, 'cost'] as const

/** Sorts usage by day, where it has one, and then the greatest cost first. */
function byCost(a: UsageRow, b: UsageRow): number {
  const { day = '' } = b
  return (a.day ?? '').localeCompare(day) || b.cost - a.cost || b.runs - a.runs || (a.name < b.name ? -1 : 1)
}

async function countRuns(reports: readonly RunReport[], at: (shard: number) => RunShard): Promise<readonly boolean[]> {
  const byShard = Map.groupBy(reports, ({ shard = 0 }) => shard)
  const isNew = new Map<RunReport, boolean>()
  await Promise.all(
    Array.from(byShard, async ([shard, own]) => {
      const counted = await at(shard).countRuns(own)
      for (const [index, report] of own.entries()) isNew.set(report, counted[index] === true)
    }),
  )
  return reports.map((report) => isNew.get(report) === true)
}

/** A run, and the number of the object that lists it. Of runs that have the same place, that of the first comes first. */
interface FoundRun extends PlacedRun {
  readonly shard: number
}

/** Returns the runs that a query wants, newest first; undefined if the run that they should come after is not listed. */
async function placedRuns(
  shards: readonly RunShard[],
  { before, ...query }: RunQuery,
): Promise<readonly FoundRun[] | undefined> {
  let bounds: readonly number[] | undefined
  if (before !== undefined) {
    const places = await Promise.all(shards.map((each) => each.placeOf(before)))
    const at = places.findIndex((place) => place !== undefined)
    const place = places[at]
    if (place === undefined) return undefined
    bounds = shards.map((_, shard) => (shard > at ? place + 1 : place))
  }
  const now = Date.now()
  const { sort } = query
  const bySort = (a: FoundRun, b: FoundRun) => (sort ? sortValue(b, sort, now) - sortValue(a, sort, now) : 0)
  const find = async (own: Pick<RunQuery, 'limit'>, ofShard: (shard: number) => object) => {
    const wanted = (shard: number) => shards[shard]?.runs({ ...query, ...own, ...ofShard(shard) }) ?? []
    const pages = await Promise.all(shards.map(async (_, shard) => withShard(await wanted(shard), shard)))
    const runs = pages.flat().toSorted((a, b) => bySort(a, b) || b.place - a.place || a.shard - b.shard)
    return query.isLatest ? firstOfEach(runs) : runs
  }
  const page = (await find(query, (shard) => (bounds ? { below: bounds[shard] } : {}))).slice(0, query.limit)
  if (!query.isLatest || !bounds || shards.length === 1) return page
  // The newest run of a conversation may be on an earlier page, from another object.
  const conversations = page.map(({ conversation }) => conversation)
  const newest = new Set((await find({ limit: conversations.length }, () => ({ conversations }))).map(({ id }) => id))
  const current = page.filter(({ id }) => newest.has(id))
  const last = page.at(-1)
  if (!last || current.length === page.length || page.length < query.limit) return current
  const others = await placedRuns(shards, { ...query, before: last.id, limit: query.limit - current.length })
  return [...current, ...(others ?? [])]
}

function firstOfEach(runs: readonly FoundRun[]): FoundRun[] {
  const ids = new Set<string>()
  return runs.filter(({ conversation }) => !ids.has(conversation) && ids.add(conversation))
}

function withShard(runs: readonly PlacedRun[], shard: number): FoundRun[] {
  return runs.map((run) => ({ ...run, shard }))
}

/** Adds up the numbers of the rows that are about the same. */
function sumBy<Name extends string, Row extends { readonly [name in Name]: number }>(
  rows: readonly Row[],
  idOf: (row: Row) => string,
  names: readonly Name[],
): Row[] {
  const sums = new Map<string, Row>()
  for (const row of rows) {
    const id = idOf(row)
    const sum = sums.get(id)
    sums.set(id, sum ? { ...row, ...Object.fromEntries(names.map((name) => [name, sum[name] + row[name]])) } : row)
  }
  return [...sums.values()]
}
