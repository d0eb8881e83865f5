import { describe, expect, test } from 'vitest'
import type { RunEvent, RunEventBody } from '../../../../src/contract/event.ts'
import { UiMessageEncoder, type UiMessageOptions } from '../../../../src/wire/client/ui-message/stream.ts'
import { ask, id, type Play, play, RUN_ID, say, tool } from '../../../fixtures/play.ts'

/** The chunks of a stream; the text that ends it is no chunk. */
function encode(events: readonly RunEvent[], options: UiMessageOptions = {}): object[] {
  const encoder = new UiMessageEncoder(options)
  const text = events.map((event) => encoder.event(event)).join('') + encoder.end()
  const frames = text.split('\n\n').slice(0, -1)
  expect(frames.at(-1)).toBe('data: [DONE]')
  return frames.slice(0, -1).map((frame): object => JSON.parse(frame.replace(/^data: /, '')))
}

async function played(run: Play, options?: UiMessageOptions): Promise<object[]> {
  return encode((await play(run)).events, options)
}

const place = (bodies: readonly RunEventBody[], seq = 1): RunEvent[] =>
  bodies.map((body, index) => ({ ...body, runId: RUN_ID, seq: seq + index }))

const START = { type: 'start', messageId: RUN_ID, messageMetadata: { runId: RUN_ID } }
const STEP = { type: 'start-step' }
const STEP_END = { type: 'finish-step' }
const usage = (steps: number) => ({ inputTokens: 10 * steps, outputTokens: 5 * steps, totalTokens: 15 * steps })
const finish = (steps: number, reason = 'stop', word = reason) => ({
  type: 'finish',
  finishReason: reason,
  messageMetadata: { finish: word, usage: usage(steps) },
})
const block = (kind: 'text' | 'reasoning', seq: number | string, ...deltas: string[]) => [
  { type: `${kind}-start`, id: `${RUN_ID}.${seq}` },
  ...deltas.map((delta) => ({ type: `${kind}-delta`, id: `${RUN_ID}.${seq}`, delta })),
  { type: `${kind}-end`, id: `${RUN_ID}.${seq}` },
]
const begin = (step: number, index: number, toolName: string) => {
  return { type: 'tool-input-start', toolCallId: id(step, index), toolName }
}
const input = (step: number, index: number, toolName: string, value: unknown) => ({
  type: 'tool-input-available',
  toolCallId: id(step, index),
  toolName,
  input: value,
  providerExecuted: true,
})
const output = (step: number, index: number, value: unknown) => ({
  type: 'tool-output-available',
  toolCallId: id(step, index),
  output: value,
  providerExecuted: true,
})
const fault = (step: number, index: number, errorText: string) => ({
  type: 'tool-output-error',
  toolCallId: id(step, index),
  errorText,
  providerExecuted: true,
})

