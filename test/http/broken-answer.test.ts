import { describe, expect, test } from 'vitest'
import type { ModelEvent } from '../../src/contract/model.ts'
import { say } from '../fixtures/play.ts'
import { dataOf, keptEdge, type KeptEdge } from './kept-edge.ts'

const CUT: ModelEvent = { type: 'error', error: { code: 'model_stream_cut', message: 'Cut.', retryable: true } }
const SILENT: ModelEvent = { type: 'error', error: { code: 'model_timeout', message: 'Silent.', retryable: true } }

/** A model that breaks off after a text, and then says it all, in other words if need be. */
const broken = (rest = 'It is noon.') => [[{ type: 'text', text: 'It is ' }, CUT] as ModelEvent[], say(rest)]

const ASK = { messages: [{ role: 'user', content: 'What time is it?' }] }
const CHAT = '/v1/chat/completions'

async function streamOf(edge: KeptEdge, path: string, body: object, headers = {}): Promise<any[]> {
  const response = await edge.post(path, body, { accept: 'text/event-stream', ...headers })
  return dataOf(await response.text())
}

const textIn = (chunks: any[]) => chunks.map((chunk) => chunk.choices?.[0]?.delta?.content ?? '').join('')

describe('an answer of the model that breaks off in mid-text', () => {
  test('is restarted in a native stream with an event that says so', async () => {
    const events = await streamOf(keptEdge({ script: broken() }), '/runs', { input: 'Hi' })
    expect(events.map(({ type }) => type).slice(2)).toEqual([
      'text.delta',
      'step.restarted',
      'text.delta',
      'step.answered',
      'step.finished',
      'run.finished',
    ])
    expect(events.at(-1)).toMatchObject({ status: 'completed', answer: 'It is noon.' })
  })

  test.each([CHAT, '/runs', '/v1/responses'])('is restarted for a complete answer of %s', async (path) => {
    const edge = keptEdge({ script: broken() })
    const response = await edge.post(path, path === CHAT ? ASK : { input: 'Hi' })
    expect([response.status, JSON.stringify(await response.json())]).toEqual([
      200,
      expect.stringContaining('It is noon.'),
    ])
    expect(edge.requests).toHaveLength(2)
  })

  test('is restarted in a stream of Chat Completions if no text was sent', async () => {
    const edge = keptEdge({ script: [[SILENT], say('It is noon.')] })
    expect(textIn(await streamOf(edge, CHAT, { ...ASK, stream: true }))).toBe('It is noon.')
  })

  test('is an error in a stream of Chat Completions once text was sent, without another model request', async () => {
    const edge = keptEdge({ script: broken() })
    const chunks = await streamOf(edge, CHAT, { ...ASK, stream: true })
    expect(textIn(chunks)).toBe('It is ')
    expect(chunks.at(-1)).toMatchObject({ error: { code: 'model_stream_cut' } })
    expect(edge.requests).toHaveLength(1)
  })

  test('continues without repeated text in a conversation if the model repeats itself', async () => {
    const edge = keptEdge({ script: broken() })
    const chunks = await streamOf(edge, CHAT, { ...ASK, stream: true }, { 'x-conversation-id': 'c' })
    expect([textIn(chunks), chunks.at(-1)]).toEqual(['It is noon.', '[DONE]'])
  })

  test.each([
    ['/v1/messages', { max_tokens: 99 }, 'content_block_start', ['thinking', 'text']],
    ['/v1/responses', {}, 'response.output_item.added', ['reasoning', 'message']],
    [
      '/v1/responses',
      { include: ['reasoning.encrypted_content'] },
      'response.output_item.added',
      ['reasoning', 'message'],
    ],
  ])('stays one text in a stream of %s with %j if the model thinks again', async (path, more, type, kinds) => {
    const think: ModelEvent = { type: 'reasoning', text: 'Hm.' }
    for (const first of [[think], []]) {
      const edge = keptEdge({
        script: [
          [...first, { type: 'text', text: 'It is ' }, CUT],
          [think, ...say('It is noon.')],
        ],
      })
      const question = [{ role: 'user', content: 'What time is it?' }]
      const body = { stream: true, model: 'test/scripted', messages: question, input: question, ...more }
      const events = await streamOf(edge, path, body, { 'x-conversation-id': 'c' })
      const added = events
        .filter((event) => event.type === type)
        .map(({ content_block, item }) => (content_block ?? item).type)
      expect(added).toEqual(first.length > 0 || 'include' in more ? kinds : kinds.slice(1))
      const deltas = events.flatMap(({ type, delta }) =>
        /text/.test(`${type} ${delta?.type}`) ? (delta?.text ?? delta ?? []) : [],
      )
      expect(deltas.filter((delta) => typeof delta === 'string' && !delta.includes('Hm')).join('')).toBe('It is noon.')
    }
  })

  test('is an error of the stream in a conversation if the model answers differently; the run continues', async () => {
    const edge = keptEdge({ script: broken('Noon.') })
    const chunks = await streamOf(edge, CHAT, { ...ASK, stream: true }, { 'x-conversation-id': 'c' })
    expect([textIn(chunks), chunks.at(-1)]).toEqual([
      'It is ',
      expect.objectContaining({ error: expect.objectContaining({ code: 'model_stream_cut' }) }),
    ])
    const [run] = await (await edge.fetch('/conversations/c/runs')).json<any[]>()
    expect(run.status).toBe('completed')
  })

  test.each(['/chat', '/ag-ui'])('is restarted on %s as a separate text', async (path) => {
    const edge = keptEdge({ script: broken() })
    const user = { id: 'm', role: 'user', content: 'Hi', parts: [{ type: 'text', text: 'Hi' }] }
    const response = await edge.post(path, { id: 'c', threadId: 'c', runId: 'r', messages: [user] })
    const deltas = dataOf(await response.text()).flatMap((event: any) => event.delta ?? [])
    expect(deltas).toEqual(['It is ', 'It is noon.'])
  })
})

test('a waiting caller is told that the model is silent', async () => {
  const edge = keptEdge({ script: [[SILENT], [SILENT]] })
  const response = await edge.post('/conversations/c/runs', { input: 'Hi' })
  expect(response.status).toBe(404)
  await edge.post('/conversations', { id: 'c' })
  const failed = await edge.post('/conversations/c/runs', { input: 'Hi' })
  expect([failed.status, await failed.json()]).toMatchObject([502, { code: 'model_timeout', detail: 'Silent.' }])
})
