import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { key } from './session.ts'

/** What is loaded: nothing yet, a value, or an error in its place. The old value stays until a reload is done. */
export interface Loaded<Value> {
  readonly value?: Value
  readonly error?: unknown
  readonly isLoading: boolean
}

/** Loads a value, and again whenever `inputs` or the key change, and by `reload`. */
export function useLoaded<Value>(
  load: () => Promise<Value>,
  inputs: readonly unknown[],
): { readonly state: Signal<Loaded<Value>>; readonly reload: () => void } {
  const state = useSignal<Loaded<Value>>({ isLoading: true })
  const round = useSignal(0)
  useEffect(() => {
    let isCurrent = true
    state.value = { ...state.peek(), isLoading: true }
    load().then(
      (value) => isCurrent && (state.value = { value, isLoading: false }),
      (error: unknown) => isCurrent && (state.value = { error, isLoading: false }),
    )
    return () => void (isCurrent = false)
  }, [...inputs, key.value, round.value])
  return { state, reload: () => void round.value++ }
}
