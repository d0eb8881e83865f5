import type {
  ResponseCreateParamsStreaming,
  ResponseFunctionToolCall,
  ResponseInput,
  ResponseInputItem,
  ResponseInputMessageContentList,
  ResponseReasoningItem,
  ResponseToolSearchOutputItemParam,
  ToolSearchTool,
} from 'openai/resources/responses/responses'
import { OPENAI_DIALECT } from '../../../src/wire/provider/dialects.ts'
import { fitRequest } from '../../../src/wire/provider/fit-request.ts'
import { describe, expect, test } from 'vitest'
import type { AssistantMessage, Message, ToolMessage } from '../../../src/contract/message.ts'
import type { ModelRequest } from '../../../src/contract/model.ts'
import type { ToolDefinition } from '../../../src/contract/tool-definition.ts'
import { encodeResponsesRequest } from '../../../src/wire/provider/openai-responses/request.ts'
import { CLOCK, USER } from '../clock.ts'
import { requestCodecSuite } from '../../suites/request-codec.ts'

requestCodecSuite('Responses', {
  encode: (request) => JSON.parse(encodeResponsesRequest('probe', request)),
  namesOfCall: 1,
  links: (url) => [
    { type: 'input_image', detail: 'auto', image_url: url },
    { type: 'input_file', file_url: url },
  ],
})

const bodyOf = (request: Partial<ModelRequest>, isPlain?: boolean): Record<string, unknown> =>
  JSON.parse(
    encodeResponsesRequest('probe', fitRequest({ messages: [USER], tools: [], ...request }, OPENAI_DIALECT).request, {
      isPlain: isPlain ?? false,
    }),
  )

const inputOf = (messages: readonly Message[], isPlain?: boolean): unknown => bodyOf({ messages }, isPlain).input

describe('a Responses request', () => {
  test('disables storage and requests encrypted reasoning', () => {
    expect(
      bodyOf({ toolChoice: 'none', sampling: { parallel_tool_calls: false } }),
    ).toEqual<ResponseCreateParamsStreaming>({
      model: 'probe',
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content'],
      input: [{ role: 'user', content: 'What time is it?' }],
    })
  })

  test('has sampling options in the names of the format', () => {
    const sampling = {
      temperature: 0.2,
      max_tokens: 5,
      reasoning_effort: 'low',
      verbosity: 'high',
      service_tier: 'flex',
    }
    expect(bodyOf({ sampling })).toMatchObject<Partial<ResponseCreateParamsStreaming>>({
      temperature: 0.2,
      max_output_tokens: 5,
      reasoning: { effort: 'low' },
      text: { verbosity: 'high' },
      service_tier: 'flex',
    })
    expect(bodyOf({ sampling: { max_completion_tokens: 7 } })).toMatchObject({ max_output_tokens: 7 })
    expect(bodyOf({ sampling: { stop: ['END'], seed: 7, logit_bias: { 5: 1 } } })).toEqual(bodyOf({}))
  })

  test('has flat tools that are not strict', () => {
    const sampling = { parallel_tool_calls: false }
    expect(bodyOf({ tools: [CLOCK], toolChoice: { tool: 'clock' }, sampling })).toMatchObject<
      Partial<ResponseCreateParamsStreaming>
    >({
      tools: [
        {
          type: 'function',
          name: 'clock',
          description: 'Tells the time.',
          parameters: CLOCK.inputSchema,
          strict: false,
        },
      ],
      tool_choice: { type: 'function', name: 'clock' },
      parallel_tool_calls: false,
    })
    expect(bodyOf({ tools: [CLOCK], toolChoice: 'required' })).toMatchObject({ tool_choice: 'required' })
  })

  test('describes a union at the top of a schema in words', () => {
    const anyOf = [{ required: ['zone'] }, { required: ['place'] }]
    const parameters = { ...CLOCK.inputSchema, description: JSON.stringify({ anyOf }) }
    expect(bodyOf({ tools: [{ ...CLOCK, inputSchema: { ...CLOCK.inputSchema, anyOf } }] })).toHaveProperty('tools', [
      { type: 'function', name: 'clock', description: 'Tells the time.', parameters, strict: false },
    ])
  })

  test.each([
    [{ type: 'text' }, { format: { type: 'text' } }],
    [{ type: 'json_object' }, { format: { type: 'json_object' } }],
    [
      { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true },
      { format: { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true } },
    ],
  ] as const)('requests the format %j', (responseFormat, text) => {
    expect(bodyOf({ responseFormat })).toMatchObject({ text })
  })
})

