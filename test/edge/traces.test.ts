import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestHarness, type TestHarness } from 'wrangler'
import { chunksOf, type ModelReply, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { eventually } from '../fixtures/eventually.ts'

/** The spans of an edge, as an OTLP receiver gets them: of runs with a tool Worker, across the loss of their object. */
let model: ModelServer
let collector: Server
let harness: TestHarness
let url: URL
let replies: ModelReply[]
let received: { headers: Record<string, unknown>; body: any }[]

beforeAll(async () => {
  model = await startModelServer(() => replies.shift() ?? { status: 500, body: 'no more script' })
  collector = createServer(async (request, response) => {
    received.push({ headers: { url: request.url, ...request.headers }, body: JSON.parse(await text(request)) })
    response.end('{}')
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  const { port } = collector.address() as AddressInfo
  harness = createTestHarness({
    root: new URL('../..', import.meta.url).pathname,
    workers: [
      {
        configPath: 'test/fixtures/lost-edge/wrangler.toml',
        vars: {
          MODEL: 'openai/test',
          OPENAI_BASE_URL: model.baseUrl,
          OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
          OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc,x-team=edge',
        },
      },
      { configPath: 'test/fixtures/rogue/wrangler.toml' },
      { configPath: 'test/fixtures/later-tools/wrangler.toml' },
    ],
  })
  url = (await harness.listen()).url
})
afterAll(async () => {
  await harness?.close()
  await model?.close()
  collector?.close()
})
beforeEach(() => {
  received = []
})

const say = (answer: string): ModelReply => ({ chunks: chunksOf({ text: answer }) })
const askFor = (tool: string): ModelReply => ({ chunks: chunksOf({ calls: [{ tool, arguments: '{}' }] }) })

function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  const type = { 'content-type': 'application/json' }
  return fetch(new URL(path, url), { method: 'POST', headers: { ...type, ...headers }, body: JSON.stringify(body) })
}

/** The spans that have arrived, each with its parent's name. */
function spansReceived() {
  const all = received.flatMap(({ body }) => body.resourceSpans[0].scopeSpans[0].spans as any[])
  return all.map(({ name, spanId, parentSpanId, traceId, status, attributes, links = [] }) => ({
    parentId: parentSpanId,
    links,
    name,
    parent: all.find((other) => other.spanId === parentSpanId)?.name ?? parentSpanId,
    id: spanId,
    trace: traceId,
    error: status.message,
    at: Object.fromEntries(attributes.map(({ key, value }: any) => [key, Object.values(value)[0]])),
  }))
}

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const CALLER = 'b7ad6b7169203331'

test('a run that another instance resumes is one trace of its caller, and each span arrives once', async () => {
  await post('/conversations', { id: 'traced' })
  const hanging: ModelReply = { chunks: [...chunksOf({ text: 'One' }).slice(0, 2), new Promise(() => {})] }
  replies = [{ status: 503, body: 'busy' }, askFor('echoes'), hanging, say('Done.')]
  const calls = model.calls.length
  const headers = { traceparent: `00-${TRACE}-${CALLER}-01`, accept: 'text/event-stream' }
  const response = await post('/conversations/traced/runs', { input: 'Go', tools: ['echoes'] }, headers)
  let stream = ''
  let isLost = false
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    stream += chunk
    if (isLost || !stream.includes('event: text.delta')) continue
    isLost = true
    expect((await fetch(new URL('/conversations/traced/export', url))).status).toBe(200)
  }
  expect(stream).toContain('"answer":"Done."')
  await eventually(() => expect(received).toHaveLength(1))

  const spans = spansReceived()
  expect(received[0]?.headers).toMatchObject({ url: '/v1/traces', authorization: 'Bearer abc', 'x-team': 'edge' })
  expect(spans.map(({ name, parent, error }) => [name, parent, error])).toEqual([
    ['chat test', 'step 1', undefined],
    ['execute_tool echoes', 'step 1', undefined],
    ['step 1', 'invoke_agent', undefined],
    ['chat test', 'step 2', 'interrupted'],
    ['chat test', 'step 2', undefined],
    ['step 2', 'invoke_agent', undefined],
    ['invoke_agent', CALLER, undefined],
  ])
  expect(new Set(spans.map(({ trace }) => trace))).toEqual(new Set([TRACE]))
  expect(new Set(spans.map(({ id }) => id)).size).toBe(spans.length)
  expect(JSON.stringify(received[0]?.body)).not.toContain('Done.')

  // Models and tools were told which span asked them.
  const [first, tool] = spans
  const traceparents = model.calls.slice(calls).map((call) => call.headers['traceparent'])
  const chats = spans.filter(({ name }) => name === 'chat test').map(({ id }) => `00-${TRACE}-${id}-01`)
  expect(traceparents).toEqual(expect.arrayContaining([`00-${TRACE}-${first?.id}-01`, chats.at(-1)]))
  expect(traceparents.filter((each) => !chats.includes(String(each)))).toEqual([])
  expect(stream.replaceAll('\\', '')).toContain(`"traceparent":"00-${TRACE}-${tool?.id}-01"`)
})

test('a run is exported when it begins to wait, and what follows is linked to it, each span once although the object is lost', async () => {
  await post('/conversations', { id: 'waiting' })
  replies = [askFor('pays'), say('Paid.')]
  const headers = { traceparent: `00-${TRACE}-${CALLER}-01`, accept: 'application/json' }
  const reply = await post('/conversations/waiting/runs', { input: 'Pay', tools: ['pays'] }, headers)
  const { id: run, calls } = (await reply.json()) as { id: string; calls: { id: string }[] }
  await eventually(() => expect(received).toHaveLength(1))
  const [chat, step, root] = spansReceived()
  expect([chat, step, root].map((span) => [span?.name, span?.parent, span?.error, span?.at['edgecall.wait']])).toEqual([
    ['chat test', 'step 1', undefined, undefined],
    ['step 1', 'invoke_agent', undefined, undefined],
    ['invoke_agent', CALLER, undefined, 'approval'],
  ])

  expect((await fetch(new URL('/conversations/waiting/export', url))).status).toBe(200)
  const call = `/conversations/waiting/runs/${run}/calls/${calls[0]?.id}`
  expect((await post(call, { decision: 'approve' })).status).toBe(200)
  await eventually(() => expect(received).toHaveLength(2))
  const later = spansReceived().slice(3)
  expect(later.map(({ name, parent, links }) => [name, parent, links])).toEqual([
    ['execute_tool pays', 'step 1', []],
    ['step 1', 'invoke_agent', [{ traceId: TRACE, spanId: step?.id }]],
    ['chat test', 'step 2', []],
    ['step 2', 'invoke_agent', []],
    ['invoke_agent', CALLER, [{ traceId: TRACE, spanId: root?.id }]],
  ])
  const all = spansReceived()
  expect(new Set(all.map(({ id }) => id)).size).toBe(8)
  expect(new Set(all.map(({ trace }) => trace))).toEqual(new Set([TRACE]))
  expect(all[3]?.parentId).toBe(all[4]?.id)
  expect(all[4]?.parentId).toBe(all[7]?.id)
})

test('a run that is not stored begins a trace of its own, which its spans and its requests share', async () => {
  replies = [askFor('throws'), say('Done.')]
  expect(await (await post('/runs', { input: 'Go', tools: ['throws'] })).json()).toMatchObject({ answer: 'Done.' })
  await eventually(() => expect(received).toHaveLength(1))
  const spans = spansReceived()
  expect(spans.map(({ name, parent, error }) => [name, parent, error])).toEqual([
    ['chat test', 'step 1', undefined],
    ['execute_tool throws', 'step 1', 'tool_failed'],
    ['step 1', 'invoke_agent', undefined],
    ['chat test', 'step 2', undefined],
    ['step 2', 'invoke_agent', undefined],
    ['invoke_agent', undefined, undefined],
  ])
  expect(model.calls.at(-1)?.headers['traceparent']).toBe(`00-${spans[0]?.trace}-${spans[3]?.id}-01`)
})

test('a run of a caller that does not sample its trace is not exported, and passes on that it is not', async () => {
  replies = [say('Quiet.'), say('Loud.')]
  await (await post('/runs', { input: 'Go', tools: [] }, { traceparent: `00-${TRACE}-${CALLER}-00` })).json()
  expect(model.calls.at(-1)?.headers['traceparent']).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`))
  await (await post('/runs', { input: 'Go', tools: [] })).json()
  await eventually(() => expect(received).toHaveLength(1))
  expect(spansReceived().map(({ trace }) => trace)).not.toContain(TRACE)
})
