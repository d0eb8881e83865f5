import type { NewsFilter } from '../../contract/conversation.ts'
import type { RunEvent } from '../../contract/event.ts'
import { failedProblem, runHeaders, type RunRef, throwIfFailed } from '../runs/start-run.ts'
import type { RunHandle } from '../runs/run-handle.ts'
import { burst, HEARTBEAT_MS } from '../../wire/sse.ts'
import { isTerminal, type RunRecord } from '../../contract/run.ts'
import { Problem } from '../problem.ts'
import { encodeEvent } from '../../wire/events.ts'

const HEARTBEAT = ': alive\n\n'

const bytes = new TextEncoder()

/** How many bytes may wait for a client before a stored run is read no further; the journal has its events. */
const MOST_BUFFERED_BYTES = 1024 * 1024

/** Encodes the events of a run as the text of a response. */
interface EventEncoder {
  /** Returns the text of an event; may be empty. */
  event(event: RunEvent): string
  /** Returns the text after the last event; may be empty. */
  end(): string
  /** Which news it encodes. Default: all. */
  readonly news?: NewsFilter
  /** Whether the client can still be told to discard the text of the current step, or has none. Default: yes. */
  readonly canRestart?: () => boolean
}

export const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

export interface StreamOptions {
  /** In addition to the headers of every run. */
  readonly headers?: Readonly<Record<string, string>>
  /** Whether the response begins before the first event: the run was there before, and its failure is an event. Default: no. */
  readonly beginsAtOnce?: boolean | undefined
}

/**
 * Answers with a run as an event stream, each event written as it comes. The response to who has started the run begins
 * with the first visible event, so that a run that fails before can still have an error status; if the run is stored,
 * with the first heartbeat at the latest.
 */
export async function streamRun(
  handle: RunHandle,
  encoder: EventEncoder,
  { headers, beginsAtOnce = false }: StreamOptions = {},
): Promise<Response> {
  const firstEvent = Promise.withResolvers<void>()
  let drain = Promise.withResolvers<void>()
  /** The number of bytes queued since the client last had read everything. */
  let bufferedBytes = 0
  const ended = Promise.withResolvers<void>()
  let hasBegun = false
  let isClosed = false
  const begin = () => {
    hasBegun = true
    firstEvent.resolve()
  }
  if (beginsAtOnce) begin()
  /** The text of the next chunk. Each chunk costs time, so a burst of events is sent as one. */
  let pending = ''
  const source: UnderlyingSource<Uint8Array> = {
    start: (controller) => {
      const flush = () => {
        if (pending === '' || isClosed) return
        const chunk = bytes.encode(pending)
        pending = ''
        bufferedBytes += chunk.byteLength
        controller.enqueue(chunk)
      }
      const flushSoon = burst(flush)
      const onEvent = (event: RunEvent) => {
        if (!hasBegun && !isPrelude(event, handle)) {
          throwIfFailed(event, handle)
          begin()
        }
        pending += encoder.event(event)
        if (!hasBegun) return undefined
        flushSoon()
        if (isClosed || bufferedBytes + pending.length < MOST_BUFFERED_BYTES) return undefined
        drain = Promise.withResolvers()
        return drain.promise
      }
      const heartbeat = setInterval(() => {
        // The run may be queued behind another, for longer than clients wait for headers.
        if (handle.conversation !== undefined) begin()
        pending += HEARTBEAT
        flush()
      }, HEARTBEAT_MS)
      const end = () => {
        firstEvent.resolve()
        pending += encoder.end()
        flush()
        if (!isClosed) controller.close()
        isClosed = true
      }
      const fail = (error: unknown) => {
        firstEvent.reject(error)
        flush()
        if (!isClosed) controller.error(error)
        isClosed = true
      }
      void handle
        .follow(onEvent, encoder.news, encoder.canRestart)
        .then(end, fail)
        .finally(() => {
          clearInterval(heartbeat)
          ended.resolve()
        })
    },
    // With the default strategy, this is called when the queue is empty; with one that counts bytes, for every chunk.
    pull: () => {
      bufferedBytes = 0
      drain.resolve()
    },
    cancel: () => {
      isClosed = true
      ended.resolve()
      handle.disconnect()
      drain.resolve()
    },
  }
  const stream = openUntil(new ReadableStream(source), ended.promise)
  await firstEvent.promise
  return new Response(stream, { headers: { ...SSE_HEADERS, ...runHeaders(handle), ...headers } })
}

/** Whether no answer begins with an event. A run without a conversation waits so briefly for its model that it may still fail. */
function isPrelude({ type }: RunEvent, { conversation }: RunRef): boolean {
  if (type === 'model.waiting') return conversation === undefined
  return /^(?:history\.|(?:run|step)\.started|step\.restarted|run\.resumed|model\.retried)/.test(type)
}

