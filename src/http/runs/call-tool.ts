import { newId } from '../../contract/id.ts'
import type { Setup } from '../../contract/setup.ts'
import type { Caller, Progress, Tool, ToolOutcome } from '../../contract/tool.ts'
import { failure } from '../../contract/tool.ts'
import { needsApproval } from '../../host/approval.ts'
import { execute } from '../../host/execute.ts'
import { termsOfCaller } from '../middleware/auth.ts'
import { countSpend } from './budget.ts'
import type { WaitUntil } from '../context.ts'
import { requestValues } from './request-values.ts'

export interface CallOptions {
  readonly arguments: Readonly<Record<string, unknown>>
  /** The tool context that the request brings. */
  readonly context?: Readonly<Record<string, unknown>> | undefined
  readonly setup: Setup
  readonly caller: Caller
  readonly request: Request
  readonly waitUntil: WaitUntil
  readonly progress?: (news: Progress) => void
  /** Default: the signal of the request. */
  readonly signal?: AbortSignal
}

/**
 * Performs one call outside of a run, under the rules of a run: with its limits, and a call that needs approval fails.
 * The usage of models inside the tool is counted for the caller's key, and the detail of a failure is reported to
 * operators. Never rejects.
 */
export async function callTool(
  tool: Tool,
  { setup, caller, request, waitUntil, progress = () => {}, signal = request.signal, ...body }: CallOptions,
): Promise<ToolOutcome> {
  const { name, hash, approval, timeoutMs: ownMs = Infinity, maxResultBytes = Infinity } = tool.definition
  if (needsApproval(approval, JSON.stringify(body.arguments))) {
    const message = `The tool "${name}" needs a person's approval, which takes a run in a conversation.`
    return failure('approval_needs_conversation', message)
  }
  const { limits, compat } = setup.config
  const timeoutMs = Math.min(ownMs, limits.callMs)
  const runId = newId('run')
  const trusted = setup.trusted?.(caller)
  const outcome = await execute(
    tool,
    {
      name,
      arguments: body.arguments,
      hash,
      context: {
        runId,
        callId: runId,
        idempotencyKey: runId,
        attempt: 1,
        deadline: Date.now() + timeoutMs,
        caller,
        values: requestValues(request, setup.config, body.context),
        ...(trusted && { trusted }),
        ...(compat && { compat }),
      },
    },
    { signal, timeoutMs, progress, resultBytes: Math.min(maxResultBytes, limits.resultBytes) },
  )
  const { usage } = outcome
  if (usage && termsOfCaller(setup.config, caller)?.budget) waitUntil(countSpend({ setup, caller }, runId, usage))
  if (!outcome.ok && outcome.error.detail !== undefined) {
    const { code, detail } = outcome.error
    setup.report({ event: 'call.failed', runId, tool: name, code, detail })
  }
  return outcome
}
