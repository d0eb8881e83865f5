import { DurableObject } from 'cloudflare:workers'
import { AlarmClock } from '../contract/alarm-clock.ts'
import type { Series } from '../contract/metrics.ts'
import type {
  Schedule,
  ScheduleDefinition,
  ScheduleEntry,
  ScheduleOutcome,
  ScheduleRefusal,
  ScheduleReply,
  ScheduleService,
  ScheduleSummary,
} from '../contract/schedule.ts'
import { canonicalJson } from '../contract/json.ts'
import { quotaMessage, type ReachedQuota } from '../contract/quotas.ts'
import { type MakeSetup, type Setup, setupOf } from '../contract/setup.ts'
import { textOfThrown } from '../contract/thrown.ts'
import { pause } from '../contract/time-limit.ts'
import type { Caller } from '../contract/tool.ts'
import { FAILED, LOST, startTriggeredRun, type StartOutcome } from './start-run.ts'
import {
  type Claim,
  type Occurrence,
  questionText,
  type ScheduleChange,
  type ScheduleRow,
  type ScheduleState,
  ScheduleStore,
  type WaitingTime,
} from './store.ts'
import { makeTiming, type Timing } from './times.ts'

/** How many due times are claimed and settled together, by few row writes. */
const AT_A_TIME = 100
/** How many of their runs are started side by side. */
const SIDE_BY_SIDE = 10
/** How many subrequests the start of a run makes at most: of the key, the tools, the budget, the run before, and the run. */
const SUBREQUESTS = 6
/** A time that could not be handled for so long counts as missed. */
const MISSED_MS = 5 * 60_000
/** How often a run that cannot be started now is tried, and the first and longest pause before it is tried, or looked at, again. */
const MOST_ATTEMPTS = 10
const FIRST_RETRY_MS = 5000
const LONGEST_RETRY_MS = 10 * 60_000
/** When a schedule that queues first looks again whether its run has ended, and by how much longer it waits each time. */
const QUEUE_MS = 15_000
const LONGER_QUEUE = 1.5
/** How long an object that starts a run may be lost before the alarm starts it again. */
const WATCHDOG_MS = 30_000
/** How many outcomes lists have. */
const RECENT = 10
/** How long a schedule without further due times is kept. */
const ENDED_MS = 30 * 24 * 60 * 60 * 1000

/** The Durable Object of the schedules of one tenant. Its methods are its RPC methods. */
export abstract class SchedulesObject<Env> extends DurableObject<Env> implements ScheduleService {
  readonly #setup: Setup
  readonly #store: ScheduleStore
  readonly #clock: AlarmClock
  /** The claims that this instance is handling. Others were left by one that was lost. */
  readonly #ownClaims = new Set<number>()

