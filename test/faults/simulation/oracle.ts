import { isDeepStrictEqual } from 'node:util'
import { isNewsType, type RunEvent } from '../../../src/contract/event.ts'
import type { Message } from '../../../src/contract/message.ts'
import { isTerminal, type RunRecord } from '../../../src/contract/run.ts'
import { keptFault } from '../history.ts'
import type { Ledger } from './ledger.ts'

/** How often a call of each class may be delivered: docs/tools.md. */
const MOST_DELIVERIES: Readonly<Record<string, number>> = { plain: 1, idempotent: 3, pays: 1 }

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
        : event.type === 'call.settled' ||
            event.type === 'approval.decided' ||
            event.type === 'approval.requested' ||
            event.type === 'call.undone'
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

/**
 * A run that compensates undoes its finished calls, newest first, when a later one fails; a run that does not undoes
 * nothing. What is undone was done, and is asked for with the key of the call, and once unless the object was lost.
 */
export function undoFaults(ledger: Ledger, run: string, events: readonly RunEvent[], disturbances: number): string[] {
  const faults: string[] = []
  const { deliveries, undos, compensating } = ledger
  const started = new Set(events.flatMap((event) => (event.type === 'call.started' ? [event.callId] : [])))
  const settled = events.filter((event) => event.type === 'call.settled')
  const undone = events.filter((event) => event.type === 'call.undone')
  const done = settled.filter(({ ok, tool }) => ok && tool === 'books').map(({ callId }) => callId)
  const failed = settled.filter(({ ok, callId }) => !ok && started.has(callId)).map(({ callId }) => callId)
  const end = events.findLast(({ type }) => type === 'run.finished')
  const isComplete = end?.type === 'run.finished' && end.status === 'completed'
  for (const call of done) {
    const isDue = failed.some((other) => stepOf(other) >= stepOf(call))
    if (isComplete && isDue && compensating.has(run) && !undone.some(({ callId }) => callId === call))
      faults.push(`${call} was not undone`)
  }
  for (const [index, { callId, because, ok }] of undone.entries()) {
    if (!compensating.has(run)) faults.push(`${callId} was undone in a run without compensation`)
    if (!done.includes(callId)) faults.push(`${callId} was undone, and had not succeeded`)
    if (!failed.includes(because)) faults.push(`${callId} was undone because of ${because}, which had not failed`)
    const before = undone[index - 1]
    if (before?.because === because && placeOf(before.callId) < placeOf(callId))
      faults.push(`${callId} was undone after the older ${before.callId}`)
    const requests = undos.filter(({ call }) => call === callId)
    if (ok && requests.length === 0) faults.push(`${callId} was never undone`)
    if (requests.length > 1 + disturbances) faults.push(`${callId} was undone ${requests.length} times`)
  }
  for (const { call, key } of undos.filter(({ call: id }) => started.has(id))) {
    if (!deliveries.some((delivery) => delivery.call === call && delivery.key === key))
      faults.push(`${call} was undone with another key`)
  }
  return faults
}

/** The step of a call: `call_<run>_<step>_<index>`. */
function stepOf(call: string): number {
  return Number(call.split('_').at(-2))
}

/** A number that rises from each call of a run to the next. */
function placeOf(call: string): number {
  return stepOf(call) * 1000 + Number(call.split('_').at(-1))
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
