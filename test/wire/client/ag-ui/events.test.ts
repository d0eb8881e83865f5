import { describe, expect, test } from 'vitest'
import type { RunEvent, RunEventBody } from '../../../../src/contract/event.ts'
import { AgUiEncoder, type AgUiOptions } from '../../../../src/wire/client/ag-ui/events.ts'
import { ask, id, type Play, play, RUN_ID, say, tool } from '../../../fixtures/play.ts'

const PLACE = { threadId: 'thread-1', runId: 'run-1' }

/** The events of a stream, which must keep the order that clients insist on. */
function encode(events: readonly RunEvent[], options: Partial<AgUiOptions> = { protocolVersion: '1.0' }): object[] {
  const encoder = new AgUiEncoder({ ...PLACE, ...options })
  const text = events.map((event) => encoder.event(event)).join('') + encoder.end()
  expect(text).not.toContain('null')
  const frames = text.split('\n\n').slice(0, -1)
  const list = frames.map((frame): Record<string, string> => JSON.parse(frame.replace(/^data: /, '')))
  checkOrder(list)
  return list
}

/** One run, first and last; no message, call or step is open at its end, or grows before it starts or after its end. */
function checkOrder(list: readonly Record<string, string>[]): void {
  const open = new Set<string>()
  const pairs: [RegExp, string][] = [
    [/^(TEXT_MESSAGE|REASONING_MESSAGE|REASONING|TOOL_CALL|STEP)_(START|STARTED)$/, 'start'],
    [/^(TEXT_MESSAGE|REASONING_MESSAGE|REASONING|TOOL_CALL|STEP)_(END|FINISHED)$/, 'end'],
    [/^(TEXT_MESSAGE|REASONING_MESSAGE|TOOL_CALL)_(CONTENT|ARGS)$/, 'grow'],
  ]
  for (const event of list) {
    for (const [pattern, does] of pairs) {
      const kind = pattern.exec(event['type']!)?.[1]
      if (!kind) continue
      const key = `${kind} ${event['toolCallId'] ?? event['messageId'] ?? event['stepName']}`
      expect(open.has(key)).toBe(does !== 'start')
      if (does === 'start') open.add(key)
      if (does === 'end') open.delete(key)
    }
  }
  expect(list[0]?.['type']).toBe('RUN_STARTED')
  expect(list.at(-1)?.['type']).toMatch(/^RUN_(FINISHED|ERROR)$/)
  if (list.at(-1)?.['type'] === 'RUN_FINISHED') expect([...open]).toEqual([])
}

async function played(run: Play, options?: Partial<AgUiOptions>): Promise<object[]> {
  return encode((await play(run)).events, options)
}

const place = (bodies: readonly RunEventBody[], seq = 1): RunEvent[] =>
  bodies.map((body, index) => ({ ...body, runId: RUN_ID, seq: seq + index }))

const STARTED = { type: 'RUN_STARTED', ...PLACE, protocolVersion: '1.0' }
const step = (step: number) => ({ type: 'STEP_STARTED', stepName: `step ${step}` })
const stepEnd = (step: number) => ({ type: 'STEP_FINISHED', stepName: `step ${step}` })
const message = (seq: number | string, ...deltas: string[]) => [
  { type: 'TEXT_MESSAGE_START', messageId: `${RUN_ID}.${seq}`, role: 'assistant' },
  ...deltas.map((delta) => ({ type: 'TEXT_MESSAGE_CONTENT', messageId: `${RUN_ID}.${seq}`, delta })),
  { type: 'TEXT_MESSAGE_END', messageId: `${RUN_ID}.${seq}` },
]
const call = (toolCallId: string, toolCallName: string, args: string, seq: number | string) => [
  { type: 'TOOL_CALL_START', toolCallId, toolCallName, parentMessageId: `${RUN_ID}.${seq}` },
  { type: 'TOOL_CALL_ARGS', toolCallId, delta: args },
  { type: 'TOOL_CALL_END', toolCallId },
]
const result = (step: number, index: number, content: string) => ({
  type: 'TOOL_CALL_RESULT',
  messageId: `${id(step, index)}-result`,
  toolCallId: id(step, index),
  content,
  role: 'tool',
})
const usage = (steps: number) => [
  {
    provider: 'test',
    model: 'scripted',
    inputTokens: 10 * steps,
    outputTokens: 5 * steps,
    totalTokens: 15 * steps,
  },
]
const finished = (steps: number, outcome: object = { type: 'success' }) => ({
  type: 'RUN_FINISHED',
  ...PLACE,
  outcome,
  usage: usage(steps),
})

