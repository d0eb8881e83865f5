import { describe, expect, test } from 'vitest'
import { parseResponseId, responseId } from '../../../src/wire/client/openai-responses/output.ts'
import { decodeResponses } from '../../../src/wire/client/openai-responses/request.ts'

function decoded(body: unknown) {
  const result = decodeResponses(body)
  if (!result.ok) throw new Error(result.error.message)
  return result.request
}

const RUN = '0000000000000000000000'
const user = (content: unknown, type?: string) => ({ role: 'user', content, ...(type && { type }) })
const call = (call_id: string, name = 'pick') => ({
  type: 'function_call',
  call_id,
  name,
  arguments: '{}',
  id: `fc_${call_id}`,
})
const output = (call_id: string, output: unknown = 'left') => ({ type: 'function_call_output', call_id, output })

test('a text becomes a message, and omitted fields have the defaults of the format', () => {
  expect(decoded({ model: 'test/a', input: 'Hi' })).toEqual({
    model: 'test/a',
    messages: [user('Hi')],
    earlier: [],
    input: [user('Hi')],
    answers: {},
    store: true,
    stream: false,
    background: false,
    isCompaction: false,
    hasEncryptedContent: false,
    clientTools: [],
    hostedTools: [],
    forms: new Map(),
    ignored: [],
    hints: [],
    sampling: {},
    options: { limits: {} },
    echo: {
      instructions: null,
      tools: [],
      tool_choice: 'auto',
      text: { format: { type: 'text' } },
      reasoning: { effort: null, summary: null },
      metadata: {},
      temperature: null,
      top_p: null,
      max_output_tokens: null,
      max_tool_calls: null,
      parallel_tool_calls: true,
      previous_response_id: null,
      service_tier: 'auto',
      store: true,
      background: false,
      truncation: 'auto',
    },
  })
})

test('the body is decoded to our types, and echoed in the caller’s terms', () => {
  const schema = { type: 'object', properties: { a: { type: 'number' } } }
  const tool = { type: 'function', name: 'pick', description: 'Picks', parameters: schema, strict: true }
  const format = { type: 'json_schema', name: 'answer', schema, strict: true }
  const { echo, ...request } = decoded({
    input: 'Hi',
    instructions: 'Be kind.',
    tools: [tool],
    tool_choice: { type: 'function', name: 'pick' },
    text: { format, verbosity: 'low' },
    reasoning: { effort: 'high', summary: 'auto' },
    conversation: { id: 'c1' },
    store: false,
    stream: true,
    background: false,
    include: ['reasoning.encrypted_content'],
    metadata: { of: 'mine' },
    temperature: 0.5,
    top_p: 0.9,
    max_output_tokens: 100,
    max_tool_calls: 3,
    parallel_tool_calls: false,
    service_tier: 'flex',
    user: 'me',
    edgecall: { tools: ['clock'], limits: { calls: 9, steps: 2 }, rounds: 'all' },
  })
  expect(request).toEqual({
    instructions: 'Be kind.',
    messages: [user('Hi')],
    earlier: [],
    input: [user('Hi')],
    answers: {},
    conversation: 'c1',
    store: false,
    stream: true,
    background: false,
    isCompaction: false,
    hasEncryptedContent: true,
    hostedTools: [],
    forms: new Map(),
    ignored: [],
    hints: [
      { name: 'user', vendor: 'openai', value: 'me', isTelemetry: true },
      { name: 'reasoning.summary', vendor: 'openai', value: 'auto' },
    ],
    clientTools: [{ name: 'pick', description: 'Picks', inputSchema: schema, strict: true }],
    toolChoice: { tool: 'pick' },
    responseFormat: format,
    sampling: {
      temperature: 0.5,
      top_p: 0.9,
      max_completion_tokens: 100,
      parallel_tool_calls: false,
      service_tier: 'flex',
      reasoning_effort: 'high',
      verbosity: 'low',
    },
    options: { tools: ['clock'], limits: { calls: 3, steps: 2 } },
    rounds: 'all',
  })
  expect(echo).toMatchObject({
    tools: [tool],
    tool_choice: { type: 'function', name: 'pick' },
    text: { format, verbosity: 'low' },
    metadata: { of: 'mine' },
    max_tool_calls: 3,
  })
})

