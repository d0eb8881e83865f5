import type { RunEvent, RunFinished } from '../../contract/event.ts'
import type { ToolCall } from '../../contract/message.ts'
import { addUsage, NO_USAGE, type Usage } from '../../contract/usage.ts'
import type { Finish, RunError, RunRecord } from '../../contract/run.ts'
import type { Rounds } from './request.ts'
import { BROKEN_OFF, rejection, runErrorOf } from './run-error.ts'
import type { ChatFinish } from '../provider/openai-chat/types.ts'

/** The events that change neither the visible text nor the end of an answer. An event that is new to the union must be handled, or added here. */
type Ignored =
  | 'input.added'
  | 'tools.added'
  | 'history.repaired'
  | 'answer.cut'
  | 'call.started'
  | 'call.interrupted'
  | 'call.undone'
  | 'step.finished'
  | 'limit.reached'
  | 'run.resumed'
  | 'run.cancelling'
  | 'call.delta'
  | 'call.proposed'
  | 'call.progress'

export interface ShownOptions {
  readonly rounds: Rounds
  /**
   * Holds back each step's text until the step is answered: for a caller who reads the answer once it is complete, or
   * because an answer that does not fit its format is rejected. Default: false.
   */
  readonly whole?: boolean | undefined
  /** Returns the text for a caller whose run waits for approval of these calls. */
  readonly waitingText?: ((calls: readonly ToolCall[]) => string) | undefined
}

/** What an event adds to the one message that a caller of Chat Completions sees. A part is never taken back. */
export type ShownPart =
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  /** A call that the caller runs. */
  | { readonly type: 'call'; readonly call: ToolCall }
  | { readonly type: 'end'; readonly reason: ChatFinish; readonly finish: Finish; readonly usage: Usage }
  | { readonly type: 'failure'; readonly error: RunError }

/** The end of an answer whose events break off before the end of the run. */
export const CUT: ShownPart & { type: 'failure' } = { type: 'failure', error: BROKEN_OFF }

/** The number of characters of a step's text that are held back: a preamble is one sentence, an answer is longer. */
const HELD = 256

const CHAT_FINISH: Readonly<Partial<Record<Finish, ChatFinish>>> = {
  tool_calls: 'tool_calls',
  length: 'length',
  limit: 'length',
  content_filter: 'content_filter',
}

const NOTHING: readonly ShownPart[] = []

/**
 * Reads a run's events as one answer.
 *
 * With `rounds: "all"`, all text is shown as it comes. With `final`, text before calls of the edge's tools is not
 * shown; but while the text arrives, nobody knows whether calls will follow. So it is held back until the step is
 * answered without such calls or, in a stream, until it is longer than a preamble: from then on it is shown as it comes.
 * Text before calls that the caller runs is shown: it is part of the message that the caller must send back.
 */
export class Shown {
  readonly #options: ShownOptions
  #rounds: Rounds
  readonly #approvals = new Map<string, ToolCall>()
  /** The number of the block: a step, an attempt at one, or another separate text. An empty line parts two blocks. */
  #block = 0
  /** The latest block of which text, or reasoning, was shown; 0 if none was. */
  readonly #last = { text: 0, reasoning: 0 }
  /** The text of the block that is held back, the number of its characters shown, and whether the rest may be. */
  #held = ''
  #shown = 0
  #isOpen = false
  #hasCalls = false
  /** The usage of this answer alone: usage before a wait was reported in the answer before. */
  #usage = NO_USAGE

  constructor(options: ShownOptions) {
    this.#options = options
    this.#rounds = options.rounds
    this.#begin()
  }

