import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { Content } from '../../contract/message.ts'
import { fetchJson, part } from '../api/session.ts'
import { contextFault, contextText } from '../conversation/settings.ts'
import { Contents } from '../part/contents.tsx'
import { FaultNote, ErrorNote } from '../part/problem.tsx'
import { duration } from '../part/text.ts'
import type { CatalogueTool } from './catalogue.ts'
import { Field } from './schema-field.tsx'
import { emptyOf } from './schema-value.ts'

interface Outcome {
  readonly ok: boolean
  readonly content: readonly Content[]
  readonly structured?: unknown
  readonly error?: { readonly code: string; readonly message: string }
  readonly durationMs: number
}

export interface CallFormProps {
  readonly tool: CatalogueTool
  /** A definition of the tool that is not stored, which is called instead. */
  readonly definition?: object
}

/** Calls a tool by hand: a form made from its schema, or the arguments as JSON. */
export function CallForm({ tool, definition }: CallFormProps): JSX.Element {
  const schema = tool.inputSchema ?? {}
  const value = useSignal<unknown>(emptyOf(schema, schema))
  /** The arguments as they are written, while they are written as JSON. */
  const text = useSignal<string | undefined>(undefined)
  const outcome = useSignal<Outcome | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  const isBusy = useSignal(false)
  const attempt = async (work: () => Promise<void> | void) => {
    error.value = undefined
    isBusy.value = true
    try {
      await work()
    } catch (problem) {
      error.value = problem
    }
    isBusy.value = false
  }
  const call = async () => {
    outcome.value = undefined
    const values: unknown = text.value === undefined ? (value.value ?? {}) : JSON.parse(text.value)
    const context: unknown = contextFault.value === '' ? JSON.parse(contextText.value.trim() || 'null') : null
    const json = { arguments: values, ...(context !== null && { context }), ...(definition && { definition }) }
    outcome.value = await fetchJson<Outcome>(`/tools/${part(tool.name)}/call`, { json })
  }
  const change = () => {
    if (text.value === undefined) return void (text.value = JSON.stringify(value.value ?? {}, null, 2))
    value.value = JSON.parse(text.value)
    text.value = undefined
  }
  return (
    <form
      class="stack2"
      aria-label={`Call ${tool.name}`}
      onSubmit={(event) => {
        event.preventDefault()
        void attempt(call)
      }}
    >
      <h3>
        Call it
        <button type="button" class="link" onClick={() => attempt(change)}>
          {text.value === undefined ? 'as JSON' : 'as a form'}
        </button>
      </h3>
      {text.value === undefined ? (
        <Field
          schema={schema}
          root={schema}
          name=""
          value={value.value}
          isRequired
          onChange={(next) => (value.value = next)}
        />
      ) : (
        <textarea
          class="in code"
          rows={8}
          aria-label="Arguments as JSON"
          spellcheck={false}
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
      )}
      <div class="bar">
        <button class="btn solid" disabled={isBusy.value}>
          Call
        </button>
      </div>
      <div aria-live="polite">
        {error.value !== undefined && <ErrorNote error={error.value} />}
        {outcome.value && <Came outcome={outcome.value} />}
      </div>
    </form>
  )
}

/** What came of a call. */
function Came({ outcome: { ok, content, structured, error, durationMs } }: { readonly outcome: Outcome }): JSX.Element {
  return (
    <>
      <h4>
        Result <span class="hint">{duration(durationMs)}</span>
      </h4>
      {error && <FaultNote {...error} />}
      {ok && <Contents content={content} structured={structured} />}
    </>
  )
}
