import type { JSX } from 'preact'
import { errorParts } from '../api/session.ts'
import { visible } from './text.ts'

/** A line that says what went wrong. */
export function ErrorNote({ error }: { readonly error: unknown }): JSX.Element {
  const { code, message } = errorParts(error)
  return <FaultNote code={code} message={message} />
}

/** An error of a run, a call or a request: its stable code, and its message. */
export function FaultNote({ code, message }: { readonly code: string; readonly message: string }): JSX.Element {
  return (
    <p class="fault" role="alert">
      <code>{code}</code> {visible(message)}
    </p>
  )
}
