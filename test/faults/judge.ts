import { isDeepStrictEqual } from 'node:util'
import type { RunRecord } from '../../src/contract/run.ts'
import { answersOf, callsOf, type Evidence, lastOf, settledOf } from './evidence.ts'
import { keptFault } from './history.ts'
import { callFaults, plainFaults } from './judge-calls.ts'
import { inputOf, USAGE } from './script.ts'

/** What is against the contract in what is left of a run that should have completed; empty where nothing is. */
export function faultsOf(evidence: Evidence): string[] {
  return [
    ...streamFaults(evidence),
    ...stepFaults(evidence),
    ...callFaults(evidence),
    ...recordFaults(evidence),
    ...messageFaults(evidence),
  ]
}

/** The same of a run that ended in another way, before its script did. */
export function cutShortFaults(evidence: Evidence, status: RunRecord['status']): string[] {
  const { record, replay, messages } = evidence
  const end = lastOf(replay)
  const faults = streamFaults(evidence)
  if (record.status !== status) faults.push(`the run is ${record.status}, not ${status}`)
  if (end?.type !== 'run.finished' || end.status !== status) faults.push(`the run ends with ${JSON.stringify(end)}`)
  const fault = keptFault(messages)
  return [...faults, ...(fault ? [fault] : []), ...plainFaults(evidence)]
}

/** The stream of any run: numbers that rise, ids and names that fit, one end, and that last; the same for each reader. */
export function streamFaults(evidence: Evidence): string[] {
  const { run, replay } = evidence
  const faults: string[] = []
  let last = 0
  for (const { id, type, event } of replay) {
    if (event.seq <= last) faults.push(`event ${event.seq} comes after event ${last}`)
    if (id !== `${run}.${event.seq}` || event.runId !== run) faults.push(`event ${event.seq} has the id ${id}`)
    if (type !== event.type) faults.push(`event ${event.seq} is named ${type} and is a ${event.type}`)
    last = event.seq
  }
  const ends = replay.filter(({ type }) => type === 'run.finished')
  if (ends.length !== 1 || lastOf(replay)?.type !== 'run.finished') faults.push(`the run has ${ends.length} ends`)
  return [...faults, ...readerFaults(evidence)]
}

/** A crash may swallow news that a reader has seen; facts that were shown are kept. */
const NEWS = /\.delta$|^call\.(proposed|progress)$/

/** A reader who comes again sees everything once, in order, and as others are told it later. */
function readerFaults({ replay, frames = [] }: Evidence): string[] {
  const faults: string[] = []
  const dataBySeq = new Map(replay.map((frame) => [frame.event.seq, frame.data]))
  const seqs = new Set<number>()
  let last = 0
  for (const { event, data, type } of frames) {
    if (event.seq <= last) faults.push(`a reader saw event ${event.seq} after event ${last}`)
    last = event.seq
    seqs.add(last)
    const journalled = dataBySeq.get(last)
    if (journalled === undefined ? !NEWS.test(type) : journalled !== data) {
      faults.push(`a reader saw ${data} where the journal has ${journalled ?? 'nothing'}`)
    }
  }
  const missed = [...dataBySeq.keys()].filter((seq) => seq <= last && !seqs.has(seq))
  if (missed.length > 0) faults.push(`a reader missed the events ${missed.join(', ')}`)
  return faults
}

