import type { EventBody } from '../contract/event.ts'
import { innerCallId } from '../contract/id.ts'
import { mostResultBytes } from '../contract/limits.ts'
import { contentText, type ToolCall } from '../contract/message.ts'
import { type ProgramAsk, type ProgramCalls, type ProgramRelease, ProgramStopped } from '../contract/program.ts'
import { pause } from '../contract/time-limit.ts'
import { mayCall } from '../contract/tool-definition.ts'
import { failure } from '../contract/tool.ts'
import { countCall } from './decide/call-counts.ts'
import { marksOfProgram } from './decide/data-flow-guard.ts'
import { decideCalls } from './decide/decide.ts'
import type { LoopFeature } from './feature.ts'
import { findOpenCall, sourceOf } from './perform/act.ts'
import { callTool } from './perform/call-tool.ts'
import { hookFailed, HookFailure, isGuardedBySetup, screenEvent } from './perform/hooks.ts'
import { recordOutcome, wholeOutcome } from './perform/record-outcome.ts'
import { callRefused } from './record.ts'
import type { Running } from './running.ts'
import { type CallState, findCall, patchCall, type ProgramState, type RunState } from './state.ts'

/** Programs (code mode): a call that makes further calls of the run, and is run again over their outcomes. */
export const programs: LoopFeature = {
  name: 'programs',
  facts: {
    'call.issued': foldProgram,
    'call.suspended': foldProgram,
    'program.woken': foldProgram,
    'program.diverged': foldProgram,
  },
  after: {
    'call.started': (state, { callId, at, isProgram }) => {
      const call = isProgram && findCall(state, callId)
      if (call) call.program ??= { startedAt: at, calls: new Map(), releases: [], position: 0 }
    },
    'call.settled': (state, { callId, durationMs }) => {
      const call = findCall(state, callId)
      const program = call?.parent === undefined ? undefined : findCall(state, call.parent)?.program
      if (!call || !program) return
      const { ask = -1, startedAt = 0 } = call
      // What a program no longer asks for is not given to it.
      if (program.calls.get(ask) === callId) release(program, ask, startedAt + durationMs)
    },
  },
  innerNames: namesForPrograms,
  isReady: isProgramReady,
  performs: ({ makesCalls }) => makesCalls === true,
  perform: runProgram,
}

type ProgramEvent = 'call.issued' | 'call.suspended' | 'program.woken' | 'program.diverged'

/** Applies an event of a program. */
function foldProgram(state: RunState, event: EventBody<ProgramEvent>): void {
  const call = findCall(state, event.type === 'call.issued' ? event.parent : event.callId)
  const { program } = call ?? {}
  if (!call || !program || !state.step) return
  switch (event.type) {
    case 'call.issued': {
      const { callId, parent, ask, tool, arguments: text, isGuarded } = event
      const round = state.rounds
      const inner: CallState = {
        ...{ callId, tool, arguments: text, parent, ask, round },
        status: 'proposed',
        attempt: 0,
        earlier: countCall(state, { tool, arguments: text }),
        isGuarded,
      }
      program.calls.set(ask, callId)
      state.step.byId.set(callId, inner)
      state.step.calls = [...state.step.calls, inner]
      state.calls.push(inner)
      return
    }
    case 'call.suspended':
      program.position = program.releases.length
      return patchCall(state, event.callId, { status: 'suspended' })
    case 'program.woken':
      return release(program, event.ask, event.at)
    case 'program.diverged':
      for (const ask of [...program.calls.keys()]) if (ask >= event.ask) program.calls.delete(ask)
      program.releases = program.releases.filter(({ ask }) => ask < event.ask)
      return
  }
}

/** Adds an answer to a program. Its time never goes back. */
function release(program: ProgramState, ask: number, at: number): void {
  const last = program.releases.at(-1)?.at ?? program.startedAt
  program.releases = [...program.releases, { ask, at: Math.max(last, at) }]
}

/** Whether a suspended program has something new to continue with, or nothing more to wait for. */
function isProgramReady({ step }: RunState, { callId, status, program }: CallState): boolean {
  if (status !== 'suspended' || !program) return false
  const isOpen = (each: CallState) => each.parent === callId && each.status !== 'settled'
  return program.releases.length > program.position || !step?.calls.some(isOpen)
}

