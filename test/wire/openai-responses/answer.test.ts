import OpenAI from 'openai'
import type { Response as OpenAiResponse } from 'openai/resources/responses/responses'
import { describe, expect, test } from 'vitest'
import type { RunEvent, RunEventBody } from '../../../src/contract/event.ts'
import type { CallRecord } from '../../../src/contract/run.ts'
import {
  responseEncoder,
  type ResponseOptions,
  ResponseReader,
} from '../../../src/wire/client/openai-responses/answer.ts'
import { ask, id, type Play, play, RUN_ID, say, tool } from '../../fixtures/play.ts'

const HEAD = { id: 'resp_1', model: 'probe', created: 1790000000 }
const ECHO = { tools: [], text: { format: { type: 'text' } }, parallel_tool_calls: true }
const RUN = RUN_ID.slice(4)

type Event = { readonly type: string; readonly sequence_number: number } & Readonly<Record<string, any>>

function encode(events: readonly RunEvent[], options: Partial<ResponseOptions> = {}): string {
  const encoder = responseEncoder({ ...HEAD, echo: ECHO, rounds: 'final', ...options })
  return events.map(encoder.event).join('') + encoder.end()
}

/** What the frames hold, each under the name of its type and numbered from 0. */
function framesOf(text: string): Event[] {
  const frames = text.split('\n\n').slice(0, -1)
  return frames.map((frame, index) => {
    const [name, data] = frame.split('\ndata: ')
    const event = JSON.parse(data!) as Event
    expect(name).toBe(`event: ${event.type}`)
    expect(event.sequence_number).toBe(index)
    return event
  })
}

/** The events between the first two and the last: what happens to the output. */
function outputOf(text: string): object[] {
  const events = framesOf(text)
  expect(events.slice(0, 2).map((event) => event.type)).toEqual(['response.created', 'response.in_progress'])
  return events.slice(2, -1).map(({ sequence_number: _number, ...event }) => event)
}

/** What the official client reads from the stream, after it has checked it event by event. */
async function readBySdk(text: string): Promise<OpenAiResponse> {
  const client = new OpenAI({
    apiKey: 'none',
    maxRetries: 0,
    fetch: () => Promise.resolve(new Response(text, { headers: { 'content-type': 'text/event-stream' } })),
  })
  return client.responses.stream({ model: 'probe', input: 'Hi' }).finalResponse()
}

/** The response as it is sent whole. */
function collect(events: readonly RunEvent[], options: Partial<ResponseOptions> = {}) {
  const reader = new ResponseReader({ ...HEAD, echo: ECHO, rounds: 'final', waitsForAnswer: true, ...options })
  for (const event of events) if (!event.type.endsWith('.delta')) reader.take(event)
  return { error: reader.error, response: reader.response as unknown as OpenAiResponse }
}

const place = (bodies: readonly RunEventBody[], seq = 1): RunEvent[] =>
  bodies.map((body, index) => ({ ...body, runId: RUN_ID, seq: seq + index }))

const textPart = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] })
const message = (seq: number | string, text: string, status = 'completed') => ({
  id: `msg_${RUN}_${seq}`,
  type: 'message',
  role: 'assistant',
  status,
  content: [textPart(text)],
})
const mcpCall = (step: number, index: number, name: string, rest: object) => ({
  id: `mcp_${id(step, index)}`,
  type: 'mcp_call',
  server_label: 'edgecall',
  name,
  arguments: '{}',
  output: null,
  error: null,
  approval_request_id: null,
  ...rest,
})

const script: Play['script'] = [
  [
    { type: 'reasoning', text: 'Hmm, ' },
    { type: 'reasoning', text: 'clocks.' },
    { type: 'text', text: 'Let me look.' },
    ...ask(['clock', { a: 1 }]),
  ],
  [{ type: 'reasoning', text: 'Noon.' }, ...say('It is noon.')],
]
const clock = tool('clock', () => '12:00')

