import { readExactly } from '../../../../src/contract/exact-numbers.ts'
import fc from 'fast-check'
import { ANTHROPIC_DIALECT } from '../../../../src/wire/provider/dialects.ts'
import { fitRequest } from '../../../../src/wire/provider/fit-request.ts'
import { describe, expect, test } from 'vitest'
import type { AssistantMessage, Content, Message } from '../../../../src/contract/message.ts'
import type { ModelRequest } from '../../../../src/contract/model.ts'
import {
  anthropicAnswers,
  type AnthropicSettings,
  encodeAnthropicRequest,
} from '../../../../src/wire/provider/anthropic/codec.ts'
import { call, CLOCK, counted, NOON, PICTURE, result, USER } from '../../clock.ts'
import { keptAnswer, someArguments, someText, someToolName } from '../../kept-answer.ts'
import { requestCodecSuite } from '../../../suites/request-codec.ts'

requestCodecSuite('Anthropic', {
  takesThinking: true,
  encode: (request) => readExactly(encodeAnthropicRequest(request, { model: 'probe', maxTokens: 9, cache: 'off' })),
  // The call, and the tool that stands for it where none is on offer.
  namesOfCall: 2,
  links: (url) => [
    { type: 'image', source: { type: 'url', url } },
    { type: 'document', source: { type: 'url', url } },
  ],
})

const HI = { role: 'user', content: [{ type: 'text', text: 'What time is it?' }] }
const MARK = { cache_control: { type: 'ephemeral' } }

const bodyOf = (request: Partial<ModelRequest>, cache: AnthropicSettings['cache'] = 'off'): Record<string, unknown> =>
  JSON.parse(
    encodeAnthropicRequest(fitRequest({ messages: [USER], tools: [], ...request }, ANTHROPIC_DIALECT).request, {
      model: 'probe',
      maxTokens: 500,
      cache,
    }),
  )

const messagesOf = (...messages: Message[]): unknown => bodyOf({ messages }).messages

const use = (id: string, input: unknown = { zone: 'UTC' }) => ({ type: 'tool_use', id, name: 'clock', input })

describe('tools that a search has found', () => {
  const SEARCH = { ...CLOCK, name: 'tool_search', description: 'Finds tools.' }
  const searchResult: Message = {
    ...result('s', [{ type: 'text', text: 'clock: Tells the time.' }]),
    tool: 'tool_search',
  } as Message
  const messages: Message[] = [
    USER,
    { role: 'assistant', content: '', calls: [{ callId: 's', tool: 'tool_search', arguments: '{}' }] },
    { ...searchResult, found: ['clock'] } as Message,
  ]
  const contentOf = ({ messages: [, , results] }: any) => results.content[0].content

  test('are loaded where their result names them, after the cached part', () => {
    const body = bodyOf({ messages, tools: [CLOCK, SEARCH] }, '5m')
    expect(body.tools).toEqual([
      { name: 'tool_search', description: 'Finds tools.', input_schema: expect.any(Object), ...MARK },
      { name: 'clock', description: 'Tells the time.', input_schema: expect.any(Object), defer_loading: true },
    ])
    expect(contentOf(body)).toEqual([{ type: 'tool_reference', tool_name: 'clock' }])
  })

  test('are defined like all others for a model without deferred loading, as is a forced tool for any model', () => {
    const request = { messages, tools: [CLOCK, SEARCH] }
    const plain = JSON.parse(
      encodeAnthropicRequest(request, { model: 'probe', maxTokens: 500, cache: 'off', isPlain: true }),
    )
    expect(plain.tools.map(({ defer_loading }: any) => defer_loading)).toEqual([undefined, undefined])
    expect(contentOf(plain)).toEqual([{ type: 'text', text: 'clock: Tells the time.' }])
    const forced: any = bodyOf({ ...request, toolChoice: { tool: 'clock' } })
    expect(forced.tools.map(({ defer_loading }: any) => defer_loading)).toEqual([undefined, undefined])
  })
})

