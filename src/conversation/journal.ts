import type { RunEventBody, RunFact, RunNews } from '../contract/event.ts'
import { isTerminal, type RunStatus } from '../contract/run.ts'
import type { Journal } from '../loop/journal.ts'
import { recordOf } from '../loop/record.ts'
import type { RunState } from '../loop/state.ts'
import { encodeLine, eventId, frameOfLine, typeOfLine } from '../wire/events.ts'
import type { FrameSource, Readers } from './readers.ts'
import type { Store, StoredRun } from './store.ts'

/** Event numbers set aside at a time, so that news need no write of its own. */
const BLOCK = 1024
/** Lines of news are kept with the next fact, or once they come to this many characters. */
const MOST_PENDING = 128 * 1024
/** Characters that a reader who is behind is given at a time, or a row more. */
const PORTION = 64 * 1024

/**
 * The journal of one run in SQLite. Facts, the news before them and what is projected from them are one transaction
 * and one row; the platform holds back what leaves the object until it is on disk.
 */
export class RunJournal implements Journal, FrameSource {
  readonly #store: Store
  readonly #readers: Readers
  readonly #run: StoredRun
  #last: number
  #reserved: number
  #pending: string[] = []
  #pendingSize = 0
  #projected: number
  #status: RunStatus

  /** `projected`: how many of the run's messages the table has already. */
  constructor(store: Store, readers: Readers, run: StoredRun, projected: number) {
    this.#store = store
    this.#readers = readers
    this.#run = run
    this.#last = store.lastNumber(run.id)
    this.#reserved = this.#last
    this.#projected = projected
    this.#status = run.status
  }

  /** The number of the newest event. */
  get last(): number {
    return this.#last
  }

  commit(events: readonly RunFact[], state: RunState): void {
    if (events.length === 0) return
    const frames = events.map((event) => this.#take(event))
    this.#store.transaction(() => {
      this.#flush()
      this.#project(state)
    })
    this.#readers.push(this.#run.id, frames.join(''), this.#last)
  }

  show(event: RunNews): void {
    const frame = this.#take(event)
    if (this.#last > this.#reserved) {
      this.#reserved = this.#last + BLOCK
      this.#store.reserve(this.#run.id, this.#reserved)
    }
    if (this.#pendingSize > MOST_PENDING) this.#flush()
    this.#readers.push(this.#run.id, frame, this.#last)
  }

  /** The next frames after a number, kept or not yet: about `PORTION` characters of them. */
  read(after: number): { frames: string; last: number } {
    const { id } = this.#run
    let frames = ''
    let last = after
    for (const row of this.#store.events(id, after)) {
      frames += framesOf(id, row.first, row.lines, after)
      last = row.last
      if (frames.length > PORTION) return { frames, last }
    }
    frames += framesOf(id, this.#last - this.#pending.length + 1, this.#pending, after)
    return { frames, last: Math.max(last, this.#last) }
  }

  #take(event: RunEventBody): string {
    this.#last += 1
    const line = encodeLine({ ...event, runId: this.#run.id, seq: this.#last })
    this.#pending.push(line)
    this.#pendingSize += line.length
    return frameOfLine(event.type, eventId(this.#run.id, this.#last), line)
  }

  #flush(): void {
    if (this.#pending.length === 0) return
    this.#store.appendEvents(this.#run.id, this.#last - this.#pending.length + 1, this.#pending)
    this.#pending = []
    this.#pendingSize = 0
  }

  #project(state: RunState): void {
    const { id, place } = this.#run
    const messages = state.messages.slice(this.#projected)
    this.#store.appendMessages(place, id, this.#projected, messages)
    this.#projected += messages.length
    if (state.status === this.#status) return
    this.#status = state.status
    this.#store.setStatus(id, state.status, isTerminal(state.status) ? recordOf(state) : undefined)
  }
}

/** Frames of the lines that come after a number; `first` is the number of the first line. */
function framesOf(run: string, first: number, lines: readonly string[], after: number): string {
  const from = Math.max(0, after - first + 1)
  return lines
    .slice(from)
    .map((line, index) => frameOfLine(typeOfLine(line), eventId(run, first + from + index), line))
    .join('')
}
