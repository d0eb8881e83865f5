import { readFileSync } from 'node:fs'
import type Anthropic from '@anthropic-ai/sdk'
import type OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { MESSAGES_MEMBERS } from '../../src/wire/client/anthropic-messages/members.ts'
import type { Handling } from '../../src/wire/client/members.ts'
import { CHAT_MEMBERS } from '../../src/wire/client/openai-chat/members.ts'
import { RESPONSES_MEMBERS } from '../../src/wire/client/openai-responses/members.ts'
import { say } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'

interface Recorded {
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body: Readonly<Record<string, unknown>>
}

/** Returns the requests that an application has sent. Long texts in them are cut. */
function recorded(application: string): readonly Recorded[] {
  const text = readFileSync(new URL(`../fixtures/recorded/${application}.json`, import.meta.url).pathname, 'utf8')
  return JSON.parse(text)
}

const model = 'test/scripted'
const question = [{ role: 'user', content: 'Hello' }]
const bodies = {
  '/v1/messages': { model, max_tokens: 100, messages: question },
  '/v1/messages/count_tokens': { model, messages: question },
  '/v1/chat/completions': { model, messages: question },
  '/v1/responses': { model, input: 'Hello', store: false },
  '/v1/responses/input_tokens': { model, input: 'Hello' },
}

type Path = keyof typeof bodies

async function send(path: Path, members: object, vars: Record<string, string> = {}) {
  const edge = keptEdge({ script: [say('Done.')], vars })
  const response = await edge.post(path, { ...bodies[path], ...members })
  return { edge, response, ignored: response.headers.get('edgecall-ignored') }
}

type MessagesMember =
  | keyof Anthropic.MessageCreateParams
  | keyof Anthropic.MessageCountTokensParams
  | keyof Anthropic.Beta.MessageCreateParams
  | keyof Anthropic.Beta.MessageCountTokensParams

/** This does not compile when a vendor's schema has a member of which the table says nothing. */
const TABLES: readonly (readonly [Path, Readonly<Record<string, Handling>>])[] = [
  ['/v1/messages', MESSAGES_MEMBERS satisfies Readonly<Record<MessagesMember, Handling>>],
  ['/v1/chat/completions', CHAT_MEMBERS satisfies Readonly<Record<keyof OpenAI.ChatCompletionCreateParams, Handling>>],
  [
    '/v1/responses',
    RESPONSES_MEMBERS satisfies Readonly<Record<keyof OpenAI.Responses.ResponseCreateParams, Handling>>,
  ],
]

describe('a member of the vendor’s schema', () => {
  const rows = TABLES.flatMap(([path, table]) =>
    Object.entries(table).flatMap(([name, handling]) =>
      handling === 'ignored' || handling === 'refused' ? [[path, name, handling] as const] : [],
    ),
  )
  test.each(rows)('is handled as the table says: %s %s is %s', async (path, name, handling) => {
    const { response, ignored } = await send(path, { [name]: 7 })
    expect([response.status, ignored]).toEqual(handling === 'ignored' ? [200, name] : [400, null])
  })
})

describe('a member that only hints', () => {
  test.each([
    ['/v1/messages', { speed: 'fast' }, 'speed'],
    ['/v1/messages', { metadata: { user_id: 'u' }, service_tier: null }, 'metadata'],
    ['/v1/messages/count_tokens', { speed: 'fast' }, 'speed'],
    ['/v1/chat/completions', { user: 'u', prompt_cache_key: 'k' }, 'user, prompt_cache_key'],
    ['/v1/chat/completions', { unheard: 1, 'of\nline': 1 }, 'unheard, of?line'],
    ['/v1/responses', { context_management: [{ type: 'compaction' }] }, 'context_management'],
    ['/v1/responses/input_tokens', { prompt_cache_key: 'k' }, 'prompt_cache_key'],
    ['/v1/responses', { stream: true, user: 'u' }, 'user'],
    ['/v1/responses', { background: true, store: true, user: 'u' }, 'user'],
    ['/v1/chat/completions', { stream: true, temperature: 1, n: 1 }, null],
  ] as const)('is ignored, and named: %s %j', async (path, members, names) => {
    const { edge, response, ignored } = await send(path, members)
    await response.text()
    await edge.settle()
    expect([response.status, ignored]).toEqual([200, names])
  })

  test.each(['/v1/messages', '/v1/chat/completions', '/v1/responses'] as const)(
    'is refused by an edge that ignores nothing: %s',
    async (path) => {
      const { edge, response } = await send(path, { unheard: 1 }, { CLIENT_MEMBERS: 'strict' })
      const message = 'unheard: would be ignored, which this edge does not do (`CLIENT_MEMBERS`).'
      expect([response.status, await response.json()]).toMatchObject([400, { error: { message } }])
      expect(edge.requests).toEqual([])
    },
  )
})

describe('edits of the context', () => {
  const clearThinking = { type: 'clear_thinking_20251015', keep: 'all' }
  test.each(['/v1/messages', '/v1/messages/count_tokens'] as const)('are taken: %s', async (path) => {
    const keepAll = await send(path, { context_management: { edits: [clearThinking] } })
    expect([keepAll.response.status, keepAll.ignored]).toEqual([200, null])
    const edits = [clearThinking, { type: 'clear_tool_uses_20250919', keep: { type: 'tool_uses', value: 3 } }]
    const others = await send(path, { context_management: { edits: [...edits, { type: 'compact_20260112' }] } })
    expect([others.response.status, others.ignored]).toEqual([
      200,
      'context_management.clear_tool_uses_20250919, context_management.compact_20260112',
    ])
  })
})

describe('the requests of Claude Code', () => {
  test.each(recorded('claude-code').map((request, index) => ({ ...request, index })))(
    'are answered: $index $path',
    async ({ path, headers, body }) => {
      const edge = keptEdge({ script: [say('Done.')] })
      const response = await edge.post(path, { ...body, model }, headers)
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Done.')])
      expect(response.headers.get('edgecall-ignored')).toBe('metadata')
      const { tools = [] } = body
      expect(edge.requests[0]?.tools.map(({ name }) => name)).toEqual(
        Array.isArray(tools) ? tools.map(({ name }) => name) : [],
      )
    },
  )
})

test('what a search of the caller has found is told to the model', async () => {
  const reference = { type: 'tool_reference', tool_name: 'get_weather' }
  const tools = [
    { name: 'ToolSearch', input_schema: { type: 'object' } },
    { name: 'get_weather', input_schema: { type: 'object' }, defer_loading: true },
  ]
  const { edge, response } = await send('/v1/messages', {
    tools,
    messages: [
      ...question,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'ToolSearch', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [reference] }] },
    ],
  })
  expect(response.status).toBe(200)
  expect(edge.requests[0]?.tools.map(({ name }) => name)).toEqual(['ToolSearch', 'get_weather'])
  expect(edge.requests[0]?.messages.at(-1)).toMatchObject({
    role: 'tool',
    content: [{ type: 'text', text: 'Found the tool get_weather.\n' }],
  })
})