  constructor(ctx: DurableObjectState, env: Env, setup: Setup) {
    super(ctx, env)
    this.#setup = setup
    this.#store = new ScheduleStore(ctx.storage, (row) => setup.report({ event: 'row.set_aside', ...row }))
    this.#clock = new AlarmClock({
      setAlarm: (time) => ctx.storage.setAlarm(time),
      getAlarm: () => ctx.storage.getAlarm(),
      nextDue: () => this.#nextDue(),
      report: setup.report,
    })
    void this.#clock.restore()
  }

  async put(
    name: string,
    definition: ScheduleDefinition,
    caller: Caller,
  ): Promise<ScheduleReply<{ readonly created: boolean; readonly schedule: Schedule }>> {
    const before = this.#store.get(name)
    const refusal =
      (before && refusalOfScopes(before, caller.scopes)) ?? this.#refusalOfRoom(definition, before?.definition)
    if (refusal) return refusal
    const now = Date.now()
    // While the times stay the same, none of them is left out.
    const isSame = before !== undefined && timesText(before.definition) === timesText(definition)
    const stored = isSame ? before.stored : now
    const timing = makeTiming(definition, stored)
    if ('path' in timing) return refusalOf(400, 'invalid_request', `${timing.path}: ${timing.message}`)
    const next = (isSame && !before.state.paused && before.state.next) || timing.next(now)
    if (next === undefined && !isSame)
      return refusalOf(400, 'time_passed', 'This schedule has no due time that is still to come.')
    const paused = definition.paused === true
    const waiting = before?.state.waiting && waitingAfter(before, before.state.waiting)
    const state = stateOf(paused, next, waiting)
    this.#store.put({ name, definition, caller, stored, state }, wakeTime(state, now))
    this.#wake()
    const schedule = scheduleOf({ id: 0, name, definition, caller, stored, state, history: before?.history ?? [] })
    return { ok: true, created: !before, schedule }
  }

  async get(name: string): Promise<Schedule | undefined> {
    void this.#clock.restore()
    const row = this.#store.get(name)
    return row && scheduleOf(row)
  }

  async list(after: string, limit: number): Promise<ScheduleSummary[]> {
    void this.#clock.restore()
    return this.#store.list(after, limit).map(summaryOf)
  }

  async remove(name: string, scopes: readonly string[]): Promise<ScheduleReply<object>> {
    const row = this.#store.get(name)
    if (!row) return NO_SCHEDULE
    const refusal = refusalOfScopes(row, scopes)
    if (refusal) return refusal
    this.#store.remove(name)
    return { ok: true }
  }

  async pause(
    name: string,
    paused: boolean,
    scopes: readonly string[],
  ): Promise<ScheduleReply<{ readonly schedule: Schedule }>> {
    const row = this.#store.get(name)
    if (!row) return NO_SCHEDULE
    const refusal = paused ? undefined : refusalOfScopes(row, scopes)
    if (refusal) return refusal
    const now = Date.now()
    if (row.state.paused !== paused) {
      // Times that pass during a pause are not missed.
      const next = timingOfRow(row)?.next(now)
      const state = stateOf(paused, next, row.state.waiting)
      this.#store.setState(row.id, state, wakeTime(state, now))
      this.#wake()
    }
    return { ok: true, schedule: scheduleOf(this.#store.get(name) ?? row) }
  }

  async runNow(
    name: string,
    key: string,
    scopes: readonly string[],
  ): Promise<ScheduleReply<{ readonly entry: ScheduleEntry }>> {
    const row = this.#store.get(name)
    if (!row) return NO_SCHEDULE
    const refusal = refusalOfScopes(row, scopes)
    if (refusal) return refusal
    const due = Date.now()
    const { id } = row
    const claim = this.#claim([{ schedule: id, due, attempts: 0, manual: key }])
    this.#clock.wakeAt(due + WATCHDOG_MS)
    const [outcome] = await this.#handle(claim)
    if (outcome?.ok) {
      const entry = this.#store.byId(id)?.history.find(({ run }) => run === outcome.run)
      return { ok: true, entry: entry ?? entryOf({ due, manual: key }, outcome, due) }
    }
    const {
      status = 404,
      code = 'unknown_schedule',
      message = 'There is no such schedule.',
      retryAfterMs,
    } = outcome ?? {}
    return { ok: false, status, code, message, retryAfterMs }
  }

  async count(): Promise<number> {
    return this.#store.count()
  }

  async series(): Promise<Series[]> {
    return this.#store.counts().map(({ outcome, count }) => ({
      name: 'edgecall_scheduled',
      labels: `outcome="${outcome}"`,
      part: 'value',
      le: 0,
      value: count,
    }))
  }

  override async alarm(): Promise<void> {
    this.#clock.ring()
    try {
      await this.#performDue()
      this.#wake()
    } catch (error) {
      this.#setup.report({ event: 'schedules.failed', detail: textOfThrown(error) })
      this.#clock.wakeAt(Date.now() + FIRST_RETRY_MS)
    }
  }

  /** Handles what an instance that was lost has left, and then all that is due; the rest in another invocation. */
  async #performDue(): Promise<void> {
    let room = Math.max(1, Math.floor(this.#setup.config.maxSubrequests / SUBREQUESTS))
    for (const claim of this.#leftClaims()) {
      this.#ownClaims.add(claim.id)
      await this.#handle(claim)
      room -= claim.occurrences.length
    }
    while (room > 0) {
      const now = Date.now()
      const rows = this.#store.due(now, Math.min(AT_A_TIME, room))
      if (rows.length === 0) return
      room -= rows.length
      const ended = rows.filter(({ state }) => state.next === undefined && !state.waiting).map(({ id }) => id)
      const occurrences = rows.flatMap((row) => nextOccurrence(row, now) ?? [])
      await this.#handle(this.#claim(occurrences, ended))
    }
  }

  #claim(occurrences: readonly Occurrence[], ended: readonly number[] = []): Claim {
    const claim = this.#store.claim(occurrences, ended)
    this.#ownClaims.add(claim.id)
    return claim
  }

  #leftClaims(): Claim[] {
    return this.#store.claims().filter(({ id }) => !this.#ownClaims.has(id))
  }

  /** Starts the runs of a claim, some side by side, and stores what that came to in one transaction. */
  async #handle(claim: Claim): Promise<readonly (StartOutcome | undefined)[]> {
    try {
      const outcomes: (StartOutcome | undefined)[] = []
      const occurrences = claim.occurrences.entries()
      const startRest = async () => {
        for (const [at, occurrence] of occurrences) {
          outcomes[at] = await this.#start(occurrence)
          // A runtime that has the objects in one process looks for requests once none of them is at work: without
          // this it answers none, and the models get none of the runs, until all of them are started.
          await pause(1)
        }
      }
      await Promise.all(Array.from({ length: SIDE_BY_SIDE }, startRest))
      const now = Date.now()
      this.#store.settle(claim, () =>
        claim.occurrences.flatMap((occurrence, at) => {
          const row = this.#store.byId(occurrence.schedule)
          const outcome = outcomes[at]
          return row ? [changeOf(row, occurrence, outcome, now)] : []
        }),
      )
      for (const [at, outcome] of outcomes.entries()) this.#reportFault(claim.occurrences[at], outcome)
      return outcomes
    } finally {
      this.#ownClaims.delete(claim.id)
    }
  }

  /** Starts the run of a due time; undefined if none is to be started, or its schedule was removed. */
  async #start(occurrence: Occurrence): Promise<StartOutcome | undefined> {
    const row = this.#store.byId(occurrence.schedule)
    if (!row || occurrence.isMissed) return undefined
    const { definition, caller } = occurrence.before ?? row
    const { run, conversation, keepDays, scopes, marks = [] } = definition
    const after = occurrence.manual === undefined ? row.history.find(({ outcome }) => outcome === 'started') : undefined
    return startTriggeredRun(
      this.#setup,
      {
        source: `schedules/${row.name}`,
        key: occurrence.manual === undefined ? timeText(occurrence.due) : `now-${occurrence.manual}`,
        ...{ caller, scopes, body: run, marks, conversation, keepDays },
        ...(after?.run !== undefined &&
          after.conversation !== undefined && { after: { run: after.run, conversation: after.conversation } }),
      },
      { waitUntil: (work) => this.ctx.waitUntil(work) },
    )
  }

  #reportFault(occurrence: Occurrence | undefined, outcome: StartOutcome | undefined): void {
    if (!occurrence || !outcome || outcome.ok || outcome.because === 'busy') return
    const row = this.#store.byId(occurrence.schedule)
    if (!row) return
    const { tenant, key } = row.caller
    const { because, code, message: detail } = outcome
    const due = timeText(occurrence.due)
    const place = { schedule: row.name, tenant, key, due }
    this.#setup.report({ event: 'schedule.not_started', ...place, because, code, detail })
  }

  /** Refuses a schedule that is new or longer than before where there is no room for it. */
  #refusalOfRoom(definition: ScheduleDefinition, before?: ScheduleDefinition): ScheduleRefusal | undefined {
    if (before && JSON.stringify(definition).length <= JSON.stringify(before).length) return undefined
    const { schedules, storedBytes } = this.#setup.config.quotas
    const [count, bytes] = [this.#store.count(), this.#store.bytes()]
    if (!before && count >= schedules) return quotaRefusal({ quota: 'schedules', used: count, limit: schedules })
    return bytes >= storedBytes ? quotaRefusal({ quota: 'storedBytes', used: bytes, limit: storedBytes }) : undefined
  }

  #wake(): void {
    this.#clock.wakeAt(this.#nextDue())
  }

  /** Returns when something is due; what was left by an instance that was lost is due now. */
  #nextDue(): number {
    return this.#leftClaims().length > 0 ? 0 : this.#store.nextWake()
  }
}

