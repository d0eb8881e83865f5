import type { CallAnswer, Continuation } from '../../contract/conversation.ts'
import type { RunEvent } from '../../contract/event.ts'
import { runOfCall } from '../../contract/id.ts'
import type { Message } from '../../contract/message.ts'
import type { CallRecord, RunRecord } from '../../contract/run.ts'
import type { Caller } from '../../contract/tool.ts'
import type { CallAnswers } from '../../wire/client/call-answer.ts'
import type { RunBody as NativeBody } from '../../wire/client/request.ts'
import { accept, type RunBody } from './prepare-run.ts'
import type { Asked } from '../context.ts'
import { demand } from '../middleware/auth.ts'
import { type Kept, keeperOf } from './conversation-stub.ts'
import { following, type Launched } from './run-handle.ts'
import { granted, Problem } from '../problem.ts'
import { type Place, startThere } from './place-run.ts'

/** A run that was started, or goes on with answers to its calls. */
export interface Continued {
  readonly launched: Launched
  /** The number of the last event before the answers. */
  readonly after?: number
  /** The calls that waited for approval before the answers. */
  readonly asked?: readonly CallRecord[]
}

export interface Turn extends Place {
  readonly answers: CallAnswers
  readonly run?: (RunBody & Pick<NativeBody, 'onBusy'>) | undefined
  /** The run whose turn this one replaces, together with all later turns. */
  readonly replaces?: string | undefined
  /** The run that must be the latest one, as in `StartRequest`. */
  readonly after?: string | undefined
  /** Starts a new run. Default: `startThere`. */
  readonly begin?: typeof startThere
}

/** Returns the run of the last answered call that an edge made; undefined if no edge made any of them. */
export function runOfAnswers(answers: CallAnswers): string | undefined {
  return Object.keys(answers).map(runOfCall).findLast(Boolean)
}

const TERMS = ['model', 'system', 'clientTools', 'toolChoice', 'responseFormat', 'sampling'] as const

interface Answering {
  readonly answers: CallAnswers
  /** Messages that follow the answers. */
  readonly input: readonly Message[]
  /**
   * The request whose terms the run goes on with. Terms that it leaves out stay as they were; with `stateless`, none
   * do. Default: all terms stay.
   */
  readonly body?: RunBody | undefined
  /**
   * For requests that send their whole history. If the run already has the answers, the events after them are sent once
   * more, because the caller missed them. Also, `body` replaces all terms.
   */
  readonly stateless?: boolean | undefined
}

/**
 * Gives a run the answers that it waits for, and the messages that follow them. Other answers are left out: the run was
 * given them before, or produced them itself. Undefined if it waits for none of them, and there are further messages.
 */
export async function continueRun(asked: Asked, kept: Kept, answering: Answering): Promise<Continued | undefined> {
  const { runId } = kept
  const { answers, input, stateless } = answering
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
  /** If the run has all answers already: the calls that must settle before its events are sent once more. */
  const before = new Set(Object.keys(answers).filter((callId) => waits.has(callId)))
  if (open.length === 0 && (!stateless || before.size === 0)) throw notAsked()
  if (open.some(([, answer]) => 'decision' in answer)) demand(asked.caller, 'approve')
  let after = 0
  if (open.length > 0) {
    const signed = Object.fromEntries(open.map(([callId, answer]) => [callId, signedBy(asked.caller, answer)]))
    const given = await service.answer(runId, signed, await continuationOf(asked, kept, answering))
    // Otherwise the same request, sent twice at once, has given them meanwhile.
    if (given.ok || given.code !== 'call_already_answered' || !stateless || !isAlone) {
      after = granted(given).after
      before.clear()
    }
  }
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

/** Checks what a request brings with its answers; undefined if it brings nothing. */
async function continuationOf(
  asked: Asked,
  { conversation }: Kept,
  { input, stateless, body = { input } }: Answering,
): Promise<Continuation | undefined> {
  const said = TERMS.filter((name) => stateless || Object.keys(Object(body[name])).length > 0)
  if (input.length + said.length === 0) return undefined
  const { run } = await accept(asked, { ...body, input }, { conversation })
  const terms = Object.fromEntries(said.map((name) => [name, run[name]]))
  // Hooks may change what is said, but there is nothing to add to answers alone.
  return { key: asked.caller.key, input: input.length > 0 ? run.input : [], terms }
}

/** Adds to a decision who made it: the first digits of the key's hash, or the tenant. */
export function signedBy({ key, tenant }: Caller, answer: CallAnswer): CallAnswer {
  return 'decision' in answer ? { ...answer, by: key ?? tenant } : answer
}

/** Returns events that tell one reader what a run still waits for, after only some of its calls were answered. */
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
 * Takes a turn of a chat in its conversation: goes on with the run that waits for the answers or, if none does, starts
 * a run with the new messages, which may replace an earlier run and all that followed it.
 */
export async function takeTurn(asked: Asked, { answers, run, begin = startThere, ...place }: Turn): Promise<Continued> {
  const conversation = place.id
  const runId = runOfAnswers(answers)
  const input = run?.input ?? []
  const continued = runId && (await continueRun(asked, { runId, conversation }, { answers, input, body: run }))
  if (continued) return continued
  if (!run || input.length === 0) throw notAsked()
  const start = { ...place, onBusy: run.onBusy, onward: true }
  return { launched: await begin(asked, await accept(asked, run, { conversation }), start) }
}

/** Joins a request's instructions and system messages into one system prompt; undefined if there are none. */
export function systemOf(messages: readonly Message[], instructions = ''): string | undefined {
  const told = messages.flatMap((message) => (message.role === 'system' ? message.content : []))
  return [instructions, ...told].filter((text) => text !== '').join('\n\n') || undefined
}

/** Makes the Problem of a request that has no new messages, and whose answers no call waits for. */
export function notAsked(): Problem {
  const message = 'Nothing is asked, and no call waits for these answers.'
  return new Problem({ status: 409, code: 'call_already_answered', message, mayRetry: false })
}
