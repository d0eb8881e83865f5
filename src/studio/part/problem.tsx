import type { JSX } from 'preact'
import { problemOf } from '../api/session.ts'
import { visible } from './text.ts'

/** A line that says what went wrong. */
export function Problem({ error }: { readonly error: unknown }): JSX.Element {
  const { code, message } = problemOf(error)
  return <Fault code={code} message={message} />
}

/** An error of a run, a call or a request: its stable code, and its message. */
export function Fault({ code, message }: { readonly code: string; readonly message: string }): JSX.Element {
  return (
    <p class="fault" role="alert">
      <code>{code}</code> {visible(message)}
    </p>
  )
}
