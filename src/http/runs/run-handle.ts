import type { ConversationService, NewsFilter } from '../../contract/conversation.ts'
import type { RunEvent } from '../../contract/event.ts'
import type { OpenReports } from '../../contract/isolate.ts'
import type { ReportedRun, ReportBatch } from '../../contract/report.ts'
import type { RunRecord } from '../../contract/run.ts'
import type { Setup } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'
import { pause, within } from '../../contract/time-limit.ts'
import { Problem, unwrapReply } from '../problem.ts'
import type { EdgeContext, RequestContext } from '../request-context.ts'
import { conversationStubOfRun, LOST_CODE, type RunLocation } from './conversation-stub.ts'
import { decodeBatches } from '../../wire/events.ts'

/** A run that was accepted, and whose events can be followed once. */
export interface RunHandle {
  readonly runId: string
  readonly conversation?: string | undefined
  /** The run existed already: its Idempotency-Key was sent again. */
  readonly replayed?: boolean
  /** The input joined this run, which was under way. */
  readonly joined?: boolean
  /**
   * Passes each event to `onEvent` as it comes. Resolves when the run has ended or waits for others. If `onEvent`
   * returns a promise, the next event of a stored run waits for it. `news`: which news are needed; a stored run leaves
   * out others where that saves work. Default: all. `canRestart`: whether the reader can still be told that the text of
   * a step must be discarded; only a run that is not stored needs this. Default: yes.
   */
  follow(
    onEvent: (event: RunEvent) => void | Promise<void>,
    news?: NewsFilter,
    canRestart?: () => boolean,
  ): Promise<void>
  /** Returns the record once the run has ended or waits, or after `waitMs` in its current state. Not after `follow`. */
  record(waitMs: number): Promise<RunRecord>
  /**
   * Called when the caller has disconnected: ends a run that is not stored, or that is to be cancelled then. Of other
   * runs, only `follow` stops.
   */
  disconnect(): void
}

/** How often, at most, a request is repeated because the object was lost. */
const MOST_LOSSES = 5
const AFTER_LOSS_MS = 200

interface Connection {
  readonly stub?: ConversationService
  readonly stream?: ReadableStream<Uint8Array> | undefined
  /** The news in that stream. */
  readonly news?: NewsFilter | undefined
  /** Whether `follow` continues while the run waits for others. Default: no. */
  readonly waits?: boolean
}

/**
 * Returns a handle that follows a stored run from the event after number `after`. If the object is lost, the handle
 * reconnects to the instance that resumes the run. `stub`: an existing stub of the object. `stream`: those events, if
 * they are there already.
 */
export function storedRunHandle(
  context: EdgeContext,
  { after, ...location }: RunLocation & { readonly after: number },
  { stub = conversationStubOfRun(context, location), stream: firstStream, news: newsOfFirst, waits }: Connection = {},
): RunHandle {
  const { runId } = location
  let isDisconnected = false
  /** Returns the events that came with the start, once, if they have the news that are wanted. */
  function takeFirst(news: NewsFilter | undefined): ReadableStream<Uint8Array> | undefined {
    const stream = firstStream
    firstStream = undefined
    if (news === newsOfFirst) return stream
    void stream?.cancel()
    return undefined
  }
  /**
   * Repeats a request if the object was lost: deployed again, or evicted. Its stub stays broken, so another is made.
   */
  async function retryOnLoss<Value>(request: () => Promise<Value>): Promise<Value> {
    for (let losses = 1; ; losses++) {
      try {
        return await request()
      } catch (error) {
        // A refusal would be the same again, and an overloaded object must not get more requests.
        const isRefused = error instanceof Problem && error.details.code !== LOST_CODE
        if (isRefused || Object(error).overloaded || losses > MOST_LOSSES) throw error
        await pause(AFTER_LOSS_MS)
        stub = conversationStubOfRun(context, location)
      }
    }
  }
  return {
    ...location,
    follow: (onEvent, news) =>
      retryOnLoss(async () => {
        if (isDisconnected) return
        const stream = takeFirst(news ?? 'all') ?? unwrapReply(await stub.events(runId, after, news, waits)).stream
        for await (const events of decodeBatches(stream)) {
          // A sign of life comes as no events.
          if (isDisconnected) return
          for (const event of events) {
            const wait = onEvent(event)
            after = event.seq
            if (wait) await wait
            if (isDisconnected) return
          }
        }
      }),
    record: (waitMs) => {
      void takeFirst(undefined)
      const until = Date.now() + waitMs
      return retryOnLoss(async () => unwrapReply(await stub.record(runId, until - Date.now())).record)
    },
    disconnect: () => {
      isDisconnected = true
    },
  }
}

