import type { RunFact } from '../contract/event.ts'
import type { HookContext, LoopSetup } from '../contract/hook.ts'
import type { DataMark, Message } from '../contract/message.ts'
import type { ChatModel } from '../contract/model.ts'
import type { Setup } from '../contract/setup.ts'
import type { Tool } from '../contract/tool.ts'
import { messageOf } from '../tool/thrown.ts'
import type { Journal } from './journal.ts'
import { fold } from './fold.ts'
import type { RunState } from './state.ts'

/** What a run needs from outside. */
export interface RunPorts {
  readonly model: ChatModel
  /** The edge's tools on offer, by name: those of `state.offered`. */
  readonly tools: ReadonlyMap<string, Tool>
  /** Finds tools that join the run. Default: there are no others. */
  readonly find?: (names: readonly string[]) => Promise<readonly Tool[]>
  /** What the model sees before this run's own messages: earlier turns, valid by themselves. */
  readonly history: readonly Message[]
  /** What was read in results of earlier turns, `history` or not. Default: what `history` says of its own. */
  readonly marks?: readonly DataMark[]
  readonly journal: Journal
  /** Cancels the run: what is in flight is told, and nothing new starts. */
  readonly signal: AbortSignal
  readonly now: () => number
  /** Takes what operators should know: of a failed call, or, without a call, of a hook. */
  readonly report: (fault: { callId?: string; tool?: string; code: string; detail: string }) => void
  /** Hooks and strategies. Default: none. */
  readonly loop?: LoopSetup
}

/** The one way to change a run, whoever does: what is told of it is in the order in which it came to be. */
export interface Ledger {
  /** Folds events into the state; they are kept with the next `flush`. After the run has ended there are none. */
  readonly commit: (events: readonly RunFact[]) => void
  /**
   * Keeps what was committed, all or none. Contract: called before anything is awaited that leaves this isolate, so that
   * nothing is told, asked or done on the strength of what was not kept. News flushes what came before it. Throws what
   * the journal throws, and from then on every time.
   */
  readonly flush: () => void
  readonly journal: Journal
}

/** A run under way. */
export interface Running extends Omit<RunPorts, 'tools'>, Ledger {
  readonly state: RunState
  readonly tools: Map<string, Tool>
  readonly loop: LoopSetup
  /** Calls that left while the model spoke, and are still under way here. */
  readonly inFlight: Map<string, Promise<void>>
}

/** What a hook is told. */
export function hookContext({ state, signal, history }: Running): HookContext {
  return { run: state.request, step: state.steps, messages: state.messages, history, signal }
}

/** The hooks and strategies of a setup, and where a run of it reports. */
export function loopPorts(
  { loop, report }: Partial<Pick<Setup, 'loop' | 'report'>>,
  runId: string,
): Pick<RunPorts, 'loop' | 'report'> {
  return { ...(loop && { loop }), report: (fault) => report?.({ event: 'call.failed', runId, ...fault }) }
}

/** The ledger of a run, over a journal that gets what was committed together in one piece. */
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
      // The state holds what is not kept: nothing more comes of it.
      failure = { error }
      throw error
    }
    observe(events, state, ports)
  }
  return {
    flush,
    commit: (events) => {
      if (state.finished) return
      for (const event of events) fold(state, event)
      pending.push(...events)
    },
    journal: {
      commit: (events, after) => journal.commit(events, after),
      show: (event) => {
        flush()
        if (state.finished) return
        journal.show(event)
      },
      keep: (callId, content) => journal.keep(callId, content),
      late: (callId, outcome) => journal.late(callId, outcome),
      kept: (callId) => journal.kept(callId),
    },
  }
}

/** Tells the setup's observer of facts that are kept. */
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
