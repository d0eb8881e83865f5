import type { RunEvent } from '../contract/event.ts'
import type { Launched } from './launch.ts'

const HEARTBEAT_MS = 15_000
const HEARTBEAT = ': alive\n\n'

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

/**
 * A run as an event stream, each event written as it comes. The answer begins with the first thing a reader sees, so
 * that a run which fails before it can still fail with a status: `onFirst` gets that event, and may throw.
 */
export async function streamRun(
  launched: Launched,
  encoder: EventEncoder,
  { headers, onFirst }: { headers: Record<string, string>; onFirst: (event: RunEvent) => void },
): Promise<Response> {
  const begun = Promise.withResolvers<void>()
  const bytes = new TextEncoder()
  let left = false
  let hasBegun = false
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => {
      const send = (text: string) => {
        if (text !== '' && !left) controller.enqueue(bytes.encode(text))
      }
      const heartbeat = setInterval(() => send(HEARTBEAT), HEARTBEAT_MS)
      const onEvent = (event: RunEvent) => {
        if (!hasBegun && !isPrelude(event)) {
          onFirst(event)
          hasBegun = true
          begun.resolve()
        }
        send(encoder.event(event))
      }
      launched
        .follow(onEvent)
        .then(
          () => {
            begun.resolve()
            send(encoder.end())
            if (!left) controller.close()
          },
          (error: unknown) => {
            begun.reject(error)
            if (!left) controller.error(error)
          },
        )
        .finally(() => clearInterval(heartbeat))
    },
    cancel: () => {
      left = true
      launched.leave()
    },
  })
  await begun.promise
  return new Response(stream, { headers: { ...SSE_HEADERS, ...headers } })
}

function isPrelude({ type }: RunEvent): boolean {
  return type === 'run.started' || type === 'step.started' || type === 'run.resumed'
}
