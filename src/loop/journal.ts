import type { RunEvent, RunEventBody, RunFact, RunNews } from '../contract/event.ts'
import type { Content } from '../contract/message.ts'
import type { ToolOutcome } from '../contract/tool.ts'
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
  /** Keeps the whole of a result that is too large to be shown, all or none with the next commit. */
  keep(callId: string, content: readonly Content[]): void
  /**
   * Keeps an outcome that nobody waited for any more: its call was settled for it, or the answer did without it. Perhaps
   * the run has ended by then.
   */
  late(callId: string, outcome: ToolOutcome): void
  /** What was kept of a call; undefined where nothing was. */
  kept(callId: string): readonly Content[] | undefined
}

/** A journal for the time of one request: each event goes to its one reader, numbered from 1. */
export function memoryJournal(runId: string, onEvent: (event: RunEvent) => void): Journal {
  let seq = 0
  const number = (event: RunEventBody) => onEvent({ ...event, runId, seq: ++seq })
  const wholes = new Map<string, readonly Content[]>()
  return {
    commit: (events) => events.forEach(number),
    show: number,
    keep: (callId, content) => void wholes.set(callId, content),
    late: () => {},
    kept: (callId) => wholes.get(callId),
  }
}