test('a streamed response emits its items one by one, then itself', async () => {
  const { events } = await play({ script, tools: [clock] })
  const text = encode(events, { conversation: 'c1' })
  // Each names the conversation that keeps it.
  const thought = `rs_${RUN}_3_c1`
  const second = `rs_${RUN}_12_c1`
  const call = `mcp_${id(1, 0)}_c1`
  const messageId = `msg_${RUN}_14_c1`
  const summary = (text: string) => ({ type: 'summary_text', text })
  const about = (output_index: number, item_id: string) => ({ item_id, output_index })
  const started = mcpCall(1, 0, 'clock', { id: call, arguments: '', status: 'in_progress' })
  const done = mcpCall(1, 0, 'clock', { id: call, arguments: '{"a":1}', status: 'completed', output: '12:00' })
  const reasoning = (output_index: number, item_id: string, ...deltas: string[]) => {
    const place = { ...about(output_index, item_id), summary_index: 0 }
    const text = deltas.join('')
    return [
      { type: 'response.output_item.added', output_index, item: { id: item_id, type: 'reasoning', summary: [] } },
      { type: 'response.reasoning_summary_part.added', ...place, part: summary('') },
      ...deltas.map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...place, delta })),
      { type: 'response.reasoning_summary_text.done', ...place, text },
      { type: 'response.reasoning_summary_part.done', ...place, part: summary(text) },
      {
        type: 'response.output_item.done',
        output_index,
        item: { id: item_id, type: 'reasoning', summary: [summary(text)] },
      },
    ]
  }
  expect(outputOf(text)).toEqual([
    ...reasoning(0, thought, 'Hmm, ', 'clocks.'),
    { type: 'response.output_item.added', output_index: 1, item: started },
    { type: 'response.mcp_call.in_progress', ...about(1, call) },
    { type: 'response.mcp_call_arguments.delta', ...about(1, call), delta: '{"a":1}' },
    { type: 'response.mcp_call_arguments.done', ...about(1, call), arguments: '{"a":1}' },
    { type: 'response.mcp_call.completed', ...about(1, call) },
    { type: 'response.output_item.done', output_index: 1, item: done },
    ...reasoning(2, second, 'Noon.'),
    {
      type: 'response.output_item.added',
      output_index: 3,
      item: { ...message('14_c1', ''), status: 'in_progress', content: [] },
    },
    { type: 'response.content_part.added', ...about(3, messageId), content_index: 0, part: textPart('') },
    {
      type: 'response.output_text.delta',
      ...about(3, messageId),
      content_index: 0,
      delta: 'It is noon.',
      logprobs: [],
    },
    { type: 'response.output_text.done', ...about(3, messageId), content_index: 0, text: 'It is noon.', logprobs: [] },
    { type: 'response.content_part.done', ...about(3, messageId), content_index: 0, part: textPart('It is noon.') },
    { type: 'response.output_item.done', output_index: 3, item: message('14_c1', 'It is noon.') },
  ])
  const response = {
    id: 'resp_1',
    object: 'response',
    created_at: 1790000000,
    status: 'completed',
    error: null,
    incomplete_details: null,
    model: 'probe',
    output: [
      { id: thought, type: 'reasoning', summary: [summary('Hmm, clocks.')] },
      done,
      { id: second, type: 'reasoning', summary: [summary('Noon.')] },
      message('14_c1', 'It is noon.'),
    ],
    usage: {
      input_tokens: 20,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 10,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 30,
    },
    ...ECHO,
    edgecall: { runId: RUN_ID, conversation: 'c1', steps: 2, finish: 'stop' },
  }
  expect(framesOf(text).at(-1)).toMatchObject({ type: 'response.completed', response: response })
  expect(framesOf(text)[0]!['response']).toEqual({
    ...response,
    status: 'in_progress',
    output: [],
    usage: null,
    edgecall: undefined,
  })
})

