import type { CallSettled, RunEvent } from '../../src/contract/event.ts'
import { contentText } from '../../src/contract/message.ts'
import { type AskedCall, callsOf, type Evidence, eventsOf, isOnlyDone, settledOf } from './evidence.ts'
import { type Delivery, effectText } from './recorder.ts'
import { isAgent, type ToolName } from './script.ts'

/** Milliseconds after an attempt's deadline before which the next may not be sent. */
const FENCE_MS = 1000
/** How often a call that may be repeated is sent at the most. */
const MOST_ATTEMPTS = 3
/** How often a call that is known not to have had its effect is: once in each life that a run may have. */
const MOST_LIVES = 6

/** What is against the contract in the calls of a run that has completed. */
export function callFaults(evidence: Evidence): string[] {
  const { script, run, replay } = evidence
  const calls = callsOf(script, run)
  const ids = new Set(calls.map(({ id }) => id))
  const others = replay.flatMap(({ event }) => ('callId' in event && !ids.has(event.callId) ? [event.callId] : []))
  return [
    ...others.map((id) => `nobody asked for the call ${id}`),
    ...plainFaults(evidence),
    ...calls
      .filter(({ tool }) => !isAgent(tool))
      .flatMap((call) => [...lifeFaults(evidence, call), ...effectFaults(evidence, call)]),
  ]
}

/** A call that may take effect once at the most did so more often. */
export function plainFaults({ script, run, effects }: Evidence): string[] {
  return callsOf(script, run).flatMap(({ id, tool, what }) => {
    const times = effects.filter((effect) => effect.what === what).length
    return isRepeatable(tool) || times < 2 ? [] : [`the ${tool} call ${id} took effect ${times} times`]
  })
}

/** A call is started in its step, again only after it was interrupted, and is settled once. */
function lifeFaults({ replay }: Evidence, { id, tool, round }: AskedCall): string[] {
  const events = eventsOf(replay, id).filter(({ type }) => /^call\.(started|interrupted|settled)$/.test(type))
  const life = events.map(({ type }) => type.slice('call.'.length)).join(' ')
  const faults = new RegExp(`^(started interrupted ){0,${mostSent(tool) - 1}}started settled$`).test(life)
    ? []
    : [`the life of ${tool} ${id} is "${life}"`]
  const attempts = events.flatMap((event) => (event.type === 'call.started' ? [event.attempt] : []))
  if (attempts.some((attempt, before) => attempt !== before + 1)) {
    faults.push(`the attempts at ${id} are ${attempts.join(', ')}`)
  }
  const placeOf = (type: string) =>
    replay.find(({ event }) => event.type === type && 'step' in event && event.step === round)?.event.seq ?? NaN
  const [from, to] = [placeOf('step.answered'), placeOf('step.finished')]
  if (!events.every(({ seq }) => seq > from && seq < to)) faults.push(`${id} is not within its step`)
  return faults
}

/** A call is sent again only with the same key, as the journal says, and after its deadline if it has effects. */
function effectFaults({ conversation, run, replay, effects }: Evidence, { id, tool, what }: AskedCall): string[] {
  const faults: string[] = []
  const deliveries = effects.filter((effect) => effect.what === what)
  const starts = eventsOf(replay, id).filter((event) => event.type === 'call.started')
  if (new Set(deliveries.map(({ idempotencyKey }) => idempotencyKey)).size > 1)
    faults.push(`${id} was sent with several keys`)
  for (const [index, { attempt, deadline, at, ...effect }] of deliveries.entries()) {
    const start = starts.find((event) => event.attempt === attempt)
    if (start?.deadline !== deadline) faults.push(`attempt ${attempt} at ${id} is not the one in the journal`)
    const before = deliveries[index - 1]
    if (before && before.attempt >= attempt) faults.push(`attempt ${attempt} at ${id} was sent twice`)
    if (before && tool !== 'readOnly' && at < before.deadline + FENCE_MS)
      faults.push(`${id} was sent again before its deadline was over`)
    const { conversationId, runId, callId } = effect
    if (callId !== id || runId !== run || conversationId !== conversation || effect.tool !== tool) {
      faults.push(`the effect of ${id} was had for ${conversationId}, ${runId}, ${callId}`)
    }
  }
  const settled = settledOf(replay, id)
  if (settled) faults.push(...toldFaults(settled, tool, { deliveries, starts, effects }))
  return faults
}

type CallStarted = Extract<RunEvent, { type: 'call.started' }>

interface CallDeliveries {
  readonly deliveries: readonly Delivery[]
  readonly starts: readonly CallStarted[]
  readonly effects: readonly Delivery[]
}

/** The model is told the effect that there was, or that nobody knows: never anything else. */
function toldFaults(settled: CallSettled, tool: ToolName, { deliveries, starts, effects }: CallDeliveries): string[] {
  const { callId: id, ok, content = [], error } = settled
  if (ok) {
    const text = contentText(content)
    const answer = deliveries[0] && effectText(effects, deliveries[0].idempotencyKey)
    const isTrue = text === answer || (tool === 'tellsDone' && deliveries.length === 1 && isOnlyDone(settled))
    return isTrue ? [] : [`of ${id}, sent ${deliveries.length} times, the model was told "${text}"`]
  }
  if (isTrueTimeout(settled, starts.at(-1))) return []
  if (error?.code !== 'outcome_unknown') return [`${id} ended in ${error?.code}: ${error?.message}`]
  const mayGiveUp = mostSent(tool) === 1 || (isRepeatable(tool) && starts.length === MOST_ATTEMPTS)
  return mayGiveUp ? [] : [`the ${tool} call ${id} was given up after ${starts.length} attempts`]
}

/** The call took as long as it might: a busy machine, or whoever held its tool up. */
function isTrueTimeout({ error, durationMs }: CallSettled, start: CallStarted | undefined): boolean {
  return error?.code === 'timeout' && start !== undefined && durationMs >= start.deadline - start.at
}

function isRepeatable(tool: ToolName): boolean {
  return tool === 'idempotent' || tool === 'readOnly'
}

function mostSent(tool: ToolName): number {
  if (isRepeatable(tool)) return MOST_ATTEMPTS
  return tool === 'tellsOutcome' || tool === 'tellsDone' ? MOST_LIVES : 1
}