/** How soon a run is followed again after its object dropped it, in milliseconds. */
const AFTER_DROP_MS = 500

/**
 * Follows a stored run through all its waits until it has ended, the signal aborts, or `ms` milliseconds have passed. No
 * request is made meanwhile: its object tells.
 */
export async function followToEnd(
  context: EdgeContext,
  location: RunLocation,
  { ms, signal, news, onEvent = () => {} }: FollowOptions,
): Promise<void> {
  if (signal.aborted) return
  const handle = storedRunHandle(context, { ...location, after: 0 }, { waits: true })
  const departure = Promise.withResolvers<void>()
  let isOver = false
  const leave = () => {
    isOver = true
    departure.resolve()
  }
  signal.addEventListener('abort', leave)
  const follow = async () => {
    for (;;) {
      await handle.follow((event) => {
        if (event.type === 'run.finished') isOver = true
        return onEvent(event)
      }, news)
      if (isOver) return
      await pause(AFTER_DROP_MS)
    }
  }
  await within(ms, Promise.race([follow(), departure.promise]), undefined).finally(leave)
  signal.removeEventListener('abort', leave)
  handle.disconnect()
}

interface FollowOptions {
  readonly ms: number
  readonly signal: AbortSignal
  readonly news: NewsFilter
  readonly onEvent?: (event: RunEvent) => void | Promise<void>
}

/** Makes the handle of a stored run cancel it if the caller disconnects before the run has ended or waits. */
export function cancelledOnDisconnect(context: RequestContext, handle: RunHandle): RunHandle {
  const { request, waitUntil } = context
  let isOver = false
  const end = () => {
    isOver = true
    request.signal.removeEventListener('abort', cancel)
  }
  function cancel(): void {
    if (isOver) return
    end()
    waitUntil(conversationStubOfRun(context, handle).cancel(handle.runId))
  }
  request.signal.addEventListener('abort', cancel, { once: true })
  return {
    ...handle,
    follow: (onEvent, news) => handle.follow(onEvent, news).finally(end),
    record: (waitMs) => handle.record(waitMs).finally(end),
    disconnect: () => {
      handle.disconnect()
      cancel()
    },
  }
}

/** How often runs that are not stored are reported to each reporter. */
const MOST_ATTEMPTS = 2
/** How long a run waits for others that end on the same isolate, so that all are reported at once. */
const BATCH_MS = 100
/** After this time, the request that was to report a batch counts as lost. */
const MOST_AGE_MS = 5000
const MOST_RUNS = 100

/**
 * Reports a run that is not stored to the reporters of the setup, together with others that end within a tenth of a
 * second: the first of them waits and reports all. If that fails twice, the reports are lost, since nothing stores
 * them. Never rejects: each failure is logged.
 */
export async function reportRun(run: ReportedRun, setup: Setup): Promise<void> {
  const open = setup.isolate.reports
  const isLost = open && Date.now() > open.openedAt + MOST_AGE_MS
  if (open && !isLost && open.runIds.length < MOST_RUNS) {
    add(run, open)
    return
  }
  const batch = isLost ? { ...open, openedAt: Date.now() } : openReports(setup)
  add(run, batch)
  setup.isolate.reports = batch
  await pause(BATCH_MS)
  if (setup.isolate.reports === batch) setup.isolate.reports = undefined
  await Promise.all(Array.from(batch.reports, ([name, reports]) => send(reports, { name, ...batch }, setup)))
}

function openReports({ reporters = [] }: Setup): OpenReports {
  const reports = new Map(reporters.map((reporter) => [reporter.name, reporter.openBatch()]))
  return { openedAt: Date.now(), runIds: [], reports }
}

function add(run: ReportedRun, { runIds, reports }: OpenReports): void {
  runIds.push(run.request.runId)
  for (const each of reports.values()) each.add(run)
}

async function send(
  reports: ReportBatch,
  { name: reporter, runIds }: Pick<OpenReports, 'runIds'> & { readonly name: string },
  { report }: Setup,
): Promise<void> {
  for (let attempts = 1; attempts <= MOST_ATTEMPTS; attempts++) {
    try {
      return await reports.send()
    } catch (error) {
      const event = attempts === MOST_ATTEMPTS ? 'report.given_up' : 'report.failed'
      const detail = messageOf(error)
      for (const runId of runIds) report({ event, reporter, runId, attempts, detail })
    }
  }
}
