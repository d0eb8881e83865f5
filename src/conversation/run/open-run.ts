import type { RunFact } from '../../contract/event.ts'
import type { RunError } from '../../contract/run.ts'
import type { Setup } from '../../contract/setup.ts'
import { dueCalls, endEarly, isHeldUp, modelPause, windDown } from '../../loop/decide/decide.ts'
import { startedCalls } from '../../loop/recover.ts'
import { type Ledger, openLedger } from '../../loop/running.ts'
import type { RunState } from '../../loop/state.ts'
import { failedRun } from '../../loop/decide/finish.ts'
import { recordingPorts } from './fault-recorder.ts'
import { type JournalPorts, RunJournal } from './journal.ts'
import { type ReplayedRun, stateBefore, stateOf } from './replay.ts'
import type { StoredRun } from '../store/runs.ts'

/** An unfinished run in memory: folded from its journal, and driven by at most one `run()` at a time. */
export interface OpenRun {
  readonly stored: StoredRun
  readonly state: RunState
  readonly journal: RunJournal
  /** The only way to change the run, for `run()` and for everything else. */
  readonly ledger: Ledger
  readonly abort: AbortController
  /** Whether a part of the journal is lost, so that what the run did cannot be known. */
  readonly isBroken: boolean
  /** The type of a fact in the journal that only a newer version knows: this version must not continue the run. */
  readonly unknown?: string
  /** Set if the run was under way when it was opened, until that interruption has been counted. */
  wasInterrupted: boolean
  /** Whether the request that stored the run has just authenticated its caller; until the run is first performed. */
  isAuthenticated: boolean
  /** Set once the state in memory may differ from the journal; this OpenRun is then not driven again. */
  isLost?: boolean
  completion?: Promise<void>
}

/** Opens a run: folds its state from its journal. `isNew`: the run was just stored, so that it has none yet. */
export function openRun(ports: JournalPorts & { readonly setup: Setup }, stored: StoredRun, isNew = false): OpenRun {
  const replayed: ReplayedRun = isNew ? { state: stateBefore(stored), isComplete: true } : stateOf(ports.store, stored)
  const { state, isComplete, unknown } = replayed
  const journal = new RunJournal(ports, stored, isNew)
  return {
    stored,
    state,
    journal,
    ledger: openLedger(state, { journal, ...recordingPorts(ports, { state, runId: stored.id }) }),
    abort: new AbortController(),
    isBroken: !isComplete,
    ...(unknown !== undefined && { unknown }),
    // A run that waited for its model had nothing in flight.
    wasInterrupted: state.status === 'running' && !state.step?.wait?.pause,
    isAuthenticated: isNew,
  }
}

/** Whether a run waits for a person, for its caller, or for outcomes that come later. */
export function isWaiting({ state }: OpenRun): boolean {
  return state.status === 'waiting' && isHeldUp(state)
}

/** Whether a run can make progress: it waits neither for others nor for its model, or an outcome has arrived, or a poll is due. */
export function isReady(open: OpenRun, now: number): boolean {
  if (modelPause(open.state, now) !== undefined) return false
  return !isWaiting(open) || dueCalls(open.state, now).length > 0
}

/** A run fails after this many interruptions since its last progress, by the loss of the object or an error. */
const MOST_INTERRUPTIONS = 5
/**
 * The longest time without progress of a run. Only time in which an instance drives the run counts, not outages or
 * waiting for a person or the caller.
 */
const MOST_IDLE_MS = 5 * 60 * 1000

export const NO_PROGRESS: RunError = {
  code: 'no_progress',
  message: `The run made no progress for ${MOST_IDLE_MS / 60_000} minutes and was stopped.`,
}

/** Returns why a run must not start or continue; undefined if it may. */
export function reasonToEnd({ stored, isBroken, state }: OpenRun): RunError | undefined {
  if (state.status === 'cancelling') return undefined
  if (isBroken) return { code: 'run_lost', message: 'Part of the journal of this run cannot be read.' }
  if (stored.interrupted >= MOST_INTERRUPTIONS) {
    const message = `The run was interrupted ${MOST_INTERRUPTIONS} times and was stopped.`
    return { code: 'interrupted', message }
  }
  return stored.idle >= MOST_IDLE_MS ? NO_PROGRESS : undefined
}

/** Whether a run in progress has had no event for too long. Its calls in flight may take until their deadlines. */
export function isHanging({ state, journal }: OpenRun, now: number): boolean {
  const deadlines = startedCalls(state).map((call) => call.deadline ?? 0)
  return now - Math.max(journal.lastEventAt, ...deadlines) >= MOST_IDLE_MS
}

/** Returns the events that end a run with this error, or as cancelled if it is being cancelled. */
export function giveUpEvents({ state }: OpenRun, { code, message }: RunError): RunFact[] {
  if (state.status === 'cancelling') return windDown(state, 'cancelled')
  return endEarly(state, message, failedRun(state, { code, message }))
}

/** Commits events to a run and stores them at once. */
export function commit({ ledger }: OpenRun, ...events: readonly RunFact[]): void {
  ledger.commit(events)
  ledger.flush()
}
