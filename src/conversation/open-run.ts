import type { RunFact } from '../contract/event.ts'
import type { RunError } from '../contract/run.ts'
import type { Setup } from '../contract/setup.ts'
import { cutShort, isWithOthers, windDown } from '../loop/decide.ts'
import { started } from '../loop/recover.ts'
import { type Ledger, loopPorts, openLedger } from '../loop/running.ts'
import type { RunState } from '../loop/state.ts'
import { failedRun } from '../loop/verdict.ts'
import { type JournalPorts, RunJournal } from './journal.ts'
import { stateOf } from './past.ts'
import type { StoredRun } from './runs.ts'

/** A run in memory: folded from its journal, and driven by at most one `run()` at a time. */
export interface OpenRun {
  readonly stored: StoredRun
  readonly state: RunState
  readonly journal: RunJournal
  /** The one way to change it, for `run()` and for all others. */
  readonly ledger: Ledger
  readonly abort: AbortController
  /** A part of its journal is lost: what it did cannot be known. */
  readonly isBroken: boolean
  /** The object was lost while the run was under way. */
  interrupted: boolean
  /** What it holds is not what is kept any more. */
  isLost?: boolean
  driving?: Promise<void>
}

/** Folds a run from its journal. */
export function openRun(ports: JournalPorts & { readonly setup: Setup }, stored: StoredRun): OpenRun {
  const { state, whole } = stateOf(ports.store, stored)
  const journal = new RunJournal(ports, stored)
  return {
    stored,
    state,
    journal,
    ledger: openLedger(state, { journal, ...loopPorts(ports.setup, stored.id) }),
    abort: new AbortController(),
    isBroken: !whole,
    interrupted: state.status === 'running',
  }
}

/** Whether a run waits for a person or for its caller. */
export function waits({ state }: OpenRun): boolean {
  return state.status === 'waiting' && (state.step?.calls.some(isWithOthers) ?? false)
}

/** Lives of the object that one run may take: it is given up when it was lost more often. */
const MOST_INTERRUPTIONS = 5
/** How long a run may go without getting ahead; waiting for people and for its caller is not counted. */
const MOST_IDLE_MS = 5 * 60 * 1000

export const NO_PROGRESS: RunError = {
  code: 'no_progress',
  message: `The run did not get ahead for ${MOST_IDLE_MS / 60_000} minutes and was given up.`,
}

/** Why a run is not taken up once more; undefined where it is. */
export function reasonToEnd({ stored, isBroken, state }: OpenRun, now: number): RunError | undefined {
  if (state.status === 'cancelling') return undefined
  if (isBroken) return { code: 'run_lost', message: 'A part of what this run did could not be read any more.' }
  if (stored.interrupted >= MOST_INTERRUPTIONS) {
    const message = `The run was interrupted ${MOST_INTERRUPTIONS} times and was given up.`
    return { code: 'interrupted', message }
  }
  return now - (stored.stalled ?? now) >= MOST_IDLE_MS ? NO_PROGRESS : undefined
}

/** Whether a run under way has not been heard of for too long; its calls may take the time that they have. */
export function hangs({ state, journal }: OpenRun, now: number): boolean {
  const deadlines = started(state).map((call) => call.deadline ?? 0)
  return now - Math.max(journal.heardAt, ...deadlines) >= MOST_IDLE_MS
}

/** How a run ends that is given up: as cancelled where it was about to be. */
export function givenUp({ state }: OpenRun, { code, message }: RunError): RunFact[] {
  if (state.status === 'cancelling') return windDown(state, 'cancelled')
  return cutShort(state, message, failedRun(state, { code, message }))
}

/** Changes a run, and keeps that before anything else is done. */
export function commit({ ledger }: OpenRun, ...events: readonly RunFact[]): void {
  ledger.commit(events)
  ledger.flush()
}
