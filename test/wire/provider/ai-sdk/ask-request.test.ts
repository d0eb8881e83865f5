import { describe, expect, test } from 'vitest'
import type { AssistantMessage, Message } from '../../../../src/contract/message.ts'
import type { ModelRequest } from '../../../../src/contract/model.ts'
import { type AiSdkVersion, toCallOptions } from '../../../../src/wire/provider/ai-sdk/request.ts'
import { CLOCK, USER } from '../../clock.ts'
import { requestCodecSuite } from '../../../suites/request-codec.ts'

requestCodecSuite('the AI SDK', {
  encode: (request) => toCallOptions(request, { version: 'v4', richResults: true }),
  namesOfCall: 2,
})

const QUESTION = { role: 'user', content: [{ type: 'text', text: 'What time is it?' }] }

const optionsOf = (request: Partial<ModelRequest>, version: AiSdkVersion = 'v4') =>
  toCallOptions({ messages: [USER], tools: [], ...request }, { version, richResults: true })

const promptOf = (messages: readonly Message[], version?: AiSdkVersion): unknown =>
  optionsOf({ messages }, version).prompt

describe('the options of an AI SDK call', () => {
  test('have those of the request for its provider', () => {
    const providerOptions = { anthropic: { serviceTier: 'standard_only' } }
    expect(optionsOf({ providerOptions })).toMatchObject({ providerOptions })
  })

  test('omit what was not set', () => {
    expect(optionsOf({ toolChoice: 'none' })).toEqual({ prompt: [QUESTION] })
  })

  test('have sampling in the names of the specification', () => {
    const sampling = {
      temperature: 0.2,
      top_p: 0.9,
      seed: 7,
      presence_penalty: 0.1,
      frequency_penalty: 0.3,
      max_completion_tokens: 5,
      stop: 'END',
      reasoning_effort: 'low',
      logit_bias: { 1: 2 },
    }
    const words = {
      temperature: 0.2,
      topP: 0.9,
      seed: 7,
      presencePenalty: 0.1,
      frequencyPenalty: 0.3,
      maxOutputTokens: 5,
      stopSequences: ['END'],
    }
    expect(optionsOf({ sampling }, 'v3')).toEqual({ prompt: [QUESTION], ...words })
    expect(optionsOf({ sampling }, 'v4')).toEqual({ prompt: [QUESTION], ...words, reasoning: 'low' })
    expect(optionsOf({ sampling: { max_tokens: 9, stop: ['a', 'b'] } })).toEqual({
      prompt: [QUESTION],
      maxOutputTokens: 9,
      stopSequences: ['a', 'b'],
    })
  })

  test.each([
    ['auto', { type: 'auto' }],
    ['required', { type: 'required' }],
    [{ tool: 'clock' }, { type: 'tool', toolName: 'clock' }],
  ] as const)('have tools and the choice %j', (toolChoice, text) => {
    expect(optionsOf({ tools: [CLOCK], toolChoice })).toEqual({
      prompt: [QUESTION],
      tools: [{ type: 'function', name: 'clock', description: 'Tells the time.', inputSchema: CLOCK.inputSchema }],
      toolChoice: text,
    })
  })

  test.each([
    [{ type: 'text' }, { type: 'text' }],
    [{ type: 'json_object' }, { type: 'json' }],
    [
      { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true },
      { type: 'json', name: 'answer', schema: { type: 'object' } },
    ],
  ] as const)('request the format %j', (responseFormat, text) => {
    expect(optionsOf({ responseFormat })).toEqual({ prompt: [QUESTION], responseFormat: text })
  })
})

