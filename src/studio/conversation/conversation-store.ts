import { signal } from '@preact/signals'
import type { RunSummary, StoredMessage } from '../../contract/conversation.ts'
import type { ListedRun } from '../../contract/run-list.ts'
import { fetchJson, part, sendRequest } from '../api/session.ts'
import { hasEnded } from '../run/run-view.ts'
import { watchRun } from '../run/run-store.ts'
import { go } from '../route.ts'
import { type ConversationTurn, turnsOf } from './turns.ts'

/** The turns that are loaded at a time. */
export const PAGE = 40
/** How many messages are loaded for so many turns, at most as many as the edge lists. */
const MESSAGES = 1000

export interface Opened {
  readonly id: string
  readonly turns: readonly ConversationTurn[]
  /** Whether there may be older turns. */
  readonly hasMore: boolean
}

/** The conversation that is current; undefined for one that does not exist yet. */
export const opened = signal<Opened | undefined>(undefined)
export const openingError = signal<unknown>(undefined)

/** The conversation that was asked for last: answers about another one come too late. */
let wanted: string | undefined

/** Shows a conversation, and follows those of its runs that have not ended. One that is current stays if this fails. */
export async function openConversation(id: string | undefined, most = PAGE): Promise<void> {
  wanted = id
  openingError.value = undefined
  if (id === undefined) {
    opened.value = undefined
    return
  }
  const path = `/conversations/${part(id)}`
  try {
    const [runs, messages] = await Promise.all([
      fetchJson<RunSummary[]>(`${path}/runs?limit=${most}`),
      fetchJson<StoredMessage[]>(`${path}/messages?limit=${MESSAGES}`),
    ])
    if (wanted !== id) return
    const hasMore = runs.length === most
    opened.value = { id, turns: turnsOf(messages, runs, hasMore), hasMore }
    for (const run of runs) if (!hasEnded(run)) watchRun({ conversation: id, run: run.id })
  } catch (error) {
    if (wanted === id && opened.peek()?.id !== id) openingError.value = error
  }
}

/** Shows the runs of a conversation that began elsewhere, such as in another tab. */
export async function followOthers(id: string): Promise<void> {
  const current = opened.peek()
  if (current?.id !== id) return
  const [newest] = await fetchJson<RunSummary[]>(`/conversations/${part(id)}/runs?limit=1`).catch(() => [])
  const isKnown = newest === undefined || current.turns.some(({ run }) => run === newest.id)
  if (!isKnown && opened.peek() === current) await openConversation(id, Math.max(PAGE, current.turns.length + 1))
}

/** Asks in a conversation, which is created for the first question. Shows the run as it happens. */
export async function askIn(id: string | undefined, question: string, options: object): Promise<void> {
  const conversation = id ?? (await createConversation())
  const response = await sendRequest(`/conversations/${part(conversation)}/runs`, {
    json: { input: question, ...options },
    headers: { accept: 'text/event-stream' },
  })
  const run = response.headers.get('x-run-id') ?? ''
  const summary: RunSummary = { id: run, status: 'queued', created: Date.now() }
  const turn: ConversationTurn = { run, question, steps: [], summary, canFork: false, isReplaced: false }
  const current = opened.value?.id === conversation ? opened.value : { id: conversation, turns: [], hasMore: false }
  opened.value = { ...current, turns: [...current.turns, turn] }
  watchRun({ conversation, run }, response)
  // The newest run is selected unless the address names another one.
  go({ page: 'chat', conversation, run }, id !== undefined)
  loadRecent().catch(() => {})
}

export async function createConversation(): Promise<string> {
  const { id } = await fetchJson<{ id: string }>('/conversations', { json: {} })
  return id
}

/** Makes a new conversation that begins as this one, up to the message at a position. */
export async function fork(conversation: string, at: number): Promise<string> {
  const { id } = await fetchJson<{ id: string }>(`/conversations/${part(conversation)}/fork`, { json: { at } })
  return id
}

/** The most conversations in the list of recent ones. */
const MOST_RECENT = 12

/** The conversations with the newest runs, by these runs. */
export const recentChats = signal<readonly ListedRun[]>([])

/** Loads them. An edge that lists no runs has none. */
export async function loadRecent(): Promise<void> {
  const runs = await fetchJson<ListedRun[]>(`/runs?latest=true&limit=${MOST_RECENT}`)
  if (JSON.stringify(runs) !== JSON.stringify(recentChats.peek())) recentChats.value = runs
}
