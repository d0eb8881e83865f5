import type { Question } from '../../contract/input.ts'
import type { LimitName } from '../../contract/limits.ts'
import type { Content, MadeCall } from '../../contract/message.ts'
import type { Citation, ProviderCall } from '../../contract/provider-tool.ts'
import type { Finish, RunError, RunStatus, WaitCause } from '../../contract/run.ts'
import type { Usage } from '../../contract/usage.ts'

/** Where a call stands. `proposed`: the model has written it, and nothing has been done about it yet. */
export type CallStage =
  | 'proposed'
  | 'approval'
  | 'rejected'
  | 'caller'
  | 'running'
  | 'suspended'
  | 'later'
  | 'interrupted'
  | 'ok'
  | 'failed'

/** One sending of a call to its tool. Times are in epoch milliseconds. */
export interface CallAttempt {
  readonly number: number
  readonly from: number
  /** Absent while it runs, and for an attempt that was lost. */
  readonly to?: number
  /** Why it has no outcome: time was up, or the edge stopped. */
  readonly loss?: 'timeout' | 'stopped'
}

/** A time, in epoch milliseconds. `to` is absent while it lasts. */
export interface TimeSpan {
  readonly from: number
  readonly to?: number
}

export interface CallView {
  readonly id: string
  /** The call of the program that made it. */
  readonly parent?: string
  readonly tool: string
  /** It is a program, which makes calls of its own. */
  readonly isProgram?: true
  /** As the model wrote them. */
  readonly arguments: string
  readonly state: CallStage
  readonly attempts: readonly CallAttempt[]
  /** The times in which the call waited for a person, its caller or its tool. `to` is absent while it waits. */
  readonly waits: readonly TimeSpan[]
  readonly approval?: ApprovalView
  /** What else happened to it, in words: the timers of a program, and where it took another way. */
  readonly notes?: readonly string[]
  readonly progress?: { readonly message?: string; readonly fraction?: number; readonly data?: unknown }
  readonly content?: readonly Content[]
  readonly structured?: unknown
  /** Bytes of the complete result, if `content` is only a part of it. */
  readonly cut?: number
  readonly error?: { readonly code: string; readonly message: string }
  /** It was sent and has failed, and nobody knows whether it took effect, if its tool has effects. */
  readonly inDoubt?: true
  /** The calls of which the same holds that an agent has made in it. */
  readonly callsInDoubt?: readonly MadeCall[]
  readonly usage?: Usage
  /** The source of the tool and the version of its definition, when the call was last sent. Older runs lack them. */
  readonly place?: string | undefined
  readonly version?: string | undefined
  /** The deployed version of the Worker that answered. */
  readonly deployment?: string
  readonly durationMs?: number
  readonly undone?: { readonly ok: boolean; readonly message?: string }
}

export interface ApprovalView {
  readonly because?: 'untrusted_data'
  /** In epoch milliseconds, like `decidedAt`. */
  readonly askedAt?: number
  readonly decidedAt?: number
  /** What the call asks for: it has run, and runs again with the answers. */
  readonly questions?: readonly Question[]
  readonly decision?: 'approve' | 'reject'
  readonly reason?: string
  readonly by?: string
  /** A person has put other arguments in the place of the model's. */
  readonly isChanged?: true
}

export interface StepView {
  readonly number: number
  /** Above 1 if earlier attempts were lost. */
  readonly attempt: number
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly CallView[]
  /** What the provider did with tools of its own. */
  readonly providerCalls?: readonly ProviderCall[]
  /** The sources of the text. */
  readonly citations?: readonly Citation[]
  /** Whether the model's answer is complete. */
  readonly isAnswered: boolean
  /** Answers that did not fit the requested format. */
  readonly rejected: readonly { readonly text: string; readonly issues: string }[]
  /** In epoch milliseconds, like `answeredAt`. Older runs lack both. */
  readonly startedAt?: number
  readonly answeredAt?: number
  /** The attempts at an answer that came to nothing, in their order. */
  readonly lostAttempts: readonly LostAttempt[]
  /** The times in which the run waited for the model, which failed. */
  readonly pauses: readonly ModelPause[]
  /** Why the model has not answered, if the run has failed with this step. */
  readonly error?: RunError
  readonly tools?: readonly string[]
  readonly usage?: Usage
  /** The tokens that the prompt left of its room. */
  readonly roomLeft?: number
  /** How earlier messages were reduced before the model was asked, in tokens of the request. */
  readonly reductions?: readonly { readonly before: number; readonly after: number; readonly because?: 'refused' }[]
  readonly finish?: string
}

/** An attempt at an answer that came to nothing. Times are in epoch milliseconds; absent if they are not known. */
export interface LostAttempt {
  /** The code of its failure; `interrupted` if the edge stopped. */
  readonly code: string
  /** The HTTP status of the provider. */
  readonly status?: number
  readonly from?: number
  readonly to?: number
}

/** A time in which a run waited for a model that failed. */
export interface ModelPause extends TimeSpan {
  readonly code: string
  /** When the model was to be asked again, in epoch milliseconds. */
  readonly until: number
}

/** A time in which the run waited, in its step of this number. `to` is absent while it waits. */
export interface Wait {
  readonly step: number
  readonly for: WaitCause
  readonly from: number
  readonly to?: number
}

/** A run as its events tell it. */
export interface RunView {
  readonly id: string
  readonly status: RunStatus
  readonly model?: string
  readonly tools: readonly string[]
  readonly startedAt?: number
  /** When it ended, in epoch milliseconds; absent for runs of earlier versions. */
  readonly endedAt?: number
  readonly steps: readonly StepView[]
  readonly waits: readonly Wait[]
  /** What else happened, in words. */
  readonly notes: readonly string[]
  readonly answer: string
  readonly finish?: Finish
  readonly which?: LimitName
  readonly usage?: Usage
  readonly error?: RunError
}

export function emptyRun(id: string): RunView {
  return { id, status: 'queued', tools: [], steps: [], waits: [], notes: [], answer: '' }
}

/** Returns all calls of a run, in their order. */
export function callsOf({ steps }: RunView): CallView[] {
  return steps.flatMap(({ calls }) => calls)
}

/** Whether the run has ended. */
export function hasEnded({ status }: Pick<RunView, 'status'>): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}
