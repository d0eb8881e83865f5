import { pause } from '../contract/time-limit.ts'
import { runCalls } from './perform/act.ts'
import { askModel } from './perform/ask.ts'
import { beginStep, drawShare, needsShare, restoreTools } from './perform/begin.ts'
import { judgeCalls, judgeResults } from './perform/judge.ts'
import { decide, type Decision, endEarly, failedRun, SUBREQUEST_LIMIT, withinSubrequests } from './decide/decide.ts'
import { hookContext, openLedger, type Running, type RunPorts } from './running.ts'
import { compose, HOOK_FAILED, HookFailure, type Middleware, screenEvent } from './perform/hooks.ts'
import { undoCalls } from './perform/undo.ts'
import { type Content, marksAmong, type Message } from '../contract/message.ts'
import { messageOf } from '../contract/thrown.ts'
import { READ_RESULT } from '../contract/tool.ts'
import { recoverRun } from './perform/recover-calls.ts'
import { callAmong, knownCall } from './effects.ts'
import { nextFence } from './recover.ts'
import type { RunState } from './state.ts'
import { type Readable, readResultTool } from './decide/truncated-result.ts'
import { placedMessages, plannerOf, reductionOf } from './window/planner.ts'

/** How far a run is driven, and what is called on the way. */
export interface DriveOptions {
  /** Called before each decision is performed, as soon as the run's deadline may be known. */
  readonly watch: () => void
  readonly isCancelled: () => boolean
  /** Stops before a decision is performed. Default: never. */
  readonly until?: (next: Decision) => boolean
}

/**
 * Decides and performs in turn until the run ends or waits for a person or its caller. If a run has made as many
 * subrequests as an invocation may make, a stored run is left to be continued by another invocation; any other fails.
 */
export async function drive(running: Running, { watch, isCancelled, until }: DriveOptions): Promise<void> {
  const { state, now, flush, signal, subrequestsLeft } = running
  if (running.loop.judge?.result) state.judgesResults = true
  // What a run had was given back when it began to wait, or has expired.
  if (state.steps > 0 && state.request.budget) state.budget = { ...state.request.budget, until: 0 }
  let drawnAt: number | undefined
  for (;;) {
    if (isCancelled() && state.status === 'running') running.commit([{ type: 'run.cancelling' }])
    if (drawnAt !== state.steps && needsShare(running)) {
      drawnAt = state.steps
      await drawShare(running)
    }
    const decision = decide(state, now())
    watch()
    if (until?.(decision)) return flush()
    const next = withinSubrequests(decision, subrequestsLeft())
    if (!next) {
      if (state.request.durable) return flush()
      running.commit(endEarly(state, 'the run failed', failedRun(state, SUBREQUEST_LIMIT)))
      continue
    }
    switch (next.do) {
      case 'record':
        running.commit(next.events.map((event) => screenEvent(running, event)))
        break
      case 'begin':
        await beginStep(running, next.step)
        break
      case 'ask':
        // The alarm of a stored run continues it.
        if (state.request.durable && nextFence(state, now()) !== undefined) return flush()
        if (next.until !== undefined) {
          flush()
          if (state.request.durable) return
          await pause(next.until - now(), signal)
          // The run may have been aborted, or have timed out.
          if (signal.aborted) break
        }
        await askModel(running, next.step)
        break
      case 'judge':
        await (next.about === 'call' ? judgeCalls : judgeResults)(running, next.calls)
        break
      case 'call':
        if (state.request.durable && nextFence(state, now()) !== undefined) return flush()
        await runCalls(running, next.calls)
        break
      case 'undo':
        await undoCalls(running, next)
        break
      case 'wait':
      case 'end':
        return flush()
    }
  }
}

/**
 * Performs a run from its current state until it ends, waits for a person or its caller, or is stored and has made as
 * many subrequests as it may. Calls that a crash left in flight continue by what their tools declare. Meanwhile, other code
 * may change the run through the same `ledger`. Contract: rejects only if the journal does; nothing more is recorded then.
 */
