import { describe, expect, test } from 'vitest'
import type { RunEvent } from '../../src/contract/event.ts'
import { recordOf } from '../../src/loop/record.ts'
import { ask, id, play, RUN_ID, say, tool } from '../fixtures/play.ts'
import type { Frame } from './client.ts'
import type { Evidence } from './evidence.ts'
import { keptFault } from './history.ts'
import { cutShortFaults, faultsOf } from './judge.ts'
import { callFaults } from './judge-calls.ts'
import { runFaults, tokensOf, usageFaults } from './kinds/kind.ts'
import { type Delivery, effectText } from './recorder.ts'
import { inputOf, whatOf } from './script.ts'

const TOOLS = ['plain', 'idempotent', 'tellsDone'] as const
const DEADLINE = 30_000

/** What a run leaves that nothing happened to. */
async function evidence(): Promise<Evidence> {
  const effects: Delivery[] = []
  const tools = TOOLS.map((name) =>
    tool(name, ({ what }, { conversationId = '', ...context }) => {
      effects.push({ tool: name, what: String(what), conversationId, ...context, at: 0 })
      return effectText(effects, context.idempotencyKey)
    }),
  )
  const calls = TOOLS.map((name, index) => [name, { what: whatOf('t', 1, index) }] as [string, object])
  const request = { conversation: 'c', input: [{ role: 'user', content: inputOf('t') } as const] }
  const { events, state } = await play({ script: [ask(...calls), say('Done.')], tools, request })
  return {
    script: { token: 't', rounds: [TOOLS] },
    conversation: 'c',
    run: RUN_ID,
    record: asRead(recordOf(state)),
    replay: events.map(frameOf),
    messages: asRead(state.messages),
    effects,
  }
}

function frameOf(event: RunEvent): Frame {
  return { id: `${event.runId}.${event.seq}`, type: event.type, data: JSON.stringify(event), event: asRead(event) }
}

/** A value as callers read it, from JSON. */
function asRead<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value
}

/** The same frames and one more. */
function withCopyOf(replay: readonly Frame[], type: string): Frame[] {
  return replay.flatMap((frame) =>
    frame.type === type ? [frame, frameOf({ ...frame.event, seq: frame.event.seq + 0.5 })] : [frame],
  )
}

/** The same frames, and the call of that place failed: so that nobody knows what became of it, or in another way. */
function withoutOutcome(replay: readonly Frame[], index: number, failed: object = {}): Frame[] {
  return replay.map((frame) => {
    const { event } = frame
    if (event.type !== 'call.settled' || event.callId !== id(1, index)) return frame
    const { content: _, ...settled } = event
    const error = { code: 'outcome_unknown', message: 'Nobody knows.' }
    return frameOf({ ...settled, ok: false, error, ...failed })
  })
}

/** How a call failed that took so many milliseconds. */
function timedOut(durationMs: number): object {
  return { durationMs, error: { code: 'timeout', message: 'It took too long.' } }
}

function without(frames: readonly Frame[], type: string): Frame[] {
  return frames.filter((frame) => frame.type !== type)
}

test('the judge finds no fault in an undisturbed run', async () => {
  const honest = await evidence()
  expect(faultsOf({ ...honest, frames: honest.replay })).toEqual([])
  expect(cutShortFaults(honest, 'completed')).toEqual([])
})

