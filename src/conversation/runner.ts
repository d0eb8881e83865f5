import type { RunFact } from '../contract/event.ts'
import type { RunRecord } from '../contract/run.ts'
import type { Setup } from '../contract/setup.ts'
import type { Tool } from '../contract/tool.ts'
import { cutShort } from '../loop/decide.ts'
import { recordOf } from '../loop/record.ts'
import { fence } from '../loop/recover.ts'
import { run } from '../loop/run.ts'
import { type CallState, fold, newState, type RunState } from '../loop/state.ts'
import { failedRun } from '../loop/verdict.ts'
import { pinTools } from '../tool/pin.ts'
import { decodeLine } from '../wire/events.ts'
import { RunJournal } from './journal.ts'
import type { Readers } from './readers.ts'
import type { Store, StoredRun } from './store.ts'
import { WINDOW, window } from './window.ts'

/** Lives of the object that one run may take: it is given up when it was lost more often. */
const MOST_INTERRUPTIONS = 5
const AFTER_FENCE_MS = 1000
/** How long a run waits for people and for its caller. */
const MOST_WAIT_MS = 24 * 60 * 60 * 1000

/** A run in memory: folded from its journal, and driven by at most one `run()` at a time. */
export interface OpenRun {
  readonly stored: StoredRun
  readonly state: RunState
  readonly journal: RunJournal
  readonly abort: AbortController
  /** The object was lost while the run was under way. */
  interrupted: boolean
  driving?: Promise<void>
}

export interface RunnerPorts {
  readonly setup: Setup
  readonly store: Store
  readonly readers: Readers
  readonly now: () => number
  /** Asks for a wake-up at that time, in epoch milliseconds. */
  readonly wakeAt: (time: number) => void
}

/** Drives the runs of a conversation, one at a time, in the order of their acceptance. */
export class Runner {
  readonly #ports: RunnerPorts
  #open: OpenRun | undefined
  readonly #waiters = new Map<string, Set<() => void>>()

  constructor(ports: RunnerPorts) {
    this.#ports = ports
  }

  /** Starts or goes on with the run whose turn it is, unless that is under way or waits for others. */
  pump(): void {
    const current = this.current()
    if (!current || current.driving || this.#waits(current)) return
    current.driving = this.#drive(current).finally(() => {
      delete current.driving
      if (this.#open === current && current.state.finished) this.#open = undefined
      this.#tell(current.stored.id)
      // One that waits ends its streams, and its turn stays; one that ended gives its turn to the next.
      this.#ports.readers.close(current.stored.id)
      if (current.state.finished) this.pump()
    })
  }