describe('the items of a Responses request', () => {
  test('become messages: a text and its calls are one, and calls of the edge include their results', () => {
    const { messages, input, answers } = decoded({
      input: [
        { role: 'developer', content: 'Be kind.' },
        user(
          [
            { type: 'input_text', text: 'Look' },
            { type: 'input_image', detail: 'auto', image_url: 'data:image/png;base64,AA==' },
            { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,BB==' },
          ],
          'message',
        ),
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hmm.' }] },
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'So:', annotations: [] }],
        },
        { type: 'mcp_call', id: 'mcp_a', server_label: 'edgecall', name: 'clock', arguments: '{}', output: '12:00' },
        call('b'),
        output('b', [{ type: 'input_text', text: 'left' }]),
        call('c'),
        output('c'),
        {
          type: 'mcp_call',
          id: 'mcp_d',
          server_label: 'edgecall',
          name: 'clock',
          arguments: '{}',
          error: { type: 'x' },
        },
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
        user('Why?'),
      ],
    })
    const clock = (callId: string) => ({ callId, tool: 'clock', arguments: '{}' })
    const pick = (callId: string) => ({ callId, tool: 'pick', arguments: '{}' })
    const result = (callId: string, tool: string, text: string, ok = true) => {
      return { role: 'tool', callId, tool, ok, content: [{ type: 'text', text }] }
    }
    expect(messages).toEqual([
      { role: 'system', content: 'Be kind.' },
      user([
        { type: 'text', text: 'Look' },
        { type: 'image', mediaType: 'image/png', data: 'AA==' },
        { type: 'file', mediaType: 'application/pdf', data: 'BB==' },
      ]),
      { role: 'assistant', content: 'So:', reasoning: 'Hmm.', calls: [clock('a'), pick('b')] },
      result('a', 'clock', '12:00'),
      result('b', 'pick', 'left'),
      { role: 'assistant', content: '', calls: [pick('c')] },
      result('c', 'pick', 'left'),
      { role: 'assistant', content: '', calls: [clock('d')] },
      result('d', 'clock', '{"type":"x"}', false),
      { role: 'assistant', content: 'No.' },
      user('Why?'),
    ])
    expect(input).toEqual([user('Why?')])
    expect(answers).toEqual({})
  })

  test('answer calls: earlier ones, those of the previous response, and approvals', () => {
    expect(decoded({ input: [user('Go'), call('a'), output('a')] })).toMatchObject({
      input: [],
      answers: { a: { result: 'left', ok: true } },
    })
    const approval = { type: 'mcp_approval_response', approval_request_id: 'mcpr_b', approve: true }
    const refusal = { ...approval, approval_request_id: 'mcpr_c', approve: false, reason: 'No.' }
    const approvalItem = { ...approval, approval_request_id: `mcpr_call_${RUN}_1_0_c1` }
    expect(decoded({ input: [approvalItem] }).answers).toEqual({ [`call_${RUN}_1_0`]: { decision: 'approve' } })
    expect(decoded({ input: [output('a'), approval, refusal] })).toMatchObject({
      messages: [],
      input: [],
      answers: {
        a: { result: 'left', ok: true },
        b: { decision: 'approve' },
        c: { decision: 'reject', reason: 'No.' },
      },
    })
  })
})

