/**
 * loop/: the heart. A run is a list of events: `fold` makes its state, `decide` says what comes next, `run` performs it.
 * May import contract/ and tool/. Must never know a provider, a transport or a store.
 */
import type { CallSettled, RunFinished } from '../contract/event.ts'
import type { DataMark, Message, ToolCall } from '../contract/message.ts'
import type { ModelFinish } from '../contract/model.ts'
import { NO_USAGE, type Usage } from '../contract/usage.ts'
import type { LimitName, RunRequest, RunStatus } from '../contract/run.ts'
import type { ToolDefinition } from '../contract/tool.ts'

/** A call of the open step. `asked`: a person must agree. `handed`: the caller runs it. */
export interface CallState extends ToolCall {
  status: 'proposed' | 'asked' | 'approved' | 'rejected' | 'handed' | 'started' | 'settled'
  /** Why a person refused. */
  reason?: string
  attempt: number
  /** Epoch milliseconds, as `deadline`. */
  startedAt?: number
  deadline?: number
  /** A person must agree to it, whatever its tool says. */
  guarded?: boolean
  /**
   * The key that it leaves with, where that is not its id: a call of another attempt at the step stands for it, or left
   * with that id.
   */
  key?: string
  settled?: CallSettled
  /** Whether it was undone, where that was tried. */
  undone?: boolean
  /** What its result tells the model beside the outcome. */
  notes?: readonly string[]
}

export interface StepState {
  readonly step: number
  attempt: number
  /** The names on offer, where they are not all of the run's. */
  readonly tools?: readonly string[]
  /** Absent while the model speaks. */
  answer?: Answer
  calls: readonly CallState[]
  /** Calls that left while the model still spoke; the answer's calls take them over. */
  early: readonly CallState[]
  /** Answers that did not fit the format, and why; the model alone reads of them. */
  rejected: readonly { readonly text: string; readonly issues: string }[]
}

interface Answer {
  readonly text: string
  readonly finish: ModelFinish
  readonly usage?: Usage
  readonly execution?: RunRequest['execution']
}

/** A run so far. Only `fold` changes it. */
export interface RunState {
  request: RunRequest
  /** The edge's tools on offer, by name. */
  offered: ReadonlyMap<string, ToolDefinition>
  status: RunStatus
  /** What the model has seen and said in this run: the input, then answers and results, each call with its result. */
  readonly messages: Message[]
  /** What was said meanwhile; it joins the messages when the step is over. */
  added: readonly Message[]
  steps: number
  /** The step under way, if any. */
  step?: StepState
  /** Steps that asked for tools. */
  rounds: number
  /** Every call of the run, in order. */
  readonly calls: CallState[]
  usage: Usage
  /** Epoch milliseconds at which the run's time is up. */
  deadline: number
  waitingSince?: number
  /** What the model has read in results, in this run or before it. */
  readonly marks: Set<DataMark>
  /** Results were cut, so that `read_result` is on offer. */
  readable: boolean
  /** The limit that was reached, and in which step: what comes after it is the last answer, without tools. */
  limit?: { readonly which: LimitName; readonly step: number }
  finished?: RunFinished
}

export function newState(request: RunRequest, offered: ReadonlyMap<string, ToolDefinition>): RunState {
  return {
    request,
    offered,
    status: 'queued',
    messages: [...request.input],
    added: [],
    marks: new Set(),
    readable: false,
    steps: 0,
    rounds: 0,
    calls: [],
    usage: NO_USAGE,
    deadline: Infinity,
  }
}