test('a run becomes steps of messages, thoughts, calls and results', async () => {
  const script: Play['script'] = [
    [
      { type: 'reasoning', text: 'Hmm.' },
      { type: 'text', text: 'Let me look.' },
      ...ask(['clock', { a: 1 }], ['nope']),
    ],
    say('Noon.'),
  ]
  const clock = tool('clock', (_args, _context, control) => {
    void control.progress({ message: 'winding' })
    return '12:00'
  })
  expect(await played({ script, tools: [clock] })).toEqual([
    STARTED,
    step(1),
    { type: 'REASONING_START', messageId: `${RUN_ID}.2.0` },
    { type: 'REASONING_MESSAGE_START', messageId: `${RUN_ID}.2.0`, role: 'reasoning' },
    { type: 'REASONING_MESSAGE_CONTENT', messageId: `${RUN_ID}.2.0`, delta: 'Hmm.' },
    { type: 'REASONING_MESSAGE_END', messageId: `${RUN_ID}.2.0` },
    { type: 'REASONING_END', messageId: `${RUN_ID}.2.0` },
    ...message('2.1', 'Let me look.'),
    ...call(id(1, 0), 'clock', '{"a":1}', '2.1'),
    ...call(id(1, 1), 'nope', '{}', '2.1'),
    result(1, 1, 'There is no tool "nope". Call one that is on offer, such as "clock".'),
    { type: 'CUSTOM', name: 'call.progress', value: { toolCallId: id(1, 0), message: 'winding' } },
    result(1, 0, '12:00'),
    stepEnd(1),
    step(2),
    ...message('13.0', 'Noon.'),
    stepEnd(2),
    { ...finished(2), result: { finish: 'stop' } },
  ])
})

test('calls without text belong to one message', async () => {
  const events = await played({ script: [ask(['a'], ['b']), say('Done.')], tools: [tool('a'), tool('b')] })
  expect(events.slice(2, 8)).toEqual([...call(id(1, 0), 'a', '{}', 5), ...call(id(1, 1), 'b', '{}', 5)])
})

test('a direct result becomes a message', async () => {
  const direct = tool('direct', () => 'Here.', { returnDirect: 'always' })
  expect((await played({ script: [ask(['direct'])], tools: [direct] })).slice(5)).toEqual([
    result(1, 0, 'Here.'),
    stepEnd(1),
    ...message('2.0', 'Here.'),
    { ...finished(1), result: { finish: 'return_direct' } },
  ])
})

test('an early call comes before the rest of the text', () => {
  const started = { callId: id(1, 0), tool: 'clock', arguments: '{"a":1}' }
  const events = place([
    { type: 'step.started', step: 1 },
    { type: 'text.delta', step: 1, text: 'So' },
    { type: 'call.started', ...started, attempt: 1, at: 0, deadline: 1 },
    { type: 'text.delta', step: 1, text: ' far' },
    { type: 'step.answered', step: 1, text: 'So far', calls: [started], finish: 'tool_calls' },
  ])
  expect(encode(events).slice(2, -2)).toEqual([
    ...message('1.0', 'So'),
    ...call(id(1, 0), 'clock', '{"a":1}', '1.0'),
    ...message('1.1', ' far'),
  ])
})

