import { describe, expect, test } from 'vitest'
import { decodeRequest } from '../../../src/wire/client/openai-chat/request.ts'

const USER = { role: 'user', content: 'Hi' }
const PLAIN = {
  messages: [USER],
  stream: false,
  includeUsage: false,
  clientTools: [],
  customTools: new Set(),
  sampling: {},
  edgecall: {},
  hints: [],
  ignored: [],
}

const messagesOf = (messages: unknown[]) => {
  const decoded = decodeRequest({ messages })
  return decoded.ok ? decoded.request.messages : decoded.error
}

const asks = (...ids: string[]) => ({
  role: 'assistant',
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'clock', arguments: '{}' } })),
})

const image = (url: string) => ({ role: 'user', content: [{ type: 'image_url', image_url: { url } }] })

const tool = (name: string, parameters?: unknown) => ({ type: 'function', function: { name, parameters } })

describe('the body of a chat completion', () => {
  test('may have only messages', () => {
    expect(decodeRequest({ messages: [USER] })).toEqual({ ok: true, request: PLAIN })
  })

  test('may have null for all optional fields', () => {
    const names = [
      'model',
      'stream',
      'stream_options',
      'tools',
      'tool_choice',
      'response_format',
      'user',
      'n',
      'logprobs',
    ]
    const more = ['temperature', 'stop', 'max_tokens', 'edgecall', 'audio', 'functions', 'modalities']
    const nulls = Object.fromEntries([...names, ...more].map((name) => [name, null]))
    expect(decodeRequest({ messages: [USER], ...nulls })).toEqual({ ok: true, request: PLAIN })
  })

  test('is decoded to our types', () => {
    const parameters = { type: 'object', properties: { n: { type: 'number' } } }
    const edgecall = {
      conversation: 'c-1',
      tools: { add: ['clock'] },
      context: { tenantId: 't1' },
      limits: { steps: 2 },
      rounds: 'all',
      execution: 'caller',
    }
    expect(
      decodeRequest({
        model: 'openai/probe',
        messages: [USER],
        stream: true,
        stream_options: { include_usage: true, include_obfuscation: false },
        tools: [
          { type: 'function', function: { name: 'pick', description: 'Picks.', parameters, strict: true } },
          { type: 'function', function: { name: 'stop', parameters: {} } },
        ],
        tool_choice: { type: 'function', function: { name: 'pick' } },
        response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: parameters, strict: null } },
        n: 1,
        user: 'u1',
        edgecall,
      }),
    ).toEqual({
      ok: true,
      request: {
        model: 'openai/probe',
        messages: [USER],
        stream: true,
        includeUsage: true,
        clientTools: [
          { name: 'pick', description: 'Picks.', inputSchema: parameters, strict: true },
          { name: 'stop', description: '', inputSchema: { type: 'object', properties: {} } },
        ],
        customTools: new Set(),
        toolChoice: { tool: 'pick' },
        responseFormat: { type: 'json_schema', name: 'answer', schema: parameters },
        sampling: {},
        edgecall,
        hints: [{ name: 'user', vendor: 'openai', value: 'u1', isTelemetry: true }],
        ignored: [],
      },
    })
  })

  test('passes on model options, and names the fields that it ignores', () => {
    const sampling = {
      temperature: 0.3,
      top_p: 0.9,
      stop: ['END'],
      seed: 7,
      presence_penalty: 0,
      frequency_penalty: 0.5,
      max_tokens: 100,
      max_completion_tokens: 120,
      logit_bias: { '50256': -100 },
      reasoning_effort: 'low',
      verbosity: 'low',
      parallel_tool_calls: false,
      service_tier: 'flex',
    }
    const others = { store: true, metadata: { a: 'b' }, top_k: 4, whatever: [1] }
    expect(decodeRequest({ messages: [USER], ...sampling, ...others })).toEqual({
      ok: true,
      request: {
        ...PLAIN,
        sampling,
        hints: [{ name: 'metadata', vendor: 'openai', value: { a: 'b' }, isTelemetry: true }],
        ignored: ['store', 'top_k', 'whatever'],
      },
    })
  })
})

describe('the messages of a chat completion', () => {
  test('have every role and kind of content', () => {
    expect(
      messagesOf([
        {
          role: 'developer',
          content: [
            { type: 'text', text: 'Be brief.' },
            { type: 'text', text: 'Be kind.' },
          ],
        },
        { role: 'system', content: 'Be exact.' },
        {
          role: 'user',
          name: 'ada',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
            { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,QQ==' } },
          ],
        },
        { role: 'assistant', content: null, refusal: 'No.' },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Well.' },
            { type: 'refusal', refusal: 'No.' },
          ],
        },
        USER,
        {
          role: 'assistant',
          content: 'I ask.',
          reasoning_content: 'A tool.',
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'clock', arguments: '{}' } },
            { id: 'call_2', function: { name: 'pick', arguments: '{"n":1}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_2', content: 'picked' },
        { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'noon' }] },
      ]),
    ).toEqual([
      { role: 'system', content: 'Be brief.\nBe kind.' },
      { role: 'system', content: 'Be exact.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image', mediaType: 'image/png', data: 'AAAA' },
          { type: 'file', mediaType: 'application/pdf', data: 'QQ==' },
        ],
      },
      { role: 'assistant', content: 'No.' },
      { role: 'assistant', content: 'Well.\nNo.' },
      USER,
      {
        role: 'assistant',
        content: 'I ask.',
        reasoning: 'A tool.',
        calls: [
          { callId: 'call_1', tool: 'clock', arguments: '{}' },
          { callId: 'call_2', tool: 'pick', arguments: '{"n":1}' },
        ],
      },
      { role: 'tool', callId: 'call_1', tool: 'clock', ok: true, content: [{ type: 'text', text: 'noon' }] },
      { role: 'tool', callId: 'call_2', tool: 'pick', ok: true, content: [{ type: 'text', text: 'picked' }] },
    ])
  })
})

