import fc from 'fast-check'
import { GEMINI_DIALECT } from '../../../../src/wire/provider/dialects.ts'
import { fitRequest } from '../../../../src/wire/provider/fit-request.ts'
import { describe, expect, test } from 'vitest'
import type { AssistantMessage, Content, Message } from '../../../../src/contract/message.ts'
import type { ModelRequest } from '../../../../src/contract/model.ts'
import { geminiAnswers } from '../../../../src/wire/provider/gemini/answer.ts'
import { encodeGeminiRequest } from '../../../../src/wire/provider/gemini/request.ts'
import { call, CLOCK, counted, NOON, PICTURE, result, USER } from '../../clock.ts'
import { keptAnswer, someArguments, someText, someToolName } from '../../kept-answer.ts'
import { requestCodecSuite } from '../../../suites/request-codec.ts'

requestCodecSuite('Gemini', {
  encode: (request) => JSON.parse(encodeGeminiRequest(request)),
  namesOfCall: 2,
  links: (url) => [{ fileData: { mimeType: 'application/pdf', fileUri: url } }],
})

const HI = { role: 'user', parts: [{ text: 'What time is it?' }] }

const bodyOf = (request: Partial<ModelRequest>): Record<string, unknown> =>
  JSON.parse(encodeGeminiRequest(fitRequest({ messages: [USER], tools: [], ...request }, GEMINI_DIALECT).request))

const contentsOf = (...messages: Message[]): unknown => bodyOf({ messages }).contents

const UNSIGNED = { thoughtSignature: 'skip_thought_signature_validator' }
const callPart = (args: unknown = { zone: 'UTC' }, id?: string) => ({
  functionCall: { ...(id && { id }), name: 'clock', args },
})
const functionResponse = (response: object, id?: string) => ({
  functionResponse: { ...(id && { id }), name: 'clock', response },
})

