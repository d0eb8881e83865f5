import { type RunReporter, timedFacts, type UnendedRun } from '../../contract/report.ts'
import { isNewsType, type RunEvent } from '../../contract/event.ts'
import { isTerminal } from '../../contract/run.ts'
import type { Setup } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'
import { NO_USAGE } from '../../contract/usage.ts'
import { decodeLine, typeOfLine } from '../../wire/events.ts'
import { withDeadline } from '../../contract/time-limit.ts'
import { LISTING } from '../store/outbox.ts'
import type { Store } from '../store/store.ts'
import { pendingApproval } from './answers.ts'
import type { OpenRun } from './open-run.ts'

/** The delays before the second, third and fourth attempts, and before all later ones, in milliseconds. */
const RETRY_DELAYS_MS = [5000, 30_000, 5 * 60_000]
const LATER_DELAY_MS = 30 * 60_000
/** The longest time that a report may take, in milliseconds. The alarm waits for it. */
const REPORT_MS = 10_000

export interface ReportPorts {
  readonly store: Store
  readonly setup: Setup
  /** Returns an unfinished run, unless it cannot be read. */
  readonly findRun: (id: string) => OpenRun | undefined
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
  for (const notice of store.outbox.dueReports(by)) {
    const { id, attempt } = notice
    const [name, runId = ''] = id.split('/')
    const reporter = setup.reporters?.find((each) => each.name === name)
    const attempts = attempt + 1
    try {
      if (name === LISTING) await withDeadline(REPORT_MS, ports.list())
      else if (reporter) await withDeadline(REPORT_MS, reportRun(reporter, runId, ports))
      if (store.life() === 'open') store.outbox.drop(notice)
    } catch (error) {
      const isLast = attempts >= (reporter?.attempts ?? Infinity)
      setup.report({
        event: isLast ? 'report.given_up' : 'report.failed',
        reporter: name,
        runId,
        attempts,
        detail: messageOf(error),
      })
      if (store.life() !== 'open') return
      if (isLast) store.outbox.drop(notice)
      else store.outbox.delay(notice, Date.now() + (RETRY_DELAYS_MS[attempt] ?? LATER_DELAY_MS))
    }
  }
}

/** Reports a run, unless its request cannot be read. */
async function reportRun(reporter: RunReporter, id: string, { store, findRun }: ReportPorts): Promise<void> {
  const status = store.runs.row(id)?.status
  const request = store.runs.request(id)
  if (!status || !request) return
  const expires = store.time('expires')
  const acceptedAt = store.runs.acceptedAt(id)
  const run = { request, acceptedAt, ...(expires < Infinity && { expires }) }
  if (isTerminal(status)) {
    const batch = reporter.openBatch()
    batch.add({ ...run, facts: timedFacts(eventsOf(store, id)) })
    return batch.send()
  }
  await reporter.reportUnended?.({ ...run, status, ...(await standOf(findRun(id))) })
}

/**
 * Returns the status of an unfinished run. The journal of a parked run is not read: that may be what crashes the
 * object.
 */
async function standOf(open: OpenRun | undefined): Promise<Omit<UnendedRun, 'request' | 'acceptedAt' | 'status'>> {
  const at = Date.now()
  if (!open) return { at, since: at, tools: [], errors: [], usage: NO_USAGE, approvals: [] }
  const { calls, usage, waitingSince: since = at } = open.state
  const tools = [...new Set(calls.map(({ tool }) => tool))]
  const errors = [...new Set(calls.flatMap(({ result }) => (result?.error ? [result.error.code] : [])))]
  const approvals = await Promise.all(calls.map(({ callId }) => pendingApproval(open, callId)))
  return { at, since, tools, errors, usage, approvals: approvals.filter((each) => each !== undefined) }
}

/** Reads the facts of a run, and the first news after each, which has the time. Of news there may be thousands. */
function* eventsOf(store: Store, id: string): Generator<RunEvent> {
  let isAfterNews = false
  for (const { lines } of store.events.after(id, 0)) {
    for (const line of lines) {
      const isNewsLine = isNewsType(typeOfLine(line))
      if (isNewsLine && isAfterNews) continue
      isAfterNews = isNewsLine
      const event = decodeLine(line)
      if (event) yield event
    }
  }
}