/** When each stream that is under way has ended, by the body of its response. */
const endings = new WeakMap<ReadableStream, Promise<unknown>>()

/** Makes the request of a stream count as open until `ended` settles. Returns the stream. */
export function openUntil<Body extends ReadableStream>(body: Body, ended: Promise<unknown>): Body {
  endings.set(body, ended)
  return body
}

/** Passes a stream of another Worker on, whose request counts as open until it ends or is cancelled. */
export function passThrough(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  // In workerd, an identity stream passes bytes on outside of JavaScript.
  const Identity = typeof IdentityTransformStream === 'undefined' ? TransformStream : IdentityTransformStream
  const { readable, writable } = new Identity()
  return openUntil(
    readable,
    body.pipeTo(writable).catch(() => {}),
  )
}

/** Returns when the stream of a response ends; undefined for any other response. */
export function awaitEnd({ body }: Response): Promise<unknown> | undefined {
  return body ? endings.get(body) : undefined
}

/** How long a JSON response waits for its run, by default and at most, in milliseconds. */
const MOST_WAIT_MS = 240_000

/**
 * Answers with a run in the form that the request asks for: its events, its record at once (`Prefer: respond-async`, in
 * a conversation), or its record once the run has ended or waits.
 */
async function answerRun(request: Request, handle: RunHandle): Promise<Response> {
  if (wantsEvents(request)) return streamRun(handle, { event: encodeEvent, end: () => '' })
  const prefer = request.headers.get('prefer') ?? ''
  if (/\brespond-async\b/i.test(prefer) && handle.conversation !== undefined) {
    return Response.json(await handle.record(0), { status: 202, headers: pendingRunHeaders(handle) })
  }
  return answerRecord(await handle.record(waitMs(prefer)), handle)
}

/**
 * Answers with the record of a run: 200 if the run has ended, 202 if it waits for others. Throws the Problem of a run
 * that failed, and a Problem 504 if the run still continues.
 */
export function answerRecord(record: RunRecord, handle: RunRef): Response {
  const { status, waitsFor, calls, error, finish = 'error' } = record
  if (status === 'parked' || status === 'failed') {
    const hasStarted = calls.some((call) => call.ok !== undefined)
    throw failedProblem({ finish, error }, { run: handle, hasStarted, record })
  }
  if (isTerminal(status)) return Response.json(record, { headers: runHeaders(handle) })
  const headers = pendingRunHeaders(handle)
  if (status === 'waiting' && waitsFor !== 'agent') return Response.json(record, { status: 202, headers })
  const message = 'The run is still in progress; fetch it by its id.'
  throw new Problem({ status: 504, code: 'wait_elapsed', message, extra: { runId: record.id, run: record }, headers })
}

export function wantsEvents(request: Request): boolean {
  return /\btext\/event-stream\b/i.test(request.headers.get('accept') ?? '')
}

/** Returns the headers of a run that has not ended: in a conversation, also the `location` of its record. */
function pendingRunHeaders(run: RunRef): Record<string, string> {
  const { runId, conversation } = run
  return {
    ...runHeaders(run),
    ...(conversation !== undefined && { location: `/conversations/${conversation}/runs/${runId}` }),
  }
}

/** Returns how long to wait, in milliseconds. `Prefer: wait=N`, in seconds, can only lower it. */
function waitMs(prefer: string): number {
  const seconds = /\bwait=(\d{1,6})\b/i.exec(prefer)?.[1]
  return seconds === undefined ? MOST_WAIT_MS : Math.min(Number(seconds) * 1000, MOST_WAIT_MS)
}

/** Answers with a run. `beginsAtOnce`: as in the options of `streamRun`. */
type Format = (handle: RunHandle, beginsAtOnce?: boolean) => Promise<Response>

/** The values of `?format=`, each with how it answers with a run's events, from the first on. */
export type Formats = Readonly<Record<string, Format>>

interface FormatContext {
  readonly env: { readonly formats: Formats }
  readonly req: { readonly raw: Request }
}

/** Returns the format in which a request wants its run. Called before the run starts, as it throws like `queryFormat`. */
export function answerFormat(c: FormatContext): Format {
  return queryFormat(c) ?? ((handle) => answerRun(c.req.raw, handle))
}

/**
 * Returns the format that `?format=` names, if it is there. Throws a Problem 400 for a format that no surface of this
 * edge has.
 */
export function queryFormat({ env: { formats }, req }: FormatContext): Format | undefined {
  const name = new URL(req.raw.url).searchParams.get('format')
  if (name === null) return undefined
  if (Object.hasOwn(formats, name)) return formats[name]
  const names = Object.keys(formats)
  const available = names.length > 0 ? `the formats of this edge are ${names.join(' and ')}` : 'this edge has no others'
  const message = `There is no format "${name.slice(0, 80)}"; ${available}.`
  throw new Problem({ status: 400, code: 'invalid_request', message, param: 'format' })
}
