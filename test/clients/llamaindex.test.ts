import { OpenAI } from '@llamaindex/openai'
import { describe, expect, test } from 'vitest'
import { contentText } from '../../src/contract/message.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { type ServedEdge, servedEdge } from './served-edge.ts'

const clock = tool('clock', () => '12:00')

function llmOf({ url }: ServedEdge): OpenAI {
  return new OpenAI({ model: 'test/scripted', apiKey: 'none', baseURL: `${url}/v1`, maxRetries: 0 })
}

const shout = {
  metadata: {
    name: 'shout',
    description: 'Shouts a text',
    parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  },
  call: ({ text }: { text: string }) => text.toUpperCase(),
}
const user = (content: string) => ({ role: 'user', content }) as const

test('LlamaIndex chats and streams', async () => {
  const edge = await servedEdge({
    script: [ask(['clock']), say('Noon.'), ask(['clock']), say('Noon.')],
    tools: [clock],
  })
  const messages = [{ role: 'system', content: 'Be brief.' } as const, user('What time is it?')]
  const { message } = await llmOf(edge).chat({ messages })
  expect(message).toMatchObject({ role: 'assistant', content: 'Noon.' })
  let text = ''
  for await (const { delta } of await llmOf(edge).chat({ messages, stream: true })) text += delta
  expect(text).toBe('Noon.')
})

function lastTold(edge: ServedEdge): string[] {
  return edge.requests.at(-1)?.messages.map(({ role, content }) => `${role}: ${contentText(content)}`) ?? []
}

describe('LlamaIndex runs its own tools beside those of the edge', () => {
  const request = { messages: [user('Shout the time.')], tools: [shout] }
  const history = ['user: Shout the time.', 'assistant: ', 'tool: 12:00', 'tool: NOON']

  test('in a complete answer', async () => {
    const edge = await servedEdge({
      script: [ask(['clock'], ['shout', { text: 'noon' }]), say('NOON!')],
      tools: [clock],
    })
    const { newMessages } = await llmOf(edge).exec(request)
    const next = await llmOf(edge).chat({ messages: [...request.messages, ...newMessages], tools: [shout] })
    expect([next.message.content, lastTold(edge)]).toEqual(['NOON!', history])
  })

  test('in a streamed answer', async () => {
    const edge = await servedEdge({
      script: [ask(['clock'], ['shout', { text: 'noon' }]), say('NOON!')],
      tools: [clock],
    })
    const reply = await llmOf(edge).exec({ ...request, stream: true })
    let text = ''
    for await (const { delta } of reply.stream) text += delta
    const messages = [...request.messages, ...reply.newMessages()]
    for await (const { delta } of await llmOf(edge).chat({ messages, tools: [shout], stream: true })) text += delta
    expect([text, lastTold(edge)]).toEqual(['NOON!', history])
  })
})
