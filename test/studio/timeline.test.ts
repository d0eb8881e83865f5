import { describe, expect, test } from 'vitest'
import type { RunEvent, RunEventBody } from '../../src/contract/event.ts'
import { foldEvent } from '../../src/studio/run/fold.ts'
import { callsOf, emptyRun, type RunView } from '../../src/studio/run/run-view.ts'
import { foldSimilar, hasMark, slowestRow, timelineOf } from '../../src/studio/run/timeline.ts'

const START = 1_000_000

function fold(...events: readonly RunEventBody[]): RunView {
  return events
    .map((event, index): RunEvent => ({ ...event, runId: 'run_1', seq: index + 1 }))
    .reduce(foldEvent, emptyRun('run_1'))
}

/** An event with its time. */
function at(ms: number, event: RunEventBody): RunEventBody & { readonly at: number } {
  return { ...event, at: START + ms }
}

const STARTED = { type: 'run.started', model: 'test/model', tools: ['slow', 'fast'], at: START } as const
const USAGE = { inputTokens: 1, outputTokens: 1 }
const CALLS = ['a', 'b'].map((callId) => ({ callId, tool: callId === 'a' ? 'slow' : 'fast', arguments: '{}' }))
const STEP_ANSWER = { type: 'step.answered', step: 1, text: '', calls: CALLS, finish: 'tool_calls' } as const

function started(callId: string, at: number, attempt = 1): RunEventBody {
  return { type: 'call.started', callId, tool: callId === 'a' ? 'slow' : 'fast', attempt, at: START + at, deadline: 0 }
}

function settled(callId: string, durationMs: number): RunEventBody {
  return { type: 'call.settled', callId, tool: 'x', ok: true, content: [], durationMs }
}

function finished(answer: string): RunEventBody {
  return { type: 'run.finished', status: 'completed', finish: 'stop', answer, usage: USAGE }
}

describe('the timeline of a run', () => {
  test('separates the time of the model from that of tools, and counts parallel calls once', () => {
    const run = fold(
      STARTED,
      { type: 'step.started', step: 1 },
      STEP_ANSWER,
      started('a', 100),
      started('b', 100),
      settled('b', 50),
      settled('a', 300),
      { type: 'step.finished', step: 1, finish: 'tool_calls' },
      { type: 'step.started', step: 2 },
      { type: 'step.answered', step: 2, text: 'Done.', calls: [], finish: 'stop' },
      finished('Done.'),
    )
    const { rows, modelMs, toolMs, waitMs, totalMs } = timelineOf(run, START + 1000)
    expect({ modelMs, toolMs, waitMs, totalMs }).toEqual({ modelMs: 700, toolMs: 300, waitMs: 0, totalMs: 1000 })
    expect(rows.map(({ key, bars }) => [key, ...bars])).toEqual([
      ['step-1', { kind: 'model', left: 0, width: 10, ms: 100 }],
      ['a', { kind: 'tool', left: 10, width: 30, ms: 300 }],
      ['b', { kind: 'tool', left: 10, width: 5, ms: 50 }],
      ['step-2', { kind: 'model', left: 40, width: 60, ms: 600 }],
    ])
  })

  test('has an axis as long as that of a run that it is compared with', () => {
    const run = fold(STARTED, { type: 'step.started', step: 1 }, { ...STEP_ANSWER, calls: [] }, finished('Done.'))
    const { rows, totalMs, ticks } = timelineOf(run, START + 250, 1000)
    expect(totalMs).toBe(250)
    expect(rows[0]?.bars).toEqual([{ kind: 'model', left: 0, width: 25, ms: 250 }])
    expect(ticks.map(({ ms }) => ms)).toEqual([500])
    expect(timelineOf(run, START + 250, 100).rows[0]?.bars[0]?.width).toBe(100)
  })

  test('gives a wait of hours a small part of the axis, and what waits for a person no time of the model', () => {
    const hour = 3_600_000
    const run = fold(
      STARTED,
      { type: 'step.started', step: 1 },
      STEP_ANSWER,
      at(500, { type: 'approval.requested', callId: 'a', tool: 'slow', arguments: '{}' }),
      { type: 'run.waiting', for: 'approval', at: START + 500 },
      at(500 + hour, { type: 'approval.decided', callId: 'a', decision: 'approve', by: 'acme' }),
      { type: 'run.resumed', at: START + 500 + hour },
      started('a', 500 + hour),
      settled('a', 440),
      finished('Sent.'),
    )
    const { rows, modelMs, waitMs, toolMs } = timelineOf(run, 0)
    expect({ modelMs, waitMs, toolMs }).toEqual({ modelMs: 500, waitMs: hour, toolMs: 440 })
    const bars = rows.map((row) =>
      row.bars.map(({ kind, left, width, ms }) => [kind, Math.round(left), Math.round(width), ms]),
    )
    expect(bars).toEqual([
      [['model', 0, 48, 500]],
      [
        ['waiting', 48, 10, hour],
        ['tool', 58, 42, 440],
      ],
      [],
    ])
    expect(callsOf(run)[0]?.approval).toMatchObject({ decision: 'approve', by: 'acme', askedAt: START + 500 })
  })

  test('shows an attempt that was lost with the edge until the one after it', () => {
    const run = fold(
      STARTED,
      { type: 'step.started', step: 1 },
      STEP_ANSWER,
      started('a', 100),
      { type: 'call.interrupted', callId: 'a', tool: 'slow' },
      started('a', 600, 2),
      settled('a', 400),
    )
    const bars = timelineOf(run, START + 1000).rows.find(({ key }) => key === 'a')?.bars
    expect(bars).toEqual([
      { kind: 'retried', left: 10, width: 50, ms: 500 },
      { kind: 'tool', left: 60, width: 40, ms: 400 },
    ])
  })

  test('lasts until now while the run is under way', () => {
    const run = fold(STARTED, { type: 'step.started', step: 1 }, { type: 'text.delta', step: 1, text: 'Hel' })
    expect(timelineOf(run, START + 250).rows[0]?.bars).toEqual([
      { kind: 'model', left: 0, width: 100, ms: 250, isOpen: true },
    ])
  })
})

