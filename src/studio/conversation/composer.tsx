import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Icon } from '../part/icon.tsx'
import { Menu } from '../part/menu.tsx'
import { ErrorNote } from '../part/problem.tsx'
import { cancel } from '../run/decide.ts'
import type { RunStore } from '../run/run-store.ts'
import { toolList } from '../tool/catalogue.ts'
import { askIn } from './conversation-store.ts'
import { QuestionFields } from './options.tsx'
import { chosenTools, contextFault, draft, model, models, runOptions } from './settings.ts'

interface ComposerProps {
  readonly conversation: string | undefined
  /** The run under way, if there is one. */
  readonly current: RunStore | undefined
}

/** Where a question is written. Enter sends it, Shift and Enter begins a line. A question that was not taken stays. */
export function Composer({ conversation, current }: ComposerProps): JSX.Element {
  const field = useRef<HTMLTextAreaElement>(null)
  const isBusy = useSignal(false)
  const error = useSignal<unknown>(undefined)
  useLayoutEffect(() => field.current?.focus({ preventScroll: true }), [conversation])
  useLayoutEffect(() => {
    if (draft.value !== '' && document.activeElement !== field.current) field.current?.focus()
  }, [draft.value])
  const submit = async () => {
    const question = draft.value.trim()
    if (question === '' || isBusy.value || contextFault.value !== '') return
    isBusy.value = true
    error.value = undefined
    draft.value = ''
    await askIn(conversation, question, runOptions()).catch((problem: unknown) => {
      error.value = problem
      draft.value ||= question
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
      <div>
        <textarea
          ref={field}
          rows={Math.min(8, draft.value.split('\n').length)}
          placeholder={conversation === undefined ? 'Ask a question' : 'Ask the next question'}
          aria-label="Question"
          enterkeyhint="send"
          value={draft.value}
          onInput={(event) => (draft.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
            event.preventDefault()
            event.currentTarget.form?.requestSubmit()
          }}
        />
        <div class="bar">
          <Settings />
          <span class="grow" />
          {current && (
            <button
              type="button"
              class="btn solid"
              onClick={() => cancel(current.address).catch((problem: unknown) => (error.value = problem))}
            >
              <Icon name="stop" />
              Stop
            </button>
          )}
          {(!current || draft.value.trim() !== '') && (
            <button
              class={`btn icon ${current ? '' : 'solid'}`}
              aria-label="Send"
              title="Send (Enter)"
              disabled={isBusy.value}
            >
              <Icon name="send" />
            </button>
          )}
        </div>
      </div>
    </form>
  )
}

/** What the next question is asked with. */
function Settings(): JSX.Element {
  return (
    <Menu
      look="btn quiet"
      isUpward
      label={
        <>
          <Icon name="down" />
          <span class="cut">{modelName()}</span>
          <Icon name="tool" />
          {toolCount()}
        </>
      }
    >
      <QuestionFields />
    </Menu>
  )
}

function modelName(): string {
  const name = model.value || models.value[0] || 'Default model'
  return name.split('/').at(-1) ?? name
}

/** How many tools the next question is offered. */
function toolCount(): string {
  const count =
    chosenTools.value?.length ?? toolList.value.filter(({ available, offered }) => available && offered).length
  return `${count.toLocaleString('en')} ${count === 1 ? 'tool' : 'tools'}`
}
