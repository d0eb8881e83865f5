import type { Observer } from '../../src/contract/hook.ts'
import type { Message } from '../../src/contract/message.ts'
import { expect, test, vi } from 'vitest'
import type { RunFact } from '../../src/contract/event.ts'
import { failure } from '../../src/contract/tool.ts'
import { traceOf, traceparentOf } from '../../src/contract/trace.ts'
import { NO_USAGE } from '../../src/contract/usage.ts'
import { logs } from '../../src/observe/log.ts'
import type { Span } from '../../src/observe/span-recorder.ts'
import { spansOf } from '../../src/observe/spans.ts'
import { spans } from '../fixtures/spans.ts'
import { ask, id, play, requestOf, RUN_ID, say, tool } from '../fixtures/play.ts'

const scene = {
  script: [ask(['add', { a: 1 }], ['broken']), say('done')],
  tools: [tool('add', () => '3'), tool('broken', () => failure('gone', 'The secret is gone.'))],
  request: { conversation: 'conv_1' },
}

const CALLS = { runId: RUN_ID, tenant: 'acme', durationMs: 0 }
const STEP = { runId: RUN_ID, tenant: 'acme', usage: { inputTokens: 10, outputTokens: 5 } }
const RUN = {
  event: 'run',
  runId: RUN_ID,
  tenant: 'acme',
  conversation: 'conv_1',
  model: 'test/scripted',
  status: 'completed',
  finish: 'stop',
  usage: { inputTokens: 20, outputTokens: 10 },
}

test('logs have steps, calls and runs without content', async () => {
  const entries: object[] = []
  await play({ ...scene, loop: { observe: logs((entry) => entries.push(entry)) } })
  expect(entries).toEqual([
    { event: 'step', ...STEP, step: 1, finish: 'tool_calls', calls: 2 },
    { event: 'call', ...CALLS, callId: id(1, 0), tool: 'add', ok: true, bytes: 1 },
    { event: 'call', ...CALLS, callId: id(1, 1), tool: 'broken', ok: false, bytes: 0, code: 'gone' },
    { event: 'step', ...STEP, step: 2, finish: 'stop', calls: 0 },
    RUN,
  ])
})

test('logs tell what a run waits for', async () => {
  const entries: object[] = []
  const pay = tool('pay', () => 'paid', { approval: 'always' })
  await play({
    script: [ask(['pay'])],
    tools: [pay],
    request: { conversation: 'conv_1' },
    loop: { observe: logs((entry) => entries.push(entry)) },
  })
  const run = { runId: RUN_ID, tenant: 'acme' }
  expect(entries.slice(1)).toEqual([
    { event: 'approval.requested', ...run, callId: id(1, 0), tool: 'pay' },
    { event: 'run.waiting', ...run, for: 'approval', model: 'test/scripted', conversation: 'conv_1' },
  ])
})

test('logs have content if `includeContent` is set', async () => {
  const entries: object[] = []
  await play({ ...scene, loop: { observe: logs((entry) => entries.push(entry), { includeContent: true }) } })
  expect(entries).toMatchObject([
    { event: 'step' },
    { arguments: { a: 1 }, content: [{ type: 'text', text: '3' }] },
    { arguments: {}, error: { code: 'gone', message: 'The secret is gone.' } },
    { event: 'step', text: 'done' },
    { answer: 'done' },
  ])
})

test('a run is a trace: below it its steps, and below each of these the model call and the calls that it requested', async () => {
  const runSpans: Span[] = []
  await play({ ...scene, loop: { observe: spans((span) => runSpans.push(span), { now: () => 5 }) } })
  const nameOf = (id: string | undefined) => runSpans.find(({ spanId }) => spanId === id)?.name
  expect(runSpans.map(({ name, parentId, error }) => [name, nameOf(parentId), error])).toEqual([
    ['chat scripted', 'step 1', undefined],
    ['execute_tool add', 'step 1', undefined],
    ['execute_tool broken', 'step 1', 'gone'],
    ['step 1', 'invoke_agent', undefined],
    ['chat scripted', 'step 2', undefined],
    ['step 2', 'invoke_agent', undefined],
    ['invoke_agent', undefined, undefined],
  ])
  expect(new Set(runSpans.map(({ traceId }) => traceId)).size).toBe(1)
  expect(new Set(runSpans.map(({ spanId }) => spanId)).size).toBe(runSpans.length)
  expect(runSpans[4]?.attributes).toEqual({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'test',
    'gen_ai.request.model': 'scripted',
    'gen_ai.request.stream': true,
    'gen_ai.conversation.id': 'conv_1',
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 5,
    'edgecall.attempt': 1,
  })
  expect(runSpans[2]?.attributes).toEqual({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'broken',
    'gen_ai.tool.call.id': id(1, 1),
    'gen_ai.tool.type': 'function',
    'edgecall.attempt': 1,
    'edgecall.tool.place': 'test',
    'edgecall.tool.version': '1',
    'error.type': 'gone',
  })
})

