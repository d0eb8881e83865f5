import type { Tool, ToolOutcome } from '../../contract/tool.ts'
import type { StoredStaticTool } from '../stored.ts'

/** Calls a static tool: whatever the arguments, the answer is the one that was stored. */
export function callStatic({ static: answer }: StoredStaticTool): Tool['call'] {
  const outcome: ToolOutcome =
    'text' in answer
      ? { ok: true, content: [{ type: 'text', text: answer.text }] }
      : {
          ok: true,
          content: [{ type: 'text', text: JSON.stringify(answer.structured) }],
          structured: answer.structured,
        }
  return async () => outcome
}
