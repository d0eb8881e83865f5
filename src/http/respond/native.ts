import { isTerminal, type RunRecord } from '../../contract/run.ts'
import { Problem } from '../problem.ts'
import { type StreamOptions, streamRun } from './stream.ts'
import { failedProblem, runHeaders, type RunRef } from '../runs/start-run.ts'
import type { RunHandle } from '../runs/run-handle.ts'
import { encodeEvent } from '../../wire/events.ts'

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

/** Answers with a run. `onFirst`: as in the options of `streamRun`. */
type Format = (handle: RunHandle, onFirst?: StreamOptions['onFirst']) => Promise<Response>

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
