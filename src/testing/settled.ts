import { setTimeout as sleep } from 'node:timers/promises'
import { copied } from './copied.ts'

/** An answer over RPC, or why there is none. */
export type Settled<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly reason: string }

/** Waits for an answer, and no longer than `limitMs`. */
export async function settled<Value>(answer: PromiseLike<Value>, limitMs: number): Promise<Settled<Value>> {
  const timer = new AbortController()
  const timeLimit = sleep(limitMs, undefined, { signal: timer.signal, ref: false }).then(
    () => ({ ok: false as const, reason: `no answer within ${limitMs / 1000} s` }),
    () => ({ ok: false as const, reason: '' }),
  )
  const result = await Promise.race([settledAnswer(answer), timeLimit])
  timer.abort()
  return result
}

async function settledAnswer<Value>(answer: PromiseLike<Value>): Promise<Settled<Value>> {
  try {
    return { ok: true, value: copied(await answer) }
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) }
  }
}
