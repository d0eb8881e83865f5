import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sha256 } from '../../src/contract/json.ts'
import { chunksOf, type ModelReply, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { readEvents, type Stage, startStage } from './stage.ts'
import { eventually } from '../fixtures/eventually.ts'

let model: ModelServer
let stage: Stage
let reply: (body: Record<string, any>) => ModelReply | Promise<ModelReply>

beforeAll(async () => {
  model = await startModelServer(({ body }) => reply(body))
  const vars = {
    AUTH: 'open',
    MODEL: 'openai/test',
    MODELS: 'openai/narrow',
    OPENAI_BASE_URL: model.baseUrl,
    MAX_BODY_BYTES: '8388608',
  }
  const limits = { MAX_SUBREQUESTS: '40', MAX_CALLS_PER_TOOL: '200', DIRECTORY_SHARDS: '4' }
  stage = await startStage({ ...vars, ...limits }, { rogue: true })
})
afterAll(async () => {
  await stage?.close()
  await model?.close()
})

const say = (text: string): ModelReply => ({ chunks: chunksOf({ text, usage: { inputTokens: 3, outputTokens: 2 } }) })
const ask = (tool: string, args: object = {}): ModelReply => ({
  chunks: chunksOf({ calls: [{ tool, arguments: JSON.stringify(args) }] }),
})
/** Asks for these tools one after the other, then says the last result. */
function after(...tools: [string, object?][]): typeof reply {
  return ({ messages }) => {
    const done = messages.slice(messages.findLastIndex((message: any) => message.role === 'user') + 1)
    const next = tools[done.filter((message: any) => message.role === 'tool').length]
    return next ? ask(...next) : say(`Result: ${done.at(-1)?.content}`)
  }
}

async function json(path: string, ask?: Parameters<Stage['ask']>[1]): Promise<any> {
  const response = await stage.ask(path, ask)
  const text = await response.text()
  return text === '' ? { status: response.status } : JSON.parse(text)
}

async function conversation(): Promise<string> {
  return (await json('/conversations', { json: {} })).id
}

const lastUser = ({ messages }: Record<string, any>) =>
  messages.findLast((message: any) => message.role === 'user').content

describe('a conversation', () => {
  test('stores every step, survives its object, and shows it to the next run', async () => {
    const id = await conversation()
    reply = after(['squareRoot', { number: 16 }])
    const run = await json(`/conversations/${id}/runs`, { json: { input: 'Root of 16?' } })
    expect(run).toMatchObject({ conversation: id, status: 'completed', finish: 'stop', steps: 2 })
    expect(run.answer).toContain('"value":4')

    await stage.server.getWorker('edgecall').evictDurableObject('Conversation', { name: `v1/local/${id}` })
    let types: string[] = []
    reply = (body) => {
      types = body.messages.map((message: any) => `${message.role}: ${message.content ?? ''}`)
      return say('You asked for the root of 16.')
    }
    await json(`/conversations/${id}/runs`, { json: { input: 'What did I ask?' } })
    expect(types).toEqual([
      'user: Root of 16?',
      'assistant: ',
      expect.stringContaining('"value":4'),
      expect.stringMatching(/^assistant: Result: /),
      'user: What did I ask?',
    ])
    expect(await json(`/conversations/${id}/runs/${run.id}`)).toEqual(run)
    const messages = await json(`/conversations/${id}/messages`)
    expect(messages.map((each: any) => each.message.role)).toEqual([
      ...['user', 'assistant', 'tool', 'assistant'],
      ...['user', 'assistant'],
    ])
    const page = await json(`/conversations/${id}/messages?limit=2&before=${messages[4].position}`)
    expect(page).toEqual(messages.slice(2, 4))
    expect(await json(`/conversations/${id}/usage`)).toMatchObject({ runs: 2, outputTokens: 4 })
  })

  test('continues a run of 50 steps in other invocations, each after 40 subrequests', async () => {
    const id = await conversation()
    reply = ({ messages }) => {
      const step = messages.filter(({ role }: { role: string }) => role === 'assistant').length
      const numbers = [0, 1, 2].map((index) => step * 3 + index)
      const calls = numbers.map((number) => ({
        tool: 'squareRoot',
        arguments: JSON.stringify({ number: number ** 2 }),
      }))
      return step < 50 ? { chunks: chunksOf({ calls }) } : say('Done.')
    }
    const response = await stage.ask(`/conversations/${id}/runs`, {
      json: { input: 'Go' },
      headers: { accept: 'text/event-stream' },
    })
    const events = await readEvents(response)
    // One reader follows all of it.
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    const settled = events.filter(({ type }) => type === 'call.settled')
    expect(settled.map((event: any) => event.structured.value).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 150 }, (_, index) => index),
    )
    expect(events.filter(({ type }) => type === 'call.started').every(({ attempt }) => attempt === 1)).toBe(true)
    expect(events.at(-1)).toMatchObject({ type: 'run.finished', status: 'completed', answer: 'Done.' })
    const runId = events[0]?.['runId']
    const logged = stage.server.getLogs().flatMap(({ message }) => (message.includes('run.continued') ? [message] : []))
    expect(logged.map((line) => JSON.parse(line))).toEqual(
      Array.from({ length: 5 }, () => ({ event: 'run.continued', runId, subrequests: 40 })),
    )
  })

  test('performs its runs one at a time in the order of arrival', async () => {
    const id = await conversation()
    const first = Promise.withResolvers<void>()
    const start = Promise.withResolvers<void>()
    const types: string[] = []
    reply = async (body) => {
      const text = lastUser(body)
      types.push(text)
      if (text === 'one') {
        start.resolve()
        await first.promise
      }
      return say(`did ${text}`)
    }
    const one = json(`/conversations/${id}/runs`, { json: { input: 'one' } })
    await start.promise
    const others = ['two', 'three', 'four'].map(async (input) =>
      json(`/conversations/${id}/runs`, { json: { input }, headers: { prefer: 'respond-async' } }),
    )
    const replies = await Promise.all(others)
    expect(replies.map((run) => run.status)).toEqual(['queued', 'queued', 'queued'])
    expect(types).toEqual(['one'])
    first.resolve()
    await one
    const runs = await Promise.all(
      replies.map((run) => stage.ask(`/conversations/${id}/runs/${run.id}/events`).then(readEvents)),
    )
    expect(new Set(runs.map((events) => events.at(-1)?.answer))).toEqual(new Set(['did two', 'did three', 'did four']))
    expect(types[0]).toBe('one')
    const listing = await json(`/conversations/${id}/runs`)
    expect(listing.map((run: any) => run.status)).toEqual(Array(4).fill('completed'))
    // What was accepted first ran first.
    const messages = await json(`/conversations/${id}/messages`)
    const users = messages.filter((each: any) => each.message.role === 'user').map((each: any) => each.message.content)
    expect(users).toEqual(types)
  })

  test('that is busy rejects a request or interrupts its run, as `onBusy` says', async () => {
    const id = await conversation()
    const start = Promise.withResolvers<void>()
    reply = (body) => {
      if (lastUser(body) === 'stop me') {
        start.resolve()
        return { chunks: [], end: 'hang' }
      }
      return say('Here I am.')
    }
    const stopped = json(`/conversations/${id}/runs`, { json: { input: 'stop me' } })
    await start.promise
    const refusal = await stage.ask(`/conversations/${id}/runs`, { json: { input: 'no', onBusy: 'reject' } })
    expect(refusal.status).toBe(409)
    expect(await refusal.json()).toMatchObject({ code: 'conversation_busy' })
    const run = await json(`/conversations/${id}/runs`, { json: { input: 'me first', onBusy: 'interrupt' } })
    expect(run.answer).toBe('Here I am.')
    expect(await stopped).toMatchObject({ status: 'cancelled', finish: 'cancelled' })
  })

  test('that is busy lets an input steer the run in progress', async () => {
    const id = await conversation()
    const start = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    reply = async (body) => {
      if (lastUser(body) === 'Hello') {
        start.resolve()
        await go.promise
        return ask('squareRoot', { number: 16 })
      }
      return say(`Heard: ${lastUser(body)}`)
    }
    const first = json(`/conversations/${id}/runs`, { json: { input: 'Hello' } })
    await start.promise
    const steer = { json: { input: 'By the way', onBusy: 'steer' }, headers: { accept: 'text/event-stream' } }
    const second = await stage.ask(`/conversations/${id}/runs`, steer)
    expect(second.headers.get('x-run-joined')).toBe('true')
    go.resolve()
    const events = await readEvents(second)
    expect(events[0]).toMatchObject({ type: 'input.added' })
    const run = await first
    expect(run.answer).toBe('Heard: By the way')
    expect(events.at(-1)).toMatchObject({ type: 'run.finished', runId: run.id })
    expect(await json(`/conversations/${id}/runs`)).toHaveLength(1)
  })

  test('stores content larger than a row completely', async () => {
    const id = await conversation()
    const input = 'é😀x'.repeat(500_000)
    let count = 0
    reply = (body) => {
      count = lastUser(body).length
      return say('Long.')
    }
    const run = await json(`/conversations/${id}/runs`, { json: { input } })
    expect([run.answer, count]).toEqual(['Long.', input.length])
    await stage.server.getWorker('edgecall').evictDurableObject('Conversation', { name: `v1/local/${id}` })
    const messages = await json(`/conversations/${id}/messages`)
    expect(messages[0].message.content === input).toBe(true)
  })

  test('is created by a header of the OpenAI surface, stores new messages, and is listed', async () => {
    const headers = { 'x-conversation-id': 'from-header' }
    const seqs: number[] = []
    reply = (body) => {
      seqs.push(body.messages.length)
      return say('Hi.')
    }
    const messages = [{ role: 'user', content: 'Hello' }]
    await json('/v1/chat/completions', { headers, json: { messages } })
    const nextMessages = [...messages, { role: 'assistant', content: 'Hi.' }, { role: 'user', content: 'Again' }]
    await json('/v1/chat/completions', { headers, json: { messages: nextMessages } })
    expect(seqs).toEqual([1, 3])
    expect(await json('/conversations')).toContainEqual({ id: 'from-header' })
  })

  test('that does not exist gives 404 in every surface’s error format', async () => {
    const native = await stage.ask('/conversations/never/runs', { json: { input: 'Hi' } })
    expect([native.status, ((await native.json()) as any).code]).toEqual([404, 'unknown_conversation'])
    const body = { messages: [{ role: 'user', content: 'Hi' }], edgecall: { conversation: 'never' } }
    const openAi = await stage.ask('/v1/chat/completions', { json: body })
    expect([openAi.status, ((await openAi.json()) as any).error.code]).toEqual([404, 'unknown_conversation'])
    expect((await stage.ask('/conversations/never/messages')).status).toBe(404)
  })

  test('has its runs listed by one of the objects of the directory, in the order and pages of all', async () => {
    reply = () => say('Hi.')
    const runs: string[] = []
    for (const shard of [0, 1, 2, 3]) {
      const { id } = await json(`/conversations/${await conversation()}/runs`, { json: { input: `Shard ${shard}` } })
      runs.unshift(id)
    }
    const idsOf = async (query: string) =>
      (await json(`/runs?query=shard&${query}`)).map(({ id }: { id: string }) => id)
    await eventually(async () => expect(await idsOf('')).toEqual(runs))
    expect(await idsOf('limit=2')).toEqual(runs.slice(0, 2))
    expect(await idsOf(`limit=2&before=${runs[1]}`)).toEqual(runs.slice(2))
    expect(await idsOf(`latest=true&before=${runs[0]}`)).toEqual(runs.slice(1))
  })

  test('that was deleted stays deleted', async () => {
    const id = await conversation()
    expect((await stage.ask(`/conversations/${id}`, { method: 'DELETE' })).status).toBe(204)
    for (const response of [
      await stage.ask(`/conversations/${id}/runs`),
      await stage.ask(`/conversations/${id}/runs`, { json: { input: 'Hi' } }),
      await stage.ask('/conversations', { json: { id } }),
    ]) {
      expect(response.status).toBe(410)
      expect(await response.json()).toMatchObject({ code: 'conversation_deleted' })
    }
    expect(await json('/conversations')).not.toContainEqual({ id })
  })
})

