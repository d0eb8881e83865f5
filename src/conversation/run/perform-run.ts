import { MOST_LATER_MS, type ReportedCall } from '../../contract/later.ts'
import type { RunError } from '../../contract/run.ts'
import { hiddenConversation } from '../../contract/placement.ts'
import type { Setup } from '../../contract/setup.ts'
import { type Caller, findIfAvailable, type Tool, ToolsUnavailable } from '../../contract/tool.ts'
import { run } from '../../loop/run.ts'
import { budgetPort } from '../../loop/budget-port.ts'
import type { RunPorts } from '../../loop/running.ts'
import type { RunState } from '../../loop/state.ts'
import { pinTools } from '../../tool/pinned-tools.ts'
import { type HistoryView, historyBefore } from '../history/history.ts'
import { positionOf } from '../store/messages.ts'
import { recordingPorts } from './fault-recorder.ts'
import { commit, type OpenRun } from './open-run.ts'
import type { Store } from '../store/store.ts'
import { isKeyRead, presentCaller, withdrawTool } from './present-caller.ts'

export interface PerformPorts {
  readonly setup: Setup
  readonly store: Store
  readonly now: () => number
  /** How much a model sees of the turns before the run. */
  readonly window: () => HistoryView
}

/**
 * Performs a run until it ends, waits, or has made as many subrequests as it may. Returns an error if its model is not
 * available or its key may run nothing any more, and `unknown` if that, or what its tools are, cannot be found out now.
 */
export async function performRun(
  open: OpenRun,
  ports: PerformPorts,
  mostSubrequests: number,
): Promise<RunError | 'unknown' | undefined> {
  const { state, journal, ledger, stored } = open
  // A run that is being cancelled calls nothing.
  if (!open.isAuthenticated && state.status !== 'cancelling') {
    const present = await presentCaller(ports.setup, stored.request.caller, ports.now())
    if (present === 'unknown') return present
    if (!present.ok) return present.error
    state.request = { ...state.request, caller: present.caller }
  }
  // A run that has just been accepted, or is being cancelled, asks for nothing but the budget and the place of its key.
  else if (!(await isKeyRead(ports.setup, stored.request.caller))) return 'unknown'
  open.isAuthenticated = false
  let runPorts: RunPorts | RunError
  try {
    runPorts = await portsOf(open, ports, mostSubrequests)
  } catch (error) {
    if (error instanceof ToolsUnavailable) return 'unknown'
    // The interruption of a run that has started is counted when the run is resumed.
    if (state.status === 'queued') journal.countInterruption()
    throw error
  }
  if ('code' in runPorts) return runPorts
  await run(state, runPorts, ledger)
  return undefined
}

/** Gathers what the loop needs for a run; returns an error if the model is not available. */
async function portsOf(
  open: OpenRun,
  { setup, store, now, window }: PerformPorts,
  mostSubrequests: number,
): Promise<RunPorts | RunError> {
  const { stored, state, journal, abort } = open
  const { reportAddresses: addresses } = setup
  const model = setup.models.resolve(state.request.model)
  if (!model.ok) return model
  const tools = await toolsOf(setup, state, stored.request.caller)
  const view = window()
  const { options, isSliding } = view
  if (Object.keys(journal.tokens).length === 0) Object.assign(journal.tokens, store.tokens(state.request.model))
  // The prompt of a sliding window does not begin with that of the run before.
  if (isSliding) delete journal.tokens.last
  const reduction = state.reduction ?? store.reduction(stored.place)
  const { messages, dropped, filled, from } = historyBefore(store.messages, stored.place, { ...view, reduction })
  if (state.status === 'queued' && dropped + filled > 0) commit(open, { type: 'history.repaired', dropped, filled })
  const summary =
    options.summary && isSliding
      ? await setup.summaries?.context(store, model.model, { from, signal: abort.signal })
      : undefined
  if (summary?.compaction) commit(open, summary.compaction)
  return {
    get model() {
      // Terms that come with an approval may name another model while calls are still under way.
      const now = setup.models.resolve(state.request.model)
      return now.ok ? now.model : model.model
    },
    tools,
    find: (names: readonly string[]) => findIfAvailable(setup.tools(state.request.caller), names),
    marks: store.marks(),
    history: [...(summary?.messages ?? []), ...messages],
    prompt: {
      position: positionOf(stored.place),
      reduction,
      earlier: isSliding ? undefined : options,
      summarize: options.summary
        ? async (earlier, dropped) =>
            setup.summaries?.summarize(model.model, { earlier, messages: dropped }, abort.signal)
        : undefined,
    },
    tokens: journal.tokens,
    journal,
    mostSubrequests,
    signal: abort.signal,
    now,
    reportTo: addresses && ((callId) => addresses.make(reportedCall(setup, state, callId, now()))),
    ...budgetPort(setup, state.request),
    ...recordingPorts({ setup, store, now }, { state, runId: stored.id }),
  }
}

function reportedCall(setup: Setup, { request }: RunState, call: string, now: number): ReportedCall {
  const { caller, runId: run } = request
  const { conversation = hiddenConversation(setup, caller, run) } = request
  return { tenant: caller.tenant, conversation, run, call, expires: now + request.limits.callMs + MOST_LATER_MS }
}

/**
 * Returns the tools on offer, pinned, including those that joined the run. `firstCaller`: the caller when the run was accepted,
 * who may have been allowed more.
 */
async function toolsOf(
  setup: Setup,
  { offered, request: { caller, execution } }: RunState,
  firstCaller: Caller,
): Promise<ReadonlyMap<string, Tool>> {
  if (offered.size === 0 || execution === 'caller') return new Map()
  const names = [...offered.keys()]
  const tools = await setup.tools(caller).find(names)
  const present = new Set(tools.map(({ definition }) => definition.name))
  const absent = caller === firstCaller ? [] : names.filter((name) => !present.has(name))
  const withdrawn = absent.length === 0 ? [] : await setup.tools(firstCaller).find(absent)
  return pinTools([...offered.values()], [...tools, ...withdrawn.map(withdrawTool)])
}
