import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { agentSource } from '../../src/agent.ts'
import { createClient } from '../../src/client.ts'
import type { AgentOptions } from '../../src/contract/agent.ts'
import type { ModelRequest } from '../../src/contract/model.ts'
import type { ToolSource } from '../../src/contract/tool.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { eventually } from '../fixtures/eventually.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { dataOf, type KeptEdge, keptEdge } from './kept-edge.ts'

const NOON = Date.parse('2026-03-01T12:00:00Z')

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOON }))
afterEach(() => void vi.useRealTimers())

const pay = tool('pay', () => 'paid', { approval: 'always' })
const agent = (name: string, tools: readonly string[]): AgentOptions => {
  return { name, description: `Is the ${name}.`, instructions: name, tools }
}

/** Each asks the next one, the last of whom pays; then each says that it is done. */
const PLANS: Readonly<Record<string, string>> = { '': 'boss', boss: 'clerk', clerk: 'pay' }
function answer({ messages }: ModelRequest) {
  const [first] = messages
  const name = PLANS[first?.role === 'system' ? first.content : ''] ?? ''
  return messages.at(-1)?.role === 'tool' ? say('Done.') : ask([name, { question: 'Pay 5.' }])
}

/** As `answer`, but the last agent calls nothing. */
function answerAlone(request: ModelRequest) {
  const [first] = request.messages
  return first?.role === 'system' && first.content === 'clerk' ? say('Done.') : answer(request)
}

/** An edge that lists its runs, with two agents of which one calls the other, the second of whom needs no approval if it `isIdle`. */
function edgeWithAgents({ isIdle = false } = {}): KeptEdge {
  let agents: ToolSource | undefined
  const find = async (names: readonly string[]) => [
    ...[pay].filter(({ definition }) => names.includes(definition.name)),
    ...((await agents?.find(names)) ?? []),
  ]
  const source = { find, offered: () => find(['boss']), list: async () => ({ tools: [], unavailable: [] }) }
  const vars = {
    AUTH: 'keys',
    ...withKeys(
      apiKey('web', { id: 'web', scopes: ['chat', 'metrics'] }),
      apiKey('chief', { id: 'chief', scopes: ['chat', 'approve'] }),
      apiKey('judge', { id: 'judge', scopes: ['approve'] }),
      apiKey('other', { tenant: 'other', scopes: ['chat', 'approve'] }),
    ),
  }
  const edge = keptEdge({
    script: Array.from({ length: 30 }, () => (isIdle ? answerAlone : answer)),
    listsRuns: true,
    vars,
    setup: { tools: () => source },
  })
  agents = agentSource([agent('boss', ['clerk']), agent('clerk', ['pay'])], edge.setup)
  return edge
}

async function json(edge: KeptEdge, path: string, key = 'web'): Promise<any> {
  return (await edge.fetch(path, { headers: bearer(key) })).json()
}

