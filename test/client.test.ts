import { createHash } from 'node:crypto'
import { describe, expect, expectTypeOf, test, vi } from 'vitest'
import { createClient, EdgecallError } from '../src/client.ts'
import type { ModelEvent } from '../src/contract/model.ts'
import type { FetchFiles } from '../src/contract/setup.ts'
import { decimalValue, jsonNumbers } from './fixtures/json-numbers.ts'
import { COUNTS_TIMERS } from './fixtures/counts-timers.ts'
import { ask, bodies, say, tool, types } from './fixtures/play.ts'
import { type KeptEdge, keptEdge } from './http/kept-edge.ts'

const add = tool('add', ({ a, b }) => Number(a) + Number(b))
const danger = tool('danger', () => 'boom', { approval: 'always' })
const pick = { name: 'pick', description: 'Picks', inputSchema: { type: 'object' } }

function clientOf(edge: KeptEdge, fetch: KeptEdge['fetch'] = edge.fetch) {
  return createClient<'add' | 'danger' | 'pick'>({ url: 'http://127.0.0.1:8787/', fetch })
}

async function refusal(promise: Promise<unknown>): Promise<EdgecallError> {
  const error: unknown = await promise.catch((error: unknown) => error)
  if (error instanceof EdgecallError) return error
  throw error
}

describe('a run without a conversation', () => {
  test('returns the record of the run', async () => {
    const edge = keptEdge({ script: [ask(['add', { a: 1, b: 2 }]), say('Three.')], tools: [add] })
    expect(await clientOf(edge).run('What is 1 + 2?')).toEqual({
      id: expect.stringMatching(/^run_/),
      status: 'completed',
      answer: 'Three.',
      finish: 'stop',
      steps: 2,
      usage: { inputTokens: 20, outputTokens: 10 },
      calls: [
        {
          id: expect.stringMatching(/^call_/),
          tool: 'add',
          arguments: { a: 1, b: 2 },
          status: 'settled',
          place: 'test',
          version: '1',
          ok: true,
          content: [{ type: 'text', text: '3' }],
          durationMs: expect.any(Number),
        },
      ],
    })
  })

  test('streams its events and sends the fields of the input', async () => {
    const edge = keptEdge({ script: [say('Hi.')], tools: [add] })
    const events = await Array.fromAsync(clientOf(edge).stream({ input: 'Hello', system: 'Be kind', tools: [] }))
    expect(types(events as never)).toEqual([
      'run.started',
      'step.started',
      'text.delta',
      'step.answered',
      'step.finished',
      'run.finished',
    ])
    expect(edge.requests.map(({ messages, tools }) => ({ messages, tools }))).toEqual([
      {
        messages: [
          { role: 'system', content: 'Be kind' },
          { role: 'user', content: 'Hello' },
        ],
        tools: [],
      },
    ])
  })

  test('cannot be resumed after the stream is cut', async () => {
    const edge = keptEdge({ script: [say('Hi.')] })
    const client = clientOf(edge, async (...request) => cutAfter(await edge.fetch(...request), 1))
    expect(await refusal(Array.fromAsync(client.stream('Hello')))).toMatchObject({ code: 'stream_cut', status: 0 })
    expect(edge.requests).toHaveLength(1)
  })
})

/** The response, whose connection is lost after some events. */
function cutAfter(response: Response, events: number): Response {
  const frames = framesOf(response.body!)
  let count = 0
  const cut = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await frames.next()
        if (done) return controller.close()
        if (count++ === events) throw new TypeError('network error')
        controller.enqueue(value)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(cut, response)
}

async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true })
    for (let at = text.indexOf('\n\n'); at >= 0; at = text.indexOf('\n\n')) {
      yield new TextEncoder().encode(text.slice(0, at + 2))
      text = text.slice(at + 2)
    }
  }
}

