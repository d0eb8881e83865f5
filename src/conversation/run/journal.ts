import type { TokenCount } from '../../contract/context.ts'
import { type RunEventBody, type RunFact, type RunNews, timestamps } from '../../contract/event.ts'
import { runOfCall } from '../../contract/id.ts'
import type { Content } from '../../contract/message.ts'
import { isTerminal, type RunStatus, type RunWait } from '../../contract/run.ts'
import { READ_RESULT, type ToolOutcome } from '../../contract/tool.ts'
import type { Journal } from '../../loop/running.ts'
import { recordOf } from '../../loop/record.ts'
import type { RunState } from '../../loop/state.ts'
import { callAmong, knownCall, type KnownCall } from '../../loop/effects.ts'
import type { NotesWriter } from '../../loop/window/planner.ts'
import { isNotes, positionOfNotes } from '../../contract/context.ts'
import { notesBefore } from '../history.ts'
import { type EventRow, numberOf } from '../store/events.ts'
import { encodeLine, eventId, frameOfLine, typeOfLine } from '../../wire/events.ts'
import { type Frames, framesAfter, replayFrames, stateOf } from './replay.ts'
import type { Readers } from './readers.ts'
import { RESERVED, type StoredRun } from '../store/runs.ts'
import type { Store } from '../store/store.ts'
import { isObject, parseJson } from '../../contract/json.ts'

/** News is stored with the next fact, or earlier if its lines exceed this many characters. */
const MOST_PENDING = 128 * 1024
/** The most characters of the message of a progress report that is too long to be stored as it is. */
const MOST_MESSAGE = 1000

type CallProgress = Extract<RunNews, { readonly type: 'call.progress' }>

export interface JournalPorts {
  readonly store: Store
  readonly readers: Readers
  readonly now: () => number
  /** Makes notes on messages that a model is not shown. Default: there are none. */
  readonly notes?: NotesWriter | undefined
  /** Called within a transaction after which the run of an agent is to be cancelled. */
  readonly onChildLeft?: () => void
  /** Called within the transaction that changes the run's status, or what it waits for; `wait`: before. */
  readonly onStatus?: (state: RunState, eventId: string, wait: RunWait | undefined) => void
  /** Adds a fact to the journal of a run, which may have ended or have another open RunJournal. */
  readonly addFact?: (run: string, fact: RunFact) => void
}

/**
 * The journal of one run in SQLite. Facts, the news before them and their projections are written in one transaction,
 * the events as one row. The platform's output gate holds back messages of the object until they are on disk.
 */
export class RunJournal implements Journal {
  readonly #ports: JournalPorts
  /** What the model has told of its count of tokens. It is stored as the run ends. */
  readonly tokens: TokenCount = {}
  readonly #run: StoredRun
  #last: number
  #reserved: number
  #pending: string[] = []
  #pendingSize = 0
  /** Read from what is stored of a run that an earlier instance began, once it has more progress. */
  #progress: ProgressBounds | undefined
  readonly #fullResults = new Map<string, readonly Content[]>()
  readonly #timestamp: ReturnType<typeof timestamps>
  #projected: number
  #status: RunStatus
  #wait: RunWait | undefined
  #lastEventAt: number
  /** Whether the run was interrupted since its last progress. */
  #isStalled: boolean
  /** The time up to which idle time has been counted, in epoch milliseconds. */
  #idleSince: number
  #isClosed = false

  /** `state`: that of the run, as its journal has it; absent if the run was just stored, so that there is none. */
  constructor(ports: JournalPorts, run: StoredRun, state?: RunState) {
    const { store, now } = ports
    const isNew = state === undefined
    this.#ports = ports
    this.#run = run
    this.#last = isNew ? 0 : store.runs.lastNumber(run.id)
    this.#reserved = isNew ? RESERVED : this.#last
    if (isNew) this.#progress = new ProgressBounds([])
    this.#projected = isNew ? 0 : store.messages.countOf(run.place)
    this.#status = state?.status ?? run.status
    this.#wait = state?.wait
    this.#lastEventAt = now()
    this.#isStalled = run.stalled !== null || run.resumes > 0
    this.#idleSince = now()
    this.#timestamp = timestamps(now)
  }

  /** The number of the newest event. */
  get last(): number {
    return this.#last
  }

  /** The time of the newest event since this journal was opened, or of its opening, in epoch milliseconds. */
  get lastEventAt(): number {
    return this.#lastEventAt
  }

  /** Nothing is written from now on: another OpenRun may write this journal, or its conversation is gone. */
  close(): void {
    this.#isClosed = true
  }

