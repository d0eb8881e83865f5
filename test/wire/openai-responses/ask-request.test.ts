import type {
  ResponseCreateParamsStreaming,
  ResponseFunctionToolCall,
  ResponseInput,
  ResponseInputMessageContentList,
  ResponseReasoningItem,
} from 'openai/resources/responses/responses'
import { describe, expect, test } from 'vitest'
import type { AssistantMessage, Message } from '../../../src/contract/message.ts'
import type { ModelRequest } from '../../../src/contract/model.ts'
import type { ToolDefinition } from '../../../src/contract/tool.ts'
import { encodeRequest } from '../../../src/wire/openai-responses/ask-request.ts'

const CLOCK: ToolDefinition = {
  name: 'clock',
  title: 'Clock',
  description: 'Tells the time.',
  inputSchema: { type: 'object', properties: { zone: { type: 'string' } } },
  version: '1',
  hash: 'h',
  annotations: { readOnly: true },
}
const USER: Message = { role: 'user', content: 'What time is it?' }

const bodyOf = (request: Partial<ModelRequest>, isPlain?: boolean): Record<string, unknown> =>
  JSON.parse(encodeRequest('probe', { messages: [USER], tools: [], ...request }, isPlain))

const inputOf = (messages: readonly Message[], isPlain?: boolean): unknown => bodyOf({ messages }, isPlain).input

describe('the request', () => {
  test('stores nothing, and wants the reasoning to take along', () => {
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

  test('says sampling in this format’s words', () => {
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
  })

  test('offers tools flat, and not strict', () => {
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

  test.each([
    [{ type: 'text' }, { format: { type: 'text' } }],
    [{ type: 'json_object' }, { format: { type: 'json_object' } }],
    [
      { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true },
      { format: { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true } },
    ],
  ] as const)('asks for the form %j', (responseFormat, text) => {
    expect(bodyOf({ responseFormat })).toMatchObject({ text })
  })
})

describe('the history', () => {
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

  test('has arguments that are an object, and no message that says nothing', () => {
    const broken = { ...calls[0]!, arguments: '{zone' }
    expect(
      inputOf([USER, { role: 'assistant', content: '' }, { role: 'assistant', content: '', calls: [broken] }]),
    ).toEqual([
      { role: 'user', content: 'What time is it?' },
      { ...callItem, arguments: '{"unreadable":"{zone"}' },
    ])
  })

  test('has pictures and files, of users and of tools', () => {
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
  const sent: ResponseReasoningItem = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAA' }
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

  test('goes back as it came, in its place', () => {
    expect(inputOf([USER, answer(data)])).toEqual<ResponseInput>([
      { role: 'user', content: 'What time is it?' },
      sent,
      { role: 'assistant', content: 'I look.', phase: 'commentary' },
      items[0]!,
      { ...sent, id: 'rs_2' },
      items[1]!,
      { role: 'assistant', content: 'Done.' },
    ])
  })

  test('stays away where it is not wanted, or where another codec kept it', () => {
    expect(inputOf([answer(data)], true)).toEqual(withoutReasoning)
    expect(inputOf([answer(data, 'anthropic')])).toEqual(withoutReasoning)
    expect(bodyOf({}, true)).not.toHaveProperty('include')
  })

  test.each([[null], ['text'], [[null, 1, { text: 'x' }, { call: 7 }]]])('cannot harm the answer: %j', (damaged) => {
    expect(inputOf([answer(damaged)])).toEqual(withoutReasoning)
  })

  test('may know less than the answer holds', () => {
    expect(inputOf([answer([{ reasoning }, { call: 1 }])])).toEqual([
      sent,
      items[1],
      { role: 'assistant', content: 'I look.Done.' },
      items[0],
    ])
  })
})
