import type { RunEvent } from '../contract/event.ts'
import { pause } from '../contract/pause.ts'
import type { RunRecord } from '../contract/run.ts'
import { decodeEvents } from '../wire/events.ts'
import type { Asking } from './context.ts'
import { type Kept, keeperOf } from './keeper.ts'
import { granted, Problem } from './problem.ts'

/** A run that was accepted, and whose events can be followed once. */
export interface Launched {
  readonly runId: string
  readonly conversation?: string | undefined
  /** The run was there before: its Idempotency-Key came again. */
  readonly replayed?: boolean
  /** The input joined this run, which was under way. */
  readonly joined?: boolean
  /**
   * Hands over each event as it comes. Resolves when the run has ended or waits for others. A run that is kept waits with
   * the next one for what `onEvent` returns.
   */
  follow(onEvent: (event: RunEvent) => void | Promise<void>): Promise<void>
  /** The record once the run has ended or waits, or as it stands after `waitMs`. Not after `follow`. */
  record(waitMs: number): Promise<RunRecord>
  /** The caller has gone: ends a run that nobody else can follow, and the following of one that is kept. */
  leave(): void
}

/** How often an object may be lost while it is asked. */
const MOST_LOSSES = 5
const AFTER_LOSS_MS = 200

/**
 * Follows a run that is kept after an event, also where its object is lost meanwhile and goes on in another life. `keeper`:
 * a stub that is there.
 */
export function following(
  asking: Asking,
  { after, ...kept }: Kept & { readonly after: number },
  keeper = keeperOf(asking, kept),
): Launched {
  const { runId } = kept
  let left = false
  /** Asks once more where the object was lost: deployed anew, evicted. The stub stays broken, and another is made. */
  async function throughLosses<Value>(ask: () => Promise<Value>): Promise<Value> {
    for (let losses = 1; ; losses++) {
      try {
        return await ask()
      } catch (error) {
        // What is refused stays so, and one that is asked too much had better not be asked again.
        if (error instanceof Problem || Object(error).overloaded || losses > MOST_LOSSES) throw error
        await pause(AFTER_LOSS_MS)
        keeper = keeperOf(asking, kept)
      }
    }
  }
  return {
    ...kept,
    follow: (onEvent) =>
      throughLosses(async () => {
        if (left) return
        const { stream } = granted(await keeper.events(runId, after))
        for await (const event of decodeEvents(stream)) {
          const wait = onEvent(event)
          after = event.seq
          if (wait) await wait
          if (left) return
        }
      }),
    record: (waitMs) => {
      const until = Date.now() + waitMs
      return throughLosses(async () => granted(await keeper.record(runId, until - Date.now())).record)
    },
    leave: () => {
      left = true
    },
  }
}
