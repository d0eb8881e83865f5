import {
  type AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from '@langchain/core/messages'
import { tool as clientTool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { describe, expect, test } from 'vitest'
import { contentText } from '../../src/contract/message.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { type ServedEdge, servedEdge } from './served-edge.ts'

const clock = tool('clock', () => '12:00')
const shout = clientTool(({ text }) => text.toUpperCase(), {
  name: 'shout',
  description: 'Shouts a text',
  schema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
})

function lastTold(edge: ServedEdge): string[] {
  return edge.requests.at(-1)?.messages.map(({ role, content }) => `${role}: ${contentText(content)}`) ?? []
}

describe.each([
  ['Chat Completions', false],
  ['Responses', true],
])('ChatOpenAI over %s', (_name, useResponsesApi) => {
  const chatOf = ({ url }: ServedEdge) =>
    new ChatOpenAI({
      model: 'test/scripted',
      apiKey: 'none',
      configuration: { baseURL: `${url}/v1` },
      maxRetries: 0,
      useResponsesApi,
    })

  test('invokes and streams', async () => {
    const edge = await servedEdge({
      script: [ask(['clock']), say('Noon.'), ask(['clock']), say('Noon.')],
      tools: [clock],
    })
    const messages = [new SystemMessage('Be brief.'), new HumanMessage('What time is it?')]
    const completion = await chatOf(edge).invoke(messages)
    const streamed = await gather(await chatOf(edge).stream(messages))
    const expected = { text: 'Noon.', usage_metadata: { total_tokens: 30 }, tool_calls: [] }
    expect([completion, streamed]).toMatchObject([expected, expected])
    expect(lastTold(edge)).toEqual(['system: Be brief.', 'user: What time is it?', 'assistant: ', 'tool: 12:00'])
  })

  test.each([false, true])('runs its own tools beside those of the edge, streamed: %s', async (streaming) => {
    const edge = await servedEdge({
      script: [ask(['clock'], ['shout', { text: 'noon' }]), say('NOON!')],
      tools: [clock],
    })
    const boundChat = chatOf(edge).bindTools([shout])
    const messages: BaseMessage[] = [new HumanMessage('Shout the time.')]
    const streamedAnswer = streaming ? await gather(await boundChat.stream(messages)) : await boundChat.invoke(messages)
    expect(streamedAnswer.tool_calls).toMatchObject([{ name: 'shout', args: { text: 'noon' }, type: 'tool_call' }])
    messages.push(streamedAnswer)
    messages.push(new ToolMessage({ content: 'NOON', tool_call_id: streamedAnswer.tool_calls?.[0]?.id ?? '' }))
    expect((await boundChat.invoke(messages)).text).toBe('NOON!')
    expect(lastTold(edge)).toEqual(['user: Shout the time.', 'assistant: ', 'tool: 12:00', 'tool: NOON'])
  })

  test('returns a structured answer', async () => {
    const edge = await servedEdge({ script: [ask(['clock']), say('{"hour":12}')], tools: [clock] })
    const schema = { title: 'hour', type: 'object', properties: { hour: { type: 'number' } }, required: ['hour'] }
    const structured = chatOf(edge).withStructuredOutput(schema, { method: 'jsonSchema' })
    expect(await structured.invoke('What hour is it?')).toEqual({ hour: 12 })
    expect(edge.requests[1]?.responseFormat?.type).toBe('json_schema')
  })

  test('throws when the edge refuses the request', async () => {
    const edge = await servedEdge({ script: [] })
    const unnamable = { name: 'not a name', description: '', parameters: { type: 'object' } }
    const chatWithBadTool = chatOf(edge).bindTools([{ type: 'function', function: unnamable }])
    await expect(chatWithBadTool.invoke('Hi')).rejects.toMatchObject({ status: 400, code: 'invalid_value' })
  })
})

async function gather(chunks: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  let message: AIMessageChunk | undefined
  for await (const chunk of chunks) message = message?.concat(chunk) ?? chunk
  if (!message) throw new Error('The stream had no chunks')
  return message
}