/** As fetch does it: the body breaks off when the signal is aborted. */
function abortable(response: Response, signal: AbortSignal | null | undefined): Response {
  const broken = new TransformStream<Uint8Array, Uint8Array>({
    start: (controller) => signal?.addEventListener('abort', () => controller.error(signal.reason)),
  })
  return new Response(response.body?.pipeThrough(broken), response)
}

describe('a conversation', () => {
  test('is created, listed, used and deleted', async () => {
    const edge = keptEdge({ script: [say('One.'), say('Two.')] })
    const client = clientOf(edge)
    const chat = await client.createConversation('chat-1')
    await chat.run('First')
    const { id: runId } = await chat.run('Second')
    expect(await client.listConversations()).toEqual(['chat-1'])
    expect((await chat.messages()).map(({ message }) => message.content)).toEqual(['First', 'One.', 'Second', 'Two.'])
    expect(await chat.messages({ limit: 1 })).toMatchObject([{ run: runId, message: { content: 'Two.' } }])
    expect((await chat.runs()).map(({ status }) => status)).toEqual(['completed', 'completed'])
    expect(await chat.usage()).toEqual({ inputTokens: 20, outputTokens: 10, runs: 2 })
    expect(await chat.cancel(runId)).toBe('already_terminal')
    expect(await chat.record(runId)).toMatchObject({ id: runId, answer: 'Two.' })
  })

  test('sends approvals and results to a run', async () => {
    const script = [ask(['danger'], ['pick', { of: 2 }]), say('Done.'), ask(['danger']), say('Not done.')]
    const edge = keptEdge({ script, tools: [danger] })
    const chat = await clientOf(edge).createConversation()
    const waiting = await chat.run({ input: 'Go', clientTools: [pick] })
    expect(waiting).toMatchObject({ status: 'waiting', finish: 'waiting' })
    const [first, second] = waiting.calls.map((call) => call.id)
    await chat.approve(waiting.id, first!)
    await chat.giveResult(waiting.id, second!, { picked: 'left' })
    const events = await Array.fromAsync(chat.resume(waiting.id))
    expect(events.at(-1)).toMatchObject({ type: 'run.finished', answer: 'Done.' })
    expect(edge.requests[1]?.messages.slice(-2)).toMatchObject([
      { role: 'tool', tool: 'danger', content: [{ text: 'boom' }] },
      { role: 'tool', tool: 'pick', content: [{ text: '{"picked":"left"}' }] },
    ])
    const repeat = await chat.run('Once more')
    await chat.reject(repeat.id, repeat.calls[0]!.id, 'too late')
    await Array.fromAsync(chat.resume(repeat.id))
    expect(edge.requests[3]?.messages.at(-1)).toMatchObject({
      content: [{ text: 'A person refused this call: too late' }],
    })
  })

  test('approves a call with other arguments, if the call still has those that were seen', async () => {
    const transfer = tool('danger', ({ amount }) => `moved ${String(amount)}`, { approval: 'always' })
    const edge = keptEdge({ script: [ask(['danger', { amount: 500 }]), say('Done.')], tools: [transfer] })
    const chat = await clientOf(edge).createConversation()
    const { id: run, calls } = await chat.run('Go')
    const call = calls[0]!.id
    const changes = { arguments: { amount: 5 } }
    expect(await refusal(chat.approve(run, call, { ...changes, argumentsHash: 'of others' }))).toMatchObject({
      status: 409,
      code: 'arguments_changed',
    })
    const argumentsHash = createHash('sha256').update('{"amount":500}').digest('hex')
    await chat.approve(run, call, { ...changes, argumentsHash })
    await Array.fromAsync(chat.resume(run))
    expect((await chat.record(run)).calls).toMatchObject([
      { arguments: { amount: 5 }, content: [{ text: expect.stringContaining('moved 5') }] },
    ])
  })

  test('resumes a run after the last event, however often the connection is lost', async () => {
    const edge = keptEdge({ script: [ask(['add', { a: 1, b: 2 }]), say('Three.')], tools: [add] })
    const receivedRequests: [string, string | undefined][] = []
    const client = clientOf(edge, async (input, init) => {
      const path = new URL(input as string).pathname
      receivedRequests.push([
        path.replace(/run_\w+/, 'RUN'),
        new Headers(init?.headers).get('last-event-id')?.slice(-3),
      ])
      const response = await edge.fetch(input, init)
      return path.endsWith('s') && path !== '/conversations' ? cutAfter(response, 5) : response
    })
    const chat = await client.createConversation('c')
    const events = await Array.fromAsync(chat.stream('What is 1 + 2?'))
    const replay = await Array.fromAsync(clientOf(edge).conversation('c').resume(events[0]!.runId))
    expect(events).toEqual(replay)
    expect(events.map((event) => event.seq)).toEqual(events.map((_event, index) => index + 1))
    expect(receivedRequests).toEqual([
      ['/conversations', undefined],
      ['/conversations/c/runs', undefined],
      ['/conversations/c/runs/RUN/events', expect.stringMatching(/\.5$/)],
      ['/conversations/c/runs/RUN/events', expect.stringMatching(/10$/)],
    ])
  })

  test('sends a request again if it may not have arrived, and never starts two runs', async () => {
    const edge = keptEdge({ script: [say('Once.')] })
    let lost = 0
    const client = clientOf(edge, async (input, init) => {
      const response = await edge.fetch(input, init)
      if (init?.method !== 'POST' || lost++ !== 1) return response
      await response.body?.cancel()
      throw new TypeError('fetch failed')
    })
    const chat = await client.createConversation()
    const events = await Array.fromAsync(chat.stream('Hello'))
    expect(events.at(-1)).toMatchObject({ type: 'run.finished', answer: 'Once.' })
    expect(edge.requests).toHaveLength(1)
    expect(lost).toBe(3)
  })

  test.each(['before', 'within'])(
    'asks for the record of one run, if the connection is lost %s the answer',
    async (place) => {
      const edge = keptEdge({ script: [ask(['add', { a: 1, b: 2 }]), say('Three.')], tools: [add] })
      let posts = 0
      const client = clientOf(edge, async (input, init) => {
        const response = await edge.fetch(input, init)
        if (!new URL(input as string).pathname.endsWith('/runs') || posts++ > 0) return response
        await response.body?.cancel()
        if (place === 'before') throw new TypeError('fetch failed')
        const cut = new ReadableStream({ pull: (controller) => controller.error(new TypeError('terminated')) })
        return new Response(cut, response)
      })
      const chat = await client.createConversation('c')
      const run = await chat.run('What is 1 + 2?')
      expect(run).toMatchObject({ status: 'completed', answer: 'Three.' })
      expect(await chat.record(run.id)).toEqual(run)
      expect([posts, (await chat.runs()).length, edge.requests.length]).toEqual([2, 1, 2])
    },
  )

  test('does not ask again for the events of a run that has ended', async () => {
    const edge = keptEdge({ script: [say('Once.')] })
    const chat = await clientOf(edge).createConversation('c')
    const last = (await Array.fromAsync(chat.stream('Hello'))).at(-1)
    expect(await Array.fromAsync(chat.resume(last?.runId ?? '', { after: last?.seq ?? 0 }))).toEqual([])
    const path = `/conversations/c/runs/${last?.runId}/events`
    const statusAfter = async (id: string) => (await edge.fetch(path, { headers: { 'last-event-id': id } })).status
    expect(await statusAfter(`${last?.runId}.${last?.seq}`)).toBe(204)
    expect(await statusAfter(`${last?.runId}.1`)).toBe(200)
  })

  test('gives up on an edge that stays unreachable', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    try {
      let tries = 0
      const client = createClient({
        url: 'http://127.0.0.1:1',
        fetch: async () => {
          tries += 1
          throw new TypeError('fetch failed')
        },
      })
      const error = refusal(Array.fromAsync(client.conversation('c').resume('run_1')))
      const end = { isReached: false }
      void error.finally(() => (end.isReached = true))
      // Not all timers of the process: what an earlier test left under way may start one again and again.
      while (!end.isReached) await vi.advanceTimersByTimeAsync(1000)
      expect(await error).toMatchObject({ code: 'unreachable', status: 0 })
      expect(tries).toBe(8)
    } finally {
      vi.useRealTimers()
    }
  })

  test('stops when its caller aborts', async () => {
    const stop = new AbortController()
    const gate = Promise.withResolvers<void>()
    const never = async function* (): AsyncGenerator<ModelEvent> {
      yield { type: 'text', text: 'So' }
      await gate.promise
      yield* say(' on.')
    }
    const edge = keptEdge({ script: [never] })
    const fetch: KeptEdge['fetch'] = async (input, init) => abortable(await edge.fetch(input, init), init?.signal)
    const chat = await clientOf(edge, fetch).createConversation()
    const events: object[] = []
    const reading = (async () => {
      for await (const event of chat.stream('Hello', { signal: stop.signal })) {
        events.push(event)
        if (event.type === 'text.delta') stop.abort(new Error('enough'))
      }
    })()
    await expect(reading).rejects.toThrow('enough')
    expect(bodies(events as never).at(-1)).toEqual({ type: 'text.delta', step: 1, text: 'So', at: expect.any(Number) })
    gate.resolve()
  })
})

