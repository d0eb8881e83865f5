import type { RunEvent, RunFinished, RunWaiting } from '../../contract/event.ts'
import { type InputNeeds, questionsOf } from '../../contract/input.ts'
import type { ToolCall } from '../../contract/message.ts'
import type { Citation } from '../../contract/provider-tool.ts'
import { addUsage, NO_USAGE, type Usage } from '../../contract/usage.ts'
import type { AgentWait, Finish, RunError } from '../../contract/run.ts'
import type { Rounds } from '../../contract/run-options.ts'
import { BROKEN_OFF, rejection, runErrorOf } from './request.ts'
import type { ChatFinish } from '../provider/openai-chat/types.ts'

export interface VisibleTextOptions {
  readonly rounds: Rounds
  /**
   * Holds back each step's text until the step is complete: for callers that read complete answers, or because an
   * answer that does not fit its format is rejected. Default: false.
   */
  readonly waitsForAnswer?: boolean | undefined
  /** Returns the text for a caller whose run waits for approval of these calls. */
  readonly waitingText?: ((calls: readonly CallToDecide[]) => string) | undefined
}

/**
 * Makes the text for the caller of a stored run that waits for approval of calls or, if there are none, for a tool that
 * answers later.
 */
export function makeWaitingText({
  runId,
  conversation,
}: {
  readonly runId: string
  readonly conversation?: string | undefined
}) {
  return (calls: readonly CallToDecide[]): string => {
    const run = `/conversations/${conversation}/runs/${runId}`
    if (calls.length === 0) return `Waiting for a tool that answers later. GET ${run} has the answer then.`
    const questions = (input: InputNeeds) =>
      questionsOf(input).map(({ message, url = '' }) => `${message} ${url}`.trim())
    const tools = calls.map(({ tool, input, agents = [] }) => {
      const name = agents.length > 0 ? `"${tool}" for the agent "${agents.join('" of "')}"` : `"${tool}"`
      return input ? `${name} (it asks: ${questions(input).join(' ')})` : name
    })
    const urls = calls.map(({ callId }) => `${run}/calls/${callId}`)
    return `Waiting for approval of ${tools.join(', ')}. Decide by POST ${urls.join(' and ')}.`
  }
}

/** Returns a call in the run of an agent as one that waits for a person. */
export function callOfWait({ call: callId, tool, arguments: text, input, agents }: AgentWait): CallToDecide {
  return { callId, tool, arguments: text, input, agents }
}

/** A call that waits for a person; if it has run, with the input that it asks for. */
export interface CallToDecide extends ToolCall {
  readonly input?: InputNeeds | undefined
  /** The agents that lead to it, the outermost first, if it is in the run of one. */
  readonly agents?: readonly string[]
}

/** A citation whose place is known: all text of its step, if the provider tells none. */
export type PlacedCitation = Citation & Required<Pick<Citation, 'start' | 'end'>>

/** What an event adds to the one message that a caller of Chat Completions sees. Parts are never withdrawn. */
export type VisiblePart =
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  /** The sources of text that was shown, by their places in all of it. */
  | { readonly type: 'citations'; readonly citations: readonly PlacedCitation[] }
  /** A call that the caller runs. */
  | { readonly type: 'call'; readonly call: ToolCall }
  | { readonly type: 'end'; readonly reason: ChatFinish; readonly finish: Finish; readonly usage: Usage }
  | { readonly type: 'failure'; readonly error: RunError }

/** The end of an answer whose events stop before the end of the run. */
export const CUT: VisiblePart & { type: 'failure' } = { type: 'failure', error: BROKEN_OFF }

/** The end of an answer whose step was repeated with other text: parts that were shown cannot be withdrawn. */
const RESTARTED: VisiblePart = {
  type: 'failure',
  error: { code: 'model_stream_cut', message: "The model's answer broke off and began again with other words." },
}

/** The number of characters of a step's text that are held back: a preamble is one sentence, an answer is longer. */
const PREAMBLE_LENGTH = 256

