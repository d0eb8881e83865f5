import { readFileSync } from 'node:fs'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chunksOf, type ModelReply, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { shout } from '../fixtures/shout.ts'
import { readEvents, type Stage, startStage } from './stage.ts'

const CHAT = '/v1/chat/completions'
const hello = { messages: [{ role: 'user', content: 'Hello' }] }

let model: ModelServer
let stage: Stage
let replies: ModelReply[] = []
/** How many requests the model had got when the test began. */
let requestCount = 0

beforeAll(async () => {
  model = await startModelServer(
    (_call, index) => replies[index - requestCount] ?? { status: 500, body: 'no more script' },
  )
  const vars = { AUTH: 'open', MODEL: 'openai/test', OPENAI_BASE_URL: model.baseUrl, OPENAI_API_KEY: 'sk-upstream' }
  stage = await startStage(vars, { rogue: true })
})
afterAll(async () => {
  await stage?.close()
  await model?.close()
})

function script(...steps: ModelReply[]): void {
  replies = steps
  requestCount = model.calls.length
}

const say = (text: string): ModelReply => ({ chunks: chunksOf({ text, usage: { inputTokens: 10, outputTokens: 2 } }) })
const ask = (...calls: [tool: string, args: object | string][]): ModelReply => ({
  chunks: chunksOf({
    calls: calls.map(([tool, args]) => ({ tool, arguments: typeof args === 'string' ? args : JSON.stringify(args) })),
    usage: { inputTokens: 10, outputTokens: 5 },
  }),
})

/** The bodies that the model got in this test. */
function modelBodies(): Record<string, any>[] {
  return model.calls.slice(requestCount).map((call) => call.body)
}

test('the page and the OpenAPI document are answered as they were bundled', async () => {
  const page = await stage.ask('/')
  expect(await page.text()).toBe(readFileSync('src/studio/page.html', 'utf8'))
  const document = await stage.ask('/openapi.json')
  expect(document.headers.get('content-type')).toBe('application/json')
  expect(await document.text()).toBe(readFileSync('src/http/openapi.txt', 'utf8'))
})

describe('two tools in one step and one in the next', () => {
  const steps = [
    ask(['squareRoot', { number: 16 }], ['currentTime', { timeZone: 'Asia/Tokyo' }]),
    ask(['forecast', { place: 'Copenhagen' }]),
    say('All done.'),
  ]

  test('call three tool Workers, with a valid history in every follow-up request', async () => {
    script(...steps)
    const response = await stage.ask(CHAT, { json: { ...hello, model: 'test' } })
    const body = (await response.json()) as Record<string, any>
    expect(body.choices).toEqual([
      {
        index: 0,
        message: { role: 'assistant', content: 'All done.', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ])
    expect(body.model).toBe('test')
    expect(body.usage).toMatchObject({ prompt_tokens: 30, completion_tokens: 12, total_tokens: 42 })
    expect(body.edgecall).toMatchObject({
      runId: response.headers.get('x-run-id'),
      steps: 3,
      finish: 'stop',
      calls: [
        { tool: 'squareRoot', arguments: { number: 16 }, ok: true },
        { tool: 'currentTime', ok: true },
        { tool: 'forecast', ok: true },
      ],
    })
    const [first, second, third] = modelBodies()
    expect(model.calls[requestCount]?.headers.authorization).toBe('Bearer sk-upstream')
    expect(first?.tools.map((each: any) => each.function.name)).toContain('squareRoot')
    expect(second?.messages.map((message: any) => message.role)).toEqual(['user', 'assistant', 'tool', 'tool'])
    const calls = second?.messages[1].tool_calls
    expect(second?.messages.slice(2).map((message: any) => message.tool_call_id)).toEqual(
      calls.map((call: any) => call.id),
    )
    expect(second?.messages[2].content).toContain('4')
    expect(third?.messages.map((message: any) => message.role)).toEqual([
      ...['user', 'assistant', 'tool', 'tool'],
      ...['assistant', 'tool'],
    ])
  })

  test('run both tools of the first step at the same time', async () => {
    script(...steps)
    const response = await stage.ask('/runs', { json: { input: 'Hello' }, headers: { accept: 'text/event-stream' } })
    const types = (await readEvents(response)).map((event) => event.type)
    const settled = types.indexOf('call.settled')
    expect(types.slice(0, settled).filter((type) => type === 'call.started')).toHaveLength(2)
  })
})

describe('a streamed answer', () => {
  test('arrives as the model writes it', async () => {
    const rest = Promise.withResolvers<undefined>()
    const chunks = chunksOf({ text: 'One two three.' })
    script({ chunks: [...chunks.slice(0, 2), rest.promise, ...chunks.slice(2)] })
    const response = await stage.ask(CHAT, { json: { ...hello, stream: true } })
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes('One')) text += (await reader.read()).value ?? ''
    expect(text).not.toContain('two')
    rest.resolve(undefined)
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value
    expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true)
  })

  test('has the text before calls if it is streamed, and not if it is complete, unless `rounds` says otherwise', async () => {
    const steps = [
      { chunks: chunksOf({ text: 'Let me see.', calls: [{ tool: 'squareRoot', arguments: '{"number":16}' }] }) },
      say('It is 4.'),
    ]
    const content = async (rounds: string | undefined, stream: boolean) => {
      script(...steps)
      const response = await stage.ask(CHAT, { json: { ...hello, stream, edgecall: { rounds } } })
      if (!stream) return ((await response.json()) as any).choices[0].message.content
      const events = await readEvents(response)
      return events.map((event: any) => event.choices?.[0]?.delta?.content ?? '').join('')
    }
    expect(await content(undefined, true)).toBe('Let me see.\n\nIt is 4.')
    expect(await content(undefined, false)).toBe('It is 4.')
    expect(await content('final', true)).toBe('It is 4.')
    expect(await content('final', false)).toBe('It is 4.')
    expect(await content('all', true)).toBe('Let me see.\n\nIt is 4.')
    expect(await content('all', false)).toBe('Let me see.\n\nIt is 4.')
  })
})

