import type { CallSettled } from '../contract/event.ts'
import type { Content } from '../contract/message.ts'
import type { ToolFailure, ToolFault, ToolOutcome } from '../contract/tool.ts'
import { countableUsage } from '../contract/usage.ts'
import type { CallState } from './state.ts'

/** The most characters of the name of a Worker's version. */
const DEPLOYMENT = 64

/**
 * Returns the event of a call with this outcome. The detail for operators is left out. `cut`: the bytes of the complete
 * result, if the outcome is only a part of it.
 */
export function callSettled(
  { callId, tool, parent }: CallState,
  outcome: ToolOutcome,
  durationMs: number,
  cut?: number,
): CallSettled {
  const { usage, marks, deployment } = outcome
  const accounting = {
    ...(usage && { usage: countableUsage(usage) }),
    ...(marks && { marks }),
    ...(deployment && { deployment: deployment.slice(0, DEPLOYMENT) }),
    ...(parent !== undefined && { parent }),
  }
  if (!outcome.ok)
    return {
      type: 'call.settled',
      callId,
      tool,
      ok: false,
      error: errorForModel(outcome.error),
      ...accounting,
      durationMs,
    }
  const { content, structured, metadata } = outcome
  return {
    type: 'call.settled',
    callId,
    tool,
    ok: true,
    content: content.map(wellFormed),
    ...(cut !== undefined && { cut }),
    ...(structured !== undefined && { structured }),
    ...(metadata && { metadata }),
    ...accounting,
    durationMs,
  }
}

/** Returns the event of a call that was not run. */
export function callRefused(call: CallState, failure: ToolFailure): CallSettled {
  return callSettled(call, failure, 0)
}

function errorForModel({ code, message, fatal }: ToolFault): NonNullable<CallSettled['error']> {
  return { code, message: message.toWellFormed(), ...(fatal === true && { fatal }) }
}

/** Repairs text that a tool has cut inside a surrogate pair: providers would reject every later request with it. */
function wellFormed(part: Content): Content {
  return part.type === 'text' ? { ...part, text: part.text.toWellFormed() } : part
}