/** Awaits what an edge does, while its alarms ring and its time passes. */
async function driven<Value>(edge: KeptEdge, work: Promise<Value>): Promise<Value> {
  const progress = { isDone: false }
  const end = () => void (progress.isDone = true)
  work.then(end, end)
  while (!progress.isDone) {
    await edge.settle()
    vi.setSystemTime(Date.now() + 100)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return work
}

/** Starts a run and waits until a person is asked. */
async function begin(edge: KeptEdge): Promise<{ run: string; approval: any }> {
  await edge.post('/conversations', { id: 'home' }, bearer('web'))
  const reply = await driven(edge, edge.post('/conversations/home/runs', { input: 'Pay 5.' }, bearer('web')))
  const { id } = await reply.json<any>()
  const [approval] = await eventually(async () => {
    await edge.settle()
    vi.setSystemTime(Date.now() + 1000)
    const all = await json(edge, '/approvals', 'judge')
    expect(all).toHaveLength(1)
    expect((await json(edge, `/conversations/home/runs/${id}`)).calls[0].child.waits).toHaveLength(1)
    return all
  })
  return { run: id, approval }
}

async function recordAtEnd(edge: KeptEdge, run: string): Promise<any> {
  return eventually(async () => {
    await edge.settle()
    vi.setSystemTime(Date.now() + 1000)
    const record = await json(edge, `/conversations/home/runs/${run}`)
    expect(record.status).toBe('completed')
    return record
  })
}

describe('an approval in the run of an agent', () => {
  test('is listed with the calls that lead to it, and decided where it waits', async () => {
    const edge = edgeWithAgents()
    const { run, approval } = await begin(edge)
    const [child] = await json(edge, '/conversations?parent=home')
    expect(approval).toMatchObject({
      tool: 'pay',
      arguments: { question: 'Pay 5.' },
      path: [
        { conversation: 'home', run, agent: 'boss' },
        { conversation: child.id, run: child.run, call: expect.any(String), agent: 'clerk' },
      ],
      because: 'tool',
      caller: { tenant: 'acme', key: 'web' },
    })
    const url = `/conversations/${approval.conversation}/runs/${approval.run}/calls/${approval.id}`
    for (const key of ['web', 'other']) {
      const reply = await edge.post(url, { decision: 'approve' }, bearer(key))
      expect([key, reply.status]).toEqual([key, key === 'web' ? 403 : 404])
    }
    expect((await edge.post(url, { decision: 'approve' }, bearer('judge'))).status).toBe(200)
    expect(await recordAtEnd(edge, run)).toMatchObject({ answer: 'Done.' })
    expect(await json(edge, '/approvals', 'judge')).toEqual([])
  })

  test('is decided in the calling run as well, by what was seen', async () => {
    const edge = edgeWithAgents()
    const { run, approval } = await begin(edge)
    const url = `/conversations/home/runs/${run}/calls/${approval.id}`
    expect(await json(edge, url, 'judge')).toMatchObject({ conversation: approval.conversation, run: approval.run })
    const forged = { decision: 'approve', argumentsHash: '0'.repeat(64) }
    expect((await edge.post(url, forged, bearer('judge'))).status).toBe(409)
    const { argumentsHash } = approval
    const reply = await edge.post(url, { decision: 'approve', argumentsHash }, bearer('judge'))
    expect([reply.status, await reply.json()]).toEqual([200, { id: run, status: 'waiting' }])
    expect(await recordAtEnd(edge, run)).toMatchObject({ answer: 'Done.' })
  })
})

test('the runs and conversations of agents are listed where they are asked for, and their usage counts once', async () => {
  const edge = edgeWithAgents()
  const { run, approval } = await begin(edge)
  await edge.post(`/conversations/home/runs/${run}/calls/${approval.id}`, { decision: 'approve' }, bearer('judge'))
  const record = await recordAtEnd(edge, run)
  const runs = await eventually(async () => {
    await edge.settle()
    const all = await json(edge, '/runs?agents=true&status=completed')
    expect(all).toHaveLength(3)
    return all
  })
  expect((await json(edge, '/runs')).map(({ id }: any) => id)).toEqual([run])
  expect(
    runs
      .map(({ path = [] }: any) => path.map(({ agent }: any) => agent))
      .toSorted((a: any, b: any) => a.length - b.length),
  ).toEqual([[], ['boss'], ['boss', 'clerk']])
  expect(await json(edge, `/runs?parent=${run}`)).toHaveLength(2)
  expect((await json(edge, '/conversations')).map(({ id }: any) => id)).toEqual(['home'])
  expect(await json(edge, '/conversations?parent=home')).toMatchObject([{ agent: 'boss', calledBy: run }])
  // Two requests of each model, of 10 and 5 tokens.
  expect(record.usage).toEqual({ inputTokens: 60, outputTokens: 30 })
  for (const by of ['key', 'model'])
    expect(await json(edge, `/usage?by=${by}`)).toMatchObject({
      usage: [{ runs: 3, inputTokens: 60, outputTokens: 30 }],
    })
  const { usage: byTool } = await json(edge, '/usage?by=tool')
  const tokens = Object.fromEntries(byTool.map(({ name, inputTokens }: any) => [name, inputTokens]))
  expect(tokens).toEqual({ boss: 20, clerk: 20, pay: 0 })
})

const INPUT = 'Pay 5.'

/** How each surface is asked, what its whole answer is, and what a person who reads it is asked for. */
interface Surface {
  readonly ask: (edge: KeptEdge) => Promise<Response>
  /** The text of the answer. */
  readonly text: (body: string) => string
  /** What the answer says of the call that waits; `call`: its id. */
  readonly asks: (body: string, call: string) => unknown
  readonly question: (place: { readonly url: string; readonly call: string }) => unknown
  /** Sends the decision to approve the call back, and returns the answer to that. */
  readonly approve: (
    edge: KeptEdge,
    body: string,
    place: { readonly url: string; readonly call: string },
  ) => Promise<Response>
}

const AGENT_TEXT = 'Waiting for approval of "pay" for the agent "boss" of "clerk". Decide by POST'
const chatHeaders = { ...bearer('chief'), 'x-conversation-id': 'home' }
const events = (body: string): any[] => dataOf(body).filter((each) => each !== '[DONE]')
const textOf = (parts: readonly any[]) => parts.map(({ text, delta }) => text ?? delta ?? '').join('')
/** A decision by its own route, as a caller makes it who reads text. */
const byRoute: Surface['approve'] = (edge, _body, { url }) => edge.post(url, { decision: 'approve' }, bearer('chief'))

const SURFACES: Readonly<Record<string, Surface>> = {
  'a run': {
    ask: (edge) => edge.post('/conversations/home/runs', { input: INPUT }, bearer('chief')),
    text: (body) => JSON.parse(body).answer,
    asks: (body) => JSON.parse(body).calls[0].child.waits.map(({ call, agents }: any) => ({ call, agents })),
    question: ({ call }) => [{ call, agents: ['boss', 'clerk'] }],
    approve: byRoute,
  },
  'the events of a run': {
    ask: (edge) =>
      edge.post('/conversations/home/runs', { input: INPUT }, { ...bearer('chief'), accept: 'text/event-stream' }),
    text: (body) => events(body).at(-1).answer,
    asks: (body) => {
      const { type, for: cause, agents } = events(body).at(-1)
      return { type, cause, calls: agents.map(({ call, tool }: any) => [call, tool]) }
    },
    question: ({ call }) => ({ type: 'run.waiting', cause: 'approval', calls: [[call, 'pay']] }),
    approve: byRoute,
  },
  'a chat completion': {
    ask: (edge) => edge.post('/v1/chat/completions', { messages: [{ role: 'user', content: INPUT }] }, chatHeaders),
    text: (body) => JSON.parse(body).choices[0].message.content,
    asks: (body) => JSON.parse(body).choices[0].message.content,
    question: ({ url }) => `${AGENT_TEXT} ${url}.`,
    approve: byRoute,
  },
  'a message': {
    ask: (edge) =>
      edge.post('/v1/messages', { max_tokens: 100, messages: [{ role: 'user', content: INPUT }] }, chatHeaders),
    text: (body) => textOf(JSON.parse(body).content),
    asks: (body) => textOf(JSON.parse(body).content),
    question: ({ url }) => `${AGENT_TEXT} ${url}.`,
    approve: byRoute,
  },
  'a response': {
    ask: (edge) => edge.post('/v1/responses', { input: INPUT }, chatHeaders),
    text: (body) => textOf(JSON.parse(body).output.flatMap(({ content = [] }: any) => content)),
    asks: (body) =>
      JSON.parse(body).output.flatMap(({ type, id, name, arguments: text }: any) =>
        type === 'mcp_approval_request' ? [{ hasId: id.includes('call_'), name, text }] : [],
      ),
    question: () => [{ hasId: true, name: 'pay', text: JSON.stringify({ question: INPUT }) }],
    approve: (edge, body) => {
      const { id } = JSON.parse(body).output.find(({ type }: any) => type === 'mcp_approval_request')
      const input = [{ type: 'mcp_approval_response', approval_request_id: id, approve: true }]
      return edge.post('/v1/responses', { input }, chatHeaders)
    },
  },
  'a chat of the AI SDK': {
    ask: (edge) =>
      edge.post(
        '/chat',
        { id: 'home', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: INPUT }] }] },
        bearer('chief'),
      ),
    text: (body) => textOf(events(body).filter(({ type }) => type === 'text-delta')),
    asks: (body) =>
      events(body).filter(({ type, toolCallId, toolName }) => {
        return type === 'tool-approval-request' || (type.startsWith('tool-input') && toolName === 'pay' && toolCallId)
      }),
    question: ({ call }) => [
      { type: 'tool-input-available', toolCallId: call, toolName: 'pay', input: { question: INPUT } },
      { type: 'tool-approval-request', approvalId: call, toolCallId: call },
    ],
    approve: (edge, body, { call }) => {
      const { messageId: id } = events(body)[0]
      const approval = { id: call, approved: true }
      const part = { type: 'tool-pay', toolCallId: call, state: 'approval-responded', input: {}, approval }
      const messages = [
        { id: 'm1', role: 'user', parts: [{ type: 'text', text: INPUT }] },
        { id, role: 'assistant', parts: [part] },
      ]
      return edge.post('/chat', { id: 'home', messages }, bearer('chief'))
    },
  },
  'AG-UI': {
    ask: (edge) => askAgUi(edge, { messages: [{ id: 'm1', role: 'user', content: INPUT }] }),
    text: (body) => textOf(events(body).filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT')),
    asks: (body) => events(body).at(-1).outcome,
    question: ({ call }) => ({
      type: 'interrupt',
      interrupts: [
        {
          id: call,
          metadata: { agents: ['boss', 'clerk'], tool: 'pay', arguments: { question: INPUT } },
          reason: 'tool_approval',
          message: 'May "pay" be called by "clerk"?',
          responseSchema: expect.any(Object),
        },
      ],
    }),
    approve: (edge, _body, { call }) =>
      askAgUi(edge, { messages: [], resume: [{ interruptId: call, status: 'resolved', payload: { approved: true } }] }),
  },
}

