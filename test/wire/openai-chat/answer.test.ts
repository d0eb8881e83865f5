import OpenAI from 'openai'
import type { ChatCompletionChunk } from 'openai/resources/chat/completions'
import { describe, expect, test } from 'vitest'
import type { RunEvent, RunEventBody } from '../../../src/contract/event.ts'
import { completionCollector, completionEncoder } from '../../../src/wire/client/openai-chat/answer.ts'
import { chatCodec } from '../../../src/wire/provider/openai-chat/answer.ts'
import { inPieces, replay } from '../../fixtures/replay.ts'

const RUN = 'run_1'
const HEAD = { id: 'chatcmpl-1', model: 'probe', created: 1790000000 }
const FINAL = { ...HEAD, rounds: 'final', customTools: new Set<string>() } as const
const USAGE = { inputTokens: 10, outputTokens: 5 }
const CHAT_USAGE = (inputs: number, outputs: number) => ({
  prompt_tokens: inputs,
  completion_tokens: outputs,
  total_tokens: inputs + outputs,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
})

const place = (bodies: readonly RunEventBody[]): RunEvent[] =>
  bodies.map((body, index) => ({ ...body, runId: RUN, seq: index + 1 }))

const started: RunEventBody = { type: 'run.started', model: 'openai/probe', tools: ['clock'], at: 0 }
const step = (step: number): RunEventBody => ({ type: 'step.started', step })
const delta = (step: number, text: string): RunEventBody => ({ type: 'text.delta', step, text })
const call = (callId: string, tool = 'clock') => ({ callId, tool, arguments: `{"for":"${callId}"}` })
const stepAnswer = (step: number, text: string, ...calls: ReturnType<typeof call>[]): RunEventBody => ({
  type: 'step.answered',
  step,
  text,
  calls,
  finish: calls.length > 0 ? 'tool_calls' : 'stop',
  usage: USAGE,
})
const thought = (reasoning: string, ...rest: Parameters<typeof stepAnswer>) =>
  ({ ...stepAnswer(...rest), reasoning }) as RunEventBody
const ended = (step: number): RunEventBody => ({ type: 'step.finished', step, finish: 'tool_calls' })
const settled = (callId: string, ok = true): RunEventBody => ({
  type: 'call.settled',
  callId,
  tool: 'clock',
  ok,
  ...(ok ? { content: [{ type: 'text', text: 'noon' }] } : { error: { code: 'tool_failed', message: 'No.' } }),
  durationMs: 4,
})
const requested = (callId: string): RunEventBody => ({ type: 'call.requested', ...call(callId, 'pick') })
const finished = (
  answer: string,
  rest: Partial<Extract<RunEventBody, { type: 'run.finished' }>> = {},
): RunEventBody => ({
  type: 'run.finished',
  status: 'completed',
  finish: 'stop',
  answer,
  usage: { inputTokens: 20, outputTokens: 10 },
  ...rest,
})

type Options = Partial<Parameters<typeof completionEncoder>[0]>

/** The text of the stream, event by event. */
function encode(bodies: readonly RunEventBody[], options: Options = {}): string {
  const encoder = completionEncoder({ ...FINAL, ...options })
  return place(bodies).map(encoder.event).join('') + encoder.end()
}

/** What the frames of a stream hold; the last one, and an error, are no chunks. */
function framesOf(text: string): ChatCompletionChunk[] {
  return text
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => (frame === 'data: [DONE]' ? 'DONE' : JSON.parse(frame.replace(/^data: /, ''))))
}

type Delta = ChatCompletionChunk.Choice.Delta & { readonly reason?: string }

/** The same, each chunk shortened to its delta: all else of it must be alike. */
function deltasOf(text: string): Delta[] {
  return framesOf(text).map((frame): Delta => {
    if (!frame.choices) return frame as Delta
    const { id, model, created, object, choices } = frame
    expect({ id, model, created, object }).toEqual({ ...HEAD, object: 'chat.completion.chunk' })
    const { delta, finish_reason: reason, ...rest } = choices[0]!
    expect(rest).toEqual({ index: 0, logprobs: null })
    return reason === null ? delta : { ...delta, reason }
  })
}

