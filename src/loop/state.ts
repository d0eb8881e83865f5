/**
 * The loop. A run is a list of events: `fold` computes its state, `decide` returns the next action, and `drive`
 * performs it. The loop knows no provider, transport or store.
 */
import type { RunBudget } from '../contract/budget.ts'
import type { ContextReduction, TokenCount } from '../contract/context.ts'
import type { InputNeeds } from '../contract/input.ts'
import type { Judgement } from '../contract/decision.ts'
import type { JsonObject } from '../contract/json.ts'
import type { CallSettled, EventBody, RunEventBody, RunFinished } from '../contract/event.ts'
import type { DataMark, MadeCall, Message, PartRefusal, ToolCall } from '../contract/message.ts'
import type { ModelFinish } from '../contract/model.ts'
import type { ProviderCall } from '../contract/provider-tool.ts'
import { NO_USAGE, subtractUsage, type Usage } from '../contract/usage.ts'
import type { LimitName } from '../contract/limits.ts'
import type { PromptRecord, RunRequest, RunStatus, RunWait } from '../contract/run.ts'
import type { ToolDefinition } from '../contract/tool-definition.ts'
import type { RunPlace } from '../contract/tool.ts'
import { type CallCounts, type EarlierCalls, newCallCounts } from './decide/call-counts.ts'

/**
 * A call of a run. `awaiting_approval`: a person must approve it. `awaiting_caller`: the caller runs it. `deferred`:
 * its tool answers later. `suspended`: a program that waits for calls of its own.
 */
export interface CallState extends ToolCall {
  status:
    | ('proposed' | 'awaiting_approval' | 'approved' | 'rejected' | 'awaiting_caller')
    | ('started' | 'suspended' | 'deferred' | 'settled')
  /** Why a person refused. */
  reason?: string
  /** Whether a person has put other arguments in the place of the model's. */
  wasChanged?: boolean
  /** What it asks a person for. */
  needs?: InputNeeds | undefined
  /** What the person filled in. */
  filledIn?: Readonly<Record<string, JsonObject>>
  attempt: number
  /** The number of the answer that asked for it, among those with calls. */
  round?: number
  /** How many calls were asked for before it; absent until it is part of an answer or issued by a program. */
  earlier?: EarlierCalls
  /** In epoch milliseconds, like `deadline`. */
  startedAt?: number
  deadline?: number
  /** The source of its tool and the version of that, when it was last sent. */
  place?: string | undefined
  version?: string | undefined
  /** Set if its tool answers later. Times are in epoch milliseconds. */
  later?: DeferredCall
  /** Whether its outcome was reported and is stored. */
  hasReport?: boolean
  /** Whether it starts a run of its own, that of an agent, and which one that is, once it is known. */
  isAgent?: boolean
  child?: RunPlace
  /** What a decision model has said about it, if one was asked. */
  judgement?: Judgement
  /** What it has said about its result. */
  resultJudgement?: Judgement | undefined
  /** Whether the setup demands approval, whatever the tool says. */
  isGuarded?: boolean
  /**
   * The idempotency key, if it is not the call's id: another attempt at the step already sent this call under another
   * id, or sent another call under this id.
   */
  key?: string
  result?: CallSettled
  /** The call of the program that made it, and its number among all that the program has asked for. */
  readonly parent?: string
  readonly ask?: number
  /** The arguments that the program wrote, if a person has put others in their place. */
  firstArguments?: string
  /** Set if it is a program. */
  program?: ProgramState
  /** Whether it was undone; absent if that was not tried. */
  wasUndone?: boolean
  /** The calls that were undone because it failed, or that could not be. */
  undone?: readonly MadeCall[]
  /** What an agent had done that was cancelled after the call had been settled. */
  lateCalls?: readonly MadeCall[]
  /** Lines that are added to its result for the model. */
  notes?: readonly string[]
  /** The marks of what these lines quote. */
  noteMarks?: readonly DataMark[]
}

