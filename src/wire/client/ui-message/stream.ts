import type { CallSettled, RunEvent, RunFinished } from '../../../contract/event.ts'
import { questionsOf } from '../../../contract/input.ts'
import { contentText, readableArguments, type ToolCall, type ToolMessage } from '../../../contract/message.ts'
import type { Finish, RunError } from '../../../contract/run.ts'
import { Blocks } from '../history.ts'
import { BROKEN_OFF, runErrorOf } from '../request.ts'
import { type CallToDecide, callOfWait } from '../visible-text.ts'
import { eventId } from '../../events.ts'
import { encodeData } from '../../sse.ts'

/** The header that tells a client which stream protocol it reads. */
export const UI_MESSAGE_HEADERS = { 'x-vercel-ai-ui-message-stream': 'v1' }

export interface UiMessageOptions {
  /** The major version of the client's AI SDK. Default 6. Version 5 gets approvals as `data-approval`: it has none. */
  readonly version?: 5 | 6 | 7 | undefined
  readonly conversation?: string | undefined
}

type EventOf<Type extends RunEvent['type']> = Extract<RunEvent, { type: Type }>
export type UiChunk = { readonly type: string } & Readonly<Record<string, unknown>>

/** The end of a message whose events break off before the end of the run. */
const CUT = [failureChunk(BROKEN_OFF)]

const REASONS: Readonly<Partial<Record<Finish, string>>> = {
  stop: 'stop',
  return_direct: 'stop',
  tool_calls: 'tool-calls',
  waiting: 'tool-calls',
  length: 'length',
  content_filter: 'content-filter',
  error: 'error',
}

/**
 * Encodes a run's events as a UI message stream, which `useChat` of the AI SDK reads. A run is one message with the
 * run's id, even if a later response continues it. Calls that the edge runs are marked as executed by the provider, so
 * that clients neither run them nor wait to.
 */
export class UiMessageEncoder {
  readonly #options: UiMessageOptions
  readonly #blocks = new Blocks()
  /** The calls that this stream knows, by id. */
  readonly #calls = new Map<string, ToolCall>()
  /** The tools of calls whose input has begun to arrive, by call id. */
  readonly #startedInputs = new Map<string, string>()
  /** The ids of calls whose input was sent, here or in an earlier response. */
  readonly #sentInputs = new Set<string>()
  readonly #callerCalls = new Set<string>()
  #isOpen = false
  #inStep = false
  #last: readonly UiChunk[] = CUT

  constructor(options: UiMessageOptions = {}) {
    this.#options = options
  }

  /** Returns the SSE text of an event, or '' if the event adds nothing. */
  event(event: RunEvent): string {
    return this.take(event).map(encodeData).join('')
  }

  /** Returns the text that ends the message. If the run waits, a later response continues the message. */
  end(): string {
    return `${this.takeEnd().map(encodeData).join('')}data: [DONE]\n\n`
  }