function collect(bodies: readonly RunEventBody[], options: Options & { conversation?: string } = {}) {
  const collector = completionCollector({ ...FINAL, ...options })
  for (const event of place(bodies)) collector.event(event)
  return collector.result()
}

/** Content and reason of the whole answer, and the same put together from the stream. */
function bothOf(bodies: readonly RunEventBody[], options: Options = {}) {
  const result = collect(bodies, options)
  if (!result.ok) throw new Error(result.error.message)
  const [choice] = result.body.choices
  const deltas = deltasOf(encode(bodies, options))
  const content = deltas.map((delta) => delta.content ?? '').join('')
  return {
    whole: { content: choice.message.content ?? '', reason: choice.finish_reason },
    streamed: { content, reason: deltas.find((delta) => delta.reason)?.reason },
  }
}

const ROLE = { role: 'assistant', content: '' }
const ANSWER = [
  started,
  step(1),
  delta(1, 'It is '),
  delta(1, 'noon.'),
  stepAnswer(1, 'It is noon.'),
  ended(1),
  finished('It is noon.'),
]
const AFTER_TOOL = [
  started,
  step(1),
  delta(1, 'Let me look.'),
  { type: 'call.proposed', ...call('a') } as const,
  stepAnswer(1, 'Let me look.', call('a')),
  settled('a'),
  ended(1),
  step(2),
  delta(2, 'Noon.'),
  stepAnswer(2, 'Noon.'),
  ended(2),
  finished('Noon.'),
]

const chunk = (delta: string, reason = 'null') =>
  `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"probe","choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${reason}}]}\n\n`

const toolCallDelta = (index: number, id: string) => ({
  tool_calls: [{ index, id, type: 'function', function: { name: 'pick', arguments: `{"for":"${id}"}` } }],
})

const chatCall = (id: string) => ({
  id,
  type: 'function',
  function: { name: 'pick', arguments: `{"for":"${id}"}` },
})

const waitingText = (calls: readonly { callId: string; tool: string; arguments: string }[]) =>
  `Waits for ${calls.map((each) => `${each.tool} ${each.callId}`).join(', ')}.`

const clientOf = (text: string) =>
  new OpenAI({
    apiKey: 'none',
    maxRetries: 0,
    fetch: () => Promise.resolve(new Response(text, { headers: { 'content-type': 'text/event-stream' } })),
  })

