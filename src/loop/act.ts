import type { CallSettled } from '../contract/event.ts'
import type { ToolOutcome } from '../contract/tool.ts'
import { execute } from '../tool/execute.ts'
import { parseArguments } from '../tool/input.ts'
import { unknownTool } from '../tool/unknown.ts'
import { inPool } from './pool.ts'
import type { Running } from './running.ts'
import type { CallState } from './state.ts'

/**
 * Runs a step's calls, side by side up to the run's limit. Each is recorded as started before its request leaves, and
 * its outcome as soon as it is known. After an abort no further call starts.
 */
export async function act(running: Running, calls: readonly CallState[]): Promise<void> {
  const { state, signal } = running
  await inPool(calls, {
    size: state.request.limits.concurrentCalls,
    groupOf: (call) => exclusiveGroup(running, call),
    work: async (call) => {
      if (!signal.aborted) await perform(running, call)
    },
  })
}

async function perform(running: Running, call: CallState): Promise<void> {
  const { state, commit, now, report } = running
  const { callId, tool } = call
  const limit = state.request.limits.callMs
  const startedAt = now()
  const deadline = startedAt + Math.min(state.offered.get(tool)?.timeoutMs ?? Infinity, limit)
  const attempt = call.attempt + 1
  commit([{ type: 'call.started', callId, tool, attempt, at: startedAt, deadline }])
  const outcome = await outcomeOf(running, call, { attempt, deadline })
  if (!outcome.ok && outcome.error.detail !== undefined) {
    report({ callId, tool, code: outcome.error.code, detail: outcome.error.detail })
  }
  // The run may have ended meanwhile, with this call settled for it.
  if (call.status === 'started') commit([settled(call, outcome, now() - startedAt)])
}

async function outcomeOf(
  running: Running,
  call: CallState,
  { attempt, deadline }: { attempt: number; deadline: number },
): Promise<ToolOutcome> {
  const { state, tools, journal, signal } = running
  const { runId, conversation, caller, context, limits } = state.request
  const tool = tools.get(call.tool)
  if (!tool) return unknownTool(call.tool, [...tools.keys()])
  const parsed = parseArguments(call.tool, call.arguments)
  if (!parsed.ok) return parsed
  const { callId } = call
  const request = {
    name: call.tool,
    arguments: parsed.value,
    hash: tool.definition.hash,
    context: {
      ...(conversation !== undefined && { conversationId: conversation }),
      runId,
      callId,
      idempotencyKey: callId,
      attempt,
      deadline,
      caller,
      values: context,
    },
  }
  return execute(tool, request, {
    signal,
    timeoutMs: limits.callMs,
    resultBytes: limits.resultBytes,
    progress: (progress) => journal.show({ type: 'call.progress', callId, ...progress }),
  })
}

function settled({ callId, tool }: CallState, outcome: ToolOutcome, durationMs: number): CallSettled {
  if (outcome.ok) {
    const { content, structured } = outcome
    const rest = structured === undefined ? {} : { structured }
    return { type: 'call.settled', callId, tool, ok: true, content, ...rest, durationMs }
  }
  const { code, message } = outcome.error
  return { type: 'call.settled', callId, tool, ok: false, error: { code, message }, durationMs }
}

function exclusiveGroup({ state }: Running, call: CallState): string | undefined {
  const exclusive = state.offered.get(call.tool)?.exclusive
  if (exclusive === true) return `tool:${call.tool}`
  return typeof exclusive === 'string' ? `group:${exclusive}` : undefined
}