  /** Returns the chunks of an event. */
  take(event: RunEvent): readonly UiChunk[] {
    const blocks = this.#blocks.take(event).map(({ kind, change, id, text }) => {
      return { type: `${kind}-${change}`, id, ...(change === 'delta' && { delta: text }) }
    })
    return [...this.#start(event.runId), ...blocks, ...this.#chunks(event)]
  }

  /** Returns the chunks after the last event. */
  takeEnd(): readonly UiChunk[] {
    return [...this.#leaveStep(), ...this.#last]
  }

  #start(runId: string): UiChunk[] {
    if (this.#isOpen) return []
    this.#isOpen = true
    const { conversation } = this.#options
    return [{ type: 'start', messageId: runId, messageMetadata: { runId, conversation } }]
  }

  #chunks(event: RunEvent): UiChunk[] {
    switch (event.type) {
      case 'step.started':
        this.#inStep = true
        return [{ type: 'start-step' }]
      case 'step.finished':
        return this.#leaveStep()
      case 'call.delta':
        return this.#inputDelta(event)
      case 'provider.call':
        return this.#providerCall(event)
      case 'step.answered':
        return [...this.#onAnswer(event.calls), ...this.#sources(event)]
      case 'call.started': {
        const { callId, tool, arguments: text, parent } = event
        // The calls of a program are part of its own call, for chat clients.
        if (parent !== undefined) return []
        if (text !== undefined) this.#calls.set(callId, { callId, tool, arguments: text })
        return this.#input(callId, true)
      }
      case 'call.issued':
        this.#calls.set(event.callId, event)
        return []
      case 'call.requested':
        this.#callerCalls.add(event.callId)
        return this.#input(event.callId, false)
      case 'approval.requested':
        // Not marked as executed by the provider: a client then sends its own results only together with the decision.
        return [...this.#input(event.callId, this.#options.version === 5), this.#approval(event), ...questions(event)]
      case 'call.progress': {
        const { callId, message, fraction, data } = event
        return [{ type: 'data-progress', id: callId, data: { message, fraction, data }, transient: true }]
      }
      case 'call.settled':
        return this.#callResult(event)
      case 'run.waiting':
        this.#last =
          event.for === 'agent' ? CUT : [this.#finish({ finish: event.for === 'caller' ? 'tool_calls' : 'waiting' })]
        return (event.agents ?? []).flatMap((wait) => this.#approvalOfAgent(callOfWait(wait)))
      case 'run.resumed':
        this.#last = CUT
        return []
      case 'run.finished':
        this.#last = this.#runEnd(event)
        return []
      default:
        return []
    }
  }

  /** What the provider has done is a call with its result: whatever the edge runs is one to the client, too. */
  #providerCall({
    runId,
    seq,
    tool,
    id = eventId(runId, seq),
    input,
    ok,
    ...rest
  }: EventOf<'provider.call'>): UiChunk[] {
    const { sources, output } = rest
    const call = { toolCallId: id, providerExecuted: true }
    return [
      { type: 'tool-input-available', ...call, toolName: tool, input },
      ok
        ? { type: 'tool-output-available', ...call, output: { sources, output } }
        : { type: 'tool-output-error', ...call, errorText: output ?? '' },
    ]
  }

  /** Returns the pages on which an answer rests, each once. */
  #sources({ runId, seq, citations = [] }: EventOf<'step.answered'>): UiChunk[] {
    const pages = citations.filter(({ url }, at) => citations.findIndex((other) => other.url === url) === at)
    return pages.map(({ url, title }, at) => {
      return { type: 'source-url', sourceId: `${eventId(runId, seq)}-${at}`, url, title }
    })
  }

  /** A call in the run of an agent waits: to the client it is one of this run, which it decides about as any other. */
  #approvalOfAgent(call: CallToDecide): UiChunk[] {
    const { callId } = call
    if (this.#calls.has(callId)) return []
    this.#calls.set(callId, call)
    return [...this.#input(callId, this.#options.version === 5), this.#approval(call), ...questions(call)]
  }

  #inputDelta({ callId, name, arguments: text }: EventOf<'call.delta'>): UiChunk[] {
    const chunks: UiChunk[] = []
    if (name !== undefined && !this.#startedInputs.has(callId)) {
      this.#startedInputs.set(callId, name)
      chunks.push(inputStart({ callId, tool: name }))
    }
    if (text === '' || !this.#startedInputs.has(callId)) return chunks
    return [...chunks, { type: 'tool-input-delta', toolCallId: callId, inputTextDelta: text }]
  }

  /** Takes the calls of an answer. Inputs begun by an earlier attempt alone end in an error: they will never run. */
  #onAnswer(calls: readonly ToolCall[]): UiChunk[] {
    // Of several calls, one may begin long after another that the model has asked for later.
    const unseen = calls.filter(({ callId }) => !this.#startedInputs.has(callId) && !this.#sentInputs.has(callId))
    const starts = calls.length > 1 ? unseen.map(inputStart) : []
    for (const call of calls) {
      this.#calls.set(call.callId, call)
      this.#startedInputs.delete(call.callId)
    }
    const abandoned = [...this.#startedInputs]
    this.#startedInputs.clear()
    const errors = abandoned
      .filter(([toolCallId]) => !this.#sentInputs.has(toolCallId))
      .map(([toolCallId, toolName]) => {
        const errorText = 'The edge stopped while the model wrote this call.'
        return { type: 'tool-input-error', toolCallId, toolName, input: {}, errorText, providerExecuted: true }
      })
    return [...errors, ...starts]
  }

  #input(callId: string, isOurs: boolean): UiChunk[] {
    const call = this.#calls.get(callId)
    const wasSent = this.#sentInputs.has(callId)
    this.#sentInputs.add(callId)
    if (!call || wasSent) return []
    const input = readableArguments(call.arguments)
    const chunk = { type: 'tool-input-available', toolCallId: callId, toolName: call.tool, input }
    return [isOurs ? { ...chunk, providerExecuted: true } : chunk]
  }

  #approval({ callId, tool, arguments: text, agents }: CallToDecide): UiChunk {
    if (this.#options.version !== 5) return { type: 'tool-approval-request', approvalId: callId, toolCallId: callId }
    const data = { toolCallId: callId, toolName: tool, input: readableArguments(text), agents }
    return { type: 'data-approval', id: callId, data }
  }

  #callResult({ callId, ok, content = [], structured, error, parent }: CallSettled): UiChunk[] {
    const isDenied = error?.code === 'rejected'
    if (parent !== undefined && !this.#sentInputs.has(callId)) return []
    // The client's message already has a result that the client gave.
    if (!this.#calls.has(callId) && !this.#sentInputs.has(callId) && !isDenied) return []
    const isOurs = !this.#callerCalls.has(callId)
    const input = this.#input(callId, isOurs)
    if (isDenied && this.#options.version !== 5) return [...input, { type: 'tool-output-denied', toolCallId: callId }]
    const output = structured === undefined ? resultValue({ content }) : structured
    const outcome = ok
      ? { type: 'tool-output-available', toolCallId: callId, output }
      : { type: 'tool-output-error', toolCallId: callId, errorText: error?.message ?? '' }
    return [...input, isOurs ? { ...outcome, providerExecuted: true } : outcome]
  }

  #leaveStep(): UiChunk[] {
    if (!this.#inStep) return []
    this.#inStep = false
    return [{ type: 'finish-step' }]
  }

  #finish(end: RunEnd): UiChunk {
    return {
      type: 'finish',
      // The first releases of version 5 refuse members that they do not know.
      ...(this.#options.version !== 5 && { finishReason: REASONS[end.finish] ?? 'other' }),
      messageMetadata: metadataOf(end),
    }
  }

  #runEnd(event: RunFinished): UiChunk[] {
    const finish = this.#finish(event)
    if (event.status === 'completed') return [finish]
    if (event.status === 'cancelled') return [{ type: 'abort' }, finish]
    // Clients read no further than the error.
    return [{ type: 'message-metadata', messageMetadata: metadataOf(event) }, failureChunk(runErrorOf(event)), finish]
  }
}

/** Returns the content of a result as one value: its text, or its parts if it has others than text. */
export function resultValue({ content }: Pick<ToolMessage, 'content'>): unknown {
  return content.every((part) => part.type === 'text') ? contentText(content) : content
}

type RunEnd = Pick<RunFinished, 'finish' | 'which'> & Partial<RunFinished>

function metadataOf({ finish, which, usage }: RunEnd): object {
  return { finish, which, usage: usage && { ...usage, totalTokens: usage.inputTokens + usage.outputTokens } }
}

function inputStart({ callId, tool }: Pick<ToolCall, 'callId' | 'tool'>): UiChunk {
  return { type: 'tool-input-start', toolCallId: callId, toolName: tool }
}

function failureChunk({ message }: RunError): UiChunk {
  return { type: 'error', errorText: message }
}

/** The part with what a call asks a person for; the client adds `answers` to its data. */
function questions({ callId, tool, input }: CallToDecide): UiChunk[] {
  if (!input) return []
  const data = { toolCallId: callId, toolName: tool, questions: questionsOf(input) }
  return [{ type: 'data-input', id: `${callId}-input`, data }]
}