const RUN_REQUEST = { ...requestOf({}), trace: traceOf(null, RUN_ID, true)! }
const start: RunFact = { type: 'run.started', model: 'test/scripted', tools: [], at: 0 }
const end: RunFact = { type: 'run.finished', status: 'completed', finish: 'stop', answer: '', usage: NO_USAGE }
const stepAnswer: RunFact = {
  ...{ type: 'step.answered', step: 1, text: '', finish: 'tool_calls' },
  calls: [{ callId: id(1, 0), tool: 'pay', arguments: '{}' }],
}
const started = (attempt: number): RunFact => {
  return { type: 'call.started', callId: id(1, 0), tool: 'pay', attempt, at: 0, deadline: 9 }
}
const settledCall: RunFact = {
  type: 'call.settled',
  callId: id(1, 0),
  tool: 'pay',
  ok: true,
  content: [],
  durationMs: 1,
}

/** What happens in a run after its first step has begun, and the spans and events that tell of it. */
const HAPPENINGS: readonly [string, readonly RunFact[], readonly (readonly unknown[])[]][] = [
  [
    'a request to the model that is made again',
    [{ type: 'model.retried', step: 1, code: 'model_rate_limited', status: 429, durationMs: 3 }],
    [['chat scripted', undefined, ['model.retried']]],
  ],
  [
    'an attempt at the step that is lost with its object',
    [{ type: 'step.restarted', step: 1, attempt: 2, because: 'interrupted' }],
    [
      ['chat scripted', 'interrupted', []],
      ['chat scripted', undefined, []],
    ],
  ],
  [
    'an answer that does not fit the format',
    [
      { type: 'answer.rejected', step: 1, text: '', issues: '' },
      { type: 'step.restarted', step: 1, attempt: 2 },
    ],
    [
      ['chat scripted', 'answer_rejected', []],
      ['chat scripted', undefined, []],
    ],
  ],
  ['an answer that is cut', [{ type: 'answer.cut', step: 1, usage: NO_USAGE }], [['chat scripted', 'answer_cut', []]]],
  [
    'a call that is sent again',
    [stepAnswer, started(1), { type: 'call.interrupted', callId: id(1, 0), tool: 'pay' }, started(2), settledCall],
    [
      ['chat scripted', undefined, []],
      ['execute_tool pay', 'interrupted', []],
      ['execute_tool pay', undefined, []],
    ],
  ],
  [
    'a call that never settles',
    [stepAnswer, started(1)],
    [
      ['chat scripted', undefined, []],
      ['execute_tool pay', 'interrupted', []],
    ],
  ],
]

test.each(HAPPENINGS)('%s shows in the spans', (_what, facts, expected) => {
  const all = [start, { type: 'step.started', step: 1 } as const, ...facts, end]
  const timed = all.map((event, at) => ({ event, at }))
  const inputs = spansOf({ request: RUN_REQUEST, acceptedAt: 0, facts: timed })
  const isPart = ({ name }: Span) => !name.startsWith('step') && name !== 'invoke_agent'
  const actual = inputs
    .filter(isPart)
    .map(({ name, error, events = [] }) => [name, error, events.map((each) => each.name)])
  expect(actual).toEqual(expected)
  // Made again, by another instance, they are the same.
  expect(spansOf({ request: RUN_REQUEST, acceptedAt: 0, facts: timed })).toEqual(inputs)
})