describe('a streamed answer', () => {
  test('has frames of one form, then [DONE]', () => {
    expect(encode(ANSWER)).toBe(
      chunk('{"role":"assistant","content":""}') +
        chunk('{"content":"It is noon."}') +
        chunk('{}', '"stop"') +
        'data: [DONE]\n\n',
    )
  })

  test('has its usage in a separate frame on request', () => {
    const frames = framesOf(encode(AFTER_TOOL, { includeUsage: true }))
    expect(frames.map((frame) => frame.usage)).toEqual([null, null, null, CHAT_USAGE(20, 10), undefined])
    expect(frames.at(-2)).toEqual({ ...HEAD, object: 'chat.completion.chunk', choices: [], usage: CHAT_USAGE(20, 10) })
    expect(frames.at(-1)).toBe('DONE')
  })

  test('begins with the run and streams text once it is longer than a preamble', () => {
    const encoder = completionEncoder(FINAL)
    const long = 'x'.repeat(250)
    const events = [
      started,
      step(1),
      delta(1, long),
      delta(1, '123456'),
      delta(1, '7'),
      delta(1, '8'),
      stepAnswer(1, `${long}12345678`),
    ]
    expect(place(events).map((event) => deltasOf(encoder.event(event)))).toEqual([
      [ROLE],
      [],
      [],
      [],
      [{ content: `${long}1234567` }],
      [{ content: '8' }],
      [],
    ])
  })

  test('streams from the first word if there are no tools', () => {
    const encoder = completionEncoder(FINAL)
    const events = [
      { ...started, tools: [] },
      step(1),
      delta(1, 'It is '),
      delta(1, 'noon.'),
      stepAnswer(1, 'It is noon.'),
    ]
    expect(place(events).map((event) => deltasOf(encoder.event(event)))).toEqual([
      [ROLE],
      [],
      [{ content: 'It is ' }],
      [{ content: 'noon.' }],
      [],
    ])
  })

  test('emits nothing after its end', () => {
    const encoder = completionEncoder(FINAL)
    const events = place([...ANSWER, delta(2, 'more')])
    expect(events.slice(0, -1).map(encoder.event).join('')).toBe(encode(ANSWER))
    expect([encoder.event(events.at(-1)!), encoder.end()]).toEqual(['', ''])
  })

  test('has reasoning in a field that OpenAI’s clients ignore', () => {
    const events: RunEventBody[] = [
      started,
      step(1),
      { type: 'reasoning.delta', step: 1, text: 'A tool.' },
      thought('A tool.', 1, '', call('a')),
      step(2),
      { type: 'reasoning.delta', step: 2, text: 'It ' },
      { type: 'reasoning.delta', step: 2, text: 'said noon.' },
      delta(2, 'Noon.'),
      thought('It said noon.', 2, 'Noon.'),
      finished('Noon.'),
    ]
    expect(deltasOf(encode(events))).toEqual([
      ROLE,
      { reasoning_content: 'A tool.' },
      { reasoning_content: '\n\nIt ' },
      { reasoning_content: 'said noon.' },
      { content: 'Noon.' },
      { reason: 'stop' },
      'DONE',
    ])
    expect(collect(events)).toMatchObject({
      body: { choices: [{ message: { content: 'Noon.', reasoning_content: 'A tool.\n\nIt said noon.' } }] },
    })
  })

  test('has the reasoning of a step without deltas', () => {
    const events = [started, step(1), thought('It said noon.', 1, 'Noon.'), finished('Noon.')]
    const [, reasoning, content] = deltasOf(encode(events))
    expect([reasoning, content]).toEqual([{ reasoning_content: 'It said noon.' }, { content: 'Noon.' }])
  })

  test('ends in an error if the run fails, and never with [DONE]', () => {
    const error = { code: 'model_unreachable', message: 'The model server cannot be reached.' }
    const failed = finished('', { status: 'failed', finish: 'error', error })
    const frame = { error: { message: error.message, type: 'server_error', param: null, code: error.code } }
    expect(deltasOf(encode([started, step(1), delta(1, 'It'), failed]))).toEqual([ROLE, frame])
    expect(collect([started, failed])).toEqual({ ok: false, error })
  })

  test.each([
    ['run_cancelled', 'The run was cancelled.', finished('', { status: 'cancelled', finish: 'cancelled' })],
    [
      'limit_reached',
      'Enough.',
      finished('', { status: 'failed', finish: 'limit', error: { code: 'limit_reached', message: 'Enough.' } }),
    ],
    ['run_interrupted', 'The event stream of the run ended early.', ended(1)],
  ])('fails with %s', (code, message, last) => {
    const frame = { error: { message, type: 'server_error', param: null, code } }
    expect(deltasOf(encode([started, last]))).toEqual([ROLE, frame])
    expect(collect([started, last])).toEqual({ ok: false, error: { code, message } })
  })
})