describe('a run for useChat', () => {
  test('becomes one message of steps with text and reasoning parts', async () => {
    const script = [
      [
        { type: 'reasoning', text: 'Hmm.' },
        { type: 'text', text: 'It is ' },
        { type: 'text', text: 'noon.' },
        { type: 'reasoning', text: 'Or not.' },
        ...say('').slice(1),
      ],
    ] as Play['script']
    expect(await played({ script }, { conversation: 'c1' })).toEqual([
      { ...START, messageMetadata: { runId: RUN_ID, conversation: 'c1' } },
      STEP,
      ...block('reasoning', '2.0', 'Hmm.'),
      ...block('text', '2.1', 'It is ', 'noon.'),
      ...block('reasoning', '2.2', 'Or not.'),
      STEP_END,
      finish(1),
    ])
  })

  test('has calls of the edge as provider-executed, with streamed input', async () => {
    const script: Play['script'] = [
      [
        { type: 'call.delta', index: 0, tool: 'clock', arguments: '' },
        { type: 'call.delta', index: 0, arguments: '{"zone":' },
        { type: 'call.delta', index: 0, arguments: '"UTC"}' },
        ...ask(['clock', { zone: 'UTC' }]),
      ],
      say('Noon.'),
    ]
    const toolCallId = id(1, 0)
    const clock = tool('clock', (_args, _context, control) => {
      void control.progress({ message: 'winding', fraction: 0.5 })
      return { ok: true, content: [{ type: 'text', text: '12:00' }], structured: { time: '12:00' } }
    })
    expect(await played({ script, tools: [clock] })).toEqual([
      START,
      STEP,
      { type: 'tool-input-start', toolCallId, toolName: 'clock' },
      { type: 'tool-input-delta', toolCallId, inputTextDelta: '{"zone":' },
      { type: 'tool-input-delta', toolCallId, inputTextDelta: '"UTC"}' },
      input(1, 0, 'clock', { zone: 'UTC' }),
      { type: 'data-progress', id: toolCallId, data: { message: 'winding', fraction: 0.5 }, transient: true },
      output(1, 0, { time: '12:00' }),
      STEP_END,
      STEP,
      ...block('text', '12.0', 'Noon.'),
      STEP_END,
      finish(2),
    ])
  })

  test('has the reason why a call was refused or failed', async () => {
    const broken = tool('broken', () => ({ ok: false, error: { code: 'tool_failed', message: 'It broke.' } }))
    const script = [ask(['broken'], ['nope'], ['broken', '{"a']), say('Sorry.')]
    const chunks = await played({ script, tools: [broken] })
    const calls = chunks.filter((chunk) => 'toolCallId' in chunk)
    expect(calls).toEqual([
      begin(1, 0, 'broken'),
      begin(1, 1, 'nope'),
      begin(1, 2, 'broken'),
      input(1, 1, 'nope', {}),
      fault(1, 1, expect.stringContaining('There is no tool "nope"') as never),
      input(1, 2, 'broken', '{"a'),
      fault(1, 2, expect.stringContaining('not a JSON object') as never),
      input(1, 0, 'broken', {}),
      fault(1, 0, 'It broke.'),
    ])
  })

  test('with a direct result has it as text', async () => {
    const direct = tool('direct', () => 'Here.', { returnDirect: 'always' })
    expect((await played({ script: [ask(['direct'])], tools: [direct] })).slice(2)).toEqual([
      input(1, 0, 'direct', {}),
      output(1, 0, 'Here.'),
      STEP_END,
      ...block('text', '2.0', 'Here.'),
      { ...finish(1), messageMetadata: { finish: 'return_direct', usage: usage(1) } },
    ])
  })

  test('that fails ends with an error, and one that is cancelled with abort', async () => {
    const failed = await played({
      script: [[{ type: 'error', error: { code: 'model_failed', message: 'No.', retryable: false } }]],
    })
    expect(failed.slice(2)).toEqual([
      STEP_END,
      { type: 'message-metadata', messageMetadata: { finish: 'error', usage: usage(0) } },
      { type: 'error', errorText: 'No.' },
      { type: 'finish', finishReason: 'error', messageMetadata: { finish: 'error', usage: usage(0) } },
    ])
    const stop = new AbortController()
    const cancelled = await played({
      script: [say('Never')],
      signal: stop.signal,
      onEvent: ({ type }) => type === 'step.started' && stop.abort(),
    })
    expect(cancelled.slice(2)).toEqual([
      STEP_END,
      { type: 'abort' },
      { type: 'finish', finishReason: 'other', messageMetadata: { finish: 'cancelled', usage: usage(0) } },
    ])
  })

  test('ends with an error if its events break off', () => {
    const events = place([{ type: 'step.started', step: 1 }])
    expect(encode(events)).toEqual([
      START,
      STEP,
      STEP_END,
      { type: 'error', errorText: 'The event stream of the run ended early.' },
    ])
  })

  test('includes the missed part of an answered step for a reader that joined late', () => {
    const events = place([
      { type: 'text.delta', step: 1, text: 'It is' },
      { type: 'step.answered', step: 1, text: 'It is noon.', reasoning: 'Hmm.', calls: [], finish: 'stop' },
    ])
    expect(encode(events).slice(1, -1)).toEqual([
      ...block('text', 1, 'It is'),
      ...block('reasoning', 2, 'Hmm.'),
      ...block('text', 2, ' noon.'),
    ])
  })

  test('ends calls of an earlier attempt that the current one does not repeat', () => {
    const events = place([
      { type: 'step.started', step: 1 },
      { type: 'call.delta', step: 1, index: 0, callId: id(1, 0), name: 'clock', arguments: '{' },
      { type: 'text.delta', step: 1, text: 'Let' },
      { type: 'step.restarted', step: 1, attempt: 2 },
      { type: 'text.delta', step: 1, text: 'Noon.' },
      { type: 'step.answered', step: 1, text: 'Noon.', calls: [], finish: 'stop' },
    ])
    expect(encode(events).slice(2, -2)).toEqual([
      { type: 'tool-input-start', toolCallId: id(1, 0), toolName: 'clock' },
      { type: 'tool-input-delta', toolCallId: id(1, 0), inputTextDelta: '{' },
      ...block('text', '1.0', 'Let'),
      ...block('text', '4.0', 'Noon.'),
      {
        type: 'tool-input-error',
        toolCallId: id(1, 0),
        toolName: 'clock',
        input: {},
        errorText: 'The edge stopped while the model wrote this call.',
        providerExecuted: true,
      },
    ])
  })

  test('has an early call and its result once', () => {
    const call = { callId: id(1, 0), tool: 'clock', arguments: '{"a":1}' }
    const events = place([
      { type: 'step.started', step: 1 },
      { type: 'call.started', ...call, attempt: 1, at: 0, deadline: 1 },
      { type: 'text.delta', step: 1, text: 'So' },
      { type: 'call.settled', ...call, ok: true, content: [{ type: 'text', text: '1' }], durationMs: 1 },
      { type: 'step.answered', step: 1, text: 'So', calls: [call], finish: 'tool_calls' },
    ])
    expect(encode(events).slice(2, -2)).toEqual([
      input(1, 0, 'clock', { a: 1 }),
      ...block('text', '1.0', 'So').slice(0, 2),
      output(1, 0, '1'),
      ...block('text', '1.0').slice(1),
    ])
  })
})

