import type { ComponentChildren, JSX } from 'preact'
import { EdgecallError } from '../../client/request.ts'
import { errorParts } from '../api/session.ts'
import { hrefOf } from '../route.ts'
import { Icon, type IconName } from './icon.tsx'
import { visible } from '../../contract/hidden-characters.ts'

/** A line that says what went wrong. */
export function ErrorNote({ error }: { readonly error: unknown }): JSX.Element {
  const { code, message } = errorParts(error)
  return <FaultNote code={code} message={message} />
}

interface FaultNoteProps {
  readonly code: string
  readonly message: string
  readonly children?: ComponentChildren
}

/** An error of a run, a call or a request: its stable code, its message, and what came of it. */
export function FaultNote({ code, message, children }: FaultNoteProps): JSX.Element {
  return (
    <div class="note fail" role="alert">
      <Icon name="cross" />
      <span>
        <b>{code}</b> {visible(message)}
        {children}
      </span>
    </div>
  )
}

interface EmptyProps {
  readonly icon: IconName
  readonly title: string
  readonly text?: string
  readonly children?: ComponentChildren
}

/** What stands where nothing is: what would be here, and one thing to do. */
export function Empty({ icon, title, text, children }: EmptyProps): JSX.Element {
  return (
    <div class="empty" role="status">
      <Icon name={icon} />
      <b>{title}</b>
      {text && <p>{text}</p>}
      {children && <div class="bar">{children}</div>}
    </div>
  )
}

interface UnloadedProps {
  readonly error: unknown
  /** What could not be loaded, such as `The runs`. */
  readonly what: string
  readonly onRetry: () => void
}

/** Says why a view has nothing to show: the key may not see it, or the request has failed. */
export function Unloaded({ error, what, onRetry }: UnloadedProps): JSX.Element {
  if (error instanceof EdgecallError && error.status === 403) return <NotAllowed error={error} what={what} />
  const { code, message } = errorParts(error)
  const answer =
    error instanceof EdgecallError && error.status > 0 ? `The edge answered ${error.status} (${code}). ` : ''
  return (
    <div role="alert">
      <Empty icon="warning" title={`${what} could not be loaded`} text={answer + visible(message)}>
        <button type="button" class="btn solid" onClick={onRetry}>
          Try again
        </button>
      </Empty>
    </div>
  )
}

function NotAllowed({ error, what }: { readonly error: EdgecallError; readonly what: string }): JSX.Element {
  const scope = /scope "([^"]+)"/.exec(error.message)?.[1]
  const text =
    scope === undefined ? error.message : `It lacks the scope ${scope}. Use another key, or ask who manages the keys.`
  return (
    <div role="alert">
      <Empty icon="key" title={`${what} cannot be read with this key`} text={text}>
        <a class="btn solid" href={hrefOf({ page: 'key' })}>
          Change key
        </a>
      </Empty>
    </div>
  )
}
