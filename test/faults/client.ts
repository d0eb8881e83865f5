import { EventSourceParserStream } from 'eventsource-parser/stream'
import type { RunEvent } from '../../src/contract/event.ts'
import type { RunRecord } from '../../src/contract/run.ts'
import type { RunSummary, StoredMessage } from '../../src/contract/conversation.ts'

/** An event as a stream brought it. */
export interface Frame {
  readonly id: string
  readonly type: string
  /** The JSON line. */
  readonly data: string
  readonly event: RunEvent
}

export interface Answer {
  readonly status: number
  readonly body: unknown
}

/** Posts JSON. Rejects where no answer comes. */
export async function post(url: string, json: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(json),
  })
  return { status: response.status, body: await response.json() }
}

export async function get(url: string): Promise<unknown> {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`GET ${new URL(url).pathname}: ${response.status} ${await response.text()}`)
  return response.json()
}

/** A conversation of the edge at `url`. */
export function conversation(url: string, id: string) {
  const path = `${url}/conversations/${id}`
  return {
    make: () => post(`${url}/conversations`, { id }),
    /** Posts a run, and does not wait for its end. */
    start: (body: object, key: string) =>
      post(`${path}/runs`, body, { prefer: 'respond-async', 'idempotency-key': key }),
    /** Posts a run, and waits for its record. */
    startAndWait: (body: object, key: string) => post(`${path}/runs`, body, { 'idempotency-key': key }),
    runs: () => get(`${path}/runs`) as Promise<RunSummary[]>,
    run: (run: string) => get(`${path}/runs/${run}`) as Promise<RunRecord>,
    messages: () => get(`${path}/messages`) as Promise<StoredMessage[]>,
    /** The frames after an event, by its id, until the stream ends. Rejects where it breaks. Default: all of them. */
    async *events(run: string, after?: string): AsyncGenerator<Frame, void> {
      const headers: Record<string, string> = after === undefined ? {} : { 'last-event-id': after }
      const response = await fetch(`${path}/runs/${run}/events`, { headers })
      // The run has ended, and the reader has all of it.
      if (response.status === 204) return
      if (!response.ok || !response.body) throw new Error(`GET events of ${run}: ${response.status}`)
      const frames = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
      for await (const { id = '', event = '', data } of frames) {
        yield { id, type: event, data, event: JSON.parse(data) as RunEvent }
      }
    },
  }
}
