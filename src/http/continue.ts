import type { CallAnswer, Terms } from '../contract/conversation.ts'
import type { RunEvent } from '../contract/event.ts'
import { runOfCall } from '../contract/id.ts'
import type { Message } from '../contract/message.ts'
import type { CallRecord, RunRecord } from '../contract/run.ts'
import type { Caller } from '../contract/tool.ts'
import type { CallAnswers } from '../wire/call-answer.ts'
import type { RunBody as NativeBody } from '../wire/request.ts'
import { accept, type RunBody } from './accept.ts'
import type { Asked } from './context.ts'
import { demand } from './auth.ts'
import { type Kept, keeperOf } from './keeper.ts'
import { following, type Launched } from './launched.ts'
import { granted, Problem } from './problem.ts'
import { type Place, startThere } from './start.ts'

/** A run that goes on with its answers. */
export interface Continued {
  readonly launched: Launched
  /** The last event before the answers. */
  readonly after?: number
  /** The calls that waited for a person. */
  readonly asked?: readonly CallRecord[]
}

export interface Turn extends Place {
  readonly answers: CallAnswers
  readonly run?: (RunBody & Pick<NativeBody, 'onBusy'>) | undefined
  /** The run whose place it takes, and that of all that followed. */
  readonly replaces?: string | undefined
  /** The run that it must follow. */
  readonly after?: string | undefined
}

/** The last run that answers are for; undefined where they are for none of this edge's. */
export function runOfAnswers(answers: CallAnswers): string | undefined {
  return Object.keys(answers).map(runOfCall).findLast(Boolean)
}

const TERMS = ['model', 'system', 'clientTools', 'toolChoice', 'responseFormat', 'sampling'] as const

interface Answering {
  readonly answers: CallAnswers
  /** What is said after them. */
  readonly input: readonly Message[]
  /** How it is to go on; in a conversation, what is left out stays as it was. Default: as it was asked. */
  readonly body?: RunBody | undefined
  /** Tells once more what came of answers that it was given before: their caller missed that. */
  readonly retells?: boolean | undefined
}

/**
 * Gives a run the answers that it waits for, and what is said after them; other answers it was given before, or gave
 * itself. Undefined where it waits for none of them, and something else is asked.
 */
export async function continueRun(
  asked: Asked,
  kept: Kept,
  { answers, input, body, retells }: Answering,
): Promise<Continued | undefined> {
  const { runId } = kept
  const isAlone = input.length === 0
  const service = keeperOf(asked, kept)
  const reply = await service.record(runId, 0)
  if (!reply.ok && !isAlone) return undefined
  const { calls } = granted(reply).record
  const waits = new Map(calls.map((call) => [call.id, call.status]))
  const open = Object.entries(answers).filter(
    ([callId, answer]) => waits.get(callId) === ('decision' in answer ? 'approval' : 'caller'),
  )
  if (open.length === 0 && !isAlone) return undefined
  /** Where it has all answers: those whose events come before what is to be told once more. */
  const before = new Set(open.length === 0 ? Object.keys(answers).filter((callId) => waits.has(callId)) : [])
  if (open.length === 0 && (!retells || before.size === 0)) throw notAsked()
  if (open.some(([, answer]) => 'decision' in answer)) demand(asked.caller, 'approve')
  const signed = open.map(([callId, answer]) => [callId, signedBy(asked.caller, answer)] as const)
  const give = async () => {
    const terms = body && (await termsOf(asked, body, { ...kept, retells }))
    return granted(await service.answer(runId, Object.fromEntries(signed), { input, terms }))
  }
  const { after } = before.size > 0 ? { after: 0 } : await give()
  const launched = following(asked, { ...kept, after })
  const follow: Launched['follow'] = async (onEvent) => {
    let last: RunEvent | undefined
    await launched.follow((event) => {
      last = event
      if (before.size === 0) return onEvent(event)
      if (event.type === 'call.settled') before.delete(event.callId)
    })
    if (last?.type === 'run.finished' || last?.type === 'run.waiting') return
    for (const event of stillAsked(await launched.record(0), last?.seq ?? after)) await onEvent(event)
  }
  return { launched: { ...launched, follow }, after, asked: calls.filter((call) => call.status === 'approval') }
}

async function termsOf(
  asked: Asked,
  body: RunBody,
  { conversation, retells }: Kept & Pick<Answering, 'retells'>,
): Promise<Terms> {
  const { run } = await accept(asked, body, { conversation })
  const said = TERMS.filter((name) => retells || name === 'toolChoice' || Object.keys(Object(body[name])).length > 0)
  return Object.fromEntries(said.map((name) => [name, run[name]]))
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
 * The turn of a chat in its conversation: answers to calls, or what is asked anew, be it in the place of a run and all that
 * followed it.
 */
export async function takeTurn(asked: Asked, { answers, run, ...place }: Turn): Promise<Continued> {
  const conversation = place.id
  const runId = runOfAnswers(answers)
  const input = run?.input ?? []
  const continued = runId && (await continueRun(asked, { runId, conversation }, { answers, input, body: run }))
  if (continued) return continued
  if (!run || input.length === 0) throw notAsked()
  const start = { ...place, onBusy: run.onBusy, onward: true }
  return { launched: await startThere(asked, await accept(asked, run, { conversation }), start) }
}

/** What a request tells the model in a conversation beside what is new to it; undefined for nothing. */
export function systemOf(messages: readonly Message[], instructions = ''): string | undefined {
  const told = messages.flatMap((message) => (message.role === 'system' ? message.content : []))
  return [instructions, ...told].filter((text) => text !== '').join('\n\n') || undefined
}

/** For a request that asks nothing, and whose answers no call waits for. */
export function notAsked(): Problem {
  const message = 'Nothing is asked, and no call waits for these answers.'
  return new Problem({ status: 409, code: 'call_already_answered', message, mayRetry: false })
}
