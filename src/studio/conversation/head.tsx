import { download } from '../part/download.ts'
import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useLoaded } from '../api/loaded.ts'
import { costText, fetchJson, part, sendRequest } from '../api/session.ts'
import { Dialog } from '../part/dialog.tsx'
import { Icon } from '../part/icon.tsx'
import { ErrorNote } from '../part/problem.tsx'
import { runLook, StateBadge } from '../part/state.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { amount, shortened } from '../part/text.ts'
import { go, hrefOf } from '../route.ts'
import { forgetRuns, type RunStore } from '../run/run-store.ts'
import type { Usage } from '../../contract/usage.ts'
import { loadRecent, type Opened, opened, recentChats } from './conversation-store.ts'

interface HeadProps {
  /** Undefined for a new chat. */
  readonly id: string | undefined
  readonly transcript: Opened | undefined
  /** The run under way, if there is one. */
  readonly current: RunStore | undefined
}

/** The title of a conversation, and what can be done with it as a whole. */
export function ConversationHead({ id, transcript, current }: HeadProps): JSX.Element {
  const isDeleting = useSignal(false)
  const error = useSignal<unknown>(undefined)
  const attempt = (work: Promise<unknown>) => work.catch((problem: unknown) => (error.value = problem))
  if (id === undefined) {
    return (
      <header class="head">
        <h1>New chat</h1>
      </header>
    )
  }
  return (
    <>
      <header class="head">
        <h1 class="cut" title={id}>
          {titleOf(id, transcript)}
        </h1>
        {current && (
          <span class="nophone">
            <StateBadge look={runLook(current.view.value.status)} />
          </span>
        )}
        <span class="grow" />
        <Spending id={id} turns={transcript?.turns.length ?? 0} isBusy={current !== undefined} />
        <button type="button" class="btn quiet nophone" onClick={() => attempt(exportConversation(id))}>
          Export
        </button>
        <button type="button" class="btn quiet nophone" onClick={() => (isDeleting.value = true)}>
          Delete
        </button>
        <a class="btn" href={hrefOf({ page: 'chat' })} aria-label="New chat">
          <Icon name="plus" />
          <span class="nophone">New chat</span>
        </a>
      </header>
      {error.value !== undefined && <ErrorNote error={error.value} />}
      {isDeleting.value && (
        <Dialog title="Delete this chat?" onClose={() => (isDeleting.value = false)}>
          <p class="dim">
            Its runs stop, and nobody can read it any more. For 30 days, an operator of an edge on Cloudflare can bring
            it back as it was at a time: <code>edgecall rewind {id} TIME</code>. A local edge cannot.
          </p>
          <div class="bar">
            <span class="grow" />
            <button type="button" class="btn" onClick={() => (isDeleting.value = false)}>
              Cancel
            </button>
            <button type="button" class="btn danger" onClick={() => attempt(remove(id))}>
              Delete
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}

/** What the conversation has cost in all. */
function Spending({
  id,
  turns,
  isBusy,
}: {
  readonly id: string
  readonly turns: number
  readonly isBusy: boolean
}): JSX.Element | null {
  const { state } = useLoaded(() => fetchJson<Usage>(`/conversations/${part(id)}/usage`), [id, turns, isBusy])
  const { inputTokens, outputTokens, cost } = state.value.value ?? {}
  if (inputTokens === undefined || outputTokens === undefined) return null
  const words = [`${amount(inputTokens + outputTokens)} tokens`, cost !== undefined && costText(cost)]
  return <span class="faint nophone num">{words.filter(Boolean).join(' · ')}</span>
}

/** A conversation is called by its first question, where that is loaded, else by its latest. */
function titleOf(id: string, transcript: Opened | undefined): string {
  const first = transcript && !transcript.hasMore ? transcript.turns[0]?.question : undefined
  const question = first ?? recentChats.value.find(({ conversation }) => conversation === id)?.question
  return visible(shortened((question ?? '').trim().replaceAll(/\s+/g, ' '), 80)) || 'Chat'
}

/** Saves everything that the edge has of a conversation, as JSON lines. */
async function exportConversation(id: string): Promise<void> {
  const response = await sendRequest(`/conversations/${part(id)}/export`)
  download(`${id}.jsonl`, await response.blob())
}

async function remove(id: string): Promise<void> {
  await sendRequest(`/conversations/${part(id)}`, { method: 'DELETE' })
  forgetRuns(id)
  opened.value = undefined
  loadRecent().catch(() => {})
  go({ page: 'runs' })
}
