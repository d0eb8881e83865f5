import { HttpAgent, type Message, type Tool } from '@ag-ui/client'
import { describe, expect, test, vi } from 'vitest'
import { contentText } from '../../src/contract/message.ts'
import { ask, say, sayInTwo, tool } from '../fixtures/play.ts'
import { type ServedEdge, servedEdge } from './served-edge.ts'

const clock = tool('clock', () => '12:00')
const danger = tool('danger', () => 'boom', { approval: 'always' })
const pick: Tool = { name: 'pick', description: 'Picks', parameters: { type: 'object', properties: {} } }

/** Its events are checked by the client, which throws for any that come in a wrong order. */
function agentOf(edge: ServedEdge): HttpAgent {
  return new HttpAgent({ url: `${edge.url}/ag-ui`, threadId: 'thread-1' })
}

const user = (content: string): Message => ({ id: crypto.randomUUID(), role: 'user', content })

function messagesOf(messages: readonly Message[]): unknown[] {
  return messages.map((message) => {
    const { role, content } = message
    if (role !== 'assistant') return [role, content]
    const calls = message.toolCalls?.map(({ function: { name, arguments: text } }) => `${name}(${text})`)
    return [role, content, ...(calls ?? [])]
  })
}

function lastTold(edge: ServedEdge): string[] {
  return edge.requests.at(-1)?.messages.map(({ role, content }) => `${role}: ${contentText(content)}`) ?? []
}

async function failure(promise: Promise<unknown>): Promise<string> {
  return promise.then(String, (error: unknown) => (error instanceof Error ? error.message : String(error)))
}

test('an AG-UI run answers after the calls of the edge, and the thread continues', async () => {
  const edge = await servedEdge({
    script: [[{ type: 'reasoning', text: 'A clock.' }, ...ask(['clock', { zone: 'UTC' }])], say('Noon.'), say('Yes.')],
    tools: [clock],
  })
  const agent = agentOf(edge)
  agent.addMessage(user('What time is it?'))
  const deltas: string[] = []
  const { result, newMessages } = await agent.runAgent(
    { context: [{ description: 'Place', value: 'Oslo' }] },
    { onTextMessageContentEvent: ({ event }) => void deltas.push(event.delta) },
  )
  expect([result, deltas]).toEqual([{ finish: 'stop' }, ['Noon.']])
  expect(messagesOf(newMessages)).toEqual([
    ['reasoning', 'A clock.'],
    ['assistant', undefined, 'clock({"zone":"UTC"})'],
    ['tool', '12:00'],
    ['assistant', 'Noon.'],
  ])
  expect(lastTold(edge)[0]).toBe('system: Place: Oslo')
  agent.addMessage(user('Sure?'))
  await agent.runAgent()
  expect(lastTold(edge)).toEqual([
    'user: What time is it?',
    'assistant: ',
    'tool: 12:00',
    'assistant: Noon.',
    'user: Sure?',
  ])
})

test('the client runs its own tools beside those of the edge', async () => {
  const edge = await servedEdge({ script: [ask(['clock'], ['pick', { of: 2 }]), say('Left it is.')], tools: [clock] })
  const agent = agentOf(edge)
  agent.addMessage(user('Pick.'))
  const { newMessages } = await agent.runAgent({ tools: [pick] })
  expect(messagesOf(newMessages)).toEqual([
    ['assistant', undefined, 'clock({})', 'pick({"of":2})'],
    ['tool', '12:00'],
  ])
  const newCalls = newMessages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
  agent.addMessage({ id: 'r1', role: 'tool', toolCallId: newCalls[1]!.id, content: 'left' })
  const next = await agent.runAgent({ tools: [pick] })
  expect(messagesOf(next.newMessages)).toEqual([['assistant', 'Left it is.']])
  expect(lastTold(edge)).toEqual(['user: Pick.', 'assistant: ', 'tool: 12:00', 'tool: left'])
})

describe('an approval', () => {
  test.each([
    [true, 'tool: boom'],
    [false, 'tool: A person refused this call: not today'],
  ])('interrupts the run, and resumes it: %s', async (approved, result) => {
    const edge = await servedEdge({ script: [ask(['danger']), say('So be it.')], tools: [danger] })
    const agent = agentOf(edge)
    agent.addMessage(user('Go.'))
    await agent.runAgent()
    const [interrupt] = agent.pendingInterrupts
    expect(agent.pendingInterrupts).toMatchObject([{ reason: 'tool_approval', message: 'May "danger" be called?' }])
    const payload = approved ? { approved } : { approved, reason: 'not today' }
    const { newMessages } = await agent.runAgent({
      resume: [{ interruptId: interrupt!.id, status: 'resolved', payload }],
    })
    expect(agent.pendingInterrupts).toEqual([])
    expect(messagesOf(newMessages).at(-1)).toEqual(['assistant', 'So be it.'])
    expect(lastTold(edge).at(-1)).toBe(result)
  })

  test('that is cancelled counts as a rejection', async () => {
    const edge = await servedEdge({ script: [ask(['danger']), say('So be it.')], tools: [danger] })
    const agent = agentOf(edge)
    agent.addMessage(user('Go.'))
    await agent.runAgent()
    const [interrupt] = agent.pendingInterrupts
    await agent.runAgent({ resume: [{ interruptId: interrupt!.id, status: 'cancelled' }] })
    expect(lastTold(edge).at(-1)).toBe('tool: A person refused this call.')
  })
})

test('refused requests and failures in the middle of a stream fail the run', async () => {
  const failing = {
    type: 'error',
    error: { code: 'model_unreachable', message: 'No model.', retryable: false },
  } as const
  const edge = await servedEdge({ script: [[{ type: 'text', text: 'One ' }, failing], say('Here.')] })
  const agent = agentOf(edge)
  // It tells the console too.
  vi.spyOn(console, 'error').mockImplementation(() => {})
  expect(await failure(agent.runAgent())).toContain('HTTP 400')
  agent.addMessage(user('Hi'))
  const failed: string[] = []
  await agent
    .runAgent({}, { onRunErrorEvent: ({ event }) => void failed.push(`${event.code}: ${event.message}`) })
    .catch(() => {})
  expect(failed).toEqual(['model_unreachable: No model.'])
  agent.addMessage(user('Once more'))
  const { newMessages } = await agent.runAgent()
  expect(messagesOf(newMessages)).toEqual([['assistant', 'Here.']])
})

test('a message after abortRun interrupts the run, and the thread keeps the partial answer that was shown', async () => {
  const edge = await servedEdge({ script: [sayInTwo('One ', new Promise(() => {}), 'two.'), say('Three.')] })
  const agent = agentOf(edge)
  agent.addMessage(user('Count.'))
  await agent.runAgent({}, { onTextMessageContentEvent: () => agent.abortRun() }).catch(() => {})
  const later = agentOf(edge)
  later.setMessages([...agent.messages, user('And?')])
  await later.runAgent()
  expect(lastTold(edge)).toEqual([
    'user: Count.',
    'assistant: One \n\n[This answer was interrupted here.]',
    'user: And?',
  ])
})
