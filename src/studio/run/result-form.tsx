import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { ErrorNote } from '../part/problem.tsx'
import { jsonOrText } from '../part/text.ts'
import { Value } from '../part/value.tsx'
import type { RunAddress } from '../route.ts'
import { giveResult } from './decide.ts'
import type { CallView } from './run-view.ts'

/** Takes the result of a call that was left to the caller of the run. */
export function ResultForm({ call, address }: { readonly call: CallView; readonly address: RunAddress }): JSX.Element {
  const result = useRef<HTMLTextAreaElement>(null)
  const error = useSignal<unknown>(undefined)
  return (
    <form
      class="decision"
      aria-label={`Result of ${call.tool}`}
      onSubmit={(event) => {
        event.preventDefault()
        giveResult(address, call.id, jsonOrText(result.current?.value ?? '')).catch(
          (problem: unknown) => (error.value = problem),
        )
      }}
    >
      <p>
        <b>{call.tool}</b> <span class="hint">is the caller’s to run. Give its result: a text, or JSON.</span>
      </p>
      <Value value={jsonOrText(call.arguments)} label="Arguments" />
      {error.value !== undefined && <ErrorNote error={error.value} />}
      <div class="bar">
        <textarea ref={result} class="grow" rows={1} required aria-label="Result" />
        <button class="btn solid">Send result</button>
      </div>
    </form>
  )
}