function askAgUi(edge: KeptEdge, body: object): Promise<Response> {
  const rest = { threadId: 'home', runId: 'r1', state: {}, tools: [], context: [], forwardedProps: {} }
  return edge.post('/ag-ui', { ...rest, ...body }, bearer('chief'))
}

describe.each(Object.entries(SURFACES))('%s', (_name, { ask: askSurface, text, asks, question, approve }) => {
  test('continues while agents are at work, and has the answer', async () => {
    const edge = edgeWithAgents({ isIdle: true })
    await edge.post('/conversations', { id: 'home' }, bearer('chief'))
    const reply = await driven(edge, askSurface(edge))
    expect([reply.status, text(await driven(edge, reply.text()))]).toEqual([200, 'Done.'])
  })

  test('ends where an agent waits for a person, says for what, and continues when that is decided', async () => {
    const edge = edgeWithAgents()
    await edge.post('/conversations', { id: 'home' }, bearer('chief'))
    const body = await driven(edge, (await driven(edge, askSurface(edge))).text())
    const [{ id: run }] = await json(edge, '/conversations/home/runs', 'chief')
    const [wait] = (await json(edge, `/conversations/home/runs/${run}`, 'chief')).calls[0].child.waits
    const place = { call: wait.call, url: `/conversations/home/runs/${run}/calls/${wait.call}` }
    expect(asks(body, wait.call)).toEqual(question(place))
    const reply = await driven(edge, approve(edge, body, place))
    expect(reply.status).toBe(200)
    const answerText = await driven(edge, reply.text())
    if (approve !== byRoute) expect(text(answerText)).toBe('Done.')
    const { status, answer: end } = await recordAtEnd(edge, run)
    expect([status, end]).toEqual(['completed', 'Done.'])
  })
})