describe('the visible text', () => {
  test('without rounds "all" excludes text before the edge’s tools', () => {
    expect(deltasOf(encode(AFTER_TOOL))).toEqual([ROLE, { content: 'Noon.' }, { reason: 'stop' }, 'DONE'])
    expect(deltasOf(encode(AFTER_TOOL, { rounds: 'all' }))).toEqual([
      ROLE,
      { content: 'Let me look.' },
      { content: '\n\nNoon.' },
      { reason: 'stop' },
      'DONE',
    ])
  })

  const preamble = 'y'.repeat(300)
  test.each([
    ['a short preamble is hidden', AFTER_TOOL, {}, 'Noon.'],
    ['all is shown with rounds "all"', AFTER_TOOL, { rounds: 'all' }, 'Let me look.\n\nNoon.'],
    [
      'an answer of which no delta was seen is shown',
      [started, step(1), stepAnswer(1, 'Noon.'), finished('Noon.')],
      {},
      'Noon.',
    ],
    [
      'what an answer has beyond the deltas that were seen is shown',
      [started, step(1), delta(1, 'No'), stepAnswer(1, 'Noon.'), finished('Noon. Sharp.')],
      {},
      'Noon. Sharp.',
    ],
    [
      'results returned direct are the answer',
      [
        started,
        step(1),
        delta(1, 'I look.'),
        stepAnswer(1, 'I look.', call('a')),
        settled('a'),
        finished('noon', { finish: 'return_direct' }),
      ],
      {},
      'noon',
    ],
    [
      'results returned direct stand apart from what was said before',
      [
        started,
        step(1),
        delta(1, 'I look.'),
        stepAnswer(1, 'I look.', call('a')),
        finished('noon', { finish: 'return_direct' }),
      ],
      { rounds: 'all' },
      'I look.\n\nnoon',
    ],
  ] as const)('%s', (_, events, options, content) => {
    const expectedEnd = { content, reason: 'stop' }
    expect(bothOf(events, options)).toEqual({ whole: expectedEnd, streamed: expectedEnd })
  })

  test('in a stream includes a long preamble, which may be the answer, and in a complete answer never does', () => {
    const events = [
      ...[started, step(1), delta(1, preamble), stepAnswer(1, preamble, call('a'))],
      ...[step(2), stepAnswer(2, 'Noon.'), finished('Noon.')],
    ]
    expect(bothOf(events)).toEqual({
      whole: { content: 'Noon.', reason: 'stop' },
      streamed: { content: `${preamble}\n\nNoon.`, reason: 'stop' },
    })
  })

  test('is held back until it fits its format', () => {
    const rejected: RunEventBody = { type: 'answer.rejected', step: 1, text: '{', issues: 'It is not JSON.' }
    const restarted: RunEventBody = { type: 'step.restarted', step: 1, attempt: 2 }
    const events = [
      started,
      step(1),
      delta(1, '{'),
      rejected,
      restarted,
      delta(1, '{}'),
      stepAnswer(1, '{}'),
      finished('{}'),
    ]
    const deltas = deltasOf(encode(events, { rounds: 'all', waitsForAnswer: true }))
    expect(deltas).toEqual([ROLE, { content: '{}' }, { reason: 'stop' }, 'DONE'])
  })

  test('that was shown and is then rejected ends the stream with an error', () => {
    const rejected: RunEventBody = { type: 'answer.rejected', step: 1, text: '{', issues: 'It is not JSON.' }
    const restarted: RunEventBody = { type: 'step.restarted', step: 1, attempt: 2 }
    const events = [
      started,
      step(1),
      delta(1, '{'),
      rejected,
      restarted,
      delta(1, '{}'),
      stepAnswer(1, '{}'),
      finished('{}'),
    ]
    const message = 'The streamed answer does not fit its format: It is not JSON.'
    const error = { message, type: 'server_error', param: null, code: 'invalid_answer' }
    expect(deltasOf(encode(events, { rounds: 'all' }))).toEqual([ROLE, { content: '{' }, { error }])
  })

  test('of a repeated step continues if it is the same, and else is an error', () => {
    const events: RunEventBody[] = [
      started,
      step(1),
      { type: 'reasoning.delta', step: 1, text: 'Hm' },
      delta(1, 'It is aft'),
      { type: 'step.restarted', step: 1, attempt: 2, because: 'interrupted' },
      delta(1, 'It is noon.'),
      stepAnswer(1, 'It is noon.'),
      finished('It is noon.'),
    ]
    expect(bothOf(events)).toMatchObject({ whole: { content: 'It is noon.' }, streamed: { content: 'It is noon.' } })
    const message = "The model's answer broke off and began again with other words."
    const error = { message, type: 'server_error', param: null, code: 'model_stream_cut' }
    const expected = [ROLE, { reasoning_content: 'Hm' }, { content: 'It is aft' }]
    expect(deltasOf(encode(events, { rounds: 'all' }))).toEqual([...expected, { error }])
    const same = events.map((event) => ({
      ...event,
      ...('text' in event && event.text === 'It is aft' && { text: 'It is' }),
    }))
    expect(bothOf(same as RunEventBody[], { rounds: 'all' })).toMatchObject({
      whole: { content: 'It is noon.' },
      streamed: { content: 'It is noon.' },
    })
    const shorter = [...events.slice(0, 5), stepAnswer(1, 'It'), finished('It')]
    expect(deltasOf(encode(shorter, { rounds: 'all' }))).toEqual([...expected, { error }])
    expect(collect(events)).not.toHaveProperty('body.choices.0.message.reasoning_content')
  })
})

