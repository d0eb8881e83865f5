import { describe, expect, test } from 'vitest'
import { OPENAI_DIALECT } from '../../../src/wire/provider/dialects.ts'
import { fitRequest } from '../../../src/wire/provider/fit-request.ts'
import type { Message } from '../../../src/contract/message.ts'
import type { ModelRequest } from '../../../src/contract/model.ts'
import { type ChatAsk, encodeChatRequest } from '../../../src/wire/provider/openai-chat/request.ts'
import { CLOCK, counted, USER } from '../clock.ts'
import { requestCodecSuite } from '../../suites/request-codec.ts'

requestCodecSuite('Chat Completions', {
  encode: (request) => JSON.parse(encodeChatRequest('probe', request)),
  namesOfCall: 1,
  links: (url) => [{ type: 'image_url', image_url: { url } }],
})

const bodyOf = (request: Partial<ModelRequest>): unknown =>
  JSON.parse(
    encodeChatRequest('probe', fitRequest({ messages: [USER], tools: [], ...request }, OPENAI_DIALECT).request),
  )

const messagesOf = (...messages: Message[]): unknown => {
  const body = bodyOf({ messages })
  return typeof body === 'object' && body !== null && 'messages' in body ? body.messages : undefined
}

describe('a chat completion request', () => {
  test('requests a stream with usage, and has no tools if there are none', () => {
    expect(
      bodyOf({ toolChoice: 'none', sampling: { temperature: 0.2, stop: ['x'], parallel_tool_calls: false } }),
    ).toEqual({
      temperature: 0.2,
      stop: ['x'],
      model: 'probe',
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content: 'What time is it?' }],
    })
  })

  test('offers tools by name, description and schema', () => {
    const tools = [CLOCK, { ...CLOCK, name: 'sundial' }]
    const parameters = CLOCK.inputSchema
    expect(bodyOf({ tools, toolChoice: { tool: 'clock' }, sampling: { parallel_tool_calls: false } })).toEqual({
      model: 'probe',
      stream: true,
      stream_options: { include_usage: true },
      tool_choice: { type: 'function', function: { name: 'clock' } },
      parallel_tool_calls: false,
      tools: [
        { type: 'function', function: { name: 'clock', description: 'Tells the time.', parameters } },
        { type: 'function', function: { name: 'sundial', description: 'Tells the time.', parameters } },
      ],
      messages: [{ role: 'user', content: 'What time is it?' }],
    })
    expect(bodyOf({ tools, toolChoice: 'required' })).toMatchObject({ tool_choice: 'required' })
  })

  test('describes a union at the top of a schema in words, which OpenAI refuses there, and keeps the rest', () => {
    const union = [{ properties: { zone: {} }, required: ['zone'] }, { required: ['place'] }]
    const place = { oneOf: [{ type: 'string' }, { type: 'object', properties: {} }] }
    const inputSchema = { type: 'object', description: 'Where', properties: { place }, anyOf: union }
    const description = `Where\n${JSON.stringify({ anyOf: union })}`
    const parameters = { type: 'object', description, properties: { place } }
    const functionFields = { name: 'clock', description: 'Tells the time.', parameters, strict: false }
    expect(bodyOf({ tools: [{ ...CLOCK, inputSchema, strict: false }] })).toHaveProperty('tools', [
      { type: 'function', function: functionFields },
    ])
  })

  test('encodes tools once for each array, and messages once for each object', () => {
    const { reads, tool, message } = counted()
    const request = { messages: [message], tools: [tool] }
    const first = encodeChatRequest('probe', request)
    expect(encodeChatRequest('probe', request)).toBe(first)
    expect(encodeChatRequest('probe', { ...request, tools: [tool] })).toBe(first)
    expect(reads.count).toBe(2)
  })

  test.each([
    [{ type: 'text' }, { type: 'text' }],
    [{ type: 'json_object' }, { type: 'json_object' }],
    [
      { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true },
      { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' }, strict: true } },
    ],
  ] as const)('requests the format %j', (responseFormat, response_format) => {
    expect(bodyOf({ responseFormat })).toMatchObject({ response_format })
  })
})

