import type { StoredMessage } from '../../../contract/conversation.ts'
import { isTerminal } from '../../../contract/run.ts'
import { contentText, type DataMark, type UserContent, type UserMessage } from '../../../contract/message.ts'
import type { ShownTurn } from '../shown-turn.ts'
import { type AgUiEvent, AgUiEncoder } from './events.ts'

/** A message of the Agent User Interaction Protocol. */
type AgUiMessage = { readonly id: string; readonly role: string } & Record<string, unknown>

/** What a client of AG-UI knows of a thread. */
export interface AgUiThread {
  readonly threadId: string
  readonly messages: readonly AgUiMessage[]
  /** The decisions that the last run waits for, as in its outcome. */
  readonly interrupts: readonly unknown[]
  /** The calls that it waits for its client to run. */
  readonly pendingToolCallIds: readonly unknown[]
  /** The run whose answer is in progress, if one is. Its messages are left out. */
  readonly runId?: string
}

/** Returns a thread as a client has it that has read all its runs. `metadata.marks` of a message says what data it has. */
export function agUiThread(threadId: string, turns: readonly ShownTurn[]): AgUiThread {
  const messages = turns.flatMap((turn) => messagesOf(turn, threadId))
  const last = turns.at(-1)
  const waits = last && !last.isInProgress && last.status !== undefined && !isTerminal(last.status)
  const end = waits ? readRun(last, threadId).end : undefined
  const { interrupts = [], pendingToolCallIds = [] } = Object(end?.['outcome'])
  return { threadId, messages, interrupts, pendingToolCallIds, ...(last?.isInProgress && { runId: last.run }) }
}

function messagesOf(turn: ShownTurn, threadId: string): AgUiMessage[] {
  const { messages, events, isInProgress } = turn
  const users = messages.flatMap((stored) =>
    stored.message.role === 'user' ? userMessage(stored.message, stored) : [],
  )
  if (isInProgress) return users
  return [...users, ...(events.length > 0 ? readRun(turn, threadId).messages : messages.flatMap(copiedMessage))]
}

function userMessage({ content, display = {}, marks }: UserMessage, { position }: StoredMessage): AgUiMessage {
  return {
    id: display.id ?? `message-${position}`,
    role: 'user',
    content: typeof content === 'string' ? content : content.map(partOf),
    ...metadataOf(marks, display.metadata),
  }
}

function metadataOf(marks: readonly DataMark[] | undefined, metadata?: unknown): { readonly metadata?: unknown } {
  if (!marks) return metadata === undefined ? {} : { metadata }
  return { metadata: { ...Object(metadata), marks } }
}

function partOf(part: UserContent): object {
  if (part.type === 'text') return part
  const { mediaType: mimeType } = part
  const [kind = ''] = mimeType.split('/')
  const type = ['image', 'audio', 'video'].includes(kind) ? kind : 'document'
  const source = 'url' in part ? { type: 'url', value: part.url } : { type: 'data', value: part.data }
  return { type, source: { ...source, mimeType } }
}

/** Converts a message that is of no run here. */
function copiedMessage({ position, message }: StoredMessage): AgUiMessage[] {
  const id = `message-${position}`
  if (message.role === 'assistant') {
    const { content, reasoning = '', calls = [], marks } = message
    const toolCalls = calls.map(({ callId, tool, arguments: text }) => toolCall(callId, tool, text))
    return [
      ...(reasoning ? [{ id: `${id}-reasoning`, role: 'reasoning', content: reasoning }] : []),
      { id, role: 'assistant', content, ...(toolCalls.length > 0 && { toolCalls }), ...metadataOf(marks) },
    ]
  }
  if (message.role !== 'tool') return []
  const { callId: toolCallId, content, marks } = message
  return [{ id: `${toolCallId}-result`, role: 'tool', toolCallId, content: contentText(content), ...metadataOf(marks) }]
}

function toolCall(id: unknown, name: unknown, text: string) {
  return { id, type: 'function', function: { name, arguments: text } }
}

type Call = ReturnType<typeof toolCall>
/** A message to which events still add. */
type Draft = AgUiMessage & { content?: string; toolCalls?: Call[] }

/** Reads the messages of a run and its end from its events, as the client of the protocol applies them. */
function readRun(
  { run: runId, events, messages: stored }: ShownTurn,
  threadId: string,
): { readonly messages: readonly AgUiMessage[]; readonly end: AgUiEvent | undefined } {
  const encoder = new AgUiEncoder({ threadId, runId, protocolVersion: '1.0' })
  const drafts: Draft[] = []
  const marksOf = new Map<unknown, readonly DataMark[] | undefined>()
  for (const { message } of stored) if (message.role === 'tool') marksOf.set(message.callId, message.marks)
  for (const event of events) for (const each of encoder.take(event)) apply(each, drafts)
  const messages = drafts.map((draft) => ({ ...draft, ...metadataOf(marksOf.get(draft['toolCallId'])) }))
  return { messages, end: encoder.takeEnd().at(-1) }
}

function apply({ type, messageId, delta, ...event }: AgUiEvent, drafts: Draft[]): void {
  const id = String(messageId)
  const draft = drafts.find((each) => each.id === id)
  if (type === 'TEXT_MESSAGE_START') drafts.push({ id, role: 'assistant', content: '' })
  else if (type === 'REASONING_MESSAGE_START') drafts.push({ id, role: 'reasoning', content: '' })
  else if (type === 'TEXT_MESSAGE_CONTENT' || type === 'REASONING_MESSAGE_CONTENT') {
    if (draft) draft.content = `${draft.content ?? ''}${String(delta)}`
  } else if (type === 'TOOL_CALL_START') {
    const parent = drafts.find((each) => each.id === event['parentMessageId'])
    const owner: Draft = parent ?? { id: String(event['parentMessageId']), role: 'assistant', toolCalls: [] }
    if (!parent) drafts.push(owner)
    owner.toolCalls = [...(owner.toolCalls ?? []), toolCall(event['toolCallId'], event['toolCallName'], '')]
  } else if (type === 'TOOL_CALL_ARGS') {
    const calls = drafts.flatMap(({ toolCalls = [] }) => toolCalls)
    const call = calls.find((each) => each.id === event['toolCallId'])
    if (call) call.function.arguments += String(delta)
  } else if (type === 'TOOL_CALL_RESULT') addResult(event, drafts)
}

/** Adds a result after those that its step has already. */
function addResult({ toolCallId, content }: Readonly<Record<string, unknown>>, drafts: Draft[]): void {
  const result = { id: `${String(toolCallId)}-result`, role: 'tool', toolCallId, content: String(content) }
  let at = 1 + drafts.findIndex(({ toolCalls = [] }) => toolCalls.some(({ id }) => id === toolCallId))
  if (at === 0) at = drafts.length
  while (drafts[at]?.role === 'tool') at += 1
  drafts.splice(at, 0, result)
}
