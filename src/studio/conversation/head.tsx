import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { Dialog } from '../part/dialog.tsx'
import { ErrorNote } from '../part/problem.tsx'
import { part, sendRequest } from '../api/session.ts'
import { go, hrefOf } from '../route.ts'
import { forgetRuns } from '../run/run-store.ts'
import { opened } from './conversation-store.ts'

/** The name of a conversation, and what can be done with it as a whole. */
export function ConversationHead({ id }: { readonly id: string }): JSX.Element {
  const isDeleting = useSignal(false)
  const error = useSignal<unknown>(undefined)
  const attempt = (work: Promise<unknown>) => work.catch((problem: unknown) => (error.value = problem))
  return (
    <header class="head">
      <h1>
        <code>{id}</code>
      </h1>
      <a class="link" href={hrefOf({ page: 'chat' })}>
        New chat
      </a>
      <button type="button" class="link" onClick={() => attempt(download(id))}>
        Export
      </button>
      <button type="button" class="link" onClick={() => (isDeleting.value = true)}>
        Delete
      </button>
      {error.value !== undefined && <ErrorNote error={error.value} />}
      {isDeleting.value && (
        <Dialog title="Delete this conversation?" onClose={() => (isDeleting.value = false)}>
          <p class="note">What runs in it is cancelled. It cannot be brought back.</p>
          <div class="line end">
            <button type="button" onClick={() => (isDeleting.value = false)}>
              Keep it
            </button>
            <button type="button" class="main" onClick={() => attempt(remove(id))}>
              Delete
            </button>
          </div>
        </Dialog>
      )}
    </header>
  )
}

/** Saves everything that the edge has of a conversation, as JSON lines. */
async function download(id: string): Promise<void> {
  const response = await sendRequest(`/conversations/${part(id)}/export`)
  const url = URL.createObjectURL(await response.blob())
  const link = Object.assign(document.createElement('a'), { href: url, download: `${id}.jsonl` })
  link.click()
  URL.revokeObjectURL(url)
}

async function remove(id: string): Promise<void> {
  await sendRequest(`/conversations/${part(id)}`, { method: 'DELETE' })
  forgetRuns(id)
  opened.value = undefined
  go({ page: 'conversations' })
}
