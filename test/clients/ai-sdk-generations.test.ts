import { createAnthropic as anthropic4 } from '@ai-sdk/anthropic'
import { createOpenAI as openai4 } from '@ai-sdk/openai'
import { createOpenAICompatible as compatible4 } from '@ai-sdk/openai-compatible'
import { createAnthropic as anthropic2 } from 'ai-sdk-anthropic-v2'
import { createAnthropic as anthropic3 } from 'ai-sdk-anthropic-v3'
import { createOpenAICompatible as compatible2 } from 'ai-sdk-compatible-v2'
import { createOpenAI as openai2 } from 'ai-sdk-openai-v2'
import { createOpenAI as openai3 } from 'ai-sdk-openai-v3'
import { describe, expect, test } from 'vitest'
import type { ModelEvent } from '../../src/contract/model.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import type { Script } from '../fixtures/scripted.ts'
import { type KeptEdge, keptEdge } from '../http/kept-edge.ts'

/** What the models of all generations have in common. They check each answer and event by schemas of their own. */
interface SdkModel {
  readonly doGenerate: (options: never) => PromiseLike<{ readonly content: readonly object[] }>
  readonly doStream: (options: never) => PromiseLike<{ readonly stream: ReadableStream<object> }>
}

const baseURL = 'http://127.0.0.1:8787/v1'
const name = 'test/scripted'

const MODELS: Readonly<Record<string, (edge: KeptEdge) => SdkModel>> = {
  '@ai-sdk/anthropic 2': ({ fetch }) => anthropic2({ baseURL, apiKey: 'k', fetch })(name),
  '@ai-sdk/anthropic 3': ({ fetch }) => anthropic3({ baseURL, apiKey: 'k', fetch })(name),
  '@ai-sdk/anthropic 4': ({ fetch }) => anthropic4({ baseURL, apiKey: 'k', fetch })(name),
  '@ai-sdk/openai 2, Chat': ({ fetch }) => openai2({ baseURL, apiKey: 'k', fetch }).chat(name),
  '@ai-sdk/openai 3, Chat': ({ fetch }) => openai3({ baseURL, apiKey: 'k', fetch }).chat(name),
  '@ai-sdk/openai 4, Chat': ({ fetch }) => openai4({ baseURL, apiKey: 'k', fetch }).chat(name),
  '@ai-sdk/openai 2, Responses': ({ fetch }) => openai2({ baseURL, apiKey: 'k', fetch }).responses(name),
  '@ai-sdk/openai 3, Responses': ({ fetch }) => openai3({ baseURL, apiKey: 'k', fetch }).responses(name),
  '@ai-sdk/openai 4, Responses': ({ fetch }) => openai4({ baseURL, apiKey: 'k', fetch }).responses(name),
  '@ai-sdk/openai-compatible 1': ({ fetch }) => compatible2({ baseURL, name: 'edge', fetch })(name),
  '@ai-sdk/openai-compatible 3': ({ fetch }) => compatible4({ baseURL, name: 'edge', fetch })(name),
}

const clock = tool('clock', () => '12:00')
const pay = tool('pay', () => 'paid', { approval: 'always' })
const pick = { type: 'function', name: 'pick', inputSchema: { type: 'object', properties: {} } }
const usage = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 3, reasoningTokens: 2, webSearches: 1 }
const text: ModelEvent = { type: 'text', text: 'It rains.' }
const page = { url: 'https://yr.example/oslo' }
const opaque = { codec: 'openai-responses', data: [{ reasoning: { encrypted_content: 'x' } }] }

function uses(kind: 'web_search' | 'web_fetch' | 'code', ok: boolean): Script {
  const call = { tool: kind, kind, id: `srvtoolu_${kind}`, input: { query: 'weather', url: page.url, code: '1 + 1' } }
  return [
    { type: 'provider.call', ...call, ok, ...(ok ? { sources: [page], output: '2' } : { output: 'unavailable' }) },
    text,
    { type: 'finish', finish: 'stop', usage, citations: [{ ...page, start: 3, end: 8 }] },
  ]
}