describe('the life of a conversation', () => {
  const users = (messages: any[]) => messages.map((each) => each.message.content)

  test('begins with settings, which are the defaults of its runs and never change', async () => {
    const settings = {
      system: 'Be brief.',
      tools: ['squareRoot'],
      limits: { steps: 3 },
      window: { show: 'answers' },
    }
    const { id } = await json('/conversations', { json: settings })
    let state: any
    reply = (body) => {
      state = body
      return body.messages.at(-1).role === 'user' && body.messages.length < 3
        ? ask('squareRoot', { number: 16 })
        : say('Four.')
    }
    await json(`/conversations/${id}/runs`, { json: { input: 'Root?' } })
    expect(state.messages[0]).toEqual({ role: 'system', content: 'Be brief.' })
    expect(state.tools.map((tool: any) => tool.function.name)).toEqual(['squareRoot'])
    await json(`/conversations/${id}/runs`, { json: { input: 'Again?', system: 'Be long.', tools: [] } })
    expect(state.tools).toBeUndefined()
    expect(state.messages.map((each: any) => each.content)).toEqual(['Be long.', 'Root?', 'Four.', 'Again?'])
    const repeat = await stage.ask('/conversations', { json: { id, system: 'Other.' } })
    expect([repeat.status, ((await repeat.json()) as any).code]).toEqual([409, 'conversation_exists'])
    expect((await stage.ask('/conversations', { json: { id } })).status).toBe(200)
  })

  test('does not begin with invalid settings', async () => {
    for (const [body, path] of [
      [{ sytem: 'Be brief.' }, 'sytem'],
      [{ model: 'nobody/x' }, 'model'],
      [{ webhook: 'https://hooks.example.com/' }, 'webhook'],
      [{ id: 'here', jurisdiction: 'eu' }, 'id'],
      [{ ttlSeconds: 0 }, 'ttlSeconds'],
    ] as const) {
      const response = await stage.ask('/conversations', { json: body })
      expect([response.status, ((await response.json()) as any).param]).toEqual([400, path])
    }
    // No machine of ours is in a jurisdiction.
    const elsewhere = await stage.ask('/conversations', { json: { jurisdiction: 'eu' } })
    expect([elsewhere.status, ((await elsewhere.json()) as any).code]).toEqual([501, 'no_such_jurisdiction'])
    expect((await stage.ask('/conversations', { json: { location: 'weur' } })).status).toBe(201)
  })

  test('continues in a fork from any message, without changing the original', async () => {
    const id = await conversation()
    reply = (body) => say(`Heard ${body.messages.length}.`)
    for (const input of ['one', 'two', 'three']) await json(`/conversations/${id}/runs`, { json: { input } })
    const messages = await json(`/conversations/${id}/messages`)
    const fork = await json(`/conversations/${id}/fork`, { json: { at: messages[3].position } })
    expect(await json(`/conversations/${fork.id}/messages`)).toEqual(messages.slice(0, 4))
    expect((await json(`/conversations/${fork.id}/runs`, { json: { input: 'other' } })).answer).toBe('Heard 5.')
    expect(users(await json(`/conversations/${fork.id}/messages`)).slice(4)).toEqual(['other', 'Heard 5.'])
    expect(await json(`/conversations/${id}/messages`)).toEqual(messages)
    expect(await json('/conversations')).toContainEqual({ id: fork.id })
    const nowhere = await stage.ask(`/conversations/${id}/fork`, { json: { at: messages[3].position + 7 } })
    expect([nowhere.status, ((await nowhere.json()) as any).code]).toEqual([404, 'unknown_message'])
  })

  test('may have a turn regenerated, which hides the old one only from models', async () => {
    const id = await conversation()
    let types: string[] = []
    reply = (body) => {
      types = body.messages.map((message: any) => message.content)
      return say(`Answer to ${types.length}`)
    }
    await json(`/conversations/${id}/runs`, { json: { input: 'one' } })
    const second = await json(`/conversations/${id}/runs`, { json: { input: 'two' } })
    const repeat = await json(`/conversations/${id}/runs/${second.id}/regenerate`, { method: 'POST' })
    expect(repeat.id).not.toBe(second.id)
    expect(types).toEqual(['one', 'Answer to 1', 'two'])
    await json(`/conversations/${id}/runs`, { json: { input: 'three' } })
    expect(types).toEqual(['one', 'Answer to 1', 'two', 'Answer to 3', 'three'])
    const messages = await json(`/conversations/${id}/messages`)
    expect(users(messages.filter((each: any) => each.replaced))).toEqual(['two', 'Answer to 3'])
    expect(await json(`/conversations/${id}/runs/${second.id}`)).toEqual(second)
  })

  test('can be exported line by line', async () => {
    const { id } = await json('/conversations', { json: { system: 'Be brief.' } })
    reply = () => say('Hi.')
    const run = await json(`/conversations/${id}/runs`, { json: { input: 'Hello' } })
    const response = await stage.ask(`/conversations/${id}/export`)
    expect(response.headers.get('content-type')).toBe('application/x-ndjson')
    const lines = (await response.text())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines).toEqual([
      { type: 'conversation', settings: { system: 'Be brief.' } },
      { type: 'run', created: expect.any(Number), ...run },
      ...(await json(`/conversations/${id}/messages`)).map((each: object) => ({ type: 'message', ...each })),
    ])
  })

  test('ends after its idle time', async () => {
    const { id } = await json('/conversations', { json: { ttlSeconds: 1 } })
    reply = () => say('Hi.')
    await json(`/conversations/${id}/runs`, { json: { input: 'Hello' } })
    await expect.poll(async () => (await stage.ask(`/conversations/${id}/runs`)).status).toBe(404)
    await expect.poll(() => json('/conversations')).not.toContainEqual({ id })
  })
})