describe('the view of a run', () => {
  test('tells attempts that took too long from those that were lost with the edge', () => {
    const run = fold(
      STARTED,
      { type: 'step.started', step: 1 },
      STEP_ANSWER,
      started('a', 100),
      { type: 'call.interrupted', callId: 'a', tool: 'slow', because: 'timeout' },
      started('a', 600, 2),
      { type: 'call.interrupted', callId: 'a', tool: 'slow' },
      started('a', 900, 3),
    )
    const call = callsOf(run).find(({ id }) => id === 'a')
    expect(call?.attempts.map(({ loss }) => loss)).toEqual(['timeout', 'stopped', undefined])
  })

  test('forgets what a lost attempt of a step has shown', () => {
    const run = fold(
      STARTED,
      { type: 'step.started', step: 1 },
      { type: 'text.delta', step: 1, text: 'Half of' },
      { type: 'call.proposed', callId: 'a', tool: 'slow', arguments: '{}' },
      { type: 'step.restarted', step: 1, attempt: 2, because: 'interrupted' },
      { type: 'text.delta', step: 1, text: 'All.' },
    )
    expect(run.steps).toEqual([
      {
        ...{ number: 1, attempt: 2, text: 'All.', reasoning: '', calls: [], isAnswered: false, rejected: [] },
        ...{ lostAttempts: [{ code: 'interrupted' }], pauses: [] },
      },
    ])
  })

  test('keeps the objects of steps that an event does not touch, so that they are not drawn again', () => {
    const before = fold(STARTED, { type: 'step.started', step: 1 }, STEP_ANSWER, { type: 'step.started', step: 2 })
    const after = foldEvent(before, { type: 'text.delta', step: 2, text: 'Hi', runId: 'run_1', seq: 9 })
    expect(after.steps[0]).toBe(before.steps[0])
    expect(after.steps[1]?.text).toBe('Hi')
  })

  test('has what the provider did in a step, and the sources of the text', () => {
    const search = { tool: 'web_search', input: { query: 'x' }, ok: true } as const
    const citations = [{ url: 'https://yr.example/oslo' }]
    const view = fold(
      STARTED,
      { type: 'step.started', step: 1 },
      { type: 'provider.call', step: 1, ...search },
      { type: 'step.answered', step: 1, text: 'Hi', calls: [], finish: 'stop', citations },
    )
    expect(view.steps).toMatchObject([{ providerCalls: [search], citations, calls: [] }])
  })

  test('takes the arguments of a call as they stream, and then as they are complete', () => {
    const delta = { type: 'call.delta', step: 1, index: 0, callId: 'a' } as const
    const streaming = fold(
      STARTED,
      { type: 'step.started', step: 1 },
      { ...delta, name: 'slow', arguments: '{"x' },
      { ...delta, arguments: '":1' },
    )
    expect(callsOf(streaming)).toMatchObject([{ id: 'a', tool: 'slow', arguments: '{"x":1', state: 'proposed' }])
    const proposal = {
      type: 'call.proposed',
      callId: 'a',
      tool: 'slow',
      arguments: '{"x":1}',
      runId: 'run_1',
      seq: 9,
    } as const
    expect(callsOf(foldEvent(streaming, proposal))[0]?.arguments).toBe('{"x":1}')
  })
})

