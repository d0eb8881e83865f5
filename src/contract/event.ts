import type { ContextReduction, TokenCount } from './context.ts'
import type { Judgement } from './decision.ts'
import type { Content, DataMark, MadeCall, Message, Opaque, PartRefusal, ToolCall } from './message.ts'
import type { InputNeeds } from './input.ts'
import type { JsonObject } from './json.ts'
import type { ModelFinish } from './model.ts'
import type { Citation, ProviderCall } from './provider-tool.ts'
import type { Usage } from './usage.ts'
import type { AgentWait, Finish, RunError, WaitCause } from './run.ts'
import type { LimitName } from './limits.ts'
import type { ToolDefinition } from './tool-definition.ts'
import type { RunPlace } from './tool.ts'

/**
 * Everything that happens in a run. History, streams, records and traces are all derived from this one union. Facts are
 * journalled and folded into the state of the run. News (deltas, progress) is only shown to readers, so an unfinished
 * step leaves nothing behind.
 */
export type RunEventBody = RunFact | RunNews

/** The event of a type. */
export type EventBody<Type extends RunEventBody['type']> = Extract<RunEventBody, { readonly type: Type }>

/** The events of a run that are stored and replayed; `call.delta` and other news are not. */
export type RunFact =
  | {
      readonly type: 'run.started'
      readonly conversation?: string
      readonly model: string
      readonly tools: readonly string[]
      /** Epoch milliseconds. */
      readonly at: number
    }
  /** The caller sent more input while the run was under way; the model sees it in its next step. */
  | { readonly type: 'input.added'; readonly messages: readonly Message[] }
  /** Tools joined the run. Their definitions are pinned from here on, like those that it began with. */
  | { readonly type: 'tools.added'; readonly tools: readonly ToolDefinition[] }
  /** Earlier messages were left out, or missing results filled in, so that providers accept the history. */
  | { readonly type: 'history.repaired'; readonly dropped: number; readonly filled: number }
  /** A summary was made of messages that have left the window: those before position `upTo`. */
  | { readonly type: 'history.compacted'; readonly upTo: number; readonly usage?: Usage }
  /**
   * The messages of the conversation were reduced, as they took too much of the model's context window or, with
   * `because`, the model refused them. `before` and `after`: estimated tokens of the request; `room`: those that it may
   * have. `usage`: that of a summary.
   */
  | {
      readonly type: 'context.reduced'
      readonly step: number
      readonly reduction: ContextReduction
      readonly before: number
      readonly after: number
      readonly room: number
      readonly because?: 'refused'
      readonly usage?: Usage
      /** What the model has told of its count of tokens, if the run is stored: after a crash, the next prompts are as they would have been. */
      readonly tokens?: TokenCount
    }
  /** `tools`: the names on offer in this step, if they are not all tools of the run. */
  | { readonly type: 'step.started'; readonly step: number; readonly tools?: readonly string[] }
  /** The model's answer in this step is complete; its calls come next. */
  | {
      readonly type: 'step.answered'
      readonly step: number
      readonly text: string
      readonly reasoning?: string
      readonly calls: readonly ToolCall[]
      readonly finish: ModelFinish
      /** The text of the request's `stop` at which the model stopped, where the provider tells. */
      readonly stopSequence?: string
      readonly usage?: Usage
      /** The tokens that were left of the room for the prompt; absent if the model's window or count is unknown. */
      readonly roomLeft?: number
      /** As in `context.reduced`. */
      readonly tokens?: TokenCount
      readonly opaque?: Opaque
      /** The sources on which the text rests. */
      readonly citations?: readonly Citation[]
      /** Calls that a person must approve because the setup's `needsApproval` says so, whatever their tools say. */
      readonly approvals?: readonly string[]
      /** Who runs the calls, if the setup's `runsCalls` decided it. */
      readonly execution?: 'edge' | 'caller'
    }
  /**
   * A request to the model failed before the answer began, and is made again, perhaps to another model. A failure after
   * which the run ends is in `run.finished`.
   */
  | {
      readonly type: 'model.retried'
      readonly step: number
      readonly code: string
      /** The provider's HTTP status, if there was one. */
      readonly status?: number
      /** The time since the request, or since the failure before. */
      readonly durationMs: number
    }
  /**
   * The model fails for now, with this code and HTTP status. The run waits, and asks it again at `until`. `attempts`: the
   * requests since the answer before, or the wait before. Times are in epoch milliseconds.
   */
  | {
      readonly type: 'model.waiting'
      readonly step: number
      readonly code: string
      readonly status?: number
      readonly attempts: number
      readonly at: number
      readonly until: number
    }
  /** The provider of the model has used a tool of its own for the answer of this step, also if that is lost later. */
  | ({ readonly type: 'provider.call'; readonly step: number; readonly marks?: readonly DataMark[] } & ProviderCall)
  /** The answer does not fit the requested format. The model is told why and asked again. */
  | {
      readonly type: 'answer.rejected'
      readonly step: number
      readonly text: string
      readonly issues: string
      readonly usage?: Usage
    }
  /**
   * The run was aborted during this answer. Its text and reasoning so far stay in the history, marked as interrupted.
   * The usage is estimated if the model reported none.
   */
  | {
      readonly type: 'answer.cut'
      readonly step: number
      readonly text?: string
      readonly reasoning?: string
      readonly usage: Usage
    }
  | {
      readonly type: 'approval.requested'
      readonly callId: string
      readonly tool: string
      readonly arguments: string
      /** The hash of the definition that is to be approved. */
      readonly hash?: string
      /** Set if the approval is required only because the run has read both untrusted and private data. */
      readonly because?: 'untrusted_data'
      /** Set if the call has run and asks a person for this; approved, it is sent again with the answers. */
      readonly input?: InputNeeds
      /** The call of the program that made this call, if one did. */
      readonly parent?: string
    }
  | {
      readonly type: 'approval.decided'
      readonly callId: string
      readonly decision: 'approve' | 'reject'
      readonly reason?: string
      /** What the person filled in, by the names of the requests. */
      readonly input?: Readonly<Record<string, JsonObject>>
      /** The id of the key that decided, or the tenant of a caller without a key. */
      readonly by?: string
      /** The arguments that the person put in the place of the model's, as JSON text. */
      readonly arguments?: string
      /** SHA-256 of the canonical JSON of those arguments. */
      readonly argumentsHash?: string
    }
  /**
   * A decision model was asked whether this call may go ahead without a person; if `ok`, it does. With `about`: whether a
   * model may read its result, which is withheld if not.
   */
  | ({
      readonly type: 'call.judged'
      readonly callId: string
      readonly tool: string
      readonly about?: 'result'
      readonly durationMs: number
      /** The call of the program that made this call, if one did. */
      readonly parent?: string
    } & Judgement)
  /**
   * A program asks for a call of the run. `ask`: its number among all that the program has asked for, timers too.
   * `isGuarded`: a person must approve it because the setup's `needsApproval` says so.
   */
  | {
      readonly type: 'call.issued'
      readonly callId: string
      readonly parent: string
      readonly ask: number
      readonly tool: string
      readonly arguments: string
      readonly isGuarded?: true
    }
  /** A program waits for calls of its own. It will be run again, from its start, with the outcomes that are recorded. */
  | { readonly type: 'call.suspended'; readonly callId: string; readonly tool: string }
  /** A timer of a program has rung. `ask`: as in `call.issued`. */
  | { readonly type: 'program.woken'; readonly callId: string; readonly ask: number; readonly at: number }
  /**
   * A program that was run again asked for something else than before, from this number on. What it had asked for from
   * there on is left out, since none of it had an effect.
   */
  | { readonly type: 'program.diverged'; readonly callId: string; readonly ask: number }
  /** The caller must run this call and send its result. */
  | {
      readonly type: 'call.requested'
      readonly callId: string
      readonly tool: string
      readonly arguments: string
      /** The call of the program that made this call, if one did. */
      readonly parent?: string
    }
  | {
      readonly type: 'call.started'
      readonly callId: string
      readonly tool: string
      readonly attempt: number
      /** In epoch milliseconds, like `deadline`. */
      readonly at: number
      readonly deadline: number
      /** The arguments as sent; set for a call that started before the model's answer was complete. */
      readonly arguments?: string
      /** The operator's name for the source of the tool, such as the binding `TOOL_CLOCK`, and the tool's version. */
      readonly place?: string
      readonly version?: string
      /** Set if the call is a program, which makes calls of its own. */
      readonly isProgram?: true
      /** Set if the call starts a run of its own, that of an agent. It is sent again after any crash, to the same run. */
      readonly isAgent?: true
      /** The call of the program that made this call, if one did. */
      readonly parent?: string
    }
  /**
   * The edge stopped while the call ran or, with `because`, the call took too long. It will be sent again with the same
   * idempotency key.
   */
  | { readonly type: 'call.interrupted'; readonly callId: string; readonly tool: string; readonly because?: 'timeout' }
  /** The tool answers this call later. The run waits for the outcome, until a time in epoch milliseconds. */
  | {
      readonly type: 'call.deferred'
      readonly callId: string
      readonly tool: string
      readonly at: number
      readonly until: number
      /** How often the tool is polled, in milliseconds; absent if the outcome is reported. */
      readonly poll?: number
      /** Comes back with each poll. */
      readonly state?: string
      /** The run of the agent that was called. It accounts for what it uses. */
      readonly child?: RunPlace
    }
  /** The outcome of a call that is answered later has arrived, and is stored; it may even arrive before `call.deferred`. */
  | { readonly type: 'call.reported'; readonly callId: string; readonly tool: string }
  | CallSettled
  /**
   * The outcome of a call that had been settled without it. No model reads it; the run may have ended before.
   */
  | {
      readonly type: 'call.late'
      readonly callId: string
      readonly tool: string
      readonly ok: boolean
      readonly at: number
      /** The calls that an agent had made until it was cancelled, and that may have taken effect. */
      readonly calls?: readonly MadeCall[]
    }
  /** A finished call was undone because a later one failed. `error`: why it could not be undone. */
  | {
      readonly type: 'call.undone'
      readonly callId: string
      readonly tool: string
      readonly ok: boolean
      readonly error?: { readonly code: string; readonly message: string }
      /** The id of the failed call. */
      readonly because: string
    }
  | { readonly type: 'step.finished'; readonly step: number; readonly finish: ModelFinish; readonly usage?: Usage }
  /**
   * The model is asked again; readers drop the text of the attempt before. `because`: the error code of the model whose
   * answer broke off, `waited` after a wait for the model, `interrupted` after the loss of the object, or `item_refused`
   * after the server of the model has refused parts of messages. Absent if the answer was complete and is not wanted.
   */
  | {
      readonly type: 'step.restarted'
      readonly step: number
      readonly attempt: number
      readonly because?: string
      /** The parts that are left out from here on. */
      readonly refusals?: readonly PartRefusal[]
      /** That of the questions by which they were found. */
      readonly usage?: Usage
    }
  | { readonly type: 'limit.reached'; readonly which: LimitName }
  | RunWaiting
  | { readonly type: 'run.resumed'; readonly at: number }
  | { readonly type: 'run.cancelling' }
  /** The run could not be resumed. `retryAt`: when it is tried again by itself; absent if somebody must retry or cancel it. */
  | { readonly type: 'run.parked'; readonly reason: string; readonly at: number; readonly retryAt?: number }
  /** The parked run continues: somebody retried it, or its time has come. */
  | { readonly type: 'run.retried'; readonly at: number }
  /** Exactly once, and last but for \`call.late\`. */
  | RunFinished