describe('the history of a chat completion request', () => {
  const calls = [{ callId: 'call_1', tool: 'clock', arguments: '{"zone":"UTC"}' }]

  test('has every role, with results as text', () => {
    expect(
      messagesOf(
        { role: 'system', content: 'Be brief.' },
        USER,
        { role: 'assistant', content: '', calls },
        {
          role: 'tool',
          callId: 'call_1',
          tool: 'clock',
          ok: true,
          content: [
            { type: 'text', text: 'noon' },
            { type: 'image', mediaType: 'image/png', data: 'AAAA' },
          ],
        },
        { role: 'assistant', content: 'Noon.' },
      ),
    ).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'What time is it?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'clock', arguments: '{"zone":"UTC"}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'noon\n[image: image/png]' },
      { role: 'assistant', content: 'Noon.' },
    ])
  })

  test('has text beside calls, and no empty answer', () => {
    expect(messagesOf({ role: 'assistant', content: 'I look.', calls }, { role: 'assistant', content: '' })).toEqual([
      { role: 'assistant', content: 'I look.', tool_calls: [expect.anything()] },
    ])
  })

  test('has images and files of users as data URLs', () => {
    const content = [
      { type: 'text', text: 'What is this?' },
      { type: 'image', mediaType: 'image/png', data: 'AAAA' },
      { type: 'file', mediaType: 'application/pdf', data: 'QQ==' },
    ] as const
    expect(messagesOf({ role: 'user', content })).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'file', file: { filename: 'file', file_data: 'data:application/pdf;base64,QQ==' } },
        ],
      },
    ])
  })

  test.each([
    ['{"a":1}', '{"a":1}'],
    ['', '{}'],
    ['  ', '{}'],
    ['{place: Oslo', '{"unreadable":"{place: Oslo"}'],
    ['["Oslo"]', '{"unreadable":"[\\"Oslo\\"]"}'],
    ['null', '{"unreadable":"null"}'],
  ])('has objects as arguments: %j as %j', (args, body) => {
    const message: Message = {
      role: 'assistant',
      content: '',
      calls: [{ callId: 'c', tool: 'clock', arguments: args }],
    }
    const call = { id: 'c', type: 'function', function: { name: 'clock', arguments: body } }
    expect(messagesOf(message)).toEqual([{ role: 'assistant', content: null, tool_calls: [call] }])
  })

  test('repeats the reasoning of answers only if the server requires it', () => {
    const messages: Message[] = [
      USER,
      { role: 'assistant', content: '', reasoning: 'I need a clock.', calls },
      { role: 'assistant', content: 'Noon.', reasoning: 'It said noon.' },
      { role: 'assistant', content: 'Of another model.' },
    ]
    expect(encodeChatRequest('probe', { messages, tools: [] })).not.toContain('reasoning')
    const replayed = encodeChatRequest('probe', { messages, tools: [] }, { replayReasoning: true })
    expect(JSON.parse(replayed).messages).toEqual([
      { role: 'user', content: 'What time is it?' },
      { role: 'assistant', content: null, tool_calls: [expect.anything()], reasoning_content: 'I need a clock.' },
      { role: 'assistant', content: 'Noon.', reasoning_content: 'It said noon.' },
      { role: 'assistant', content: 'Of another model.', reasoning_content: ' ' },
    ])
  })

  test('returns the opaque parts of an answer only to the server that sent them', () => {
    const details = [{ type: 'reasoning.encrypted', data: 'gAAA', index: 0 }]
    const google = { google: { thought_signature: 'sig' } }
    const opaque = { codec: 'openai-chat/a', data: { details, extras: { 1: google } } }
    const question: Message = {
      role: 'assistant',
      content: '',
      calls: [calls[0]!, calls[0]!],
      reasoning: 'Hm.',
      opaque: opaque,
    }
    const answer: Message = { role: 'assistant', content: 'Noon.', opaque: opaque }
    const sentWith = (ask?: ChatAsk) => {
      return JSON.parse(encodeChatRequest('probe', { messages: [question, answer], tools: [] }, ask)).messages
    }
    const call = { id: 'call_1', type: 'function', function: { name: 'clock', arguments: '{"zone":"UTC"}' } }
    const withCalls = { role: 'assistant', content: null, tool_calls: [call, { ...call, extra_content: google }] }
    const own = [
      { ...withCalls, reasoning_details: details },
      { role: 'assistant', content: 'Noon.', reasoning_details: details },
    ]
    expect(sentWith({ codec: 'openai-chat/a' })).toEqual(own)
    expect(sentWith({ codec: 'openai-chat/a', replayReasoning: true })).toEqual([
      { ...own[0], reasoning_content: 'Hm.' },
      { ...own[1], reasoning_content: ' ' },
    ])
    const plain = [
      { role: 'assistant', content: null, tool_calls: [call, call] },
      { role: 'assistant', content: 'Noon.' },
    ]
    expect([sentWith({ codec: 'openai-chat/b' }), sentWith()]).toEqual([plain, plain])
  })

  test('returns thinking to LiteLLM in its own field', () => {
    const thinking_blocks = [{ type: 'thinking', thinking: 'Hm.', signature: 'sig' }]
    const opaque = { codec: 'openai-chat/a', data: { details: thinking_blocks, extras: {} } }
    const messages: Message[] = [{ role: 'assistant', content: '', calls, opaque }]
    const { messages: sent } = JSON.parse(
      encodeChatRequest('probe', { messages, tools: [] }, { codec: 'openai-chat/a' }),
    )
    expect(sent).toEqual([{ role: 'assistant', content: null, tool_calls: [expect.anything()], thinking_blocks }])
  })

  test('returns no details of other kinds, which a caller may have written', () => {
    const thinking_blocks = [{ type: 'thinking', thinking: 'Hm.', signature: 'sig' }]
    const file = { type: 'document', source: { type: 'file', file_id: 'file_of_others' } }
    const sentWith = (details: readonly object[]) => {
      const opaque = { codec: 'openai-chat/a', data: { details, extras: {} } }
      const messages: Message[] = [{ role: 'assistant', content: 'Hi', opaque }]
      return JSON.parse(encodeChatRequest('probe', { messages, tools: [] }, { codec: 'openai-chat/a' })).messages
    }
    expect(sentWith([file, ...thinking_blocks, file])).toEqual([{ role: 'assistant', content: 'Hi', thinking_blocks }])
    expect(sentWith([file])).toEqual([{ role: 'assistant', content: 'Hi' }])
  })

  test.each([[null], ['text'], [{ details: 'x', extras: [] }], [{ extras: { 7: {} } }]])(
    'is valid whatever opaque data was stored: %j',
    (data) => {
      const opaque = { codec: 'openai-chat/a', data }
      const body = encodeChatRequest(
        'probe',
        { messages: [{ role: 'assistant', content: 'Hi', opaque }], tools: [] },
        opaque,
      )
      expect(JSON.parse(body)).toMatchObject({ messages: [{ role: 'assistant', content: 'Hi' }] })
      expect(body).not.toContain('reasoning_details')
    },
  )
})