test('a step tells what room its prompt left, and what was reduced for it', () => {
  const reduction = { from: 0, results: 5, files: 5, model: 'test/m' }
  const run = fold(
    STARTED,
    { type: 'step.started', step: 1 },
    { type: 'context.reduced', step: 1, reduction, before: 9000, after: 6100, room: 8000, because: 'refused' },
    { ...STEP_ANSWER, calls: [], roomLeft: 2000 },
    finished('Done.'),
  )
  expect(run.steps).toMatchObject([
    { number: 1, roomLeft: 2000, reductions: [{ before: 9000, after: 6100, because: 'refused' }] },
  ])
  expect(run.notes).toEqual([])
})

describe('what went wrong in a run', () => {
  test('is drawn as such: attempts that failed, the wait for the model, and the answer that never came', () => {
    const run = fold(
      STARTED,
      at(0, { type: 'step.started', step: 1 }),
      at(200, { type: 'model.retried', step: 1, code: 'model_rate_limited', status: 429, durationMs: 200 }),
      { type: 'model.waiting', step: 1, code: 'model_unavailable', attempts: 1, at: START + 300, until: START + 5300 },
      at(5300, { type: 'step.restarted', step: 1, attempt: 2, because: 'waited' }),
      at(5500, {
        ...{ type: 'run.finished', status: 'failed', finish: 'error', answer: '', usage: USAGE },
        error: { code: 'model_unavailable', message: 'The model fails.' },
      }),
    )
    const { rows, waitMs, modelMs } = timelineOf(run, 0)
    expect(rows[0]?.bars.map(({ kind, ms }) => [kind, ms])).toEqual([
      ['retried', 200],
      ['retried', 100],
      ['waiting', 5000],
      ['failed', 200],
    ])
    expect({ waitMs, modelMs }).toEqual({ waitMs: 5000, modelMs: 200 })
    expect(run.steps[0]?.error).toEqual({ code: 'model_unavailable', message: 'The model fails.' })
    expect(run.steps[0]?.lostAttempts.map(({ code, status }) => [code, status])).toEqual([
      ['model_rate_limited', 429],
      ['model_unavailable', undefined],
    ])
  })

  test('is the last attempt of a failed call; the attempts before it were retried', () => {
    const run = fold(
      STARTED,
      { type: 'step.started', step: 1 },
      STEP_ANSWER,
      started('a', 100),
      { type: 'call.interrupted', callId: 'a', tool: 'slow', because: 'timeout' },
      started('a', 600, 2),
      at(1000, {
        ...{ type: 'call.settled', callId: 'a', tool: 'slow', ok: false, durationMs: 400 },
        error: { code: 'timeout', message: 'It took too long.' },
      }),
    )
    const row = timelineOf(run, START + 1000).rows.find(({ key }) => key === 'a')
    expect(row?.bars.map(({ kind, ms }) => [kind, ms])).toEqual([
      ['retried', 500],
      ['failed', 400],
    ])
  })
})

test('the calls of a program stand below it, one level deeper, with their own bars', () => {
  const program = { callId: 'p', tool: 'run_code', arguments: '{"code":"await tools.fast({})"}' }
  const run = fold(
    STARTED,
    { type: 'step.started', step: 1 },
    { ...STEP_ANSWER, calls: [program] },
    { type: 'call.started', ...program, attempt: 1, at: START + 100, deadline: 0, isProgram: true },
    at(110, { type: 'call.issued', callId: 'p_0', parent: 'p', ask: 0, tool: 'fast', arguments: '{"n":1}' }),
    { ...started('p_0', 110), tool: 'fast' } as RunEventBody,
    { ...settled('p_0', 50), tool: 'fast' } as RunEventBody,
    at(180, { type: 'program.woken', callId: 'p', ask: 1, at: START + 180 }),
    at(190, { type: 'program.diverged', callId: 'p', ask: 2 }),
    settled('p', 100),
  )
  const { rows } = timelineOf(run, START + 200)
  expect(rows.map(({ key, depth, ms }) => [key, depth, ms])).toEqual([
    ['step-1', 0, 100],
    ['p', 1, 100],
    ['p_0', 2, 50],
  ])
  expect(callsOf(run)[0]?.notes).toEqual([
    'The timer with the number 1 of the program rang.',
    'Run again, the program asked for something else from its request 2 on.',
  ])
})

