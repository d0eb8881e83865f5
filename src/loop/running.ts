import type { RunFact } from '../contract/event.ts'
import type { Message } from '../contract/message.ts'
import type { ChatModel } from '../contract/model.ts'
import type { Tool } from '../contract/tool.ts'
import type { Journal } from './journal.ts'
import type { RunState } from './state.ts'

/** What a run needs from outside. */
export interface RunPorts {
  readonly model: ChatModel
  /** The edge's tools on offer, by name: those of `state.offered`. */
  readonly tools: ReadonlyMap<string, Tool>
  /** What the model sees before this run's own messages: earlier turns, valid by themselves. */
  readonly history: readonly Message[]
  readonly journal: Journal
  /** Cancels the run: what is in flight is told, and nothing new starts. */
  readonly signal: AbortSignal
  readonly now: () => number
  /** Takes what operators should know of a failed call. */
  readonly report: (fault: { callId: string; tool: string; code: string; detail: string }) => void
}

/** A run under way: the state, and the one way to change it. */
export interface Running extends RunPorts {
  readonly state: RunState
  /** Keeps events and folds them into the state. */
  readonly commit: (events: readonly RunFact[]) => void
}