test('an abort while the edge is unreachable takes effect at once', COUNTS_TIMERS, async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const stop = new AbortController()
    const fetch = vi.fn(async () => Promise.reject(new TypeError('fetch failed')))
    const chat = createClient({ url: 'http://127.0.0.1:1', fetch }).conversation('c')
    const reading = Array.fromAsync(chat.stream('Hello', { signal: stop.signal })).catch(String)
    // In the middle of the wait of 2 s before the sixth try.
    await vi.advanceTimersByTimeAsync(2000)
    stop.abort(new Error('enough'))
    expect(await reading).toBe('Error: enough')
    expect(vi.getTimerCount()).toBe(0)
    const attempts = fetch.mock.calls.length
    await vi.advanceTimersByTimeAsync(60_000)
    expect(fetch).toHaveBeenCalledTimes(attempts)
  } finally {
    vi.useRealTimers()
  }
})

test('a reader that stops early closes the connection', async () => {
  let hasLeft = false
  const body = new ReadableStream<Uint8Array>({
    start: (controller) =>
      controller.enqueue(new TextEncoder().encode('data: {"type":"run.started","runId":"run_1","seq":1}\n\n')),
    cancel: () => void (hasLeft = true),
  })
  const client = createClient({ url: 'http://127.0.0.1', fetch: async () => new Response(body) })
  for await (const event of client.conversation('c').resume('run_1')) {
    expect(event.type).toBe('run.started')
    break
  }
  expect(hasLeft).toBe(true)
})