describe('the judge finds', () => {
  const cases: Record<string, [(honest: Evidence) => Partial<Evidence>, fault: string]> = {
    'a number that was given twice': [
      ({ replay: [first, ...rest] }) => ({ replay: [first!, first!, ...rest] }),
      'event 1 comes after event 1',
    ],
    'a second end': [({ replay }) => ({ replay: withCopyOf(replay, 'run.finished') }), 'the run has 2 ends'],
    'a run without an end': [({ replay }) => ({ replay: without(replay, 'run.finished') }), 'the run has 0 ends'],
    'a step that was answered twice': [
      ({ replay }) => ({ replay: withCopyOf(replay, 'step.answered') }),
      'the facts are',
    ],
    'text that was shown twice': [
      ({ replay }) => ({ replay: withCopyOf(replay, 'text.delta') }),
      'step 2 said "Done." and showed "Done.Done."',
    ],
    'a call that was settled twice': [
      ({ replay }) => ({ replay: withCopyOf(replay, 'call.settled') }),
      `the life of plain ${id(1, 0)} is "started settled settled"`,
    ],
    'a call that left before its start was written': [
      ({ replay }) => ({ replay: without(replay, 'call.started') }),
      `attempt 1 at ${id(1, 0)} is not the one in the journal`,
    ],
    'a plain call that took effect twice': [
      ({ effects: [first, ...rest] }) => ({ effects: [first!, first!, ...rest] }),
      `the plain call ${id(1, 0)} took effect 2 times`,
    ],
    'a call that took effect twice, though its tool could tell': [
      ({ effects }) => ({ effects: [...effects, { ...effects[2]!, attempt: 2, at: 2 * DEADLINE }] }),
      `the tellsDone call ${id(1, 2)} took effect 2 times`,
    ],
    'a call that was given up, though its tool could tell': [
      ({ replay }) => ({ replay: withoutOutcome(replay, 2) }),
      `the tellsDone call ${id(1, 2)} was given up after 1 attempts`,
    ],
    'a call that was given up, though it could be sent again': [
      ({ replay }) => ({ replay: withoutOutcome(replay, 1) }),
      `the idempotent call ${id(1, 1)} was given up after 1 attempts`,
    ],
    'a call that timed out before its time': [
      ({ replay }) => ({ replay: withoutOutcome(replay, 0, timedOut(DEADLINE - 1)) }),
      `${id(1, 0)} ended in timeout: It took too long.`,
    ],
    'a call that was sent again too early': [
      ({ effects }) => ({ effects: [...effects, { ...effects[1]!, attempt: 2, at: DEADLINE }] }),
      `${id(1, 1)} was sent again before its deadline was over`,
    ],
    'a call that was sent again with another key': [
      ({ effects }) => ({ effects: [...effects, { ...effects[1]!, idempotencyKey: 'new' }] }),
      `${id(1, 1)} was sent with several keys`,
    ],
    'an effect that was had for another run': [
      ({ effects }) => ({ effects: effects.map((effect) => ({ ...effect, runId: 'run_2' })) }),
      `the effect of ${id(1, 0)} was had for c, run_2, ${id(1, 0)}`,
    ],
    'an effect that the model was told and that never was': [
      () => ({ effects: [] }),
      `of ${id(1, 0)}, sent 0 times, the model was told "effect 0"`,
    ],
    'a record that says something else': [({ record }) => ({ record: { ...record, steps: 3 } }), 'the record is'],
    'a message that was kept twice': [({ messages }) => ({ messages: [...messages, messages[0]!] }), 'the messages of'],
    'a reader who missed something': [
      ({ replay }) => ({ frames: without(replay, 'call.settled') }),
      'a reader missed the events',
    ],
    'a reader who was shown what was not kept': [
      ({ replay }) => ({ replay: without(replay, 'step.started'), frames: replay }),
      'where the journal has nothing',
    ],
  }

  test.each(Object.entries(cases))('%s', async (_name, [doctor, fault]) => {
    const honest = await evidence()
    expect(faultsOf({ ...honest, ...doctor(honest) })).toContainEqual(expect.stringContaining(fault))
  })

  test('no call that took as long as it might', async () => {
    const honest = await evidence()
    const replay = withoutOutcome(honest.replay, 0, timedOut(DEADLINE))
    expect(callFaults({ ...honest, replay })).toEqual([])
  })

  test('a prompt that was reduced twice, usage that is not that of the journal, and an answer that is missing', async () => {
    const honest = await evidence()
    const { replay, record } = honest
    expect(runFaults(honest)).toEqual([])
    const reduction: RunEvent = {
      ...{ type: 'context.reduced', runId: honest.run, seq: 2.5, step: 1, before: 2, after: 1, room: 3 },
      reduction: { from: 0, results: 0, files: 0, model: 'test/model' },
    }
    const reduced = (count: number) =>
      replay.toSpliced(2, 0, ...Array.from({ length: count }, (_, at) => frameOf({ ...reduction, seq: 2.5 + at / 10 })))
    expect(runFaults({ ...honest, replay: reduced(1) })).toEqual([])
    expect(runFaults({ ...honest, replay: reduced(2) })).toEqual(['step 1 was reduced twice'])
    expect(runFaults({ ...honest, replay: without(replay, 'step.answered') })).toContain('the run has 0 answers')
    const tokens = tokensOf(honest)
    expect([usageFaults(record, tokens), usageFaults(record, tokens + 1)]).toEqual([
      [],
      [`its usage is ${tokens} tokens, and the journals have ${tokens + 1}`],
    ])
  })

  test('no outcome that comes after the end of its run', async () => {
    const honest = await evidence()
    const seq = honest.replay.at(-1)!.event.seq + 1
    const lateCall = { type: 'call.late', callId: id(1, 0), tool: 'plain', ok: true, at: 0 } as const
    const event = { ...lateCall, runId: honest.run, seq }
    const frame = { id: `${honest.run}.${seq}`, type: event.type, event, data: JSON.stringify(event) }
    expect(faultsOf({ ...honest, replay: [...honest.replay, frame] })).toEqual([])
  })

  test('a history in which a call has no result, or a result no call', async () => {
    const { messages } = await evidence()
    expect(keptFault(messages)).toBeUndefined()
    expect(keptFault(messages.toSpliced(2, 1))).toBe(`message 2 is a result of ${id(1, 1)}, due is ${id(1, 0)}`)
    expect(keptFault(messages.toSpliced(4, 1))).toBe(`message 4 stands where the result of ${id(1, 2)} is due`)
    expect(keptFault(messages.slice(0, 3))).toBe(`the call ${id(1, 1)} has no result`)
  })
})