  take(event: RunEvent): readonly ShownPart[] {
    switch (event.type) {
      case 'text.delta':
        this.#held += event.text
        return this.#show(false)
      case 'reasoning.delta':
        return this.#part('reasoning', event.text)
      case 'run.started':
        // Without tools, no step calls one: all text may be shown at once.
        if (event.tools.length === 0) this.#rounds = 'all'
        return NOTHING
      case 'step.started':
      case 'step.restarted':
        return this.#begin()
      case 'step.answered':
        return this.#answered(event)
      case 'answer.rejected':
        this.#count(event.usage)
        // Another answer follows, but a part is never taken back.
        return this.#shown > 0 ? [{ type: 'failure', error: rejection(event.issues) }] : NOTHING
      case 'history.compacted':
      case 'call.settled':
        this.#count(event.usage)
        return NOTHING
      case 'run.snapshot':
        return this.#snapshot(event.record)
      case 'approval.requested':
        this.#approvals.set(event.callId, event)
        return NOTHING
      case 'approval.decided':
        this.#approvals.delete(event.callId)
        return NOTHING
      case 'call.requested':
        this.#hasCalls = true
        return [...this.#show(true), { type: 'call', call: event }]
      case 'run.waiting':
        return this.#waiting(event.for === 'approval')
      case 'run.finished':
        return this.#finished(event)
      default:
        event.type satisfies Ignored
        return NOTHING
    }
  }

  /** Earlier events are not kept any more; the answer comes whole at the end of the run. */
  #snapshot({ usage, calls }: RunRecord): readonly ShownPart[] {
    this.#usage = usage
    const open = calls.map(({ id: callId, tool, arguments: value, status }) => {
      return { callId, tool, arguments: typeof value === 'string' ? value : JSON.stringify(value), status }
    })
    for (const call of open) if (call.status === 'approval') this.#approvals.set(call.callId, call)
    const handed = open.filter(({ status }) => status === 'caller')
    this.#hasCalls ||= handed.length > 0
    return handed.map((call) => ({ type: 'call', call }))
  }

  #count(usage: Usage | undefined): void {
    if (usage) this.#usage = addUsage(this.#usage, usage)
  }

  #begin(): readonly ShownPart[] {
    this.#block += 1
    this.#held = ''
    this.#shown = 0
    this.#isOpen = this.#rounds === 'all' && !this.#options.whole
    return NOTHING
  }

  #part(type: 'text' | 'reasoning', text: string): readonly ShownPart[] {
    if (text === '') return NOTHING
    const last = this.#last[type]
    this.#last[type] = this.#block
    return [{ type, text: last > 0 && last < this.#block ? `\n\n${text}` : text }]
  }

  /** Shows the text that is held back if it `must` be shown, or is longer than a preamble. */
  #show(must: boolean): readonly ShownPart[] {
    this.#isOpen ||= must || (this.#held.length > HELD && !this.#options.whole)
    if (!this.#isOpen) return NOTHING
    const text = this.#held
    this.#held = ''
    this.#shown += text.length
    return this.#part('text', text)
  }

  #answered({
    text,
    reasoning = '',
    calls,
    usage,
  }: Extract<RunEvent, { type: 'step.answered' }>): readonly ShownPart[] {
    this.#count(usage)
    // A reader may have missed deltas; the step's answer has all their text.
    const missed = this.#last.reasoning === this.#block ? '' : reasoning
    this.#held = text.slice(this.#shown)
    return [...this.#part('reasoning', missed), ...this.#show(calls.length === 0 || this.#rounds === 'all')]
  }

  #waiting(isApproval: boolean): readonly ShownPart[] {
    const finish = isApproval ? 'waiting' : 'tool_calls'
    // A caller that was given calls must run them, whatever else the run waits for.
    const reason = this.#hasCalls || !isApproval ? 'tool_calls' : 'stop'
    if (isApproval) {
      this.#begin()
      this.#held = this.#options.waitingText?.([...this.#approvals.values()]) ?? ''
    }
    return [...this.#show(isApproval), { type: 'end', reason, finish, usage: this.#usage }]
  }

  #finished(event: RunFinished): readonly ShownPart[] {
    const { status, finish, answer } = event
    if (status !== 'completed') return [{ type: 'failure', error: runErrorOf(event) }]
    // The answer is the text of the last step, unless a result is returned direct.
    if (finish === 'return_direct') this.#begin()
    this.#held = answer.slice(this.#shown)
    return [...this.#show(true), { type: 'end', reason: CHAT_FINISH[finish] ?? 'stop', finish, usage: this.#usage }]
  }
}
