import type { HookContext } from '../../contract/hook.ts'
import type { ToolDefinition, ToolOutcome, ToolRequest } from '../../contract/tool.ts'
import type { Running } from '../running.ts'
import { compose, HookFailure, type Middleware } from './middleware.ts'
import { hookFailed } from './fault-policy.ts'

export interface HookedCall {
  readonly definition: ToolDefinition
  readonly request: ToolRequest
  /** What the hooks are told about the run around the call. */
  readonly context: () => HookContext
  readonly send: (request: ToolRequest) => Promise<ToolOutcome>
}

/** Sends a call through the hooks around calls. Never rejects: the failure of a hook is a fatal outcome. */
export async function callThroughHooks(
  { loop, report }: Pick<Running, 'loop' | 'report'>,
  { definition, request, context, send }: HookedCall,
): Promise<ToolOutcome> {
  const middleware = (loop.hooks ?? []).flatMap((hook): Middleware<ToolRequest, ToolOutcome>[] =>
    hook.call ? [(input, next) => hook.call?.(input, next, { ...context(), definition }) ?? next(input)] : [],
  )
  try {
    return await compose(middleware, send)(request)
  } catch (error) {
    const { callId } = request.context
    const cause = error instanceof HookFailure ? error.cause : error
    return hookFailed({ report }, { callId, tool: definition.name }, cause)
  }
}
