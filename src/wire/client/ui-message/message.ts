import type { StoredMessage } from '../../../contract/conversation.ts'
import type { RunEvent } from '../../../contract/event.ts'
import { isObject, type JsonObject, withoutUndefined } from '../../../contract/json.ts'
import { type AssistantMessage, type Message, readableArguments, type UserMessage } from '../../../contract/message.ts'
import type { ShownTurn } from '../shown-turn.ts'
import { resultValue, type UiChunk, UiMessageEncoder } from './stream.ts'

/** A message as `useChat` holds it: `UIMessage` of the AI SDK. */
export interface UiMessage {
  readonly id: string
  readonly role: 'user' | 'assistant'
  readonly metadata?: unknown
  readonly parts: readonly JsonObject[]
}

/**
 * Returns the messages of a turn as a page that was never reloaded has them. An answer that is in progress is left out: its
 * stream begins with its start. `metadata.marks` says what data a message has: of third parties, or private.
 */
export function uiMessagesOf(turn: ShownTurn, conversation: string): UiMessage[] {
  const { run, messages, events, isInProgress } = turn
  const users = messages.flatMap(({ message, position }) =>
    message.role === 'user' ? userMessage(message, position) : [],
  )
  const answers = messages.filter(({ message }) => message.role === 'assistant' || message.role === 'tool')
  if (isInProgress || (events.length === 0 && answers.length === 0)) return users
  const answer = events.length > 0 ? answerOf(turn, conversation) : copiedAnswer(answers, { runId: run, conversation })
  if (answer.parts.every(({ type }) => type === 'step-start') && turn.status !== 'completed') return users
  return [
    ...users,
    {
      ...answer,
      metadata: withMarks(
        answer.metadata,
        answers.map(({ message }) => message),
      ),
    },
  ]
}

function userMessage({ content, display = {}, marks }: UserMessage, position: number): UiMessage {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
  const metadata = marks ? { ...Object(display.metadata), marks } : display.metadata
  return {
    id: display.id ?? `message-${position}`,
    role: 'user',
    ...(metadata !== undefined && { metadata }),
    parts: parts.map((part, at) => {
      if (part.type === 'text') return { type: 'text', text: part.text }
      const { mediaType } = part
      const url = 'url' in part ? part.url : `data:${mediaType};base64,${part.data}`
      const filename = display.names?.[at]
      return { type: 'file', mediaType, ...(filename !== undefined && { filename }), url }
    }),
  }
}

function withMarks(metadata: unknown, messages: readonly Message[]): unknown {
  const marks = [...new Set(messages.flatMap((message) => message.marks ?? []))]
  return marks.length === 0 ? metadata : { ...Object(metadata), marks }
}

/** Reads the answer of a run from its events. */
function answerOf({ run, events, decisions }: ShownTurn, conversation: string): UiMessage {
  const encoder = new UiMessageEncoder({ conversation })
  const draft = new Draft(run)
  for (const event of events) {
    for (const chunk of encoder.take(event)) draft.add(chunk)
    if (event.type === 'approval.decided') draft.decide(event)
  }
  for (const chunk of encoder.takeEnd()) draft.add(chunk)
  for (const [callId, decision] of decisions) draft.decide({ callId, decision })
  return draft.message()
}

/** Makes the answer of messages that are of no run here: what was copied in, or appended. */
function copiedAnswer(
  messages: readonly StoredMessage[],
  metadata: { readonly runId: string; readonly conversation: string },
): UiMessage {
  const draft = new Draft(metadata.runId)
  draft.add({ type: 'start', messageMetadata: metadata })
  for (const { message } of messages) {
    if (message.role === 'assistant') for (const chunk of chunksOfMessage(message)) draft.add(chunk)
    if (message.role !== 'tool') continue
    const outcome = message.ok
      ? { type: 'tool-output-available', output: resultValue(message) }
      : { type: 'tool-output-error', errorText: String(resultValue(message)) }
    draft.add({ ...outcome, toolCallId: message.callId })
  }
  return draft.message()
}

