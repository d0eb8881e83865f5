import type { RunEvent } from '../../../contract/event.ts'
import { contentText, type Opaque, type ToolCall } from '../../../contract/message.ts'
import type { ProviderCall } from '../../../contract/provider-tool.ts'
import type { RunError } from '../../../contract/run.ts'
import { NO_USAGE, type Usage } from '../../../contract/usage.ts'
import { leadingThinking } from '../../provider/anthropic/codec.ts'
import { objectsOf, textAt } from '../../fields.ts'
import { argumentsObject, argumentsText, type Fields } from '../../provider/model-answer.ts'
import { AnswerReport } from '../openai-chat/answer.ts'
import { encodeEncryptedContent } from '../openai-responses/output.ts'
import { deltaUsage, iterationUsage, messageUsage } from './usage.ts'
import { CUT, type PlacedCitation, type VisiblePart, VisibleText, type VisibleTextOptions } from '../visible-text.ts'

export interface MessageOptions extends VisibleTextOptions {
  readonly id: string
  /** The model as the request named it. */
  readonly model: string
  /** The names that the caller has given its tools, by those that the model has. */
  readonly toolNames: ReadonlyMap<string, string>
  /** Epoch milliseconds. */
  readonly created: number
  readonly conversation?: string | undefined
  /** Whether the calls that the edge runs are shown, as those of an MCP server; clients never run these. */
  readonly showsCalls: boolean
  /** The edits of the context that were made; absent if the request asks for none. */
  readonly edits?: readonly object[] | undefined
  /** Whether the answer of the run is a summary. */
  readonly isCompaction?: boolean
  /** The summary that the run began with; its text is null if the model has written none. */
  readonly summary?: { readonly text: string | null; readonly usage: Usage }
}

type StreamEvent = Fields & { readonly type: string }
type End = Extract<VisiblePart, { type: 'end' | 'failure' }>

const STOP_REASONS = { stop: 'end_turn', tool_calls: 'tool_use', length: 'max_tokens', content_filter: 'refusal' }

/** The edge as a server whose calls are shown. */
const SERVER = 'edgecall'

/**
 * Reads a run's events as one message. The text is that of `VisibleText`, a call that the caller runs a `tool_use`, and
 * reasoning a `thinking` block. The data that a model wants back with an answer is the signature of its thinking, since
 * some clients take the last block for the answer. In a stream it is known only when the answer is complete: a thinking
 * block is held open until then, and ends before the text. Without thinking, or before a call, the data is a
 * `redacted_thinking` block, which clients return and never read. A whole message has the thinking blocks of Anthropic's
 * models as they came.
 */
class MessageReader {
  readonly #options: MessageOptions
  readonly #visible: VisibleText
  readonly #report = new AnswerReport()
  readonly #content: Fields[] = []
  /** The arguments of the calls of the edge that are to be shown, by call id. */
  readonly #arguments = new Map<string, string>()
  /** The data of the latest answer, until it is shown. That of an answer whose calls are not shown never is. */
  #pendingOpaque: Opaque | undefined
  /** The indexes of the blocks that are open. */
  #thinkingAt: number | undefined
  #textAt: number | undefined
  #isBegun = false
  #summary = ''
  /** The sequence at which the last answer stopped. */
  #stopSequence: string | null = null
  #end: End | undefined

  constructor(options: MessageOptions) {
    this.#options = options
    this.#visible = new VisibleText(options)
  }

