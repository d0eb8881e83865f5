import { HttpAgent } from '@ag-ui/client'
import Anthropic from '@anthropic-ai/sdk'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { HumanMessage, ToolMessage } from '@langchain/core/messages'
import { tool as langchainTool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { OpenAI as LlamaOpenAI } from '@llamaindex/openai'
import {
  DefaultChatTransport,
  generateText,
  jsonSchema,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  stepCountIs,
  streamText,
  tool,
} from 'ai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chunksOf } from '../fixtures/model-server.ts'
import { Chat, partsOf, until } from './chat.ts'
import { ask, say, type ScriptedStage, startScripted } from './scripted-stage.ts'

/** The libraries that the other tests here try in depth, in plain Node: each against the Worker on workerd. */
let stage: ScriptedStage
beforeAll(async () => void (stage = await startScripted()))
afterAll(() => stage?.close())

const model = 'openai/test'
const root = ask(['squareRoot', { number: 16 }])
const mixed = ask(['squareRoot', { number: 16 }], ['shout', { text: 'four' }])
const schema = { type: 'object' as const, properties: { text: { type: 'string' as const } }, required: ['text'] }
const description = 'Shouts a text'
const both = ['user', 'assistant', 'tool', 'tool']
/** Longer than what may be held back as a preamble. */
const long = Array.from({ length: 80 }, (_word, index) => `word${index}`).join(' ')

const v1 = () => new URL('/v1', stage.url).href
const authorization = () => ({ authorization: `Bearer ${stage.key}` })
const lastRoles = () =>
  stage
    .bodies()
    .at(-1)
    ?.messages.map(({ role }) => role)

test('Anthropic’s SDK streams, and runs its tools beside those of the edge', async () => {
  const { messages } = new Anthropic({ baseURL: new URL('/', stage.url).href, apiKey: stage.key, maxRetries: 0 })
  const hello = { role: 'user', content: 'Shout.' } as const
  const request = { model, max_tokens: 100, tools: [{ name: 'shout', description, input_schema: schema }] }
  stage.script(mixed, say('FOUR!'))
  const first = await messages.stream({ ...request, messages: [hello] }).finalMessage()
  expect([first.stop_reason, first.content]).toMatchObject(['tool_use', [{ name: 'shout', input: { text: 'four' } }]])
  const [use] = first.content.filter((block) => block.type === 'tool_use')
  const result = { type: 'tool_result', tool_use_id: use?.id ?? '', content: 'FOUR' } as const
  const history: Anthropic.MessageParam[] = [
    hello,
    { role: 'assistant', content: first.content },
    { role: 'user', content: [result] },
  ]
  const last = await messages.create({ ...request, messages: history })
  expect([last.stop_reason, last.content]).toMatchObject(['end_turn', [{ type: 'text', text: 'FOUR!' }]])
  expect(lastRoles()).toEqual(both)
})

describe('the AI SDK', () => {
  const shout = tool({
    description,
    inputSchema: jsonSchema<{ text: string }>(schema),
    execute: async ({ text }) => text.toUpperCase(),
  })
  test.each([
    [
      'Chat Completions',
      () => createOpenAICompatible({ name: 'edge', baseURL: v1(), apiKey: stage.key, includeUsage: true })(model),
    ],
    ['Responses', () => createOpenAI({ baseURL: v1(), apiKey: stage.key }).responses(model)],
  ])('generates and streams over %s', async (_name, modelOf) => {
    const request = { model: modelOf(), tools: { shout }, prompt: 'Shout.', stopWhen: stepCountIs(5), maxRetries: 0 }
    stage.script(mixed, say('FOUR!'))
    const completion = await generateText(request)
    expect([completion.text, completion.steps.length, completion.totalUsage.totalTokens]).toEqual(['FOUR!', 2, 30])
    expect(lastRoles()).toEqual(both)
    stage.script(mixed, say(long))
    const stream = streamText(request)
    const deltas: string[] = []
    for await (const delta of stream.textStream) deltas.push(delta)
    expect([deltas.join(''), await stream.finishReason]).toEqual([long, 'stop'])
    expect(deltas.length).toBeGreaterThan(20)
    expect(lastRoles()).toEqual(both)
  })
})

describe('ChatOpenAI of LangChain', () => {
  const shout = langchainTool(({ text }) => text.toUpperCase(), { name: 'shout', description, schema })
  test.each([
    ['Chat Completions', false],
    ['Responses', true],
  ])('invokes and streams over %s', async (_name, useResponsesApi) => {
    const configuration = { baseURL: v1() }
    const chat = new ChatOpenAI({ model, apiKey: stage.key, configuration, maxRetries: 0, useResponsesApi })
    const boundChat = chat.bindTools([shout])
    stage.script(mixed, say('FOUR!'))
    const response = await boundChat.invoke([new HumanMessage('Shout.')])
    const [call] = response.tool_calls ?? []
    expect(response.tool_calls).toMatchObject([{ name: 'shout', args: { text: 'four' } }])
    const result = new ToolMessage({ content: 'FOUR', tool_call_id: call?.id ?? '' })
    expect((await boundChat.invoke([new HumanMessage('Shout.'), response, result])).text).toBe('FOUR!')
    expect(lastRoles()).toEqual(both)
    stage.script(root, say(long))
    const texts: string[] = []
    for await (const chunk of await chat.stream('Root of 16?')) texts.push(chunk.text)
    expect(texts.join('')).toBe(long)
    expect(texts.length).toBeGreaterThan(20)
  })
})

test('LlamaIndex chats, streams, and runs its own tools', async () => {
  const llm = new LlamaOpenAI({ model, apiKey: stage.key, baseURL: v1(), maxRetries: 0 })
  const shout = {
    metadata: { name: 'shout', description, parameters: schema },
    call: ({ text }: { text: string }) => text.toUpperCase(),
  }
  const messages = [{ role: 'user', content: 'Shout.' } as const]
  stage.script(mixed, say('FOUR!'))
  const { newMessages } = await llm.exec({ messages, tools: [shout] })
  const next = await llm.chat({ messages: [...messages, ...newMessages], tools: [shout] })
  expect([next.message.content, lastRoles()]).toEqual(['FOUR!', both])
  stage.script(root, say(long))
  const deltas: string[] = []
  for await (const { delta } of await llm.chat({ messages, stream: true })) deltas.push(delta)
  expect(deltas.join('')).toBe(long)
  expect(deltas.length).toBeGreaterThan(20)
})

describe('useChat', () => {
  /** A chat, and how its connection is lost. */
  function chatOf(id: string): { chat: Chat; cut: () => void } {
    let connection = new AbortController()
    const transport = new DefaultChatTransport({
      api: new URL('/chat', stage.url).href,
      headers: authorization(),
      body: { edgecall: { tools: { add: ['pays'] } } },
      fetch: (input, init) => {
        connection = new AbortController()
        return fetch(input, { ...init, signal: connection.signal })
      },
    })
    const sendAutomaticallyWhen = lastAssistantMessageIsCompleteWithApprovalResponses
    return { chat: new Chat({ id, transport, sendAutomaticallyWhen }), cut: () => connection.abort() }
  }

  test.each([
    [true, ['tool-pays', 'output-available', 'paid']],
    [false, ['tool-pays', 'output-denied', undefined]],
  ])('gets its calls approved: %s', async (approved, message) => {
    stage.script(ask(['pays']), say('So be it.'))
    const { chat } = chatOf(`approved-${approved}`)
    await chat.sendMessage({ text: 'Pay.' })
    expect(chat.error).toBeUndefined()
    const { approval } = { approval: { id: '' }, ...chat.lastMessage?.parts[1] }
    await chat.addToolApprovalResponse({ id: approval.id, approved })
    await until(() => partsOf(chat.lastMessage).includes('So be it.'))
    expect(partsOf(chat.lastMessage)).toEqual(['step-start', message, 'step-start', 'So be it.'])
    expect(chat.messages).toHaveLength(2)
  })

  test('resumes an answer whose connection was lost', async () => {
    const gate = Promise.withResolvers<undefined>()
    const [first, second, ...rest] = chunksOf({ text: 'One two three.' })
    stage.script({ chunks: [first, second, gate.promise, ...rest] })
    const { chat, cut } = chatOf('lost')
    const sending = chat.sendMessage({ text: 'Count.' })
    await until(() => partsOf(chat.lastMessage).includes('One '))
    cut()
    await sending
    const resumed = chat.resumeStream()
    await until(() => chat.status === 'streaming')
    gate.resolve(undefined)
    await resumed
    expect(chat.messages.map(partsOf)).toEqual([['Count.'], ['step-start', 'One two three.']])
    // There is nothing more to read.
    await chat.resumeStream()
    expect([chat.status, chat.messages.length, stage.bodies().length]).toEqual(['ready', 2, 1])
  })
})

test('an AG-UI agent gets answers and continues after an approval', async () => {
  const agent = new HttpAgent({
    url: new URL('/ag-ui', stage.url).href,
    threadId: 'thread-1',
    headers: authorization(),
  })
  const forwardedProps = { edgecall: { tools: { add: ['pays'] } } }
  stage.script(root, say('It is 4.'))
  agent.addMessage({ id: 'm1', role: 'user', content: 'Root of 16?' })
  const deltas: string[] = []
  await agent.runAgent({}, { onTextMessageContentEvent: ({ event }) => void deltas.push(event.delta) })
  expect(deltas).toEqual(['It ', 'is ', '4.'])
  expect(agent.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  stage.script(ask(['pays']), say('Done.'))
  agent.addMessage({ id: 'm2', role: 'user', content: 'Pay.' })
  await agent.runAgent({ forwardedProps })
  const [interrupt] = agent.pendingInterrupts
  expect(interrupt).toMatchObject({ reason: 'tool_approval', message: 'May "pays" be called?' })
  await agent.runAgent({
    resume: [{ interruptId: interrupt?.id ?? '', status: 'resolved', payload: { approved: true } }],
  })
  expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'Done.' })
  expect(stage.bodies().at(-1)?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'paid' })
})
