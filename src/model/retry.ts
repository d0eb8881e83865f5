import type { ChatModel, ModelError } from '../contract/model.ts'
import { pause } from '../contract/pause.ts'
import { attempts } from './attempts.ts'

export interface RetryOptions {
  /** Requests in all. Default 3. */
  readonly attempts?: number | undefined
  /** From 0 to 1, below 1. Default `Math.random`. */
  readonly random?: (() => number) | undefined
  /** Contract: resolves after so many milliseconds, or as soon as `signal` aborts. */
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined
}

const SHORTEST_MS = 500
const LONGEST_MS = 8000
/** A provider that wants to be left alone for longer is not waited for. */
const LONGEST_ASKED_MS = 60_000

/**
 * A model that is asked again when it fails before its first event, in a way that may be gone at the next try. It waits
 * as long as the provider says, up to 60 s, else a random time below 0.5 s, 1 s, … 8 s. A longer wait, or the last
 * failure, stands as it is.
 */
export function retrying(model: ChatModel, options: RetryOptions = {}): ChatModel {
  const { attempts: most = 3, random = Math.random, sleep = pause } = options

  function waitMs({ retryAfterMs = 0 }: ModelError, failures: number): number {
    // "At once" is no advice to a crowd: it waits its random time too.
    return retryAfterMs || random() * Math.min(SHORTEST_MS * 2 ** (failures - 1), LONGEST_MS)
  }

  return {
    ...model,
    stream: (request, signal) => {
      const ask = () => model.stream(request, signal)
      return attempts(ask, async (error, failures) => {
        const wait = waitMs(error, failures)
        if (!error.retryable || failures >= most || wait > LONGEST_ASKED_MS) return undefined
        if (!signal.aborted) await sleep(wait, signal)
        return signal.aborted ? undefined : ask()
      })
    },
  }
}