function chunksOfMessage({ content, reasoning = '', calls = [] }: AssistantMessage): UiChunk[] {
  const block = (kind: string, delta: string) =>
    delta === ''
      ? []
      : [
          { type: `${kind}-start`, id: kind },
          { type: `${kind}-delta`, id: kind, delta },
          { type: `${kind}-end`, id: kind },
        ]
  const inputs = calls.map(({ callId: toolCallId, tool: toolName, arguments: text }) => {
    const input = readableArguments(text)
    return { type: 'tool-input-available', toolCallId, toolName, input, providerExecuted: true }
  })
  return [{ type: 'start-step' }, ...block('reasoning', reasoning), ...block('text', content), ...inputs]
}

type Part = Record<string, unknown>
type Decision = Pick<Extract<RunEvent, { type: 'approval.decided' }>, 'callId' | 'decision' | 'reason' | 'input'>

/** A message that chunks of a UI message stream make, as the AI SDK reads them (`processUIMessageStream`). */
class Draft {
  readonly #id: string
  #metadata: JsonObject = {}
  readonly #parts: Part[] = []
  /** The open parts of text and reasoning, by their ids. */
  readonly #open = new Map<unknown, Part>()

  constructor(id: string) {
    this.#id = id
  }

  message(): UiMessage {
    return { id: this.#id, role: 'assistant', metadata: this.#metadata, parts: this.#parts }
  }

  add({ type, id, toolCallId, toolName, transient, messageMetadata, ...chunk }: UiChunk): void {
    const [, kind = '', change] = /^(text|reasoning|tool-input|tool-output)-(\w+)$/.exec(type) ?? []
    if (isObject(messageMetadata)) this.#metadata = { ...this.#metadata, ...withoutUndefined(messageMetadata) }
    else if (type === 'start-step') this.#parts.push({ type: 'step-start' })
    else if (kind === 'text' || kind === 'reasoning') this.#grow(kind, id, { change, delta: chunk['delta'] })
    else if (kind === 'tool-input' && change !== 'delta') this.#input({ toolCallId, toolName }, { change, ...chunk })
    else if (type === 'tool-approval-request')
      this.#change(toolCallId, { state: 'approval-requested', approval: { id: chunk['approvalId'] } })
    else if (kind === 'tool-output') this.#change(toolCallId, { ...chunk, state: `output-${change}` })
    else if (type === 'source-url') this.#parts.push({ type, ...withoutUndefined(chunk) })
    else if (type.startsWith('data-') && !transient) this.#parts.push({ type, id, ...chunk })
  }

  /** Adds the decision of a person to a call that waits for it. */
  decide({ callId, decision, reason, input }: Decision): void {
    const part = this.#find(callId)
    const isOpen = part?.['state'] === 'approval-requested'
    if (!part?.['approval']) return
    const approved = decision === 'approve'
    Object.assign(part, {
      ...(isOpen && { state: 'approval-responded' }),
      approval: { id: callId, approved, ...(reason !== undefined && { reason }) },
    })
    const form = this.#parts.find(({ data }) => isObject(data) && data['toolCallId'] === callId)
    if (form && input) form['data'] = { ...Object(form['data']), answers: input }
  }

  #grow(type: string, id: unknown, { change, delta = '' }: { change?: string | undefined; delta?: unknown }): void {
    const part = this.#open.get(id)
    if (change === 'start') {
      const started = { type, ...(type === 'reasoning' && { id }), text: '', state: 'streaming' }
      this.#parts.push(started)
      this.#open.set(id, started)
    } else if (part && change === 'delta') part['text'] = `${String(part['text'])}${String(delta)}`
    else if (part) part['state'] = 'done'
  }

  #input(call: { toolCallId: unknown; toolName: unknown }, { change, ...chunk }: Part): void {
    const state = change === 'start' ? 'input-streaming' : change === 'error' ? 'output-error' : 'input-available'
    const step = this.#parts.slice(this.#parts.findLastIndex((part) => part['type'] === 'step-start') + 1)
    const part = step.find((each) => each['toolCallId'] === call.toolCallId)
    if (part) Object.assign(part, withoutUndefined(chunk), { state })
    else
      this.#parts.push({
        type: `tool-${String(call.toolName)}`,
        toolCallId: call.toolCallId,
        state,
        ...withoutUndefined(chunk),
      })
  }

  #change(toolCallId: unknown, change: Part): void {
    Object.assign(this.#find(toolCallId) ?? {}, withoutUndefined(change))
  }

  #find(toolCallId: unknown): Part | undefined {
    return this.#parts.findLast((part) => part['toolCallId'] === toolCallId)
  }
}