const CHAT_FINISH: Readonly<Partial<Record<Finish, ChatFinish>>> = {
  tool_calls: 'tool_calls',
  length: 'length',
  limit: 'length',
  content_filter: 'content_filter',
}

const NO_PARTS: readonly VisiblePart[] = []

/**
 * Reads a run's events as one answer.
 *
 * With `rounds: "all"`, all text is shown as it arrives. With `final`, text before calls of the edge's tools is not
 * shown. While text arrives, it is not known whether calls follow, so it is held back until the step ends without such
 * calls or, in a stream, until it is longer than a preamble; then it is shown as it arrives. Text before calls that the
 * caller runs is shown, since it is part of the message that the caller must send back.
 */
export class VisibleText {
  readonly #options: VisibleTextOptions
  #rounds: Rounds
  readonly #approvals = new Map<string, CallToDecide>()
  /**
   * The number of the block: a step, an attempt at one, or another separate text. Blocks are separated by an empty
   * line.
   */
  #block = 0
  /** The latest block with text or reasoning that was shown; 0 for none. */
  readonly #last = { text: 0, reasoning: 0 }
  /** The text of the block that is held back, the number of its characters shown, and whether the rest may be. */
  #pendingText = ''
  #shownLength = 0
  /** The shown text of the block, and the shown text of an earlier attempt, with which it must begin. */
  #shownText = ''
  #expectedText = ''
  /** The length of all text that was shown, and the sources of the step's text until that is shown. */
  #totalLength = 0
  #citations: readonly Citation[] = []
  #isOpen = false
  #hasCalls = false
  /** The usage of this answer alone: usage before a wait was reported in the answer before. */
  #usage = NO_USAGE

  constructor(options: VisibleTextOptions) {
    this.#options = options
    this.#rounds = options.rounds
    this.#begin()
  }

  take(event: RunEvent): readonly VisiblePart[] {
    switch (event.type) {
      case 'text.delta':
        this.#pendingText += event.text
        return this.#show(false)
      case 'reasoning.delta':
        return this.isRepeating ? NO_PARTS : this.#append('reasoning', event.text)
      case 'run.started':
        // Without tools there are no calls, so all text may be shown at once.
        if (event.tools.length === 0) this.#rounds = 'all'
        return NO_PARTS
      case 'step.started':
        return this.#begin()
      case 'step.restarted':
        return event.because === undefined ? this.#begin() : this.#restart()
      case 'step.answered':
        return this.#onAnswer(event)
      case 'answer.rejected':
        this.#count(event.usage)
        // Another answer follows, but shown parts cannot be withdrawn.
        return this.#shownLength > 0 ? [{ type: 'failure', error: rejection(event.issues) }] : NO_PARTS
      case 'history.compacted':
      case 'context.reduced':
      case 'call.judged':
      case 'call.settled':
        this.#count(event.usage)
        return NO_PARTS
      case 'approval.requested':
        this.#approvals.set(event.callId, event)
        return NO_PARTS
      case 'approval.decided':
        this.#approvals.delete(event.callId)
        return NO_PARTS
      case 'call.requested':
        this.#hasCalls = true
        return [...this.#show(true), { type: 'call', call: event }]
      case 'run.waiting':
        return event.for === 'agent' ? NO_PARTS : this.#onWaiting(event)
      case 'run.finished':
        return this.#onFinished(event)
      default:
        return NO_PARTS
    }
  }

  #count(usage: Usage | undefined): void {
    if (usage) this.#usage = addUsage(this.#usage, usage)
  }

