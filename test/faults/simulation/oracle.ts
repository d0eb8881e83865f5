import { isDeepStrictEqual } from 'node:util'
import { isNewsType, type RunEvent } from '../../../src/contract/event.ts'
import type { Message } from '../../../src/contract/message.ts'
import { isTerminal, type RunRecord } from '../../../src/contract/run.ts'
import { keptFault } from '../history.ts'

/** How often a call of each class may be delivered: docs/tools.md. */
const MOST_DELIVERIES: Readonly<Record<string, number>> = { plain: 1, idempotent: 3, pays: 1 }

/** What people and the network did, as the contract needs it to tell what must hold. */
interface Ledger {
  /** Runs whose acceptance was confirmed, in that order; `joins`: the input joined another run. */
  readonly requests: Map<string, { joins?: string }>
  /** Runs that were certainly refused. */
  readonly refusals: Set<string>
  /** Runs whose cancellation was confirmed. */
  readonly cancelled: Set<string>
  /** Calls that somebody approved, or rejected; the answer may have been lost. */
  readonly approved: Set<string>
  readonly rejected: Set<string>
  /** Each delivery of a call to its tool. */
  readonly deliveries: { readonly call: string; readonly tool: string; readonly key: string }[]
  /** Confirmed ends, as they were first seen. */
  readonly ends: Map<string, RunRecord>
}

export function newLedger(): Ledger {
  return {
    requests: new Map(),
    refusals: new Set(),
    cancelled: new Set(),
    approved: new Set(),
    rejected: new Set(),
    deliveries: [],
    ends: new Map(),
  }
}

/** Promise 1: an accepted message ends in exactly one outcome, and a refused one leaves nothing. */
export function endFaults({ requests, refusals, ends }: Ledger, run: string, events: readonly RunEvent[]): string[] {
  const faults: string[] = []
  const finished = events.filter(({ type }) => type === 'run.finished')
  const last = events.filter(({ type }) => type !== 'call.late').at(-1)
  if (finished.length !== 1) faults.push(`${run} has ${finished.length} ends`)
  if (last?.type !== 'run.finished') faults.push(`${run} ends with ${last?.type}`)
  if (refusals.has(run) && !requests.has(run)) faults.push(`${run} was refused and has run`)
  const [end] = finished
  const firstEnd = ends.get(run)
  if (end?.type === 'run.finished' && firstEnd && (firstEnd.status !== end.status || firstEnd.answer !== end.answer))
    faults.push(`${run} was ${firstEnd.status} "${firstEnd.answer}" and is ${end.status} "${end.answer}"`)
  return faults
}

/** Promise 1: a finished step never runs again, and no call is settled or decided about twice. */
export function onceFaults(run: string, events: readonly RunEvent[]): string[] {
  const faults: string[] = []
  const once = new Set<string>()
  const finished = new Set<number>()
  let last = 0
  for (const event of events) {
    if (event.seq <= last) faults.push(`${run}: event ${event.seq} comes after ${last}`)
    last = event.seq
    if (event.type === 'step.finished') finished.add(event.step)
    else if ('step' in event && finished.has(event.step)) faults.push(`${run}: ${event.type} after step ${event.step}`)
    const what =
      event.type === 'step.answered' || event.type === 'step.finished' || event.type === 'step.started'
        ? `${event.type} ${event.step}`
        : event.type === 'call.settled' || event.type === 'approval.decided' || event.type === 'approval.requested'
          ? `${event.type} ${event.callId}`
          : undefined
    if (what === undefined) continue
    if (once.has(what)) faults.push(`${run}: ${what} twice`)
    once.add(what)
  }
  return faults
}

/** Promise 1: a crash touches only calls in flight, each by its delivery class; nothing happens without approval. */
export function deliveryFaults({ deliveries, approved, rejected }: Ledger): string[] {
  const faults: string[] = []
  for (const [call, count] of Map.groupBy(deliveries, (delivery) => delivery.call)) {
    const [first] = count
    const tool = first?.tool ?? ''
    const most = MOST_DELIVERIES[tool] ?? 1
    if (count.length > most) faults.push(`the ${tool} call ${call} was delivered ${count.length} times`)
    if (new Set(count.map(({ key }) => key)).size > 1) faults.push(`${call} was delivered with several keys`)
    if (tool !== 'pays') continue
    if (!approved.has(call)) faults.push(`${call} was delivered without an approval`)
    else if (rejected.has(call)) faults.push(`${call} was rejected and delivered`)
  }
  return faults
}

/** A confirmed cancellation holds: the run ends cancelled. */
export function cancelFaults({ cancelled }: Ledger, run: string, events: readonly RunEvent[]): string[] {
  const end = events.findLast(({ type }) => type === 'run.finished')
  if (!cancelled.has(run) || end?.type !== 'run.finished' || end.status === 'cancelled') return []
  return [`${run} was cancelled and is ${end.status}`]
}

/** A run that completed has the answer to its input, and told the model nothing of a call that did not happen. */
export function answerFaults({ deliveries }: Ledger, run: string, events: readonly RunEvent[]): string[] {
  const faults: string[] = []
  const end = events.findLast(({ type }) => type === 'run.finished')
  if (end?.type === 'run.finished' && end.status === 'completed' && !/^Done run_\d+\.$/.test(end.answer))
    faults.push(`${run} completed with "${end.answer}"`)
  for (const event of events) {
    if (event.type !== 'call.settled' || !event.ok) continue
    if (!deliveries.some(({ call }) => call === event.callId)) faults.push(`${event.callId} was never delivered`)
  }
  return faults
}

/** Promise 2: each call in a history has one result, contiguous and in order. */
export function historyFaults(where: string, messages: readonly Message[]): string[] {
  const fault = keptFault(messages)
  return fault === undefined ? [] : [`${where}: ${fault}`]
}

/** Facts stay in a journal once they are there, as they were. */
export function factFaults(run: string, before: readonly RunEvent[], after: readonly RunEvent[]): string[] {
  const [earlier, later] = [before, after].map((events) => events.filter(({ type }) => !isNewsType(type)))
  if (!earlier || !later || isDeepStrictEqual(later.slice(0, earlier.length), earlier)) return []
  return [`the facts of ${run} have changed`]
}

export function isOver(status: string): boolean {
  return isTerminal(status as RunRecord['status'])
}
