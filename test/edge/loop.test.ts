import { afterAll, beforeAll, beforeEach, describe, expect, test as anyTest } from 'vitest'
import { createTestHarness, type TestHarness } from 'wrangler'
import { chunksOf, type ModelReply, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { hasSamples, readEvents } from './stage.ts'

/** These tests are about sample tools, and are skipped when one of them is deleted. */
const test = anyTest.runIf(hasSamples('bookings', 'weather'))

/** What an application adds in its setup (test/fixtures/shaped-edge), over HTTP, in conversations, on real workerd. */
let model: ModelServer
let harness: TestHarness
let url: URL
let reply: (body: Record<string, any>) => ModelReply | Promise<ModelReply>
/** What the model was sent. */
let requests: Record<string, any>[]

beforeAll(async () => {
  model = await startModelServer(({ body }) => {
    requests.push(body)
    return reply(body)
  })
  harness = createTestHarness({
    root: new URL('../..', import.meta.url).pathname,
    workers: [
      {
        configPath: 'test/fixtures/shaped-edge/wrangler.toml',
        vars: { MODEL: 'openai/test', OPENAI_BASE_URL: model.baseUrl },
      },
      { configPath: 'test/fixtures/shaped-tools/wrangler.toml' },
      ...['bookings', 'weather', 'definitions'].map((name) => ({ configPath: `tools/${name}/wrangler.toml` })),
    ],
  })
  url = (await harness.listen()).url
})
afterAll(async () => {
  await harness?.close()
  await model?.close()
})
beforeEach(() => {
  requests = []
})

type Call = readonly [tool: string, args?: object]

const say = (text: string): ModelReply => ({ chunks: chunksOf({ text }) })
const ask = (...calls: readonly Call[]): ModelReply => ({
  chunks: chunksOf({ calls: calls.map(([tool, args = {}]) => ({ tool, arguments: JSON.stringify(args) })) }),
})
/** One reply after the other. */
function inTurn(...replies: readonly (ModelReply | (() => ModelReply))[]): typeof reply {
  let index = 0
  return () => {
    const next = replies[index++] ?? say('The script has run out.')
    return typeof next === 'function' ? next() : next
  }
}

function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(new URL(path, url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

const json = async (response: Promise<Response>): Promise<any> => (await response).json()
const conversation = async (): Promise<string> => (await json(post('/conversations', {}))).id
const runIn = (id: string, body: object) => json(post(`/conversations/${id}/runs`, body))
const eventsOf = async (id: string, run: string) =>
  readEvents(await fetch(new URL(`/conversations/${id}/runs/${run}/events`, url)))
const evict = (id: string) =>
  harness.getWorker('shaped-edge').evictDurableObject('Conversation', { name: `v1/local/${id}` })

const toolsOf = (body: any) => (body?.tools ?? []).map((tool: any) => tool.function.name)
/** What the model read of the last calls. */
const resultsIn = (body: any) =>
  body.messages.flatMap((message: any) => (message.role === 'tool' ? [message.content] : []))

/** A day so many days from now, as YYYY-MM-DD. */
const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10)
const stay = (guest: string, nights = 2) => ({ guest, room: 'single', checkIn: day(40), nights })

async function bookingOf(number: string): Promise<any> {
  return (await json(post('/tools/findBooking/call', { arguments: { number } }))).structured
}

describe('a hook', () => {
  test('can refuse a request with a reason for the caller, and nothing is stored', async () => {
    const id = await conversation()
    reply = () => say('never')
    const response = await post(`/conversations/${id}/runs`, { input: 'Is the other hotel cheaper?' })
    expect([response.status, await response.json()]).toMatchObject([
      403,
      { code: 'refused', detail: 'We do not talk about other hotels.' },
    ])
    const stored = ['runs', 'messages'].map((what) => json(fetch(new URL(`/conversations/${id}/${what}`, url))))
    expect([await Promise.all(stored), requests]).toEqual([[[], []], []])
  })

  test('can change the tools of a step, and added tools are journalled and survive the object', async () => {
    const id = await conversation()
    reply = inTurn(
      ask(['findBooking', { number: 'B-12345' }]),
      ask(['bookRoom', stay('Ada Okafor', 9)]),
      say('A room is booked.'),
    )
    const tools = ['findBooking', 'forecast']
    const waiting = await runIn(id, { input: 'Book me nine nights.', tools, context: { desk: 'booking' } })
    expect(waiting).toMatchObject({ status: 'waiting', calls: [{ ok: true }, { status: 'approval' }] })
    await evict(id)
    const [, { id: call }] = waiting.calls
    await post(`/conversations/${id}/runs/${waiting.id}/calls/${call}`, { decision: 'approve' })
    const events = await eventsOf(id, waiting.id)
    expect(requests.map(toolsOf)).toEqual([['findBooking'], [...tools, 'bookRoom'], [...tools, 'bookRoom']])
    expect(events.filter(({ type }) => type === 'tools.added')).toMatchObject([{ tools: [{ name: 'bookRoom' }] }])
    expect(events.at(-1)).toMatchObject({ type: 'run.finished', answer: 'A room is booked.' })
    const { calls } = await json(fetch(new URL(`/conversations/${id}/runs/${waiting.id}`, url)))
    expect(calls[1]).toMatchObject({ ok: true, structured: { guest: 'Ada Okafor', state: 'confirmed' } })
  })
})

test('approval may depend on arguments: a short stay is booked at once, a long one waits for a person', async () => {
  const id = await conversation()
  reply = inTurn(ask(['bookRoom', stay('Short Stay', 7)], ['bookRoom', stay('Long Stay', 8)]), say('Both are booked.'))
  const waiting = await runIn(id, { input: 'Book both.', tools: ['bookRoom'] })
  expect(waiting).toMatchObject({ status: 'waiting', calls: [{ ok: true }, { status: 'approval' }] })
  const [short, long] = waiting.calls
  expect(await bookingOf(short.structured.number)).toMatchObject({ guest: 'Short Stay', state: 'confirmed' })
  await post(`/conversations/${id}/runs/${waiting.id}/calls/${long.id}`, { decision: 'approve' })
  expect((await eventsOf(id, waiting.id)).at(-1)).toMatchObject({ answer: 'Both are booked.' })
  expect(resultsIn(requests.at(-1))).toEqual([
    expect.stringContaining('"guest":"Short Stay"'),
    expect.stringContaining('"guest":"Long Stay"'),
  ])
})

test('a failed call undoes an earlier booking and tells the model', async () => {
  const id = await conversation()
  reply = inTurn(
    ask(['bookRoom', stay('Noor Haddad')]),
    ask(['forecast', { place: 'Stormbreak' }]),
    say('Nothing is booked.'),
  )
  const run = await runIn(id, { input: 'Book, and tell me the weather.', tools: ['bookRoom', 'forecast'] })
  expect(run).toMatchObject({
    answer: 'Nothing is booked.',
    calls: [
      { ok: true, undone: true },
      { ok: false, error: { code: 'weather_unavailable' } },
    ],
  })
  const [, message] = resultsIn(requests.at(-1))
  expect(message).toMatch(
    /^Nobody can tell the weather now; do without\.\nbookRoom\(\{.*\}\) was undone because of it\.$/,
  )
  expect(await bookingOf(run.calls[0].structured.number)).toMatchObject({ guest: 'Noor Haddad', state: 'cancelled' })
})

test('a read-only call starts while the model is still streaming', async () => {
  const id = await conversation()
  const settled = Promise.withResolvers<undefined>()
  const [head, ...tail] = chunksOf({
    calls: ['Oslo', 'Lima'].map((place) => ({ tool: 'forecast', arguments: JSON.stringify({ place }) })),
  })
  // The second call is not begun before the first has come to its end.
  const chunks = [head, ...tail.slice(0, 4), settled.promise, ...tail.slice(4)]
  reply = inTurn({ chunks }, say('Mild.'))
  const body = { input: 'How is the weather?', tools: ['forecast'], eager: true }
  const response = await post(`/conversations/${id}/runs`, body, { accept: 'text/event-stream' })
  const types: string[] = []
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
    types.push(
      ...[...text.matchAll(/^event: (call\.settled|step\.answered|run\.finished)$/gm)].map(([, type]) => type!),
    )
    if (types.includes('call.settled')) settled.resolve(undefined)
  }
  expect(types.slice(0, 3)).toEqual(['call.settled', 'step.answered', 'call.settled'])
  expect(requests).toHaveLength(2)
  expect(resultsIn(requests[1])).toEqual([expect.stringContaining('Oslo'), expect.stringContaining('Lima')])
})

test('a result that is too large is truncated, and its rest is read in the same run and in the next one', async () => {
  const id = await conversation()
  const fullText = Array.from({ length: 500 }, (_, index) => `line ${index}`).join('\n')
  const readOn = (offset: number) => () => {
    const [, call] = /read_result reads on with the id "([^"]+)"/.exec(resultsIn(requests.at(-1))[0]) ?? []
    return ask(['read_result', { id: call, offset }])
  }
  const body = { tools: ['recite'], limits: { resultBytes: 1000 } }
  reply = inTurn(ask(['recite', { lines: 500 }]), readOn(1000), say('I read on.'))
  await runIn(id, { input: 'Recite.', ...body })
  expect(requests.map(toolsOf)).toEqual([['recite'], ['recite', 'read_result'], ['recite', 'read_result']])
  const [cut, part] = resultsIn(requests[2])
  expect(cut).toMatch(/\n\[cut: 1000 of \d+ bytes shown; read_result reads on with the id "[^"]+" from offset 1000\]$/)
  expect(cut.slice(0, 1000)).toBe(fullText.slice(0, 1000))
  expect(part).toBe(
    `${fullText.slice(1000, 1800)}\n[1000 to 1800 of ${fullText.length} characters; read on from offset 1800]`,
  )

  await evict(id)
  requests = []
  reply = inTurn(readOn(4300), say('That was all.'))
  const next = await runIn(id, { input: 'And the end?', ...body })
  expect(next).toMatchObject({ answer: 'That was all.', calls: [{ tool: 'read_result', ok: true }] })
  expect(resultsIn(requests[1]).at(-1)).toBe(
    `${fullText.slice(4300)}\n[4300 to ${fullText.length} of ${fullText.length} characters]`,
  )
})

