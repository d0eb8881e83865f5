import type { RunRecord } from '../contract/run.ts'
import { recordOf } from '../loop/record.ts'
import { fold } from '../loop/fold.ts'
import { newState, type RunState } from '../loop/state.ts'
import { decodeLine, encodeLine, eventId, frameOfLine, typeOfLine } from '../wire/events.ts'
import { numberOf } from './events.ts'
import type { StoredRun } from './runs.ts'
import type { Store } from './store.ts'

/** Characters that a reader who is behind is given at a time, or a row more. */
const PORTION = 64 * 1024

/** Frames, and the number of the last event in them; no frames where there are no more. */
export interface Frames {
  readonly frames: string
  readonly last: number
}

/** A run as its journal tells it. `whole`: nothing of the journal is lost. */
export function stateOf(store: Store, stored: StoredRun): { readonly state: RunState; readonly whole: boolean } {
  const state = newState(stored.request, new Map(stored.tools.map((tool) => [tool.name, tool])))
  let whole = true
  for (const row of store.events.after(stored.id, 0)) {
    const events = row.lines.map((line) => decodeLine(line))
    whole &&= row.whole
    try {
      for (const event of events) if (event) fold(state, event)
    } catch {
      // It is JSON, and not what was written.
      whole = false
    }
    // Of an event that this edge does not know, the line is sound.
    if (events.includes(undefined) && !store.events.mend(stored.id, row)) whole = false
  }
  return { state, whole }
}

/** The whole record of a run that is not under way, or what is left of it. */
export function pastRecord(store: Store, id: string): RunRecord | undefined {
  // Whoever waited for it may have waited for longer than it was kept.
  if (store.life() !== 'open') return undefined
  const stored = store.runs.get(id)
  const state = stored && stateOf(store, stored).state
  const kept = store.runs.record(id)
  const record = state && (state.finished || !kept) ? recordOf(state) : kept
  return record && store.wholes.withLate(record)
}

/** The next kept frames of a run after a number. In the place of events that were removed stands the run as it was. */
export function pastFrames(store: Store, run: string, after: number): Frames {
  const { pruned } = store.runs.row(run) ?? {}
  const record = after < (pruned ?? 0) ? pastRecord(store, run) : undefined
  if (pruned && record) {
    const line = encodeLine({ type: 'run.snapshot', record, runId: run, seq: pruned })
    return { frames: frameOfLine('run.snapshot', eventId(run, pruned), line), last: pruned }
  }
  let frames = ''
  let last = after
  for (const row of store.events.after(run, after)) {
    frames += framesOf(run, row.lines, after)
    last = row.last
    if (frames.length > PORTION) break
  }
  return { frames, last }
}

/** The frames of those lines whose events come after a number. */
export function framesOf(run: string, lines: readonly string[], after: number): string {
  let frames = ''
  for (const line of lines) {
    const number = numberOf(line)
    if (number > after) frames += frameOfLine(typeOfLine(line), eventId(run, number), line)
  }
  return frames
}