describe('the official OpenAI SDK', () => {
  const client = () => new OpenAI({ baseURL: new URL('/v1', stage.url).href, apiKey: 'none', maxRetries: 0 })

  test('creates, streams and lists models', async () => {
    script(ask(['squareRoot', { number: 16 }]), say('It is 4.'))
    const messages = [{ role: 'user' as const, content: 'Root of 16?' }]
    const completion = await client().chat.completions.create({ model: 'openai/test', messages })
    expect(completion.choices[0]?.message.content).toBe('It is 4.')

    script(ask(['squareRoot', { number: 16 }]), say('It is 4.'))
    const stream = client().chat.completions.stream({
      model: 'openai/test',
      messages,
      stream_options: { include_usage: true },
    })
    const final = await stream.finalChatCompletion()
    expect(final.choices[0]?.message.content).toBe('It is 4.')
    expect(final.usage?.total_tokens).toBe(27)
    expect((await client().models.list()).data.map((each) => each.id)).toEqual(['openai/test'])
  })

  test('runs its own tools beside the edge’s, and no call runs twice', async () => {
    script(ask(['squareRoot', { number: 16 }], ['shout', { text: 'hi' }]), say('4 and HI.'))
    const shouted: string[] = []
    const runner = client().chat.completions.runTools({
      model: 'openai/test',
      messages: [{ role: 'user', content: 'Root of 16, and shout hi' }],
      tools: [shout(shouted)],
    })
    expect(await runner.finalContent()).toBe('4 and HI.')
    expect(shouted).toEqual(['hi'])
    // The model sees one history: the edge's call, which the SDK never saw, and the SDK's.
    const [, second] = modelBodies()
    expect(second?.messages.map((message: any) => [message.role, message.content])).toEqual([
      ['user', 'Root of 16, and shout hi'],
      ['assistant', null],
      ['tool', expect.stringContaining('4')],
      ['tool', 'HI'],
    ])
  })
})