  /** Throws if the journal is closed. */
  commit(events: readonly RunFact[], state: RunState): void {
    if (events.length === 0) return
    this.#checkOpen()
    const { store, readers } = this.#ports
    const frames = events.map((event) => this.#take(event))
    store.transaction(() => {
      this.#flush()
      // Of a tenant that stores too much, only what models see is stored, and what they must be able to read.
      for (const [id, content] of this.#fullResults)
        if (isNotes(id) || !store.isFull()) store.fullResults.keep(id, content)
      this.#fullResults.clear()
      for (const event of events) {
        if (event.type === 'context.reduced') store.reductions.set(this.#run.place, event.reduction)
        if (event.type === 'step.restarted' && event.refusals) store.addRefusals(event.refusals)
        if (event.type === 'call.settled') this.#settleChild(event.callId, state)
      }
      this.#project(state)
      if (this.#isStalled && events.some(isProgress)) this.#recordProgress()
    })
    readers.push(this.#run.id, frames.join(''), this.#last)
  }

  /** Throws if the journal is closed. */
  show(event: RunNews): void {
    this.#checkOpen()
    const { store, readers } = this.#ports
    const frame = this.#take(event)
    if (this.#last > this.#reserved) {
      this.#reserved = this.#last + RESERVED
      store.runs.reserve(this.#run.id, this.#reserved)
    }
    if (this.#pendingSize > MOST_PENDING) this.#flush()
    readers.push(this.#run.id, frame, this.#last, event.type)
  }

  storeFullResult(callId: string, content: readonly Content[]): void {
    this.#fullResults.set(callId, content)
  }

  storeLateOutcome(callId: string, outcome: ToolOutcome, tool: string): void {
    const { store, addFact, now } = this.#ports
    const { id } = this.#run
    // The call may outlast the conversation.
    if (store.life() !== 'open' || !store.runs.row(id)) return
    store.transaction(() => {
      if (!store.fullResults.addLate(id, callId, outcome.ok)) return
      const { ok, calls } = outcome
      addFact?.(id, { type: 'call.late', callId, tool, ok, at: now(), calls })
    })
  }

  reportedOutcome(callId: string): ToolOutcome | undefined {
    return this.#ports.store.fullResults.report(this.#run.id, callId)
  }

  /** Shows news of a run that nothing drives, and stores it at once. */
  showNow(event: RunNews): void {
    this.show(event)
    this.#flush()
  }

  fullResult(callId: string): readonly Content[] | undefined {
    const { store } = this.#ports
    const own = this.#fullResults.get(callId)
    // A turn that was replaced is hidden from models.
    if (own || store.isReplaced(callId)) return own
    return store.fullResults.of(callId) ?? store.resultOf(callId) ?? this.#notes(callId)
  }

  /** Returns notes that are not stored: those on what has left a sliding window. */
  #notes(id: string): readonly Content[] | undefined {
    const position = positionOfNotes(id)
    const { notes, store } = this.#ports
    if (position === undefined || !notes) return undefined
    const tools = this.#run.tools.filter(({ annotations }) => annotations.readOnly === true)
    const readOnly = new Set([READ_RESULT, ...tools.map(({ name }) => name)])
    const text = notesBefore(store.messages, position, { notes, isReadOnly: (tool) => readOnly.has(tool) })
    return text === undefined ? undefined : [{ type: 'text', text }]
  }

  earlierCall(callId: string): KnownCall | undefined {
    const { store } = this.#ports
    if (store.isReplaced(callId)) return undefined
    const run = runOfCall(callId)
    // To read the journal of a parked run may be what crashes the object.
    const isParked = run !== undefined && store.runs.row(run)?.status === 'parked'
    const stored = run === undefined || isParked ? undefined : store.runs.get(run)
    // A fork has the messages of its original, and none of its runs.
    return (stored && knownCall(stateOf(store, stored).state, callId)) ?? callAmong(store.messagesOf(callId), callId)
  }

  /** Returns the next frames after a number, whether their events are stored yet or not. */
  read(after: number): Frames {
    const storedFrames = replayFrames(this.#ports.store, this.#run.id, after)
    if (storedFrames.frames !== '') return storedFrames
    return { frames: framesAfter(this.#run.id, this.#pending, after), last: Math.max(after, this.#last) }
  }

  /** Counts an interruption of the run, which is stalled until it next makes progress. */
  countInterruption(): void {
    const { store, now } = this.#ports
    store.runs.countInterruption(this.#run.id, now())
    this.#isStalled = true
  }

  /** Counts the time since the last count, unless `isBusy`: then calls in flight may take that long. */
  countIdle(isBusy: boolean): void {
    const { store, now } = this.#ports
    if (this.#isStalled) store.runs.countIdle(this.#run.id, isBusy ? 0 : now() - this.#idleSince)
    this.#idleSince = now()
  }

  #take(event: RunEventBody): string {
    this.#lastEventAt = this.#ports.now()
    this.#last += 1
    const place = { ...this.#timestamp(event), runId: this.#run.id, seq: this.#last }
    const line = encodeLine({ ...event, ...place })
    if (event.type !== 'call.progress') this.#addPending(line)
    else this.#addProgress(event.callId, isLongProgress(line) ? encodeLine({ ...shorten(event), ...place }) : line)
    return frameOfLine(event.type, eventId(this.#run.id, this.#last), line)
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new Error('The journal of this run is closed.')
  }

  #addPending(line: string): void {
    this.#pending.push(line)
    this.#pendingSize += line.length
  }

  /** Adds a line of progress, in the place of an earlier one if its call has too many. */
  #addProgress(callId: string, line: string): void {
    const { store } = this.#ports
    if (store.isFull()) return
    this.#progress ??= new ProgressBounds(store.events.after(this.#run.id, 0))
    const replaced = this.#progress.add(callId, line)
    if (replaced !== undefined) this.#removeNews(replaced)
    this.#addPending(line)
  }

  /** Removes a line of news, stored or not. */
  #removeNews(number: number): void {
    const at = this.#pending.findLastIndex((line) => numberOf(line) === number)
    const [line] = at === -1 ? [] : this.#pending.splice(at, 1)
    if (line === undefined) this.#ports.store.events.removeOne(this.#run.id, number)
    else this.#pendingSize -= line.length
  }

  #flush(): void {
    if (this.#pending.length === 0) return
    // News that was replaced has left gaps.
    this.#ports.store.events.append(this.#run.id, numberOf(this.#pending[0]), this.#last, this.#pending)
    this.#pending = []
    this.#pendingSize = 0
  }

  #settleChild(callId: string, { calls }: RunState): void {
    const { store, now, onChildLeft } = this.#ports
    const call = calls.find((each) => each.callId === callId)
    if (call?.isAgent && store.settleChild(callId, now(), call.hasReport)) onChildLeft?.()
  }

  #recordProgress(): void {
    this.#isStalled = false
    this.#ports.store.runs.clearStall(this.#run.id)
  }

  #project(state: RunState): void {
    const { store, now, onStatus } = this.#ports
    const { id, place } = this.#run
    // An answer is written together with the results of its calls, so that the stored history is always valid.
    if (!state.step?.answer) {
      const messages = state.messages.slice(this.#projected)
      store.messages.append(place, id, this.#projected, messages)
      store.mark(messages)
      this.#projected += messages.length
    }
    const wait = this.#wait
    if (state.status === this.#status && state.wait === wait) return
    this.#status = state.status
    this.#wait = state.wait
    const learnt = Object.keys(this.tokens).length > 0 ? { model: state.request.model, tokens: this.tokens } : undefined
    if (isTerminal(state.status)) store.end(recordOf(state), now(), learnt)
    else store.runs.setStatus(id, state.status)
    onStatus?.(state, eventId(id, this.#last), wait)
  }
}

/** Returns a progress report without what makes it long. */
function shorten({ type, callId, message, fraction }: CallProgress): CallProgress {
  return {
    type,
    callId,
    ...(message !== undefined && { message: message.slice(0, MOST_MESSAGE) }),
    fraction,
  }
}

/** Whether an event is progress: work that would not be repeated after a restart. */
function isProgress({ type }: RunFact): boolean {
  return type === 'step.answered' || type === 'call.settled'
}

/** The most characters of progress that are stored of one call, and of a run. */
const MOST_OF_CALL = 1024 * 1024
const MOST_OF_RUN = 8 * 1024 * 1024
/** A shorter line counts as this many characters, so that the number of lines is bounded too. */
const LEAST = 256
/** The most characters of a line with its `data`. */
const MOST_LINE = 128 * 1024

/** What of a call's progress is stored. */
interface StoredProgress {
  size: number
  /** The number of the newest event, once there is too much progress to store all. */
  newest?: number
}

/**
 * Bounds what a run stores of the progress of its calls: 1 MiB of a call and 8 MiB in all, and from then on the newest
 * report of each call alone. Readers who follow the run see all of it.
 */
export class ProgressBounds {
  readonly #calls = new Map<string, StoredProgress>()
  #size = 0

  /** `rows`: what is stored of the run so far. */
  constructor(rows: Iterable<EventRow>) {
    for (const { lines } of rows) {
      for (const line of lines) {
        if (typeOfLine(line) !== 'call.progress') continue
        const event = parseJson(line)
        if (isObject(event)) this.add(String(event['callId']), line)
      }
    }
  }

  /** Counts a line. Returns the number of the event that it takes the place of; undefined if there is none. */
  add(callId: string, line: string): number | undefined {
    const call = this.#calls.get(callId) ?? { size: 0 }
    this.#calls.set(callId, call)
    const size = Math.max(LEAST, line.length)
    if (call.size + size > MOST_OF_CALL || this.#size + size > MOST_OF_RUN) {
      const replaced = call.newest
      call.newest = numberOf(line)
      return replaced
    }
    call.size += size
    this.#size += size
    return undefined
  }
}

/** Whether the line of a progress report is too long to be stored with its data. */
export function isLongProgress(line: string): boolean {
  return line.length > MOST_LINE
}