  /** Returns the events of the stream for an event of the run. Those after the end belong to another message. */
  take(event: RunEvent): readonly StreamEvent[] {
    if (this.#end) return []
    this.#report.take(event)
    return [...this.#begin(), ...this.#calls(event), ...this.#parts(event)]
  }

  /** Returns the events after the last one of the run: none, or an error if the run's events stopped before its end. */
  end(): readonly StreamEvent[] {
    return this.#end ? [] : [...this.#begin(), ...this.#onPart(CUT)]
  }

  get canRestart(): boolean {
    return this.#visible.canRestart
  }

  /** The message, or the error that takes its place. */
  get result(): { readonly ok: true; readonly body: Fields } | { readonly ok: false; readonly error: RunError } {
    const end = this.#end ?? CUT
    if (end.type === 'failure') return { ok: false, error: end.error }
    const { finish, usage } = end
    const { conversation } = this.#options
    const body = { ...this.#message(this.#content, usage), ...this.#stop(end), ...this.#edits() }
    return { ok: true, body: { ...body, edgecall: this.#report.describe(conversation, finish) } }
  }

  #edits(): Fields {
    const { edits } = this.#options
    return edits ? { context_management: { applied_edits: edits } } : {}
  }

  #message(content: readonly Fields[], usage: Usage): Fields {
    const { id, model } = this.#options
    return {
      id,
      type: 'message',
      role: 'assistant',
      model,
      content,
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      container: null,
      diagnostics: null,
      usage: { ...messageUsage(usage), ...this.#iterations(usage) },
    }
  }

  /** The usage of a message that begins with a summary has that of the summary beside its own. */
  #iterations(usage: Usage): Fields {
    const { summary } = this.#options
    if (!summary) return {}
    return { iterations: [iterationUsage('compaction', summary.usage), iterationUsage('message', usage)] }
  }

  #stop(end: Extract<End, { type: 'end' }>): Fields {
    if (!this.#options.isCompaction) return toStop(end, this.#stopSequence)
    return { stop_reason: 'compaction', stop_sequence: null, stop_details: null }
  }

  #begin(): readonly StreamEvent[] {
    if (this.#isBegun) return []
    this.#isBegun = true
    const { summary } = this.#options
    return [
      { type: 'message_start', message: this.#message([], NO_USAGE) },
      { type: 'ping' },
      ...(summary ? this.#addSummary(summary.text) : []),
    ]
  }

  #addSummary(content: string | null): readonly StreamEvent[] {
    const block = { type: 'compaction', content, encrypted_content: null }
    const first = { ...block, content: null }
    const delta = { ...block, type: 'compaction_delta' }
    const [start, index] = [this.#start(block, first), this.#content.length - 1]
    return [start, { type: 'content_block_delta', index, delta }, { type: 'content_block_stop', index }]
  }

  #parts(event: RunEvent): readonly StreamEvent[] {
    if (this.#options.isCompaction) return this.#visible.take(event).flatMap((part) => this.#onSummaryPart(part))
    // The VisibleText does not tell of thinking whose text the provider keeps to itself.
    const isHidden = event.type === 'reasoning.delta' && event.text === '' && !this.#visible.isRepeating
    const hidden = isHidden ? this.#grow('thinking', '') : []
    const parts = this.#visible.take(event)
    const showParts = () => parts.flatMap((part) => this.#onPart(part))
    // Text that was held back comes with the call that it precedes.
    if (event.type === 'call.requested') return [...this.#addOpaque(true), ...showParts()]
    if (event.type !== 'step.answered') return [...hidden, ...showParts()]
    const { opaque, calls, stopSequence = null } = event
    this.#stopSequence = stopSequence
    const blocks = this.#options.waitsForAnswer ? leadingThinking(opaque) : []
    this.#pendingOpaque = blocks.length > 0 ? undefined : opaque
    if (blocks.length > 0) {
      const others = parts.filter(({ type }) => type !== 'reasoning')
      return [...blocks.flatMap((block) => this.#add(block)), ...others.flatMap((part) => this.#onPart(part))]
    }
    if (calls.length > 0) return showParts()
    const isShown = this.#textAt !== undefined && !this.#options.waitsForAnswer
    if (isShown) return [...showParts(), ...this.#addOpaque()]
    const thinking = parts.filter(({ type }) => type === 'reasoning').flatMap((part) => this.#onPart(part))
    const others = parts.filter(({ type }) => type !== 'reasoning')
    return [...thinking, ...this.#addOpaque(), ...others.flatMap((part) => this.#onPart(part))]
  }

  #onPart(part: VisiblePart): readonly StreamEvent[] {
    switch (part.type) {
      case 'text':
        return this.#grow('text', part.text)
      case 'reasoning':
        return this.#grow('thinking', part.text)
      case 'call':
        return this.#addCall(
          { type: 'tool_use', caller: { type: 'direct' } },
          {
            ...part.call,
            tool: this.#callerName(part.call.tool),
          },
        )
      case 'citations':
        return this.#cite(part.citations)
      case 'end': {
        this.#end = part
        const usage = { ...deltaUsage(part.usage), ...this.#iterations(part.usage) }
        return [
          ...this.#close(),
          {
            type: 'message_delta',
            delta: { ...this.#stop(part), container: null },
            usage,
            ...this.#edits(),
          },
          { type: 'message_stop' },
        ]
      }
      default:
        this.#end = part
        return [{ type: 'error', ...anthropicErrorObject(part.error) }]
    }
  }

  /** Collects the text of a summary, which is shown once it is complete. */
  #onSummaryPart(part: VisiblePart): readonly StreamEvent[] {
    if (part.type === 'text') this.#summary += part.text
    if (part.type === 'failure') return this.#onPart(part)
    if (part.type !== 'end') return []
    const summary = part.reason === 'stop' ? this.#summary.trim() || null : null
    return [...this.#addSummary(summary), ...this.#onPart(part)]
  }

  /** Shows what the provider has done, and a call that the edge runs with its result. The calls of a program are part of its own call. */
  #calls(event: RunEvent): readonly StreamEvent[] {
    if (event.type === 'provider.call') return this.#addServerUse(event)
    if (!this.#options.showsCalls) return []
    if (event.type === 'step.answered') {
      for (const { callId, arguments: text } of event.calls) this.#arguments.set(callId, text)
    }
    if (event.type === 'call.started' && event.parent === undefined) {
      const { callId, tool, arguments: text = this.#arguments.get(callId) } = event
      // A call that is sent again has been shown, and one of an earlier message has not been asked for in this one.
      if (text === undefined || !this.#arguments.delete(callId)) return []
      const call = { callId, tool, arguments: text }
      return [...this.#addOpaque(true), ...this.#addCall({ type: 'mcp_tool_use', server_name: SERVER }, call)]
    }
    const isShown = (id: unknown) => this.#content.some((block) => block.type === 'mcp_tool_use' && block['id'] === id)
    if (event.type !== 'call.settled' || !isShown(event.callId)) return []
    const { callId, ok, content = [], error } = event
    const text = ok ? contentText(content) : (error?.message ?? '')
    const result = { type: 'mcp_tool_result', tool_use_id: callId, is_error: !ok }
    return this.#add({ ...result, content: [{ type: 'text', text }] })
  }

  /** Adds to the open block of this type, or opens one. Thinking after text begins another block. */
  #grow(type: 'text' | 'thinking', text: string): readonly StreamEvent[] {
    const openAt = type === 'text' ? this.#textAt : this.#thinkingAt
    const canGrow = openAt !== undefined && (type === 'text' || openAt === this.#content.length - 1)
    const empty = type === 'text' ? { type, text: '' } : { type, thinking: '', signature: '' }
    const opened = canGrow ? [] : [...(type === 'thinking' ? this.#close() : []), this.#start(empty)]
    const index = canGrow ? openAt : this.#content.length - 1
    if (!canGrow && type === 'text') this.#textAt = index
    else if (!canGrow) this.#thinkingAt = index
    if (text === '') return opened
    const block = this.#content[index] ?? empty
    this.#content[index] = { ...block, [type]: `${String(block[type])}${text}` }
    return [...opened, { type: 'content_block_delta', index, delta: { type: `${type}_delta`, [type]: text } }]
  }

  /** Adds sources to the text that is open: a block has the sources of all its text. */
  #cite(citations: readonly PlacedCitation[]): readonly StreamEvent[] {
    const index = this.#textAt
    const block = index === undefined ? undefined : this.#content[index]
    if (index === undefined || !block) return []
    const all = citations.map(toCitation)
    this.#content[index] = { ...block, citations: [...objectsOf(block['citations']), ...all] }
    return all.map((citation) => {
      return { type: 'content_block_delta', index, delta: { type: 'citations_delta', citation } }
    })
  }

  #addCall(block: Fields, { callId: id, tool: name, arguments: text }: ToolCall): readonly StreamEvent[] {
    const call = { ...block, id, name, input: argumentsObject(text) }
    const delta = { type: 'input_json_delta', partial_json: argumentsText(text) }
    const [stop, index] = [this.#closeText(), this.#content.length]
    const start = this.#start(call, { ...call, input: {} })
    return [...stop, start, { type: 'content_block_delta', index, delta }, { type: 'content_block_stop', index }]
  }

  /** What the provider wants back of it is not in these blocks, but in that with the data of the answer. */
  #addServerUse(event: Extract<RunEvent, { type: 'provider.call' }>): readonly StreamEvent[] {
    const { kind, seq, id = `srvtoolu_${seq}`, input } = event
    if (TOOL_SEARCH.test(event.tool)) return this.#addSearch(event, id)
    if (kind === undefined || kind === 'file_search' || kind === 'mcp') return []
    const name = SERVER_TOOLS[kind]
    const caller = { type: 'direct' }
    const use = { callId: id, tool: name, arguments: JSON.stringify(input) }
    const result = {
      type: `${name}_tool_result`,
      tool_use_id: id,
      caller,
      content: serverResult(kind, event, this.#options.created),
    }
    return [...this.#addCall({ type: 'server_tool_use', caller }, use), ...this.#add(result)]
  }

  #callerName(tool: string): string {
    return this.#options.toolNames.get(tool) ?? tool
  }

  /** Adds a search of the caller's tools by the provider. */
  #addSearch({ tool, input, ok, output = '' }: ProviderCall, id: string): readonly StreamEvent[] {
    const use = { callId: id, tool, arguments: JSON.stringify(input) }
    const names = output.split('\n').filter(Boolean)
    const tool_references = names.map((name) => ({ type: 'tool_reference', tool_name: this.#callerName(name) }))
    const content = ok
      ? { type: 'tool_search_tool_search_result', tool_references }
      : { type: 'tool_search_tool_result_error', error_code: output || 'unavailable', error_message: null }
    return [
      ...this.#addCall({ type: 'server_tool_use', caller: { type: 'direct' } }, use),
      ...this.#add({ type: 'tool_search_tool_result', tool_use_id: id, content }),
    ]
  }

  /**
   * Adds the data of the latest answer: to thinking that is open, else as a block. A block after text that is open ends
   * before that text does. Some clients miss the signature of thinking once the text has begun, so that calls, which need
   * the data more, have a block before them.
   */
  #addOpaque(isBeforeCall = false): readonly StreamEvent[] {
    const opaque = this.#pendingOpaque
    this.#pendingOpaque = undefined
    if (!opaque) return isBeforeCall ? this.#close() : []
    const index = this.#thinkingAt
    const block = index === undefined ? undefined : this.#content[index]
    if (index !== undefined && block && !(isBeforeCall && this.#textAt !== undefined)) {
      const signature = ownSignature(opaque, block['thinking']) ?? encodeEncryptedContent(opaque)
      this.#content[index] = { ...block, signature }
      const delta = { type: 'signature_delta', signature }
      return [{ type: 'content_block_delta', index, delta }, ...this.#closeThinking()]
    }
    const closing = isBeforeCall ? this.#close() : []
    const data = encodeEncryptedContent(opaque)
    const at = this.#content.length
    const start = this.#start({ type: 'redacted_thinking', data })
    return [...closing, start, { type: 'content_block_stop', index: at }, ...this.#closeText()]
  }

  /** Adds a block that does not grow. */
  #add(block: Fields): readonly StreamEvent[] {
    const [stop, index] = [this.#closeText(), this.#content.length]
    return [...stop, this.#start(block), { type: 'content_block_stop', index }]
  }

  #start(block: Fields, first: Fields = block): StreamEvent {
    return { type: 'content_block_start', index: this.#content.push(block) - 1, content_block: first }
  }

  #closeThinking(): readonly StreamEvent[] {
    const index = this.#thinkingAt
    this.#thinkingAt = undefined
    return index === undefined ? [] : [{ type: 'content_block_stop', index }]
  }

  #closeText(): readonly StreamEvent[] {
    const index = this.#textAt
    this.#textAt = undefined
    return index === undefined ? [] : [{ type: 'content_block_stop', index }]
  }

  #close(): readonly StreamEvent[] {
    return [...this.#closeThinking(), ...this.#closeText()]
  }
}

/** Returns the signature of Anthropic for this thinking, if that is all that the data of an answer has. */
function ownSignature(opaque: Opaque, thinking: unknown): string | undefined {
  const [block, ...others] = leadingThinking(opaque)
  return others.length === 0 && block?.thinking === thinking ? textAt(block, 'signature') || undefined : undefined
}

function toCitation({ url, title = '', quote: cited_text = '' }: PlacedCitation): Fields {
  return { type: 'web_search_result_location', url, title, cited_text, encrypted_index: '' }
}

/** The names of Anthropic's tools that search those of the request. */
const TOOL_SEARCH = /^tool_search_tool/

/** What Anthropic calls its tools of each kind; it has none for the others. */
const SERVER_TOOLS = { web_search: 'web_search', web_fetch: 'web_fetch', code: 'code_execution' } as const

/** Makes the content of the result of such a tool, in an answer of that time. */
function serverResult(
  kind: keyof typeof SERVER_TOOLS,
  { ok, sources = [], output = '' }: Pick<ProviderCall, 'ok' | 'sources' | 'output'>,
  created: number,
): unknown {
  if (kind === 'code') {
    const [stdout, stderr] = ok ? [output, ''] : ['', output]
    return { type: 'code_execution_result', stdout, stderr, return_code: ok ? 0 : 1, content: [] }
  }
  if (!ok) {
    const error_code = /^[a-z_]+$/.test(output) ? output : 'unavailable'
    return { type: `${kind}_tool_result_error`, error_code }
  }
  const pages = sources.map(({ url, title = '' }) => ({ url, title }))
  if (kind === 'web_search') {
    return pages.map((page) => ({ type: 'web_search_result', ...page, encrypted_content: '', page_age: null }))
  }
  const { url = '', title = '' } = pages[0] ?? {}
  const source = { type: 'text', media_type: 'text/plain', data: output }
  const document = { type: 'document', source, title: title || null }
  return { type: 'web_fetch_result', url, retrieved_at: new Date(created).toISOString(), content: document }
}

/** Makes an encoder of a run's events to the SSE text of a streamed message. */
export function messageEncoder(options: MessageOptions): {
  event: (event: RunEvent) => string
  end: () => string
  news: 'text'
  canRestart: () => boolean
} {
  const reader = new MessageReader(options)
  const encode = (events: readonly StreamEvent[]) =>
    events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
  return {
    event: (event) => encode(reader.take(event)),
    end: () => encode(reader.end()),
    news: 'text',
    canRestart: () => reader.canRestart,
  }
}

/** Makes a collector of a run's events to a whole message, without the text of repeated attempts. */
export function messageCollector(options: MessageOptions): {
  event: (event: RunEvent) => void
  result: () => MessageReader['result']
} {
  const reader = new MessageReader({ ...options, waitsForAnswer: true })
  return {
    event: (event) => {
      // The answer of a step has all that its deltas have.
      if (!event.type.endsWith('.delta')) reader.take(event)
    },
    result: () => reader.result,
  }
}

function toStop({ reason }: Extract<End, { type: 'end' }>, sequence: string | null): Fields {
  if (reason === 'stop' && sequence !== null)
    return { stop_reason: 'stop_sequence', stop_sequence: sequence, stop_details: null }
  const stop_details = reason === 'content_filter' ? { type: 'refusal', category: null, explanation: null } : null
  return { stop_reason: STOP_REASONS[reason], stop_sequence: null, stop_details }
}

/** Anthropic's types of errors, by HTTP status. */
const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  // The provider refused the edge's key, which is not an error of the caller.
  424: 'api_error',
  429: 'rate_limit_error',
  504: 'timeout_error',
}

interface ErrorDetails {
  readonly code: string
  readonly message: string
  readonly param?: string | undefined
  /** Default, for an error within a stream: 500. */
  readonly status?: number
}

/** Whether the edge has more requests than it can answer, for which Anthropic has a status of its own: 529. */
export function isOverload(code: string): boolean {
  return /(?:^|_)overloaded$/.test(code)
}

/** Makes the members `error` and, of an answer, `request_id` of an error. Its stable code is in `details.error_code`. */
export function anthropicErrorObject(
  { code, message, param, status = 500 }: ErrorDetails,
  request_id?: string,
): Fields {
  const isBusy = isOverload(code) || (code === 'model_unavailable' && (status === 503 || status === 529))
  const byCode = isBusy ? 'overloaded_error' : code.endsWith('rate_limited') ? TYPES[429] : undefined
  const type = byCode ?? TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  return { type: 'error', error: { type, message, details: { error_code: code, param } }, request_id }
}