describe('the events of a run', () => {
  test('replay from the start and from any event exactly as they came live', async () => {
    const id = await conversation()
    reply = after(['squareRoot', { number: 16 }])
    const live = await stage.ask(`/conversations/${id}/runs`, {
      json: { input: 'Root?' },
      headers: { accept: 'text/event-stream' },
    })
    const run = live.headers.get('x-run-id')
    const text = await live.text()
    const path = `/conversations/${id}/runs/${run}/events`
    expect(await (await stage.ask(path)).text()).toBe(text)
    const frames = text.split(/(?<=\n\n)/)
    for (let seq = 1; seq <= frames.length; seq++) {
      const rest = await stage.ask(path, { headers: { 'last-event-id': `${run}.${seq}` } })
      expect(await rest.text()).toBe(frames.slice(seq).join(''))
    }
    expect(await (await stage.ask(`${path}?after=${frames.length - 1}`)).text()).toBe(frames.at(-1))
    expect((await stage.ask(path, { headers: { 'last-event-id': 'run_other.1' } })).status).toBe(400)
  })

  test('reach several readers, and continue when the client disconnects', async () => {
    const id = await conversation()
    const rest = Promise.withResolvers<undefined>()
    const chunks = chunksOf({ text: 'One two three.' })
    reply = () => ({ chunks: [...chunks.slice(0, 2), rest.promise, ...chunks.slice(2)] })
    const abort = new AbortController()
    const caller = await fetch(new URL(`/conversations/${id}/runs`, stage.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ input: 'Hello' }),
      signal: abort.signal,
    })
    const run = caller.headers.get('x-run-id')
    abort.abort()
    const path = `/conversations/${id}/runs/${run}/events`
    const readers = [1, 2].map(async () => readEvents(await stage.ask(path)))
    rest.resolve(undefined)
    const [one, two] = await Promise.all(readers)
    expect(one).toEqual(two)
    expect(one?.at(-1)).toMatchObject({ type: 'run.finished', answer: 'One two three.' })
  })
})

