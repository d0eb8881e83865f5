import type { Turn } from '../../contract/conversation.ts'
import type { RunEvent } from '../../contract/event.ts'
import { isTerminal } from '../../contract/run.ts'
import type { RunPlace } from '../../contract/tool.ts'
import { decodeLine } from '../events.ts'

/** A turn as clients show it that read a conversation after they have lost it, or that come to it later. */
export interface ShownTurn extends Omit<Turn, 'facts'> {
  /** The facts of the run; of a step, those about calls come after its answer. Empty if the run is not known. */
  readonly events: readonly RunEvent[]
  /** Whether the run continues by itself, so that there is a stream of its answer. */
  readonly isInProgress: boolean
  /** What was decided about calls of agents, by call id: only the run of the agent knows. */
  readonly decisions: ReadonlyMap<string, 'approve' | 'reject'>
}

/** Reads a turn. Its decisions are left to the reader. */
export function readTurn({ facts, ...turn }: Turn): ShownTurn {
  const events = inOrder(facts.flatMap((line) => decodeLine(line) ?? []))
  const wait = events.findLast((event) => event.type === 'run.waiting')
  const { status = 'completed' } = turn
  const waits = status === 'waiting' && wait?.for !== 'agent'
  return { ...turn, events, isInProgress: !isTerminal(status) && !waits, decisions: new Map() }
}

/** Returns the calls of agents that a person was asked about, and that wait no more. */
export function decidedBelow({ status, events }: ShownTurn): readonly (RunPlace & { readonly call: string })[] {
  const waits = events.flatMap((event) => (event.type === 'run.waiting' ? [event.agents ?? []] : []))
  const open = status === 'waiting' ? (waits.at(-1) ?? []) : []
  const ids = new Set(open.map(({ call }) => call))
  const decided = new Map(waits.flat().flatMap((wait) => (ids.has(wait.call) ? [] : [[wait.call, wait] as const])))
  return [...decided.values()]
}

/**
 * Puts the events of calls that have begun before the answer of their step was complete after it: the text of the answer was
 * there first, and is in no event but that of the answer.
 */
function inOrder(events: readonly RunEvent[]): RunEvent[] {
  const ordered: RunEvent[] = []
  let early: RunEvent[] = []
  let isAnswering = false
  for (const event of events) {
    if (event.type === 'step.started') isAnswering = true
    if (isAnswering && event.type.startsWith('call.')) {
      early.push(event)
      continue
    }
    ordered.push(event)
    if (event.type === 'step.started' || event.type === 'provider.call' || event.type.startsWith('model.')) continue
    if (!['step.answered', 'answer.cut', 'run.finished', 'step.restarted'].includes(event.type)) continue
    ordered.push(...early)
    early = []
    isAnswering = event.type === 'step.restarted'
  }
  return [...ordered, ...early]
}
