import { isNewsType, type RunEvent } from '../../../src/contract/event.ts'
import { isTerminal, type RunStatus } from '../../../src/contract/run.ts'
import type { Attempt, Ledger } from './ledger.ts'

const [MINUTE, HOUR] = [60_000, 3_600_000]
/** How late an alarm may perform a duty, after failures of the platform. */
const LATE_MS = HOUR
const MOST_ATTEMPTS = 7

/** When a conversation expires, if it does. */
export interface Terms {
  readonly ttlSeconds?: number
  /** In epoch milliseconds. */
  readonly expires?: number
}

/** What is known of a run when its conversation is judged. */
export interface JudgedRun {
  readonly id: string
  readonly status: RunStatus
  readonly events: readonly RunEvent[]
}

/** A conversation is deleted only after its time is up, and not while a run is under way or before it is off its list. */
export function deletionFaults(
  { usedAt }: Ledger,
  { ttlSeconds, expires }: Terms,
  { now, runs, isListed }: { readonly now: number; readonly runs: readonly JudgedRun[]; readonly isListed: boolean },
): string[] {
  const faults: string[] = []
  if (ttlSeconds === undefined && expires === undefined) faults.push('a conversation without an end was deleted')
  const lastUse = Math.max(usedAt, ...runs.flatMap(({ events }) => events.flatMap(useOf)))
  if (ttlSeconds !== undefined && now < lastUse + ttlSeconds * 1000)
    faults.push(`the conversation was deleted ${now - lastUse} ms after its last use`)
  if (expires !== undefined && now < expires) faults.push('the conversation was deleted before its end')
  // While one waits for a person, those behind it do not keep the conversation.
  const isWaiting = runs.some(({ status }) => status === 'waiting')
  for (const { id, status } of isWaiting ? [] : runs)
    if (status === 'running' || status === 'queued')
      faults.push(`${id} was ${status} when its conversation was deleted`)
  if (isListed) faults.push('the conversation was deleted and is still listed')
  return faults
}

/** A run that ends or begins to wait is a use of its conversation. */
function useOf(event: RunEvent): number[] {
  return event.type === 'run.finished' || event.type === 'run.waiting' ? [event.at ?? 0] : []
}

/** A call that nobody decides about is rejected after 24 hours, and later only by the time in which there was no alarm. */
export function approvalFaults(
  { approved, rejected }: Ledger,
  { id, events }: JudgedRun,
  withoutAlarmMs: number,
): string[] {
  const faults: string[] = []
  // Time in which a run is parked is nobody's.
  const isParked = events.some(({ type }) => type === 'run.parked')
  for (const event of events) {
    if (event.type !== 'approval.decided' || approved.has(event.callId) || rejected.has(event.callId)) continue
    const requested = events.find((each) => each.type === 'approval.requested' && each.callId === event.callId)
    const waited = (event.at ?? 0) - (requested?.at ?? 0)
    if (event.decision !== 'reject') faults.push(`${id}: nobody approved ${event.callId}, which was approved`)
    if (waited < 24 * HOUR) faults.push(`${id}: ${event.callId} expired after ${waited} ms`)
    if (waited > 24 * HOUR + LATE_MS + withoutAlarmMs && !isParked)
      faults.push(`${id}: ${event.callId} expired only after ${waited} ms`)
  }
  return faults
}

/** The news of a run is readable for ten minutes after its end: the text of its last step is the answer. */
export function newsFaults({ id, events }: JudgedRun, now: number): string[] {
  const end = events.find((event) => event.type === 'run.finished')
  if (end?.type !== 'run.finished' || end.status !== 'completed' || now >= (end.at ?? 0) + 10 * MINUTE) return []
  const begin = events.findLastIndex(({ type }) => type === 'step.started' || type === 'step.restarted')
  const text = events.slice(begin).map((event) => (event.type === 'text.delta' ? event.text : ''))
  return text.join('') === end.answer ? [] : [`the text of ${id} is gone before ten minutes are over`]
}

/** After that, only the facts are left. */
export function pruningFaults({ id, status, events }: JudgedRun): string[] {
  if (!isTerminal(status) || !events.some(({ type }) => isNewsType(type))) return []
  return [`the news of ${id} is not deleted`]
}

/** Each end of a run and each wait for approval is one message: sent again if it is not accepted, and otherwise never. */
export function webhookFaults(attempts: readonly Attempt[], runs: readonly JudgedRun[], isOver: boolean): string[] {
  const faults: string[] = []
  const messages = Map.groupBy(attempts, ({ id }) => id)
  for (const [id, tries] of messages) {
    if (new Set(tries.map(({ body }) => body)).size > 1) faults.push(`the message ${id} has changed`)
    tries.forEach(({ status, disturbances }, index) => {
      const next = tries[index + 1]
      if ((isAccepted(status) || status === 410) && next?.disturbances === disturbances)
        faults.push(`the message ${id} was answered with ${status} and sent again`)
    })
    const repeats = new Set(tries.map(({ disturbances }) => disturbances)).size - 1
    if (tries.length > MOST_ATTEMPTS + repeats) faults.push(`the message ${id} was sent ${tries.length} times`)
  }
  for (const { id, events, status } of runs) {
    const own = [...messages].map(([message, tries]) => ({ message, tries, ...bodyOf(tries) }))
    const ends = own.filter(({ run, type }) => run === id && type === 'run.finished')
    const waits = own.filter(({ run, type }) => run === id && type === 'run.waiting')
    const expected = events.filter((event) => event.type === 'run.waiting' && event.for === 'approval').length
    if (ends.length > 1) faults.push(`${id} was told to have ended ${ends.length} times`)
    if (waits.length > expected)
      faults.push(`${id} waited ${expected} times, and was told to wait ${waits.length} times`)
    if (ends.some((end) => end.status !== status))
      faults.push(`${id} is ${status}, and was told to be ${ends[0]?.status}`)
    if (!isOver) continue
    if (isTerminal(status) && ends.length === 0) faults.push(`nobody was told that ${id} has ended`)
    if (waits.length < expected)
      faults.push(`${id} waited ${expected} times, and was told to wait ${waits.length} times`)
    for (const { message, tries } of [...ends, ...waits]) {
      const isSettled = tries.some((each) => isAccepted(each.status) || each.status === 410)
      if (!isSettled && tries.length < MOST_ATTEMPTS) faults.push(`the message ${message} was given up`)
    }
  }
  return faults
}

function bodyOf([attempt]: readonly Attempt[]): { run: string; type: string; status: string } {
  const { type, data } = JSON.parse(attempt?.body ?? '{}') as { type: string; data: { run: string; status: string } }
  return { run: data.run, status: data.status, type }
}

function isAccepted(status: number): boolean {
  return status >= 200 && status < 300
}

/** Models no longer see the turn of a run that was run again, nor, if the request said so, the turns after it. */
export function replacementFaults(
  { repeats }: Ledger,
  ids: readonly string[],
  messages: readonly { readonly run: string; readonly replaced?: true }[],
): string[] {
  const replaced = new Set<string>()
  for (const [by, { of, onward }] of repeats) {
    const [from, to] = [ids.indexOf(of), ids.indexOf(by)]
    // The request may not have been accepted.
    if (to === -1) continue
    for (const id of onward ? ids.slice(from, to) : [of]) replaced.add(id)
  }
  const wrong = messages.filter((message) => (message.replaced === true) !== replaced.has(message.run))
  return [...new Set(wrong.map(({ run }) => run))].map((run) =>
    replaced.has(run) ? `the turn of ${run} was replaced and is visible` : `the turn of ${run} is hidden`,
  )
}