/** Each step begins, is answered and ends once; what the model said is what was shown since it was last asked. */
function stepFaults({ script, replay }: Evidence): string[] {
  const faults: string[] = []
  const facts: string[] = []
  let attempt = 1
  let text = ''
  for (const { event } of replay) {
    if (event.type === 'text.delta') text += event.text
    if (event.type === 'step.restarted') {
      attempt += 1
      text = ''
      if (event.attempt !== attempt) faults.push(`attempt ${event.attempt} of step ${event.step} should be ${attempt}`)
      continue
    }
    if (event.type === 'step.started') [attempt, text] = [1, '']
    if (event.type === 'step.answered' && event.text !== text) {
      faults.push(`step ${event.step} said "${event.text}" and showed "${text}"`)
    }
    if (event.type === 'run.started' || event.type === 'run.finished') facts.push(event.type)
    else if (event.type.startsWith('step.') && 'step' in event) facts.push(`${event.type} ${event.step}`)
  }
  const steps = Array.from({ length: script.rounds.length + 1 }, (_, index) =>
    ['started', 'answered', 'finished'].map((what) => `step.${what} ${index + 1}`),
  )
  if (!isDeepStrictEqual(facts, ['run.started', ...steps.flat(), 'run.finished'])) {
    faults.push(`the facts are ${facts.join(', ')}`)
  }
  return faults
}

/** Where a call was sent to: the binding of its tool, and the tool's version. */
function sourceOf(replay: Evidence['replay'], call: string): { place?: string; version?: string } {
  const start = replay.findLast(({ event }) => event.type === 'call.started' && event.callId === call)?.event
  if (start?.type !== 'call.started') return {}
  const { place, version } = start
  return { ...(place !== undefined && { place }), ...(version !== undefined && { version }) }
}

function recordFaults({ script, conversation, run, record, replay }: Evidence): string[] {
  const steps = script.rounds.length + 1
  const answers = answersOf(replay)
  const answer = answers.at(-1)?.text
  const preambles = answers.flatMap(({ text, calls }) => (calls.length > 0 && text !== '' ? [text] : []))
  const calls = callsOf(script, run).map(({ id, tool, what }) => {
    const { ok, durationMs, content, error } = settledOf(replay, id) ?? {}
    const outcome = content ? { content } : { error }
    const isInDoubt = error?.code === 'outcome_unknown' && tool !== 'readOnly'
    const call = {
      id,
      tool,
      arguments: { what },
      ...sourceOf(replay, id),
      status: 'settled',
      ok,
      durationMs,
      ...outcome,
    }
    return isInDoubt ? { ...call, inDoubt: true } : call
  })
  const usage = { inputTokens: steps * USAGE.inputTokens, outputTokens: steps * USAGE.outputTokens }
  const end = { status: 'completed', finish: 'stop', answer, usage }
  const faults: string[] = []
  const spokenParts = preambles.length > 0 ? { preambles } : {}
  // A long conversation is shortened for its models; the record tells of that as the events do.
  const { prompts, ...rest } = record
  const isShortened = replay.some(({ event }) => event.type === 'context.reduced')
  const isSame = isDeepStrictEqual(rest, { id: run, conversation, ...end, ...spokenParts, steps, calls })
  if (!isSame || (prompts !== undefined) !== isShortened) {
    faults.push(`the record is ${JSON.stringify(record)}`)
  }
  const last = lastOf(replay)
  const { at: _time, ...finished } = last ?? {}
  if (!isDeepStrictEqual(finished, { type: 'run.finished', runId: run, seq: last?.seq, ...end })) {
    faults.push(`the run ends with ${JSON.stringify(finished)}`)
  }
  return faults
}

/** What the conversation keeps of the run is what its events say. */
function messageFaults({ script, run, replay, messages }: Evidence): string[] {
  const expected: object[] = [{ role: 'user', content: inputOf(script.token) }]
  for (const { text, calls } of answersOf(replay)) {
    expected.push({ role: 'assistant', content: text, ...(calls.length > 0 && { calls }) })
    for (const { callId, tool } of calls) {
      const { ok, content, error } = settledOf(replay, callId) ?? {}
      expected.push({ role: 'tool', callId, tool, ok, content: content ?? [{ type: 'text', text: error?.message }] })
    }
  }
  return isDeepStrictEqual(messages, expected) ? [] : [`the messages of ${run} are ${JSON.stringify(messages)}`]
}