describe('calls that the caller runs', () => {
  const mixed: RunEventBody[] = [
    started,
    step(1),
    delta(1, 'One moment.'),
    stepAnswer(1, 'One moment.', call('a'), call('b', 'pick'), call('c', 'pick')),
    settled('a'),
    requested('b'),
    requested('c'),
  ]

  test('follow the text before them, without the edge’s own calls', () => {
    const deltas = [
      ROLE,
      { content: 'One moment.' },
      toolCallDelta(0, 'b'),
      toolCallDelta(1, 'c'),
      { reason: 'tool_calls' },
      'DONE',
    ]
    expect(deltasOf(encode([...mixed, { type: 'run.waiting', for: 'caller', at: 1 }]))).toEqual(deltas)
    expect(deltasOf(encode([...mixed, ended(1), finished('One moment.', { finish: 'tool_calls' })]))).toEqual(deltas)
  })

  test('are in a complete answer beside what the edge did', () => {
    const waiting = collect([...mixed, { type: 'run.waiting', for: 'caller', at: 1 }], { conversation: 'conv_1' })
    expect(waiting).toEqual({
      ok: true,
      body: {
        ...HEAD,
        object: 'chat.completion',
        choices: [
          {
            index: 0,
            message: {
              role: 'assistant',
              content: 'One moment.',
              refusal: null,
              tool_calls: [chatCall('b'), chatCall('c')],
            },
            logprobs: null,
            finish_reason: 'tool_calls',
          },
        ],
        usage: CHAT_USAGE(10, 5),
        edgecall: {
          runId: RUN,
          conversation: 'conv_1',
          steps: 1,
          calls: [{ id: 'a', tool: 'clock', arguments: { for: 'a' }, ok: true, durationMs: 4 }],
          finish: 'tool_calls',
        },
      },
    })
  })

  test('make the content null if there is no text', () => {
    const events = [
      started,
      step(1),
      stepAnswer(1, '', call('b', 'pick')),
      requested('b'),
      finished('', { finish: 'tool_calls' }),
    ]
    expect(collect(events)).toMatchObject({ body: { choices: [{ message: { content: null } }] } })
  })

  test('are continued after their results in an answer that counts only its own steps', () => {
    const resumed: RunEventBody[] = [
      { type: 'run.resumed', at: 2 },
      ended(1),
      step(2),
      delta(2, 'Picked.'),
      stepAnswer(2, 'Picked.'),
      ended(2),
      finished('Picked.', { usage: { inputTokens: 99, outputTokens: 99 } }),
    ]
    expect(collect(resumed)).toMatchObject({
      body: {
        choices: [{ message: { content: 'Picked.' } }],
        usage: CHAT_USAGE(10, 5),
        edgecall: { steps: 1, finish: 'stop' },
      },
    })
  })
})

describe('a run that waits for approval', () => {
  const approvalRequest = (callId: string): RunEventBody => ({ type: 'approval.requested', ...call(callId) })
  const waiting: RunEventBody = { type: 'run.waiting', for: 'approval', at: 1 }
  const events: RunEventBody[] = [
    started,
    step(1),
    delta(1, 'I need consent.'),
    stepAnswer(1, 'I need consent.', call('a'), call('b')),
    approvalRequest('a'),
    approvalRequest('b'),
    { type: 'approval.decided', callId: 'a', decision: 'approve' },
    waiting,
  ]

  test('has the reason for its wait', () => {
    const expectedEnd = { content: 'Waits for clock b.', reason: 'stop' }
    expect(bothOf(events, { waitingText })).toEqual({ whole: expectedEnd, streamed: expectedEnd })
    expect(collect(events, { waitingText })).toMatchObject({ body: { edgecall: { finish: 'waiting' } } })
  })

  test('still hands out calls of its caller', () => {
    const both = [...events.slice(0, -1), requested('c'), waiting]
    const expectedEnd = { content: 'I need consent.\n\nWaits for clock b.', reason: 'tool_calls' }
    expect(bothOf(both, { waitingText })).toEqual({ whole: expectedEnd, streamed: expectedEnd })
  })
})

