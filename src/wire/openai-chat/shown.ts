import type { RunEvent, RunFinished } from '../../contract/event.ts'
import type { ToolCall } from '../../contract/message.ts'
import { addUsage, NO_USAGE, type Usage } from '../../contract/usage.ts'
import type { Finish, RunError, RunRecord } from '../../contract/run.ts'
import type { Rounds } from '../request.ts'
import { BROKEN_OFF, runErrorOf } from '../run-error.ts'
import type { ChatFinish } from './types.ts'

export interface ShownOptions {
  /** Default `final`. */
  readonly rounds?: Rounds | undefined
  /** Holds back each step's text until the step is answered: it may still be found not to fit its format. */
  readonly whole?: boolean | undefined
  /** What a caller reads whose run waits for approval of these calls. */
  readonly waitingText?: ((calls: readonly ToolCall[]) => string) | undefined
}

/** What an event adds to the one message that a caller of Chat Completions sees. What is shown is never taken back. */
export type ShownPart =
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  /** A call that the caller runs. */
  | { readonly type: 'call'; readonly call: ToolCall }
  | { readonly type: 'end'; readonly reason: ChatFinish; readonly finish: Finish; readonly usage: Usage }
  | { readonly type: 'failure'; readonly error: RunError }

/** How an answer ends whose events come to no end. */
export const CUT: ShownPart & { type: 'failure' } = { type: 'failure', error: BROKEN_OFF }

/** Characters of a step's text that are held back: a preamble is a sentence, an answer is not. */
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
 * Which text is shown. With `rounds: "all"`, everything as it comes. With `final`, the text of a step that goes on to
 * call the edge's tools is not shown; but while a step speaks nobody can know whether it will. So its text is held back
 * until the step is answered without such calls, or until there is more of it than a preamble has: then it is shown as
 * it comes. Text before calls that the caller runs is shown: it is part of the message that the caller must send back.
 */
export class Shown {
  readonly #options: ShownOptions
  #rounds: Rounds | undefined
  readonly #approvals = new Map<string, ToolCall>()
  /** A step, an attempt at one, or another text of its own: what it shows stands apart by an empty line. */
  #block = 0
  /** The block that was last shown something of. */
  readonly #last = { text: 0, reasoning: 0 }
  /** The block's text that is held back, the characters of it that are shown, and whether the rest may be. */
  #held = ''
  #shown = 0
  #isOpen = false
  #hasCalls = false
  /** Of this answer alone: what was used before a wait was told in the answer before. */
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
        // No step goes on to call a tool where there is none.
        if (event.tools.length === 0) this.#rounds = 'all'
        return NOTHING
      case 'step.started':
      case 'step.restarted':
        return this.#begin()
      case 'step.answered':
        return this.#answered(event)
      case 'history.compacted':
      case 'answer.rejected':
      case 'call.settled':
        if (event.usage) this.#usage = addUsage(this.#usage, event.usage)
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
        return NOTHING
    }
  }

  /** What was shown before is not kept any more; the answer comes whole at the end. */
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

  /** Shows what is held back, unless it still could be a preamble and need not be shown. */
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
    if (usage) this.#usage = addUsage(this.#usage, usage)
    // A reader may have missed deltas: the answer holds them all.
    const missed = this.#last.reasoning === this.#block ? '' : reasoning
    this.#held = text.slice(this.#shown)
    return [...this.#part('reasoning', missed), ...this.#show(calls.length === 0 || this.#rounds === 'all')]
  }

  #waiting(isApproval: boolean): readonly ShownPart[] {
    const finish = isApproval ? 'waiting' : 'tool_calls'
    // A caller who was handed calls must run them, whatever else is waited for.
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
    // The answer is the last step's text, but for a result that is returned direct.
    if (finish === 'return_direct') this.#begin()
    this.#held = answer.slice(this.#shown)
    return [...this.#show(true), { type: 'end', reason: CHAT_FINISH[finish] ?? 'stop', finish, usage: this.#usage }]
  }
}