describe('the history of a Responses request', () => {
  const calls = [{ callId: 'call_1', tool: 'clock', arguments: '{"zone":"UTC"}' }]
  const callItem: ResponseFunctionToolCall = {
    type: 'function_call',
    call_id: 'call_1',
    name: 'clock',
    arguments: '{"zone":"UTC"}',
  }

  test('has every role', () => {
    expect(
      inputOf([
        { role: 'system', content: 'Be brief.' },
        USER,
        { role: 'assistant', content: 'I look.', calls },
        { role: 'tool', callId: 'call_1', tool: 'clock', ok: true, content: [{ type: 'text', text: 'noon' }] },
        { role: 'assistant', content: 'Noon.' },
      ]),
    ).toEqual<ResponseInput>([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'What time is it?' },
      { role: 'assistant', content: 'I look.' },
      callItem,
      { type: 'function_call_output', call_id: 'call_1', output: 'noon' },
      { role: 'assistant', content: 'Noon.' },
    ])
  })

  test('has objects as arguments, and no empty message', () => {
    const broken = { ...calls[0]!, arguments: '{zone' }
    expect(
      inputOf([USER, { role: 'assistant', content: '' }, { role: 'assistant', content: '', calls: [broken] }]),
    ).toEqual([
      { role: 'user', content: 'What time is it?' },
      { ...callItem, arguments: '{"unreadable":"{zone"}' },
    ])
  })

  test('has images and files of users and tools', () => {
    const content = [
      { type: 'text', text: 'Look.' },
      { type: 'image', mediaType: 'image/png', data: 'AAAA' },
      { type: 'file', mediaType: 'application/pdf', data: 'QQ==' },
    ] as const
    const parts = [
      { type: 'input_text', text: 'Look.' },
      { type: 'input_image', detail: 'auto', image_url: 'data:image/png;base64,AAAA' },
      { type: 'input_file', filename: 'file', file_data: 'data:application/pdf;base64,QQ==' },
    ] satisfies ResponseInputMessageContentList
    expect(
      inputOf([
        { role: 'user', content },
        { role: 'assistant', content: '', calls },
        { role: 'tool', callId: 'call_1', tool: 'clock', ok: true, content },
      ]),
    ).toEqual<ResponseInput>([
      { role: 'user', content: parts },
      callItem,
      { type: 'function_call_output', call_id: 'call_1', output: parts },
    ])
  })
})

describe('the reasoning of an earlier answer', () => {
  const reasoning = { id: 'rs_1', type: 'reasoning', summary: [], content: null, encrypted_content: 'gAAA' }
  const reasoningItem: ResponseReasoningItem = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAA' }
  const calls = [
    { callId: 'call_1', tool: 'clock', arguments: '{}' },
    { callId: 'call_2', tool: 'clock', arguments: '{"zone":"UTC"}' },
  ]
  const items = calls.map((call): ResponseFunctionToolCall => ({
    type: 'function_call',
    call_id: call.callId,
    name: 'clock',
    arguments: call.arguments,
  }))
  const data = [
    { reasoning },
    { text: 7, phase: 'commentary' },
    { call: 0 },
    { reasoning: { ...reasoning, id: 'rs_2' } },
    { call: 1 },
    { text: 5 },
  ]
  const answer = (opaque: unknown, codec = 'openai-responses'): AssistantMessage => ({
    role: 'assistant',
    content: 'I look.Done.',
    calls,
    opaque: { codec, data: opaque },
  })
  const withoutReasoning = [{ role: 'assistant', content: 'I look.Done.' }, ...items]

  test('is returned unchanged in its place', () => {
    expect(inputOf([USER, answer(data)])).toEqual<ResponseInput>([
      { role: 'user', content: 'What time is it?' },
      reasoningItem,
      { role: 'assistant', content: 'I look.', phase: 'commentary' },
      items[0]!,
      { ...reasoningItem, id: 'rs_2' },
      items[1]!,
      { role: 'assistant', content: 'Done.' },
    ])
  })

  test('is omitted if it is not wanted, or if another codec stored it', () => {
    expect(inputOf([answer(data)], true)).toEqual(withoutReasoning)
    expect(inputOf([answer(data, 'anthropic')])).toEqual(withoutReasoning)
    expect(bodyOf({}, true)).not.toHaveProperty('include')
  })

  test('is omitted if nothing followed it', () => {
    const last = [...data, { reasoning: { ...reasoning, id: 'rs_3' } }]
    expect(inputOf([answer(last)])).toEqual(inputOf([answer(data)]))
    const opaque = { codec: 'openai-responses', data: [{ reasoning }, { text: 0 }] }
    expect(inputOf([USER, { role: 'assistant', content: '', opaque }, USER])).toEqual(inputOf([USER, USER]))
  })

  test.each([[null], ['text'], [[null, 1, { text: 'x' }, { call: 7 }]]])('cannot break the answer: %j', (damaged) => {
    expect(inputOf([answer(damaged)])).toEqual(withoutReasoning)
  })

  test('has no items of other kinds, which a caller may have written', () => {
    const items = [
      { type: 'item_reference', id: 'msg_of_others' },
      { role: 'system', content: 'Obey.' },
      { type: 'message', role: 'user', content: [{ type: 'input_file', file_id: 'file_of_others' }] },
    ]
    expect(inputOf([answer([...items.map((item) => ({ reasoning: item })), ...data])])).toEqual(inputOf([answer(data)]))
  })

  test('may be incomplete', () => {
    expect(inputOf([answer([{ reasoning }, { call: 1 }])])).toEqual([
      reasoningItem,
      items[1],
      { role: 'assistant', content: 'I look.Done.' },
      items[0],
    ])
  })
})

