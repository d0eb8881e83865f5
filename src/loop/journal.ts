import { type RunEvent, type RunEventBody, type RunFact, type RunNews, timestamps } from '../contract/event.ts'
import type { Content } from '../contract/message.ts'
import type { ToolOutcome } from '../contract/tool.ts'
import type { RunState } from './state.ts'

/** Receives the events of a run. The loop does not depend on whether they are stored. */
export interface Journal {
  /**
   * Stores events, all or none, and hands them to readers; `state` is the state of the run after them. Contract: throws
   * if it cannot store them. The run then stops, and its stored events are its state.
   */
  commit(events: readonly RunFact[], state: RunState): void
  /** Hands news to readers. News need not be stored. */
  show(event: RunNews): void
  /** Stores the complete content of a result that was cut, in the same transaction as the next commit. */
  storeFullResult(callId: string, content: readonly Content[]): void
  /**
   * Stores an outcome that came after its call had been settled without it, or after an answer that does not contain
   * the call. The run may have ended by then.
   */
  storeLateOutcome(callId: string, outcome: ToolOutcome, tool: string): void
  /** Returns the outcome that was reported for a call which is answered later; undefined if there is none. */
  reportedOutcome(callId: string): ToolOutcome | undefined
  /** Returns the whole content of a result, or of notes that were put aside; undefined if there is none. */
  fullResult(callId: string): readonly Content[] | undefined
}

/**
 * Makes a journal in memory, for one request: each event goes to its one reader, numbered from 1, with its time if
 * `now` is given.
 */
export function memoryJournal(runId: string, onEvent: (event: RunEvent) => void, now?: () => number): Journal {
  let seq = 0
  const timestamp = now && timestamps(now)
  const emit = (event: RunEventBody) => onEvent({ ...event, ...timestamp?.(event), runId, seq: ++seq })
  const fullResults = new Map<string, readonly Content[]>()
  return {
    commit: (events) => events.forEach(emit),
    show: emit,
    storeFullResult: (callId, content) => void fullResults.set(callId, content),
    storeLateOutcome: () => {},
    reportedOutcome: () => undefined,
    fullResult: (callId) => fullResults.get(callId),
  }
}