/** Ends of answers, and the text that a client of any protocol is to see. */
const SCENES: Readonly<Record<string, { script: readonly Script[]; shown: string; calls?: string[] }>> = {
  'a text': { script: [say('It rains.')], shown: 'It rains.' },
  'a text after a call of the edge': { script: [ask(['clock']), say('Noon.')], shown: 'Noon.' },
  thinking: {
    script: [[{ type: 'reasoning', text: 'Hm.' }, text, { type: 'finish', finish: 'stop', usage, opaque }]],
    shown: 'It rains.',
  },
  'hidden thinking': {
    script: [[{ type: 'reasoning', text: '' }, text, { type: 'finish', finish: 'stop', usage, opaque }]],
    shown: 'It rains.',
  },
  'calls of the client': { script: [ask(['clock'], ['pick', { a: 1 }], ['pick'])], shown: '', calls: ['pick', 'pick'] },
  'too few tokens': { script: [[text, { type: 'finish', finish: 'length', usage }]], shown: 'It rains.' },
  'what was filtered': { script: [[text, { type: 'finish', finish: 'content_filter' }]], shown: 'It rains.' },
  'a stop sequence': {
    script: [[text, { type: 'finish', finish: 'stop', stopSequence: '###' }]],
    shown: 'It rains.',
  },
  'a search': { script: [uses('web_search', true)], shown: 'It rains.' },
  'a search that failed': { script: [uses('web_search', false)], shown: 'It rains.' },
  'a page that was read': { script: [uses('web_fetch', true)], shown: 'It rains.' },
  'code that ran': { script: [uses('code', true)], shown: 'It rains.' },
  'code that failed': { script: [uses('code', false)], shown: 'It rains.' },
}

function optionsOf(headers: Readonly<Record<string, string>> = {}): never {
  const prompt = [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }]
  return { prompt, tools: [pick], headers, maxOutputTokens: 1000 } as never
}

/** The parts of an answer with these types, as what `member` says of them. */
function membersOf(parts: readonly object[], type: string, member: string): unknown[] {
  return parts.flatMap((part) => ('type' in part && part.type === type ? Reflect.get(part, member) : []))
}

async function partsOf({ stream }: { readonly stream: ReadableStream<object> }): Promise<object[]> {
  const parts: object[] = []
  for await (const part of stream) parts.push(part)
  return parts
}

const ownCalls = (calls: readonly unknown[]) => calls.filter((call) => call === 'pick')

describe.each(Object.entries(MODELS))('%s reads', (generation, modelOf) => {
  test.each(Object.entries(SCENES))('%s, whole and streamed', async (_, { script, shown, calls = [] }) => {
    const edge = keptEdge({ script: [...script, ...script], tools: [clock] })
    const { content } = await modelOf(edge).doGenerate(optionsOf())
    const parts = await partsOf(await modelOf(edge).doStream(optionsOf()))
    expect(membersOf(parts, 'error', 'error')).toEqual([])
    expect([
      membersOf(content, 'text', 'text').join(''),
      membersOf(parts, 'text-delta', 'delta').join(''),
      ownCalls(membersOf(content, 'tool-call', 'toolName')),
      ownCalls(membersOf(parts, 'tool-call', 'toolName')),
    ]).toEqual([shown, shown, calls, calls])
  })

  test('an answer that waits for a person', async () => {
    const edge = keptEdge({ script: [ask(['pay']), ask(['pay'])], tools: [pay] })
    const { content } = await modelOf(edge).doGenerate(optionsOf({ 'x-conversation-id': 'a' }))
    const parts = await partsOf(await modelOf(edge).doStream(optionsOf({ 'x-conversation-id': 'b' })))
    expect(membersOf(parts, 'error', 'error')).toEqual([])
    expect(content.length).toBeGreaterThan(0)
  })

  test('the calls of the edge where they are shown', async () => {
    const edge = keptEdge({ script: [ask(['clock']), say('Noon.'), ask(['clock']), say('Noon.')], tools: [clock] })
    // The oldest client does not know them, and so has no such header.
    const options = optionsOf(generation.endsWith('anthropic 2') ? {} : { 'anthropic-beta': 'mcp-client-2025-11-20' })
    const { content } = await modelOf(edge).doGenerate(options)
    const parts = await partsOf(await modelOf(edge).doStream(options))
    expect(membersOf(parts, 'error', 'error')).toEqual([])
    expect([membersOf(content, 'text', 'text').join(''), membersOf(parts, 'text-delta', 'delta').join('')]).toEqual([
      'Noon.',
      'Noon.',
    ])
  })
})
