import type { Message, ToolMessage } from '../../contract/message.ts'
import { tokensOf } from '../../loop/window/count.ts'
import type { ClearToolUses } from '../../wire/client/anthropic-messages/context-edits.ts'

/** What Anthropic's API documents for an edit that leaves these out. */
const TRIGGER_TOKENS = 100_000
const KEEP_USES = 3

const CLEARED = [{ type: 'text', text: '[This result was cleared to make room.]' }] as const

/** An edit that was made, as Anthropic's API tells of it. */
export interface AppliedEdit {
  readonly type: string
  readonly cleared_tool_uses: number
  readonly cleared_input_tokens: number
}

interface EditedMessages {
  readonly messages: readonly Message[]
  readonly edits: readonly AppliedEdit[]
}

/**
 * Clears the results of old calls from messages, the oldest first. An edit that would clear less than it must is not
 * made. Tokens are estimated.
 */
export function clearResults(messages: readonly Message[], edits: readonly ClearToolUses[]): EditedMessages {
  let current = messages
  const applied = edits.flatMap((edit): AppliedEdit[] => {
    const cleared = oldUses(current, edit)
    if (cleared.size === 0) return []
    const next = current.map((message) => clear(message, cleared, edit))
    const cleared_input_tokens = sizeOf(current) - sizeOf(next)
    if (cleared_input_tokens < (edit.clear_at_least?.value ?? 0)) return []
    current = next
    return [{ type: edit.type, cleared_tool_uses: cleared.size, cleared_input_tokens }]
  })
  return { messages: current, edits: applied }
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
