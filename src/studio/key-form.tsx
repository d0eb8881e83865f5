import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { key, takeKey } from './api/session.ts'

/** Takes the key that requests are sent with. */
export function KeyForm(): JSX.Element {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.focus(), [])
  return (
    <form
      class="page narrow-page"
      onSubmit={(event) => {
        event.preventDefault()
        takeKey(field.current?.value.trim() ?? '')
      }}
    >
      <h1>API key</h1>
      <p class="note">It stays in this tab: closing the tab forgets it.</p>
      <div class="line">
        <input ref={field} class="grow" type="password" autocomplete="off" aria-label="API key" required />
        <button class="main">Use</button>
        {key.value !== '' && (
          <button type="button" onClick={() => takeKey('')}>
            Forget
          </button>
        )}
      </div>
    </form>
  )
}