describe('the prompt of an AI SDK call', () => {
  const calls = [
    { callId: 'call_1', tool: 'clock', arguments: '{"zone":"UTC"}' },
    { callId: 'call_2', tool: 'clock', arguments: '{zone' },
  ]

  test('has every role, with the results of one step together', () => {
    expect(
      promptOf([
        { role: 'system', content: 'Be brief.' },
        USER,
        { role: 'assistant', content: 'I look.', reasoning: 'A clock.', calls },
        { role: 'tool', callId: 'call_1', tool: 'clock', ok: true, content: [{ type: 'text', text: 'noon' }] },
        { role: 'tool', callId: 'call_2', tool: 'clock', ok: false, content: [{ type: 'text', text: 'No JSON.' }] },
        { role: 'assistant', content: 'Noon.' },
      ]),
    ).toEqual([
      { role: 'system', content: 'Be brief.' },
      QUESTION,
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'A clock.' },
          { type: 'text', text: 'I look.' },
          { type: 'tool-call', toolCallId: 'call_1', toolName: 'clock', input: { zone: 'UTC' } },
          { type: 'tool-call', toolCallId: 'call_2', toolName: 'clock', input: { unreadable: '{zone' } },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'call_1', toolName: 'clock', output: { type: 'text', value: 'noon' } },
          {
            type: 'tool-result',
            toolCallId: 'call_2',
            toolName: 'clock',
            output: { type: 'error-text', value: 'No JSON.' },
          },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'Noon.' }] },
    ])
  })

  const content = [
    { type: 'text', text: 'Look.' },
    { type: 'image', mediaType: 'image/png', data: 'AAAA' },
    { type: 'file', mediaType: 'application/pdf', data: 'QQ==' },
  ] as const

  test.each([
    [
      'v2',
      'AAAA',
      { type: 'media', mediaType: 'image/png', data: 'AAAA' },
      { type: 'media', mediaType: 'application/pdf', data: 'QQ==' },
    ],
    [
      'v3',
      'AAAA',
      { type: 'image-data', mediaType: 'image/png', data: 'AAAA' },
      { type: 'file-data', mediaType: 'application/pdf', data: 'QQ==' },
    ],
    [
      'v4',
      { type: 'data', data: 'AAAA' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
      { type: 'file', mediaType: 'application/pdf', data: { type: 'data', data: 'QQ==' } },
    ],
  ] as const)('of %s has its bytes in the right encoding', (version, data, image, file) => {
    const messages: Message[] = [
      { role: 'user', content: content.slice(0, 2) },
      { role: 'assistant', content: '', calls: calls.slice(0, 1) },
      { role: 'tool', callId: 'call_1', tool: 'clock', ok: true, content },
    ]
    const [user, , tool] = [promptOf(messages, version)].flat()
    expect(user).toEqual({
      role: 'user',
      content: [
        { type: 'text', text: 'Look.' },
        { type: 'file', mediaType: 'image/png', data },
      ],
    })
    expect(tool).toMatchObject({
      content: [{ output: { type: 'content', value: [{ type: 'text', text: 'Look.' }, image, file] } }],
    })
  })

  test('has results as text for a model that accepts nothing else', () => {
    const result: Message = { role: 'tool', callId: 'call_1', tool: 'clock', ok: true, content }
    const { prompt } = toCallOptions({ messages: [result], tools: [] }, { version: 'v4', richResults: false })
    const value = 'Look.\n[image: image/png]\n[file: application/pdf]'
    expect(prompt).toMatchObject([{ content: [{ output: { type: 'text', value } }] }])
  })

  test('returns the provider’s metadata in its place, with the provider’s ids', () => {
    const answer: AssistantMessage = {
      role: 'assistant',
      content: 'I look.',
      reasoning: 'A clock. Or two.',
      calls,
      opaque: {
        codec: 'ai-sdk',
        data: [
          { reasoning: 8, data: { anthropic: { signature: 's1' } } },
          { reasoning: 0, data: { anthropic: { redactedData: 'r' } } },
          { text: 7, data: { openai: { itemId: 'msg_1' } } },
          { call: 1, id: 'toolu_2', data: { google: { thoughtSignature: 't' } } },
          { reasoning: 8 },
          { call: 0, id: 'toolu_1' },
        ],
      },
    }
    const result: Message = { role: 'tool', callId: 'call_2', tool: 'clock', ok: true, content: [] }
    expect(promptOf([answer, result])).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'A clock.', providerOptions: { anthropic: { signature: 's1' } } },
          { type: 'reasoning', text: '', providerOptions: { anthropic: { redactedData: 'r' } } },
          { type: 'text', text: 'I look.', providerOptions: { openai: { itemId: 'msg_1' } } },
          {
            type: 'tool-call',
            toolCallId: 'toolu_2',
            toolName: 'clock',
            input: { unreadable: '{zone' },
            providerOptions: { google: { thoughtSignature: 't' } },
          },
          { type: 'reasoning', text: ' Or two.' },
          { type: 'tool-call', toolCallId: 'toolu_1', toolName: 'clock', input: { zone: 'UTC' } },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'toolu_2', toolName: 'clock', output: { type: 'text', value: '' } },
        ],
      },
    ])
  })

  test.each([
    [{ codec: 'anthropic', data: [{ text: 2 }] }],
    [{ codec: 'ai-sdk', data: 'damaged' }],
    [{ codec: 'ai-sdk', data: [null, { call: 9 }, { text: 'x' }] }],
  ])('has the complete answer whatever opaque data was stored: %j', (opaque) => {
    const answer: AssistantMessage = { role: 'assistant', content: 'I look.', calls: calls.slice(0, 1), opaque }
    expect(promptOf([answer])).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool-call', toolCallId: 'call_1', toolName: 'clock', input: { zone: 'UTC' } },
        ],
      },
    ])
  })
})
