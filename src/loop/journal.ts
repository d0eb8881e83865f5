import type { RunEvent, RunEventBody, RunFact, RunNews } from '../contract/event.ts'
import type { RunState } from './state.ts'

/** Where a run's events go. The loop is the same whether they are kept or not. */
export interface Journal {
  /**
   * Keeps events, all or none, and hands them to readers; `state` is the run's with them. Contract: throws where it
   * cannot keep them, and the run is then given up: what was kept tells how it stands.
   */
  commit(events: readonly RunFact[], state: RunState): void
  /** Hands news to readers; it need not be kept. */
  show(event: RunNews): void
}

/** A journal that keeps nothing: each event goes to its one reader, numbered from 1. */
export function memoryJournal(runId: string, onEvent: (event: RunEvent) => void): Journal {
  let seq = 0
  const number = (event: RunEventBody) => onEvent({ ...event, runId, seq: ++seq })
  return { commit: (events) => events.forEach(number), show: number }
}