describe('an Anthropic request', () => {
  test('has the size limit of the answer, and no tools if there are none', () => {
    expect(bodyOf({ toolChoice: 'required' })).toEqual({
      model: 'probe',
      max_tokens: 500,
      stream: true,
      messages: [HI],
    })
  })

  test('has the sampling options of the format, in its names', () => {
    const sampling = { temperature: 0.2, top_p: 0.9, top_k: 5, stop: 'END', max_tokens: 9, seed: 1, logit_bias: {} }
    expect(bodyOf({ sampling })).toEqual({
      model: 'probe',
      max_tokens: 9,
      stream: true,
      temperature: 0.2,
      top_k: 5,
      stop_sequences: ['END'],
      messages: [HI],
    })
    expect(bodyOf({ sampling: { stop: ['a', 'b'], max_tokens: 9, max_completion_tokens: 7, top_p: 0 } })).toMatchObject(
      {
        max_tokens: 7,
        top_p: 0,
        stop_sequences: ['a', 'b'],
      },
    )
  })

  test('has all system messages at the top', () => {
    const messages: Message[] = [
      { role: 'system', content: 'Be brief.' },
      USER,
      { role: 'system', content: ' ' },
      { role: 'system', content: 'Be kind.' },
    ]
    const { system, messages: others } = bodyOf({ messages })
    expect([system, others]).toEqual([
      [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'Be kind.' },
      ],
      [HI],
    ])
  })

  test('offers tools', () => {
    const tools = [CLOCK, { ...CLOCK, name: 'sundial', description: '' }]
    const input_schema = CLOCK.inputSchema
    expect(bodyOf({ tools })).toMatchObject({
      tools: [
        { name: 'clock', description: 'Tells the time.', input_schema },
        { name: 'sundial', input_schema },
      ],
      tool_choice: { type: 'auto' },
    })
  })

  test.each([
    ['auto', {}, { type: 'auto' }],
    ['none', { parallel_tool_calls: false }, { type: 'none' }],
    ['required', {}, { type: 'any' }],
    ['required', { parallel_tool_calls: false }, { type: 'any', disable_parallel_tool_use: true }],
    [{ tool: 'clock' }, { parallel_tool_calls: true }, { type: 'tool', name: 'clock' }],
    [undefined, { parallel_tool_calls: false }, { type: 'auto', disable_parallel_tool_use: true }],
  ] as const)('with the choice %j and %j has %j', (toolChoice, sampling, tool_choice) => {
    expect(bodyOf({ tools: [CLOCK], sampling, ...(toolChoice && { toolChoice }) }).tool_choice).toEqual(tool_choice)
  })

  test('defines the tools of its history if it offers none, because they are required', () => {
    const messages: Message[] = [USER, { role: 'assistant', content: '', calls: [call('a'), call('b')] }]
    expect(bodyOf({ messages })).toMatchObject({
      tools: [{ name: 'clock', input_schema: { type: 'object' } }],
      tool_choice: { type: 'none' },
    })
  })

  test.each([
    ['high', undefined, { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'high' } }],
    [
      'minimal',
      'required',
      { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'low' } },
    ],
    ['none', undefined, {}],
  ] as const)('with the effort %s and the choice %j has %j', (effort, toolChoice, request) => {
    const { thinking, output_config } = bodyOf({
      tools: [CLOCK],
      sampling: { reasoning_effort: effort },
      ...(toolChoice && { toolChoice }),
    })
    expect({
      ...(thinking !== undefined && { thinking }),
      ...(output_config !== undefined && { output_config }),
    }).toEqual(request)
  })

  test('requests a response format', () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        name: { type: 'string', description: 'In full.', minLength: 1, pattern: '^\\w' },
        kind: { const: 'cat' },
        age: { type: 'integer', minimum: 0 },
        mate: { $ref: '#/definitions/pet', description: 'lost' },
        tags: { type: 'array', items: { oneOf: [{ type: 'string' }, { type: 'null' }] }, maxItems: 3 },
      },
      required: ['name'],
      definitions: { pet: { type: 'object', properties: {}, additionalProperties: true } },
    }
    expect(bodyOf({ responseFormat: { type: 'json_schema', name: 'pet', schema } }).output_config).toEqual({
      format: {
        type: 'json_schema',
        schema: {
          type: 'object',
          properties: {
            name: { type: 'string', description: 'In full.\n{"minLength":1,"pattern":"^\\\\w"}' },
            kind: { const: 'cat' },
            age: { type: 'integer', description: '{"minimum":0}' },
            mate: { $ref: '#/$defs/pet' },
            tags: {
              type: 'array',
              items: { anyOf: [{ type: 'string' }, { type: 'null' }] },
              description: '{"maxItems":3}',
            },
          },
          required: ['name'],
          $defs: { pet: { type: 'object', properties: {}, additionalProperties: false } },
          additionalProperties: false,
        },
      },
    })
  })

  test('requests JSON without a schema in words', () => {
    const messages: Message[] = [{ role: 'system', content: 'Be brief.' }, USER]
    const { system, output_config } = bodyOf({ messages, responseFormat: { type: 'json_object' } })
    expect([system, output_config]).toEqual([
      [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'Answer with one JSON object and nothing else.' },
      ],
      undefined,
    ])
    expect(bodyOf({ responseFormat: { type: 'text' } })).not.toHaveProperty('output_config')
  })

  test('describes a union at the top of a schema in words, and keeps the rest', () => {
    const inputSchema = {
      type: 'object',
      description: 'A place.',
      properties: { id: { type: 'string' }, at: { anyOf: [{ type: 'number' }, { type: 'string' }] } },
      anyOf: [{ required: ['id'] }, { required: ['at'] }],
    }
    const { anyOf, ...own } = inputSchema
    expect(bodyOf({ tools: [{ ...CLOCK, inputSchema }] }).tools).toMatchObject([
      { input_schema: { ...own, description: `A place.\n${JSON.stringify({ anyOf })}` } },
    ])
  })
})