  #begin(): readonly VisiblePart[] {
    this.#block += 1
    this.#pendingText = ''
    this.#citations = []
    this.#shownLength = 0
    this.#shownText = ''
    this.#expectedText = ''
    this.#isOpen = this.#rounds === 'all' && !this.#options.waitsForAnswer
    return NO_PARTS
  }

  /** Whether the step may be repeated without contradicting text that was shown. */
  get canRestart(): boolean {
    return this.#shownLength === 0 && this.#last.reasoning < this.#block
  }

  /**
   * Whether the step is repeated after some of its text was shown. What the model thinks then is not shown: it would
   * stand in the middle of the text, and some clients take what comes after it for the whole answer.
   */
  get isRepeating(): boolean {
    return this.#expectedText !== ''
  }

  /** Text that was shown is not shown again; an answer that does not begin with it is an error. */
  #restart(): readonly VisiblePart[] {
    if (this.#shownText === '' && this.#expectedText === '') return this.#begin()
    this.#expectedText = this.#shownText.length > this.#expectedText.length ? this.#shownText : this.#expectedText
    this.#pendingText = ''
    this.#shownText = ''
    this.#shownLength = 0
    return NO_PARTS
  }

  #append(type: 'text' | 'reasoning', text: string): readonly VisiblePart[] {
    if (text === '') return NO_PARTS
    const last = this.#last[type]
    this.#last[type] = this.#block
    const addition = last > 0 && last < this.#block ? `\n\n${text}` : text
    if (type === 'text') this.#totalLength += addition.length
    return [{ type, text: addition }]
  }

  /** Shows the sources of the step's text, all of which was shown. */
  #showCitations(): readonly VisiblePart[] {
    const base = this.#totalLength - this.#shownLength
    const citations = this.#citations.map(({ start = 0, end = this.#shownLength, ...source }) => {
      return { ...source, start: base + start, end: base + end }
    })
    this.#citations = []
    return citations.length > 0 ? [{ type: 'citations', citations }] : NO_PARTS
  }

  /** Shows the text that was held back if it `must` be shown or is longer than a preamble. */
  #show(must: boolean): readonly VisiblePart[] {
    this.#isOpen ||= must || (this.#pendingText.length > PREAMBLE_LENGTH && !this.#options.waitsForAnswer)
    if (!this.#isOpen) return NO_PARTS
    const text = this.#pendingText
    this.#pendingText = ''
    const expected = this.#expectedText.slice(this.#shownLength)
    this.#shownLength += text.length
    this.#shownText += text
    if (!text.startsWith(expected) && !expected.startsWith(text)) return [RESTARTED]
    return [...this.#append('text', text.slice(expected.length)), ...this.#showCitations()]
  }

  #onAnswer({
    text,
    reasoning = '',
    calls,
    citations = [],
    usage,
  }: Extract<RunEvent, { type: 'step.answered' }>): readonly VisiblePart[] {
    this.#count(usage)
    // The reader may have missed deltas; the answer of the step has all text.
    const missedReasoning = this.#last.reasoning === this.#block || this.isRepeating ? '' : reasoning
    this.#pendingText = text.slice(this.#shownLength)
    this.#citations = citations
    const parts = this.#show(calls.length === 0 || this.#rounds === 'all')
    if (text.length < this.#expectedText.length) return [RESTARTED]
    return [...this.#append('reasoning', missedReasoning), ...parts]
  }

  #onWaiting({ for: cause, agents = [] }: RunWaiting): readonly VisiblePart[] {
    const isForOthers = cause !== 'caller'
    const finish = isForOthers ? 'waiting' : 'tool_calls'
    // A caller that has received calls must run them, whatever else the run waits for.
    const reason = this.#hasCalls || !isForOthers ? 'tool_calls' : 'stop'
    if (isForOthers) {
      this.#begin()
      this.#pendingText = this.#options.waitingText?.([...this.#approvals.values(), ...agents.map(callOfWait)]) ?? ''
    }
    return [...this.#show(isForOthers), { type: 'end', reason, finish, usage: this.#usage }]
  }

  #onFinished(event: RunFinished): readonly VisiblePart[] {
    const { status, finish, answer } = event
    if (status !== 'completed') return [{ type: 'failure', error: runErrorOf(event) }]
    // The answer is the text of the last step, unless a result is returned directly.
    if (finish === 'return_direct') this.#begin()
    this.#pendingText = answer.slice(this.#shownLength)
    return [...this.#show(true), { type: 'end', reason: CHAT_FINISH[finish] ?? 'stop', finish, usage: this.#usage }]
  }
}