describe('a run that waits', () => {
  test('for approval continues when a person decides, and tells the model of a rejection', async () => {
    const argumentsHash = await sha256('{"sum":5}')
    for (const [decision, message] of [
      ['approve', 'paid'],
      ['reject', 'A person refused this call: too dear'],
    ]) {
      const id = await conversation()
      reply = after(['pays', { sum: 5 }])
      const firstResponse = await stage.ask(`/conversations/${id}/runs`, { json: { input: 'Pay', tools: ['pays'] } })
      expect(firstResponse.status).toBe(202)
      const waiting = (await firstResponse.json()) as any
      expect(waiting).toMatchObject({
        status: 'waiting',
        finish: 'waiting',
        calls: [{ tool: 'pays', status: 'approval' }],
      })
      expect(firstResponse.headers.get('location')).toBe(`/conversations/${id}/runs/${waiting.id}`)
      const path = `/conversations/${id}/runs/${waiting.id}`
      const other = await stage.ask(`${path}/calls/${waiting.calls[0].id}`, {
        json: { decision, argumentsHash: await sha256('{"sum":6}') },
      })
      expect([other.status, ((await other.json()) as any).code]).toEqual([409, 'arguments_changed'])
      const decided = await stage.ask(`${path}/calls/${waiting.calls[0].id}`, {
        json: { decision, reason: 'too dear', argumentsHash },
      })
      expect([decided.status, ((await decided.json()) as any).status]).toEqual([200, 'running'])
      const events = await readEvents(await stage.ask(`${path}/events`))
      expect(events).toContainEqual(expect.objectContaining({ type: 'approval.decided', decision, by: 'local' }))
      expect((await json(path)).answer).toBe(`Result: ${message}`)
      const repeat = await stage.ask(`${path}/calls/${waiting.calls[0].id}`, { json: { decision } })
      expect(repeat.status).toBe(409)
    }
  })

  test('for its caller continues with the result over both surfaces', async () => {
    const id = await conversation()
    reply = after(['locate', {}])
    const clientTools = [{ name: 'locate', description: 'Where the user is' }]
    const run = await json(`/conversations/${id}/runs`, { json: { input: 'Where am I?', clientTools } })
    expect(run).toMatchObject({
      status: 'waiting',
      finish: 'tool_calls',
      calls: [{ tool: 'locate', status: 'caller' }],
    })
    const path = `/conversations/${id}/runs/${run.id}`
    await json(`${path}/calls/${run.calls[0].id}`, { json: { result: { city: 'Oslo' } } })
    await readEvents(await stage.ask(`${path}/events`))
    expect((await json(path)).answer).toBe('Result: {"city":"Oslo"}')

    const headers = { 'x-conversation-id': id }
    const tools = [{ type: 'function', function: { name: 'locate', description: 'Where the user is' } }]
    const messages: object[] = [{ role: 'user', content: 'And now?' }]
    const first = await json('/v1/chat/completions', { headers, json: { messages, tools } })
    expect(first.choices[0].finish_reason).toBe('tool_calls')
    const [call] = first.choices[0].message.tool_calls
    messages.push(first.choices[0].message, { role: 'tool', tool_call_id: call.id, content: 'Bergen' })
    const second = await json('/v1/chat/completions', { headers, json: { messages, tools } })
    expect(second.choices[0].message.content).toBe('Result: Bergen')
    expect(second.edgecall.runId).toBe(first.edgecall.runId)
  })

  test('does not block chats, which are told what it waits for', async () => {
    const id = await conversation()
    reply = after(['pays', { sum: 5 }])
    const run = await json(`/conversations/${id}/runs`, { json: { input: 'Pay', tools: ['pays'] } })
    const messages = [{ id: 'm', role: 'user', content: 'And?', parts: [{ type: 'text', text: 'And?' }] }]
    const refusals = [
      await stage.ask('/chat', { json: { id, messages } }),
      await stage.ask('/ag-ui', { json: { threadId: id, runId: 'r', messages } }),
      await stage.ask('/v1/chat/completions', { json: { messages }, headers: { 'x-conversation-id': id } }),
      await stage.ask('/v1/responses', { json: { input: 'And?', conversation: id } }),
    ]
    for (const response of refusals) {
      const text = await response.text()
      // `useChat` shows the body as it is, so that is a sentence; the code is in a header.
      const code = response.headers.get('edgecall-error') ?? text
      expect([response.status, /run_waiting/.test(code)], text).toEqual([409, true])
    }
    const path = `/conversations/${id}/runs`
    expect(await json(path)).toMatchObject([{ status: 'waiting' }])
    await json(`${path}/${run.id}/calls/${run.calls[0].id}`, { json: { decision: 'approve' } })
    await readEvents(await stage.ask(`${path}/${run.id}/events`))
    expect((await json('/v1/responses', { json: { input: 'And?', conversation: id } })).status).toBe('completed')
  })

  test('can be cancelled', async () => {
    const id = await conversation()
    reply = after(['pays'])
    const run = await json(`/conversations/${id}/runs`, { json: { input: 'Pay', tools: ['pays'] } })
    const path = `/conversations/${id}/runs/${run.id}`
    expect(await json(`${path}/cancel`, { method: 'POST' })).toEqual({ status: 'cancelled' })
    expect(await json(`${path}/cancel`, { method: 'POST' })).toEqual({ status: 'already_terminal' })
    expect(await json(path)).toMatchObject({ status: 'cancelled', calls: [{ ok: false }] })
    reply = () => say('Next.')
    expect((await json(`/conversations/${id}/runs`, { json: { input: 'Next' } })).answer).toBe('Next.')
  })
})

