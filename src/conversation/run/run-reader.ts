import type { CallerRun, ConversationService, NewsFilter, Reply, StepRequest } from '../../contract/conversation.ts'
import type { ChatModel } from '../../contract/model.ts'
import { isTerminal, type RunRecord, type RunStatus } from '../../contract/run.ts'
import type { Setup } from '../../contract/setup.ts'
import { historyBefore, reductionFor, windowOptions } from '../history.ts'
import { refusalOf, UNKNOWN_RUN, type Waiters } from './cancel-run.ts'
import { isAtRest, type OpenRuns } from './open-runs.ts'
import type { Readers } from './readers.ts'
import { replayFrames, replayRecord, stateBefore } from './replay.ts'
import { positionOf } from '../store/messages.ts'
import { isTokenCount } from '../store/shapes.ts'
import type { StoredRun } from '../store/runs.ts'
import type { Store } from '../store/store.ts'
import { fold, messagesSoFar } from '../../loop/fold.ts'
import { modelRequest } from '../../loop/perform/prompt.ts'
import { plannerOf } from '../../loop/window/planner.ts'
import { recordOf } from '../../loop/record.ts'
import type { RunState } from '../../loop/state.ts'
import { decodeLine } from '../../wire/events.ts'

/** The most characters of a record: the platform passes at most 32 MiB between the object and the edge. */
const MOST_CHARACTERS = 8 * 1024 * 1024

/**
 * Returns a record as it is or, if it is too large to be passed on at once, marked `isPartial`: without preambles, and
 * without arguments and results of calls; its answer is cut. Messages and events of the run have the rest.
 */
function fitRecord(record: RunRecord): RunRecord {
  if (JSON.stringify(record).length <= MOST_CHARACTERS) return record
  const { preambles: _preambles, providerCalls: _providerCalls, citations: _citations, calls, answer, ...rest } = record
  const light = calls.map(
    ({ arguments: _arguments, content: _content, structured: _structured, metadata: _metadata, ...call }) => ({
      ...call,
      arguments: null,
    }),
  )
  return { ...rest, answer: answer.slice(0, MOST_CHARACTERS / 4), calls: light, isPartial: true }
}

/** Whether a run has no further events, unless somebody retries it. */
function isSettled(status: RunStatus): boolean {
  return isTerminal(status) || status === 'parked'
}

interface RunViewPorts {
  readonly store: Store
  readonly runs: OpenRuns
  readonly readers: Readers
  readonly waiters: Waiters
}

/** Reads runs, whether under way or finished. Never drives one. */
export class RunReader {
  readonly #ports: RunViewPorts

  constructor(ports: RunViewPorts) {
    this.#ports = ports
  }

  /** Returns the record of a run once the run has ended or waits, or after `waitMs` as it stands then. */
  async record(id: string, waitMs: number): Promise<RunRecord | undefined> {
    const { store, runs, waiters } = this.#ports
    const row = store.runs.row(id)
    if (!row) return undefined
    const isAwaited = waitMs > 0 && !this.#isAtRest(id)
    const record = isAwaited ? await waiters.wait(id, waitMs) : undefined
    if (record) return fitRecord(store.children.describe(record))
    const open = runs.inMemory(id)
    const current = open ? store.fullResults.withLateOutcomes(recordOf(open.state)) : replayRecord(store, id)
    return current && fitRecord(store.children.describe(current))
  }

  /** Returns a run as it stands, with the key of its caller and what that has sent last. */
  async callerRun(id: string, part?: 'messages' | 'input'): Promise<Reply<CallerRun>> {
    const { store, runs } = this.#ports
    const record = await this.record(id, 0)
    const row = record && store.runs.row(id)
    const request = row && store.runs.request(id)
    if (!request) return UNKNOWN_RUN
    const { caller, callerHistory: history } = request
    const marks = [...store.marks(), ...(request.agent?.marks ?? [])]
    const run = { record, key: caller.key, history, marks }
    if (part === 'input') {
      const from = positionOf(row.place)
      const input = request.input.map((message, index) => ({ position: from + index, run: id, message }))
      return { ok: true, ...run, input }
    }
    const open = part && runs.find(id)
    return { ok: true, ...run, ...(open && { messages: messagesSoFar(open.state) }) }
  }

  /** Streams the events of a run after a number, and tells whether it has ended without any. */
  events(
    ...[id, after, news, waits]: Parameters<ConversationService['events']>
  ): Awaited<ReturnType<ConversationService['events']>> {
    const { runs } = this.#ports.store
    const row = runs.row(id)
    if (!row) return UNKNOWN_RUN
    const isOver = isTerminal(row.status) && after === runs.lastNumber(id)
    const stream = this.follow(id, after, news, waits)
    return stream ? { ok: true, stream, isOver } : refusalOf('bad_event_id', 'This run has no event with this id.')
  }