/** Returns the names of the tools that programs may call: whether or not the model sees them in this step. */
function namesForPrograms({ offered, request }: RunState): readonly string[] {
  const edgeNames = [...offered.values()].filter((tool) => mayCall(tool, 'program')).map(({ name }) => name)
  return [...edgeNames, ...request.clientTools.map((tool) => tool.name)]
}

/** Runs a program once from its start. If it must wait, it is recorded as suspended. */
async function runProgram(running: Running, call: CallState, add: (call: CallState) => void): Promise<void> {
  const { state, tools, signal, commit, flush, now, journal } = running
  const { callId, tool, attempt: earlier } = call
  // It may take as long as the run. Its calls have time limits of their own.
  const attempt = { attempt: earlier + 1, startedAt: now(), deadline: state.deadline }
  const { startedAt: at, ...place } = { ...attempt, ...sourceOf(tools.get(tool)) }
  commit([{ type: 'call.started', callId, tool, at, ...place, isProgram: true }])
  flush()
  const { program } = call
  if (!program) return
  const pass = new ProgramPass(running, { ...call, program }, add)
  const outcome = await callTool(running, call, attempt, {
    resultBytes: mostResultBytes(state.request.limits.concurrentCalls),
    progress: (news) => journal.show({ type: 'call.progress', callId, ...news }),
    calls: pass,
  }).finally(() => pass.close())
  if (signal.aborted || state.finished) return
  if (pass.isSuspended) {
    commit([{ type: 'call.suspended', callId, tool }])
    return flush()
  }
  const marks = marksOfProgram(state, callId)
  const openCall = findOpenCall(running, call)
  if (openCall) recordOutcome(running, openCall, marks.length > 0 ? { ...outcome, marks } : outcome, now() - at)
}

/** The most calls of a program, whatever its run may make. */
const MOST_CALLS = 2000
/** How many calls more than its run may make are refused one by one, before a program is stopped. */
const MOST_REFUSED = 100

/** The most characters of arguments of all calls of the programs of a run. They are kept as long as the run. */
const MOST_ARGUMENTS = 8 * 1024 * 1024

type ProgramCall = CallState & { readonly program: ProgramState }

/**
 * One pass of a program, from its start until it ends or must wait. Each call that the program asks for becomes one of the
 * run: it is issued, admitted by the rules that the calls of a model are admitted by, and performed in the same pool
 * (`add`). What an earlier pass has asked for is not asked for again: its outcomes are released in the order in which they
 * were recorded.
 */
export class ProgramPass implements ProgramCalls {
  readonly #running: Running
  readonly #call: ProgramCall
  readonly #add: (call: CallState) => void
  readonly #timers = new Map<number, ReturnType<typeof setTimeout>>()
  /** How much the program has asked for in this pass, and how much of that was answered. */
  #askCount = 0
  #position = 0
  #isSuspended = false
  #change = Promise.withResolvers<void>()

