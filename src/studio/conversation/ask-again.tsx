import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { Dialog } from '../part/dialog.tsx'
import { ErrorNote } from '../part/problem.tsx'
import { fetchJson, part } from '../api/session.ts'
import { go } from '../route.ts'
import { createConversation, fork, opened } from './conversation-store.ts'
import { QuestionFields } from './options.tsx'
import { contextFault, runOptions } from './settings.ts'
import type { ConversationTurn } from './turns.ts'

interface AskAgainProps {
  readonly conversation: string
  readonly turn: ConversationTurn
  readonly onClose: () => void
}

/** Asks a question again with another model, other tools or another system text, and compares the two runs. */
export function AskAgain({ conversation, turn, onClose }: AskAgainProps): JSX.Element {
  const error = useSignal<unknown>(undefined)
  const isBusy = useSignal(false)
  const start = async () => {
    isBusy.value = true
    try {
      const before = opened.value?.turns ?? []
      const at = before[before.findIndex(({ run }) => run === turn.run) - 1]
      // What came before the turn stays; the conversation itself is left as it is.
      const copy = at?.last === undefined ? await createConversation() : await fork(conversation, at.last)
      const { id } = await fetchJson<{ id: string }>(`/conversations/${part(copy)}/runs`, {
        json: { input: turn.question, ...runOptions() },
        headers: { prefer: 'respond-async' },
      })
      go({ page: 'compare', first: { conversation, run: turn.run }, second: { conversation: copy, run: id } })
    } catch (problem) {
      error.value = problem
      isBusy.value = false
    }
  }
  return (
    <Dialog title="Ask again" onClose={onClose}>
      <p class="dim">The question is asked in a branch of its own, and both runs are shown side by side.</p>
      <QuestionFields />
      {error.value !== undefined && <ErrorNote error={error.value} />}
      <div class="bar">
        <span class="grow" />
        <button type="button" class="btn" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="btn solid" disabled={isBusy.value || contextFault.value !== ''} onClick={start}>
          Ask and compare
        </button>
      </div>
    </Dialog>
  )
}