describe('the cache of an Anthropic request', () => {
  const SYSTEM: Message = { role: 'system', content: 'Be brief.' }
  const messages: Message[] = [
    { role: 'system', content: 'Be brief.' },
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: 'First.' },
    { role: 'assistant', content: 'Yes.' },
    { role: 'user', content: 'Second.' },
    { role: 'assistant', content: '', calls: [call('a'), call('b')] },
    result('a', [NOON]),
    result('b', [NOON, PICTURE]),
  ]

  test('marks tools and system texts, and keeps tools for an hour if asked', () => {
    const body = bodyOf({ messages: [SYSTEM, USER], tools: [CLOCK, { ...CLOCK, name: 'sundial' }] }, '1h')
    const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } }
    expect(body.tools).toEqual([
      { name: 'clock', description: 'Tells the time.', input_schema: expect.any(Object) },
      { name: 'sundial', description: 'Tells the time.', input_schema: expect.any(Object), ...mark },
    ])
    expect(body.system).toEqual([{ type: 'text', text: 'Be brief.', ...mark }])
  })

  test('marks the ends of repeated parts: tools with instructions, notes, the newest turn and the one before', () => {
    const body = bodyOf({ messages, tools: [CLOCK, { ...CLOCK, name: 'sundial' }] }, '5m')
    expect(body.tools).toEqual([
      { name: 'clock', description: 'Tells the time.', input_schema: expect.any(Object) },
      { name: 'sundial', description: 'Tells the time.', input_schema: expect.any(Object) },
    ])
    expect(body.system).toEqual([
      { type: 'text', text: 'Be brief.', ...MARK },
      { type: 'text', text: 'Be kind.', ...MARK },
    ])
    expect(body.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'First.' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Yes.' }] },
      { role: 'user', content: [{ type: 'text', text: 'Second.', ...MARK }] },
      { role: 'assistant', content: [use('a'), use('b')] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: [NOON] },
          { type: 'tool_result', tool_use_id: 'b', content: [NOON, expect.anything()], ...MARK },
        ],
      },
    ])
    // Anthropic takes four marks.
    expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(4)
  })

  test('needs no second encoding', () => {
    const { reads, message } = counted()
    const request = { messages: [message], tools: [] }
    for (const cache of ['5m', 'off', '1h'] as const) bodyOf(request, cache)
    expect(reads.count).toBe(1)
  })
})

