import * as v from 'valibot'
import { either, integerFrom, isText, toolReference } from '../../schema.ts'
import { optionalFlag, optionalText } from '../openai-chat/request.ts'

const tokens = v.object({ type: v.literal('input_tokens'), value: integerFrom(0) })
const uses = v.object({ type: v.literal('tool_uses'), value: integerFrom(0) })

/** Clears the results of old calls, as Anthropic's API does under this name. */
const clearToolUses = v.object({
  type: v.literal('clear_tool_uses_20250919'),
  trigger: v.nullish(v.variant('type', [tokens, uses])),
  keep: v.nullish(uses),
  clear_at_least: v.nullish(tokens),
  exclude_tools: v.nullish(v.array(toolReference)),
  clear_tool_inputs: v.nullish(v.union([v.boolean(), v.array(toolReference)])),
})

/** Clears the thinking of old turns. */
const clearThinking = v.object({
  type: v.literal('clear_thinking_20251015'),
  keep: v.nullish(
    either(
      isText,
      v.literal('all'),
      v.variant('type', [
        v.object({ type: v.literal('all') }),
        v.object({ type: v.literal('thinking_turns'), value: integerFrom(1) }),
      ]),
    ),
  ),
})

/** Puts a summary in the place of all messages, if they are long. */
const compact = v.object({
  type: v.literal('compact_20260112'),
  trigger: v.nullish(tokens),
  instructions: optionalText,
  pause_after_compaction: optionalFlag,
})

const EDITS = [clearToolUses, clearThinking, compact] as const

/** Any other edit, which is ignored. */
const otherEdit = v.looseObject({ type: v.string() })

/** Edits of what the model sees. */
export const contextManagement = v.object({
  edits: v.nullish(v.array(v.union([...EDITS, otherEdit])), []),
})

/** A request for a summary alone. */
export const compaction = v.object({ type: v.literal('summarize'), instructions: optionalText })

type ContextManagement = v.InferOutput<typeof contextManagement> | null | undefined
export type ClearToolUses = v.InferOutput<typeof clearToolUses>
export type ClearThinking = v.InferOutput<typeof clearThinking>
type Compact = v.InferOutput<typeof compact>

/** Returns the edits that clear results and thinking. */
export function clearingEdits(management: ContextManagement): readonly (ClearToolUses | ClearThinking)[] {
  return (management?.edits ?? []).flatMap((edit) =>
    v.is(clearToolUses, edit) || v.is(clearThinking, edit) ? [edit] : [],
  )
}

/** Returns the edit that puts a summary in the place of long messages. */
export function compactEdit(management: ContextManagement): Compact | undefined {
  return (management?.edits ?? []).find((edit): edit is Compact => v.is(compact, edit))
}

/** Returns the edits that are ignored. */
export function ignoredEdits(management: ContextManagement): readonly string[] {
  return (management?.edits ?? []).flatMap((edit) =>
    EDITS.some((schema) => v.is(schema, edit)) ? [] : [`context_management.${edit.type}`],
  )
}
