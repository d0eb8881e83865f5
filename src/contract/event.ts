import type { Content, DataMark, Message, Opaque, ToolCall } from './message.ts'
import type { ModelFinish } from './model.ts'
import type { Usage } from './usage.ts'
import type { Finish, LimitName, RunError, RunRecord } from './run.ts'
import type { ToolDefinition } from './tool.ts'

/**
 * Everything that happens in a run. The one union that all else reads: history, streams, records, traces.
 * Facts are journalled and folded into the state of the run; news (deltas, progress) is for readers alone, so that an
 * unfinished step leaves nothing behind.
 */
export type RunEventBody = RunFact | RunNews

export type RunFact =
  | {
      readonly type: 'run.started'
      readonly conversation?: string
      readonly model: string
      readonly tools: readonly string[]
      /** Epoch milliseconds. */
      readonly at: number
    }
  /** What the caller said while the run was under way; the model hears it before its next answer. */
  | { readonly type: 'input.added'; readonly messages: readonly Message[] }
  /** Tools that joined the run: pinned from here on, as those it began with. */
  | { readonly type: 'tools.added'; readonly tools: readonly ToolDefinition[] }
  /** What was left out of the earlier messages, or filled in, so that a model takes them. */
  | { readonly type: 'history.repaired'; readonly dropped: number; readonly filled: number }
  /** Notes were made of earlier messages that have left the window, which ends before `upTo`. */
  | { readonly type: 'history.compacted'; readonly upTo: number; readonly usage?: Usage }
  /** `tools`: the names on offer in this step, where they are not all of the run's. */
  | { readonly type: 'step.started'; readonly step: number; readonly tools?: readonly string[] }
  /** The model's answer of this step is complete; its calls are about to run. */
  | {
      readonly type: 'step.answered'
      readonly step: number
      readonly text: string
      readonly reasoning?: string
      readonly calls: readonly ToolCall[]
      readonly finish: ModelFinish
      readonly usage?: Usage
      readonly opaque?: Opaque
      /** Calls that a person must agree to by the setup's rule, whatever their tools say. */
      readonly approvals?: readonly string[]
      /** Who runs the calls, where the setup decided otherwise than the request says. */
      readonly execution?: 'edge' | 'caller'
    }
  /** The answer does not fit the format that was asked for; the model is told why and answers once more. */
  | {
      readonly type: 'answer.rejected'
      readonly step: number
      readonly text: string
      readonly issues: string
      readonly usage?: Usage
    }
  /** The run was aborted in the answer of this step, which counts for its key: what it used, about where nobody told. */
  | { readonly type: 'answer.cut'; readonly step: number; readonly usage: Usage }
  | {
      readonly type: 'approval.requested'
      readonly callId: string
      readonly tool: string
      readonly arguments: string
      /** Of the definition that is to be agreed to. */
      readonly hash?: string
      /** Why, where neither the tool nor the setup asks for it: what the run has read might leave with the call. */
      readonly because?: 'untrusted_data'
    }
  | {
      readonly type: 'approval.decided'
      readonly callId: string
      readonly decision: 'approve' | 'reject'
      readonly reason?: string
      /** Who decided. */
      readonly by?: string
    }
  /** The caller must run this call and send its result. */
  | { readonly type: 'call.requested'; readonly callId: string; readonly tool: string; readonly arguments: string }
  | {
      readonly type: 'call.started'
      readonly callId: string
      readonly tool: string
      readonly attempt: number
      /** Epoch milliseconds, as `deadline`. */
      readonly at: number
      readonly deadline: number
      /** Of a call that left while the model still spoke: what it was sent with. */
      readonly arguments?: string
    }
  /** The edge stopped while the call ran; it will be sent again, with the same key. */
  | { readonly type: 'call.interrupted'; readonly callId: string; readonly tool: string }
  | CallSettled
  /** A finished call was undone, since a later one failed. `error`: why it was not. */
  | {
      readonly type: 'call.undone'
      readonly callId: string
      readonly tool: string
      readonly ok: boolean
      readonly error?: { readonly code: string; readonly message: string }
      /** The failed call. */
      readonly because: string
    }
  | { readonly type: 'step.finished'; readonly step: number; readonly finish: ModelFinish; readonly usage?: Usage }
  | { readonly type: 'step.restarted'; readonly step: number; readonly attempt: number }
  | { readonly type: 'limit.reached'; readonly which: LimitName }
  | { readonly type: 'run.waiting'; readonly for: 'approval' | 'caller'; readonly at: number }
  | { readonly type: 'run.resumed'; readonly at: number }
  | { readonly type: 'run.cancelling' }
  /** Always last, exactly once. */
  | RunFinished

export type RunNews =
  /** In the place of events that are not kept any more: the run as it was then. Made for one reader, never journalled. */
  | { readonly type: 'run.snapshot'; readonly record: RunRecord }
  | { readonly type: 'reasoning.delta'; readonly step: number; readonly text: string }
  | { readonly type: 'text.delta'; readonly step: number; readonly text: string }
  | {
      readonly type: 'call.delta'
      readonly step: number
      readonly index: number
      readonly callId: string
      readonly name?: string
      readonly arguments: string
    }
  /** A call's arguments are complete, though the model may still be speaking. */
  | { readonly type: 'call.proposed'; readonly callId: string; readonly tool: string; readonly arguments: string }
  | {
      readonly type: 'call.progress'
      readonly callId: string
      readonly message?: string
      readonly fraction?: number
      readonly data?: unknown
    }

/** `error.message` is what the model reads; what operators read is logged, and is in no event. */
export interface CallSettled {
  readonly type: 'call.settled'
  readonly callId: string
  readonly tool: string
  readonly ok: boolean
  readonly content?: readonly Content[]
  /** Bytes of the whole result, where `content` is a part of it; the rest is kept beside the journal. */
  readonly cut?: number
  readonly structured?: unknown
  readonly error?: { readonly code: string; readonly message: string; readonly fatal?: true }
  /** What models used inside of the tool. */
  readonly usage?: Usage
  /** What this result holds, beside what its tool says of all. */
  readonly marks?: readonly DataMark[]
  readonly durationMs: number
}

export interface RunFinished {
  readonly type: 'run.finished'
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly finish: Finish
  readonly which?: LimitName
  readonly answer: string
  readonly usage: Usage
  readonly error?: RunError
}

/** An event of a run in its place: `seq` rises from 1, with gaps only where a crash swallowed news. */
export type RunEvent = RunEventBody & { readonly runId: string; readonly seq: number }
