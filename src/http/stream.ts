import type { RunEvent } from '../contract/event.ts'
import type { Launched } from './launched.ts'
import { throwIfFailed } from './outcome.ts'
import { runHeaders } from './run-headers.ts'

const HEARTBEAT_MS = 15_000
const HEARTBEAT = ': alive\n\n'

/** Bytes that wait for a client before its run is read no further, where that can wait: a kept run is in its journal. */
const MOST_WAITING = 1024 * 1024

/** How a run's events become the text of an answer. */
export interface EventEncoder {
  /** The text that an event brings; empty for none. */
  event(event: RunEvent): string
  /** The text after the last event. */
  end(): string
}

export const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

export interface StreamOptions {
  /** Beside those of every run. */
  readonly headers?: Readonly<Record<string, string>>
  /** Gets the first event that a reader sees, and may throw. Default: throws the Problem of a run that failed. */
  readonly onFirst?: ((event: RunEvent, launched: Launched) => void) | undefined
}

/**
 * A run as an event stream, each event written as it comes. The answer begins with the first thing a reader sees, so
 * that a run which fails before it can still fail with a status.
 */
export async function streamRun(
  launched: Launched,
  encoder: EventEncoder,
  { headers, onFirst = throwIfFailed }: StreamOptions = {},
): Promise<Response> {
  const begun = Promise.withResolvers<void>()
  const bytes = new TextEncoder()
  let room = Promise.withResolvers<void>()
  /** Bytes that were sent since the reader last had read all. */
  let waiting = 0
  let left = false
  let hasBegun = false
  /** What is to be said before the first thing a reader sees; it leaves in one chunk with it: each chunk costs time. */
  let prelude = ''
  const source: UnderlyingSource<Uint8Array> = {
    start: (controller) => {
      const send = (text: string) => {
        if (text === '' || left) return
        const chunk = bytes.encode(text)
        waiting += chunk.byteLength
        controller.enqueue(chunk)
      }
      const onEvent = (event: RunEvent) => {
        if (!hasBegun) {
          if (isPrelude(event)) {
            prelude += encoder.event(event)
            return undefined
          }
          onFirst(event, launched)
          hasBegun = true
          begun.resolve()
        }
        send(prelude + encoder.event(event))
        prelude = ''
        if (left || waiting < MOST_WAITING) return undefined
        room = Promise.withResolvers()
        return room.promise
      }
      const heartbeat = setInterval(() => send(HEARTBEAT), HEARTBEAT_MS)
      const end = () => {
        begun.resolve()
        send(prelude + encoder.end())
        if (!left) controller.close()
      }
      const fail = (error: unknown) => {
        begun.reject(error)
        if (!left) controller.error(error)
      }
      void launched
        .follow(onEvent)
        .then(end, fail)
        .finally(() => clearInterval(heartbeat))
    },
    // With the default strategy this is called when nothing waits any more; one of bytes would be called at every chunk.
    pull: () => {
      waiting = 0
      room.resolve()
    },
    cancel: () => {
      left = true
      launched.leave()
      room.resolve()
    },
  }
  const stream = new ReadableStream(source)
  await begun.promise
  return new Response(stream, { headers: { ...SSE_HEADERS, ...runHeaders(launched), ...headers } })
}

function isPrelude({ type }: RunEvent): boolean {
  return /^(?:history\.|(?:run|step)\.started|run\.resumed)/.test(type)
}