describe('a waiting run for useChat', () => {
  const danger = tool('danger', () => 'boom', { approval: 'always' })
  const pick = { name: 'pick', description: 'Picks', inputSchema: { type: 'object' } }
  const waits = (script: Play['script'] = [ask(['danger', { a: 1 }], ['pick', { b: 2 }])]) => ({
    script,
    tools: [danger],
    request: { conversation: 'c1', clientTools: [pick] },
  })

  test('requests approvals, and hands calls to its caller without provider-executed', async () => {
    expect((await played(waits())).slice(2)).toEqual([
      begin(1, 0, 'danger'),
      begin(1, 1, 'pick'),
      { ...input(1, 0, 'danger', { a: 1 }), providerExecuted: undefined },
      { type: 'tool-approval-request', approvalId: id(1, 0), toolCallId: id(1, 0) },
      { ...input(1, 1, 'pick', { b: 2 }), providerExecuted: undefined },
      STEP_END,
      { type: 'finish', finishReason: 'tool-calls', messageMetadata: { finish: 'waiting' } },
    ])
  })

  test('requests approval from version 5 by a data part, without a reason', async () => {
    const chunks = await played(waits(), { version: 5 })
    expect(chunks[5]).toEqual({
      type: 'data-approval',
      id: id(1, 0),
      data: { toolCallId: id(1, 0), toolName: 'danger', input: { a: 1 } },
    })
    expect(chunks.at(-1)).toEqual({ type: 'finish', messageMetadata: { finish: 'waiting' } })
  })

  const decided = (decision: 'approve' | 'reject'): RunEventBody[] => [
    { type: 'approval.decided', callId: id(1, 0), decision },
    {
      type: 'call.settled',
      callId: id(1, 1),
      tool: 'pick',
      ok: true,
      content: [{ type: 'text', text: 'left' }],
      durationMs: 0,
    },
    { type: 'run.resumed', at: 1 },
  ]
  const rejected: RunEventBody = {
    type: 'call.settled',
    callId: id(1, 0),
    tool: 'danger',
    ok: false,
    error: { code: 'rejected', message: 'A person refused this call.' },
    durationMs: 0,
  }
  const started: RunEventBody = {
    type: 'call.started',
    callId: id(1, 0),
    tool: 'danger',
    attempt: 1,
    at: 1,
    deadline: 2,
  }
  const settled: RunEventBody = {
    type: 'call.settled',
    callId: id(1, 0),
    tool: 'danger',
    ok: true,
    content: [{ type: 'image', mediaType: 'image/png', data: 'AA==' }],
    durationMs: 1,
  }
  const stepEnd: RunEventBody = { type: 'step.finished', step: 1, finish: 'tool_calls' }

  test('continues in the same message, which has the caller’s results', () => {
    const events = place([...decided('approve'), started, settled, stepEnd, { type: 'step.started', step: 2 }], 20)
    expect(encode(events).slice(0, -2)).toEqual([
      START,
      output(1, 0, [{ type: 'image', mediaType: 'image/png', data: 'AA==' }]),
      STEP,
    ])
  })

  test('denies a rejected call, which for version 5 failed', () => {
    const events = place([...decided('reject'), rejected], 20)
    expect(encode(events)[1]).toEqual({ type: 'tool-output-denied', toolCallId: id(1, 0) })
    expect(encode(events, { version: 5 })[1]).toEqual(fault(1, 0, 'A person refused this call.'))
  })

  test('is complete for a reader that joins later, including results of the caller', async () => {
    const { events } = await play(waits())
    const rest = place([...decided('approve'), started, settled], events.length + 1)
    const chunks = encode([...events, ...rest])
    expect(chunks.slice(7)).toEqual([
      { type: 'tool-output-available', toolCallId: id(1, 1), output: 'left' },
      output(1, 0, [{ type: 'image', mediaType: 'image/png', data: 'AA==' }]),
      STEP_END,
      { type: 'error', errorText: 'The event stream of the run ended early.' },
    ])
  })
})
