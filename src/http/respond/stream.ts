import type { RunEvent } from '../../contract/event.ts'
import type { RunHandle } from '../runs/run-handle.ts'
import { throwIfFailed } from '../runs/failed-run.ts'
import { runHeaders } from '../runs/run-headers.ts'

const HEARTBEAT_MS = 15_000
const HEARTBEAT = ': alive\n\n'

/** How many bytes may wait for a client before the reading of a stored run pauses: its events are in the journal. */
const MOST_BUFFERED_BYTES = 1024 * 1024

/** Encodes the events of a run as the text of a response. */
export interface EventEncoder {
  /** Returns the text of an event; may be empty. */
  event(event: RunEvent): string
  /** Returns the text after the last event; may be empty. */
  end(): string
}

export const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

export interface StreamOptions {
  /** In addition to the headers of every run. */
  readonly headers?: Readonly<Record<string, string>>
  /** Receives the first visible event, and may throw. Default: throws the Problem of a run that failed. */
  readonly onFirst?: ((event: RunEvent, handle: RunHandle) => void) | undefined
}

/**
 * Answers with a run as an event stream, each event written as it comes. The response begins with the first visible
 * event, so that a run that fails before can still have an error status.
 */
export async function streamRun(
  handle: RunHandle,
  encoder: EventEncoder,
  { headers, onFirst = throwIfFailed }: StreamOptions = {},
): Promise<Response> {
  const firstEvent = Promise.withResolvers<void>()
  const bytes = new TextEncoder()
  let drain = Promise.withResolvers<void>()
  /** The number of bytes queued since the client last had read everything. */
  let bufferedBytes = 0
  let isDisconnected = false
  let hasBegun = false
  /** The text of the events before the first visible one. Sent in one chunk with it, because each chunk costs time. */
  let prelude = ''
  const source: UnderlyingSource<Uint8Array> = {
    start: (controller) => {
      const send = (text: string) => {
        if (text === '' || isDisconnected) return
        const chunk = bytes.encode(text)
        bufferedBytes += chunk.byteLength
        controller.enqueue(chunk)
      }
      const onEvent = (event: RunEvent) => {
        if (!hasBegun) {
          if (isPrelude(event)) {
            prelude += encoder.event(event)
            return undefined
          }
          onFirst(event, handle)
          hasBegun = true
          firstEvent.resolve()
        }
        send(prelude + encoder.event(event))
        prelude = ''
        if (isDisconnected || bufferedBytes < MOST_BUFFERED_BYTES) return undefined
        drain = Promise.withResolvers()
        return drain.promise
      }
      const heartbeat = setInterval(() => send(HEARTBEAT), HEARTBEAT_MS)
      const end = () => {
        firstEvent.resolve()
        send(prelude + encoder.end())
        if (!isDisconnected) controller.close()
      }
      const fail = (error: unknown) => {
        firstEvent.reject(error)
        if (!isDisconnected) controller.error(error)
      }
      void handle
        .follow(onEvent)
        .then(end, fail)
        .finally(() => clearInterval(heartbeat))
    },
    // With the default strategy, this is called when the queue is empty; with one that counts bytes, for every chunk.
    pull: () => {
      bufferedBytes = 0
      drain.resolve()
    },
    cancel: () => {
      isDisconnected = true
      handle.disconnect()
      drain.resolve()
    },
  }
  const stream = new ReadableStream(source)
  await firstEvent.promise
  return new Response(stream, { headers: { ...SSE_HEADERS, ...runHeaders(handle), ...headers } })
}

function isPrelude({ type }: RunEvent): boolean {
  return /^(?:history\.|(?:run|step)\.started|run\.resumed)/.test(type)
}