describe('a run ends', () => {
  const failing: Play = {
    script: [[{ type: 'error', error: { code: 'model_failed', message: 'No.', retryable: false } }]],
  }
  const cancelled = (): Play => {
    const stop = new AbortController()
    const onEvent = ({ type }: RunEvent) => type === 'step.started' && stop.abort()
    return { script: [say('Never')], signal: stop.signal, onEvent }
  }

  test('as failed', async () => {
    expect((await played(failing)).slice(2)).toEqual([
      stepEnd(1),
      { type: 'RUN_ERROR', message: 'No.', code: 'model_failed' },
    ])
  })

  test('as cancelled, which clients before 1.0 receive as an error', async () => {
    const { usage: _none, ...end } = finished(0, { type: 'cancelled' })
    expect((await played(cancelled())).at(-1)).toEqual(end)
    expect((await played(cancelled(), {})).at(-1)).toEqual({
      type: 'RUN_ERROR',
      message: 'The run was cancelled.',
      code: 'run_cancelled',
    })
  })

  test('without an end event', () => {
    expect(encode(place([{ type: 'step.started', step: 1 }])).slice(2)).toEqual([
      stepEnd(1),
      { type: 'RUN_ERROR', message: 'The event stream of the run ended early.', code: 'run_interrupted' },
    ])
  })
})

describe('a run that waits', () => {
  const danger = tool('danger', () => 'boom', { approval: 'always' })
  const pick = { name: 'pick', description: 'Picks', inputSchema: { type: 'object' } }
  const script = [ask(['danger', { a: 1 }], ['pick'])]
  const request = { conversation: 'c1', clientTools: [pick] }

  test('for a person ends with an interrupt', async () => {
    expect((await played({ script, tools: [danger], request })).slice(-2)).toEqual([
      stepEnd(1),
      finished(1, {
        type: 'interrupt',
        interrupts: [
          {
            id: id(1, 0),
            reason: 'tool_approval',
            message: 'May "danger" be called?',
            toolCallId: id(1, 0),
            responseSchema: {
              type: 'object',
              properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
              required: ['approved'],
            },
          },
        ],
      }),
    ])
  })

  test('for its caller ends with success and the ids of the calls', async () => {
    const run = { script: [ask(['pick'])], request }
    const pendingToolCallIds = [id(1, 0)]
    expect((await played(run)).at(-1)).toEqual(finished(1, { type: 'success', pendingToolCallIds }))
    expect((await played(run, {})).at(-1)).toEqual(finished(1))
    const frames = await played({ ...run, request: { clientTools: [pick] } })
    expect(frames.at(-1)).toEqual({
      ...finished(1, { type: 'success', pendingToolCallIds: [id('01', 0)] }),
      result: { finish: 'tool_calls' },
    })
  })

  test('continues in another stream, with results that its caller does not have', () => {
    const settled = (index: number, rest: object): RunEventBody => ({
      type: 'call.settled',
      callId: id(1, index),
      tool: 'x',
      ok: true,
      durationMs: 1,
      ...rest,
    })
    const events = place([
      { type: 'approval.decided', callId: id(1, 0), decision: 'approve' },
      { type: 'approval.decided', callId: id(1, 2), decision: 'reject' },
      settled(1, { content: [{ type: 'text', text: 'mine' }] }),
      { type: 'run.resumed', at: 1 },
      settled(2, { ok: false, error: { code: 'rejected', message: 'A person refused this call.' } }),
      { type: 'call.started', callId: id(1, 0), tool: 'danger', attempt: 1, at: 1, deadline: 2 },
      settled(0, { content: [{ type: 'text', text: 'boom' }] }),
      { type: 'step.finished', step: 1, finish: 'tool_calls' },
    ])
    expect(encode(events).slice(0, -1)).toEqual([
      STARTED,
      result(1, 2, 'A person refused this call.'),
      result(1, 0, 'boom'),
    ])
  })
})
