import OpenAI, { APIError, APIUserAbortError, type ClientOptions } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chunksOf, type ModelReply } from '../fixtures/model-server.ts'
import { shout } from '../fixtures/shout.ts'
import { ask, say, type ScriptedStage, startScripted } from './scripted-stage.ts'

let stage: ScriptedStage
beforeAll(async () => void (stage = await startScripted()))
afterAll(() => stage?.close())

const user = (content: string) => ({ role: 'user', content }) as const
const root = ask(['squareRoot', { number: 16 }])
const model = 'openai/test'

function client(options: Pick<ClientOptions, 'apiKey' | 'maxRetries' | 'fetch'> = {}): OpenAI {
  return new OpenAI({ baseURL: new URL('/v1', stage.url).href, apiKey: stage.key, maxRetries: 0, ...options })
}

async function errorOf(promise: PromiseLike<unknown>): Promise<object> {
  const error: unknown = await Promise.resolve(promise).catch((error: unknown) => error)
  if (!(error instanceof APIError)) throw error
  const { status, type, code, param } = error
  return { name: error.constructor.name, status, type, code, param }
}

describe('an answer', () => {
  test('is that of the run, whose tools ran at the edge', async () => {
    stage.script(root, say('It is 4.'))
    const { data, response } = await client()
      .chat.completions.create({ model, messages: [user('Root of 16?')], temperature: 0, user: 'someone' })
      .withResponse()
    expect(data).toMatchObject({
      id: `chatcmpl-${response.headers.get('x-run-id')}`,
      object: 'chat.completion',
      model,
      choices: [
        { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'It is 4.', refusal: null } },
      ],
      usage: { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 },
    })
    expect(stage.bodies().map((body) => body['temperature'])).toEqual([0, 0])
  })

  test('is streamed, with its usage alone in the last chunk where it is asked for', async () => {
    stage.script(root, say('It is 4.'))
    const stream = await client().chat.completions.create({
      model,
      messages: [user('Root of 16?')],
      stream: true,
      stream_options: { include_usage: true },
    })
    const chunks: OpenAI.ChatCompletionChunk[] = []
    for await (const chunk of stream) chunks.push(chunk)
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('It is 4.')
    expect(chunks.map((chunk) => chunk.choices[0]?.finish_reason ?? null).filter(Boolean)).toEqual(['stop'])
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1)
    expect(chunks.slice(0, -1).map((chunk) => chunk.usage)).toEqual(chunks.slice(1).map(() => null))
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 30 } })
  })

  test('is reported through the events of the stream helper', async () => {
    stage.script(root, ask(['shout', { text: 'four' }]))
    const { parse: _, function: __, ...tool } = shout([]).function
    const stream = client().chat.completions.stream({
      model,
      messages: [user('Shout the root of 16.')],
      tools: [{ type: 'function', function: tool }],
      stream_options: { include_usage: true },
    })
    const received: unknown[] = []
    stream.on('connect', () => received.push('connect'))
    stream.on('tool_calls.function.arguments.done', ({ name, arguments: text }) => received.push([name, text]))
    stream.on('end', () => received.push('end'))
    const { choices, usage } = await stream.finalChatCompletion()
    expect(received).toEqual(['connect', ['shout', '{"text":"four"}'], 'end'])
    expect(choices).toMatchObject([
      {
        finish_reason: 'tool_calls',
        message: {
          content: '',
          tool_calls: [{ type: 'function', function: { name: 'shout', arguments: '{"text":"four"}' } }],
        },
      },
    ])
    expect(usage?.total_tokens).toBe(30)

    stage.script(say('One two.'))
    const chatStream = client().chat.completions.stream({ model, messages: [user('Count.')] })
    const deltas: string[] = []
    chatStream.on('content', (delta) => deltas.push(delta))
    expect([await chatStream.finalContent(), deltas.join('')]).toEqual(['One two.', 'One two.'])
  })

  test('fits its schema and is parsed', async () => {
    const schema = {
      type: 'object',
      properties: { root: { type: 'number' } },
      required: ['root'],
      additionalProperties: false,
    }
    stage.script(root, say('{"root":"four"}'), say('{"root":4}'))
    const completion = await client().chat.completions.parse({
      model,
      messages: [user('Root of 16?')],
      response_format: { type: 'json_schema', json_schema: { name: 'root', schema, strict: true } },
    })
    expect(completion.choices[0]?.message.parsed).toEqual({ root: 4 })
    expect(stage.bodies().map((body) => body['response_format'])).toEqual([
      ...[1, 2, 3].map(() => ({ type: 'json_schema', json_schema: { name: 'root', schema, strict: true } })),
    ])
  })
})

