import type { ListedRun } from '../../contract/run-list.ts'
import { fetchJson } from '../api/session.ts'

/** The runs that are loaded at a time. */
export const RUNS_PER_PAGE = 60

/**
 * The runs that a filter selects, newest first: a query of `GET /runs`, without `before` and `limit`. Of each conversation
 * only the newest, unless the filter has `latest=false`.
 */
export async function listRuns(filter: string, before?: string): Promise<readonly ListedRun[]> {
  const query = new URLSearchParams(filter)
  if (query.get('latest') !== 'false') query.set('latest', 'true')
  query.set('limit', String(RUNS_PER_PAGE))
  if (before !== undefined) query.set('before', before)
  return fetchJson<ListedRun[]>(`/runs?${query}`)
}

/** The ids of all conversations of the tenant, at most 1,000, of an edge that does not list runs. */
export async function listIds(): Promise<readonly string[]> {
  const conversations = await fetchJson<readonly { readonly id: string }[]>('/conversations')
  return conversations.map(({ id }) => id)
}