test('a failed run throws an error, however long the run took', async () => {
  const failing: ModelEvent[] = [
    {
      type: 'error',
      error: { code: 'model_rate_limited', message: 'Slow down.', retryable: true, retryAfterMs: 2000 },
    },
  ]
  const edge = keptEdge({ script: [failing, failing] })
  const errors = []
  for (const headers of [{}, { prefer: 'wait=0' }] as Record<string, string>[]) {
    const client = createClient({ url: 'http://127.0.0.1:8787', fetch: edge.fetch, headers })
    const { code, message, runId, retryAfterMs } = await refusal((await client.createConversation()).run('Hi'))
    errors.push({ code, message, runId, retryAfterMs })
  }
  const runId = expect.stringMatching(/^run_/)
  const error = { code: 'model_rate_limited', message: 'Slow down.', runId, retryAfterMs: 2000 }
  expect(errors).toEqual([error, error])
})

test('a page without a start is the first page', async () => {
  const edge = keptEdge({ script: [say('One.')] })
  const client = clientOf(edge)
  const chat = await client.createConversation('c')
  await chat.run('First')
  // As in a loop over pages, where the compiler allows it.
  const page = { after: undefined, before: undefined, limit: 5 } as object
  expect(await client.listConversations(page)).toEqual(['c'])
  expect(await chat.messages(page)).toHaveLength(2)
  expect(await chat.runs(page)).toHaveLength(1)
})

