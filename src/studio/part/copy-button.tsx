import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'

/** A button that copies a text, and says so for a moment. */
export function CopyButton({ text, what }: { readonly text: () => string; readonly what: string }): JSX.Element {
  const state = useSignal('Copy')
  const copy = async () => {
    state.value = await navigator.clipboard.writeText(text()).then(
      () => 'Copied',
      () => 'Not copied',
    )
    setTimeout(() => (state.value = 'Copy'), 1500)
  }
  return (
    <button type="button" class="copy link" onClick={copy} aria-label={`Copy ${what.toLowerCase()}`}>
      <span aria-live="polite">{state}</span>
    </button>
  )
}
