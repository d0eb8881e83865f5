import { signal } from '@preact/signals'
import type { ListedRun } from '../../contract/run-list.ts'
import { fetchJson } from '../api/session.ts'

const MOST = 12

/** The conversations with the newest runs, by these runs. */
export const recentChats = signal<readonly ListedRun[]>([])

/** Loads them. An edge that lists no runs has none. */
export async function loadRecent(): Promise<void> {
  const runs = await fetchJson<ListedRun[]>(`/runs?latest=true&limit=${MOST}`)
  if (JSON.stringify(runs) !== JSON.stringify(recentChats.peek())) recentChats.value = runs
}