test.each([
  ['stop', 'stop'],
  ['return_direct', 'stop'],
  ['tool_calls', 'tool_calls'],
  ['length', 'length'],
  ['limit', 'length'],
  ['content_filter', 'content_filter'],
] as const)('the finish %s becomes %s', (finish, reason) => {
  const events = [started, step(1), stepAnswer(1, 'So far.'), finished('So far.', { finish })]
  const { whole, streamed } = bothOf(events)
  expect([whole.reason, streamed.reason]).toEqual([reason, reason])
  expect(collect(events)).toMatchObject({ body: { edgecall: { finish } } })
})

describe('a complete chat completion', () => {
  test('lists the calls of the edge', () => {
    const broken = { callId: 'b', tool: 'clock', arguments: '{zone' }
    const events: RunEventBody[] = [
      started,
      step(1),
      stepAnswer(1, '', call('a'), broken, { ...call('c'), arguments: '' }),
      settled('c'),
      settled('b', false),
      settled('a'),
      step(2),
      stepAnswer(2, 'Noon.'),
      finished('Noon.'),
    ]
    expect(collect(events)).toEqual({
      ok: true,
      body: {
        ...HEAD,
        object: 'chat.completion',
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: 'Noon.', refusal: null },
            logprobs: null,
            finish_reason: 'stop',
          },
        ],
        usage: CHAT_USAGE(20, 10),
        edgecall: {
          runId: RUN,
          steps: 2,
          calls: [
            { id: 'a', tool: 'clock', arguments: { for: 'a' }, ok: true, durationMs: 4 },
            { id: 'b', tool: 'clock', arguments: '{zone', ok: false, durationMs: 4 },
            { id: 'c', tool: 'clock', arguments: {}, ok: true, durationMs: 4 },
          ],
          finish: 'stop',
        },
      },
    })
  })
})

test('an edge can be the model of another edge', async () => {
  const events = [
    started,
    step(1),
    { type: 'reasoning.delta', step: 1, text: 'A tool.' } as const,
    delta(1, 'One moment.'),
    stepAnswer(1, 'One moment.', call('b', 'pick')),
    requested('b'),
    finished('One moment.', { finish: 'tool_calls' }),
  ]
  const bytes = new TextEncoder().encode(encode(events, { includeUsage: true }))
  expect(await replay(inPieces(bytes, 50), chatCodec('openai-chat'))).toEqual([
    { type: 'reasoning', text: 'A tool.' },
    { type: 'text', text: 'One moment.' },
    { type: 'call.delta', index: 0, tool: 'pick', arguments: '{"for":"b"}' },
    { type: 'call', index: 0, tool: 'pick', arguments: '{"for":"b"}' },
    { type: 'finish', finish: 'tool_calls', usage: USAGE },
  ])
})

describe('the official OpenAI client', () => {
  const request = { model: 'probe', messages: [{ role: 'user' as const, content: 'Hi' }] }

  test('assembles the stream', async () => {
    const events = [
      started,
      step(1),
      delta(1, 'One moment.'),
      stepAnswer(1, 'One moment.', call('b', 'pick')),
      requested('b'),
      finished('One moment.', { finish: 'tool_calls' }),
    ]
    const completion = await clientOf(encode(events, { includeUsage: true }))
      .chat.completions.stream({ ...request, stream_options: { include_usage: true } })
      .finalChatCompletion()
    expect(completion).toMatchObject({
      ...HEAD,
      choices: [
        {
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            content: 'One moment.',
            tool_calls: [{ id: 'b', type: 'function', function: { name: 'pick', arguments: '{"for":"b"}' } }],
          },
        },
      ],
      usage: CHAT_USAGE(10, 5),
    })
  })

  test('throws the error of a failed run', async () => {
    const error = { code: 'model_unavailable', message: 'The engine is overloaded.' }
    const text = encode([started, finished('', { status: 'failed', finish: 'error', error })])
    const stream = await clientOf(text).chat.completions.create({ ...request, stream: true })
    const read = async () => {
      for await (const chunk of stream) expect(chunk.object).toBe('chat.completion.chunk')
    }
    await expect(read()).rejects.toThrow('The engine is overloaded.')
  })
})