export type RunNews =
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
  /** The arguments of a call are complete; the model may still be answering. */
  | { readonly type: 'call.proposed'; readonly callId: string; readonly tool: string; readonly arguments: string }
  | {
      readonly type: 'call.progress'
      readonly callId: string
      readonly message?: string
      readonly fraction?: number
      readonly data?: unknown
    }

/** `error.message` is what the model reads; the detail for operators is logged and is in no event. */
export interface CallSettled {
  readonly type: 'call.settled'
  readonly callId: string
  readonly tool: string
  readonly ok: boolean
  readonly content?: readonly Content[]
  /** Bytes of the complete result, if `content` is only a part of it; the rest is stored beside the journal. */
  readonly cut?: number
  readonly structured?: unknown
  readonly metadata?: JsonObject
  readonly error?: { readonly code: string; readonly message: string; readonly fatal?: true }
  /** The usage of models that ran inside the tool. */
  readonly usage?: Usage
  /** The marks of this result, in addition to those that its tool's annotations give to every result. */
  readonly marks?: readonly DataMark[]
  /** The calls that an agent made and that may have taken effect. */
  readonly calls?: readonly MadeCall[]
  /** The id or tag of the deployed version of the Worker that answered. */
  readonly deployment?: string
  /** The call of the program that made this call, if one did. */
  readonly parent?: string
  readonly durationMs: number
}