/** Returns the key by which tools know a call. */
export function idempotencyKey({ callId, key = callId }: Pick<CallState, 'callId' | 'key'>): string {
  return key
}

/** What a program has asked for, and what has come of it. Asks are numbered from 0. */
export interface ProgramState {
  /** When it first started, in epoch milliseconds. */
  readonly startedAt: number
  /** The ids of its calls by number; a timer has none. */
  readonly calls: Map<number, string>
  /** What was answered, in the order in which it was. `at`: the time of the program from then on. */
  releases: readonly { readonly ask: number; readonly at: number }[]
  /** How many of these it had been given when it was last suspended. */
  position: number
}

/** What is known of a call that its tool answers later. */
export interface DeferredCall {
  readonly until: number
  /** How often the tool is polled, in milliseconds; absent if the outcome is reported. */
  readonly poll?: number
  readonly state?: string
  /** When it is polled next. Polls are not recorded, so after a restart this is the time of the first one. */
  pollAt: number
}

export interface StepState {
  readonly step: number
  attempt: number
  /** How often the model's answer broke off. */
  cuts: number
  /** How often the model has answered with nothing. Default 0. */
  empties?: number
  /** The names of the tools on offer, if they are not all tools of the run. */
  readonly tools?: readonly string[]
  /** Absent until the model's answer is complete. */
  answer?: Answer
  calls: readonly CallState[]
  /** Calls that started before the answer was complete. The answer's calls take them over. */
  early: readonly CallState[]
  /** The calls of both lists, by id. */
  readonly byId: Map<string, CallState>
  /** Those that have started and have no outcome yet, by their keys. */
  readonly started: Map<string, CallState>
  /** Whether the answer has calls, and all of them are repeats. */
  hasOnlyRepeats?: boolean
  /** Set if the run has waited for the model in this step. */
  wait?: ModelWait
  /** How often the model has refused the request as too long. */
  overflows?: number
  /** How often it has refused parts of messages. */
  refusalCount?: number
  /** The marks of what the provider's own tools have found for it. */
  marks?: readonly DataMark[]
  /** Answers that did not fit the format, and why. Only the model sees them. */
  rejections: readonly { readonly text: string; readonly issues: string }[]
}

/** How a run has waited in a step for a model that failed. */
export interface ModelWait {
  /** How long in all, in milliseconds, and how often. */
  readonly ms: number
  readonly count: number
  /** The requests that failed. */
  readonly attempts: number
  /** Why the run waits, and until when, in epoch milliseconds; absent once the model has been asked again. */
  readonly pause?: { readonly code: string; readonly until: number }
}

interface Answer {
  readonly text: string
  readonly finish: ModelFinish
  readonly usage?: Usage
  readonly execution?: RunRequest['execution']
}

/** What facts change, by their types. */
export type Folds = { readonly [Type in RunEventBody['type']]?: (state: RunState, event: EventBody<Type>) => void }

/** What a feature of the loop adds to the state of a run, and decides by it. */
export interface FeatureRules {
  readonly name: string
  /** What its own facts change. A run with facts that no feature folds is parked. */
  readonly facts: Folds
  /** What facts of the loop change for it, once the loop has folded them. */
  readonly after?: Folds
  /** Returns the names of the tools that calls within a call may reach. Default: none. */
  readonly innerNames?: (state: RunState) => readonly string[]
  /** Whether a call that is suspended may continue. */
  readonly isReady?: (state: RunState, call: CallState) => boolean
}

