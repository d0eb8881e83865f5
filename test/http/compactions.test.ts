import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, test } from 'vitest'
import { ask, say, tool } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'

const model = 'test/scripted'
const words = 'word '.repeat(400)
const messages = [
  { role: 'user' as const, content: `Read this: ${words}` },
  { role: 'assistant' as const, content: 'I have read it.' },
  { role: 'user' as const, content: 'What now?' },
]
const trigger = { type: 'input_tokens' as const, value: 300 }
const edit = { type: 'compact_20260112' as const, trigger }
const body = { model, max_tokens: 50, system: 'Be kind.', messages }
const heading = 'A summary of the conversation so far:\n'
const block = (content: string | null) => ({ type: 'compaction', content, encrypted_content: null })

function clientOf(edge: ReturnType<typeof keptEdge>) {
  return new Anthropic({ baseURL: 'http://127.0.0.1:8787', maxRetries: 0, apiKey: 'any', fetch: edge.fetch }).beta
}

describe('the edit that compacts', () => {
  const cut = [
    { type: 'text' as const, text: 'Wor' },
    { type: 'finish' as const, finish: 'length' as const },
  ]

  test('puts a summary in the place of long messages, and the answer begins with it', async () => {
    const edge = keptEdge({ script: [say('Words were read.'), say('Rest.')], tools: [tool('clock')] })
    const answer = await clientOf(edge).messages.create({ ...body, context_management: { edits: [edit] } })
    expect(answer).toMatchObject({
      content: [block('Words were read.'), { type: 'text', text: 'Rest.' }],
      stop_reason: 'end_turn',
      context_management: { applied_edits: [] },
      usage: {
        input_tokens: 10,
        iterations: [
          { type: 'compaction', input_tokens: 10, output_tokens: 5 },
          { type: 'message', input_tokens: 10, output_tokens: 5 },
        ],
      },
    })
    const [summary, run] = edge.requests
    expect([summary?.tools, summary?.messages.at(-1)?.content]).toEqual([
      [],
      expect.stringContaining('Write a summary of this conversation'),
    ])
    expect(run?.messages).toEqual([
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: `${heading}Words were read.` },
      { role: 'user', content: 'What now?' },
    ])
    expect(run?.tools.map(({ name }) => name)).toEqual(['clock'])
  })

  test('is streamed as the SDK collects it', async () => {
    const edge = keptEdge({ script: [say('Words were read.'), say('Rest.')] })
    const stream = clientOf(edge).messages.stream({ ...body, context_management: { edits: [edit] } })
    const summaries: string[] = []
    stream.on('compaction', (content) => summaries.push(content))
    expect((await stream.finalMessage()).content).toMatchObject([
      block('Words were read.'),
      { type: 'text', text: 'Rest.' },
    ])
    expect(summaries).toEqual(['Words were read.'])
  })

  test('stands for all messages before it in the next request, and calls continue', async () => {
    const edge = keptEdge({ script: [say('Words were read.'), ask(['pick']), say('Picked.')] })
    const tools = [{ name: 'pick', input_schema: { type: 'object' as const } }]
    const request = { ...body, tools, context_management: { edits: [edit] } }
    const first = await clientOf(edge).messages.create(request)
    expect(first.content).toMatchObject([block('Words were read.'), { type: 'tool_use', name: 'pick' }])
    const use: any = first.content.at(-1)
    const results = {
      role: 'user' as const,
      content: [{ type: 'tool_result' as const, tool_use_id: use.id, content: '7' }],
    }
    const next = [...messages, { role: 'assistant' as const, content: first.content }, results]
    const second = await clientOf(edge).messages.create({ ...request, messages: next })
    expect(second.content).toMatchObject([{ type: 'text', text: 'Picked.' }])
    expect(edge.requests[2]?.messages.slice(0, 2)).toEqual([
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: `${heading}Words were read.` },
    ])
    expect(edge.requests[2]?.messages.slice(2)).toMatchObject([
      { role: 'assistant', calls: [{ tool: 'pick' }] },
      { role: 'tool', content: [{ text: '7' }] },
    ])
  })

  test('pauses after the summary on request, which the caller sends back alone', async () => {
    const edge = keptEdge({ script: [say('Words were read.'), say('Rest.')] })
    const pausing = { ...edit, pause_after_compaction: true, instructions: 'Sum up.' }
    const first = await clientOf(edge).messages.create({ ...body, context_management: { edits: [pausing] } })
    expect([first.content, first.stop_reason]).toEqual([[block('Words were read.')], 'compaction'])
    expect(edge.requests[0]?.messages.at(-1)).toEqual({ role: 'user', content: 'Sum up.' })
    const next = [...messages, { role: 'assistant' as const, content: first.content }]
    await clientOf(edge).messages.create({ ...body, messages: next, context_management: { edits: [pausing] } })
    expect(edge.requests[1]?.messages).toEqual([
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: `${heading}Words were read.` },
    ])
  })

  test.each([
    ['are shorter than its trigger', { ...edit, trigger: { ...trigger, value: 3000 } }],
    ['are shorter than the trigger of the API', { type: edit.type }],
  ])('changes nothing if the messages %s', async (_, other) => {
    const edge = keptEdge({ script: [say('Rest.')] })
    const { content } = await clientOf(edge).messages.create({ ...body, context_management: { edits: [other] } })
    expect([content, edge.requests.length]).toMatchObject([[{ type: 'text', text: 'Rest.' }], 1])
  })

  test('is told to have failed if the summary is cut off, and the messages stay', async () => {
    const edge = keptEdge({ script: [cut, say('Rest.')] })
    const { content } = await clientOf(edge).messages.create({ ...body, context_management: { edits: [edit] } })
    expect(content).toMatchObject([block(null), { type: 'text', text: 'Rest.' }])
    expect(edge.requests[1]?.messages.length).toBe(4)
    const next = [...messages, { role: 'assistant' as const, content }, { role: 'user' as const, content: 'Go on.' }]
    expect((await clientOf(edge).messages.countTokens({ model, messages: next })).input_tokens).toBeGreaterThan(300)
  })

  test('makes one summary and one answer for an Idempotency-Key', async () => {
    const edge = keptEdge({ script: [say('Words were read.'), say('Rest.')] })
    const create = () =>
      clientOf(edge).messages.create(
        { ...body, context_management: { edits: [edit] } },
        { headers: { 'idempotency-key': 'k' } },
      )
    const [first, second] = [await create(), await create()]
    expect([second.content, edge.requests.length]).toEqual([first.content, 2])
  })
})