test('a reference points into the conversation: what follows it is new', () => {
  const reference = (id: string) => ({ type: 'item_reference', id })
  const system = { role: 'system', content: 'Be brief.' }
  const text = reference(`msg_${RUN}_7_c-1`)
  expect(decoded({ input: [system, user('Hi'), text, user('And?')] })).toMatchObject({
    messages: [system, user('And?')],
    earlier: [system],
    input: [user('And?')],
    answers: {},
    reference: { runId: `run_${RUN}`, conversation: 'c-1' },
  })
  const ran = reference(`mcp_call_${RUN}_1_0_c-1`)
  expect(decoded({ input: [user('Hi'), text, ran, call('a'), output('a')] })).toMatchObject({
    input: [],
    answers: { a: { result: 'left', ok: true } },
    reference: { runId: `run_${RUN}`, conversation: 'c-1' },
  })
})

test.each([
  [{}, 'input', 'input: must not be empty.', 'invalid_value'],
  [{ input: '' }, 'input', 'input: must not be empty.', 'invalid_value'],
  [{ input: 7 }, 'input', 'input: expected string or Array, received 7.', 'invalid_value'],
  [{ input: 'Hi', truncation: 'disabled' }, 'truncation', /^truncation: /, 'unsupported_parameter'],
  [{ input: 'Hi', background: true, store: false }, 'background', /needs `store`/, 'invalid_value'],
  [{ input: 'Hi', prompt: { id: 'p' } }, 'prompt', 'prompt: is not supported.', 'unsupported_parameter'],
  [
    { input: 'Hi', tools: [{ server_label: 'a' }] },
    'tools[0].type',
    'tools[0].type: is required.',
    'missing_required_parameter',
  ],
  [
    { input: 'Hi', conversation: 'c', previous_response_id: 'r' },
    'previous_response_id',
    /exclude each other/,
    'invalid_value',
  ],
  [{ input: [{ type: 'item_reference', id: 'x' }] }, 'input[0].id', /must name a stored item/, 'invalid_value'],
  [
    { input: [{ type: 'item_reference', id: `msg_${RUN}_7` }] },
    'input[0].id',
    /must name a stored item/,
    'invalid_value',
  ],
  [
    { input: ['c1', 'c2'].map((at) => ({ type: 'item_reference', id: `msg_${RUN}_7_${at}` })) },
    'input[1].id',
    /references must be to one conversation/,
    'invalid_value',
  ],
  [{ input: [user('Hi'), { role: 'assistant', content: 'Hi' }] }, 'input[1]', /it is the last/, 'invalid_value'],
  [{ input: [user('Hi'), call('a'), user('Or?')] }, 'input[2]', /has no result/, 'invalid_value'],
  [
    { input: [{ type: 'function_call', name: 'x', arguments: '' }] },
    'input[0].call_id',
    'input[0].call_id: is required.',
    'missing_required_parameter',
  ],
  [
    { input: [user([{ type: 'input_image', image_url: 'http://example.com/a.png' }])] },
    'input[0].content[0].image_url',
    /must be an https: URL or a base64 data: URL/,
    'invalid_value',
  ],
  [{ input: 'Hi', edgecall: { tols: [] } }, 'edgecall.tols', 'edgecall.tols: there is no such field.', 'invalid_value'],
])('a body like %j is refused', (body, param, message, code) => {
  const result = decodeResponses(body)
  expect(result.ok ? undefined : result.error).toEqual({
    param,
    message: typeof message === 'string' ? message : expect.stringMatching(message),
    code,
  })
})

test('the id of a response encodes where its run is stored', () => {
  const place = { runId: 'run_0123456789012345678901', conversation: 'my_chat-1', after: 17 }
  const id = responseId(place)
  expect(id).toBe('resp_0123456789012345678901_17_my_chat-1')
  expect(parseResponseId(id)).toEqual(place)
  expect(parseResponseId(responseId({ ...place, conversation: undefined }))).toBeUndefined()
  for (const foreign of ['', 'resp_1', `${id}/x`, 'resp_68b0f1a2c3d4']) expect(parseResponseId(foreign)).toBeUndefined()
})