describe('an Idempotency-Key', () => {
  const headers = { 'idempotency-key': 'k-1' }

  test('sent twenty times at once makes one run for all requests', async () => {
    const id = await conversation()
    let requestCount = 0
    reply = () => {
      requestCount += 1
      return say('Once.')
    }
    const posts = Array.from({ length: 20 }, () =>
      stage.ask(`/conversations/${id}/runs`, { json: { input: 'Hello' }, headers }),
    )
    const responses = await Promise.all(posts)
    const runs = (await Promise.all(responses.map((response) => response.json()))) as any[]
    expect(new Set(runs.map((run) => run.id)).size).toBe(1)
    expect(runs.every((run) => run.answer === 'Once.')).toBe(true)
    expect(responses.filter((response) => response.headers.get('idempotent-replayed') === 'true')).toHaveLength(19)
    expect(requestCount).toBe(1)
    expect(await json(`/conversations/${id}/runs`)).toHaveLength(1)
  })

  test('that was used with another body is refused', async () => {
    const id = await conversation()
    reply = () => say('Once.')
    await json(`/conversations/${id}/runs`, { json: { input: 'Hello' }, headers })
    const other = await stage.ask(`/conversations/${id}/runs`, { json: { input: 'Bye' }, headers })
    expect([other.status, ((await other.json()) as any).code]).toEqual([422, 'idempotency_mismatch'])
    const bad = await stage.ask(`/conversations/${id}/runs`, {
      json: { input: 'Hi' },
      headers: { 'idempotency-key': ' ' },
    })
    expect(bad.status).toBe(400)
  })

  test('works without a conversation, on both surfaces and streamed', async () => {
    let requestCount = 0
    reply = () => say(`Answer ${++requestCount}`)
    const messages = [{ role: 'user', content: 'Hello' }]
    const chat = async (stream: boolean) =>
      (await stage.ask('/v1/chat/completions', { json: { messages, stream }, headers })).text()
    expect(await chat(false)).toContain('Answer 1')
    const deltas = [...(await chat(true)).matchAll(/"content":"(.*?)"/g)]
    expect(deltas.map(([, text]) => text).join('')).toBe('Answer 1')
    const run = async () => (await json('/runs', { json: { input: 'Hello' }, headers })).answer
    expect([await run(), await run()]).toEqual(['Answer 2', 'Answer 2'])
    expect(await json('/conversations')).not.toContainEqual({ id: expect.stringContaining('~') })
  })
})