export async function run(state: RunState, ports: RunPorts, ledger = openLedger(state, ports)): Promise<RunState> {
  const timeUp = new AbortController()
  // The clock of a Worker only moves at I/O events, so once the timer has fired, the deadline counts as reached.
  const now = () => (timeUp.signal.aborted ? Math.max(ports.now(), state.deadline) : ports.now())
  const { mostSubrequests = Infinity } = ports
  const earlierSubrequests = state.subrequests
  const readResult = readResultTool(
    readableOf(() => running),
    () => Math.min(state.request.limits.resultBytes, plannerOf(running.loop).roomForResult(running)),
  )
  const running: Running = {
    ...ports,
    get model() {
      return ports.model
    },
    state,
    tools: new Map([[READ_RESULT, readResult], ...ports.tools]),
    // A tool of the edge does not join a run in which the caller has one of its name.
    find: async (names) => {
      const { clientTools } = state.request
      const others = names.filter((name) => !clientTools.some((tool) => tool.name === name))
      return (await ports.find?.(others)) ?? []
    },
    loop: ports.loop ?? {},
    tokens: ports.tokens ?? {},
    subrequestsLeft: () => mostSubrequests - (state.subrequests - earlierSubrequests),
    inFlight: new Map(),
    scheduled: new Set(),
    listeners: new Set(),
    now,
    signal: AbortSignal.any([ports.signal, timeUp.signal]),
    ...ledger,
    commit: (events) => {
      ledger.commit(events)
      for (const listener of running.listeners) listener()
    },
  }
  let timer: ReturnType<typeof setTimeout> | undefined
  const watch = () => {
    // The deadline moves while the run waits.
    if (state.status === 'running' && Number.isFinite(state.deadline))
      timer ??= setTimeout(() => timeUp.abort(), state.deadline - now())
  }
  // The rest of results that were cut in earlier turns can be read too.
  const earlier = ports.history.map(({ message }) => message)
  const isCut = (message: Message) => message.role === 'tool' && message.cut !== undefined
  if (ports.prompt?.reduction || earlier.some(isCut)) state.hasTruncatedResult = true
  for (const mark of [...(ports.marks ?? []), ...marksAmong([...earlier, ...state.request.input])])
    state.marks.add(mark)
  const middleware = (running.loop.hooks ?? []).flatMap((hook): Middleware<void, void>[] =>
    hook.run ? [(_, next) => hook.run?.(next, hookContext(running)) ?? next()] : [],
  )
  try {
    if (state.step) await restoreTools(running)
    await recoverRun(running)
    let isDriven = false
    await compose(middleware, async () => {
      await drive(running, { watch, isCancelled: () => ports.signal.aborted })
      isDriven = true
    })()
    if (!isDriven) throw new HookFailure(new Error('A hook of the run did not call `next`'))
  } catch (error) {
    if (!(error instanceof HookFailure)) throw error
    ports.report({ code: HOOK_FAILED.code, detail: messageOf(error.cause) })
    running.commit(endEarly(state, 'the run failed', failedRun(state, HOOK_FAILED)))
    running.flush()
  } finally {
    clearTimeout(timer)
  }
  return state
}

/** Returns what the model of a run may read, in the run and in the conversation before it. */
function readableOf(find: () => Running): Readable {
  const messages = () => placedMessages(find()).map(({ message }) => message)
  return {
    content: (id) => find().journal.fullResult(id) ?? resultAmong(messages(), id),
    call: (id) => knownCall(find().state, id) ?? find().journal.earlierCall(id) ?? callAmong(messages(), id),
    notes: (reading) => {
      const running = find()
      const { notes } = plannerOf(running.loop)
      // Those of a turn that was replaced are not among the newest.
      const newest = notes?.idIn(reductionOf(running)?.notes ?? '')
      return newest === undefined ? undefined : notes?.read({ ...reading, newest })
    },
  }
}

/** Returns the result of a call among the messages that a run has in memory. */
function resultAmong(messages: readonly Message[], callId: string): readonly Content[] | undefined {
  for (const message of messages) if (message.role === 'tool' && message.callId === callId) return message.content
  return undefined
}
