import type { ToolFailure, ToolRequest } from '../contract/tool.ts'
import { parseArguments } from '../tool/input.ts'
import type { Running } from './running.ts'
import type { CallState } from './state.ts'

/** The request of one attempt at a call; or why it cannot be made, for the model. */
export function toolRequest(
  { state, tools, history }: Pick<Running, 'state' | 'tools' | 'history'>,
  { callId, tool: name, arguments: text, key = callId }: CallState,
  { attempt, deadline }: { attempt: number; deadline: number },
): { readonly ok: true; readonly value: ToolRequest } | ToolFailure {
  const parsed = parseArguments(name, text)
  if (!parsed.ok) return parsed
  const { runId, conversation, caller, context, trusted, compat } = state.request
  const { hash = '', history: wantsHistory = false } = tools.get(name)?.definition ?? {}
  return {
    ok: true,
    value: {
      name,
      arguments: parsed.value,
      hash,
      context: {
        ...(conversation !== undefined && { conversationId: conversation }),
        runId,
        callId,
        idempotencyKey: key,
        attempt,
        deadline,
        caller,
        // A tool that shares this isolate must not change what others see.
        values: Object.keys(context).length > 0 ? structuredClone(context) : {},
        ...(trusted && { trusted }),
        ...(compat && { compat }),
        ...(state.marks.size > 0 && { marks: [...state.marks] }),
        ...(wantsHistory && { history: [...history, ...state.messages] }),
      },
    },
  }
}
