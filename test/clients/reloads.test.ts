import { HttpAgent, type Message, type Tool } from '@ag-ui/client'
import {
  type ChatInit,
  DefaultChatTransport,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from 'ai'
import * as fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import type { ModelEvent } from '../../src/contract/model.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import type { Script } from '../fixtures/scripted.ts'
import { keptEdge } from '../http/kept-edge.ts'
import { gatedTool } from '../fixtures/gated.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { Chat, partsOf, until } from './chat.ts'
import { type ServedEdge, servedEdge } from './served-edge.ts'

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=='
const clock = tool('clock', () => '12:00')
const danger = tool('danger', () => ({ ok: true, content: [], structured: { boom: [1, null, 'x'] } }), {
  approval: 'always',
})
const broken = tool('broken', () => ({ ok: false, error: { code: 'tool_failed', message: 'It broke.' } }))
const paint = tool('paint', () => ({
  ok: true,
  content: [
    { type: 'text', text: 'Here.' },
    { type: 'image', mediaType: 'image/png', data: PIXEL },
  ],
}))
const pick = { name: 'pick', description: 'Picks', inputSchema: { type: 'object' } }
const TOOLS = [clock, danger, broken, paint]

function chatOf(edge: ServedEdge, init: ChatInit<UIMessage> = {}): Chat {
  const body = { edgecall: { clientTools: [pick] } }
  const transport = new DefaultChatTransport({ api: `${edge.url}/chat`, body })
  return new Chat({
    id: 'chat-1',
    transport,
    sendAutomaticallyWhen: (chat) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(chat) || lastAssistantMessageIsCompleteWithToolCalls(chat),
    ...init,
  })
}

/** What a page that is loaded now would show. */
async function load(edge: ServedEdge, query = ''): Promise<UIMessage[]> {
  const response = await fetch(`${edge.url}/chat/chat-1${query}`)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
  return response.json() as Promise<UIMessage[]>
}

/** The messages of a page, as JSON; their marks are told only by the edge. */
function plain(messages: readonly unknown[]): unknown {
  return JSON.parse(
    JSON.stringify(messages, (key, value: unknown) => {
      if (key !== 'metadata' || typeof value !== 'object') return value
      const { marks: _marks, ...rest } = Object(value)
      return Object.keys(rest).length > 0 ? rest : undefined
    }),
  ) as unknown
}

interface Step {
  readonly reasoning: string
  readonly text: string
  readonly calls: readonly string[]
}

const words = fc.constantFrom('', 'One ', 'two\n', 'drei „vier“', '🙂')
const step: fc.Arbitrary<Step> = fc.record({
  reasoning: words,
  text: words,
  calls: fc.array(fc.constantFrom('clock', 'danger', 'broken', 'paint', 'pick', 'unknown'), {
    minLength: 1,
    maxLength: 4,
  }),
})
const output = fc.oneof(fc.string(), fc.jsonValue({ maxDepth: 2 }))
const turn = fc.record({
  text: fc.constantFrom('Go.', 'And?'),
  metadata: fc.option(fc.record({ at: fc.nat() }), { nil: undefined }),
  files: fc.constantFrom(
    [],
    [{ type: 'file' as const, mediaType: 'image/png', filename: 'dot.png', url: `data:image/png;base64,${PIXEL}` }],
    [{ type: 'file' as const, mediaType: 'application/pdf', url: `data:application/pdf;base64,${PIXEL}` }],
  ),
  steps: fc.array(step, { maxLength: 3 }),
  streams: fc.boolean(),
  end: fc.constantFrom('say', 'say', 'fail', 'break'),
})
const answers = fc.array(
  fc.record({ approved: fc.boolean(), reason: fc.option(fc.string(), { nil: undefined }), output }),
  {
    minLength: 1,
    maxLength: 5,
  },
)

/** The model's answers of a turn. With `streams`, calls arrive in pieces. */
function scripts({ steps, end, streams }: typeof turn extends fc.Arbitrary<infer Turn> ? Turn : never): Script[] {
  const error = { code: 'model_failed', message: 'No.', retryable: false }
  const rounds = steps.map(({ reasoning, text, calls }): ModelEvent[] => [
    ...(reasoning ? [{ type: 'reasoning', text: reasoning } as const] : []),
    ...(text ? [{ type: 'text', text } as const] : []),
    ...(streams ? calls.map((name, index) => ({ type: 'call.delta', index, tool: name, arguments: '' }) as const) : []),
    ...ask(...calls.map((name, index) => [name, { index }] as [string, object])),
  ])
  if (end === 'say') return [...rounds, say('Done.')]
  return [...rounds, [...(end === 'break' ? [{ type: 'text', text: 'Do' } as const] : []), { type: 'error', error }]]
}

describe('a page of useChat that is loaded again', () => {
  test('has the messages that it had, whenever it is loaded', { timeout: 300_000 }, async () => {
    const property = fc.asyncProperty(
      fc.array(turn, { minLength: 1, maxLength: 3 }),
      answers,
      async (turns, replies) => {
        const edge = await servedEdge({ script: turns.flatMap(scripts), tools: TOOLS })
        let finished = 0
        const chat = chatOf(edge, { onFinish: () => void finished++ })
        let at = 0
        for (const { text, metadata, files } of turns) {
          await chat.sendMessage({ text, files, metadata })
          for (let open = openParts(chat); open.length > 0; open = openParts(chat)) {
            expect(plain(await load(edge))).toEqual(plain(chat.messages))
            const before = finished
            for (const part of open) {
              const { approved, reason, output: value } = replies[at++ % replies.length]!
              if (part.state === 'approval-requested')
                await chat.addToolApprovalResponse({ id: part.approval.id, approved, ...(reason && { reason }) })
              else if (approved) await chat.addToolOutput({ tool: 'pick', toolCallId: part.toolCallId, output: value })
              else
                await chat.addToolOutput({
                  tool: 'pick',
                  toolCallId: part.toolCallId,
                  state: 'output-error',
                  errorText: String(reason),
                })
            }
            await until(() => finished > before)
          }
          expect(plain(await load(edge))).toEqual(plain(chat.messages))
        }
      },
    )
    await fc.assert(property, { numRuns: Number(process.env['RELOADS'] ?? 60) })
  })
})

describe('a page of useChat', () => {
  test('that is loaded while a call waits decides about it, and the answer continues', async () => {
    const edge = await servedEdge({ script: [ask(['danger']), say('So be it.')], tools: TOOLS })
    const first = chatOf(edge)
    await first.sendMessage({ text: 'Go.' })
    const second = chatOf(edge, { messages: await load(edge) })
    await second.resumeStream()
    expect([second.status, plain(second.messages)]).toEqual(['ready', plain(first.messages)])
    const [part] = openParts(second)
    await second.addToolApprovalResponse({ id: part!.approval!.id, approved: true })
    await until(() => partsOf(second.lastMessage).includes('So be it.'))
    expect(partsOf(second.lastMessage)).toEqual([
      'step-start',
      ['tool-danger', 'output-available', { boom: [1, null, 'x'] }],
      'step-start',
      'So be it.',
    ])
    await until(() => second.status === 'ready')
    expect(plain(await load(edge))).toEqual(plain(second.messages))
  })

  test('that is loaded while an answer is in progress has what was before, and the stream has the answer', async () => {
    const { slow, start, letGo } = gatedTool()
    const edge = await servedEdge({ script: [say('One.'), ask(['slow']), say('Two.')], tools: [slow] })
    const first = chatOf(edge)
    await first.sendMessage({ text: 'Count.' })
    const sending = first.sendMessage({ text: 'And?' })
    await start
    const messages = await load(edge)
    expect(plain(messages)).toEqual(plain(first.messages.slice(0, 3)))
    const second = chatOf(edge, { messages })
    const resumed = second.resumeStream()
    await until(() => second.messages.length === 4)
    letGo()
    await Promise.all([sending, resumed])
    expect(plain(second.messages)).toEqual(plain(first.messages))
    expect(plain(await load(edge))).toEqual(plain(first.messages))
  })

  test('that does not exist yet is empty, and that of another tenant, too', async () => {
    const vars = {
      AUTH: 'keys',
      ...withKeys(apiKey('web'), apiKey('other', { tenant: 'other' }), apiKey('judge', { scopes: ['approve'] })),
    }
    const edge = keptEdge({ script: [say('One.')], vars })
    const body = { id: 'chat-1', messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] }
    await (await edge.post('/chat', body, bearer('web'))).text()
    const read = async (path: string, key: string) => {
      const response = await edge.fetch(path, { headers: { ...bearer(key), accept: 'application/json' } })
      const value = await response.json<any>()
      return [response.status, Array.isArray(value) ? value.map(({ id }) => id) : (value.code ?? value.messages)]
    }
    for (const [key, chat, thread] of [
      ['web', [200, ['u1', expect.stringMatching(/^run_/)]], [200, [expect.anything(), expect.anything()]]],
      ['other', [200, []], [200, []]],
      ['judge', [403, 'missing_scope'], [403, 'missing_scope']],
      ['none', [401, expect.any(String)], [401, expect.any(String)]],
    ] as const) {
      expect([key, await read('/chat/chat-1', key)]).toEqual([key, chat])
      expect([key, await read('/ag-ui/chat-1', key)]).toEqual([key, thread])
    }
    expect(await read('/chat/no%20id', 'web')).toEqual([200, []])
    await edge.fetch('/conversations/chat-1', { method: 'DELETE', headers: bearer('web') })
    expect(await read('/chat/chat-1', 'web')).toEqual([410, 'conversation_deleted'])
  })

  test('reads the newest messages, then those before them', async () => {
    const edge = await servedEdge({ script: ['One.', 'Two.', 'Three.', 'Four.'].map(say) })
    const chat = chatOf(edge)
    for (const text of ['1', '2', '3', '4']) await chat.sendMessage({ text })
    const idAt = (at: number) => chat.messages[at]!.id
    expect(plain(await load(edge, '?limit=4'))).toEqual(plain(chat.messages.slice(4)))
    for (const before of [idAt(4), idAt(5)])
      expect(plain(await load(edge, `?limit=3&before=${before}`))).toEqual(plain(chat.messages.slice(2, 4)))
    expect(await load(edge, `?before=${idAt(0)}`)).toEqual([])
    for (const [query, status, error] of [
      ['before=unknown', 404, 'unknown_message'],
      ['limit=0', 400, 'invalid_request'],
      ['page=2', 400, 'invalid_request'],
    ] as const) {
      const response = await fetch(`${edge.url}/chat/chat-1?${query}`)
      expect([query, response.status, response.headers.get('edgecall-error')]).toEqual([query, status, error])
    }
  })

  test('has the messages of a fork and of a copy, which have no runs of their own', async () => {
    const edge = await servedEdge({
      script: [[{ type: 'text', text: 'Well.' }, ...ask(['clock', { zone: 'UTC' }], ['broken'])], say('Noon.')],
      tools: TOOLS,
    })
    const chat = chatOf(edge)
    await chat.sendMessage({ text: 'Go.' })
    const [last] = (await (await edge.fetch('/conversations/chat-1/messages')).json<any>()).slice(-1)
    await edge.post('/conversations/chat-1/fork', { at: last.position, id: 'chat-2' })
    const original = plain(chat.messages) as any
    const fork = plain(await (await edge.fetch('/chat/chat-2')).json<any>()) as any
    original[1].metadata = { runId: chat.messages[1]!.id, conversation: 'chat-2' }
    expect(fork).toEqual(original)
  })

  test('tells what data the messages have', async () => {
    const finder = tool('found', () => 'Buy now!', { annotations: { untrusted: true } })
    const edge = await servedEdge({ script: [ask(['found'], ['clock']), say('No.')], tools: [finder, clock] })
    await chatOf(edge).sendMessage({ text: 'Go.' })
    expect((await load(edge)).map(({ metadata }) => Object(metadata).marks)).toEqual([undefined, ['untrusted']])
    const { messages } = await (await edge.fetch('/ag-ui/chat-1')).json<any>()
    const marked = messages.map(({ content, metadata }: any) => [content, metadata?.marks])
    expect(marked).toContainEqual(['Buy now!', ['untrusted']])
    expect(marked).toContainEqual(['12:00', undefined])
  })
})

