import type { ListedRun } from '../../contract/run-list.ts'
import type { RunStatus } from '../../contract/run.ts'
import { fetchJson } from '../api/session.ts'

/** The runs that are loaded at a time. */
export const RUNS_PER_PAGE = 60
const HOUR_MS = 3_600_000

/** How many runs a filter selects, by status, and what they cost. */
export interface RunCounts {
  readonly runs: number
  readonly cost: number
  readonly statuses: Partial<Record<RunStatus, number>>
}

/** The filters of the page that a person sets, beside the search and the status, with what a person calls them. */
export const FILTER_NAMES: Readonly<Record<string, string>> = {
  model: 'Model',
  key: 'Key',
  tool: 'Tool',
  error: 'Error code',
  cost: 'Cost from',
  duration: 'Duration from (ms)',
  from: 'From day (UTC)',
  to: 'To day (UTC)',
}

/** The times within which runs were accepted, by hours. */
export const TIMES: readonly (readonly [hours: string, name: string])[] = [
  ['', 'Any time'],
  ['1', 'Last hour'],
  ['24', 'Last 24 hours'],
  ['168', 'Last 7 days'],
  ['720', 'Last 30 days'],
]

/**
 * Lists the runs that a filter selects. The filter is a query of `GET /runs`, but that `since` is a number of hours up to
 * now.
 */
export async function listRuns(filter: string, before?: string): Promise<readonly ListedRun[]> {
  const query = edgeQuery(filter)
  query.set('limit', String(RUNS_PER_PAGE))
  if (before !== undefined) query.set('before', before)
  return fetchJson<ListedRun[]>(`/runs?${query}`)
}

/** Counts the runs that a filter selects, whatever their status. */
export async function countRuns(filter: string): Promise<RunCounts> {
  const query = edgeQuery(filter)
  for (const name of ['status', 'sort', 'latest']) query.delete(name)
  return fetchJson<RunCounts>(`/runs/counts?${query}`)
}

/** Returns the ids of all conversations of the tenant, at most 1,000, of an edge that does not list runs. */
export async function listIds(): Promise<readonly string[]> {
  const conversations = await fetchJson<readonly { readonly id: string }[]>('/conversations')
  return conversations.map(({ id }) => id)
}

/** Returns a run as the list has it; undefined if the list does not. */
export async function findListed(run: string): Promise<ListedRun | undefined> {
  const runs = await fetchJson<ListedRun[]>(`/runs?limit=1&query=${encodeURIComponent(run)}`)
  return runs.find(({ id }) => id === run)
}

function edgeQuery(filter: string): URLSearchParams {
  const query = new URLSearchParams(filter)
  const hours = Number(query.get('since'))
  if (hours > 0 && !query.has('from')) query.set('from', new Date(Date.now() - hours * HOUR_MS).toISOString())
  query.delete('since')
  return query
}

/**
 * Puts what was loaded again in the place of what is shown: runs that are shown change where they are. Runs that are new
 * come first, unless they are held back so that no row moves.
 */
export function mergeRuns(
  before: readonly ListedRun[],
  loaded: readonly ListedRun[],
  holdsBack: boolean,
): { readonly runs: readonly ListedRun[]; readonly heldBack: number } {
  const byId = new Map(loaded.map((run) => [run.id, run]))
  const ids = new Set(before.map(({ id }) => id))
  const current = before.map((run) => byId.get(run.id) ?? run)
  const others = loaded.filter(({ id }) => !ids.has(id))
  return holdsBack ? { runs: current, heldBack: others.length } : { runs: [...others, ...current], heldBack: 0 }
}