describe('a model server that', () => {
  const failed = async (reply: ModelReply, stream = false) => {
    script(reply)
    const response = await stage.ask(CHAT, { json: { ...hello, stream } })
    return { response, body: (await response.json()) as any }
  }

  test('answers 500 gives 502', async () => {
    const { response, body } = await failed({ status: 500, body: { error: { message: 'boom' } } })
    expect(response.status).toBe(502)
    expect(body.error).toMatchObject({ code: 'model_unavailable', type: 'server_error' })
  })

  test('answers 429 has its Retry-After passed on', async () => {
    // A provider that wants to be left alone for more than a minute is not waited for.
    const busy = { status: 429, headers: { 'retry-after': '120' }, body: { error: { message: 'slow down' } } }
    for (const stream of [false, true]) {
      const { response, body } = await failed(busy, stream)
      expect(response.status).toBe(429)
      expect(response.headers.get('retry-after')).toBe('120')
      expect(body.error).toMatchObject({ code: 'rate_limit_exceeded', edgecall: 'model_rate_limited' })
    }
  })

  test('cuts the stream before the first token gives an error status', async () => {
    const { response, body } = await failed({ chunks: chunksOf({}).slice(0, 1), end: 'cut' }, true)
    expect(response.status).toBe(502)
    expect(body.error.code).toMatch(/^model_/)
  })

  test('cuts the stream in mid-answer gives an error in the stream', async () => {
    script({ chunks: chunksOf({ text: 'One two' }).slice(0, 2), end: 'cut' })
    const response = await stage.ask(CHAT, { json: { ...hello, stream: true, edgecall: { rounds: 'all' } } })
    const events = await readEvents(response)
    expect(events.at(-1)).toMatchObject({ error: { code: expect.stringMatching(/^model_/) } })
  })

  test('fails after a tool call has started gives `x-should-retry: false`', async () => {
    script(ask(['squareRoot', { number: 16 }]), { status: 500, body: 'boom' })
    const response = await stage.ask(CHAT, { json: hello })
    expect(response.status).toBe(502)
    expect(response.headers.get('x-should-retry')).toBe('false')
  })

  test('sends arguments that are not JSON gets an error to correct them', async () => {
    script(ask(['squareRoot', '{"number": ']), ask(['squareRoot', { number: 16 }]), say('4'))
    const body = (await (await stage.ask(CHAT, { json: hello })).json()) as any
    expect(body.edgecall.calls.map((call: any) => call.ok)).toEqual([false, true])
    expect(modelBodies()[1]?.messages.at(-1).content).toContain('not a JSON object')
  })
})

describe('a tool that', () => {
  const callOf = async (tool: string) => {
    script(ask([tool, {}]), say('ok'))
    const body = (await (await stage.ask(CHAT, { json: { ...hello, edgecall: { tools: [tool] } } })).json()) as any
    return { call: body.edgecall.calls[0], reply: modelBodies()[1]?.messages.at(-1).content as string }
  }

  test('throws gives the model a safe text', async () => {
    const { call, reply } = await callOf('throws')
    expect(call.ok).toBe(false)
    expect(reply).not.toContain('hunter2')
  })

  test('hangs past its timeout gives the model an unknown outcome', async () => {
    const { call, reply } = await callOf('hangs')
    expect(call.ok).toBe(false)
    expect(reply).toBe('The tool "hangs" did not answer within 200 ms; whether it took effect is unknown.')
  })

  test('returns 5 MB shows the model its beginning and its size', async () => {
    const { call, reply } = await callOf('huge')
    expect(call.ok).toBe(true)
    expect(reply.length).toBeLessThan(66_000)
    expect(reply).toMatch(
      /\[cut: 65536 of 5242880 bytes shown; read_result reads on with the id "[\w-]+" from offset 65536\]$/,
    )
  })

  test.each(['uncloneable', 'babbles'])('%s is a failed call', async (tool) => {
    const { call } = await callOf(tool)
    expect(call.ok).toBe(false)
  })

  test('receives the tool context, which no model request has', async () => {
    script(ask(['echoes', {}]), say('ok'))
    const context = { tenantId: 't-77', timeZone: 'Europe/Oslo' }
    await stage.ask(CHAT, { json: { ...hello, edgecall: { tools: ['echoes'], context } } })
    const result = JSON.parse(modelBodies()[1]?.messages.at(-1).content)
    expect(result).toMatchObject({ attempt: 1, caller: { tenant: 'local' }, values: context })
    expect(JSON.stringify(modelBodies()[0])).not.toContain('t-77')
  })

  test('reports progress to readers of the run and not to the model', async () => {
    script(ask(['progresses', {}]), say('ok'))
    const response = await stage.ask('/runs', {
      json: { input: 'Go', tools: ['progresses'] },
      headers: { accept: 'text/event-stream' },
    })
    const events = await readEvents(response)
    expect(events.find((event) => event.type === 'call.progress')).toMatchObject({ message: 'half way', fraction: 0.5 })
    expect(JSON.stringify(modelBodies())).not.toContain('half way')
  })
})
