import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { ErrorNote } from '../part/problem.tsx'
import { cancel } from '../run/decide.ts'
import type { RunStore } from '../run/run-store.ts'
import { askIn } from './conversation-store.ts'
import { QuestionFields } from './options.tsx'
import { chosenTools, contextFault, model, runOptions, system } from './settings.ts'

interface ComposerProps {
  readonly conversation: string | undefined
  /** The run under way, if there is one. */
  readonly current: RunStore | undefined
}

/** Where a question is written. Enter sends it, Shift and Enter begins a line. */
export function Composer({ conversation, current }: ComposerProps): JSX.Element {
  const field = useRef<HTMLTextAreaElement>(null)
  const isBusy = useSignal(false)
  const error = useSignal<unknown>(undefined)
  useEffect(() => field.current?.focus({ preventScroll: true }), [conversation])
  const submit = async () => {
    const question = field.current?.value.trim() ?? ''
    if (question === '' || isBusy.value || contextFault.value !== '' || !field.current) return
    isBusy.value = true
    error.value = undefined
    field.current.value = ''
    await askIn(conversation, question, runOptions()).catch((problem: unknown) => {
      error.value = problem
      if (field.current) field.current.value ||= question
    })
    isBusy.value = false
  }
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      {error.value !== undefined && <ErrorNote error={error.value} />}
      <div class="line">
        <textarea
          ref={field}
          class="grow"
          rows={1}
          placeholder="Ask a question"
          aria-label="Question"
          enterkeyhint="send"
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
            event.preventDefault()
            event.currentTarget.form?.requestSubmit()
          }}
        />
        {current && (
          <button
            type="button"
            onClick={() => cancel(current.address).catch((problem: unknown) => (error.value = problem))}
          >
            Stop
          </button>
        )}
        <button class="main" disabled={isBusy.value}>
          Send
        </button>
      </div>
      <details class="settings">
        <summary>{summaryOf()}</summary>
        <QuestionFields />
      </details>
    </form>
  )
}

function summaryOf(): string {
  const tools = chosenTools.value ? `${chosenTools.value.length} tools` : 'default tools'
  return [model.value || 'default model', tools, system.value.trim() && 'own system text'].filter(Boolean).join(' · ')
}
