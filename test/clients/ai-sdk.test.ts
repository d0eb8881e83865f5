import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateText, jsonSchema, type ModelMessage, Output, stepCountIs, streamText, tool } from 'ai'
import { expect, test } from 'vitest'
import { contentText } from '../../src/contract/message.ts'
import { ask, say, tool as edgeTool } from '../fixtures/play.ts'
import { type ServedEdge, servedEdge } from './served-edge.ts'

const clock = edgeTool('clock', () => '12:00')

function chatOf(edge: ServedEdge) {
  return createOpenAICompatible({
    name: 'edge',
    baseURL: `${edge.url}/v1`,
    includeUsage: true,
    supportsStructuredOutputs: true,
  })('test/scripted')
}

function responsesOf(edge: ServedEdge) {
  return createOpenAI({ baseURL: `${edge.url}/v1`, apiKey: 'none' }).responses('test/scripted')
}

const shout = tool({
  description: 'Shouts a text',
  inputSchema: jsonSchema<{ text: string }>({ type: 'object', properties: { text: { type: 'string' } } }),
  execute: async ({ text }) => text.toUpperCase(),
})
const numberSchema = jsonSchema<{ hour: number }>({
  type: 'object',
  properties: { hour: { type: 'number' } },
  required: ['hour'],
  additionalProperties: false,
})

for (const [name, modelOf] of [
  ['Chat Completions', chatOf],
  ['Responses', responsesOf],
] as const) {
  test(`${name}: generates and streams text`, async () => {
    const edge = await servedEdge({
      script: [ask(['clock']), say('Noon.'), ask(['clock']), say('Noon.')],
      tools: [clock],
    })
    const completion = await generateText({ model: modelOf(edge), prompt: 'What time is it?', maxRetries: 0 })
    expect([completion.text, completion.finishReason, completion.totalUsage.totalTokens]).toEqual(['Noon.', 'stop', 30])
    const stream = streamText({ model: modelOf(edge), prompt: 'What time is it?', maxRetries: 0 })
    let text = ''
    for await (const delta of stream.textStream) text += delta
    expect([text, await stream.finishReason, (await stream.totalUsage).totalTokens]).toEqual(['Noon.', 'stop', 30])
  })

  test(`${name}: runs tools of the caller beside those of the edge`, async () => {
    const script = [ask(['clock'], ['shout', { text: 'noon' }]), say('NOON!')]
    const edge = await servedEdge({ script: [...script, ...script], tools: [clock] })
    const requestOptions = {
      model: modelOf(edge),
      tools: { shout },
      prompt: 'Shout the time.',
      stopWhen: stepCountIs(5),
      maxRetries: 0,
    }
    const completion = await generateText(requestOptions)
    expect([completion.text, completion.steps.length]).toEqual(['NOON!', 2])
    expect(completion.steps[0]?.toolResults.map((result) => [result.toolName, result.output])).toContainEqual([
      'shout',
      'NOON',
    ])
    const stream = streamText(requestOptions)
    expect([await stream.text, (await stream.steps).length]).toEqual(['NOON!', 2])
    for (const last of [edge.requests[1], edge.requests[3]]) {
      expect(last?.messages.map((message) => [message.role, contentText(message.content)])).toEqual([
        ['user', 'Shout the time.'],
        ['assistant', ''],
        ['tool', '12:00'],
        ['tool', 'NOON'],
      ])
    }
  })

  test(`${name}: continues a chat with its earlier messages and calls`, async () => {
    const edge = await servedEdge({
      script: [ask(['clock']), say('Noon.'), say('Twelve.'), say('12.')],
      tools: [clock],
    })
    const messages: ModelMessage[] = [{ role: 'user', content: 'What time is it?' }]
    for (const next of ['In words?', 'In digits?', '']) {
      const { responseMessages } = await generateText({ model: modelOf(edge), messages, maxRetries: 0 })
      messages.push(...responseMessages, { role: 'user', content: next })
    }
    const items = edge.requests.at(-1)?.messages.map((message) => `${message.role}: ${contentText(message.content)}`)
    // Chat Completions has no word for calls that the server ran; who wants them kept names a conversation.
    const ran = name === 'Responses' ? ['assistant: ', 'tool: 12:00'] : []
    expect(items).toEqual([
      'user: What time is it?',
      ...ran,
      'assistant: Noon.',
      'user: In words?',
      'assistant: Twelve.',
      'user: In digits?',
    ])
  })

  test(`${name}: returns a structured answer in the requested format`, async () => {
    const edge = await servedEdge({ script: [ask(['clock']), say('{"hour":12}')], tools: [clock] })
    const { output } = await generateText({
      model: modelOf(edge),
      prompt: 'What hour is it?',
      output: Output.object({ schema: numberSchema }),
      maxRetries: 0,
    })
    expect(output).toEqual({ hour: 12 })
    expect(edge.requests.map(({ responseFormat }) => responseFormat?.type)).toEqual(['json_schema', 'json_schema'])
  })

  test(`${name}: throws an error when the edge refuses the call`, async () => {
    const edge = await servedEdge({ script: [] })
    const error: unknown = await generateText({
      model: modelOf(edge),
      prompt: 'Hi',
      tools: { 'not a name': shout },
      maxRetries: 0,
    }).catch((error: unknown) => error)
    expect(APICallError.isInstance(error) && [error.statusCode, error.isRetryable, error.message]).toEqual([
      400,
      false,
      expect.stringContaining('tools[0]'),
    ])
  })
}

test('a caller that disconnects ends a run that is not stored', async () => {
  const start = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const edge = await servedEdge({
    script: [
      async function* (_request, signal) {
        yield { type: 'text', text: 'One ' }
        signal.addEventListener('abort', () => ended.resolve())
        start.resolve()
        await ended.promise
      },
    ],
  })
  const stop = new AbortController()
  const stream = streamText({ model: chatOf(edge), prompt: 'Count.', maxRetries: 0, abortSignal: stop.signal })
  const reading = stream.consumeStream()
  await start.promise
  stop.abort()
  await Promise.all([ended.promise, reading])
  expect(edge.requests).toHaveLength(1)
})

test('Responses: a call that needs approval is requested, and runs once it is approved', async () => {
  const danger = edgeTool('danger', () => 'boom', { approval: 'always' })
  const edge = await servedEdge({
    script: [ask(['danger']), say('Done.'), ask(['danger']), say('As you wish.')],
    tools: [danger],
  })
  const decide = async (approved: boolean) => {
    const messages: ModelMessage[] = [{ role: 'user', content: 'Go.' }]
    const first = await generateText({ model: responsesOf(edge), messages, maxRetries: 0 })
    const request = first.content.find((part) => part.type === 'tool-approval-request')
    expect(request).toMatchObject({ toolCall: { toolName: 'mcp.danger', providerExecuted: true } })
    messages.push(...first.responseMessages, {
      role: 'tool',
      content: [
        { type: 'tool-approval-response', approvalId: request?.approvalId ?? '', approved, providerExecuted: true },
      ],
    })
    return (await generateText({ model: responsesOf(edge), messages, maxRetries: 0 })).text
  }
  expect(await decide(true)).toBe('Done.')
  expect(await decide(false)).toBe('As you wish.')
  expect(edge.requests.filter((_request, index) => index % 2).map(({ messages }) => messages.at(-1))).toMatchObject([
    { role: 'tool', ok: true, content: [{ text: 'boom' }] },
    { role: 'tool', ok: false, content: [{ text: 'A person refused this call.' }] },
  ])
})