/** Makes the class that an edge exports for the binding `SCHEDULES`. */
export function schedulesObject<Env extends object>(
  makeSetup: MakeSetup<Env>,
): new (ctx: DurableObjectState, env: Env) => SchedulesObject<Env> {
  return class extends SchedulesObject<Env> {
    constructor(ctx: DurableObjectState, env: Env) {
      super(ctx, env, setupOf(makeSetup, env))
    }
  }
}

/** Returns the due time of a schedule that needs attention; undefined if it has none any more. */
function nextOccurrence(row: ScheduleRow, now: number): Occurrence | undefined {
  const { id: schedule, state, definition } = row
  const { next, waiting } = state
  if (waiting) {
    const { due, missedFrom, attempts, looks, before } = waiting
    return { schedule, due, attempts, looks, missedFrom, before }
  }
  if (next === undefined) return undefined
  const timing = timingOfRow(row)
  // Times before `next` were handled, or are not to be.
  const due = Math.max(next, timing?.last(now) ?? next)
  const isMissed = definition.missed === 'none' && now - due > MISSED_MS
  return {
    ...{ schedule, due, attempts: 0 },
    ...(due > next && { missedFrom: next }),
    ...(isMissed && { isMissed }),
  }
}

/** Returns what a schedule is after one of its due times, or a run that was asked for, came to this. */
function changeOf(
  row: ScheduleRow,
  occurrence: Occurrence,
  outcome: StartOutcome | undefined,
  now: number,
): ScheduleChange {
  const { id, state, definition } = row
  const { due, attempts, looks = 0, manual, missedFrom, before } = occurrence
  const isKnown = outcome?.ok === true && row.history.some(({ run }) => run === outcome.run)
  const entry = isKnown ? undefined : entryOf(occurrence, outcome, now)
  if (manual !== undefined) return { id, state, wake: wakeTime(state, now), entry }
  // No due time up to this one is handled again, also if the schedule was stored again meanwhile.
  const isAhead = state.next === undefined || state.next > due
  const next = isAhead ? state.next : timingOfRow(row)?.next(due)
  const other = state.waiting?.due === due ? undefined : state.waiting
  const settled = stateOf(state.paused, next, other)
  const isQueued = definition.overlap === 'queue'
  const pauseMs = outcome && !outcome.ok ? pauseBefore(outcome, { attempts, looks, isQueued }) : undefined
  if (pauseMs === undefined || other || !outcome || outcome.ok)
    return { id, state: settled, wake: wakeTime(settled, now), entry }
  const { because, code, message } = outcome
  const failures = attempts + (because === 'later' ? 1 : 0)
  const waiting: WaitingTime = {
    ...{ due, code, message, attempts: failures },
    ...(because === 'busy' && { looks: looks + 1 }),
    missedFrom,
    before,
  }
  return { id, state: stateOf(state.paused, next, waiting), wake: state.paused ? Infinity : now + pauseMs }
}