describe('the official OpenAI client reads', () => {
  const run = async (run: Play, options?: Partial<ResponseOptions>) => {
    const { events } = await play(run)
    const response = await readBySdk(encode(events, options))
    const complete = collect(events, options)
    // What is sent whole is what the stream adds up to, but for ids, which say where it began.
    const shape = ({ output, status, usage, incomplete_details }: OpenAiResponse) => ({
      output: output.map((item) => JSON.stringify(item).replaceAll(/(msg|rs)_\w+|,"parsed(_arguments)?":null/g, '')),
      status,
      usage,
      incomplete_details,
    })
    if (!complete.error) expect(shape(complete.response)).toEqual(shape(response))
    return response
  }

  test('an answer after calls, whose preamble is only shown on request', async () => {
    expect((await run({ script, tools: [clock] })).output_text).toBe('It is noon.')
    const all = await run({ script, tools: [clock] }, { rounds: 'all' })
    expect(all.output.map((item) => item.type)).toEqual(['reasoning', 'message', 'mcp_call', 'reasoning', 'message'])
    expect(all.output_text).toBe('Let me look.\n\nIt is noon.')
  })

  test('parallel calls, one of which failed', async () => {
    const gate = Promise.withResolvers<string>()
    const slow = tool('slow', () => gate.promise)
    const quick = tool('quick', () => {
      gate.resolve('slow')
      return { ok: false, error: { code: 'tool_failed', message: 'It broke.' } }
    })
    const response = await run({ script: [ask(['slow'], ['quick']), say('Hm.')], tools: [slow, quick] })
    const content = [{ type: 'text', text: 'It broke.' }]
    expect(response.output.slice(0, 2)).toEqual([
      mcpCall(1, 0, 'slow', { status: 'completed', output: 'slow' }),
      mcpCall(1, 1, 'quick', { status: 'failed', error: { type: 'mcp_tool_execution_error', content } }),
    ])
  })

  test('a call that did not run', async () => {
    const response = await run({ script: [ask(['nope']), say('Hm.')] })
    expect(response.output[0]).toMatchObject({ type: 'mcp_call', name: 'nope', status: 'failed', output: null })
  })

  const pick = { name: 'pick', description: 'Picks', inputSchema: { type: 'object' } }

  test('calls for itself, with the text before them', async () => {
    const script: Play['script'] = [[{ type: 'text', text: 'Pick one.' }, ...ask(['clock'], ['pick', { of: 2 }])]]
    const response = await run({ script, tools: [clock], request: { clientTools: [pick] } })
    expect(response.status).toBe('completed')
    expect(response.output.map(({ type }) => type)).toEqual(['mcp_call', 'message', 'function_call'])
    expect(response.output[2]).toEqual({
      id: `fc_${id('01', 1)}`,
      type: 'function_call',
      call_id: id('01', 1),
      name: 'pick',
      arguments: '{"of":2}',
      status: 'completed',
      parsed_arguments: null,
    })
  })

  test('approvals as those of an MCP server', async () => {
    const danger = tool('danger', () => 'boom', { approval: 'always' })
    const response = await run({
      script: [ask(['danger', { a: 1 }])],
      tools: [danger],
      request: { conversation: 'c1' },
    })
    expect(response.output).toEqual([
      {
        id: `mcpr_${id(1, 0)}`,
        type: 'mcp_approval_request',
        server_label: 'edgecall',
        name: 'danger',
        arguments: '{"a":1}',
      },
    ])
  })

  test('an incomplete answer and its reason', async () => {
    const cut = (finish: 'length' | 'content_filter'): Play['script'] => [
      [
        { type: 'text', text: 'It is' },
        { type: 'finish', finish },
      ],
    ]
    const long = await run({ script: cut('length') })
    expect(long).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
    expect(long.output).toMatchObject([{ status: 'incomplete', content: [{ text: 'It is' }] }])
    expect(await run({ script: cut('content_filter') })).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
    })
  })

  test('a failure in mid-stream', async () => {
    const broken: Play['script'] = [
      [
        { type: 'text', text: 'x'.repeat(300) },
        { type: 'error', error: { code: 'model_rate_limited', message: 'Slow down.', retryable: true } },
      ],
    ]
    const response = await run({ script: broken })
    expect(response).toMatchObject({
      status: 'failed',
      error: { code: 'rate_limit_exceeded', message: 'Slow down.', edgecall: 'model_rate_limited' },
      output: [{ type: 'message', status: 'incomplete' }],
    })
  })
})