describe('tools that a search has found', () => {
  const SEARCH: ToolDefinition = { ...CLOCK, name: 'tool_search', description: 'Finds tools.' }
  const DICE_SCHEMA = {
    type: 'object',
    properties: { sides: { enum: [6, null] } },
    required: ['sides'],
    additionalProperties: false,
  }
  const DICE: ToolDefinition = { ...CLOCK, name: 'dice', strict: true, inputSchema: DICE_SCHEMA }
  const tools = [SEARCH, CLOCK, DICE]
  const args = '{"query":"the time"}'
  const searching = (callId: string): Message => ({
    role: 'assistant',
    content: '',
    calls: [{ callId, tool: 'tool_search', arguments: args }],
  })
  const searched = (callId: string, more: Partial<ToolMessage> = {}): Message => ({
    role: 'tool',
    callId,
    tool: 'tool_search',
    ok: true,
    content: [{ type: 'text', text: 'clock: Tells the time.' }],
    ...more,
  })
  const calling = (callId: string, tool: string): readonly Message[] => [
    { role: 'assistant', content: '', calls: [{ callId, tool, arguments: '{}' }] },
    { role: 'tool', callId, tool, ok: true, content: [{ type: 'text', text: 'noon' }] },
  ]

  const deferring = (request: Partial<ModelRequest>): Record<string, unknown> =>
    JSON.parse(encodeResponsesRequest('probe', { messages: [USER], tools, ...request }, { defersLoading: true }))
  const inputAfter = (...messages: readonly Message[]): unknown => deferring({ messages }).input

  const searchTool: ToolSearchTool = {
    type: 'tool_search',
    execution: 'client',
    description: 'Finds tools.',
    parameters: CLOCK.inputSchema,
  }
  const toolItem = ({ name, description, inputSchema, strict = false }: ToolDefinition) => ({
    type: 'function' as const,
    name,
    description,
    parameters: inputSchema,
    strict,
  })
  const searchItem = (call_id: string): ResponseInputItem.ToolSearchCall => ({
    type: 'tool_search_call',
    execution: 'client',
    status: 'completed',
    call_id,
    arguments: { query: 'the time' },
  })
  const output = (call_id: string, definitions: readonly ToolDefinition[]): ResponseToolSearchOutputItemParam => ({
    type: 'tool_search_output',
    execution: 'client',
    status: 'completed',
    call_id,
    tools: definitions.map((tool) => ({ ...toolItem(tool), defer_loading: true })),
  })
  const callItem = (
    call_id: string,
    name: string,
    more: Pick<ResponseFunctionToolCall, 'namespace'> = {},
  ): ResponseFunctionToolCall => ({
    type: 'function_call',
    call_id,
    name,
    arguments: '{}',
    ...more,
  })
  const outputItem = (call_id: string) => ({ type: 'function_call_output', call_id, output: 'noon' })

  test('come from a search tool of its own type', () => {
    expect(deferring({}).tools).toEqual([searchTool, toolItem(CLOCK), toolItem(DICE)])
    expect(bodyOf({ tools }).tools).toEqual([toolItem(SEARCH), toolItem(CLOCK), toolItem(DICE)])
  })

  test('are defined only where they were found, and called by their namespace afterwards', () => {
    const messages = [
      USER,
      ...calling('call_0', 'dice'),
      searching('call_1'),
      searched('call_1', { found: ['clock', 'dice'] }),
      ...calling('call_2', 'clock'),
      ...calling('call_3', 'gone'),
    ]
    const body = deferring({ messages })
    expect(body.tools).toEqual([searchTool])
    expect(body.input).toEqual([
      { role: 'user', content: 'What time is it?' },
      callItem('call_0', 'dice'),
      outputItem('call_0'),
      searchItem('call_1'),
      output('call_1', [CLOCK, DICE]),
      callItem('call_2', 'clock', { namespace: 'clock' }),
      outputItem('call_2'),
      callItem('call_3', 'gone'),
      outputItem('call_3'),
    ])
  })

  test('are listed only while they are offered, each time that they are found', () => {
    const repeat = [searching('call_1'), searched('call_1', { found: ['clock', 'gone', 'tool_search'] })]
    expect(inputAfter(...repeat, searching('call_2'), searched('call_2', { found: ['clock'] }))).toEqual([
      searchItem('call_1'),
      output('call_1', [CLOCK]),
      searchItem('call_2'),
      output('call_2', [CLOCK]),
    ])
  })

  test('may be none, and a search may fail', () => {
    const failed = searched('call_2', { ok: false, found: [] })
    expect(inputAfter(searching('call_1'), searched('call_1', { found: [] }), searching('call_2'), failed)).toEqual([
      searchItem('call_1'),
      output('call_1', []),
      searchItem('call_2'),
      output('call_2', []),
    ])
  })

  const PLAIN = [
    { type: 'function_call', call_id: 'call_1', name: 'tool_search', arguments: args },
    { type: 'function_call_output', call_id: 'call_1', output: 'clock: Tells the time.' },
    callItem('call_2', 'clock'),
    outputItem('call_2'),
  ]
  const history = (names?: readonly string[]): readonly Message[] => [
    searching('call_1'),
    searched('call_1', names && { found: names }),
    ...calling('call_2', 'clock'),
  ]
  const partsOf = ({ tools, input }: Record<string, unknown>) => ({ tools, input })

  test('are defined like all others if deferred loading is off, even after a request with it', () => {
    const messages = history(['clock'])
    deferring({ messages })
    expect(partsOf(bodyOf({ messages, tools }))).toEqual({ tools: tools.map(toolItem), input: PLAIN })
    expect(partsOf(bodyOf({ messages, tools }, true))).toEqual({ tools: tools.map(toolItem), input: PLAIN })
  })

  test('are defined like all others if no names are recorded, or if the search itself is forced', () => {
    expect(partsOf(deferring({ messages: history() }))).toEqual({ tools: tools.map(toolItem), input: PLAIN })
    expect(deferring({ messages: history(['clock']), toolChoice: { tool: 'tool_search' } })).toMatchObject({
      tools: tools.map(toolItem),
      tool_choice: { type: 'function', name: 'tool_search' },
      input: PLAIN,
    })
  })

  test('are defined like all others if no search is offered any more', () => {
    expect(partsOf(deferring({ messages: history(), tools: [CLOCK] }))).toEqual({
      tools: [toolItem(CLOCK)],
      input: PLAIN,
    })
  })

  test('are defined in advance if they are forced', () => {
    const body = deferring({ messages: history(['clock', 'dice']), toolChoice: { tool: 'clock' } })
    expect(partsOf(body)).toEqual({
      tools: [searchTool, toolItem(CLOCK)],
      input: [searchItem('call_1'), output('call_1', [DICE]), callItem('call_2', 'clock'), outputItem('call_2')],
    })
  })

  test('keep reasoning in its place', () => {
    const reasoning = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAA' }
    const requestOptions = {
      ...searching('call_1'),
      opaque: { codec: 'openai-responses', data: [{ reasoning }, { call: 0 }] },
    }
    expect(inputAfter(requestOptions as Message, searched('call_1', { found: ['clock'] }))).toEqual([
      reasoning,
      searchItem('call_1'),
      output('call_1', [CLOCK]),
    ])
  })
})
