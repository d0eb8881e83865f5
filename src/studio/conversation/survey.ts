import type { RunSummary, StoredMessage } from '../../contract/conversation.ts'
import { contentText } from '../../contract/message.ts'
import { fetchJson, part } from '../api/session.ts'
import { shortened } from '../part/text.ts'

/** A conversation as a list shows it. */
export interface Surveyed {
  readonly id: string
  /** What was asked last. */
  readonly title: string
  /** The newest run; absent if nothing was asked yet. */
  readonly last?: RunSummary
}

const TITLE = 90
/** Requests that are under way at the same time. */
const AT_ONCE = 6

/** The ids of all conversations of the tenant, at most 1,000 at a time. */
export async function listIds(after = ''): Promise<readonly string[]> {
  const conversations = await fetchJson<readonly { readonly id: string }[]>(`/conversations?after=${part(after)}`)
  return conversations.map(({ id }) => id)
}

/** Looks into conversations, a few at a time; `onEach` is told of each. One that was deleted meanwhile is left out. */
export async function survey(
  ids: readonly string[],
  onEach: (conversation: Surveyed) => void,
  signal: AbortSignal,
): Promise<void> {
  const rest = [...ids]
  const work = async () => {
    for (let id = rest.shift(); id !== undefined && !signal.aborted; id = rest.shift()) {
      const conversation = await lookInto(id).catch(() => undefined)
      if (conversation && !signal.aborted) onEach(conversation)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

async function lookInto(id: string): Promise<Surveyed> {
  const path = `/conversations/${part(id)}`
  const [runs, messages] = await Promise.all([
    fetchJson<RunSummary[]>(`${path}/runs?limit=1`),
    fetchJson<StoredMessage[]>(`${path}/messages?limit=20`),
  ])
  const question = messages.findLast(({ message }) => message.role === 'user')?.message
  const title = question?.role === 'user' ? shortened(contentText(question.content), TITLE) : ''
  const [last] = runs
  return { id, title, ...(last && { last }) }
}
