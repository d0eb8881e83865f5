import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { caller, key, keyRefusal, takeKey } from './api/session.ts'
import { Icon, Logo } from './part/icon.tsx'
import { go, parseRoute } from './route.ts'

/** Takes the key that requests are sent with, and says why the edge did not take the one before. */
export function KeyPage(): JSX.Element {
  const field = useRef<HTMLInputElement>(null)
  const isShown = useSignal(false)
  useLayoutEffect(() => field.current?.focus(), [])
  const reason = refusalText()
  const use = (text: string) => {
    takeKey(text)
    // In place of a page that could not be loaded, that page is shown next.
    if (parseRoute(location.hash).page === 'key') go({ page: 'chat' }, true)
  }
  return (
    <div class="center">
      <form
        class="card stack"
        onSubmit={(event) => {
          event.preventDefault()
          use(field.current?.value.trim() ?? '')
        }}
      >
        <Logo isLarge />
        <div>
          <h1>Key for this edge</h1>
          <p class="dim">{keyRefusal.value ? `${location.host} asks for an API key.` : <KnownKey />}</p>
        </div>
        {reason && (
          <div class="note fail" role="alert">
            <Icon name="cross" />
            <span>
              <b>{reason.title}</b> {reason.text}
            </span>
          </div>
        )}
        <div class="field">
          <label for="key">API key</label>
          <input
            ref={field}
            id="key"
            class={reason ? 'in is-bad' : 'in'}
            {...(isShown.value ? { type: 'text' as const } : { type: 'password' as const })}
            defaultValue={keyRefusal.value ? key.value : ''}
            aria-invalid={reason !== undefined}
            autocomplete="off"
            spellcheck={false}
            required
          />
        </div>
        <label class="check">
          <input type="checkbox" onChange={(event) => (isShown.value = event.currentTarget.checked)} /> Show the key
        </label>
        <div class="bar">
          <button class="btn solid">Use key</button>
          {key.value !== '' && (
            <button type="button" class="btn quiet" onClick={() => use('')}>
              Forget it
            </button>
          )}
        </div>
        <p class="hint">
          It stays in this tab alone: closing the tab forgets it. What you may do depends on the scopes of the key.
        </p>
      </form>
    </div>
  )
}

/** What the edge knows of the key in use. */
function KnownKey(): JSX.Element {
  const { key: id, tenant, scopes } = caller.value ?? {}
  if (scopes === undefined) return <>Requests are sent without a key.</>
  return (
    <>
      {id === undefined
        ? `Requests of the tenant ${tenant} need no key here.`
        : `In use: ${id} of the tenant ${tenant}.`}{' '}
      It may use the scopes {scopes.join(', ')}.
    </>
  )
}

interface Reason {
  readonly title: string
  readonly text: string
}

/** Why the edge has refused the key; undefined if none was sent. */
function refusalText(): Reason | undefined {
  const error = keyRefusal.value
  if (!error || key.value === '') return undefined
  const answer = `The edge answered ${error.status} (${error.code}).`
  switch (error.code) {
    case 'key_expired':
      return { title: 'This key has expired.', text: `${answer} Ask who manages the keys for a new one.` }
    case 'key_disabled':
      return { title: 'This key has been disabled.', text: `${answer} Ask who manages the keys.` }
    default:
      return {
        title: 'This key was not accepted.',
        text: `${answer} Check that it is complete and for this edge.`,
      }
  }
}