describe('the history of an Anthropic request', () => {
  test('has results in the user’s turn, before the user’s text', () => {
    expect(
      messagesOf(
        USER,
        { role: 'assistant', content: 'I look.', calls: [call('a'), call('b', '')] },
        result('a', [NOON, PICTURE]),
        result('b', [{ type: 'text', text: 'Broken.' }, PICTURE], false),
        { role: 'user', content: 'And now?' },
      ),
    ).toEqual([
      HI,
      { role: 'assistant', content: [{ type: 'text', text: 'I look.' }, use('a'), use('b', {})] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'a',
            content: [NOON, { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }],
          },
          {
            type: 'tool_result',
            tool_use_id: 'b',
            content: [{ type: 'text', text: 'Broken.\n[image: image/png]' }],
            is_error: true,
          },
          { type: 'text', text: 'And now?' },
        ],
      },
    ])
  })

  test('has nothing empty', () => {
    const empty: Content = { type: 'text', text: '' }
    expect(
      messagesOf(
        { role: 'user', content: '' },
        { role: 'user', content: [empty] },
        { role: 'assistant', content: '  ' },
        { role: 'user', content: [empty, NOON] },
        { role: 'assistant', content: '', calls: [call('a')] },
        result('a', [empty]),
      ),
    ).toEqual([
      { role: 'user', content: [NOON] },
      { role: 'assistant', content: [use('a')] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] },
    ])
  })

  test('has images, PDFs and texts of users, and names other files', () => {
    const content: Content[] = [
      { type: 'image', mediaType: 'image/webp', data: 'AAAA' },
      { type: 'file', mediaType: 'application/pdf', data: 'QQ==' },
      { type: 'file', mediaType: 'text/csv', data: btoa('a,b') },
      { type: 'file', mediaType: 'application/json', data: 'not base64!' },
      { type: 'image', mediaType: 'image/tiff', data: 'AAAA' },
    ]
    expect(messagesOf({ role: 'user', content })).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/webp', data: 'AAAA' } },
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'QQ==' } },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a,b' } },
          { type: 'text', text: '[file: application/json]' },
          { type: 'text', text: '[image: image/tiff]' },
        ],
      },
    ])
  })

  test.each([
    ['{"a":1}', { a: 1 }],
    ['', {}],
    ['{place: Oslo', { unreadable: '{place: Oslo' }],
    ['["Oslo"]', { unreadable: '["Oslo"]' }],
  ])('has objects as arguments: %j as %j', (args, input) => {
    expect(messagesOf({ role: 'assistant', content: '', calls: [call('a', args)] })).toEqual([
      { role: 'assistant', content: [use('a', input)] },
    ])
  })

  test('has ids that Anthropic accepts, whatever their source', () => {
    const id = 'functions.clock:0'
    expect(messagesOf({ role: 'assistant', content: '', calls: [call(id)] }, result(id, []))).toEqual([
      { role: 'assistant', content: [use('functions_clock_0')] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'functions_clock_0' }] },
    ])
  })
})