describe('a Gemini request', () => {
  test('has no tools if there are none', () => {
    expect(bodyOf({ toolChoice: 'required' })).toEqual({ generationConfig: {}, contents: [HI] })
  })

  test('has the sampling options of the format, in its names', () => {
    const sampling = {
      temperature: 0.2,
      top_p: 0.9,
      stop: 'END',
      seed: 7,
      presence_penalty: 0.1,
      frequency_penalty: 0.3,
      max_tokens: 9,
      logit_bias: {},
    }
    expect(bodyOf({ sampling }).generationConfig).toEqual({
      temperature: 0.2,
      topP: 0.9,
      seed: 7,
      presencePenalty: 0.1,
      frequencyPenalty: 0.3,
      maxOutputTokens: 9,
      stopSequences: ['END'],
    })
    const other = { stop: ['a', 'b'], top_k: 5, max_tokens: 9, max_completion_tokens: 7 }
    expect(bodyOf({ sampling: other }).generationConfig).toEqual({
      topK: 5,
      maxOutputTokens: 7,
      stopSequences: ['a', 'b'],
    })
  })

  test.each([
    ['none', { thinkingLevel: 'low', includeThoughts: false }],
    ['minimal', { thinkingLevel: 'low', includeThoughts: true }],
    ['medium', { thinkingLevel: 'medium', includeThoughts: true }],
    ['xhigh', { thinkingLevel: 'high', includeThoughts: true }],
  ])('with the effort %s has the thinking level %j', (reasoning_effort, thinkingConfig) => {
    expect(bodyOf({ sampling: { reasoning_effort } }).generationConfig).toEqual({ thinkingConfig })
  })

  test('has the tools that Gemini runs, beside functions with their uses in the answer', () => {
    const forms = [{ googleSearch: {} }, { urlContext: {} }]
    const providerTools: ModelRequest['providerTools'] = (format) => ({ forms: format === 'gemini' ? forms : [] })
    expect(bodyOf({ providerTools })).toEqual({ generationConfig: {}, contents: [HI], tools: forms })
    const body = bodyOf({ providerTools, tools: [CLOCK], toolChoice: 'auto' })
    expect([body.tools, body.toolConfig]).toMatchObject([
      [{ functionDeclarations: [{ name: 'clock' }] }, ...forms],
      { functionCallingConfig: { mode: 'AUTO' }, includeServerSideToolInvocations: true },
    ])
    // What an older model is sent, and one that may use no tool.
    const plain = JSON.parse(encodeGeminiRequest({ messages: [USER], tools: [CLOCK], providerTools }, true))
    expect([plain.tools.length, plain.toolConfig]).toEqual([1, undefined])
    expect(bodyOf({ providerTools, toolChoice: 'none' }).tools).toBeUndefined()
  })

  test('has the system messages in their own field', () => {
    const messages: Message[] = [
      { role: 'system', content: 'Be brief.' },
      USER,
      { role: 'system', content: '' },
      { role: 'system', content: 'Be kind.' },
    ]
    expect(bodyOf({ messages })).toMatchObject({
      systemInstruction: { parts: [{ text: 'Be brief.' }, { text: 'Be kind.' }] },
      contents: [HI],
    })
  })

  test('offers tools', () => {
    const { tools, toolConfig } = bodyOf({ tools: [CLOCK, { ...CLOCK, name: 'sundial' }] })
    const parametersJsonSchema = CLOCK.inputSchema
    expect([tools, toolConfig]).toEqual([
      [
        {
          functionDeclarations: [
            { name: 'clock', description: 'Tells the time.', parametersJsonSchema },
            { name: 'sundial', description: 'Tells the time.', parametersJsonSchema },
          ],
        },
      ],
      undefined,
    ])
  })

  test.each([
    ['auto', { mode: 'AUTO' }],
    ['none', { mode: 'NONE' }],
    ['required', { mode: 'ANY' }],
    [{ tool: 'clock' }, { mode: 'ANY', allowedFunctionNames: ['clock'] }],
  ] as const)('with the choice %j has %j', (toolChoice, functionCallingConfig) => {
    expect(bodyOf({ tools: [CLOCK], toolChoice }).toolConfig).toEqual({ functionCallingConfig })
  })

  test('has the keywords of JSON Schema that Gemini documents, and describes the others', () => {
    const inputSchema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: {
        kind: { const: 'cat', description: 'Always this.' },
        age: { type: ['integer', 'null'], minimum: 0, exclusiveMaximum: 99 },
        at: { $ref: '#/definitions/place', description: 'lost' },
        pattern: { type: 'string', pattern: '^a', format: 'date' },
        pair: { type: 'array', prefixItems: [{ const: 1 }, { oneOf: [{ type: 'string' }, true] }], maxItems: 2 },
        extra: { type: 'object', additionalProperties: { type: 'number', multipleOf: 2 } },
      },
      required: ['kind'],
      additionalProperties: false,
      definitions: { place: { type: 'object', properties: { up: { $ref: '#/definitions/place' } } } },
      allOf: [{ required: ['age'] }],
    }
    expect(bodyOf({ tools: [{ ...CLOCK, inputSchema }] }).tools).toMatchObject([
      {
        functionDeclarations: [
          {
            parametersJsonSchema: {
              description: '{"allOf":[{"required":["age"]}]}',
              type: 'object',
              properties: {
                kind: { enum: ['cat'], description: 'Always this.' },
                age: { type: ['integer', 'null'], minimum: 0, description: '{"exclusiveMaximum":99}' },
                at: { $ref: '#/$defs/place' },
                pattern: { type: 'string', format: 'date', description: '{"pattern":"^a"}' },
                pair: { type: 'array', prefixItems: [{ enum: [1] }, { anyOf: [{ type: 'string' }, {}] }], maxItems: 2 },
                extra: { type: 'object', additionalProperties: { type: 'number', description: '{"multipleOf":2}' } },
              },
              required: ['kind'],
              additionalProperties: false,
              $defs: { place: { type: 'object', properties: { up: { $ref: '#/$defs/place' } } } },
            },
          },
        ],
      },
    ])
  })

  test.each([
    [{ type: 'text' }, {}],
    [{ type: 'json_object' }, { responseMimeType: 'application/json' }],
    [
      { type: 'json_schema', name: 'answer', schema: { type: 'object', properties: { a: { const: 1 } } } },
      {
        responseMimeType: 'application/json',
        responseJsonSchema: { type: 'object', properties: { a: { enum: [1] } } },
      },
    ],
  ] as const)('requests the format %j', (responseFormat, generationConfig) => {
    expect(bodyOf({ responseFormat, tools: [CLOCK] }).generationConfig).toEqual(generationConfig)
  })

  test('encodes tools and messages once', () => {
    const { reads, tool, message } = counted()
    const request = { messages: [message], tools: [tool] }
    expect(encodeGeminiRequest(request)).toBe(encodeGeminiRequest(request))
    expect(reads.count).toBe(2)
  })
})

