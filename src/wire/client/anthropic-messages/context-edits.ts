import * as v from 'valibot'
import { integerFrom } from '../../schema.ts'

const tokens = v.object({ type: v.literal('input_tokens'), value: integerFrom(0) })
const uses = v.object({ type: v.literal('tool_uses'), value: integerFrom(0) })

/** Clears the results of old calls, as Anthropic's API does under this name. */
const clearToolUses = v.object({
  type: v.literal('clear_tool_uses_20250919'),
  trigger: v.nullish(v.variant('type', [tokens, uses])),
  keep: v.nullish(uses),
  clear_at_least: v.nullish(tokens),
  exclude_tools: v.nullish(v.array(v.string())),
  clear_tool_inputs: v.nullish(v.union([v.boolean(), v.array(v.string())])),
})

/** Any other edit: that of thinking, all of which the edge keeps unless it is asked to keep less, and unknown ones. */
const otherEdit = v.object({ type: v.string(), keep: v.optional(v.unknown()) })

/** Edits of what the model sees. */
export const contextManagement = v.object({
  edits: v.nullish(v.array(v.union([clearToolUses, otherEdit])), []),
})

type ContextManagement = v.InferOutput<typeof contextManagement> | null | undefined
export type ClearToolUses = v.InferOutput<typeof clearToolUses>

/** Returns the edits that clear results. */
export function clearingEdits(management: ContextManagement): readonly ClearToolUses[] {
  return (management?.edits ?? []).flatMap((edit) => (v.is(clearToolUses, edit) ? [edit] : []))
}

/** Returns the edits that are ignored. */
export function ignoredEdits(management: ContextManagement): readonly string[] {
  return (management?.edits ?? []).flatMap((edit) => {
    const isDone = edit.type.startsWith('clear_thinking_') ? edit.keep === 'all' : v.is(clearToolUses, edit)
    return isDone ? [] : [`context_management.${edit.type}`]
  })
}