describe('a conversation that fills the window of its model', () => {
  const WINDOW = 6000
  let refusals = 0
  const promptsSent: { role: string; content: string }[][] = []

  /** A model that counts its own tokens and refuses what is longer than its window, which nobody has told the edge. */
  const narrow: typeof reply = ({ messages, tools = [] }) => {
    const inputTokens = Math.ceil(JSON.stringify([messages, tools]).length / 3)
    if (inputTokens > WINDOW) {
      refusals += 1
      const message = `This model's maximum context length is ${WINDOW} tokens. However, your messages resulted in ${inputTokens} tokens. Please reduce the length of the messages.`
      return {
        status: 400,
        body: { error: { message, type: 'invalid_request_error', code: 'context_length_exceeded' } },
      }
    }
    promptsSent.push(messages)
    return { chunks: chunksOf({ text: 'Heard.', usage: { inputTokens, outputTokens: 2 } }) }
  }
  const turn = (text: string) => ({ model: 'openai/narrow', tools: [], input: `${text} ${'word '.repeat(1050)}` })
  const plain = (messages: readonly any[]) => messages.map(({ role, content }) => ({ role, content }))

  test('continues, and tells what each step was sent, as its forks, branches and copies do', async () => {
    reply = narrow
    const id = await conversation()
    const reductions: unknown[] = []
    async function say(conversation: string, text: string): Promise<void> {
      const run = await json(`/conversations/${conversation}/runs`, { json: turn(text) })
      expect([text, run.status]).toEqual([text, 'completed'])
      for (const { step, inputTokens, roomLeft, reductions: all = [] } of run.prompts ?? []) {
        expect({ step, isCounted: inputTokens > 0, hasRoom: roomLeft > 0 }).toEqual({
          ...{ step: 1, isCounted: true, hasRoom: true },
        })
        reductions.push(...all.map(({ before, after, because = 'full' }: any) => [text, because, before > after]))
      }
      const visible = await json(`/conversations/${conversation}/runs/${run.id}/steps/1/request`)
      expect(plain(visible.messages)).toEqual(plain(promptsSent.at(-1) ?? []))
    }
    for (const text of ['one', 'two', 'three', 'four']) await say(id, text)
    await stage.server.getWorker('edgecall').evictDurableObject('Conversation', { name: `v1/local/${id}` })
    for (const text of ['five', 'six', 'seven']) await say(id, text)
    // The first refusal tells the window to the conversation and the isolate; from then on, none comes.
    const four = ['four', 'refused', true]
    expect([reductions, refusals]).toEqual([[four, ['six', 'full', true]], 1])

    const messages = await json(`/conversations/${id}/messages`)
    const fork = await json(`/conversations/${id}/fork`, { json: { at: messages.at(-1).position } })
    const copy = await (await stage.ask(`/backups/${id}`)).text()
    await json('/backups/copied', { method: 'PUT', body: copy, headers: { 'content-type': 'application/x-ndjson' } })
    reductions.length = 0
    for (const each of [fork.id, 'copied']) await say(each, 'eight')
    let previous: string | undefined
    for (const input of ['one', 'two', 'three', 'four']) {
      const body = { ...turn(input), store: true, ...(previous && { previous_response_id: previous }) }
      previous = (await json('/v1/responses', { json: body })).id
    }
    for (const input of ['five', 'or five']) {
      const body = { ...turn(input), store: true, previous_response_id: previous }
      expect(await json('/v1/responses', { json: body })).toMatchObject({ status: 'completed' })
      expect(promptsSent.at(-1)?.at(-1)?.content).toMatch(input)
    }
    const eight = ['eight', 'full', true]
    expect([reductions, refusals]).toEqual([[eight, eight], 1])
  })
})