describe('the history of a Gemini request', () => {
  test('has results in the user’s turn, by name', () => {
    expect(
      contentsOf(
        USER,
        { role: 'assistant', content: 'I look.', calls: [call('a'), call('b', '')] },
        result('a', [NOON, { type: 'text', text: 'sharp' }]),
        result('b', [{ type: 'text', text: 'Broken.' }], false),
        { role: 'assistant', content: 'Noon.' },
        { role: 'user', content: 'Thanks.' },
      ),
    ).toEqual([
      HI,
      { role: 'model', parts: [{ text: 'I look.' }, { ...callPart(), ...UNSIGNED }, callPart({})] },
      { role: 'user', parts: [functionResponse({ output: 'noon\nsharp' }), functionResponse({ error: 'Broken.' })] },
      { role: 'model', parts: [{ text: 'Noon.' }] },
      { role: 'user', parts: [{ text: 'Thanks.' }] },
    ])
  })

  test('has images and files in results, and names those that are not allowed', () => {
    const sound: Content = { type: 'file', mediaType: 'audio/wav', data: 'UklG' }
    expect(contentsOf(USER, result('a', [NOON, PICTURE, sound]))).toMatchObject([
      {
        parts: [
          { text: 'What time is it?' },
          {
            functionResponse: {
              response: { output: 'noon\n[file: audio/wav]' },
              parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }],
            },
          },
        ],
      },
    ])
  })

  test('has images and files of users, and nothing empty', () => {
    const content: Content[] = [
      { type: 'text', text: '' },
      PICTURE,
      { type: 'file', mediaType: 'application/pdf', data: 'QQ==' },
    ]
    expect(
      contentsOf({ role: 'user', content: '' }, { role: 'assistant', content: '' }, { role: 'user', content }, USER),
    ).toEqual([
      {
        role: 'user',
        parts: [
          { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
          { inlineData: { mimeType: 'application/pdf', data: 'QQ==' } },
          { text: 'What time is it?' },
        ],
      },
    ])
  })

  test.each([
    ['{"a":1}', { a: 1 }],
    ['{place: Oslo', { unreadable: '{place: Oslo' }],
    ['null', { unreadable: 'null' }],
  ])('has objects as arguments: %j as %j', (text, args) => {
    expect(contentsOf({ role: 'assistant', content: '', calls: [call('a', text)] })).toEqual([
      { role: 'model', parts: [{ ...callPart(args), ...UNSIGNED }] },
    ])
  })
})