describe('thinking in an Anthropic request', () => {
  const thinking = (signature: string) => ({ type: 'thinking', thinking: 'Hm.', signature })

  test('is returned unchanged in its place', () => {
    const blocks = [
      thinking('a'),
      { type: 'redacted_thinking', data: 'x' },
      { type: 'text', text: 'Let me look. 🕟' },
      thinking('b'),
      use('call_1'),
      { type: 'text', text: 'And again.' },
      use('call_2'),
    ]
    const decoder = anthropicAnswers.decoder()
    const events = [
      ...decoder.push({ data: JSON.stringify({ type: 'message', content: blocks, stop_reason: 'tool_use' }) }),
      ...decoder.end(true),
    ]
    const end = events.at(-1)
    const answer: AssistantMessage = {
      role: 'assistant',
      content: events.map((event) => (event.type === 'text' ? event.text : '')).join(''),
      calls: [call('call_1'), call('call_2')],
      ...(end?.type === 'finish' && end.opaque && { opaque: end.opaque }),
    }
    expect(messagesOf(USER, answer)).toEqual([HI, { role: 'assistant', content: blocks }])
  })

  test('of another provider is ignored', () => {
    const opaque = { codec: 'another', data: [thinking('a')] }
    expect(messagesOf({ role: 'assistant', content: 'Yes.', opaque })).toEqual([
      { role: 'assistant', content: [{ type: 'text', text: 'Yes.' }] },
    ])
  })

  test('has no blocks of other kinds, which a caller may have written', () => {
    const file = { type: 'document', source: { type: 'file', file_id: 'file_of_others' } }
    const opaque = { codec: 'anthropic', data: [file, thinking('a'), { type: 'tool_result', tool_use_id: 'x' }, 4] }
    expect(messagesOf({ role: 'assistant', content: 'Yes.', opaque })).toEqual([
      { role: 'assistant', content: [thinking('a'), { type: 'text', text: 'Yes.' }] },
    ])
  })

  test('alone is not a message', () => {
    const opaque = { codec: 'anthropic', data: [thinking('a')] }
    expect(messagesOf(USER, { role: 'assistant', content: '', opaque }, USER)).toEqual([
      { role: 'user', content: [...HI.content, ...HI.content] },
    ])
  })

  test('keeps what was added later', () => {
    const opaque = { codec: 'anthropic', data: [thinking('a'), 3, null, null] }
    expect(messagesOf({ role: 'assistant', content: 'Yes, but.', calls: [call('a')], opaque })).toEqual([
      {
        role: 'assistant',
        content: [thinking('a'), { type: 'text', text: 'Yes' }, use('a'), { type: 'text', text: ', but.' }],
      },
    ])
  })
})

const block = fc.oneof(
  someText.map((text) => ({ type: 'text', text })),
  fc
    .tuple(fc.string({ maxLength: 8 }), someText)
    .map(([thinking, signature]) => ({ type: 'thinking', thinking, signature })),
  someText.map((data) => ({ type: 'redacted_thinking', data })),
  fc.tuple(someToolName, someArguments).map(([tool, input]) => ({ type: 'tool_use', id: '', name: tool, input })),
)

test('an Anthropic answer with thinking is sent back unchanged', () => {
  fc.assert(
    fc.property(fc.array(block, { minLength: 1, maxLength: 8 }), someText, (blocks, signature) => {
      let calls = 0
      const content = [{ type: 'thinking', thinking: '', signature }, ...blocks, { type: 'text', text: 'So.' }].map(
        (each) => (each.type === 'tool_use' ? { ...each, id: `call_${calls++}` } : each),
      )
      const answer = keptAnswer(anthropicAnswers, { type: 'message', content, stop_reason: 'end_turn' })
      const body = JSON.parse(
        encodeAnthropicRequest({ messages: [answer], tools: [] }, { model: 'probe', maxTokens: 1, cache: '5m' }),
      )
      expect(body.messages).toEqual([{ role: 'assistant', content: JSON.parse(JSON.stringify(content)) }])
    }),
  )
})
