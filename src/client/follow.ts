import { isObject } from '../contract/json.ts'
import { pause } from '../contract/pause.ts'
import { readSse } from '../wire/sse.ts'
import { EdgecallError } from './error.ts'
import type { EventOf } from './types.ts'

/** Milliseconds before a stream is asked for again, attempt by attempt that brings no event. */
const DELAYS_MS = [0, 250, 500, 1000, 2000, 4000, 8000]

/**
 * The events of a run until it ends or waits for others. `open` answers with them, from the start or after an event.
 * With `mayReopen` a connection that is lost is made again from the last event. Throws an EdgecallError for what the edge
 * refuses, and once it stays away for about 16 seconds.
 */
export async function* follow<Tool extends string>(
  open: (after: EventOf<Tool> | undefined) => Promise<Response>,
  { mayReopen, signal }: { mayReopen: boolean; signal: AbortSignal | undefined },
): AsyncGenerator<EventOf<Tool>, void> {
  let last: EventOf<Tool> | undefined
  for (let attempt = 0; ; attempt++) {
    try {
      const { body } = await open(last)
      for await (const frames of body ? readSse(body) : []) {
        for (const { data } of frames) {
          last = eventOf<Tool>(data)
          attempt = 0
          yield last
        }
      }
      if (last?.type === 'run.finished' || last?.type === 'run.waiting') return
      throw new Error('The stream ended before its run did.')
    } catch (cause) {
      signal?.throwIfAborted()
      const delay = DELAYS_MS[attempt]
      if (cause instanceof EdgecallError && !isPassing(cause)) throw cause
      if (!mayReopen || delay === undefined) throw cause instanceof EdgecallError ? cause : cut(last?.runId, cause)
      await pause(delay, signal)
      signal?.throwIfAborted()
    }
  }
}

/** An event as the edge wrote it; that its tools are known ones is what the caller says. */
function eventOf<Tool extends string>(line: string): EventOf<Tool> {
  const event: EventOf<Tool> = JSON.parse(line)
  if (isObject(event)) return event
  throw new TypeError('An event is an object.')
}

/** Whether it was not the edge that answered. */
function isPassing({ code }: EdgecallError): boolean {
  return code === 'unreachable' || code.startsWith('http_5')
}

function cut(runId: string | undefined, cause: unknown): EdgecallError {
  return new EdgecallError('The events of the run broke off.', { code: 'stream_cut', runId, cause })
}
