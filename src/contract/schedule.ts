import type { Caller } from './tool.ts'
import type { Series } from './metrics.ts'
import type { ReachedQuota } from './quotas.ts'
import type { JsonObject } from './json.ts'
import type { DataMark } from './message.ts'

/**
 * What happens at a due time while an earlier run of the schedule has not ended. `skip`: no run is started. `queue`: the
 * run is started once the earlier one has ended.
 */
export const OVERLAPS = ['skip', 'queue'] as const
export type Overlap = (typeof OVERLAPS)[number]

/**
 * What happens to due times that passed while nothing could be started. `once`: one run is started for the last of them.
 * `none`: no run is started for them.
 */
export const MISSED_RULES = ['once', 'none'] as const
export type MissedRule = (typeof MISSED_RULES)[number]

/** When the runs of a schedule are due: exactly one of `cron`, `at` and `everySeconds` is set. */
export interface ScheduleTimes {
  /** Five fields, such as `0 8 * * 1-5`, or a name such as `@daily`. */
  readonly cron?: string
  /** The IANA name of the time zone in which `cron` is read. Default: `UTC`. */
  readonly timeZone?: string
  /** RFC 3339 with an offset: one run. */
  readonly at?: string
  /** The time between two runs, counted from when the schedule was stored. */
  readonly everySeconds?: number
}

/** The body of `PUT /schedules/{name}`, as it is stored. */
export interface ScheduleDefinition extends ScheduleTimes {
  /** The body of a run, as `POST /runs` takes it. */
  readonly run: JsonObject
  /** The conversation of all runs. Default: each run has one of its own. */
  readonly conversation?: string
  /** How many days the conversation of a run is kept, if each has one of its own. Default: 30. */
  readonly keepDays?: number
  /** Default: `skip`. */
  readonly overlap?: Overlap
  /** Default: `once`. */
  readonly missed?: MissedRule
  /** The scopes that the runs have, out of those of the key that stores the schedule. Default: all of these. */
  readonly scopes?: readonly string[]
  /** Default: false. */
  readonly paused?: boolean
  /** What the run had read that stored the schedule, if a run did: its task may be of that. No body of a request has it. */
  readonly marks?: readonly DataMark[]
}

/** What a due time came to. */
export const SCHEDULE_OUTCOMES = ['started', 'skipped', 'missed', 'refused', 'failed'] as const
/**
 * `started`: the run was accepted. `skipped`: an earlier run had not ended. `missed`: the time had passed, and the schedule
 * does not make up for that. `refused`: its key may start no runs any more. `failed`: the
 * run was not accepted.
 */
export type ScheduleOutcome = (typeof SCHEDULE_OUTCOMES)[number]

/** An entry of the history of a schedule. Times are in RFC 3339. */
export interface ScheduleEntry {
  readonly due: string
  readonly at: string
  readonly outcome: ScheduleOutcome
  /** The run that was started, and its conversation. */
  readonly run?: string
  readonly conversation?: string
  /** Why no run was started. */
  readonly code?: string
  readonly message?: string
  /** The first of the times that were missed before this one. */
  readonly missedFrom?: string
  /** Set if a request started the run, and no due time. */
  readonly manual?: true
}

/** A schedule as lists show it. */
export interface ScheduleSummary extends ScheduleTimes {
  readonly name: string
  readonly conversation?: string
  readonly overlap: Overlap
  readonly missed: MissedRule
  readonly paused: boolean
  /** As which key, and with which scopes, its runs are started. */
  readonly identity: { readonly key?: string; readonly scopes: readonly string[] }
  /** The next due time; absent if there is none, or while it is paused. */
  readonly next?: string
  /** The due time for which a run is still to be started, and why it was not yet. */
  readonly waiting?: { readonly due: string; readonly code: string; readonly message: string }
  readonly last?: ScheduleEntry
  /** The marks of what its runs are asked, if a run that had read such data has stored it. */
  readonly marks?: readonly DataMark[]
  /** The beginning of what its runs are asked. */
  readonly asks: string
  /** What came of the last ten due times, the newest first. */
  readonly recent: readonly ScheduleOutcome[]
}

/** A schedule with all that is stored of it. */
export interface Schedule extends ScheduleSummary {
  readonly run: JsonObject
  readonly keepDays?: number
  /** The newest first; at most 30. */
  readonly history: readonly ScheduleEntry[]
}

/** Why a request about a schedule was refused. */
export interface ScheduleRefusal {
  readonly ok: false
  /** The HTTP status. */
  readonly status: number
  readonly code: string
  readonly message: string
  readonly retryAfterMs?: number | undefined
  readonly reached?: ReachedQuota
}

export type ScheduleReply<Value> = ({ readonly ok: true } & Value) | ScheduleRefusal

/** The schedules of one tenant: the RPC methods of its object. */
export interface ScheduleService {
  /** Stores a schedule, or replaces one whose runs have no scopes that `caller` lacks. Its runs are started as `caller`. */
  put(
    name: string,
    definition: ScheduleDefinition,
    caller: Caller,
  ): Promise<ScheduleReply<{ readonly created: boolean; readonly schedule: Schedule }>>
  get(name: string): Promise<Schedule | undefined>
  /** Returns schedules ordered by name, those after a name. */
  list(after: string, limit: number): Promise<readonly ScheduleSummary[]>
  /** `scopes`: those of the caller, who must have all that the runs have. */
  remove(name: string, scopes: readonly string[]): Promise<ScheduleReply<object>>
  /** Pauses or resumes a schedule. `scopes`: those of the caller, who must have all that the runs have to resume it. */
  pause(
    name: string,
    paused: boolean,
    scopes: readonly string[],
  ): Promise<ScheduleReply<{ readonly schedule: Schedule }>>
  /**
   * Starts a run now, beside those that are due. The same `key` starts one run. `scopes`: those of the caller, who must
   * have all that the run has.
   */
  runNow(
    name: string,
    key: string,
    scopes: readonly string[],
  ): Promise<ScheduleReply<{ readonly entry: ScheduleEntry }>>
  count(): Promise<number>
  /** Returns the metrics of schedules. */
  series(): Promise<readonly Series[]>
}