/**
 * Returns a due time that waits for its run, after its schedule was stored again. If the run may have been started without
 * an answer, it is tried again as it was.
 */
function waitingAfter({ definition, caller }: ScheduleRow, waiting: WaitingTime): WaitingTime {
  const mayHaveStarted = waiting.code === LOST || waiting.code === FAILED
  return { ...waiting, attempts: 0, ...(mayHaveStarted && !waiting.before && { before: { definition, caller } }) }
}

/** Returns how long a run that was not started waits until it is tried again; undefined if it is not. */
function pauseBefore(
  { because, retryAfterMs = 0 }: Extract<StartOutcome, { ok: false }>,
  { attempts, looks, isQueued }: { readonly attempts: number; readonly looks: number; readonly isQueued: boolean },
): number | undefined {
  // The run may wait for a person, for days: looking wakes two objects.
  if (because === 'busy') return isQueued ? Math.min(QUEUE_MS * LONGER_QUEUE ** looks, LONGEST_RETRY_MS) : undefined
  if (because !== 'later' || attempts + 1 >= MOST_ATTEMPTS) return undefined
  return Math.min(Math.max(FIRST_RETRY_MS * 2 ** attempts, retryAfterMs), LONGEST_RETRY_MS)
}

const OUTCOMES = { forbidden: 'refused', busy: 'skipped', failed: 'failed', later: 'failed' } as const

