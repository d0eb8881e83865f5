import type { Message, ToolMessage } from '../../contract/message.ts'
import { withoutThinking } from '../../wire/provider/anthropic/codec.ts'
import { tokensOf } from '../../loop/window/tokens.ts'
import type { ClearThinking, ClearToolUses } from '../../wire/client/anthropic-messages/context-edits.ts'

/** What Anthropic's API documents for an edit that leaves these out. */
const TRIGGER_TOKENS = 100_000
const KEEP_USES = 3
const KEEP_TURNS = 1

const CLEARED = [{ type: 'text', text: '[This result was cleared to make room.]' }] as const

/** An edit that was made, as Anthropic's API tells of it. */
export interface AppliedEdit {
  readonly type: string
  readonly cleared_tool_uses?: number
  readonly cleared_thinking_turns?: number
  readonly cleared_input_tokens: number
}

interface EditedMessages {
  readonly messages: readonly Message[]
  readonly edits: readonly AppliedEdit[]
}

/** Clears the results of old calls, and old thinking, from messages. Tokens are estimated. */
export function editContext(
  messages: readonly Message[],
  edits: readonly (ClearToolUses | ClearThinking)[],
): EditedMessages {
  let current = messages
  const applied = edits.flatMap((edit): AppliedEdit[] => {
    const edited = edit.type === 'clear_thinking_20251015' ? clearThinking(current, edit) : clearResults(current, edit)
    if (!edited) return []
    const cleared_input_tokens = sizeOf(current) - sizeOf(edited.messages)
    // An edit that would clear less than it must is not made.
    if ('clear_at_least' in edit && cleared_input_tokens < (edit.clear_at_least?.value ?? 0)) return []
    current = edited.messages
    return [{ type: edit.type, ...edited.counts, cleared_input_tokens }]
  })
  return { messages: current, edits: applied }
}

interface Edited {
  readonly messages: readonly Message[]
  readonly counts: Omit<AppliedEdit, 'type' | 'cleared_input_tokens'>
}

/** Clears the oldest results first. */
function clearResults(messages: readonly Message[], edit: ClearToolUses): Edited | undefined {
  const cleared = oldUses(messages, edit)
  if (cleared.size === 0) return undefined
  return {
    messages: messages.map((message) => clear(message, cleared, edit)),
    counts: { cleared_tool_uses: cleared.size },
  }
}

/** Clears the thinking of all turns but the last ones that have any. A turn lasts until the next message of the user. */
function clearThinking(messages: readonly Message[], { keep }: ClearThinking): Edited | undefined {
  const most = typeof keep === 'object' && keep?.type === 'thinking_turns' ? keep.value : keep ? Infinity : KEEP_TURNS
  let turn = 0
  const turns = messages.map(({ role }) => (role === 'user' ? ++turn : turn))
  const thinking = [...new Set(turns.filter((_, index) => hasThinking(messages[index])))]
  const old = new Set(most === Infinity ? [] : thinking.slice(0, -most))
  if (old.size === 0) return undefined
  return {
    messages: messages.map((message, index) => (old.has(turns[index] ?? 0) ? withoutThinking(message) : message)),
    counts: { cleared_thinking_turns: old.size },
  }
}

function hasThinking(message: Message | undefined): boolean {
  return message !== undefined && withoutThinking(message) !== message
}

function sizeOf(messages: readonly Message[]): number {
  return messages.reduce((total, message) => total + tokensOf(message), 0)
}

/** Returns the ids of the calls whose results are to be cleared; none below the trigger of the edit. */
function oldUses(messages: readonly Message[], { trigger, keep, exclude_tools }: ClearToolUses): ReadonlySet<string> {
  const results = messages.filter((message): message is ToolMessage => message.role === 'tool')
  const { type = 'input_tokens', value = TRIGGER_TOKENS } = trigger ?? {}
  const size = type === 'tool_uses' ? results.length : sizeOf(messages)
  if (size <= value) return new Set()
  const old = results.slice(0, Math.max(0, results.length - (keep?.value ?? KEEP_USES)))
  return new Set(old.flatMap(({ callId, tool }) => (exclude_tools?.includes(tool) ? [] : [callId])))
}

function clear(message: Message, ids: ReadonlySet<string>, { clear_tool_inputs: inputs }: ClearToolUses): Message {
  if (message.role === 'tool') return ids.has(message.callId) ? { ...message, content: CLEARED } : message
  if (message.role !== 'assistant' || !inputs || !message.calls?.some(({ callId }) => ids.has(callId))) return message
  const calls = message.calls.map((call) => {
    const isCleared = ids.has(call.callId) && (inputs === true || inputs.includes(call.tool))
    return isCleared ? { ...call, arguments: '{}' } : call
  })
  return { ...message, calls }
}