describe('a refused request', () => {
  test('throws an error with its code and status', async () => {
    const edge = keptEdge({ script: [] })
    const error = await refusal(clientOf(edge).run({ input: 'Hi', tools: ['add'] }))
    expect(error).toMatchObject({
      name: 'EdgecallError',
      message: 'There is no tool "add" at this edge.',
      code: 'unknown_tool',
      status: 400,
    })
    expect(await refusal(clientOf(edge).conversation('nope').usage())).toMatchObject({
      code: 'unknown_conversation',
      status: 404,
    })
  })

  test('throws an error if something other than an edge answers, or nothing does', async () => {
    const answering = (response: Response) => createClient({ url: 'http://127.0.0.1', fetch: async () => response })
    const busy = answering(new Response('Try later', { status: 503, headers: { 'retry-after': '2' } }))
    expect(await refusal(busy.run('Hi'))).toMatchObject({ code: 'http_503', status: 503, retryAfterMs: 2000 })
    for (const [after, retryAfterMs] of [
      ['-5', undefined],
      ['1e400', undefined],
      ['9'.repeat(400), 2 ** 31 - 1],
    ] as const) {
      const odd = answering(new Response('Later', { status: 503, headers: { 'retry-after': after } }))
      expect((await refusal(odd.run('Hi'))).retryAfterMs).toBe(retryAfterMs)
    }
    const client = createClient({ url: 'http://127.0.0.1', fetch: async () => Promise.reject(new TypeError('no')) })
    expect(await refusal(client.run('Hi'))).toMatchObject({ code: 'unreachable', status: 0 })
  })
})

describe('a response that is not a valid answer of an edge', () => {
  const answering = (body: BodyInit, init?: ResponseInit) =>
    createClient({ url: 'http://127.0.0.1', fetch: async () => new Response(body, init) })
  const bad = { name: 'EdgecallError', code: 'bad_answer', status: 200 }

  test.each(['', '<p>Log in</p>', '{"id":"run_', 'null', '[]', '{}', '{"id":5}', '5'])(
    'throws an error for every request: %s',
    async (body) => {
      const client = answering(body)
      const chat = client.conversation('c')
      for (const rejection of [
        client.run('Hi'),
        client.createConversation(),
        chat.run('Hi'),
        chat.record('r'),
        chat.approve('r', 'c'),
        chat.cancel('r'),
      ]) {
        expect(await refusal(rejection)).toMatchObject(bad)
      }
      if (body === '[]') return
      expect(await refusal(client.listConversations())).toMatchObject(bad)
      expect(await refusal(chat.messages())).toMatchObject(bad)
      expect(await refusal(chat.runs())).toMatchObject(bad)
      if (!body.startsWith('{')) expect(await refusal(chat.usage())).toMatchObject(bad)
    },
  )

  test('throws an error if it ends early, and the abort reason if the caller aborted', async () => {
    const broken = new ReadableStream({ pull: (controller) => controller.error(new TypeError('terminated')) })
    expect(await refusal(answering(broken, { status: 201 }).createConversation())).toMatchObject({
      ...bad,
      status: 201,
    })
    const wanted = new AbortController()
    const endless = new ReadableStream({
      start: (controller) => {
        wanted.signal.addEventListener('abort', () => controller.error(wanted.signal.reason))
      },
    })
    const pending = answering(endless).run('Hi', { signal: wanted.signal })
    wanted.abort(new Error('never mind'))
    await expect(pending).rejects.toThrow('never mind')
  })

  test.each(['null', '5', '{"type":'])('ends the stream as cut at the event %s', async (data) => {
    const client = answering(`data: ${data}\n\n`)
    expect(await refusal(Array.fromAsync(client.stream('Hi')))).toMatchObject({ code: 'stream_cut', status: 0 })
  })
})