  /**
   * Streams the frames of a run after a number: past ones, then new ones until the run ends or, unless `waits`, waits.
   * Returns undefined if the run has no event of that number yet. `news`: which news to stream; past news are all streamed.
   */
  follow(id: string, after: number, news?: NewsFilter, waits?: boolean): ReadableStream<Uint8Array> | undefined {
    const { store, runs, readers } = this.#ports
    const last = runs.inMemory(id)?.journal.last ?? store.runs.lastNumber(id)
    if (after > last) return undefined
    const read = (from: number) => runs.inMemory(id)?.journal.read(from) ?? replayFrames(store, id, from)
    const row = store.runs.row(id)
    const isEnded = waits ? row === undefined || isTerminal(row.status) : this.#isAtRest(id)
    return readers.open(id, { read }, { after, isCurrent: after === last, isEnded, news, waits })
  }

  /** Ends all streams, and all waiting for records, because the conversation is gone. */
  end(): void {
    this.#ports.readers.end()
    this.#ports.waiters.end()
  }

  /**
   * Whether a run yields no more events for now: it is gone, has ended, or waits for others than agents that are at work,
   * and is not being driven.
   */
  #isAtRest(id: string): boolean {
    const row = this.#ports.store.runs.row(id)
    if (row === undefined || isSettled(row.status)) return true
    const open = row.status === 'waiting' ? this.#ports.runs.find(id) : undefined
    return open !== undefined && !open.completion && isAtRest(open)
  }
}

/**
 * Builds the last request of a step again, as the loop builds it: from the events of the run up to the answer, the tools
 * as they were pinned, and the earlier messages. These are chosen by the present window and summary, which may have
 * changed since. Nothing of the request itself is stored.
 */
export function stepRequest(
  setup: Setup,
  store: Store,
  { runId, step }: { readonly runId: string; readonly step: number },
): Reply<{ readonly request: StepRequest }> {
  const run = store.runs.row(runId) && store.runs.get(runId)
  if (!run) return UNKNOWN_RUN
  const state = stateInStep(store, run, step)
  if (!state) return refusalOf('unknown_step', `The model got no request in step ${step} of this run.`)
  const { place } = run
  const reduction = state.reduction ?? store.reductions.before(place)
  const view = { ...windowOptions(setup, store), reduction }
  const { messages, from, isCut } = historyBefore(store.messages, place, view)
  const hasSummary = view.options.summary && view.isSliding
  const resolved = setup.models.resolve(state.request.model)
  const model: Pick<ChatModel, 'name' | 'window' | 'patience'> = resolved.ok
    ? resolved.model
    : { name: state.request.model }
  const position = positionOf(place)
  const counts = isTokenCount(state.tokens) ? state.tokens : store.tokens(state.request.model)
  const tokens = plannerOf(setup.loop).room({ state, model, prompt: { position, reduction }, tokens: counts })
  const history = [...((hasSummary && setup.summaries?.earlier(store, { from, tokens })) || []), ...messages]
  const prompt = {
    position,
    reduction: reductionFor(store.messages, { place, state, history, isCut, view }),
    refusals: store.refusals(),
  }
  const {
    patience: _patience,
    cacheKey: _cacheKey,
    ...request
  } = modelRequest({
    state,
    history,
    prompt,
    model,
    loop: setup.loop,
  })
  // Pruning shortens the tools of older runs, which then have no hash.
  const isShort = run.tools.some(({ hash }) => hash === '')
  const facts = { run: runId, step, model: state.request.model, historyLength: history.length }
  return { ok: true, request: { ...facts, ...(isShort && { hasShortTools: true }), ...request } }
}

/** Returns the state of a run in a step before the model answered; undefined if there was no such step. */
function stateInStep(store: Store, run: StoredRun, step: number): RunState | undefined {
  const state = stateBefore(run, store)
  for (const { lines } of store.events.after(run.id, 0)) {
    for (const line of lines) {
      const event = decodeLine(line)
      const isOver = event && ANSWER_EVENTS.has(event.type)
      if (isOver && state.step?.step === step) return state
      if (event) fold(state, event)
    }
  }
  return state.step?.step === step ? state : undefined
}

/** The events that end what a model can be sent in a step. */
const ANSWER_EVENTS: ReadonlySet<string> = new Set(['step.answered', 'answer.cut', 'run.finished'])