/** The state of a run. Once the run is under way, only `fold` changes it. */
export interface RunState {
  /** The features of the edge that performs it. */
  readonly features: readonly FeatureRules[]
  /** The type of a fact of its journal that none of them folds. */
  unfolded?: string
  request: RunRequest
  /** The edge's tools on offer, by name. */
  offered: ReadonlyMap<string, ToolDefinition>
  status: RunStatus
  /** The messages of this run: the input, then answers and results, each call with its result. */
  readonly messages: Message[]
  /** Input that arrived during a step. It joins the messages when the step has finished. */
  pendingInput: readonly Message[]
  steps: number
  /** The step under way, if any. */
  step?: StepState
  /** The number of steps that asked for tools. */
  rounds: number
  /** How many of the last of them had nothing but repeated calls, which were refused. */
  repeatedRounds: number
  /** Every call of the run, in order. */
  readonly calls: CallState[]
  /** Calls that started early and are not in the answer, since that attempt at the step was lost. They count as well. */
  readonly lostCalls: CallState[]
  /** The calls of both lists, counted. */
  readonly callCounts: CallCounts
  /** The call that each of the last answers with calls made alone, with equal results; absent if they differ. */
  staleCall?: ToolCall | undefined
  /** What the providers of its models did with tools of their own. */
  readonly providerCalls: ProviderCall[]
  /** The parts of messages that the server of the model has refused in this run. */
  refusals: readonly PartRefusal[]
  usage: Usage
  /** The part of it that the runs of agents account for. */
  agentUsage: Usage
  /**
   * What the run may use of its key's budget, in all: more than in its request after it has drawn. That is not recorded,
   * so a run that is resumed draws again.
   */
  budget?: RunBudget
  /** How many subrequests the run has made, in all invocations. */
  subrequests: number
  /** When the run times out, in epoch milliseconds. */
  deadline: number
  /** In epoch milliseconds, like \`parkedSince\`. */
  waitingSince?: number
  /** What the run waits for; absent while it does not wait. */
  wait?: RunWait
  parkedSince?: number
  /** The names of the tools of the edge that have joined the run since it began. */
  added: ReadonlySet<string>
  /** The names of the tools that the model was offered, in the order in which it first was, as far as the journal has it. */
  toolOrder: readonly string[]
  /** How many of them were on offer in the first step; undefined before it. */
  firstTools?: number
  /** The marks of all data that the model has read, in this run or before it. */
  readonly marks: Set<DataMark>
  /** Whether a decision model is asked about untrusted results before a model reads them. */
  judgesResults?: boolean
  /** Whether a result was cut, so that `read_result` is on offer. */
  hasTruncatedResult: boolean
  /** What the model was sent in each step, as far as it is known. */
  readonly prompts: PromptRecord[]
  /** How the messages were reduced in this run, if they were. */
  reduction?: ContextReduction
  /** What the model had told of its count of tokens with the last event that says so. */
  tokens?: TokenCount
  /** The limit that was reached, and in which step. The next answer is the last one, without tools. */
  limit?: { readonly which: LimitName; readonly step: number }
  finished?: RunFinished
}

export function newState(
  request: RunRequest,
  offered: ReadonlyMap<string, ToolDefinition>,
  features: readonly FeatureRules[] = [],
): RunState {
  return {
    features,
    request,
    offered,
    status: 'queued',
    messages: [...request.input],
    pendingInput: [],
    toolOrder: [],
    added: new Set(),
    marks: new Set(),
    hasTruncatedResult: false,
    steps: 0,
    rounds: 0,
    repeatedRounds: 0,
    calls: [],
    lostCalls: [],
    callCounts: newCallCounts(),
    providerCalls: [],
    refusals: [],
    prompts: [],
    usage: NO_USAGE,
    agentUsage: NO_USAGE,
    subrequests: 0,
    deadline: Infinity,
  }
}

/** Changes a call of the step that is under way, if it has it. */
export function patchCall(state: RunState, callId: string, patch: Partial<CallState>): void {
  const call = findCall(state, callId)
  if (!call) return
  Object.assign(call, patch)
  if (call.status === 'started') state.step?.started.set(idempotencyKey(call), call)
  else state.step?.started.delete(idempotencyKey(call))
}

/** Returns a call of the step that is under way. */
export function findCall({ step }: RunState, callId: string): CallState | undefined {
  return step?.byId.get(callId)
}

/** Returns what a run itself has used, without the runs of agents, which account for their own usage. */
export function ownUsage({ usage, agentUsage }: Pick<RunState, 'usage' | 'agentUsage'>): Usage {
  return subtractUsage(usage, agentUsage)
}
