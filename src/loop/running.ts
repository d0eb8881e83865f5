import type { AgentStart } from '../contract/agent.ts'
import type { RunBudget } from '../contract/budget.ts'
import { type RunEvent, type RunEventBody, type RunFact, type RunNews, timestamps } from '../contract/event.ts'
import type { HookContext, LoopSetup } from '../contract/hook.ts'
import { withoutUndefined } from '../contract/json.ts'
import type { ContextReduction, PlacedMessage, TokenCount } from '../contract/context.ts'
import type { Content, DataMark, Message, PartRefusal } from '../contract/message.ts'
import type { ChatModel } from '../contract/model.ts'
import { messageOf, type RunFault } from '../contract/thrown.ts'
import type { Setup } from '../contract/setup.ts'
import type { Usage } from '../contract/usage.ts'
import type { ReportAddress, Tool, ToolOutcome } from '../contract/tool.ts'
import type { KnownCall } from './effects.ts'
import { fold } from './fold.ts'
import type { CallState, RunState } from './state.ts'

/** What a run needs to know of the conversation to fit its prompt into a window. */
export interface PromptPorts {
  /** The position of the run's first message. */
  readonly position: number
  /** The reduction in force as the run began. */
  readonly reduction?: ContextReduction | undefined
  /** The parts of earlier messages that servers have refused. Default: none. */
  readonly refusals?: readonly PartRefusal[] | undefined
  /** The most messages and tokens of earlier turns before they are reduced. Default: the window slides instead. */
  readonly earlier?: { readonly messages: number; readonly tokens: number } | undefined
  /**
   * Makes a summary of messages that leave a prompt of so many tokens, as estimated. Undefined if that fails. Default: there
   * are no summaries.
   */
  readonly summarize?:
    | ((
        earlier: string | undefined,
        messages: readonly Message[],
        tokens: number,
      ) => Promise<{ readonly text: string; readonly usage?: Usage } | undefined>)
    | undefined
}

/** The runs of agents that the calls of a run start. */
export interface ChildRuns {
  /** Starts the run that an agent asks for, as `startRun` of its control. */
  start(call: CallState, start: AgentStart): Promise<ToolOutcome>
  /**
   * Returns the outcome of a call that has started one; undefined if there is none yet, or it cannot be asked for, and
   * `absent` if the run was never started.
   */
  outcome(call: CallState): Promise<ToolOutcome | 'absent' | undefined>
}

/** Everything that a run needs from outside. */
export interface RunPorts {
  /** Read again for each step. */
  readonly model: ChatModel
  /** The edge's tools on offer, by name: the tools of `state.offered`. */
  readonly tools: ReadonlyMap<string, Tool>
  /** Finds tools that may join the run. Default: none are found. */
  readonly find?: (names: readonly string[]) => Promise<readonly Tool[]>
  /** The messages that the model sees before those of this run: earlier turns, a valid history in themselves. */
  readonly history: readonly PlacedMessage[]
  /** How the prompt of a run in a conversation is fitted into the window of its model. */
  readonly prompt?: PromptPorts | undefined
  /** What the model has told of its count of tokens in this conversation. Default: nothing yet. */
  readonly tokens?: TokenCount
  /** The marks of all results of earlier turns, in `history` or not. Default: those in `history`. */
  readonly marks?: readonly DataMark[]
  readonly journal: Journal
  /**
   * Whether the caller can still be told to discard the text of a step. If not, an answer that breaks off fails the
   * run. Default: yes.
   */
  readonly canRestart?: () => boolean
  /** Returns where the outcome of a call is reported. Default: outcomes that come later can only be polled. */
  readonly reportTo?: ((callId: string) => Promise<ReportAddress>) | undefined
  /** Starts the runs of agents. Default: agents run within their calls. */
  readonly children?: ChildRuns | undefined
  /** How many subrequests the run may make in this invocation. Default: any number. */
  readonly mostSubrequests?: number
  /**
   * Draws another share of the budget of the caller's key, and returns what the run may use then, in all; undefined if
   * nothing is left. Default: the run has what it was accepted with.
   */
  readonly drawBudget?: (state: RunState) => Promise<RunBudget | undefined>
  /** Cancels the run: calls in flight are aborted, and no new ones start. */
  readonly signal: AbortSignal
  readonly now: () => number
  /** Receives faults for operators. */
  readonly report: (fault: RunFault) => void
  /** Hooks and strategies. Default: none. */
  readonly loop?: LoopSetup
}

