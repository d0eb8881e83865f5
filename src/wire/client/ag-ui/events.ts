import type { CallSettled, RunEvent, RunFinished, RunWaiting } from '../../../contract/event.ts'
import { type Question, questionsOf } from '../../../contract/input.ts'
import { contentText, readableArguments, type ToolCall } from '../../../contract/message.ts'
import type { RunError } from '../../../contract/run.ts'
import { addUsage, NO_USAGE, type Usage } from '../../../contract/usage.ts'
import { type Block, Blocks } from '../history.ts'
import { eventId } from '../../events.ts'
import { BROKEN_OFF, runErrorOf } from '../request.ts'
import { type CallToDecide, callOfWait } from '../visible-text.ts'
import { encodeData } from '../../sse.ts'

export interface AgUiOptions {
  /** Both as the request named them. */
  readonly threadId: string
  readonly runId: string
  /** The version that the request declares. Clients before 1.0 declare none, and know fewer outcomes. */
  readonly protocolVersion?: string | undefined
}

type ApprovalRequested = Extract<RunEvent, { type: 'approval.requested' }>
export type AgUiEvent = { readonly type: string } & Readonly<Record<string, unknown>>

/** The schema of a decision on an approval, for clients that make a form of it. */
const DECISION = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['approved'],
}

/** Returns the schema of a decision with what a call asks for. */
function answerSchema(questions: readonly Question[]): object {
  const forms = questions.flatMap(({ name, schema }) => (schema ? [[name, schema] as const] : []))
  const input = { type: 'object', properties: Object.fromEntries(forms), required: forms.map(([name]) => name) }
  return { ...DECISION, properties: { ...DECISION.properties, ...(forms.length > 0 && { input }) } }
}

/**
 * Encodes a run's events as AG-UI events (https://docs.ag-ui.com). A call is sent once the model's answer is complete,
 * so that a repeated attempt leaves no calls behind. If calls wait for a person, the stream ends with the outcome
 * `interrupt`; if calls wait for the caller, with `success` and their ids.
 */
export class AgUiEncoder {
  readonly #options: AgUiOptions
  readonly #blocks = new Blocks()
  readonly #sentCalls = new Set<string>()
  readonly #callerCalls = new Set<string>()
  readonly #pendingApprovals = new Map<string, ApprovalRequested>()
  #isOpen = false
  /** The name of the open step; '' for none. */
  #step = ''
  /** The id of the message with the step's text, which is the parent of its calls too. */
  #message = ''
  #model = ''
  #usage: Usage | undefined
  #end: AgUiEvent | undefined

  constructor(options: AgUiOptions) {
    this.#options = options
  }

  /** Returns the SSE text of an event, or '' if the event adds nothing. */
  event(event: RunEvent): string {
    return this.take(event).map(encodeData).join('')
  }

  /** Returns the text that ends the stream. If the run waits, a later stream continues it. */
  end(): string {
    return this.takeEnd().map(encodeData).join('')
  }