describe('tools of the caller', () => {
  const history = [
    ['user', 'Shout the root of 16.'],
    ['assistant', null],
    ['tool', expect.stringContaining('4')],
    ['tool', 'FOUR'],
  ]

  test.each([false, true])('run beside those of the edge, streamed: %s', async (stream) => {
    stage.script(ask(['squareRoot', { number: 16 }], ['shout', { text: 'four' }]), say('FOUR!'))
    const texts: string[] = []
    const requestOptions = { model, messages: [user('Shout the root of 16.')], tools: [shout(texts)] }
    const { completions } = client().chat
    const runner = stream ? completions.runTools({ ...requestOptions, stream }) : completions.runTools(requestOptions)
    expect(await runner.finalContent()).toBe('FOUR!')
    expect(texts).toEqual(['four'])
    expect(runner.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    // The model sees one history: the call of the edge, which the SDK never saw, and that of the SDK.
    expect(stage.bodies()[1]?.messages.map(({ role, content }) => [role, content])).toEqual(history)
  })

  test('must fit their schemas if the caller asks for strict tools', async () => {
    const parameters = { type: 'object', properties: {}, required: [], additionalProperties: false }
    const requestOptions = { name: 'pick', description: 'Picks', parameters }
    stage.script(say('No.'), say('No.'))
    await client().chat.completions.create({
      model,
      messages: [user('Pick.')],
      tools: [{ type: 'function', function: { ...requestOptions, strict: true } }],
    })
    await client().responses.create({
      model,
      input: 'Pick.',
      tools: [{ type: 'function', ...requestOptions, strict: true }],
    })
    const actual = stage.bodies().map(({ tools = [] }) => tools.find((tool) => tool.function.name === 'pick'))
    expect(actual).toEqual([1, 2].map(() => ({ type: 'function', function: { ...requestOptions, strict: true } })))
  })

  test('may be called step after step', async () => {
    stage.script(
      ask(['shout', { text: 'a' }]),
      root,
      ask(['shout', { text: 'b' }], ['shout', { text: 'c' }]),
      say('Done.'),
    )
    const texts: string[] = []
    const runner = client().chat.completions.runTools({ model, messages: [user('Shout.')], tools: [shout(texts)] })
    expect([await runner.finalContent(), texts]).toEqual(['Done.', ['a', 'b', 'c']])
    expect(
      stage
        .bodies()
        .at(-1)
        ?.messages.map(({ role }) => role),
    ).toEqual(['user', ...['assistant', 'tool'], ...['assistant', 'tool'], ...['assistant', 'tool', 'tool']])
  })
})

describe('an error', () => {
  const messages = [user('Root of 16?')]

  test('has the class and status of its cause', async () => {
    stage.script()
    const { completions } = client().chat
    const stranger = client({ apiKey: 'ek_of_nobody' }).chat.completions
    expect(await errorOf(stranger.create({ model, messages }))).toEqual({
      name: 'AuthenticationError',
      status: 401,
      type: 'invalid_request_error',
      code: 'invalid_api_key',
      param: null,
    })
    expect(await errorOf(completions.create({ model, messages, n: 2 }))).toEqual({
      name: 'BadRequestError',
      status: 400,
      type: 'invalid_request_error',
      code: 'unsupported_parameter',
      param: 'n',
    })
    expect(await errorOf(completions.create({ model: 'no/such', messages, stream: true }))).toMatchObject({
      name: 'NotFoundError',
      type: 'invalid_request_error',
      code: 'model_not_found',
      param: 'model',
    })
    expect(await errorOf(client().embeddings.create({ model: 'no/such', input: 'text' }))).toMatchObject({
      name: 'NotFoundError',
      code: 'model_not_found',
    })
    expect(stage.bodies()).toEqual([])
  })

  test('before the first tool call is retried by the SDK, and after it is not', async () => {
    // For longer than the edge itself waits.
    const busy = { status: 429, headers: { 'retry-after': '61' }, body: { error: { message: 'Later.' } } }
    stage.script(busy, root, say('4'))
    const nextRequest = await client({ maxRetries: 1 }).chat.completions.create({ model, messages })
    expect([nextRequest.choices[0]?.message.content, stage.bodies().length]).toEqual(['4', 3])
    stage.script(root, busy, root, say('4'))
    expect(await errorOf(client({ maxRetries: 2 }).chat.completions.create({ model, messages }))).toMatchObject({
      name: 'RateLimitError',
      code: 'rate_limit_exceeded',
    })
    expect(stage.bodies()).toHaveLength(2)
  })

  test('of the model that asks for a longer wait is passed on, for the SDK to retry', async () => {
    const down = { status: 503, headers: { 'retry-after': '60' }, body: { error: { message: 'Down.' } } }
    stage.script(down)
    const answers: Response[] = []
    const recording: typeof fetch = async (...request) => {
      const response = await fetch(...request)
      answers.push(response)
      return response
    }
    const openai = client({ maxRetries: 0, fetch: recording })
    const failure = await errorOf(openai.chat.completions.create({ model, messages }))
    expect(failure).toMatchObject({ status: 503, type: 'server_error', code: 'model_unavailable' })
    const headers = answers.map((each) => ['retry-after', 'x-should-retry'].map((name) => each.headers.get(name)))
    expect(headers).toEqual([['60', 'true']])
    expect(stage.bodies()).toHaveLength(1)
  })

  test.each([
    [401, {}, 424, 'server_error', 'model_unauthorized'],
    [403, {}, 424, 'server_error', 'model_unauthorized'],
    [404, {}, 404, 'invalid_request_error', 'model_not_found'],
    [402, {}, 402, 'insufficient_quota', 'insufficient_quota'],
    [429, { code: 'insufficient_quota' }, 402, 'insufficient_quota', 'insufficient_quota'],
    [400, { code: 'context_length_exceeded' }, 400, 'invalid_request_error', 'context_length_exceeded'],
    [400, { message: 'x does not support tools' }, 400, 'invalid_request_error', 'model_without_tools'],
  ])(
    'of the model that is permanent, status %i and %j, is not retried',
    async (status, error, ...[answer, type, code]) => {
      stage.script(...Array.from({ length: 9 }, () => ({ status, body: { error: { message: 'No.', ...error } } })))
      const failure = await errorOf(client({ maxRetries: 2 }).chat.completions.create({ model, messages }))
      expect(failure).toMatchObject({ status: answer, type, code })
      expect(stage.bodies()).toHaveLength(1)
    },
  )

  test('in the middle of a stream is thrown by the SDK', async () => {
    stage.script({ chunks: chunksOf({ text: 'One two' }).slice(0, 2), end: 'cut' })
    const body = { model, messages, stream: true, edgecall: { rounds: 'all' } } as const
    const stream = await client().chat.completions.create(body)
    const texts: string[] = []
    const reading = (async () => {
      for await (const { choices } of stream) texts.push(choices[0]?.delta.content ?? '')
    })()
    expect(await errorOf(reading)).toMatchObject({ code: 'model_stream_cut', status: undefined })
    expect(texts.join('')).toBe('One ')
  })
})

describe('responses', () => {
  const pick = { type: 'function', name: 'pick', strict: null, parameters: { type: 'object', properties: {} } } as const

  test('are created, and report their events', async () => {
    stage.script(root, say('It is 4.'))
    const response = await client().responses.create({ model, input: 'Root of 16?', instructions: 'Be brief.' })
    expect([response.status, response.output_text, response.usage?.total_tokens]).toEqual(['completed', 'It is 4.', 30])
    expect(response.output).toMatchObject([{ type: 'mcp_call', name: 'squareRoot' }, { type: 'message' }])

    stage.script(root, say('It is 4.'))
    const stream = client().responses.stream({ model, input: 'Root of 16?' })
    const deltas: string[] = []
    stream.on('response.output_text.delta', ({ delta }) => deltas.push(delta))
    const final = await stream.finalResponse()
    expect([deltas.join(''), final.output_text]).toEqual(['It is 4.', 'It is 4.'])
    expect(final.output.map(({ type }) => type)).toEqual(['mcp_call', 'message'])
  })

  test('continue from the previous one, from its items, and from results of the caller', async () => {
    const { responses } = client()
    stage.script(root, say('It is 4.'))
    const first = await responses.create({ model, input: 'Root of 16?' })
    stage.script(ask(['pick', { of: 2 }]))
    const second = await responses.create({ model, input: 'Pick.', previous_response_id: first.id, tools: [pick] })
    const call = second.output[0]
    expect(call).toMatchObject({ type: 'function_call', name: 'pick', arguments: '{"of":2}' })
    stage.script(say('Left.'))
    const result = {
      type: 'function_call_output',
      call_id: call?.type === 'function_call' ? call.call_id : '',
      output: 'left',
    } as const
    const third = await responses.create({ model, input: [result], previous_response_id: second.id, tools: [pick] })
    expect(third.output_text).toBe('Left.')

    // As a list that grows, of what was said and what came back.
    stage.script(root, ask(['pick']))
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Pick the root of 16.' }]
    const firstResponse = await responses.create({ model, input, tools: [pick], store: false })
    const picked = firstResponse.output.find((item) => item.type === 'function_call')
    input.push(...(firstResponse.output as OpenAI.Responses.ResponseInputItem[]), {
      ...result,
      call_id: picked?.call_id ?? '',
    })
    stage.script(say('Left.'))
    expect((await responses.create({ model, input, tools: [pick], store: false })).output_text).toBe('Left.')
    expect(stage.bodies()[0]?.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
    ])
  })

  test('that failed leave the previous one as the last; later ones branch from it', async () => {
    const { responses } = client()
    stage.script(say('One.'))
    const first = await responses.create({ model, input: 'Count.' })
    const nextRequest = { model, input: 'And?', previous_response_id: first.id }
    stage.script({ status: 400, body: { error: { message: 'No.' } } }, say('Two.'))
    expect(await errorOf(responses.create(nextRequest))).toMatchObject({ status: 400, code: 'model_refused_request' })
    expect((await responses.create(nextRequest)).output_text).toBe('Two.')
    stage.script(say('Three.'))
    expect((await responses.create(nextRequest)).output_text).toBe('Three.')
    expect(stage.bodies()[0]?.messages.map(({ content }) => content)).toEqual(['Count.', 'One.', 'And?'])
  })

  test('are refused in the same error format', async () => {
    const missing = client().responses.create({ model, input: 'Hi', previous_response_id: 'resp_none' })
    expect(await errorOf(missing)).toEqual({
      name: 'BadRequestError',
      status: 400,
      type: 'invalid_request_error',
      code: 'previous_response_not_found',
      param: 'previous_response_id',
    })
  })
})

