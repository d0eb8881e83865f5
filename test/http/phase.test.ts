import OpenAI from 'openai'
import type { ResponseInputItem, ResponseOutputItem } from 'openai/resources/responses/responses'
import { expect, test } from 'vitest'
import type { ModelReply } from '../fixtures/model-server.ts'
import { tool } from '../fixtures/play.ts'
import { UPSTREAMS, upstreamEdge } from './upstream-edge.ts'

type Phase = 'commentary' | 'final_answer'

const model = 'test/scripted'
const message = (text: string, phase: Phase) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  phase,
  content: [{ type: 'output_text', text, annotations: [] }],
})
const call = (name: string) => ({ id: 'fc_1', type: 'function_call', call_id: 'c', name, arguments: '{}' })
const reply = (...output: readonly object[]): ModelReply => ({
  body: { id: 'resp_1', object: 'response', status: 'completed', error: null, output },
})

async function playing(...replies: readonly ModelReply[]) {
  const parts = { tools: [tool('clock')] }
  const edge = await upstreamEdge((_, index) => replies[index]!, UPSTREAMS.responses.provider, parts)
  const options = { apiKey: 'none', maxRetries: 0, baseURL: 'http://127.0.0.1:8787/v1', fetch: edge.fetch }
  return { edge, client: new OpenAI(options) }
}

function phasesOf(items: readonly (ResponseOutputItem | ResponseInputItem)[]) {
  return items.flatMap((item) => ('phase' in item ? [item.phase] : []))
}

const pick = { type: 'function', name: 'pick', strict: null, parameters: { type: 'object' } } as const
const pickReply = reply(message('I look.', 'commentary'), call('pick'))
const doneReply = reply(message('Done.', 'final_answer'))

test.each([true, false])('the phase of a message comes to the caller and goes back, streamed: %s', async (stream) => {
  const { edge, client } = await playing(pickReply, doneReply)
  const body = { model, store: false, tools: [pick] }
  const question = { ...body, input: 'Go', edgecall: { rounds: 'all' } }
  const first = stream
    ? await client.responses.stream(question).finalResponse()
    : await client.responses.create(question)
  expect(phasesOf(first.output)).toEqual(['commentary'])
  const callId = first.output.flatMap((item) => (item.type === 'function_call' ? [item.call_id] : []))[0] ?? ''
  const items = first.output as ResponseInputItem[]
  const input: ResponseInputItem[] = [
    { role: 'user', content: 'Go' },
    ...items,
    { type: 'function_call_output', call_id: callId, output: '7' },
  ]
  const second = await client.responses.create({ ...body, input })
  expect(phasesOf(second.output)).toEqual(['final_answer'])
  expect(edge.calls[1]?.body['input']).toEqual([
    { role: 'user', content: 'Go' },
    { role: 'assistant', content: 'I look.', phase: 'commentary' },
    { type: 'function_call', call_id: callId, name: 'pick', arguments: '{}' },
    { type: 'function_call_output', call_id: callId, output: '7' },
  ])
})

test('each message of a response has the phase of its own step, also where the items are listed', async () => {
  const replies = [reply(message('I look.', 'commentary'), call('clock')), doneReply]
  const { client } = await playing(...replies)
  const conversation = await client.conversations.create()
  const body = { model, conversation: conversation.id, input: 'Go', edgecall: { rounds: 'all' } }
  const { output } = await client.responses.stream(body).finalResponse()
  expect(phasesOf(output)).toEqual(['commentary', 'final_answer'])
  const items: ResponseInputItem[] = []
  for await (const item of client.conversations.items.list(conversation.id, { order: 'asc' }))
    items.push(item as ResponseInputItem)
  expect(phasesOf(items)).toEqual(['commentary', 'final_answer'])
})

test('a message without a phase, or of another provider, has none', async () => {
  const plain = { ...message('Done.', 'final_answer'), phase: null }
  const { client } = await playing(reply(plain))
  const { output } = await client.responses.create({
    model,
    store: false,
    input: [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content: 'Wait.', phase: null },
      { role: 'user', content: 'Go on' },
    ],
  })
  expect(output.map((item) => 'phase' in item)).toEqual([false])
})
