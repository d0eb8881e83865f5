import type { RunEvent, RunFinished } from '../../contract/event.ts'
import type { ToolCall } from '../../contract/message.ts'
import { addUsage, NO_USAGE, type Usage } from '../../contract/model.ts'
import type { Finish, RunError } from '../../contract/run.ts'
import type { Rounds } from '../request.ts'
import type { ChatFinish } from './types.ts'

export interface ShownOptions {
  /** Default `final`. */
  readonly rounds?: Rounds | undefined
  /** What a caller reads whose run waits for approval of these calls. */
  readonly waitingText?: ((calls: readonly ToolCall[]) => string) | undefined
}

/** What an event adds to the one message that a caller of Chat Completions sees. */
export type ShownPart =
  /** Texts of different blocks stand apart by an empty line. */
  | { readonly type: 'text'; readonly block: number; readonly text: string }
  | { readonly type: 'reasoning'; readonly block: number; readonly text: string }
  /** A call that the caller runs. */
  | { readonly type: 'call'; readonly call: ToolCall }
  /** The block is void: its step is asked again. What has been sent cannot be taken back. */
  | { readonly type: 'void'; readonly block: number }
  | { readonly type: 'end'; readonly reason: ChatFinish; readonly finish: Finish; readonly usage: Usage }
  | { readonly type: 'failure'; readonly error: RunError }

/** Characters of a step's text that are held back: a preamble is a sentence, an answer is not. */
const HELD = 256

const CHAT_FINISH: Readonly<Record<Exclude<Finish, 'cancelled' | 'error'>, ChatFinish>> = {
  stop: 'stop',
  return_direct: 'stop',
  waiting: 'stop',
  tool_calls: 'tool_calls',
  length: 'length',
  limit: 'length',
  content_filter: 'content_filter',
}

/**
 * Reads a run's events as one answer.
 *
 * Which text is shown. With `rounds: "all"`, everything as it comes. With `final`, the text of a step that goes on to
 * call the edge's tools is not shown; but while a step speaks nobody can know whether it will. So its text is held back
 * until the step is answered without such calls, or until there is more of it than a preamble has: then it is shown as
 * it comes. Text before calls that the caller runs is shown: it is part of the message that the caller must send back.
 */
export class Shown {
  readonly #rounds: Rounds
  readonly #waitingText: NonNullable<ShownOptions['waitingText']>
  readonly #approvals = new Map<string, ToolCall>()
  #block = 0
  /** The step's text so far, and how much of it is shown. */
  #text = ''
  #shown = 0
  #open = false
  #hasCalls = false
  #isResumed = false
  #usage: Usage = NO_USAGE

  constructor({ rounds = 'final', waitingText = () => '' }: ShownOptions) {
    this.#rounds = rounds
    this.#waitingText = waitingText
  }

  take(event: RunEvent): readonly ShownPart[] {
    switch (event.type) {
      case 'text.delta':
        return this.#said(event.text)
      case 'reasoning.delta':
        return [{ type: 'reasoning', block: this.#block, text: event.text }]
      case 'step.started':
        this.#beginBlock()
        return NOTHING
      case 'step.restarted': {
        const block = this.#block
        this.#beginBlock()
        return [{ type: 'void', block }]
      }
      case 'step.answered':
        return this.#answered(event)
      case 'approval.requested':
        this.#approvals.set(event.callId, event)
        return NOTHING
      case 'approval.decided':
        this.#approvals.delete(event.callId)
        return NOTHING
      case 'call.requested': {
        this.#hasCalls = true
        const { callId, tool, arguments: text } = event
        return [...this.#show(), { type: 'call', call: { callId, tool, arguments: text } }]
      }
      case 'run.resumed':
        this.#isResumed = true
        return NOTHING
      case 'run.waiting':
        return this.#waiting(event.for)
      case 'run.finished':
        return this.#finished(event)
      default:
        return NOTHING
    }
  }

  #beginBlock(): void {
    this.#block += 1
    this.#text = ''
    this.#shown = 0
    this.#open = false
  }

  #said(text: string): readonly ShownPart[] {
    const isNext = this.#shown === this.#text.length
    this.#text += text
    if (!this.#isShown()) return NOTHING
    if (!isNext) return this.#show()
    // The usual case. To cut it out of the whole would copy the whole for every token.
    this.#shown = this.#text.length
    return [{ type: 'text', block: this.#block, text }]
  }

  #isShown(): boolean {
    this.#open ||= this.#rounds === 'all' || this.#text.length > HELD
    return this.#open
  }

  /** Shows what the step has said and was not shown. */
  #show(): readonly ShownPart[] {
    const text = this.#shown === 0 ? this.#text : this.#text.slice(this.#shown)
    this.#shown = this.#text.length
    return text === '' ? NOTHING : [{ type: 'text', block: this.#block, text }]
  }

  #answered({ text, calls, usage }: Extract<RunEvent, { type: 'step.answered' }>): readonly ShownPart[] {
    if (usage) this.#usage = addUsage(this.#usage, usage)
    // A reader who came late has missed deltas: the answer holds them all.
    if (text.startsWith(this.#text)) this.#text = text
    return this.#isShown() || calls.length === 0 ? this.#show() : NOTHING
  }

  #waiting(cause: 'approval' | 'caller'): readonly ShownPart[] {
    const parts: ShownPart[] = []
    if (cause === 'approval') {
      this.#beginBlock()
      this.#text = this.#waitingText([...this.#approvals.values()])
      parts.push(...this.#show())
    }
    const finish = cause === 'approval' ? 'waiting' : 'tool_calls'
    // A caller who was handed calls must run them, whatever else is waited for.
    const reason = this.#hasCalls ? 'tool_calls' : CHAT_FINISH[finish]
    return [...parts, { type: 'end', reason, finish, usage: this.#usage }]
  }

  #finished({ status, finish, answer, usage, error }: RunFinished): readonly ShownPart[] {
    if (status === 'cancelled' || finish === 'cancelled') {
      return [{ type: 'failure', error: { code: 'run_cancelled', message: 'The run was cancelled.' } }]
    }
    if (status === 'failed' || finish === 'error') {
      return [{ type: 'failure', error: error ?? { code: 'run_failed', message: 'The run failed.' } }]
    }
    // An answer that goes on where the step's text ends is its rest; any other, such as a tool's result, is another text.
    if (finish === 'return_direct' || !answer.startsWith(this.#text.slice(0, this.#shown))) this.#beginBlock()
    this.#text = answer
    // The steps before a wait were told in the answer before.
    const told = this.#isResumed ? this.#usage : usage
    return [...this.#show(), { type: 'end', reason: CHAT_FINISH[finish], finish, usage: told }]
  }
}

const NOTHING: readonly ShownPart[] = []