test.each([
  ['approve', { state: 'approval-responded', approved: true }],
  ['reject', { state: 'approval-responded', approved: false }],
])(
  'a page that is loaded again has the call of an agent that waits, and what was decided: %s',
  async (decision, end) => {
    const edge = edgeWithAgents()
    const { run, approval } = await begin(edge)
    const partOf = async () => {
      const messages = await json(edge, '/chat/home', 'chief')
      const parts = messages.flatMap((message: any) => message.parts)
      const { state, approval: asked, input } = parts.find(({ toolCallId }: any) => toolCallId === approval.id)
      return { state, approved: asked.approved, input }
    }
    expect(await partOf()).toEqual({ state: 'approval-requested', input: { question: 'Pay 5.' } })
    expect(await json(edge, '/ag-ui/home', 'chief')).toMatchObject({ interrupts: [{ id: approval.id }] })
    const url = `/conversations/${approval.conversation}/runs/${approval.run}/calls/${approval.id}`
    expect((await edge.post(url, { decision }, bearer('judge'))).status).toBe(200)
    await recordAtEnd(edge, run)
    expect(await partOf()).toEqual({ ...end, input: { question: 'Pay 5.' } })
    expect(await json(edge, '/ag-ui/home', 'chief')).toMatchObject({ interrupts: [] })
  },
)

/** The typed client of an edge, with the key that may decide. */
function clientOf(edge: KeptEdge) {
  return createClient({ url: 'http://edge.test', key: 'chief', fetch: (input, init) => edge.fetch(input, init) })
}

describe('the stream of the typed client', () => {
  test('continues while agents are at work, and has the answer', async () => {
    const edge = edgeWithAgents({ isIdle: true })
    const chat = await clientOf(edge).createConversation('home')
    const events = await driven(edge, Array.fromAsync(chat.stream('Pay 5.')))
    expect(events.filter(({ type }) => type === 'run.waiting')).toMatchObject([{ for: 'agent' }])
    expect(events.at(-1)).toMatchObject({ type: 'run.finished', answer: 'Done.' })
  })

  test('ends where an agent waits for a person, and continues when that is decided', async () => {
    const edge = edgeWithAgents()
    const chat = await clientOf(edge).createConversation('home')
    const before = await driven(edge, Array.fromAsync(chat.stream('Pay 5.')))
    const { runId: run, type } = before.at(-1) ?? {}
    expect(type).toBe('run.waiting')
    const { calls } = await chat.record(run ?? '')
    const [wait] = calls[0]?.child?.waits ?? []
    await chat.approve(run ?? '', wait?.call ?? '')
    const after = await driven(edge, Array.fromAsync(chat.resume(run ?? '', { after: before.at(-1)?.seq ?? 0 })))
    expect(after.at(-1)).toMatchObject({ type: 'run.finished', answer: 'Done.' })
  })
})
