import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { Icon } from './icon.tsx'

interface CopyProps {
  readonly text: () => string
  /** What is copied, such as `Arguments`. */
  readonly what: string
  /** Whether it is a button with its own words, rather than one at the edge of what it copies. */
  readonly isButton?: boolean
  /** Like `isButton`, with the word alone. */
  readonly isPlain?: boolean
  /** Like `isPlain`, as the main button of a view. */
  readonly isSolid?: boolean
}

/** A button that copies a text, and says so for a moment. */
export function CopyButton({ text, what, isButton = false, isPlain = false, isSolid = false }: CopyProps): JSX.Element {
  const state = useSignal<'Copy' | 'Copied' | 'Not copied'>('Copy')
  const copy = async () => {
    state.value = await navigator.clipboard.writeText(text()).then(
      () => 'Copied',
      () => 'Not copied',
    )
    setTimeout(() => (state.value = 'Copy'), 1500)
  }
  const name = `Copy ${what.startsWith('as ') ? what : what.toLowerCase()}`
  if (isButton) {
    return (
      <button type="button" class="btn quiet" onClick={copy}>
        <Icon name="copy" />
        <span aria-live="polite">{state.value === 'Copy' ? name : state}</span>
      </button>
    )
  }
  return (
    <button
      type="button"
      class={isSolid ? 'btn solid' : isPlain ? 'btn quiet' : 'copy link'}
      onClick={copy}
      aria-label={state.value === 'Copy' ? name : `${state.value}: ${what}`}
    >
      <span aria-live="polite">{state}</span>
    </button>
  )
}