/** The only way to change a run, inside the loop and outside: its events are recorded in the order they happened. */
export interface Ledger {
  /** Folds events into the state; the next `flush` stores them. Does nothing once the run has ended. */
  readonly commit: (events: readonly RunFact[]) => void
  /**
   * Stores what was committed, all or none. Contract: called before awaiting anything that leaves this isolate, so that
   * nothing outside it depends on events that were not stored. `journal.show` flushes too. Throws the error of the
   * journal, also at every later call.
   */
  readonly flush: () => void
  readonly journal: Journal
}

/** A run in progress. */
export interface Running extends Omit<RunPorts, 'tools' | 'tokens'>, Ledger {
  readonly tokens: TokenCount
  readonly state: RunState
  readonly tools: Map<string, Tool>
  readonly loop: LoopSetup
  /** Returns how many subrequests the run may still make in this invocation. */
  readonly subrequestsLeft: () => number
  /** Calls that started before the model's answer was complete, and are still running in this isolate. */
  readonly inFlight: Map<string, Promise<void>>
  /** The ids of the calls that run in this isolate, or are about to. */
  readonly scheduled: Set<string>
  /** Called after each `commit` of the loop, and when a call of `scheduled` has ended. */
  readonly listeners: Set<() => void>
}

/** Builds the context that a hook receives. */
export function hookContext({ state, signal, history }: Pick<Running, 'state' | 'signal' | 'history'>): HookContext {
  const earlier = history.map(({ message }) => message)
  return {
    run: state.request,
    step: state.steps,
    messages: state.messages,
    history: earlier,
    marks: state.marks,
    signal,
  }
}

/** Returns the hooks and strategies of a setup, and the `report` of one of its runs. */
export function loopPorts(
  { loop, report }: Partial<Pick<Setup, 'loop' | 'report'>>,
  runId: string,
): Pick<RunPorts, 'loop' | 'report'> {
  return {
    loop,
    report: ({ isRetried, ...fault }) =>
      report?.({
        event: isRetried ? 'model.retried' : fault.model === undefined ? 'call.failed' : 'model.failed',
        runId,
        ...fault,
      }),
  }
}

/** Opens the ledger of a run. The journal gets all events committed between two flushes at once. */
export function openLedger(state: RunState, ports: Pick<RunPorts, 'journal' | 'loop' | 'report'>): Ledger {
  const { journal } = ports
  let pending: RunFact[] = []
  let failure: { readonly error: unknown } | undefined
  const flush = () => {
    if (failure) throw failure.error
    if (pending.length === 0) return
    const events = pending
    pending = []
    try {
      journal.commit(events, state)
    } catch (error) {
      // The state contains events that are not stored: the run must not continue from it.
      failure = { error }
      throw error
    }
    observe(events, state, ports)
  }
  return {
    flush,
    commit: (events) => {
      if (state.finished) return
      for (const event of events.map(withoutUndefined)) {
        fold(state, event)
        pending.push(event)
      }
    },
    journal: {
      commit: (events, after) => journal.commit(events, after),
      show: (event) => {
        flush()
        if (state.finished) return
        journal.show(event)
      },
      storeFullResult: (callId, content) => journal.storeFullResult(callId, content),
      storeLateOutcome: (callId, outcome, tool) => journal.storeLateOutcome(callId, outcome, tool),
      reportedOutcome: (callId) => journal.reportedOutcome(callId),
      fullResult: (callId) => journal.fullResult(callId),
      earlierCall: (callId) => journal.earlierCall(callId),
    },
  }
}

/** Hands stored facts to the setup's observer. */
function observe(
  events: readonly RunFact[],
  { request }: RunState,
  { loop, report }: Pick<RunPorts, 'loop' | 'report'>,
): void {
  if (!loop?.observe) return
  for (const event of events) {
    try {
      loop.observe(event, request)
    } catch (error) {
      report({ code: 'observer_failed', detail: messageOf(error) })
    }
  }
}

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
  /** Returns what is known of a call of an earlier run of the conversation; undefined if there is none that models may see. */
  earlierCall(callId: string): KnownCall | undefined
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
    earlierCall: () => undefined,
  }
}
