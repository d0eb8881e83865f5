import type { RunFact } from '../../contract/event.ts'
import { MOST_LATER_MS, type ReportedCall } from '../../contract/later.ts'
import { toolsOfRun } from '../../contract/mcp-task.ts'
import { hiddenConversation } from '../../contract/placement.ts'
import { isTerminal, type RunError, type RunRequest } from '../../contract/run.ts'
import type { Setup } from '../../contract/setup.ts'
import { messageOf, type RunFault } from '../../contract/thrown.ts'
import { type Caller, findIfAvailable, type Tool, type ToolSource, ToolsUnavailable } from '../../contract/tool.ts'
import { historyBefore, type HistoryView, reductionFor } from '../history.ts'
import { childRuns } from './children.ts'
import { type JournalPorts, RunJournal } from './journal.ts'
import { type ParkingPorts, parkRun } from './parked-runs.ts'
import { isKeyRead, presentCaller, withdrawTool } from './present-caller.ts'
import { type ReplayedRun, stateBefore, stateOf } from './replay.ts'
import { positionOf } from '../store/messages.ts'
import { isTokenCount } from '../store/shapes.ts'
import type { StoredRun } from '../store/runs.ts'
import type { Store } from '../store/store.ts'
import { dueCalls, endEarly, failedRun, isHeldUp, modelPause, windDown } from '../../loop/decide/decide.ts'
import { budgetPort } from '../../loop/perform/begin.ts'
import { nextFence, startedCalls } from '../../loop/recover.ts'
import { run } from '../../loop/drive.ts'
import { plannerOf } from '../../loop/window/planner.ts'
import { type Ledger, loopPorts, openLedger, type RunPorts } from '../../loop/running.ts'
import type { RunState } from '../../loop/state.ts'
import { pinTools } from '../../tool/pinned-tools.ts'

type OpenRunsPorts = JournalPorts & ParkingPorts

/** The unfinished runs of a conversation that are in memory, at most one OpenRun for each. */
export class OpenRuns {
  readonly #ports: OpenRunsPorts
  readonly #open = new Map<string, OpenRun>()
  #current: OpenRun | undefined

  constructor(ports: OpenRunsPorts) {
    this.#ports = ports
  }

