import type { RunEventBody } from '../../contract/event.ts'
import type { RunError } from '../../contract/run.ts'
import type { Decision } from './decide.ts'

/** The events that each stand for one request of the run to a model, a tool or a store. */
const SUBREQUESTS: ReadonlySet<RunEventBody['type']> = new Set([
  'history.compacted',
  'tools.added',
  'step.started',
  'step.restarted',
  'model.retried',
  'call.started',
  'call.deferred',
  'call.undone',
] as const)

/** Returns how many subrequests of its invocation an event stands for. */
export function subrequestsOf(event: RunEventBody): number {
  // Only a summary of what was left out is a request.
  if (event.type === 'context.reduced') return Number(event.usage !== undefined) + Number(event.because !== undefined)
  return Number(SUBREQUESTS.has(event.type))
}

/** Returns as much of a decision as may be performed with so many subrequests; undefined if none of it may. */
export function withinSubrequests(next: Decision, most: number): Decision | undefined {
  if (!('calls' in next)) return next.do !== 'begin' || most > 0 ? next : undefined
  let count = 0
  // A call that started before the model's answer was complete makes no further subrequest.
  const calls = next.calls.filter(({ status }) => status === 'started' || count++ < most)
  return calls.length > 0 ? { ...next, calls } : undefined
}

/** The error of a run that cannot be continued in another invocation. */
export const SUBREQUEST_LIMIT: RunError = {
  code: 'subrequest_limit',
  message: 'The run needs too many subrequests. Run it in a conversation.',
}
