import { timedFacts } from '../../contract/report.ts'
import type { RunEvent } from '../../contract/event.ts'
import type { Setup } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'
import { decodeLine } from '../../wire/events.ts'
import type { Store } from '../store/store.ts'

/** The delays before the second, third and fourth attempts, and before all later ones, in milliseconds. */
const RETRY_DELAYS_MS = [5000, 30_000, 5 * 60_000]
const LATER_DELAY_MS = 30 * 60_000

/**
 * Reports the runs that have ended to the reporters of the setup, from their journals. A report that fails is sent again
 * later, and given up after as many attempts as its reporter says. Never rejects: each failure is logged. `by`: what is due
 * by then is reported, in epoch milliseconds; Infinity for everything, before the conversation is deleted.
 */
export async function reportRuns(store: Store, setup: Setup, by = Date.now()): Promise<void> {
  for (const { id, body, attempt } of store.outbox.due(by === Infinity ? Number.MAX_SAFE_INTEGER : by)) {
    if (body !== '') continue
    const [name, runId = ''] = id.split('/')
    const reporter = setup.reporters?.find((each) => each.name === name)
    const attempts = attempt + 1
    try {
      const run = reporter && endedRun(store, runId)
      if (run) await reporter.report(run)
      if (store.life() === 'open') store.outbox.drop(id)
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
      if (isLast) store.outbox.drop(id)
      else store.outbox.delay(id, Date.now() + (RETRY_DELAYS_MS[attempt] ?? LATER_DELAY_MS))
    }
  }
}

/** Reads a run with its facts; undefined if its request cannot be read. */
function endedRun(store: Store, id: string) {
  const stored = store.runs.get(id)
  if (!stored) return undefined
  return { request: stored.request, acceptedAt: store.runs.acceptedAt(id), facts: timedFacts(eventsOf(store, id)) }
}

function* eventsOf(store: Store, id: string): Generator<RunEvent> {
  for (const { lines } of store.events.after(id, 0)) {
    for (const line of lines) {
      const event = decodeLine(line)
      if (event) yield event
    }
  }
}
