import { ReceiverBusy, type RunReporter, timedFacts, type UnendedRun } from '../../contract/report.ts'
import { isNewsType, type RunEvent } from '../../contract/event.ts'
import { isObject } from '../../contract/json.ts'
import { isTerminal } from '../../contract/run.ts'
import type { RunFact } from '../../contract/event.ts'
import type { Setup } from '../../contract/setup.ts'
import { shardOf } from '../../contract/placement.ts'
import { messageOf } from '../../contract/thrown.ts'
import { NO_USAGE } from '../../contract/usage.ts'
import { decodeLine, typeOfLine } from '../../wire/events.ts'
import { withDeadline } from '../../contract/time-limit.ts'
import { CHILD, LISTING, PARENT } from '../store/outbox.ts'
import type { Store } from '../store/store.ts'
import { pendingApproval } from './answers.ts'
import { cancelChild, tellParent } from './children.ts'
import type { OpenRun } from './open-runs.ts'

/** The delays before the second, third and fourth attempts, and before all later ones, in milliseconds. */
const RETRY_DELAYS_MS = [5000, 30_000, 5 * 60_000]
const LATER_DELAY_MS = 30 * 60_000
/** After so many attempts, about three hours, an operator is told that a directory is behind. */
const MOST_QUIET_ATTEMPTS = 8
/** Into how many shares the waiting of all conversations is spread. */
const SHARES = 1000
/** The longest time that a report may take, in milliseconds. Those after it wait. */
export const REPORT_MS = 10_000

export interface ReportPorts {
  readonly store: Store
  readonly setup: Setup
  /** Returns an unfinished run, unless it cannot be read. */
  readonly findRun: (id: string) => OpenRun | undefined
  /** Adds a fact that changes nothing about a run, which may have ended. */
  readonly addFact: (run: string, fact: RunFact) => void
  /** Lists the conversation. */
  readonly list: () => Promise<unknown>
}

/**
 * Reports runs to the reporters of the setup: those that have ended from their journals, others as they stand; and lists
 * a new conversation. A report that fails is sent again later, and given up after as many attempts as its reporter says.
 * Never rejects: each failure is logged. `by`: what is due by then is reported, in epoch milliseconds; Infinity for
 * everything, before the conversation is deleted.
 */
export async function reportRuns(ports: ReportPorts, by = Date.now()): Promise<void> {
  const { store, setup } = ports
  // A run that has called an agent waits for its report, and nothing waits for those to directories.
  const isAwaited = ({ id }: { readonly id: string }) => id.startsWith(`${PARENT}/`)
  const notices = store.outbox.dueReports(by).toSorted((a, b) => Number(isAwaited(b)) - Number(isAwaited(a)))
  for (const notice of notices) {
    const { id, attempt } = notice
    const [name = '', runId = '', wait] = id.split(/[/.]/)
    const reporter = setup.reporters?.find((each) => each.name === name)
    const attempts = attempt + 1
    try {
      if (name === LISTING) await withDeadline(REPORT_MS, ports.list())
      else if (name === PARENT) await tellParent(runId, { ...ports, now: () => Date.now() })
      else if (name === CHILD) await cancelChild(runId, { ...ports, now: () => Date.now() })
      else if (reporter) await withDeadline(REPORT_MS, reportRun(reporter, { id: runId, wait }, ports))
      if (store.life() === 'open') store.outbox.drop(notice)
    } catch (error) {
      const isLast = attempts >= (reporter?.attempts ?? Infinity)
      const failure = { reporter: name, runId, attempts, detail: messageOf(error) }
      if (isLast) setup.report({ event: 'report.given_up', ...failure })
      else reportFailure(setup, failure)
      if (store.life() !== 'open') return
      if (isLast) store.outbox.drop(notice)
      else store.outbox.delay(notice, Math.max(nextAttempt(store, attempts), busyUntil(error)))
    }
  }
}

/** The longest wait that a receiver can ask for, in milliseconds. */
const MOST_ASKED_MS = 86_400_000

function busyUntil(error: unknown): number {
  return error instanceof ReceiverBusy ? Date.now() + Math.min(error.retryAfterMs, MOST_ASKED_MS) : 0
}

