import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestHarness, type TestHarness } from 'wrangler'
import { chunksOf, type ModelReply, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { readEvents } from './stage.ts'
import { eventually } from '../fixtures/eventually.ts'

/** Answers while the object of their conversation is reset, as at a deploy (test/fixtures/lost-edge). */
let model: ModelServer
let harness: TestHarness
let url: URL
let replies: (ModelReply | (() => Promise<ModelReply>))[]
/** What the tool "survey" polls, and what takes its next request. */
let polled: Server
let onPoll: (response: ServerResponse) => void = () => {}

beforeAll(async () => {
  model = await startModelServer(() => {
    const reply = replies.shift() ?? { status: 500, body: 'no more script' }
    return typeof reply === 'function' ? reply() : reply
  })
  polled = createServer((_request, response) => onPoll(response))
  const polledUrl = await new Promise<string>((resolve) =>
    polled.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(polled.address() as AddressInfo).port}/`)),
  )
  harness = createTestHarness({
    root: new URL('../..', import.meta.url).pathname,
    workers: [
      {
        configPath: 'test/fixtures/lost-edge/wrangler.toml',
        vars: { MODEL: 'openai/test', OPENAI_BASE_URL: model.baseUrl },
      },
      { configPath: 'test/fixtures/rogue/wrangler.toml' },
      { configPath: 'test/fixtures/later-tools/wrangler.toml', vars: { POLLED_URL: polledUrl } },
    ],
  })
  url = (await harness.listen()).url
})
afterAll(async () => {
  await harness?.close()
  await model?.close()
  polled?.close()
})

const say = (text: string): ModelReply => ({ chunks: chunksOf({ text }) })

function post(path: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return fetch(new URL(path, url), { method: 'POST', headers, body: JSON.stringify(body) })
}

/** Resets the object of a conversation. */
async function lose(id: string): Promise<void> {
  expect((await fetch(new URL(`/conversations/${id}/export`, url))).status).toBe(200)
}

const user = { id: 'm', role: 'user', content: 'Count', parts: [{ type: 'text', text: 'Count' }] }
/** What each surface is asked in a conversation. */
const SURFACES: Readonly<Record<string, (id: string) => object>> = {
  '/chat': (id) => ({ id, messages: [user] }),
  '/ag-ui': (threadId) => ({ threadId, runId: 'r', messages: [user] }),
  '/v1/chat/completions': (conversation) => ({ messages: [user], stream: true, edgecall: { conversation } }),
  '/v1/responses': (conversation) => ({ input: 'Count', stream: true, conversation }),
}
/** The text that an event of any of them brings. */
const textOf = ({ delta, choices }: any): string => (choices ? choices[0].delta.content : delta) ?? ''

test.each(Object.entries(SURFACES))('an answer on %s continues when its object is lost', async (path, body) => {
  const id = path.replaceAll('/', '-')
  await post('/conversations', { id })
  // What was shown on `/v1` cannot be taken back there: the new answer goes on only if it begins with it.
  const answer = path.startsWith('/v1') ? 'One two three.' : 'Three four.'
  replies = [{ chunks: [...chunksOf({ text: 'One two ' }).slice(0, 3), new Promise(() => {})] }, say(answer)]
  const response = await post(path, body(id))
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    text += next.value
    if (text.includes('two')) break
  }
  expect(text).toContain('two')
  await lose(id)
  for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value
  const events = await readEvents(new Response(text))
  const visibleText = events.map(textOf).join('|').replaceAll(/\|+/g, '|')
  expect(visibleText).toMatch(/^\|?One \|two \|(?:three\.|(?:\n\n)?Three \|four\.)\|?$/)
  expect(JSON.stringify(events)).not.toMatch(/error":[^n]|interrupted/)
  const [run] = (await (await fetch(new URL(`/conversations/${id}/runs`, url))).json()) as object[]
  expect(run).toMatchObject({ id: response.headers.get('x-run-id'), status: 'completed' })
})

test('a non-streamed answer continues when its object is lost', async () => {
  await post('/conversations', { id: 'whole' })
  const question = Promise.withResolvers<void>()
  replies = [
    () => {
      question.resolve()
      return new Promise(() => {})
    },
    say('Done.'),
  ]
  const answer = post('/conversations/whole/runs', { input: 'Hello' })
  await question.promise
  await lose('whole')
  const response = await answer
  expect([response.status, await response.json()]).toMatchObject([200, { status: 'completed', answer: 'Done.' }])
})

test('a call that nobody decides on is rejected in time, although its object was lost meanwhile', async () => {
  await post('/conversations', { id: 'undecided' })
  replies = [{ chunks: chunksOf({ calls: [{ tool: 'pays', arguments: '{}' }] }) }, say('It was not decided.')]
  const body = { input: 'Pay', tools: ['pays'], limits: { waitMs: 2000 } }
  const response = await post('/conversations/undecided/runs', body)
  const waiting = (await response.json()) as Record<string, any>
  expect([response.status, waiting['status']]).toEqual([202, 'waiting'])
  await lose('undecided')
  // Only the alarm wakes the object: reading the run would.
  await eventually(async () => expect(replies).toEqual([]))
  await eventually(async () => {
    const answer = await fetch(new URL(`/conversations/undecided/runs/${waiting['id']}`, url))
    expect(await answer.json()).toMatchObject({
      status: 'completed',
      answer: 'It was not decided.',
      calls: [{ tool: 'pays', ok: false, error: { code: 'rejected' } }],
    })
  })
})

describe('a tool that answers later', () => {
  /** Starts a run that calls the tools in one step. */
  async function start(...tools: string[]): Promise<{ path: string; record: Record<string, any> }> {
    const id = `later-${tools.join('-')}`
    await post('/conversations', { id })
    replies = [{ chunks: chunksOf({ calls: tools.map((tool) => ({ tool, arguments: '{}' })) }) }, say('I see.')]
    const response = await post(`/conversations/${id}/runs`, { input: 'Do it', tools })
    const record = (await response.json()) as Record<string, any>
    return { path: `/conversations/${id}/runs/${record.id}`, record }
  }

  const read = async (path: string) => (await (await fetch(new URL(path, url))).json()) as Record<string, any>
  const eventsOf = async (path: string) => readEvents(await fetch(new URL(`${path}/events`, url)))
  /** Reads the state with which a call of a tool was deferred; the run may be under way. */
  async function deferredState(path: string, tool: string): Promise<unknown> {
    const { body } = await fetch(new URL(`${path}/events`, url))
    let text = ''
    for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      const events = text.matchAll(/^data: (.*"call\.deferred".*)$/gm)
      const deferral = [...events].map(([, event]) => JSON.parse(event ?? '')).find((event) => event.tool === tool)
      if (deferral) return deferral.state
    }
    return undefined
  }
  const completed = (path: string) =>
    eventually(async () => expect(await read(path)).toMatchObject({ status: 'completed' }))

  test('may report over the binding of the edge before it has answered, and only one outcome counts', async () => {
    const { path } = await start('hasty')
    await completed(path)
    const events = await eventsOf(path)
    expect(events.filter(({ type }) => type === 'call.progress')).toMatchObject([{ message: 'begun' }])
    const { state } = events.find(({ type }) => type === 'call.deferred') ?? {}
    expect(JSON.parse(String(state))).toMatchObject([
      { ok: true },
      { ok: true },
      { ok: false, error: { code: 'call_already_answered' } },
      { ok: false, error: { code: 'unknown_call' } },
    ])
    expect((await read(path)).calls).toMatchObject([{ content: [{ text: 'reported by the tool' }] }])
  })

  test('is waited for across the loss of the object, and continues the run with what is reported by address', async () => {
    const { path, record } = await start('patient')
    expect(record).toMatchObject({ status: 'waiting', finish: 'waiting', calls: [{ status: 'later' }] })
    await lose('later-patient')
    const { state: token } = (await eventsOf(path)).find(({ type }) => type === 'call.deferred') ?? {}
    expect((await post(`/outcomes/${String(token)}x`, { result: 'forged' })).status).toBe(404)
    expect((await post(`/outcomes/${String(token)}`, { result: 'reported from outside' })).status).toBe(200)
    await completed(path)
    await lose('later-patient')
    expect((await post(`/outcomes/${String(token)}`, { result: 'reported from outside' })).status).toBe(200)
    expect((await post(`/outcomes/${String(token)}`, { result: 'something else' })).status).toBe(409)
    expect((await read(path)).calls).toMatchObject([{ content: [{ text: 'reported from outside' }] }])
  })

  test('is polled by the alarm until it has an outcome', async () => {
    const { path, record } = await start('polled')
    expect(record).toMatchObject({ status: 'waiting' })
    await completed(path)
    expect((await read(path)).calls).toMatchObject([{ content: [{ text: 'found by a poll' }] }])
  })

  test('is polled with at most two alarms a poll, although the other tool of its step reports meanwhile', async () => {
    const nextPoll = () => new Promise<ServerResponse>((resolve) => (onPoll = resolve))
    const firstPoll = nextPoll()
    const { path } = await start('survey', 'patient')
    const before = Number(await read('/rings'))
    const first = await firstPoll
    for (let reads = 0; reads < 50; reads++) await read(path)
    const token = await deferredState(path, 'patient')
    expect((await post(`/outcomes/${String(token)}`, { result: 'reported' })).status).toBe(200)
    const secondPoll = nextPoll()
    first.end('')
    ;(await secondPoll).end('found')
    await completed(path)
    const { calls } = await read(path)
    expect(calls).toMatchObject([{ content: [{ text: 'found' }] }, { content: [{ text: 'reported' }] }])
    expect(Number(await read('/rings')) - before).toBeLessThanOrEqual(2 * 2)
  })
})

test('an agent that waits for a person is found in GET /approvals, and its outcome and usage count once, although its object and that of its caller are lost', async () => {
  const read = async (path: string): Promise<any> => (await fetch(new URL(path, url))).json()
  const usage = { inputTokens: 20, outputTokens: 5 }
  const ask = (tool: string): ModelReply => ({
    chunks: chunksOf({ calls: [{ tool, arguments: '{"question":"Pay."}' }], usage }),
  })
  const tell = (text: string): ModelReply => ({ chunks: chunksOf({ text, usage }) })
  const before = await read('/usage?by=model')
  replies = [ask('clerk'), ask('pay'), tell('Paid.'), tell('Done.')]
  await post('/conversations', { id: 'family' })
  const { id } = (await (await post('/conversations/family/runs', { input: 'Pay', tools: ['clerk'] })).json()) as {
    id: string
  }
  const path = `/conversations/family/runs/${id}`
  const [approval] = await eventually(async () => {
    const approvals = await read('/approvals')
    expect(approvals).toMatchObject([{ tool: 'pay', path: [{ conversation: 'family', run: id, agent: 'clerk' }] }])
    return approvals
  })
  const { conversation, run } = approval
  await lose('family')
  await lose(conversation)
  expect(await read(path)).toMatchObject({
    status: 'waiting',
    calls: [{ tool: 'clerk', status: 'later', child: { conversation, run } }],
  })
  await lose('family')
  const decision = await post(`/conversations/${conversation}/runs/${run}/calls/${approval.id}`, {
    decision: 'approve',
  })
  expect(decision.ok).toBe(true)
  await eventually(async () => expect(await read(path)).toMatchObject({ status: 'completed', answer: 'Done.' }))
  await lose(conversation)
  const record = await read(path)
  expect(record).toMatchObject({
    usage: { inputTokens: 80, outputTokens: 20 },
    calls: [{ tool: 'clerk', ok: true, content: [{ text: 'Paid.' }] }],
  })
  const child = await read(`/conversations/${conversation}/runs/${run}`)
  expect(child).toMatchObject({ status: 'completed', calls: [{ content: [{ text: `paid ${child.calls[0].id}` }] }] })
  expect(await read(`/conversations/${conversation}/runs`)).toHaveLength(1)
  const events = await readEvents(await fetch(new URL(`${path}/events`, url)))
  expect(events.filter(({ type }) => type === 'call.settled')).toHaveLength(1)
  const tokens = ({ usage: rows }: any): number => rows.reduce((sum: number, row: any) => sum + row.inputTokens, 0)
  await eventually(async () => expect(tokens(await read('/usage?by=model')) - tokens(before)).toBe(80))
  expect(await read('/approvals')).toEqual([])
})
