import type { PendingApproval, RunSummary } from './conversation.ts'
import type { LimitName } from './limits.ts'
import type { AgentCall, RunStatus } from './run.ts'
import type { ToolDefinition } from './tool-definition.ts'

/** A run of a conversation, as the list of a tenant's runs shows it. */
export interface ListedRun extends RunSummary {
  readonly conversation: string
  /** How the last question of the input begins. */
  readonly question: string
  /** `provider/name`. */
  readonly model: string
  /** The id of the API key that started the run; absent if it has none. */
  readonly key?: string
  /** If it is the run of an agent: the calls that lead to it, the outermost first. */
  readonly path?: readonly AgentCall[]
  /** The tools that were called, each once. */
  readonly tools: readonly string[]
  /** The codes of its error and of those of its calls, each once. */
  readonly errors: readonly string[]
  /** In the currency of the prices; 0 if the model has none. */
  readonly cost: number
  /** The number of answers of models; absent, like `tokens`, for runs that an earlier version has listed. */
  readonly steps?: number
  /** Input and output tokens together. */
  readonly tokens?: number
  /** The limit that the run has reached. */
  readonly limit?: LimitName
}

/** A call that waits for a person, as the list of all such calls shows it. */
export interface ListedApproval extends Omit<PendingApproval, 'definition' | 'arguments' | 'program'> {
  readonly conversation: string
  /** How the last question of the run's input begins; absent for callers that may not read the run. */
  readonly question?: string
  /** When the run began to wait, in epoch milliseconds. */
  readonly since: number
  /** Absent if they are very long: `GET /conversations/{id}/runs/{run}/calls/{call}` has them. */
  readonly arguments?: unknown
  /** The code of the program that made this call; absent like `arguments` if it is very long. */
  readonly program?: string
  readonly definition?: Pick<
    ToolDefinition,
    'title' | 'description' | 'annotations' | 'version' | 'hash' | 'undo' | 'approval'
  >
}

/** How a run stands, for the list of its tenant. */
export interface RunListing {
  readonly run: ListedRun
  /** When it stood so, in epoch milliseconds. An older listing never replaces a newer one. */
  readonly at: number
  /** When its conversation is deleted, in epoch milliseconds. Default: never. */
  readonly expires?: number
  readonly approvals: readonly ListedApproval[]
}

/** How many runs have a status. */
export interface OpenRunCount {
  readonly status: RunStatus
  readonly count: number
}

/** How many of the wanted runs have a status, and what they cost together. */
export interface StatusCount extends OpenRunCount {
  readonly cost: number
}

/** By what runs can be sorted, the greatest first, instead of by their place in the list. */
export const RUN_SORTS = ['cost', 'duration', 'tokens', 'steps'] as const
export type RunSort = (typeof RUN_SORTS)[number]

/** Returns what runs are sorted by, at a time in epoch milliseconds. */
export function sortValue(run: ListedRun, sort: RunSort, now: number): number {
  return sort === 'duration' ? (run.ended ?? now) - run.created : (run[sort] ?? 0)
}

/** Which runs of a tenant are wanted: those for which all of this holds. Times are in epoch milliseconds. */
export interface RunQuery {
  readonly status?: RunStatus
  readonly tool?: string
  /** The code of an error of the run or of one of its calls. */
  readonly error?: string
  readonly model?: string
  readonly key?: string
  /** A part of the question or of an id, in any case. */
  readonly text?: string
  /** The least cost. */
  readonly cost?: number
  /** The least duration, in milliseconds. A run that has not ended has lasted until now. */
  readonly duration?: number
  /** When the run was accepted: at this time or later, and before that one. */
  readonly from?: number
  readonly to?: number
  /** Whether the runs of agents are wanted too. Default: only those that callers have started. */
  readonly hasAgents?: boolean
  /** Only the runs of agents that this run has called, at any depth. */
  readonly parent?: string
  /** Only the newest of these runs of each conversation. */
  readonly isLatest?: boolean
  /** Only runs that are listed after this one. */
  readonly before?: string
  /** Default: the newest first. Not with `before` or `isLatest`. */
  readonly sort?: RunSort
  readonly limit: number
}

/** A run, and its place in the list: newer runs have greater ones. */
export interface PlacedRun extends ListedRun {
  readonly place: number
}

/** Which runs of one object of a directory are wanted. */
export interface ShardQuery extends Omit<RunQuery, 'before'> {
  /** Only runs with a lower place. */
  readonly below?: number
  /** Only runs of these conversations. */
  readonly conversations?: readonly string[]
}
