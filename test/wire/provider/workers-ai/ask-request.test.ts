import { describe, expect, test } from 'vitest'
import type { Message } from '../../../../src/contract/message.ts'
import type { ModelRequest } from '../../../../src/contract/model.ts'
import { toInputs } from '../../../../src/wire/provider/workers-ai/codec.ts'
import { CLOCK, USER } from '../../clock.ts'
import { requestCodecSuite } from '../../../suites/request-codec.ts'

requestCodecSuite('Workers AI', {
  encode: toInputs,
  namesOfCall: 2,
})

const inputsOf = (request: Partial<ModelRequest>): unknown => toInputs({ messages: [USER], tools: [], ...request })

describe('the inputs of Workers AI', () => {
  test('request a stream, and have no tools if there are none', () => {
    const sampling = { temperature: 0.2, max_completion_tokens: 5, parallel_tool_calls: false }
    expect(inputsOf({ toolChoice: 'none', sampling })).toEqual({
      temperature: 0.2,
      max_tokens: 5,
      messages: [USER],
      stream: true,
    })
  })

  test('have tools as functions', () => {
    const sampling = { parallel_tool_calls: false }
    expect(inputsOf({ tools: [CLOCK], toolChoice: { tool: 'clock' }, sampling })).toEqual({
      messages: [USER],
      tools: [
        {
          type: 'function',
          function: { name: 'clock', description: 'Tells the time.', parameters: CLOCK.inputSchema },
        },
      ],
      tool_choice: { type: 'function', function: { name: 'clock' } },
      parallel_tool_calls: false,
      stream: true,
    })
  })

  test.each([
    [{ type: 'json_object' }, { type: 'json_object' }],
    [
      { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true },
      { type: 'json_schema', json_schema: { type: 'object' } },
    ],
  ] as const)('request the format %j, which is not streamed', (responseFormat, response_format) => {
    expect(inputsOf({ responseFormat })).toEqual({ messages: [USER], response_format })
  })

  test('stream plain text that was requested', () => {
    expect(inputsOf({ responseFormat: { type: 'text' } })).toEqual({ messages: [USER], stream: true })
  })
})

test('the history for Workers AI has a text in every message, and the tool’s name in its result', () => {
  const calls = [{ callId: 'call_1', tool: 'clock', arguments: '' }]
  const messages: Message[] = [
    { role: 'system', content: 'Be brief.' },
    { role: 'assistant', content: '', calls },
    { role: 'tool', callId: 'call_1', tool: 'clock', ok: true, content: [{ type: 'text', text: 'noon' }] },
    { role: 'user', content: [{ type: 'image', mediaType: 'image/png', data: 'AAAA' }] },
  ]
  expect(inputsOf({ messages })).toMatchObject({
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'clock', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', name: 'clock', content: 'noon' },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
    ],
  })
})