test('a call has notes of what a decision model has said about it and its result', () => {
  const call = { callId: 'a', tool: 'slow', model: 'systemone/nimble', durationMs: 40 } as const
  const run = fold(
    STARTED,
    { type: 'step.started', step: 1 },
    { ...STEP_ANSWER, calls: [{ callId: 'a', tool: 'slow', arguments: '{}' }] },
    { type: 'call.judged', ...call, ok: true, answer: 'go_ahead', probabilities: { go_ahead: 0.99, harmful: 0.01 } },
    started('a', 100),
    settled('a', 50),
    { type: 'call.judged', ...call, about: 'result', ok: false, code: 'model_timeout' },
  )
  expect(callsOf(run)[0]?.notes).toEqual([
    'The decision model systemone/nimble says go_ahead 99.0 %, harmful 1.0 %: it goes ahead.',
    'No answer of the decision model systemone/nimble (model_timeout): its result is withheld.',
  ])
})

test('similar steps of a long run fold; failed ones and the slowest do not, and an open fold shows its rows', () => {
  const events = Array.from({ length: 30 }, (_, index): RunEventBody[] => {
    const [step, callId, from] = [index + 1, `call_${index}`, index * 100]
    const failed = { ok: false, error: { code: 'gone', message: 'It is gone.' } }
    return [
      at(from, { type: 'step.started', step }),
      {
        type: 'step.answered',
        step,
        text: '',
        calls: [{ callId, tool: 'fast', arguments: '{}' }],
        finish: 'tool_calls',
      },
      started(callId, from + 10),
      { ...settled(callId, index === 20 ? 80 : 40), ...(index === 10 && failed) },
    ]
  })
  const { rows } = timelineOf(fold(STARTED, ...events.flat()), START + 3000)
  const keys = (open: readonly string[]) => foldSimilar(rows, (key) => open.includes(key)).map(({ key }) => key)
  expect(keys([])).toEqual(['fold-1', 'step-11', 'call_10', 'fold-12', 'step-21', 'call_20', 'fold-22'])
  expect(keys(['fold-12'])).toHaveLength(7 + 18)
  expect(slowestRow(rows)?.key).toBe('call_20')
  expect(rows.filter((row) => hasMark(row, 'failed')).map(({ key }) => key)).toEqual(['call_10'])
})

test('a call that was sent and whose outcome is lost is in doubt, and one that was not sent is not', () => {
  const lost = (callId: string): RunEventBody => {
    const error = { code: 'cancelled', message: 'Not finished.' }
    return { type: 'call.settled', callId, tool: 'x', ok: false, error, durationMs: 0 }
  }
  const run = fold(STARTED, STEP_ANSWER, started('a', 10), lost('a'), lost('b'))
  expect(callsOf(run).map(({ state, inDoubt }) => [state, inDoubt])).toEqual([
    ['failed', true],
    ['failed', undefined],
  ])
})

test('a call of an agent shows the calls in doubt that it has made, also those that are known only later', () => {
  const doubt = { tool: 'pay', arguments: '{"id":7}', outcome: 'failed: "Lost."', by: 'clerk', inDoubt: true } as const
  const calls = [doubt, { tool: 'pay', arguments: '{"id":8}', outcome: '"paid"' }]
  const now: RunEventBody = { type: 'call.settled', callId: 'a', tool: 'x', ok: true, durationMs: 0, calls }
  const later: RunEventBody = { type: 'call.late', callId: 'b', tool: 'x', ok: false, at: START, calls }
  const run = fold(STARTED, STEP_ANSWER, started('a', 10), started('b', 10), now, later)
  expect(callsOf(run).map(({ callsInDoubt }) => callsInDoubt)).toEqual([[doubt], [doubt]])
})