  constructor(running: Running, call: ProgramCall, add: (call: CallState) => void) {
    this.#running = running
    this.#call = call
    this.#add = add
    running.listeners.add(this.#onChange)
    running.signal.addEventListener('abort', this.#onChange)
  }

  get startedAt(): number {
    return this.#call.program.startedAt
  }

  get seed(): string {
    return `${this.#running.state.request.runId} ${this.#call.callId}`
  }

  get isResumed(): boolean {
    const { calls, releases } = this.#call.program
    return calls.size > 0 || releases.length > 0
  }

  /** Whether the program waits for calls that nothing performs now. */
  get isSuspended(): boolean {
    return this.#isSuspended
  }

  /** Ends the pass: its timers ring no more. */
  close(): void {
    this.#running.listeners.delete(this.#onChange)
    this.#running.signal.removeEventListener('abort', this.#onChange)
    for (const timer of this.#timers.values()) clearTimeout(timer)
  }

  ask(asks: readonly ProgramAsk[]): void {
    if (this.#isOver) return
    const { state, flush } = this.#running
    // As many timers as calls.
    const most = 2 * Math.min(state.request.limits.calls, MOST_CALLS) + MOST_REFUSED
    if (this.#askCount + asks.length > most)
      throw new ProgramStopped('limit', `The program made more than ${most} calls and timers, and was stopped.`)
    const before = state.step?.calls.length ?? 0
    for (const ask of asks) this.#take(ask, this.#askCount++)
    this.#settle(state.step?.calls.slice(before) ?? [])
    flush()
  }

  async next(): Promise<readonly ProgramRelease[] | undefined> {
    const { program } = this.#call
    let hasPaused = false
    for (;;) {
      if (this.#isOver) return undefined
      const first = program.releases[this.#position]
      // It was answered what it does not ask for this time.
      if (first && first.ask >= this.#askCount) this.#diverge(this.#askCount)
      const rest = program.releases.slice(this.#position)
      const end = rest.findIndex(({ ask }) => ask >= this.#askCount)
      const due = end < 0 ? rest : rest.slice(0, end)
      if (due.length > 0 && !hasPaused && this.#isBusy()) {
        // Calls that are answered together are released together.
        hasPaused = true
        await pause(0)
        continue
      }
      if (due.length > 0) {
        this.#position += due.length
        this.#running.flush()
        return due.map((each) => this.#release(each))
      }
      if (!this.#isBusy()) {
        this.#isSuspended = this.#ownCalls().some(({ status }) => status !== 'settled')
        return this.#isSuspended ? undefined : []
      }
      this.#change = Promise.withResolvers<void>()
      this.#running.flush()
      await this.#change.promise
    }
  }

  readonly #onChange = () => this.#change.resolve()

  get #isOver(): boolean {
    return this.#running.signal.aborted || this.#running.state.finished !== undefined
  }

  #ownCalls(): readonly CallState[] {
    return this.#running.state.step?.calls.filter(({ parent }) => parent === this.#call.callId) ?? []
  }

  /** Whether something that the program waits for is under way. */
  #isBusy(): boolean {
    const { scheduled } = this.#running
    return (
      this.#timers.size > 0 ||
      this.#ownCalls().some(({ callId, status }) => status !== 'settled' && scheduled.has(callId))
    )
  }

  /** Takes what the program asks for, unless it has asked for the same in an earlier pass. */
  #take(ask: ProgramAsk, number: number): void {
    const { callId, program } = this.#call
    if (this.#isDifferent(ask, number)) this.#diverge(number)
    if (program.calls.has(number) || program.releases.some((each) => each.ask === number)) return
    if (ask.do === 'wait') return this.#startTimer(number, ask.ms)
    const inner = { callId: innerCallId(callId, this.#ownCalls().length), tool: ask.tool, arguments: ask.arguments }
    this.#requireRoom(ask.arguments)
    this.#issue(inner, number)
  }

  /** Issues a call. One about which the setup throws is refused at once, and the run fails with the step. */
  #issue(inner: ToolCall, ask: number): void {
    const { commit } = this.#running
    const event = { type: 'call.issued', ...inner, parent: this.#call.callId, ask } as const
    let fault: HookFailure | undefined
    let isGuarded = false
    try {
      isGuarded = isGuardedBySetup(this.#running, inner)
    } catch (error) {
      if (!(error instanceof HookFailure)) throw error
      fault = error
    }
    commit([{ ...event, ...(isGuarded && { isGuarded: true as const }) }])
    const call = fault && this.#ownCalls().find(({ callId }) => callId === inner.callId)
    if (call) commit([callRefused(call, hookFailed(this.#running, call, fault?.cause))])
  }

  /** Throws if the arguments of the programs' calls would be too long together. */
  #requireRoom(text: string): void {
    const { calls } = this.#running.state
    const total = calls.reduce((sum, { parent, arguments: { length } }) => sum + (parent ? length : 0), text.length)
    if (total <= MOST_ARGUMENTS) return
    const message = `The calls of programs in this run have more than ${MOST_ARGUMENTS} characters of arguments together, so the program was stopped. Send less with each call.`
    throw new ProgramStopped('limit', message)
  }

  #startTimer(number: number, ms: number): void {
    const { state, commit, now } = this.#running
    const ring = () => {
      this.#timers.delete(number)
      if (!this.#isOver) commit([{ type: 'program.woken', callId: this.#call.callId, ask: number, at: now() }])
    }
    this.#timers.set(number, setTimeout(ring, Math.min(ms, Math.max(0, state.deadline - now()))))
  }

  /** Has calls that were just issued follow the rules, until each of them runs, is settled or waits. */
  #settle(issued: readonly CallState[]): void {
    const { state, commit, now } = this.#running
    let open = issued
    for (;;) {
      open = open.filter(({ status }) => status === 'proposed')
      const decision = open.length === 0 || this.#isOver ? undefined : decideCalls(state, open, now())
      if (decision?.do === 'record') {
        commit(decision.events.map((event) => screenEvent(this.#running, event)))
      } else if (decision?.do === 'call') {
        this.#schedule(decision.calls)
        open = open.filter((each) => !decision.calls.includes(each))
      } else if (decision?.do === 'judge') {
        // The run asks about them when the program waits for nothing else.
        open = open.filter((each) => !decision.calls.includes(each))
      } else return
    }
  }

  /** Has calls performed. What this invocation may not send any more is left to the next one. */
  #schedule(calls: readonly CallState[]): void {
    const { scheduled, subrequestsLeft } = this.#running
    const isUnsent = ({ callId, attempt, status }: CallState) =>
      attempt === 0 && status !== 'settled' && scheduled.has(callId)
    const room = subrequestsLeft() - this.#ownCalls().filter(isUnsent).length
    for (const each of calls.slice(0, Math.max(0, room))) {
      scheduled.add(each.callId)
      this.#add(each)
    }
  }

  /** Whether the program asks for something else under this number than before. */
  #isDifferent(ask: ProgramAsk, number: number): boolean {
    const { program } = this.#call
    const id = program.calls.get(number)
    if (id === undefined) return ask.do === 'call' && program.releases.some((each) => each.ask === number)
    const call = this.#ownCalls().find(({ callId }) => callId === id)
    if (!call || ask.do !== 'call') return true
    return call.tool !== ask.tool || (call.firstArguments ?? call.arguments) !== ask.arguments
  }

  /**
   * Leaves out what the program had asked for from a number on, since it asks for something else this time. Throws if any
   * of that may have had an effect.
   */
  #diverge(number: number): void {
    const { state, commit, report } = this.#running
    const { callId, tool, program } = this.#call
    const discards = this.#ownCalls().filter((each) => {
      const { ask = -1 } = each
      return ask >= number && program.calls.get(ask) === each.callId
    })
    const isHarmless = ({ tool: name }: CallState) => state.offered.get(name)?.annotations.readOnly === true
    const effects = discards.filter((each) => each.attempt > 0 && !isHarmless(each))
    const waiting = discards.filter(({ status }) => !['settled', 'started', 'deferred'].includes(status))
    const refusal = failure(
      'program_diverged',
      'Not run: the program was run again, and no longer asked for this call.',
    )
    report({ callId, tool, code: 'program_diverged', detail: `It asked for something else from number ${number} on.` })
    commit([{ type: 'program.diverged', callId, ask: number }, ...waiting.map((each) => callRefused(each, refusal))])
    if (effects.length === 0) return
    const list = effects.map((each) => `${each.tool}(${each.arguments})`).join(', ')
    const message = `The program was run again after an interruption, and did not ask for the same calls, so it was stopped. These may have taken effect: ${list}`
    throw new ProgramStopped('program_diverged', message)
  }

  /** Returns the answer to what the program has asked for: the whole result of a call, as it is recorded. */
  #release({ ask, at }: ProgramState['releases'][number]): ProgramRelease {
    const id = this.#call.program.calls.get(ask)
    const call = this.#ownCalls().find(({ callId }) => callId === id)
    if (!call?.result) return { ask, at }
    const { ok, error } = call.result
    if (!ok) return { ask, at, error: { code: error?.code ?? 'tool_failed', message: error?.message ?? '' } }
    const { maxResultBytes } = this.#running.state.offered.get(call.tool) ?? {}
    // What models may not see of a result, no program may tell them.
    const { content = [], structured } = maxResultBytes === undefined ? wholeOutcome(this.#running, call) : call.result
    return { ask, at, value: structured ?? contentText(content) }
  }
}