describe('a chat completion body is refused:', () => {
  test.each([
    ['that is no object', 'x', null, 'invalid_value'],
    ['without messages', {}, 'messages', 'missing_required_parameter'],
    ['with no messages', { messages: [] }, 'messages', 'invalid_value'],
    ['with several answers', { messages: [USER], n: 2 }, 'n', 'unsupported_parameter'],
    ['with log probabilities', { messages: [USER], logprobs: true }, 'logprobs', 'unsupported_parameter'],
    ['with sound', { messages: [USER], modalities: ['text', 'audio'] }, 'modalities[1]', 'unsupported_parameter'],
    ['with legacy functions', { messages: [USER], functions: [] }, 'functions', 'unsupported_parameter'],
    ['with a wrong type', { messages: [USER], temperature: 'warm' }, 'temperature', 'invalid_value'],
    ['with an unknown role', { messages: [{ role: 'bot', content: '' }] }, 'messages[0].role', 'invalid_value'],
    ['without content', { messages: [{ role: 'user' }] }, 'messages[0].content', 'missing_required_parameter'],
    [
      'with a result of no call',
      { messages: [USER, { role: 'tool', tool_call_id: 'z', content: '' }] },
      'messages[1].tool_call_id',
      'invalid_value',
    ],
    [
      'with two results of a call',
      {
        messages: [
          USER,
          asks('a'),
          { role: 'tool', tool_call_id: 'a', content: '' },
          { role: 'tool', tool_call_id: 'a', content: '' },
        ],
      },
      'messages[3].tool_call_id',
      'invalid_value',
    ],
    ['with a call without result', { messages: [USER, asks('a'), USER] }, 'messages[2]', 'invalid_value'],
    ['with two calls of one id', { messages: [USER, asks('a', 'a')] }, 'messages[1]', 'invalid_value'],
    [
      'that ends with an answer',
      { messages: [USER, { role: 'assistant', content: 'Hello.' }] },
      'messages[1]',
      'invalid_value',
    ],
    [
      'with an image elsewhere',
      { messages: [image('http://example.com/cat.png')] },
      'messages[0].content[0].image_url.url',
      'unsupported_value',
    ],
    [
      'with an image that is none',
      { messages: [image('data:text/html;base64,AAAA')] },
      'messages[0].content[0].image_url.url',
      'unsupported_value',
    ],
    [
      'with sound in a message',
      { messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] },
      'messages[0].content[0].type',
      'invalid_value',
    ],
    ['with a bad tool name', { messages: [USER], tools: [tool('a b')] }, 'tools[0].function.name', 'invalid_value'],
    [
      'with two tools of one name',
      { messages: [USER], tools: [tool('a'), tool('b'), tool('a')] },
      'tools[2].function.name',
      'invalid_value',
    ],
    [
      'with parameters of no object',
      { messages: [USER], tools: [tool('a', { type: 'string' })] },
      'tools[0].function.parameters',
      'invalid_function_parameters',
    ],
    [
      'with parameters of no schema',
      { messages: [USER], tools: [tool('a', [])] },
      'tools[0].function.parameters',
      'invalid_function_parameters',
    ],
    [
      'with another kind of tool',
      { messages: [USER], tools: [{ type: 'web_search' }] },
      'tools[0].type',
      'invalid_value',
    ],
    ['with an unknown extension', { messages: [USER], edgecall: { round: 'all' } }, 'edgecall.round', 'invalid_value'],
    [
      'with a bad conversation',
      { messages: [USER], edgecall: { conversation: '../x' } },
      'edgecall.conversation',
      'invalid_value',
    ],
    [
      'with a bad limit',
      { messages: [USER], edgecall: { limits: { steps: -1 } } },
      'edgecall.limits.steps',
      'invalid_value',
    ],
    [
      'with too much context',
      { messages: [USER], edgecall: { context: { a: 'x'.repeat(16384) } } },
      'edgecall.context',
      'invalid_value',
    ],
  ])('%s', (_, body, param, code) => {
    const decoded = decodeRequest(body)
    expect(decoded).toEqual({ ok: false, error: { param, code, message: expect.any(String) } })
    if (!decoded.ok) expect(decoded.error.message).toContain(param ?? 'The body')
  })

  test('with a message that says what to change', () => {
    const messages = [
      decodeRequest({ messages: [image('http://example.com/cat.png')] }),
      decodeRequest({ messages: [USER], n: 3 }),
      decodeRequest({ messages: [USER, asks('a', 'b'), { role: 'tool', tool_call_id: 'a', content: '' }] }),
    ].map((decoded) => (decoded.ok ? '' : decoded.error.message))
    expect(messages).toEqual([
      'messages[0].content[0].image_url.url: must be an https: URL or a base64 data: URL.',
      'n: expected 1, received 3.',
      'messages[2]: the call "b" has no result.',
    ])
  })
})