/** Logs an attempt that failed and is followed by others. */
function reportFailure(
  setup: Setup,
  failure: { reporter: string; runId: string; attempts: number; detail: string },
): void {
  setup.report({ event: failure.attempts < MOST_QUIET_ATTEMPTS ? 'report.failed' : 'report.overdue', ...failure })
}

/**
 * Returns when to report again after so many failed attempts, in epoch milliseconds. Conversations wait up to half as long
 * again, each always as long, so that they do not all ask a directory at once that has come back.
 */
function nextAttempt(store: Store, attempts: number): number {
  const delay = RETRY_DELAYS_MS[attempts - 1] ?? LATER_DELAY_MS
  const owner = store.meta('owner')
  const share = (shardOf(isObject(owner) ? String(owner.id) : '', SHARES + 1) - 1) / SHARES
  return Date.now() + Math.floor(delay * (1 + share / 2))
}

/**
 * Reports the usage that is due to be reported to the tenant's directory. If that fails, it is reported again later and
 * later.
 */
export async function reportDueSpend(
  { store, setup }: Pick<ReportPorts, 'store' | 'setup'>,
  report: () => Promise<void>,
): Promise<void> {
  const { attempts, due } = store.spendRetry()
  if (store.unreportedSpend().length === 0 || due > Date.now()) return
  try {
    await report()
    if (attempts > 0) store.setMeta('spendRetry', null)
  } catch (error) {
    const failures = attempts + 1
    reportFailure(setup, { reporter: 'spending', runId: '', attempts: failures, detail: messageOf(error) })
    if (store.life() !== 'open') return
    store.setMeta('spendRetry', { attempts: failures, due: nextAttempt(store, failures) })
  }
}

interface ReportedPart {
  readonly id: string
  /** The number of the event until which the run is reported, if it has begun to wait with that. */
  readonly wait: string | undefined
}

/** Reports a run, unless its request cannot be read. */
async function reportRun(
  reporter: RunReporter,
  { id, wait }: ReportedPart,
  { store, findRun }: ReportPorts,
): Promise<void> {
  const status = store.runs.row(id)?.status
  const request = store.runs.request(id)
  if (!status || !request) return
  const expires = store.time('expires')
  const acceptedAt = store.runs.acceptedAt(id)
  const run = { request, acceptedAt, ...(expires < Infinity && { expires }) }
  if (wait !== undefined || isTerminal(status)) {
    const batch = reporter.openBatch()
    const definitions = () => store.runs.get(id)?.tools ?? []
    const marks = () => [...store.marks(), ...(request.agent?.marks ?? [])]
    batch.add({ ...run, definitions, marks, facts: timedFacts(eventsOf(store, id, Number(wait ?? Infinity))) })
    return batch.send()
  }
  await reporter.reportUnended?.({ ...run, status, ...(await describeUnended(findRun(id))) })
}

/**
 * Returns the status of an unfinished run. The journal of a parked run is not read: that may be what crashes the
 * object.
 */
async function describeUnended(
  open: OpenRun | undefined,
): Promise<Omit<UnendedRun, 'request' | 'acceptedAt' | 'status'>> {
  const at = Date.now()
  if (!open) return { at, since: at, tools: [], errors: [], steps: 0, usage: NO_USAGE, approvals: [] }
  const { calls, steps, usage, waitingSince: since = at } = open.state
  const tools = [...new Set(calls.map(({ tool }) => tool))]
  const errors = [...new Set(calls.flatMap(({ result }) => (result?.error ? [result.error.code] : [])))]
  const approvals = await Promise.all(calls.map(({ callId }) => pendingApproval(open, callId)))
  return { at, since, tools, errors, steps, usage, approvals: approvals.filter((each) => each !== undefined) }
}

/**
 * Reads the facts of a run up to that of a number, and the first news after each, which has the time. Of news there may be
 * thousands.
 */
function* eventsOf(store: Store, id: string, last: number): Generator<RunEvent> {
  let isAfterNews = false
  for (const { lines } of store.events.after(id, 0)) {
    for (const line of lines) {
      const isNewsLine = isNewsType(typeOfLine(line))
      if (isNewsLine && isAfterNews) continue
      isAfterNews = isNewsLine
      const event = decodeLine(line)
      if (event && event.seq > last) return
      if (event) yield event
    }
  }
}