function entryOf(
  { due, manual, missedFrom }: Pick<Occurrence, 'due' | 'manual' | 'missedFrom'>,
  outcome: StartOutcome | undefined,
  now: number,
): ScheduleEntry {
  return {
    ...{ due: timeText(due), at: timeText(now), outcome: outcomeOf(outcome) },
    ...(outcome?.ok && { run: outcome.run, conversation: outcome.conversation }),
    ...(outcome && !outcome.ok && { code: outcome.code, message: outcome.message }),
    ...(missedFrom !== undefined && { missedFrom: timeText(missedFrom) }),
    ...(manual !== undefined && { manual: true }),
  }
}

function outcomeOf(outcome: StartOutcome | undefined): ScheduleOutcome {
  if (!outcome) return 'missed'
  return outcome.ok ? 'started' : OUTCOMES[outcome.because]
}

function stateOf(paused: boolean, next: number | undefined, waiting: WaitingTime | undefined): ScheduleState {
  return { paused, next, waiting }
}

/** Returns when a schedule needs attention next; Infinity for never. One that has ended is removed then. */
function wakeTime({ paused, next, waiting }: ScheduleState, now: number): number {
  if (paused) return Infinity
  return waiting ? now : (next ?? now + ENDED_MS)
}

/** Returns the timing of a stored schedule; undefined if it cannot be read any more, as after its time zone was renamed. */
function timingOfRow({ definition, stored }: ScheduleRow): Timing | undefined {
  const timing = makeTiming(definition, stored)
  return 'path' in timing ? undefined : timing
}

function timesText({ cron, timeZone, at, everySeconds }: ScheduleDefinition): string {
  return canonicalJson({ cron, timeZone, at, everySeconds })
}

function scopesOf({ definition, caller }: ScheduleRow): readonly string[] {
  return definition.scopes ?? caller.scopes
}

/** Refuses a caller who lacks a scope that the runs of a schedule have. */
function refusalOfScopes(row: ScheduleRow, scopes: readonly string[]): ScheduleRefusal | undefined {
  const missing = scopesOf(row).find((scope) => !scopes.includes(scope))
  if (missing === undefined) return undefined
  const message = `The runs of this schedule have the scope "${missing}", which your key lacks.`
  return refusalOf(403, 'scope_not_held', message)
}

function summaryOf(row: ScheduleRow): ScheduleSummary {
  const { name, definition, caller, state, history } = row
  const { run: _run, scopes: _scopes, keepDays: _keepDays, ...times } = definition
  const { overlap = 'skip', missed = 'once' } = definition
  const { paused, next, waiting } = state
  const { key } = caller
  const [last] = history
  return {
    ...{ name, ...times, overlap, missed, paused },
    identity: { key, scopes: scopesOf(row) },
    ...(next !== undefined && !paused && { next: timeText(next) }),
    ...(waiting && { waiting: { due: timeText(waiting.due), code: waiting.code, message: waiting.message } }),
    last,
    asks: questionText(row.definition.run['input']),
    recent: history.slice(0, RECENT).map(({ outcome }) => outcome),
  }
}

function scheduleOf(row: ScheduleRow): Schedule {
  const { run, keepDays } = row.definition
  return { ...summaryOf(row), run, keepDays, history: row.history }
}

const timeText = (time: number) => new Date(time).toISOString()

function refusalOf(status: number, code: string, message: string): ScheduleRefusal {
  return { ok: false, status, code, message }
}

const NO_SCHEDULE = refusalOf(404, 'unknown_schedule', 'There is no such schedule.')

function quotaRefusal(reached: ReachedQuota): ScheduleRefusal {
  return { ...refusalOf(507, 'quota_exceeded', quotaMessage(reached)), reached }
}
