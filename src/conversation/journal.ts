import type { RunEventBody, RunFact, RunNews } from '../contract/event.ts'
import type { Content } from '../contract/message.ts'
import { isTerminal, type RunStatus } from '../contract/run.ts'
import type { ToolOutcome } from '../contract/tool.ts'
import type { Journal } from '../loop/journal.ts'
import { recordOf } from '../loop/record.ts'
import type { RunState } from '../loop/state.ts'
import { encodeLine, eventId, frameOfLine } from '../wire/events.ts'
import { type Frames, framesOf, pastFrames } from './past.ts'
import type { Readers } from './readers.ts'
import type { StoredRun } from './runs.ts'
import type { Store } from './store.ts'

/** Event numbers set aside at a time, so that news need no write of its own. */
const BLOCK = 1024
/** Lines of news are kept with the next fact, or once they come to this many characters. */
const MOST_PENDING = 128 * 1024

export interface JournalPorts {
  readonly store: Store
  readonly readers: Readers
  readonly now: () => number
  /** Told within the transaction that changes the run's status. */
  readonly onStatus?: (state: RunState, eventId: string) => void
}

/**
 * The journal of one run in SQLite. Facts, the news before them and what is projected from them are one transaction
 * and one row; the platform holds back what leaves the object until it is on disk.
 */
export class RunJournal implements Journal {
  readonly #ports: JournalPorts
  readonly #run: StoredRun
  #last: number
  #reserved: number
  #pending: string[] = []
  #pendingSize = 0
  readonly #wholes = new Map<string, readonly Content[]>()
  #projected: number
  #status: RunStatus
  #heardAt: number
  /** The run has been lost since it last got ahead. */
  #stalled: boolean

  constructor(ports: JournalPorts, run: StoredRun) {
    const { store, now } = ports
    this.#ports = ports
    this.#run = run
    this.#last = store.runs.lastNumber(run.id)
    this.#reserved = this.#last
    this.#projected = store.messages.countOf(run.place)
    this.#status = run.status
    this.#heardAt = now()
    this.#stalled = run.stalled !== null
  }

  /** The number of the newest event. */
  get last(): number {
    return this.#last
  }

  /** When the newest event came in this life of the object, or when it began, in epoch milliseconds. */
  get heardAt(): number {
    return this.#heardAt
  }

  commit(events: readonly RunFact[], state: RunState): void {
    if (events.length === 0) return
    const { store, readers } = this.#ports
    const frames = events.map((event) => this.#take(event))
    store.transaction(() => {
      this.#flush()
      for (const [call, content] of this.#wholes) store.wholes.keep(call, content)
      this.#wholes.clear()
      this.#project(state)
      if (this.#stalled && events.some(isAhead)) this.#gotAhead()
    })
    readers.push(this.#run.id, frames.join(''), this.#last)
  }

  show(event: RunNews): void {
    const { store, readers } = this.#ports
    const frame = this.#take(event)
    if (this.#last > this.#reserved) {
      this.#reserved = this.#last + BLOCK
      store.runs.reserve(this.#run.id, this.#reserved)
    }
    if (this.#pendingSize > MOST_PENDING) this.#flush()
    readers.push(this.#run.id, frame, this.#last)
  }

  keep(callId: string, content: readonly Content[]): void {
    this.#wholes.set(callId, content)
  }

  late(callId: string, outcome: ToolOutcome): void {
    const { store } = this.#ports
    // While the conversation lives.
    if (store.life() === 'open') store.wholes.keepLate(this.#run.id, callId, outcome)
  }

  kept(callId: string): readonly Content[] | undefined {
    return this.#wholes.get(callId) ?? this.#ports.store.wholes.of(callId)
  }

  /** The next frames after a number, kept or not yet. */
  read(after: number): Frames {
    const kept = pastFrames(this.#ports.store, this.#run.id, after)
    if (kept.frames !== '') return kept
    return { frames: framesOf(this.#run.id, this.#pending, after), last: Math.max(after, this.#last) }
  }

  /** The run was lost, and nothing has got ahead since. */
  countInterruption(): void {
    const { store, now } = this.#ports
    store.runs.countInterruption(this.#run.id, now())
    this.#stalled = true
  }

  #take(event: RunEventBody): string {
    this.#heardAt = this.#ports.now()
    this.#last += 1
    const line = encodeLine({ ...event, runId: this.#run.id, seq: this.#last })
    this.#pending.push(line)
    this.#pendingSize += line.length
    return frameOfLine(event.type, eventId(this.#run.id, this.#last), line)
  }

  #flush(): void {
    if (this.#pending.length === 0) return
    this.#ports.store.events.append(this.#run.id, this.#last - this.#pending.length + 1, this.#last, this.#pending)
    this.#pending = []
    this.#pendingSize = 0
  }

  #gotAhead(): void {
    this.#stalled = false
    this.#ports.store.runs.gotAhead(this.#run.id)
  }

  #project(state: RunState): void {
    const { store, now, onStatus } = this.#ports
    const { id, place } = this.#run
    // An answer is written with the results of its calls, so that what is there is valid by itself.
    if (!state.step?.answer) {
      const messages = state.messages.slice(this.#projected)
      store.messages.append(place, id, this.#projected, messages)
      store.mark(messages)
      this.#projected += messages.length
    }
    if (state.status === this.#status) return
    this.#status = state.status
    if (isTerminal(state.status)) store.end(recordOf(state), now())
    else store.runs.setStatus(id, state.status)
    onStatus?.(state, eventId(id, this.#last))
  }
}

/** The run has more now than a restart would have to do again. */
function isAhead({ type }: RunFact): boolean {
  return type === 'step.answered' || type === 'call.settled'
}