/** The run begins to wait, or waits for something else than before. */
export interface RunWaiting {
  readonly type: 'run.waiting'
  readonly for: WaitCause
  /** The calls in the runs of agents that wait for a person; absent if there are none. */
  readonly agents?: readonly AgentWait[]
  readonly at: number
}

export interface RunFinished {
  readonly type: 'run.finished'
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly finish: Finish
  readonly which?: LimitName
  readonly answer: string
  readonly usage: Usage
  /** The part of `usage` that the runs of agents account for. */
  readonly agentUsage?: Usage
  readonly error?: RunError
}

/**
 * An event with its number in the run. `seq` rises from 1, with gaps after a crash and where news have been deleted. `at`:
 * when it happened, in epoch milliseconds; every fact has it, and so has the first news after a fact.
 */
export type RunEvent = RunEventBody & { readonly runId: string; readonly seq: number; readonly at?: number }

/** Returns a function that adds to events when they happened: to every fact, and to the first news after one. */
export function timestamps(now: () => number): (event: RunEventBody) => { readonly at?: number } {
  let hasNews = false
  return (event) => {
    const needsTime = !isNews(event) || !hasNews
    hasNews = isNews(event)
    return 'at' in event || !needsTime ? {} : { at: now() }
  }
}

/**
 * Whether events of a type are news, by its last part: also the types of events that this version does not know. A new
 * fact must therefore not end in one of these parts.
 */
export function isNewsType(type: string): type is `${string}.${'delta' | 'proposed' | 'progress'}` {
  return /\.(?:delta|proposed|progress)$/.test(type)
}

/**
 * Whether an answer ends with a fact: the run has ended, or waits for something else than agents that are at work. An
 * answer that has ended begins again if the run resumes.
 */
export function endsAnswer(event: RunEventBody): boolean {
  return event.type === 'run.finished' || (event.type === 'run.waiting' && event.for !== 'agent')
}

export function isNews(event: RunEventBody): event is RunNews {
  return isNewsType(event.type)
}