test('a user message that no answer followed reaches the model once', async () => {
  const error = { code: 'model_failed', message: 'No.', retryable: false }
  const edge = await servedEdge({ script: [[{ type: 'error', error }], [{ type: 'error', error }], say('Three.')] })
  const chat = chatOf(edge)
  for (const text of ['One?', 'Two?', 'Three?']) await chat.sendMessage({ text })
  expect(edge.requests.at(-1)?.messages.map(({ content }) => content)).toEqual([
    ...['One?', 'Two?', 'Three?'].map((text) => [{ type: 'text', text }]),
  ])
  expect(plain(await load(edge))).toEqual(plain(chat.messages))
})

describe('an error of a chat', () => {
  test.each([
    ['danger', 'This chat waits for a decision about "danger". Approve or reject, then send the message again.'],
    ['pick', 'This chat waits for the result of "pick". Then send the message again.'],
  ])('is a sentence that a page can show, while the run waits for %s', async (name, sentence) => {
    const edge = await servedEdge({ script: [ask([name]), say('So be it.')], tools: TOOLS })
    const chat = chatOf(edge)
    await chat.sendMessage({ text: 'Go.' })
    await chat.sendMessage({ text: 'Sure?' })
    expect([chat.status, chat.error?.message]).toEqual(['error', sentence])
  })

  test('is JSON for a request that asks for it', async () => {
    const edge = await servedEdge({ script: [] })
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    const response = await fetch(`${edge.url}/chat`, { method: 'POST', headers, body: '{}' })
    expect([response.status, response.headers.get('content-type'), await response.json()]).toMatchObject([
      400,
      'application/problem+json',
      { code: 'invalid_request' },
    ])
  })
})