describe('a signed part in a Gemini request', () => {
  const answerOf = (parts: readonly object[], calls: number): AssistantMessage => {
    const decoder = geminiAnswers.decoder()
    const chunk = { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] }
    const events = [...decoder.push({ data: JSON.stringify(chunk) }), ...decoder.end()]
    const end = events.at(-1)
    return {
      role: 'assistant',
      content: events.map((event) => (event.type === 'text' ? event.text : '')).join(''),
      calls: Array.from({ length: calls }, (_, index) => call(`call_${index}`)),
      ...(end?.type === 'finish' && end.opaque && { opaque: end.opaque }),
    }
  }

  test('is returned in its own part, and calls with their ids', () => {
    const parts = [
      { text: 'Hm.', thought: true, thoughtSignature: 'T' },
      { text: 'Let me look. 🕟' },
      { ...callPart({ zone: 'UTC' }, 'fc-1'), thoughtSignature: 'A' },
      callPart({ zone: 'UTC' }, 'fc-2'),
      { text: '', thoughtSignature: 'B' },
    ]
    const results = [result('call_0', [NOON]), result('call_1', [NOON])]
    expect(contentsOf(USER, answerOf(parts, 2), ...results)).toEqual([
      HI,
      { role: 'model', parts },
      {
        role: 'user',
        parts: [functionResponse({ output: 'noon' }, 'fc-1'), functionResponse({ output: 'noon' }, 'fc-2')],
      },
    ])
  })

  test('is not merged with unsigned parts', () => {
    const parts = [{ text: 'One. ' }, { text: 'Two. ', thoughtSignature: 'A' }, { text: 'Three.' }]
    expect(contentsOf(answerOf(parts, 0))).toEqual([{ role: 'model', parts }])
  })

  test('of another provider is ignored, and its calls are unsigned', () => {
    const opaque = { codec: 'anthropic', data: [{ call: true, thoughtSignature: 'A' }] }
    expect(contentsOf({ role: 'assistant', content: '', calls: [call('a'), call('b')], opaque })).toEqual([
      { role: 'model', parts: [{ ...callPart(), ...UNSIGNED }, callPart()] },
    ])
  })

  test('has no parts of other kinds, which a caller may have written', () => {
    const thought = { text: 'Hm.', thought: true, thoughtSignature: 'T' }
    const parts = [
      { fileData: { mimeType: 'text/plain', fileUri: 'https://files.example/of-others' }, thoughtSignature: 'T' },
      { functionResponse: { name: 'pay', response: { output: 'paid' } } },
      { ...thought, fileData: { fileUri: 'https://files.example/of-others' } },
      thought,
    ]
    const opaque = { codec: 'gemini', data: [...parts.map((part) => ({ part })), { text: 4 }] }
    expect(contentsOf({ role: 'assistant', content: 'Yes.', opaque })).toEqual([
      { role: 'model', parts: [thought, { text: 'Yes.' }] },
    ])
  })

  test('keeps what was added later', () => {
    const answer = answerOf([{ text: 'Yes' }, { ...callPart(), thoughtSignature: 'A' }], 2)
    expect(contentsOf({ ...answer, content: 'Yes, but.' })).toEqual([
      {
        role: 'model',
        parts: [{ text: 'Yes' }, { ...callPart(), thoughtSignature: 'A' }, { text: ', but.' }, callPart()],
      },
    ])
  })
})

const part = fc.oneof(
  fc.tuple(someText, someText).map(([text, thoughtSignature]) => ({ text, thoughtSignature })),
  fc.tuple(someText, someText).map(([text, thoughtSignature]) => ({ text, thought: true, thoughtSignature })),
  fc.tuple(someToolName, someArguments, someText, someText).map(([tool, input, id, thoughtSignature]) => ({
    functionCall: { id, name: tool, args: input },
    thoughtSignature,
  })),
)

test('a signed Gemini answer is sent back unchanged', () => {
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 8 }), someText, (signed, text) => {
      const parts = [{ text }, ...signed, { text: 'So.' }]
      const answer = keptAnswer(geminiAnswers, { candidates: [{ content: { parts }, finishReason: 'STOP' }] })
      const body = JSON.parse(encodeGeminiRequest({ messages: [answer], tools: [] }))
      expect(body.contents).toEqual([{ role: 'model', parts: JSON.parse(JSON.stringify(parts)) }])
    }),
  )
})