  /** The unfinished run whose turn it is, in memory. */
  current(): OpenRun | undefined {
    if (this.#open && !this.#open.state.finished) return this.#open
    const next = this.#ports.store.next()
    return next && (this.#open = this.#load(next))
  }

  /** Any run in memory: the current one, or one folded afresh from its journal. */
  find(id: string): OpenRun | undefined {
    if (this.#open?.stored.id === id) return this.#open
    const stored = this.#ports.store.run(id)
    return stored && this.#load(stored)
  }

  /** Cancels a run, durably: what is in flight is told, and nothing new starts. Resolves once it has ended. */
  async cancel(open: OpenRun): Promise<void> {
    this.#commit(open, [{ type: 'run.cancelling' }])
    open.abort.abort(new Error('cancelled'))
    await open.driving
    if (!open.state.finished) await this.#drive(open)
    if (this.#open === open) this.#open = undefined
    this.#tell(open.stored.id)
    this.#ports.readers.close(open.stored.id)
    this.pump()
  }

  /** Records answers to calls, and goes on where nothing else is waited for. */
  answer(open: OpenRun, events: readonly RunFact[]): void {
    // Only the run whose turn it is waits for answers.
    this.#open = open
    this.#commit(open, events)
    if (!this.#waits(open)) this.#commit(open, [{ type: 'run.resumed', at: this.#ports.now() }])
    this.pump()
  }

  /** Epoch milliseconds until which the current run waits for others; undefined where it does not wait. */
  waitsUntil(): number | undefined {
    const { waitingSince } = this.current()?.state ?? {}
    return waitingSince === undefined ? undefined : waitingSince + MOST_WAIT_MS
  }

  /** Refuses, in the place of those who did not answer in time, what the current run waits for. */
  expire(now: number): void {
    const open = this.current()
    if (!open || (this.waitsUntil() ?? Infinity) > now) return
    const late = open.state.step?.calls.filter(isWithOthers) ?? []
    this.answer(open, late.map(expired))
  }

  /** The record of a run once it has ended or waits, or as it stands after `waitMs`. */
  async record(id: string, waitMs: number): Promise<RunRecord | undefined> {
    if (waitMs > 0 && !this.#isAtRest(id)) await this.#atRest(id, waitMs)
    const kept = this.#ports.store.record(id)
    if (kept) return kept
    const open = this.find(id)
    return open && recordOf(open.state)
  }

  #isAtRest(id: string): boolean {
    if (this.#ports.store.record(id)) return true
    const open = this.find(id)
    return open === undefined || (!open.driving && this.#waits(open))
  }

  async #atRest(id: string, waitMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiters = this.#waiters.get(id) ?? new Set()
    this.#waiters.set(id, waiters.add(resolve))
    const timer = setTimeout(resolve, waitMs)
    await promise
    clearTimeout(timer)
    waiters.delete(resolve)
    if (waiters.size === 0) this.#waiters.delete(id)
  }

  #tell(id: string): void {
    for (const resolve of this.#waiters.get(id) ?? []) resolve()
  }

  #waits({ state }: OpenRun): boolean {
    return state.status === 'waiting' && (state.step?.calls.some(isWithOthers) ?? false)
  }

  #commit({ state, journal }: OpenRun, events: readonly RunFact[]): void {
    for (const event of events) fold(state, event)
    journal.commit(events, state)
  }

  #load(stored: StoredRun): OpenRun {
    const { store, readers } = this.#ports
    const state = newState(stored.request, new Map(stored.tools.map((tool) => [tool.name, tool])))
    for (const row of store.events(stored.id, 0)) {
      for (const line of row.lines) {
        const event = decodeLine(line)
        if (event) fold(state, event)
      }
    }
    const projected = stored.status === 'queued' ? 0 : state.messages.length
    return {
      stored,
      state,
      journal: new RunJournal(store, readers, stored, projected),
      abort: new AbortController(),
      interrupted: state.status === 'running',
    }
  }

  async #drive(open: OpenRun): Promise<void> {
    const { setup, store, now, wakeAt } = this.#ports
    const { stored, state, journal, abort } = open
    try {
      // One that is being cancelled has nothing to wait for.
      if (open.interrupted && state.status === 'running') {
        const fencedUntil = fence(state) + AFTER_FENCE_MS
        if (fencedUntil > now()) return wakeAt(fencedUntil)
        open.interrupted = false
        store.countInterruption(stored.id)
        if (stored.interrupted >= MOST_INTERRUPTIONS) return this.#giveUp(open)
      }
      const model = setup.models.resolve(state.request.model)
      if (!model.ok) {
        const { code, message } = model
        return this.#commit(open, cutShort(state, message, failedRun(state, { code, message })))
      }
      const history = store.messages(store.positionOf(stored.place), WINDOW).map(({ message }) => message)
      await run(state, {
        model: model.model,
        tools: await this.#tools(stored),
        history: window(history),
        journal,
        signal: abort.signal,
        now,
        report: (fault) => setup.report({ event: 'call.failed', runId: stored.id, ...fault }),
      })
    } catch (error) {
      // The journal could not be written, or the loop has a fault. What is kept tells how the run stands: the next
      // life of this object folds it anew.
      setup.report({ event: 'run.interrupted', runId: stored.id, detail: String(error) })
      if (this.#open === open) this.#open = undefined
    }
  }

  #giveUp(open: OpenRun): void {
    const message = `The run was interrupted ${MOST_INTERRUPTIONS} times and was given up.`
    const end = failedRun(open.state, { code: 'interrupted', message })
    this.#commit(open, cutShort(open.state, 'the run was given up', end))
  }

  async #tools({ tools, request }: StoredRun): Promise<ReadonlyMap<string, Tool>> {
    if (tools.length === 0 || request.execution === 'caller') return new Map()
    return pinTools(tools, await this.#ports.setup.tools.find(tools.map((tool) => tool.name)))
  }
}

function expired({ callId, tool, status }: CallState): RunFact {
  if (status === 'asked')
    return { type: 'approval.decided', callId, decision: 'reject', reason: 'nobody decided in time' }
  const error = { code: 'expired', message: 'The caller sent no result in time.' }
  return { type: 'call.settled', callId, tool, ok: false, error, durationMs: 0 }
}

function isWithOthers({ status }: { status: string }): boolean {
  return status === 'asked' || status === 'handed'
}