function openParts(chat: Chat) {
  const parts = chat.status === 'ready' ? (chat.lastMessage?.parts.filter(isToolUIPart) ?? []) : []
  return parts.filter(
    ({ state, providerExecuted }) =>
      state === 'approval-requested' || (state === 'input-available' && !providerExecuted),
  )
}

describe('an agent of AG-UI that is made again', () => {
  const agentOf = (edge: ServedEdge, initialMessages: Message[] = []) =>
    new HttpAgent({ url: `${edge.url}/ag-ui`, threadId: 'chat-1', initialMessages })
  const thread = async (edge: ServedEdge) => (await fetch(`${edge.url}/ag-ui/chat-1`)).json() as Promise<any>
  const aguiPick: Tool = { name: 'pick', description: 'Picks', parameters: { type: 'object', properties: {} } }

  test('has the messages and the interrupts that it had, and continues', async () => {
    const edge = await servedEdge({
      script: [
        [
          { type: 'reasoning', text: 'Well.' },
          { type: 'text', text: 'One.' },
          ...ask(['clock', { zone: 'UTC' }], ['danger'], ['pick']),
        ],
        [{ type: 'error', error: { code: 'model_failed', message: 'No.', retryable: false } }],
        [{ type: 'reasoning', text: 'So.' }, ...say('Done.')],
      ],
      tools: TOOLS,
    })
    const agent = agentOf(edge)
    agent.addMessage({ id: 'u1', role: 'user', content: [{ type: 'text', text: 'Go.' }], metadata: { at: 7 } })
    await agent.runAgent({ tools: [aguiPick] })
    expect(agent.pendingInterrupts).toHaveLength(1)
    const waiting = await thread(edge)
    expect(plain(waiting.messages)).toEqual(plain(agent.messages))
    const calls = agent.messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
    const picked = calls.find(({ function: { name } }) => name === 'pick')!.id
    expect(waiting).toMatchObject({
      threadId: 'chat-1',
      interrupts: agent.pendingInterrupts,
      pendingToolCallIds: [],
    })
    const later = agentOf(edge, waiting.messages)
    later.pendingInterrupts = waiting.interrupts
    later.addMessage({ id: `${picked}-result`, role: 'tool', toolCallId: picked, content: 'left' })
    const resume = [{ interruptId: waiting.interrupts[0].id, status: 'resolved' as const, payload: { approved: true } }]
    vi.spyOn(console, 'error').mockImplementation(() => {})
    await later.runAgent({ tools: [aguiPick], resume }).catch(() => {})
    const failed = await thread(edge)
    expect(plain(failed.messages)).toEqual(plain(later.messages))
    const last = agentOf(edge, failed.messages)
    last.addMessage({ id: 'u2', role: 'user', content: 'And now?' })
    await last.runAgent({ tools: [aguiPick] })
    const end = await thread(edge)
    expect(plain(end.messages)).toEqual(plain(last.messages))
    expect(end).toMatchObject({ interrupts: [], pendingToolCallIds: [] })
    expect(end).not.toHaveProperty('runId')
  })
})
