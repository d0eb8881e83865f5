import type { ToolDefinition } from '../../../src/contract/tool-definition.ts'
import type { Tool, ToolContext, ToolControl, ToolOutcome, ToolRequest } from '../../../src/contract/tool.ts'
import { execute } from '../../../src/host/execute.ts'
import { pinTools } from '../../../src/tool/pinned-tools.ts'

/** A control that nobody aborts. */
export const CONTROL: ToolControl = { whenAborted: () => new Promise(() => {}), progress: async () => {} }

export function toolRequest(
  name: string,
  args: Record<string, unknown> = {},
  { hash = '', ...context }: { hash?: string } & Partial<ToolContext> = {},
): ToolRequest {
  return {
    name,
    arguments: args,
    hash,
    context: {
      runId: 'run_1',
      callId: 'call_1',
      idempotencyKey: 'key_1',
      attempt: 1,
      deadline: Date.now() + 20_000,
      caller: { tenant: 'acme', scopes: ['chat'] },
      values: {},
      ...context,
    },
  }
}

/** Calls a tool as a run does that has just been told of it. */
export function call(tool: Tool | undefined, args: Record<string, unknown> = {}): Promise<ToolOutcome> {
  if (!tool) throw new Error('There is no such tool')
  const { name, hash } = tool.definition
  return tool.call(toolRequest(name, args, { hash }), CONTROL)
}

/** Calls a tool as a run does that began when the tool had this definition. */
export function callPinned(definition: ToolDefinition, current: readonly Tool[]): Promise<ToolOutcome> {
  return call(pinTools([definition], current).get(definition.name))
}

/** Calls a tool as the edge does: until a time limit, or until the run is cancelled. */
export function executeCall(
  tool: Tool,
  request: ToolRequest,
  { timeoutMs = 20_000, signal = new AbortController().signal }: { timeoutMs?: number; signal?: AbortSignal },
): Promise<ToolOutcome> {
  return execute(tool, request, { timeoutMs, signal, resultBytes: 1000, progress: () => {} })
}

export function text(text: string): ToolOutcome {
  return { ok: true, content: [{ type: 'text', text }] }
}
