import { isObject } from '../contract/json.ts'
import { pause } from '../contract/pause.ts'
import { readSse } from '../wire/sse.ts'
import { EdgecallError } from './error.ts'
import type { EventOf } from './types.ts'

/** The delays before each attempt to reopen a stream, in milliseconds. An event resets the attempts. */
const DELAYS_MS = [0, 250, 500, 1000, 2000, 4000, 8000]

/**
 * Yields the events of a run until it ends or waits for a person or its caller. `open` requests them, from the start or
 * after an event. With `mayReopen`, a lost connection is reopened after the last event. Throws an EdgecallError if the
 * edge refuses, and after about 16 seconds without a connection.
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
      if (!mayReopen || delay === undefined)
        throw cause instanceof EdgecallError ? cause : connectionLost(last?.runId, cause)
      await pause(delay, signal)
      signal?.throwIfAborted()
    }
  }
}

/** Parses an event. That its tools are among `Tool` is not checked: the caller asserts it. */
function eventOf<Tool extends string>(line: string): EventOf<Tool> {
  const event: EventOf<Tool> = JSON.parse(line)
  if (isObject(event)) return event
  throw new TypeError('An event is an object.')
}

/** Tells whether an error may pass: the edge was not reached, or a 5xx response had no code of an edge. */
function isPassing({ code }: EdgecallError): boolean {
  return code === 'unreachable' || code.startsWith('http_5')
}

function connectionLost(runId: string | undefined, cause: unknown): EdgecallError {
  return new EdgecallError('The event stream of the run ended early.', { code: 'stream_cut', runId, cause })
}
