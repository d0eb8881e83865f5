import { describe, expect, test } from 'vitest'
import { post, toolsOf } from '../../fixtures/offline-play.ts'
import worker from '../../../tools/offline/index.ts'

const CLOCK = {
  name: 'clock',
  description: 'Tells the current time.',
  fields: { zone: { type: 'string' } },
  required: [],
}
const ask = (content: string, rest: object = {}) =>
  post({ model: 'offline', messages: [{ role: 'user', content }], ...rest })

test('GET /v1/models of the offline model lists the one model', async () => {
  const response = await worker.fetch(new Request('http://offline/v1/models'))
  expect(await response.json()).toMatchObject({ object: 'list', data: [{ id: 'offline', object: 'model' }] })
})

test('a completion of the offline model has the calls of the step, each with its own id, and the usage', async () => {
  const response = await ask('What time is it in Tokyo and in Paris?', { tools: toolsOf([CLOCK]) })
  const body = (await response.json()) as any
  const call = (zone: string) => ({
    id: expect.any(String),
    type: 'function',
    function: { name: 'clock', arguments: JSON.stringify({ zone }) },
  })
  const tool_calls = [call('Asia/Tokyo'), call('Europe/Paris')]
  expect(body).toMatchObject({
    object: 'chat.completion',
    model: 'offline',
    choices: [{ index: 0, message: { role: 'assistant', content: null, tool_calls }, finish_reason: 'tool_calls' }],
    usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
  })
  const [first, second] = body.choices[0].message.tool_calls
  expect(first.id).not.toBe(second.id)
})

test('a stream of the offline model has the same text in pieces, then the stop reason, the usage and [DONE]', async () => {
  const completion = (await (await ask('Write a poem')).json()) as any
  const response = await ask('Write a poem', { stream: true, stream_options: { include_usage: true } })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const lines = (await response.text()).split('\n\n').filter(Boolean)
  expect(lines.at(-1)).toBe('data: [DONE]')
  const chunks = lines.slice(0, -1).map((line) => JSON.parse(line.slice('data: '.length)))
  const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
  expect(text).toBe(completion.choices[0].message.content)
  expect(chunks.at(-2).choices[0]).toEqual({ index: 0, delta: {}, finish_reason: 'stop' })
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: completion.usage })
})

test('a stream of the offline model has a chunk for each call', async () => {
  const response = await ask('What time is it in Tokyo?', { tools: toolsOf([CLOCK]), stream: true })
  const chunks = (await response.text()).split('\n\n').slice(0, -2)
  const deltas = chunks.map((line) => JSON.parse(line.slice('data: '.length)).choices[0].delta)
  const fn = { name: 'clock', arguments: '{"zone":"Asia/Tokyo"}' }
  expect(deltas[1]).toEqual({ tool_calls: [{ index: 0, id: expect.any(String), type: 'function', function: fn }] })
})

describe('a request', () => {
  test('with parallel_tool_calls false gets one call at a time', async () => {
    const response = await ask('What time is it in Tokyo and in Paris?', {
      tools: toolsOf([CLOCK]),
      parallel_tool_calls: false,
    })
    expect(((await response.json()) as any).choices[0].message.tool_calls).toHaveLength(1)
  })

  test.each([
    ['none', null],
    ['required', 'clock'],
    [{ type: 'function', function: { name: 'clock' } }, 'clock'],
  ])('with tool_choice %j gets what it allows', async (tool_choice, tool) => {
    const response = await ask(tool ? 'Hello' : 'What time is it?', { tools: toolsOf([CLOCK]), tool_choice })
    const { message } = ((await response.json()) as any).choices[0]
    expect(message.tool_calls?.[0].function.name ?? null).toBe(tool)
  })

  test.each([
    ['{', 400, 'invalid_request'],
    [{ model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hello' }] }, 404, 'model_not_found'],
    [{ model: 'offline', messages: [] }, 400, 'invalid_request'],
    [{ model: 'offline', messages: [{ role: 'user', content: '' }], n: 2 }, 400, 'unsupported_parameter'],
  ])('that cannot be answered gets an error in the form of OpenAI: %j', async (body, status, code) => {
    const response = await post(body)
    expect(response.status).toBe(status)
    expect(await response.json()).toEqual({
      error: { message: expect.any(String), type: 'invalid_request_error', param: null, code },
    })
  })

  test('to another path gets 404', async () => {
    expect((await worker.fetch(new Request('http://offline/v1/responses', { method: 'POST' }))).status).toBe(404)
  })

  test.each(['', '   ', '?'.repeat(5000), 'what is '.repeat(30_000), '在'.repeat(50_000)])(
    'is answered whatever its text is',
    async (content) => {
      expect((await ask(content, { tools: toolsOf([CLOCK]) })).status).toBe(200)
    },
  )
})