test('a client sends its API key and headers', async () => {
  const requests: [string, Record<string, string>][] = []
  const client = createClient({
    url: 'http://127.0.0.1:8787/',
    key: 'ek_1',
    headers: { 'x-trace': 't' },
    fetch: async (input, init) => {
      requests.push([input, Object.fromEntries(new Headers(init?.headers))])
      return Response.json([])
    },
  })
  await client.listConversations({ after: 'a b', limit: 2 })
  expect(requests).toEqual([
    ['http://127.0.0.1:8787/conversations?after=a+b&limit=2', { authorization: 'Bearer ek_1', 'x-trace': 't' }],
  ])
})

test('the client takes messages with images and files', async () => {
  const edge = keptEdge({ script: [say('A cat.')], setup: { fetchFiles: fetchFilesAsPixels } })
  const content = [
    { type: 'text', text: 'What is this?' },
    { type: 'image', url: 'https://example.com/cat.png' },
  ] as const
  await clientOf(edge).run({ input: [{ role: 'user', content: [...content] }] })
  expect(edge.requests[0]?.messages).toMatchObject([
    { role: 'user', content: [content[0], { type: 'image', mediaType: 'image/png', data: 'AA==' }] },
  ])
})

const fetchFilesAsPixels: FetchFiles = async (links) =>
  new Map(links.map((link) => [link, { type: link.type, mediaType: 'image/png', data: 'AA==' }]))

test('the client changes no number on the way, in either direction', async () => {
  const numbers = jsonNumbers(2000)
  const read = tool('read', (args, toolContext) => {
    seen.push(args)
    contexts.push(toolContext)
    return { ok: true, content: [], structured: { list: args['list'] } }
  })
  const [seen, contexts]: [any[], any[]] = [[], []]
  const edge = keptEdge({ script: [ask(['read', `{"list":[${numbers.join(',')}]}`]), say('Done.')], tools: [read] })
  const ids = numbers.filter((number) => /^-?\d+$/.test(number)).map(BigInt)
  const chat = await clientOf(edge).createConversation('c')
  const context: Record<string, unknown> = { ids }
  const events = await Array.fromAsync(chat.stream({ input: 'Hi', context }))
  const valuesOf = (list: unknown) => (list as unknown[]).map((each) => decimalValue(String(each)))
  const values = numbers.map(decimalValue)
  const settled: any = events.find(({ type }) => type === 'call.settled')
  expect(valuesOf(settled.structured.list)).toEqual(values)
  const record: any = await chat.record(settled.runId)
  expect([record.calls[0].arguments, record.calls[0].structured].map(({ list }) => valuesOf(list))).toEqual([
    values,
    values,
  ])
  expect(valuesOf(seen[0].list)).toEqual(values)
  expect(valuesOf(contexts[0].values.ids)).toEqual(ids.map((id) => decimalValue(String(id))))
  const raw = `[${numbers.join(',')}]`
  const foreign = createClient({
    url: 'http://127.0.0.1',
    fetch: async () => new Response(`{"id":"run_1","calls":[],"prompts":${raw}}`),
  })
  expect(valuesOf((await foreign.run('Hi')).prompts)).toEqual(values)
})

test('the client narrows tool names to its type parameter', () => {
  const client = createClient<'add' | 'pick'>({ url: '' })
  expectTypeOf<Awaited<ReturnType<typeof client.run>>['calls'][number]['tool']>().toEqualTypeOf<'add' | 'pick'>()
  // @ts-expect-error: there is no such tool.
  void (() => client.run({ input: 'Hi', tools: ['sub'] }))
})
