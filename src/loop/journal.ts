import type { RunEvent, RunEventBody, RunFact, RunNews } from '../contract/event.ts'

/** Where a run's events go. The loop is the same whether they are kept or not. */
export interface Journal {
  /** Keeps events, all or none, and hands them to readers. Contract: throws where it cannot keep them. */
  commit(events: readonly RunFact[]): void
  /** Hands news to readers; it need not be kept. */
  show(event: RunNews): void
}

/** A journal that keeps nothing: each event goes to its one reader, numbered from 1. */
export function memoryJournal(runId: string, onEvent: (event: RunEvent) => void): Journal {
  let seq = 0
  const number = (event: RunEventBody) => onEvent({ ...event, runId, seq: ++seq })
  return { commit: (events) => events.forEach(number), show: number }
}
