import type { RunEventBody } from '../contract/event.ts'
import { addUsage, NO_USAGE, type Usage } from '../contract/usage.ts'

/** The events that tell of usage that no other event has told of. */
const SOURCES: ReadonlySet<RunEventBody['type']> = new Set([
  'history.compacted',
  'context.reduced',
  'step.restarted',
  'answer.rejected',
  'answer.cut',
  'step.answered',
  'call.judged',
  'call.settled',
] as const)

/** Returns the usage that an event adds to that of its run; undefined if it adds none. */
export function usageOf(event: RunEventBody): Usage | undefined {
  return SOURCES.has(event.type) && 'usage' in event ? event.usage : undefined
}

/** Whether an event of this type may matter to the usage of its run. */
export function isAboutUsage(type: string): boolean {
  return type === 'call.started' || (SOURCES as ReadonlySet<string>).has(type)
}

/** Returns what the events of a run tell of its usage, and the part of it that the runs of agents account for. */
export function sumUsage(events: Iterable<RunEventBody>): { readonly usage: Usage; readonly agentUsage: Usage } {
  const agentCalls = new Set<string>()
  let [usage, agentUsage] = [NO_USAGE, NO_USAGE]
  for (const event of events) {
    if (event.type === 'call.started' && event.isAgent) agentCalls.add(event.callId)
    const own = usageOf(event)
    if (!own) continue
    usage = addUsage(usage, own)
    if (event.type === 'call.settled' && agentCalls.has(event.callId)) agentUsage = addUsage(agentUsage, own)
  }
  return { usage, agentUsage }
}
