import type { CallSettled, RunEvent } from '../../../contract/event.ts'
import { contentText, type ToolCall } from '../../../contract/message.ts'
import type { Rounds } from '../../../contract/run-options.ts'
import type { CallRecord, RunError } from '../../../contract/run.ts'
import {
  APPROVAL_ITEM,
  CALL_ITEM,
  encodeEncryptedContent,
  itemSuffix,
  type ResponseEvent,
  ResponseOutput,
} from './output.ts'
import {
  type End,
  errorOf,
  INCOMPLETE,
  type JsonFields,
  providerItem,
  responseFinish,
  responseStatus,
  responseUsage,
  toolError,
} from './shapes.ts'
import { compactionItem } from './compaction.ts'
import { NO_SUMMARY } from '../summary.ts'
import { callItem, type ToolForm } from './tools.ts'
import { callOfWait, CUT, type VisiblePart, VisibleText, type VisibleTextOptions } from '../visible-text.ts'
import { echoedArguments, phaseOf } from '../../provider/openai-responses/request.ts'

type PendingApproval = Pick<CallRecord, 'id' | 'arguments'>

export interface ResponseOptions {
  readonly id: string
  /** The model as the request named it. */
  readonly model: string
  /** Epoch seconds. */
  readonly created: number
  /** Fields of the request that the response repeats. */
  readonly echo: Readonly<Record<string, unknown>>
  readonly conversation?: string | undefined
  readonly rounds: Rounds
  /** Whether the response is sent once it is complete, and not as a stream. */
  readonly waitsForAnswer?: boolean
  /** Whether the calls that the edge runs are left out, for clients that refuse items that they do not know. Default: false. */
  readonly hidesCalls?: boolean
  /** As in `VisibleTextOptions`: for answers without requests for approval. */
  readonly waitingText?: VisibleTextOptions['waitingText']
  /** Whether reasoning items have `encrypted_content`, with which a response that is not stored can be continued. */
  readonly hasEncryptedContent?: boolean
  /** How the caller has declared those of its tools that are no plain functions, by their names for the model. */
  readonly forms?: ReadonlyMap<string, ToolForm>
  /** Whether the answer of the run is a summary, of which the response has an item of its own. */
  readonly isCompaction?: boolean
  /** Calls for which an earlier response requested approval. May be added to before the first event. */
  readonly pendingApprovals?: readonly PendingApproval[]
}

/** The events that items of the calls of the edge are made of. */
const OWN_CALLS = new Set(['approval.requested', 'run.waiting', 'call.started', 'call.settled'])

const SERVER = { server_label: 'edgecall' }

/**
 * Reads a run's events as a response. Shown text becomes a message (`Shown` decides which text), reasoning a summary,
 * and a call that the caller runs a `function_call`. A call that the edge runs becomes an `mcp_call`, the only item of
 * the format with a name, arguments and a result that clients show and never run. A request for approval becomes an
 * `mcp_approval_request`, and is answered as such. What the provider has done becomes an item of its kind, such as a
 * `web_search_call`, and the sources of the text its annotations.
 */
export class ResponseReader {
  readonly #options: ResponseOptions
  readonly #visible: VisibleText
  readonly #output: ResponseOutput
  readonly #suffix: string
  /** The arguments of the calls in this response, by call id. */
  readonly #arguments = new Map<string, string>()
  /** The index in the output of each call that the edge is running, by call id. */
  readonly #running = new Map<string, number>()
  readonly #callerCalls = new Set<string>()
  #isBegun = false
  /** Whether text of the step under way was shown. */
  #stepHasText = false
  /** The text of a compaction so far. */
  #summary = ''
  #runId = ''
  #seq = 0
  #steps = 0
  #end: End | undefined

  constructor(options: ResponseOptions) {
    this.#options = options
    this.#output = new ResponseOutput(options.hasEncryptedContent)
    this.#suffix = itemSuffix(options.conversation)
    this.#visible = new VisibleText(options)
  }

