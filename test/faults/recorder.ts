import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

/** A call of an effect tool, as the tool told of it. */
export interface Delivery {
  readonly tool: string
  readonly what: string
  readonly conversationId: string
  readonly runId: string
  readonly callId: string
  readonly idempotencyKey: string
  readonly attempt: number
  readonly deadline: number
  /** When it arrived, in epoch milliseconds. */
  readonly at: number
}

export interface Recorder {
  readonly url: string
  /** Every effect that was had, in order. */
  readonly effects: readonly Delivery[]
  close(): Promise<void>
}

/** What a wordy effect says beside its number: not so much that a small window has a part of it alone. */
const WORDS = ' and much more'.repeat(60)

/** What the recorder answers to all effects of one key; '' where there was none. */
export function effectText(effects: readonly Delivery[], key: string): string {
  const first = effects.findIndex((effect) => effect.idempotencyKey === key)
  return first < 0 ? '' : `effect ${first}${effects[first]?.tool === 'wordy' ? WORDS : ''}`
}

/** What a tool is about to do when it asks the recorder: nothing yet; its effect; or it wants to know of its effect. */
export type Place = 'called' | 'effect' | 'status'

const PLACES: Readonly<Record<string, Place>> = { '/calls': 'called', '/effects': 'effect', '/status': 'status' }

/**
 * The world that effect tools act on: a server on a free port of 127.0.0.1 that notes each effect when it arrives.
 * `pause` holds an answer back. A tool also asks before its effect (`called`), and later what became of it (`status`).
 */
export async function startRecorder(pause: (delivery: Delivery, place: Place) => Promise<unknown>): Promise<Recorder> {
  const effects: Delivery[] = []

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A connection that is kept may be closed just when the next request takes it.
    response.setHeader('connection', 'close')
    const place = PLACES[request.url ?? ''] ?? 'called'
    const delivery = { ...((await json(request)) as Delivery), at: Date.now() }
    if (place === 'effect') effects.push(delivery)
    await pause(delivery, place)
    response.end(place === 'called' ? '' : effectText(effects, delivery.idempotencyKey))
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    effects,
    close: async () => {
      server.closeAllConnections()
      await new Promise<unknown>((resolve) => server.close(resolve))
    },
  }
}