test('a failed response has the reason', async () => {
  const { events } = await play({
    script: [[{ type: 'error', error: { code: 'model_failed', message: 'No.', retryable: false } }]],
  })
  expect(collect(events).error).toEqual({ code: 'model_failed', message: 'No.' })
})

test('events that break off are a failure; calls that ran are incomplete', async () => {
  const events = place([
    { type: 'step.started', step: 1 },
    {
      type: 'step.answered',
      step: 1,
      text: '',
      calls: [{ callId: id(1, 0), tool: 'clock', arguments: '{}' }],
      finish: 'tool_calls',
    },
    { type: 'call.started', callId: id(1, 0), tool: 'clock', attempt: 1, at: 0, deadline: 1 },
  ])
  const response = await readBySdk(encode(events))
  expect(response).toMatchObject({
    status: 'failed',
    error: { code: 'server_error', edgecall: 'run_interrupted' },
    output: [{ type: 'mcp_call', status: 'incomplete' }],
  })
})

test('a repeated step leaves nothing of its first attempt in a complete response', () => {
  const events = place([
    { type: 'step.started', step: 1 },
    { type: 'text.delta', step: 1, text: 'y'.repeat(300) },
    { type: 'step.restarted', step: 1, attempt: 2 },
    { type: 'text.delta', step: 1, text: 'Noon.' },
    { type: 'step.answered', step: 1, text: 'Noon.', calls: [], finish: 'stop' },
    {
      type: 'run.finished',
      status: 'completed',
      finish: 'stop',
      answer: 'Noon.',
      usage: { inputTokens: 1, outputTokens: 1 },
    },
  ])
  expect(collect(events).response.output).toMatchObject([{ content: [{ text: 'Noon.' }] }])
})

test('a continued response lists approvals, and no results that its caller gave', async () => {
  const pendingCalls: CallRecord[] = [{ id: id(1, 0), tool: 'danger', arguments: { a: 1 }, status: 'approval' }]
  const events = place(
    [
      { type: 'call.settled', callId: id(1, 1), tool: 'pick', ok: true, content: [], durationMs: 0 },
      { type: 'approval.decided', callId: id(1, 0), decision: 'approve' },
      { type: 'run.resumed', at: 0 },
      { type: 'call.started', callId: id(1, 0), tool: 'danger', attempt: 1, at: 0, deadline: 1 },
      {
        type: 'call.settled',
        callId: id(1, 0),
        tool: 'danger',
        ok: true,
        content: [{ type: 'text', text: 'boom' }],
        durationMs: 1,
      },
      { type: 'step.finished', step: 1, finish: 'tool_calls' },
      {
        type: 'run.finished',
        status: 'completed',
        finish: 'return_direct',
        answer: 'boom',
        usage: { inputTokens: 1, outputTokens: 1 },
      },
    ],
    20,
  )
  const response = await readBySdk(encode(events, { pendingApprovals: pendingCalls }))
  expect(response.output.slice(0, 1)).toEqual([
    mcpCall(1, 0, 'danger', {
      arguments: '{"a":1}',
      status: 'completed',
      output: 'boom',
      approval_request_id: `mcpr_${id(1, 0)}`,
    }),
  ])
  expect(response.output_text).toBe('boom')
})

test('nothing is emitted after the end', async () => {
  const { events } = await play({ script: [say('Hi.')] })
  const more = place([{ type: 'text.delta', step: 2, text: 'More' }], 90)
  expect(encode([...events, ...more])).toBe(encode(events))
})
