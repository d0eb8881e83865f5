import type { RunRecord } from '../../contract/run.ts'
import { parkedRecord } from './parked-runs.ts'
import { recordOf } from '../../loop/record.ts'
import { fold } from '../../loop/fold.ts'
import { newState, type RunState } from '../../loop/state.ts'
import { decodeLine, eventId, frameOfLine, typeOfLine, unknownFact } from '../../wire/events.ts'
import { numberOf } from '../store/events.ts'
import { isMessage } from '../store/shapes.ts'
import type { StoredRun } from '../store/runs.ts'
import type { Store } from '../store/store.ts'

/** The number of characters after which a portion for a reader who is behind ends; its last row may exceed it. */
const PORTION = 64 * 1024

/** SSE frames and the number of the last event in them. `frames` is '' if there are no more. */
export interface Frames {
  readonly frames: string
  readonly last: number
}

/** Returns the state of a run before its first event. */
export function stateBefore({ request, tools }: StoredRun, { features }: Pick<Store, 'features'>): RunState {
  return newState(request, new Map(tools.map((tool) => [tool.name, tool])), features)
}

/** A run as its journal tells it. */
export interface ReplayedRun {
  readonly state: RunState
  /** Whether nothing of the journal is lost. */
  readonly isComplete: boolean
  /** The type of a fact that only a newer version knows. Without it, what the run has done cannot be known. */
  readonly unknown?: string
}

/** Folds the state of a run from its journal. */
export function stateOf(store: Store, stored: StoredRun): ReplayedRun {
  const state = stateBefore(stored, store)
  let isComplete = true
  let unknown: string | undefined
  for (const row of store.events.after(stored.id, 0)) {
    const events = row.lines.map((line) => decodeLine(line))
    isComplete &&= row.isComplete
    try {
      for (const event of events) if (event) fold(state, event)
    } catch {
      // A line is JSON, but not the event that was written.
      isComplete = false
    }
    if (!events.includes(undefined)) continue
    // An undecoded line is broken only if it is not JSON: a newer edge may have written events unknown to this one.
    if (!store.events.mend(stored.id, row)) isComplete = false
    unknown ??= row.lines.map(unknownFact).find((type) => type !== undefined)
  }
  // A fact of the right type and the wrong shape must not reach a model.
  if (!state.messages.every(isMessage)) isComplete = false
  unknown ??= state.unfolded
  return { state, isComplete, ...(unknown && { unknown }) }
}

/** Returns the record of a run: folded from its journal or, if a finished run's journal is damaged, the stored one. */
export function replayRecord(store: Store, id: string): RunRecord | undefined {
  // The conversation may have expired while the caller waited for this record.
  if (store.life() !== 'open') return undefined
  if (store.runs.row(id)?.status === 'parked') return parkedRecord(store, id)
  const stored = store.runs.get(id)
  const state = stored && stateOf(store, stored).state
  const storedRecord = store.runs.record(id)
  const record = (state && (state.finished || !storedRecord) && readableRecord(state)) || storedRecord
  return record && store.fullResults.withLateOutcomes(record)
}

/** Returns the record of a state; undefined if a fact of the journal had another shape than the one that was written. */
function readableRecord(state: RunState): RunRecord | undefined {
  try {
    return recordOf(state)
  } catch {
    return undefined
  }
}

/** Returns the next stored frames of a run after a number. */
export function replayFrames(store: Store, run: string, after: number): Frames {
  let frames = ''
  let last = after
  for (const row of store.events.after(run, after)) {
    frames += framesAfter(run, row.lines, after)
    last = row.last
    if (frames.length > PORTION) break
  }
  return { frames, last }
}

/** Returns the frames of those lines whose events come after a number. */
export function framesAfter(run: string, lines: readonly string[], after: number): string {
  let frames = ''
  for (const line of lines) {
    const number = numberOf(line)
    if (number > after) frames += frameOfLine(typeOfLine(line), eventId(run, number), line)
  }
  return frames
}