  /** Returns the unfinished run whose turn it is. */
  current(): OpenRun | undefined {
    if (this.#current && !this.#current.state.finished) return this.#current
    this.#current = undefined
    // A run that cannot be loaded is parked, and then is not the next one any more.
    for (let next = this.#ports.store.next(); next && !this.#current; next = this.#ports.store.next())
      this.#current = this.#open.get(next.id) ?? this.#load(next)
    return this.#current
  }

  /** Returns an unfinished run, folded from its journal if it is not in memory. */
  find(id: string): OpenRun | undefined {
    const open = this.#open.get(id)
    if (open) return open
    const row = this.#ports.store.runs.row(id)
    // Reading the journal of a parked run may be what crashes the object.
    const stored =
      row && row.status !== 'parked' && !isTerminal(row.status) ? this.#ports.store.runs.get(id) : undefined
    return stored && this.#load(stored)
  }

  /** Returns a run only if it is in memory. */
  inMemory(id: string): OpenRun | undefined {
    return this.#open.get(id)
  }

  /** Opens a run that was just stored and whose turn it is, without reading it back. */
  adopt(stored: StoredRun): void {
    this.#current = this.#load(stored, true)
  }

  drop(open: OpenRun): void {
    if (this.#open.get(open.stored.id) === open) this.#open.delete(open.stored.id)
    if (this.#current === open) this.#current = undefined
  }

  /** Aborts and forgets all runs, because everything stored is about to be deleted. They write nothing any more. */
  clear(): void {
    for (const open of this.#open.values()) abandonDrive(open, new Error('The conversation has ended.'))
    this.#open.clear()
    this.#current = undefined
  }

  #load(stored: StoredRun, isNew = false): OpenRun | undefined {
    const { store } = this.#ports
    const open = openRun(this.#ports, stored, isNew)
    if (open.unknown !== undefined) {
      const reason = `Its journal has an event that this edge does not know: ${open.unknown}.`
      parkRun(this.#ports, stored.id, reason)
      return undefined
    }
    // The journal says how the run stands; the row may have been damaged, or the object lost before the run began.
    if (!isNew && open.state.status !== stored.status) store.runs.setStatus(stored.id, open.state.status)
    this.#open.set(stored.id, open)
    return open
  }
}

/** An unfinished run in memory: folded from its journal, and driven by at most one `run()` at a time. */
export interface OpenRun {
  readonly stored: StoredRun
  readonly state: RunState
  readonly journal: RunJournal
  /** The only way to change the run, for `run()` and for everything else. */
  readonly ledger: Ledger
  readonly abort: AbortController
  /** Whether a part of the journal is lost, so that what the run did cannot be known. */
  readonly isBroken: boolean
  /** The type of a fact in the journal that only a newer version knows: this version must not continue the run. */
  readonly unknown?: string
  /** Set if the run was under way when it was opened, until that interruption has been counted. */
  wasInterrupted: boolean
  /** Whether the request that stored the run has just authenticated its caller; until the run is first performed. */
  isAuthenticated: boolean
  /** How often in a row its tools or its key could not be read. */
  holdUps: number
  /** Set once the state in memory may differ from the journal; this OpenRun is then not driven again. */
  isLost?: boolean
  completion?: Promise<void>
}

/** Opens a run: folds its state from its journal. `isNew`: the run was just stored, so that it has none yet. */
function openRun(ports: JournalPorts & { readonly setup: Setup }, stored: StoredRun, isNew = false): OpenRun {
  const replayed: ReplayedRun = isNew
    ? { state: stateBefore(stored, ports.store), isComplete: true }
    : stateOf(ports.store, stored)
  const { state, isComplete, unknown } = replayed
  const { notes } = plannerOf(ports.setup.loop)
  const journal = new RunJournal({ ...ports, notes }, stored, isNew ? undefined : state)
  return {
    stored,
    state,
    journal,
    ledger: openLedger(state, { journal, ...recordingPorts(ports, { state, runId: stored.id }) }),
    abort: new AbortController(),
    isBroken: !isComplete,
    unknown,
    // A run that waited for its model had nothing in flight.
    wasInterrupted: state.status === 'running' && !state.step?.wait?.pause,
    isAuthenticated: isNew,
    holdUps: 0,
  }
}

/** Aborts what drives a run, which can write nothing from now on: another OpenRun may take its place. */
export function abandonDrive(open: OpenRun, reason: unknown): void {
  open.isLost = true
  open.journal.close()
  open.abort.abort(reason)
}

/** Whether a run waits for a person, for its caller, or for outcomes that come later. */
export function isWaiting({ state }: OpenRun): boolean {
  return state.status === 'waiting' && isHeldUp(state)
}

/** Whether a run waits for anything but agents that are at work: answers end there. */
export function isAtRest(open: OpenRun): boolean {
  return isWaiting(open) && open.state.wait?.for !== 'agent'
}

/**
 * Returns until when a run rests that waits for nobody, in epoch milliseconds: its model fails for now, or what it called
 * before its object was lost may still take effect. Undefined if it does not rest.
 */
export function restsUntil({ state, wasInterrupted }: OpenRun, now: number): number | undefined {
  // Its tools may tell at once what became of its calls.
  return modelPause(state, now) ?? (wasInterrupted ? undefined : nextFence(state, now))
}

/** Whether a run can make progress: it neither rests nor waits for others, or an outcome has arrived, or a poll is due. */
export function isReady(open: OpenRun, now: number): boolean {
  if (restsUntil(open, now) !== undefined) return false
  return !isWaiting(open) || dueCalls(open.state, now).length > 0
}

/** A run fails after this many interruptions since its last progress, by the loss of the object or an error. */
const MOST_INTERRUPTIONS = 5
/**
 * The longest time without progress of a run. Only time in which an instance drives the run counts, not outages or
 * waiting for a person or the caller.
 */
const MOST_IDLE_MS = 5 * 60 * 1000

export const NO_PROGRESS: RunError = {
  code: 'no_progress',
  message: `The run made no progress for ${MOST_IDLE_MS / 60_000} minutes and was stopped.`,
}

/** Returns why a run must not start or continue; undefined if it may. */
export function reasonToEnd({ stored, isBroken, state }: OpenRun): RunError | undefined {
  if (state.status === 'cancelling') return undefined
  if (isBroken) return { code: 'run_lost', message: 'Part of the journal of this run cannot be read.' }
  if (stored.interrupted >= MOST_INTERRUPTIONS) {
    const message = `The run was interrupted ${MOST_INTERRUPTIONS} times and was stopped.`
    return { code: 'interrupted', message }
  }
  return stored.idle >= MOST_IDLE_MS ? NO_PROGRESS : undefined
}

/** Whether a run in progress has had no event for too long. Its calls in flight may take until their deadlines. */
export function isHanging({ state, journal }: OpenRun, now: number): boolean {
  const deadlines = startedCalls(state).map((call) => call.deadline ?? 0)
  return now - Math.max(journal.lastEventAt, ...deadlines) >= MOST_IDLE_MS
}

/** Returns the events that end a run with this error, or as cancelled if it is being cancelled. */
export function giveUpEvents({ state }: OpenRun, { code, message }: RunError): RunFact[] {
  if (state.status === 'cancelling') return windDown(state, 'cancelled')
  return endEarly(state, message, failedRun(state, { code, message }))
}

/** Commits events to a run and stores them at once. */
export function commit({ ledger }: OpenRun, ...events: readonly RunFact[]): void {
  ledger.commit(events)
  ledger.flush()
}

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
  const isFirst = Object.keys(journal.tokens).length === 0
  if (isFirst)
    Object.assign(journal.tokens, isTokenCount(state.tokens) ? state.tokens : store.tokens(state.request.model))
  // The prompt of a sliding window does not begin with that of the run before.
  if (isSliding && !state.tokens) delete journal.tokens.last
  const { place } = stored
  const reduction = state.reduction ?? store.reductions.get(place)
  const { messages, dropped, filled, from, isCut } = historyBefore(store.messages, place, { ...view, reduction })
  if (state.status === 'queued' && dropped + filled > 0) commit(open, { type: 'history.repaired', dropped, filled })
  const position = positionOf(place)
  const sized = { state, model: model.model, prompt: { position, reduction }, tokens: journal.tokens }
  const summary =
    options.summary && isSliding
      ? await setup.summaries?.context(store, model.model, {
          from,
          tokens: plannerOf(setup.loop).room(sized),
          signal: abort.signal,
        })
      : undefined
  if (summary?.compaction) commit(open, summary.compaction)
  const history = [...(summary?.messages ?? []), ...messages]
  return {
    get model() {
      // Terms that come with an approval may name another model while calls are still under way.
      const now = setup.models.resolve(state.request.model)
      return now.ok ? now.model : model.model
    },
    tools,
    find: async (names: readonly string[]) => findIfAvailable(await sourceOf(setup, state.request), names),
    marks: [...store.marks(), ...(state.request.agent?.marks ?? [])],
    children: childRuns(open, { store, setup, now }),
    history,
    prompt: {
      position,
      reduction: reductionFor(store.messages, { place, state, history, isCut, view: { ...view, reduction } }),
      refusals: store.refusals(),
      earlier: isSliding ? undefined : options,
      summarize: options.summary
        ? async (earlier, dropped, tokens) =>
            setup.summaries?.summarize(model.model, { earlier, messages: dropped, tokens }, abort.signal)
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

/** Returns where a run has its tools from: that of an agent from where the agent has them, if the caller may call it. */
async function sourceOf(setup: Setup, request: RunRequest): Promise<Pick<ToolSource, 'find'>> {
  const { caller, agent } = request
  const source = toolsOfRun(setup, request)
  const name = agent?.path.at(-1)?.agent
  const [tool] = name === undefined ? [] : await source.find([name])
  return tool?.ownTools?.(caller) ?? source
}

/**
 * Returns the tools on offer, pinned, including those that joined the run. `firstCaller`: the caller when the run was accepted,
 * who may have been allowed more.
 */
async function toolsOf(
  setup: Setup,
  { offered, request }: RunState,
  firstCaller: Caller,
): Promise<ReadonlyMap<string, Tool>> {
  const { caller, execution } = request
  // The caller runs all others.
  const own = [...offered.values()].filter(({ atProvider }) => execution !== 'caller' || atProvider)
  if (own.length === 0) return new Map()
  const names = own.map(({ name }) => name)
  const tools = await (await sourceOf(setup, request)).find(names)
  const present = new Set(tools.map(({ definition }) => definition.name))
  const absent = caller === firstCaller ? [] : names.filter((name) => !present.has(name))
  const firstSource = toolsOfRun(setup, { ...request, caller: firstCaller })
  const withdrawn = absent.length === 0 ? [] : await firstSource.find(absent)
  return pinTools(own, [...tools, ...withdrawn.map(withdrawTool)])
}

/**
 * Returns what `loopPorts` returns, except that `report` also stores each fault for operators, without the edge's secrets.
 * A fault that cannot be stored is still logged.
 */
function recordingPorts(
  { setup, store, now }: { readonly setup: Setup; readonly store: Store; readonly now: () => number },
  { state, runId }: { readonly state: RunState; readonly runId: string },
): Pick<RunPorts, 'loop' | 'report'> {
  const ports = loopPorts(setup, runId)
  return {
    ...ports,
    report: (fault: RunFault) => {
      ports.report(fault)
      if (store.life() !== 'open') return
      const step = state.step?.step
      const storedFault = { at: now(), step, ...fault }
      try {
        store.faults.add(runId, setup.secrets?.json(storedFault) ?? storedFault)
      } catch (error) {
        setup.report({ event: 'fault.not_stored', runId, detail: messageOf(error) })
      }
    },
  }
}