  /**
   * Returns the response's events for an event of the run. Events after its end belong to another response and are
   * ignored.
   */
  take(event: RunEvent): ResponseEvent[] {
    if (this.#end) return []
    this.#runId = event.runId
    this.#seq = event.seq
    return [...this.#begin(), ...this.#calls(event), ...this.#parts(event)]
  }

  /**
   * Takes an event for a response that is not streamed. Deltas are ignored: the answer of a step has all of its text,
   * and none of repeated attempts.
   */
  collect(event: RunEvent): void {
    if (!event.type.endsWith('.delta')) this.take(event)
  }

  /** Returns the events after the last one of the run: none, or an error if the run's events stopped before its end. */
  end(): ResponseEvent[] {
    return this.#end ? [] : [...this.#begin(), ...this.#onPart(CUT)]
  }

  /** Whether the current step has shown no text. */
  get canRestart(): boolean {
    return this.#visible.canRestart
  }

  /** Whether the response has ended. */
  get isOver(): boolean {
    return this.#end !== undefined
  }

  /** The error, if the run failed without an answer. */
  get error(): RunError | undefined {
    const end = this.#end ?? CUT
    return end.type === 'failure' ? end.error : undefined
  }

  /** The response in its current state. */
  get response(): JsonFields {
    const { id, model, created, echo, conversation } = this.#options
    const end = this.#end
    return {
      id,
      object: 'response',
      created_at: created,
      status: end ? responseStatus(end) : this.#isBegun ? 'in_progress' : 'queued',
      error: end?.type === 'failure' ? errorOf(end.error) : null,
      incomplete_details: (end?.type === 'end' && INCOMPLETE[end.reason]) || null,
      model,
      output: [...this.#output.items],
      usage: end?.type === 'end' ? responseUsage(end.usage) : null,
      ...echo,
      ...(end && { edgecall: { runId: this.#runId, conversation, steps: this.#steps, finish: responseFinish(end) } }),
    }
  }

  #begin(): ResponseEvent[] {
    if (this.#isBegun) return []
    this.#isBegun = true
    const { response } = this
    return ['created', 'in_progress'].map((status) => ({ type: `response.${status}`, response }))
  }

  #parts(event: RunEvent): ResponseEvent[] {
    const parts = this.#visible.take(event)
    const showParts = () => parts.flatMap((part) => this.#onPart(part))
    if (!this.#options.hasEncryptedContent) return showParts()
    const output = this.#output
    if (event.type === 'step.started') this.#stepHasText = false
    if (event.type === 'text.delta') {
      // What the provider wants back is known only after the text, and its item stands before it.
      const isFirst = !this.#stepHasText && parts.some(({ type }) => type === 'text')
      this.#stepHasText ||= isFirst
      return [...(isFirst && !output.hasReasoning ? output.addReasoning(this.#itemId()) : []), ...showParts()]
    }
    if (event.type !== 'step.answered') return showParts()
    const { opaque, reasoning = '' } = event
    const content = opaque && encodeEncryptedContent(opaque)
    // Clients keep items in the order in which they are complete.
    if (this.#stepHasText) return [...output.completeReasoning(content), ...showParts()]
    const needsItem = opaque !== undefined && reasoning === '' && !output.hasReasoning
    return [
      ...(needsItem ? output.addReasoning(this.#itemId()) : []),
      ...showParts(),
      ...output.completeReasoning(content),
    ]
  }

  /** Returns the id, without its prefix, of an item that the current event adds. */
  #itemId(): string {
    return `${this.#runId.replace(/^run_/, '')}_${this.#seq}${this.#suffix}`
  }

  #onPart(part: VisiblePart): ResponseEvent[] {
    switch (part.type) {
      case 'text':
      case 'reasoning':
        if (!this.#options.isCompaction) return this.#output.append(part.type, part.text, this.#itemId())
        if (part.type === 'text') this.#summary += part.text
        return []
      case 'call':
        return this.#callForCaller(part.call)
      case 'citations':
        return this.#output.annotate(part.citations)
      default: {
        const end: End = this.#lacksSummary(part) ? { type: 'failure', error: NO_SUMMARY } : part
        const isWhole = end.type === 'end' && !INCOMPLETE[end.reason]
        const events = [
          ...this.#output.completeReasoning(),
          ...this.#output.close(isWhole ? 'completed' : 'incomplete'),
          ...(isWhole && this.#options.isCompaction ? this.#addCompaction() : []),
        ]
        for (const callId of this.#running.keys()) events.push(this.#callDone(callId, { status: 'incomplete' }))
        this.#end = end
        // The format has no event for a cancelled response, so it is a failed one with that status.
        const change = end.type === 'failure' ? 'failed' : responseStatus(end)
        return [...events, { type: `response.${change}`, response: this.response }]
      }
    }
  }

  /** A summary that is cut off would lose what it does not tell. */
  #lacksSummary(part: End): boolean {
    const isWhole = part.type === 'end' && !INCOMPLETE[part.reason] && this.#summary.trim() !== ''
    return this.#options.isCompaction === true && part.type === 'end' && !isWhole
  }

  #addCompaction(): ResponseEvent[] {
    const events = this.#output.add(compactionItem(this.#itemId(), this.#summary))
    return [...events, this.#output.done(this.#output.items.length - 1)]
  }

  #calls(event: RunEvent): ResponseEvent[] {
    if (this.#options.hidesCalls && OWN_CALLS.has(event.type)) return []
    switch (event.type) {
      case 'step.started':
        this.#output.phase = ''
        return []
      case 'step.answered':
        this.#steps += 1
        this.#output.phase = phaseOf(event.opaque)
        for (const { callId, arguments: text } of event.calls) this.#arguments.set(callId, text)
        return []
      case 'provider.call':
        return this.#output.addProviderItem(providerItem(event, this.#itemId()))
      case 'approval.requested':
        return this.#approvalRequest(event)
      case 'run.waiting':
        // Only in a conversation does a decision find the agent.
        if (this.#options.conversation === undefined || event.for === 'agent') return []
        return (event.agents ?? []).flatMap((wait) => this.#approvalRequest(callOfWait(wait)))
      case 'call.started':
        if (event.arguments !== undefined) this.#arguments.set(event.callId, event.arguments)
        // The calls of a program are part of its own call, for chat clients.
        return event.parent === undefined ? this.#callStarted(event) : []
      case 'call.settled':
        return this.#callSettled(event)
      default:
        return []
    }
  }

  #approvalRequest({ callId, tool: name, arguments: text }: ToolCall): ResponseEvent[] {
    const type = 'mcp_approval_request'
    const id = APPROVAL_ITEM + callId + this.#suffix
    const item = { id, type, ...SERVER, name, arguments: echoedArguments(text) }
    return [...this.#output.add(item), this.#output.done(this.#output.items.length - 1)]
  }

  #callStarted({ callId, tool: name }: { readonly callId: string; readonly tool: string }): ResponseEvent[] {
    if (this.#running.has(callId)) return []
    const output = this.#output
    const approval = this.#approvalOf(callId)
    const events = output.add({
      id: CALL_ITEM + callId + this.#suffix,
      type: 'mcp_call',
      ...SERVER,
      name,
      arguments: '',
      status: 'in_progress',
      output: null,
      error: null,
      approval_request_id: approval ? APPROVAL_ITEM + callId + this.#suffix : null,
    })
    const at = output.items.length - 1
    this.#running.set(callId, at)
    const text = echoedArguments(this.#arguments.get(callId) ?? approval?.arguments ?? '')
    return [
      ...events,
      output.itemEvent(at, 'mcp_call.in_progress'),
      ...output.setArguments(at, 'mcp_call_arguments', text),
    ]
  }

  #callSettled(event: CallSettled): ResponseEvent[] {
    const { callId, ok, content = [], error } = event
    const isRunning = this.#running.has(callId)
    // Results that the caller sent are not repeated.
    const isKnown = this.#arguments.has(callId) || this.#approvalOf(callId)
    if (!isRunning && (!isKnown || this.#callerCalls.has(callId))) return []
    const startEvents = this.#callStarted(event)
    const outcome = ok
      ? { status: 'completed', output: contentText(content) }
      : {
          status: 'failed',
          error: toolError(error?.message),
        }
    const at = this.#running.get(callId) ?? 0
    return [...startEvents, this.#output.itemEvent(at, `mcp_call.${outcome.status}`), this.#callDone(callId, outcome)]
  }

  #approvalOf(callId: string): PendingApproval | undefined {
    return this.#options.pendingApprovals?.find((call) => call.id === callId)
  }

  #callDone(callId: string, patch: JsonFields): ResponseEvent {
    const at = this.#running.get(callId) ?? 0
    this.#running.delete(callId)
    return this.#output.done(at, patch)
  }

  #callForCaller({ callId, tool: name, arguments: value }: ToolCall): ResponseEvent[] {
    this.#callerCalls.add(callId)
    const output = this.#output
    const form = this.#options.forms?.get(name) ?? { type: 'function', name }
    const { item, input } = callItem(form, { callId, text: value, suffix: this.#suffix })
    const events = output.add(item)
    const at = output.items.length - 1
    if (input) events.push(...output.setInput(at, input.member, input.events, input.text))
    return [...events, output.done(at, { status: 'completed' })]
  }
}

/**
 * Makes an encoder of a run's events to the SSE text of a streamed response, whose events are numbered from 0. Those up
 * to the number `after` are left out.
 */
export function responseEncoder(
  options: ResponseOptions,
  after = -1,
): { event: (event: RunEvent) => string; end: () => string; news: 'text'; canRestart: () => boolean } {
  const reader = new ResponseReader(options)
  let number = 0
  const encode = (events: ReturnType<ResponseReader['end']>) =>
    events
      .map(({ type, ...rest }) => {
        const data = JSON.stringify({ type, sequence_number: number, ...rest })
        return number++ > after ? `event: ${type}\ndata: ${data}\n\n` : ''
      })
      .join('')
  return {
    event: (event) => encode(reader.take(event)),
    end: () => encode(reader.end()),
    news: 'text',
    canRestart: () => reader.canRestart,
  }
}
