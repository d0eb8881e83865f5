import type { ToolControl } from '../contract/tool.ts'

/**
 * A signal that aborts once the host does not want the outcome any more; its reason is an Error with the host's word. A
 * control that fails belongs to a host that is gone: then nobody is left to abort anything.
 */
export function signalOf(control: ToolControl | undefined): AbortSignal {
  const abort = new AbortController()
  control?.whenAborted().then(
    (reason) => reason !== 'settled' && abort.abort(new Error(reason)),
    () => {},
  )
  return abort.signal
}