/** A run that waits for a tool and then for a person, is answered, and waits for its caller. */
const WAITS: readonly RunFact[] = [
  start,
  { type: 'step.started', step: 1 },
  stepAnswer,
  started(1),
  { type: 'run.waiting', for: 'tool', at: 4 },
  { type: 'run.waiting', for: 'approval', at: 5 },
  { type: 'approval.decided', callId: id(1, 1), decision: 'approve', by: 'key_1' },
  { type: 'run.waiting', for: 'agent', agents: [], at: 7 },
  settledCall,
  { type: 'run.resumed', at: 9 },
  { type: 'step.finished', step: 1, finish: 'tool_calls' },
  { type: 'step.started', step: 2 },
  { ...stepAnswer, step: 2, calls: [] },
  { type: 'run.waiting', for: 'caller', at: 13 },
  { type: 'run.cancelling' },
  end,
]

test('each time a run begins to wait or ends, the spans since the last time follow, linked to those that they continue', () => {
  const timed = WAITS.map((event, at) => ({ event, at }))
  const parts = [5, 6, 14, 16].map((count) =>
    spansOf({ request: RUN_REQUEST, acceptedAt: 0, facts: timed.slice(0, count) }),
  )
  const all = parts.flat()
  const nameOf = (id: string | undefined) => all.find(({ spanId }) => spanId === id)?.name
  const outlines = parts.map((part) =>
    part.map(({ name, parentId, continues, start: from, end: to }) => [
      name,
      nameOf(parentId),
      nameOf(continues),
      from,
      to,
    ]),
  )
  expect(outlines).toEqual([
    [
      ['chat scripted', 'step 1', undefined, 1, 2],
      ['step 1', 'invoke_agent', undefined, 1, 4],
      ['execute_tool pay', 'step 1', undefined, 0, 4],
      ['invoke_agent', undefined, undefined, 0, 4],
    ],
    [],
    [
      ['execute_tool pay', 'step 1', 'execute_tool pay', 6, 8],
      ['step 1', 'invoke_agent', 'step 1', 6, 10],
      ['chat scripted', 'step 2', undefined, 11, 12],
      ['step 2', 'invoke_agent', undefined, 11, 13],
      ['invoke_agent', undefined, 'invoke_agent', 6, 13],
    ],
    [
      ['step 2', 'invoke_agent', 'step 2', 14, 15],
      ['invoke_agent', undefined, 'invoke_agent', 14, 15],
    ],
  ])
  expect(new Set(all.map(({ spanId }) => spanId)).size).toBe(all.length)
  expect(
    all.filter(({ name }) => name === 'invoke_agent').map((span) => [span.attributes['edgecall.wait'], span.events]),
  ).toEqual([
    ['tool', [{ name: 'run.waiting', at: 4 }]],
    [
      'caller',
      [
        { name: 'approval.decided', at: 6, attributes: { 'gen_ai.tool.call.id': id(1, 1) } },
        { name: 'run.waiting', at: 7 },
        { name: 'run.resumed', at: 9 },
        { name: 'run.waiting', at: 13 },
      ],
    ],
    [undefined, [{ name: 'run.cancelling', at: 14 }]],
  ])
})

test.each(['limit.reached', 'run.resumed', 'run.parked', 'run.retried', 'run.cancelling'])(
  '%s is an event of the span of the run',
  (type) => {
    const fact = { type, which: 'tokens', for: 'approval', reason: '', at: 1 } as unknown as RunFact
    const facts = [start, fact, end].map((event, at) => ({ event, at }))
    expect(spansOf({ request: RUN_REQUEST, acceptedAt: 0, facts })).toMatchObject([{ events: [{ name: type, at: 1 }] }])
  },
)

test.each([
  ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', true],
  ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00', false],
  ['cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later', true],
])('the traceparent %s is taken in', (header, isSampled) => {
  expect(traceOf(header, RUN_ID, true)).toMatchObject({ parent: 'b7ad6b7169203331', isSampled })
  // An edge that makes no spans passes it on unchanged.
  const flags = isSampled ? '01' : '00'
  const traceparent = traceparentOf({ trace: traceOf(header, RUN_ID, false), runId: RUN_ID }, '1')
  expect(traceparent).toBe(`00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-${flags}`)
})

test.each([
  '',
  '00-00000000000000000000000000000000-b7ad6b7169203331-01',
  '00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01',
  'ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  '00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01',
  '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x',
])('the traceparent "%s" is not valid and is ignored', (header) => {
  expect(traceOf(header, RUN_ID, false)).toBeUndefined()
  expect(traceOf(header, RUN_ID, true)).toMatchObject({ isSampled: true, id: expect.stringMatching(/^[0-9a-f]{32}$/) })
})