test('a structured answer is validated by the definitions Worker and corrected by the model', async () => {
  const id = await conversation()
  const schema = { type: 'object', properties: { nights: { type: 'integer', minimum: 1 } }, required: ['nights'] }
  reply = inTurn(say('{"nights":"two"}'), say('{"nights":2}'))
  const run = await runIn(id, {
    input: 'How many nights?',
    responseFormat: { type: 'json_schema', name: 'stay', schema },
  })
  expect(run).toMatchObject({ status: 'completed', answer: '{"nights":2}', steps: 1 })
  expect(requests[1]!['messages'].slice(1)).toMatchObject([
    { role: 'assistant', content: '{"nights":"two"}' },
    { role: 'user', content: expect.stringMatching(/JSON Schema.*\n- nights: /) },
  ])
  const types = (await eventsOf(id, run.id)).map(({ type }) => type)
  expect(types).toEqual(expect.arrayContaining(['answer.rejected', 'step.restarted']))
  const messages = await json(fetch(new URL(`/conversations/${id}/messages`, url)))
  expect(messages.map((each: any) => each.message.content)).toEqual(['How many nights?', '{"nights":2}'])
})

test('agents of the setup answer through a router unchanged, and their answers are stored', async () => {
  const id = await conversation()
  const question = 'I broke my leg what should I do'
  const advice = 'Call 112 now.\n\n- Do not move the leg. '
  reply = inTurn(ask(['router', { question }]), ask(['medicalExpert', { question }]), say(advice), say('An ambulance.'))
  const run = await runIn(id, { input: question, tools: ['router'] })
  expect(run).toMatchObject({
    finish: 'return_direct',
    answer: advice,
    steps: 1,
    calls: [{ tool: 'router', ok: true }],
  })
  expect(requests.map(toolsOf)).toEqual([['router'], ['legalExpert', 'medicalExpert', 'technicalExpert'], []])
  await runIn(id, { input: 'Whom do I call?', tools: [] })
  expect(requests.at(-1)!['messages'].slice(-2)).toEqual([
    { role: 'assistant', content: advice },
    { role: 'user', content: 'Whom do I call?' },
  ])
})

test('over RPC a tool maps its errors, can fail the run, and receives the history', async () => {
  const id = await conversation()
  const tools = ['charge', 'recall']
  reply = inTurn(
    ask(['charge', { card: 'declined' }], ['charge', { card: 'unknown' }], ['recall']),
    ask(['charge', { card: 'stolen' }]),
  )
  const run = await runIn(id, { input: 'Charge my card.', tools })
  expect(run).toMatchObject({ status: 502, code: 'card_stolen', detail: 'This card is stolen.' })
  const [declined, unknown, recalled] = resultsIn(requests[1])
  expect([declined, unknown]).toEqual(['The card was declined; ask for another.', 'The tool "charge" failed.'])
  expect(JSON.parse(recalled)).toEqual([
    { role: 'user', content: 'Charge my card.' },
    { role: 'assistant', content: '' },
  ])

  reply = inTurn(ask(['recall']), say('You had a card.'))
  requests = []
  await runIn(id, { input: 'What did I want?', tools })
  const roles = JSON.parse(resultsIn(requests[1]).at(-1)).map(({ role }: { role: string }) => role)
  expect(roles.slice(0, 2)).toEqual(['user', 'assistant'])
  expect(roles.slice(-2)).toEqual(['user', 'assistant'])
})