describe('a request for a compaction', () => {
  const compaction = { type: 'summarize' as const }
  test.each([false, true])('is answered with the summary alone, streamed: %s', async (isStreamed) => {
    const edge = keptEdge({ script: [say('Words were read.')], tools: [tool('clock')] })
    const request = { ...body, compaction }
    const answer = isStreamed
      ? await clientOf(edge).messages.stream(request).finalMessage()
      : await clientOf(edge).messages.create(request)
    expect(answer).toMatchObject({ content: [block('Words were read.')], stop_reason: 'compaction' })
    expect(edge.requests.map(({ tools }) => tools)).toEqual([[]])
  })

  test('takes instructions, and its block may come first in later requests', async () => {
    const edge = keptEdge({ script: [say('Words.'), say('Rest.')] })
    await clientOf(edge).messages.create({ ...body, compaction: { ...compaction, instructions: 'Only nouns.' } })
    expect(edge.requests[0]?.messages.at(-1)?.content).toBe('Only nouns.')
    const first = [{ role: 'user' as const, content: [{ type: 'compaction' as const, content: 'Words.' }] }]
    await clientOf(edge).messages.create({ ...body, messages: [...first, { role: 'user', content: 'Go on.' }] })
    expect(edge.requests[1]?.messages.slice(1)).toEqual([
      { role: 'user', content: `${heading}Words.` },
      { role: 'user', content: 'Go on.' },
    ])
  })
})

describe('the edit that clears thinking', () => {
  const signed = (thinking: string) => ({ type: 'thinking' as const, thinking, signature: 's' })
  const turn = (name: string) => [
    { role: 'user' as const, content: `Question ${name}` },
    {
      role: 'assistant' as const,
      content: [signed(`Thought ${name} ${words}`), { type: 'text' as const, text: name }],
    },
  ]
  const history = [...turn('a'), ...turn('b'), ...turn('c'), { role: 'user' as const, content: 'And?' }]
  const thinkingSent = (edge: ReturnType<typeof keptEdge>) =>
    edge.requests[0]?.messages.flatMap((message) =>
      message.role === 'assistant' ? [[message.content, message.reasoning?.slice(0, 9), message.opaque?.data]] : [],
    )
  const intact = (name: string) => [name, `Thought ${name}`, [signed(`Thought ${name} ${words}`), 1]]
  const without = (name: string) => [name, undefined, [1]]

  test.each([
    [{ type: 'thinking_turns' as const, value: 2 }, [without('a'), intact('b'), intact('c')], 1],
    [undefined, [without('a'), without('b'), intact('c')], 2],
    ['all' as const, [intact('a'), intact('b'), intact('c')], 0],
    [{ type: 'all' as const }, [intact('a'), intact('b'), intact('c')], 0],
  ])('keeps that of the last turns: %j', async (keep, expected, turns) => {
    const edge = keptEdge({ script: [say('Done.')] })
    const edits = [{ type: 'clear_thinking_20251015' as const, ...(keep && { keep }) }]
    const answer = await clientOf(edge).messages.create({ ...body, messages: history, context_management: { edits } })
    expect(thinkingSent(edge)).toEqual(expected)
    const applied = {
      type: 'clear_thinking_20251015',
      cleared_thinking_turns: turns,
      cleared_input_tokens: expect.any(Number),
    }
    expect(answer.context_management).toEqual({ applied_edits: turns === 0 ? [] : [applied] })
  })

  test('counts a loop of calls as one turn', async () => {
    const edge = keptEdge({ script: [say('Done.')] })
    const use = { type: 'tool_use' as const, id: 'u', name: 'look', input: {} }
    const result = { type: 'tool_result' as const, tool_use_id: 'u', content: 'x' }
    const loop = [
      ...turn('a'),
      { role: 'user' as const, content: 'Look.' },
      { role: 'assistant' as const, content: [signed(`Thought l ${words}`), use] },
      { role: 'user' as const, content: [result] },
    ]
    const edits = [{ type: 'clear_thinking_20251015' as const }]
    await clientOf(edge).messages.create({ ...body, messages: loop, context_management: { edits } })
    expect(thinkingSent(edge)).toEqual([without('a'), ['', 'Thought l', [signed(`Thought l ${words}`), null]]])
  })
})

test('an unknown edit is ignored, and named', async () => {
  const edge = keptEdge({ script: [say('Done.')] })
  const edits = [
    { type: 'clear_thinking_20251015', keep: 'all' },
    { type: 'dream_20270101', depth: 3 },
  ]
  const response = await edge.post('/v1/messages', { ...body, context_management: { edits } })
  expect([response.status, response.headers.get('edgecall-ignored')]).toEqual([
    200,
    'context_management.dream_20270101',
  ])
})
