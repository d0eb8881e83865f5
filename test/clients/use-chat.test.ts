import {
  type ChatInit,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from 'ai'
import { describe, expect, test } from 'vitest'
import { contentText } from '../../src/contract/message.ts'
import { ask, say, sayInTwo, tool } from '../fixtures/play.ts'
import { Chat, partsOf, until } from './chat.ts'
import { type ServedEdge, servedEdge } from './served-edge.ts'

const clock = tool('clock', () => '12:00')
const danger = tool('danger', () => 'boom', { approval: 'always' })
const pick = { name: 'pick', description: 'Picks', inputSchema: { type: 'object' } }

function chatOf(edge: ServedEdge, init: ChatInit<UIMessage> = {}): Chat {
  const transport = new DefaultChatTransport({
    api: `${edge.url}/chat`,
    body: { edgecall: { clientTools: [pick] } },
  })
  return new Chat({ id: 'chat-1', transport, ...init })
}

/** What the model was told in its last request. */
function lastTold(edge: ServedEdge): string[] {
  return edge.requests.at(-1)?.messages.map(({ content }) => contentText(content)) ?? []
}

test('text arrives word by word, with a call of the edge and its result', async () => {
  const edge = await servedEdge({
    script: [ask(['clock', { zone: 'UTC' }]), say('Noon.'), say('Yes.')],
    tools: [clock],
  })
  const chat = chatOf(edge)
  await chat.sendMessage({ text: 'What time is it?' })
  expect([chat.status, chat.error]).toEqual(['ready', undefined])
  expect(partsOf(chat.lastMessage)).toEqual([
    'step-start',
    ['tool-clock', 'output-available', '12:00'],
    'step-start',
    'Noon.',
  ])
  expect(chat.lastMessage?.parts[1]).toMatchObject({ input: { zone: 'UTC' }, providerExecuted: true })
  await chat.sendMessage({ text: 'Sure?' })
  expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
  expect(edge.requests[2]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user'])
})

describe('calls that wait', () => {
  test('for the page receive its outputs, and the answer continues by itself', async () => {
    const edge = await servedEdge({ script: [ask(['clock'], ['pick', { of: 2 }]), say('Left it is.')], tools: [clock] })
    const chat: Chat = chatOf(edge, {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall: ({ toolCall }) => {
        if (toolCall.toolName !== 'pick') return
        void chat.addToolOutput({ tool: 'pick', toolCallId: toolCall.toolCallId, output: { side: 'left' } })
      },
    })
    await chat.sendMessage({ text: 'Pick one.' })
    expect(chat.messages).toHaveLength(2)
    expect(partsOf(chat.lastMessage)).toEqual([
      'step-start',
      ['tool-clock', 'output-available', '12:00'],
      ['tool-pick', 'output-available', { side: 'left' }],
      'step-start',
      'Left it is.',
    ])
    expect(edge.requests[1]?.messages.at(-1)).toMatchObject({ content: [{ text: '{"side":"left"}' }] })
  })

  test('and fail on the page are reported as failed', async () => {
    const edge = await servedEdge({ script: [ask(['pick']), say('Too bad.')] })
    const chat = chatOf(edge, { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls })
    await chat.sendMessage({ text: 'Pick one.' })
    const { toolCallId } = { toolCallId: '', ...chat.lastMessage?.parts[1] }
    await chat.addToolOutput({ tool: 'pick', toolCallId, state: 'output-error', errorText: 'Nothing to pick.' })
    await until(() => partsOf(chat.lastMessage).includes('Too bad.'))
    expect(partsOf(chat.lastMessage).slice(1)).toEqual([
      ['tool-pick', 'output-error', 'Nothing to pick.'],
      'step-start',
      'Too bad.',
    ])
    expect(edge.requests[1]?.messages.at(-1)).toMatchObject({ ok: false, content: [{ text: 'Nothing to pick.' }] })
  })

  test.each([
    [true, ['tool-danger', 'output-available', 'boom']],
    [false, ['tool-danger', 'output-denied', undefined]],
  ])('for a person run once approved: %s', async (approved, message) => {
    const edge = await servedEdge({ script: [ask(['danger'], ['pick']), say('So be it.')], tools: [danger] })
    const chat = chatOf(edge, { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses })
    await chat.sendMessage({ text: 'Go.' })
    const [args, picked] = chat.lastMessage?.parts.slice(1) ?? []
    const { approval } = { approval: { id: '' }, ...args }
    expect(args).toMatchObject({ state: 'approval-requested' })
    await chat.addToolOutput({ tool: 'pick', toolCallId: { toolCallId: '', ...picked }.toolCallId, output: 'left' })
    await chat.addToolApprovalResponse({ id: approval.id, approved, reason: 'I say so' })
    await until(() => partsOf(chat.lastMessage).includes('So be it.'))
    expect(partsOf(chat.lastMessage)).toEqual([
      'step-start',
      message,
      ['tool-pick', 'output-available', 'left'],
      'step-start',
      'So be it.',
    ])
    expect(chat.messages).toHaveLength(2)
  })
})

test('a message during an open approval is refused at once, and answered when it is sent again after the decision', async () => {
  const edge = await servedEdge({ script: [ask(['danger']), say('So be it.'), say('Yes.')], tools: [danger] })
  const chat = chatOf(edge)
  await chat.sendMessage({ text: 'Go.' })
  await chat.sendMessage({ text: 'Sure?' })
  const sentence = 'This chat waits for a decision about "danger". Approve or reject, then send the message again.'
  expect([chat.status, chat.error?.message]).toEqual(['error', sentence])
  const { id: runId, parts } = chat.messages[1]!
  const url = `${edge.url}/conversations/chat-1/runs/${runId}`
  const body = JSON.stringify({ decision: 'approve' })
  const headers = { 'content-type': 'application/json' }
  await edge.fetch(`${url}/calls/${Object(parts[1]).toolCallId}`, { method: 'POST', headers, body })
  await (await edge.fetch(`${url}/events`)).text()
  await chat.regenerate()
  expect([chat.status, partsOf(chat.lastMessage)]).toEqual(['ready', ['step-start', 'Yes.']])
  expect(lastTold(edge)).toEqual(['Go.', '', 'boom', 'So be it.', 'Sure?'])
})

test('an answer whose connection is lost is resumed', async () => {
  const gate = Promise.withResolvers<void>()
  const slow = tool('slow', () => gate.promise.then(() => 'slowly'))
  const edge = await servedEdge({ script: [ask(['slow']), say('Done.')], tools: [slow] })
  const ends: boolean[] = []
  const chat = chatOf(edge, { onFinish: ({ isError }) => ends.push(isError) })
  const sending = chat.sendMessage({ text: 'Go.' })
  await until(() => partsOf(chat.lastMessage).length === 2)
  edge.cut()
  await sending
  expect([ends, chat.status, chat.lastMessage?.parts.length]).toEqual([[true], 'error', 2])
  const resumed = chat.resumeStream()
  await until(() => chat.status === 'streaming')
  gate.resolve()
  await resumed
  expect(chat.messages).toHaveLength(2)
  expect(partsOf(chat.lastMessage)).toEqual([
    'step-start',
    ['tool-slow', 'output-available', 'slowly'],
    'step-start',
    'Done.',
  ])
  // There is nothing more to read.
  await chat.resumeStream()
  expect([chat.status, chat.messages.length, edge.requests.length]).toEqual(['ready', 2, 2])
})

test('a page that is opened again reads the answer in progress', async () => {
  const gate = Promise.withResolvers<void>()
  const start = Promise.withResolvers<void>()
  const slow = tool('slow', async () => {
    start.resolve()
    await gate.promise
    return 'slowly'
  })
  const edge = await servedEdge({ script: [ask(['slow']), say('Done.')], tools: [slow] })
  const first = chatOf(edge)
  const sending = first.sendMessage({ text: 'Go.' })
  await start.promise
  const second = chatOf(edge, { messages: structuredClone(first.messages.slice(0, 1)) })
  const resumed = second.resumeStream()
  await until(() => second.messages.length === 2)
  gate.resolve()
  await Promise.all([sending, resumed])
  expect(partsOf(second.lastMessage)).toEqual(partsOf(first.lastMessage))
  expect(second.lastMessage?.id).toBe(first.lastMessage?.id)
})

test('an answer is regenerated in its place, and a later message sees the new one', async () => {
  const edge = await servedEdge({ script: [say('One.'), say('Two.'), say('Three.')] })
  const chat = chatOf(edge)
  await chat.sendMessage({ text: 'Count.' })
  await chat.regenerate()
  expect([chat.error, ...chat.messages.map(partsOf)]).toEqual([undefined, ['Count.'], ['step-start', 'Two.']])
  await chat.sendMessage({ text: 'And?' })
  expect(lastTold(edge)).toEqual(['Count.', 'Two.', 'And?'])
})

describe('an earlier message', () => {
  const counted = async () => {
    const edge = await servedEdge({ script: ['One.', 'Two.', 'Three.', 'Other.', 'More.'].map(say) })
    const chat = chatOf(edge)
    for (const text of ['Count.', 'And?', 'And then?']) await chat.sendMessage({ text })
    const idAt = (at: number): string => chat.messages[at]?.id ?? ''
    return { edge, chat, idAt }
  }
  const textsOf = (chat: Chat) => chat.messages.map((message) => partsOf(message).at(-1))

  test('with an answer is regenerated, and what followed it is removed', async () => {
    const { edge, chat, idAt } = await counted()
    await chat.regenerate({ messageId: idAt(3) })
    expect([chat.error, ...textsOf(chat)]).toEqual([undefined, 'Count.', 'One.', 'And?', 'Other.'])
    expect(lastTold(edge)).toEqual(['Count.', 'One.', 'And?'])
    await chat.sendMessage({ text: 'Go on.' })
    expect(lastTold(edge)).toEqual(['Count.', 'One.', 'And?', 'Other.', 'Go on.'])
  })

  test('of the user is answered again', async () => {
    const { edge, chat, idAt } = await counted()
    await chat.regenerate({ messageId: idAt(0) })
    expect([chat.error, ...textsOf(chat)]).toEqual([undefined, 'Count.', 'Other.'])
    await chat.sendMessage({ text: 'Go on.' })
    expect(lastTold(edge)).toEqual(['Count.', 'Other.', 'Go on.'])
  })

  test('of the user is replaced when it is edited', async () => {
    const { edge, chat, idAt } = await counted()
    await chat.sendMessage({ text: 'Or what?', messageId: idAt(2) })
    expect([chat.error, ...textsOf(chat)]).toEqual([undefined, 'Count.', 'One.', 'Or what?', 'Other.'])
    expect(lastTold(edge)).toEqual(['Count.', 'One.', 'Or what?'])
    await chat.regenerate({ messageId: idAt(2) })
    expect(lastTold(edge)).toEqual(['Count.', 'One.', 'Or what?'])
    expect(textsOf(chat)).toEqual(['Count.', 'One.', 'Or what?', 'More.'])
  })

  test('that did not arrive may be edited', async () => {
    const edge = await servedEdge({ script: [say('One.')] })
    const chat = chatOf(edge, { messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Count!' }] }] })
    await chat.sendMessage({ text: 'Count.', messageId: 'm1' })
    expect([chat.error, ...textsOf(chat)]).toEqual([undefined, 'Count.', 'One.'])
  })

  test('that did not arrive is answered when it is sent again, even the first one', async () => {
    const edge = await servedEdge({ script: [say('One.'), say('Two.'), say('Three.')] })
    let isDown = true
    const transport = new DefaultChatTransport({
      api: `${edge.url}/chat`,
      fetch: async (...args) => (isDown ? new Response('Down.', { status: 503 }) : fetch(...args)),
    })
    const chat = chatOf(edge, { transport })
    for (const text of ['Count.', 'And?', 'And then?']) {
      isDown = true
      await chat.sendMessage({ text })
      expect([chat.status, chat.error?.message]).toEqual(['error', 'Down.'])
      isDown = false
      await chat.regenerate(text === 'And then?' ? { messageId: chat.lastMessage?.id ?? '' } : {})
    }
    expect(textsOf(chat)).toEqual(['Count.', 'One.', 'And?', 'Two.', 'And then?', 'Three.'])
    expect(lastTold(edge)).toEqual(['Count.', 'One.', 'And?', 'Two.', 'And then?'])
  })

  test('that is unknown is not regenerated, and nothing is lost', async () => {
    const { edge, chat } = await counted()
    const messages = structuredClone(chat.messages)
    chat.messages = [{ id: 'foreign', role: 'assistant', parts: [] }, ...messages]
    await chat.regenerate({ messageId: messages[0]?.id ?? '' })
    expect(chat.error?.message).toBe('This conversation has no such run.')
    chat.messages = messages
    await chat.sendMessage({ text: 'Go on.' })
    expect(lastTold(edge)).toHaveLength(7)
  })

  test('whose answer is in progress ends when it is edited', async () => {
    const gate = Promise.withResolvers<void>()
    const edge = await servedEdge({
      script: [
        say('One.'),
        async function* (_, signal) {
          yield { type: 'text', text: 'Two ' }
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
          gate.resolve()
        },
        say('Other.'),
        say('More.'),
      ],
    })
    const chat = chatOf(edge)
    await chat.sendMessage({ text: 'Count.' })
    const sending = chat.sendMessage({ text: 'And?' })
    await until(() => partsOf(chat.lastMessage).includes('Two '))
    await chat.stop()
    await sending
    await chat.regenerate({ messageId: chat.messages[1]?.id ?? '' })
    await gate.promise
    expect([chat.error, ...textsOf(chat)]).toEqual([undefined, 'Count.', 'Other.'])
    await chat.sendMessage({ text: 'Go on.' })
    expect(lastTold(edge)).toEqual(['Count.', 'Other.', 'Go on.'])
  })
})

test('a message after a stop interrupts the run, and the model sees the partial answer', async () => {
  const edge = await servedEdge({ script: [sayInTwo('One ', new Promise(() => {}), 'two.'), say('Three.')] })
  const chat = chatOf(edge)
  const sending = chat.sendMessage({ text: 'Count.' })
  await until(() => partsOf(chat.lastMessage).includes('One '))
  await chat.stop()
  await sending
  expect(chat.status).toBe('ready')
  await chat.sendMessage({ text: 'And?' })
  expect([chat.error, partsOf(chat.lastMessage)]).toEqual([undefined, ['step-start', 'Three.']])
  expect(lastTold(edge)).toEqual(['Count.', 'One \n\n[This answer was interrupted here.]', 'And?'])
  const [run] = await (await edge.fetch('/conversations/chat-1/runs')).json<any>()
  expect(await (await edge.fetch(`/conversations/chat-1/runs/${run.id}`)).json()).toMatchObject({
    status: 'cancelled',
    answer: 'One ',
    finish: 'cancelled',
  })
  const messages = await (await edge.fetch('/conversations/chat-1/messages')).json<any>()
  expect(messages.map(({ message }: any) => message)).toMatchObject([
    { role: 'user' },
    { role: 'assistant', content: 'One ', wasInterrupted: true },
    { role: 'user' },
    { role: 'assistant', content: 'Three.' },
  ])
})

test('a stop ends the run at once if the page asks for that', async () => {
  const edge = await servedEdge({ script: [sayInTwo('One ', new Promise(() => {}), 'two.'), say('Three.')] })
  const body = { edgecall: { cancelOnDisconnect: true } }
  const chat = chatOf(edge, { transport: new DefaultChatTransport({ api: `${edge.url}/chat`, body }) })
  const sending = chat.sendMessage({ text: 'Count.' })
  await until(() => partsOf(chat.lastMessage).includes('One '))
  await chat.stop()
  await sending
  const statusOf = async () => (await (await edge.fetch('/conversations/chat-1/runs')).json<any>())[0].status
  await expect.poll(statusOf).toBe('cancelled')
})

test('an error of the run becomes the error of the chat', async () => {
  const failing = {
    type: 'error',
    error: { code: 'model_unreachable', message: 'No model.', retryable: false },
  } as const
  const edge = await servedEdge({ script: [[failing], [{ type: 'text', text: 'One ' }, failing], say('Here.')] })
  const chat = chatOf(edge)
  await chat.sendMessage({ text: 'Hi' })
  expect([chat.status, chat.error?.message]).toEqual(['error', expect.stringContaining('No model.')])
  await chat.regenerate()
  expect([chat.status, chat.error?.message]).toEqual(['error', expect.stringContaining('No model.')])
  await chat.sendMessage({ text: 'Once more' })
  expect([chat.status, partsOf(chat.lastMessage)]).toEqual(['ready', ['step-start', 'Here.']])
})
