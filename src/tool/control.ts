import type { ToolControl } from '../contract/tool.ts'

/**
 * Returns a signal that aborts once the host no longer wants the outcome; its reason is an Error whose message is the
 * host's reason, such as `timeout`. If the control fails, the host is gone, and the signal never aborts.
 */
export function signalOf(control: ToolControl | undefined): AbortSignal {
  const abort = new AbortController()
  control?.whenAborted().then(
    (reason) => reason !== 'settled' && abort.abort(new Error(reason)),
    () => {},
  )
  return abort.signal
}