  /** Returns what an event of the run is to the client. */
  take(event: RunEvent): readonly AgUiEvent[] {
    const blocks = this.#blocks.take(event).flatMap((block) => this.#block(block))
    return [...this.#start(), ...blocks, ...this.#events(event)]
  }

  /** Returns what comes after the last event. */
  takeEnd(): readonly AgUiEvent[] {
    return [...this.#leaveStep(), this.#end ?? runFailed(BROKEN_OFF)]
  }

  #start(): AgUiEvent[] {
    if (this.#isOpen) return []
    this.#isOpen = true
    const { threadId, runId, protocolVersion } = this.#options
    return [{ type: 'RUN_STARTED', threadId, runId, ...(protocolVersion && { protocolVersion: '1.0' }) }]
  }

  #block({ kind, change, id: messageId, text }: Block): AgUiEvent[] {
    if (kind === 'text') {
      this.#message = messageId
      if (change === 'start') return [{ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' }]
      if (change === 'end') return [{ type: 'TEXT_MESSAGE_END', messageId }]
      return [{ type: 'TEXT_MESSAGE_CONTENT', messageId, delta: text }]
    }
    if (change === 'delta') return [{ type: 'REASONING_MESSAGE_CONTENT', messageId, delta: text }]
    if (change === 'end')
      return [
        { type: 'REASONING_MESSAGE_END', messageId },
        { type: 'REASONING_END', messageId },
      ]
    return [
      { type: 'REASONING_START', messageId },
      { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' },
    ]
  }

  #events(event: RunEvent): AgUiEvent[] {
    switch (event.type) {
      case 'run.started':
        this.#model = event.model
        return []
      case 'step.started':
        this.#step = `step ${event.step}`
        this.#message = ''
        return [{ type: 'STEP_STARTED', stepName: this.#step }]
      case 'step.restarted':
        this.#message = ''
        return []
      case 'answer.rejected':
        this.#count(event.usage)
        return []
      case 'step.answered':
        this.#count(event.usage)
        return event.calls.flatMap((call) => this.#call(call, event))
      case 'step.finished':
        return this.#leaveStep()
      case 'call.started': {
        const { callId, tool, arguments: text, parent } = event
        // The calls of a program are part of its own call, for chat clients.
        if (parent !== undefined) return []
        if (text !== undefined) return this.#call({ callId, tool, arguments: text }, event)
        this.#sentCalls.add(callId)
        return []
      }
      case 'call.requested':
        this.#callerCalls.add(event.callId)
        // The model's own calls have been sent with its answer.
        return event.parent === undefined ? [] : this.#call(event, event)
      case 'approval.requested':
        this.#pendingApprovals.set(event.callId, event)
        return []
      case 'approval.decided':
        this.#pendingApprovals.delete(event.callId)
        return []
      case 'call.progress': {
        const { callId: toolCallId, message, fraction, data } = event
        return [{ type: 'CUSTOM', name: 'call.progress', value: { toolCallId, message, fraction, data } }]
      }
      case 'call.settled':
        return this.#callResult(event)
      case 'run.waiting':
        this.#end = event.for === 'agent' ? undefined : this.#runFinished(this.#waiting(event))
        return []
      case 'run.resumed':
        this.#end = undefined
        return []
      case 'run.finished':
        this.#end = this.#runEnd(event)
        return []
      default:
        return []
    }
  }

  #count(usage: Usage | undefined): void {
    if (usage) this.#usage = addUsage(this.#usage ?? NO_USAGE, usage)
  }

  #call({ callId: toolCallId, tool, arguments: text }: ToolCall, { runId, seq }: RunEvent): AgUiEvent[] {
    if (this.#sentCalls.has(toolCallId)) return []
    this.#sentCalls.add(toolCallId)
    this.#message ||= eventId(runId, seq)
    return [
      ...this.#blocks.close().flatMap((block) => this.#block(block)),
      { type: 'TOOL_CALL_START', toolCallId, toolCallName: tool, parentMessageId: this.#message },
      { type: 'TOOL_CALL_ARGS', toolCallId, delta: text || '{}' },
      { type: 'TOOL_CALL_END', toolCallId },
    ]
  }

  #callResult({ callId: toolCallId, content = [], error }: CallSettled): AgUiEvent[] {
    this.#callerCalls.delete(toolCallId)
    // Results of the caller are already among its messages.
    if (!this.#sentCalls.has(toolCallId) && error?.code !== 'rejected') return []
    const text = error?.message ?? contentText(content)
    return [{ type: 'TOOL_CALL_RESULT', messageId: `${toolCallId}-result`, toolCallId, content: text, role: 'tool' }]
  }

  #leaveStep(): AgUiEvent[] {
    if (this.#step === '') return []
    const stepName = this.#step
    this.#step = ''
    return [{ type: 'STEP_FINISHED', stepName }]
  }

  #waiting({ agents: waits = [] }: RunWaiting): AgUiEvent {
    const calls: readonly CallToDecide[] = [...this.#pendingApprovals.values(), ...waits.map(callOfWait)]
    const interrupts = calls.map(({ callId, tool, arguments: text, input, agents }) => {
      // The client's messages have no call of an agent: what is decided about is beside it.
      const interrupt = agents
        ? { id: callId, metadata: { agents, tool, arguments: readableArguments(text) } }
        : { id: callId, toolCallId: callId }
      if (!input) {
        const message = agents ? `May "${tool}" be called by "${agents.at(-1)}"?` : `May "${tool}" be called?`
        return { ...interrupt, reason: 'tool_approval', message, responseSchema: DECISION }
      }
      const questions = questionsOf(input)
      const message = questions.map((question) => [question.message, question.url ?? ''].join(' ').trim()).join('\n')
      return { ...interrupt, reason: 'input_required', message, responseSchema: answerSchema(questions) }
    })
    return interrupts.length > 0 ? { type: 'interrupt', interrupts } : this.#success()
  }

  #success(): AgUiEvent {
    const names = this.#callerCalls.size > 0 && this.#options.protocolVersion !== undefined
    return { type: 'success', ...(names && { pendingToolCallIds: [...this.#callerCalls] }) }
  }

  #runEnd(event: RunFinished): AgUiEvent {
    const { status, finish, which } = event
    if (status === 'completed') return { ...this.#runFinished(this.#success()), result: { finish, which } }
    if (status === 'cancelled' && this.#options.protocolVersion) return this.#runFinished({ type: 'cancelled' })
    return runFailed(runErrorOf(event))
  }

  /** Makes the event that ends the run. Its usage is that of the model's answers in this stream. */
  #runFinished(outcome: AgUiEvent): AgUiEvent {
    const { threadId, runId } = this.#options
    const [provider, ...name] = this.#model.split('/')
    const { inputTokens = 0, outputTokens = 0, cachedInputTokens, reasoningTokens } = this.#usage ?? {}
    const counts = { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }
    const model = this.#model && { provider, model: name.join('/') }
    const usage = this.#usage && [{ ...model, ...counts, cachedInputTokens, reasoningTokens }]
    return { type: 'RUN_FINISHED', threadId, runId, outcome, usage }
  }
}

function runFailed({ code, message }: RunError): AgUiEvent {
  return { type: 'RUN_ERROR', message, code }
}