describe('a caller who', () => {
  const messages = [user('Count.')]
  const partialReply: ModelReply = { chunks: chunksOf({ text: 'One two' }).slice(0, 2), end: 'hang' }
  const next = async () => {
    stage.script(say('Here.'))
    const completion = await client().chat.completions.create({ model, messages })
    return completion.choices[0]?.message.content
  }

  test('stops in the middle of an answer is disconnected, and the edge continues', async () => {
    stage.script(...Array.from({ length: 10 }, () => partialReply))
    const leave = async () => {
      const body = { model, messages, stream: true, edgecall: { rounds: 'all' } } as const
      const stream = await client().chat.completions.create(body)
      for await (const { choices } of stream) if (choices[0]?.delta.content) break
      return stream.controller.signal.aborted
    }
    expect(await Promise.all(Array.from({ length: 9 }, leave))).toEqual(Array.from({ length: 9 }, () => true))
    const stop = new AbortController()
    const completion = client().chat.completions.create({ model, messages }, { signal: stop.signal })
    stop.abort()
    await expect(completion).rejects.toBeInstanceOf(APIUserAbortError)
    expect(await next()).toBe('Here.')
  })

  test('stops in the middle of a conversation’s answer interrupts it with the next message', async () => {
    stage.script(partialReply, say('Here.'))
    const options = { headers: { 'x-conversation-id': 'stopped' } }
    const stream = await client().chat.completions.create({ model, messages, stream: true }, options)
    for await (const { choices } of stream) if (choices[0]?.delta.content) stream.controller.abort()
    const { choices } = await client().chat.completions.create({ model, messages: [user('And?')] }, options)
    expect(choices[0]?.message.content).toBe('Here.')
    expect(stage.bodies()[1]?.messages).toMatchObject([
      user('Count.'),
      { role: 'assistant', content: 'One \n\n[This answer was interrupted here.]' },
      user('And?'),
    ])
  })

  test('reads slowly delays no one and misses nothing', async () => {
    const text = Array.from({ length: 5000 }, (_word, index) => `word${index} `).join('')
    stage.script(say(text))
    const slow = await client().chat.completions.create({ model, messages, stream: true })
    expect(await next()).toBe('Here.')
    let read = ''
    for await (const { choices } of slow) read += choices[0]?.delta.content ?? ''
    expect(read).toBe(text)
  })

  test('repeats a lost request with its Idempotency-Key gets the same run', async () => {
    stage.script(root, say('It is 4.'))
    let lost = 0
    const retrying = client({
      maxRetries: 1,
      fetch: async (...request) => {
        const response = await fetch(...request)
        if (lost++ > 0) return response
        await response.body?.cancel()
        throw new TypeError('fetch failed')
      },
    })
    const headers = { 'idempotency-key': crypto.randomUUID() }
    const { data, response } = await retrying.chat.completions
      .create({ model, messages: [user('Root of 16?')] }, { headers })
      .withResponse()
    expect([data.choices[0]?.message.content, response.headers.get('idempotent-replayed')]).toEqual([
      'It is 4.',
      'true',
    ])
    expect([lost, stage.bodies().length]).toEqual([2, 2])
  })
})

test('models are listed and retrieved one by one', async () => {
  const { models } = client()
  expect((await models.list()).data).toEqual([await models.retrieve(model)])
  expect(await models.retrieve(model)).toEqual({
    id: model,
    object: 'model',
    created: 1_767_225_600,
    owned_by: 'openai',
    edgecall: {
      contextTokens: 128_000,
      tools: true,
      parallelCalls: true,
      singleCalls: true,
      toolChoice: true,
      streamedArguments: true,
      imagesInResults: true,
      structuredOutput: true,
      imageUrls: true,
      fileUrls: false,
    },
  })
  expect(await errorOf(models.retrieve('no/such'))).toMatchObject({ name: 'NotFoundError', code: 'model_not_found' })
})