test('spans have arguments and results if `includeContent` is set', async () => {
  const runSpans: Span[] = []
  await play({ ...scene, loop: { observe: spans((span) => runSpans.push(span), { includeContent: true }) } })
  expect(runSpans[1]?.attributes).toMatchObject({
    'gen_ai.tool.call.arguments': '{"a":1}',
    'gen_ai.tool.call.result': '{"content":[{"type":"text","text":"3"}]}',
  })
})

test('spans have messages as the convention has them if `includeContent` is set', async () => {
  const runSpans: Span[] = []
  const input: Message[] = [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Add it.' },
        { type: 'image', mediaType: 'image/png', data: 'aGk=' },
        { type: 'file', mediaType: 'application/pdf', url: 'https://example.com/a.pdf' },
      ],
    },
    { role: 'assistant', content: '', calls: [{ callId: 'c', tool: 'add', arguments: '{"a":2}' }] },
    { role: 'tool', callId: 'c', tool: 'add', ok: true, content: [{ type: 'text', text: '4' }] },
  ]
  await play({
    ...scene,
    request: { input, system: 'Be brief.' },
    loop: { observe: spans((span) => runSpans.push(span), { includeContent: true }) },
  })
  const messages = (name: string, key: string) => {
    const value = runSpans.find((span) => span.name === name)?.attributes[key]
    return JSON.parse(typeof value === 'string' ? value : 'null')
  }
  expect(messages('invoke_agent', 'gen_ai.input.messages')).toEqual([
    {
      role: 'user',
      parts: [
        { type: 'text', content: 'Add it.' },
        { type: 'blob', modality: 'image', mime_type: 'image/png', content: 'aGk=' },
        { type: 'uri', modality: 'document', mime_type: 'application/pdf', uri: 'https://example.com/a.pdf' },
      ],
    },
    { role: 'assistant', parts: [{ type: 'tool_call', id: 'c', name: 'add', arguments: { a: 2 } }] },
    { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c', response: '4' }] },
  ])
  expect(messages('invoke_agent', 'gen_ai.system_instructions')).toEqual([{ type: 'text', content: 'Be brief.' }])
  expect(messages('invoke_agent', 'gen_ai.output.messages')).toEqual([
    { role: 'assistant', parts: [{ type: 'text', content: 'done' }], finish_reason: 'stop' },
  ])
  expect(messages('chat scripted', 'gen_ai.output.messages')).toEqual([
    {
      role: 'assistant',
      parts: [
        { type: 'tool_call', id: id(1, 0), name: 'add', arguments: { a: 1 } },
        { type: 'tool_call', id: id(1, 1), name: 'broken', arguments: {} },
      ],
      finish_reason: 'tool_call',
    },
  ])
})

test('a call that is refused has a span with the reason', async () => {
  const runSpans: Span[] = []
  const script = [ask(['unknown', { a: 1 }]), say('done')]
  await play({ ...scene, script, loop: { observe: spans((span) => runSpans.push(span)) } })
  expect(runSpans.find(({ name }) => name === 'execute_tool unknown')).toMatchObject({
    error: 'unknown_tool',
    parentId: runSpans.find(({ name }) => name === 'step 1')?.spanId,
    attributes: { 'gen_ai.tool.call.id': id(1, 0), 'error.type': 'unknown_tool', 'edgecall.attempt': 0 },
  })
})

test('an observer that throws is reported and does not stop the run', async () => {
  const { state, faults } = await play({
    script: [say('done')],
    loop: {
      observe: () => {
        throw new Error('no disk')
      },
    },
  })
  expect(state.finished?.answer).toBe('done')
  expect(faults).toMatchObject([{ code: 'observer_failed', detail: 'no disk' }, {}, {}, {}, {}])
})

test('logs drop the arguments of a run that hands its calls to the caller', async () => {
  const facts: Parameters<Observer>[] = []
  const theirs = { name: 'theirs', description: '', inputSchema: {} }
  const observe: Observer = (...fact) => void facts.push(fact)
  await play({ script: [ask(['theirs', { a: 1 }])], loop: { observe }, request: { clientTools: [theirs] } })
  const set = vi.spyOn(Map.prototype, 'set')
  try {
    const observer = logs(() => {}, { includeContent: true })
    for (const fact of facts) observer(...fact)
    const maps = set.mock.contexts.flatMap((map) => (map instanceof Map ? [map] : []))
    expect(maps.map((map) => [...map])).toEqual([[]])
  } finally {
    set.mockRestore()
  }
})
