import type { CallAnswer } from '../contract/conversation.ts'
import type { RunEvent } from '../contract/event.ts'
import { runOfCall } from '../contract/id.ts'
import type { CallRecord, RunRecord } from '../contract/run.ts'
import type { Caller } from '../contract/tool.ts'
import type { CallAnswers } from '../wire/call-answer.ts'
import type { RunBody as NativeBody } from '../wire/request.ts'
import { accept } from './accept.ts'
import type { Asked, Asking } from './context.ts'
import { demand } from './auth.ts'
import { following, keeperOf, type Launched } from './launch.ts'
import { granted, Problem } from './problem.ts'
import { startThere } from './start.ts'

/** A run that goes on with its answers. */
export interface Continued {
  readonly launched: Launched
  /** The last event before the answers. */
  readonly after: number
  /** The calls that waited for a person. */
  readonly asked: readonly CallRecord[]
}

export interface Turn {
  readonly id: string
  readonly answers: CallAnswers
  readonly run?: NativeBody | undefined
  /** The run whose place it takes, and that of all that followed. */
  readonly replaces?: string | undefined
}

/** The one run that answers are for; undefined where they are for none of this edge's. */
export function runOfAnswers(answers: CallAnswers): string | undefined {
  const runs = new Set(Object.keys(answers).map(runOfCall))
  runs.delete(undefined)
  if (runs.size > 1) throw unclear('Send the answers to the calls of one run.')
  return [...runs][0]
}

/**
 * Gives a run the answers that it waits for; others it was given before, or gave itself. `isAlone`: nothing is asked
 * anew, so that one of them must be waited for; else none may be. Undefined where there is nothing to go on with;
 * `mayBeGone` says that this is so where there is no such run.
 */
export async function continueRun(
  asking: Asking,
  {
    runId,
    conversation,
    answers,
    isAlone,
    mayBeGone = !isAlone,
  }: {
    readonly runId: string
    readonly conversation?: string | undefined
    readonly answers: CallAnswers
    readonly isAlone: boolean
    readonly mayBeGone?: boolean
  },
): Promise<Continued | undefined> {
  const kept = { runId, conversation }
  const service = keeperOf(asking, kept)
  const reply = await service.record(runId, 0)
  if (!reply.ok && mayBeGone) return undefined
  const { calls } = granted(reply).record
  const waits = new Map(calls.map((call) => [call.id, call.status]))
  const open = Object.entries(answers).filter(
    ([callId, answer]) => waits.get(callId) === ('decision' in answer ? 'approval' : 'caller'),
  )
  if (open.length === 0 && !isAlone) return undefined
  if (open.length === 0) throw notAsked()
  if (!isAlone) throw unclear('Send the answers to calls alone; then the next message.')
  if (open.some(([, answer]) => 'decision' in answer)) demand(asking.caller, 'approve')
  const signed = open.map(([callId, answer]) => [callId, signedBy(asking.caller, answer)] as const)
  const { after } = granted(await service.answer(runId, Object.fromEntries(signed)))
  const launched = following(asking, { ...kept, after })
  const follow: Launched['follow'] = async (onEvent) => {
    let last: RunEvent | undefined
    await launched.follow((event) => onEvent((last = event)))
    if (last?.type === 'run.finished' || last?.type === 'run.waiting') return
    for (const event of stillAsked(await launched.record(0), last?.seq ?? after)) await onEvent(event)
  }
  return { launched: { ...launched, follow }, after, asked: calls.filter((call) => call.status === 'approval') }
}

/** An answer that says who decided, where it is a decision. */
export function signedBy({ key, tenant }: Caller, answer: CallAnswer): CallAnswer {
  return 'decision' in answer ? { ...answer, by: key ?? tenant } : answer
}

/** What a run that was given some of its answers still waits for, as events for one reader. */
function stillAsked({ id: runId, status, calls }: RunRecord, seq: number): RunEvent[] {
  if (status !== 'waiting') return []
  const place = { runId, seq }
  const open = calls.filter((call) => call.status === 'approval' || call.status === 'caller')
  const asks = open.map(({ id: callId, tool, arguments: value, status }): RunEvent => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    const type = status === 'approval' ? 'approval.requested' : 'call.requested'
    return { type, callId, tool, arguments: text, ...place }
  })
  const waits = open.some((call) => call.status === 'approval') ? 'approval' : 'caller'
  return [...asks, { type: 'run.waiting', for: waits, at: Date.now(), ...place }]
}

/**
 * The turn of a chat in its conversation, which is made for the first: answers to calls, or what is asked anew, be it in
 * the place of a run and all that followed it.
 */
export async function takeTurn(asked: Asked, { id, answers, run, replaces }: Turn): Promise<Launched> {
  const runId = runOfAnswers(answers)
  const isAlone = run === undefined
  const continued = runId && (await continueRun(asked, { runId, conversation: id, answers, isAlone }))
  if (continued) return continued.launched
  if (isAlone) throw notAsked()
  const start = { id, create: true, onBusy: run.onBusy, replaces, onward: true }
  return startThere(asked, await accept(asked, run, { conversation: id }), start)
}

/** For a request that asks nothing, and whose answers no call waits for. */
export function notAsked(): Problem {
  const message = 'Nothing is asked, and no call waits for these answers.'
  return new Problem({ status: 409, code: 'call_already_answered', message, mayRetry: false })
}

function unclear(message: string): Problem {
  return new Problem({ status: 400, code: 'unknown_call', message })
}
