import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chunksOf, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { readEvents, type Stage, startStage } from './stage.ts'

/** The whole way of a search where `TOOL_SEARCH` is `on`: the model is told of nothing but the search at first. */
const QUESTION = "What's the weather in Amsterdam?"
const STREAMED = { accept: 'text/event-stream' }

/** A stored tool, which is not on offer by itself. */
const TIDES = {
  description: 'Tells when the tide is high in a harbour.',
  inputSchema: { type: 'object', properties: { harbour: { type: 'string' } }, required: ['harbour'] },
  static: { text: 'High at 14:20.' },
}

/** What the model would call, were it on offer. */
const WANTED: Record<string, { readonly query: string; readonly arguments: string }> = {
  forecast: { query: 'weather of a place', arguments: '{"place":"Amsterdam"}' },
  tideTable: { query: 'high tide at sea', arguments: '{"harbour":"Hoek van Holland"}' },
}

let model: ModelServer
let stage: Stage
/** How many requests the model had got when the test began. */
let requestCount = 0

/** A model that calls what it wants where that is on offer, else searches once, and says what it read last. */
beforeAll(async () => {
  model = await startModelServer(({ body: { messages, tools = [] } }) => {
    const turn = messages.slice(messages.findLastIndex(({ role }) => role === 'user'))
    if (turn.length === 1 && String(turn[0]?.['content']).includes('all at once')) {
      const queries = ['weather of a place', 'square root of a number', 'zzyzx']
      const calls = queries.map((query) => ({
        tool: 'tool_search',
        arguments: JSON.stringify({ query, maxResults: 1 }),
      }))
      return { chunks: chunksOf({ calls }) }
    }
    const wanted = String(turn[0]?.['content']).includes('tide') ? 'tideTable' : 'forecast'
    const names = turn.flatMap((message) => (message['tool_calls'] ?? []) as { function: { name: string } }[])
    const isCalled = (name: string) => names.some((call) => call.function.name === name)
    const { query, arguments: args } = WANTED[wanted] ?? {}
    const isOffered = tools.some(({ function: { name } }) => name === wanted)
    if (isOffered && !isCalled(wanted))
      return { chunks: chunksOf({ calls: [{ tool: wanted, arguments: args ?? '' }] }) }
    if (!isOffered && !isCalled('tool_search')) {
      const calls = [{ tool: 'tool_search', arguments: JSON.stringify({ query, maxResults: 1 }) }]
      return { chunks: chunksOf({ text: 'Let me look.', calls }) }
    }
    return { chunks: chunksOf({ text: isOffered ? 'Mild, 18 degrees.' : 'I found nothing.' }) }
  })
  const vars = { AUTH: 'open', MODEL: 'openai/test', OPENAI_BASE_URL: model.baseUrl, TOOL_SEARCH: 'on' }
  stage = await startStage(vars)
})
afterAll(async () => {
  await stage?.close()
  await model?.close()
})

/** What the model was told of in each step of this test. */
const offers = () =>
  model.calls.slice(requestCount).map(({ body: { tools = [] } }) => tools.map(({ function: { name } }) => name))

async function events(path: string, json: object): Promise<Record<string, any>[]> {
  requestCount = model.calls.length
  return readEvents(await stage.ask(path, { headers: STREAMED, json }))
}

/** Whether the tools of each request of this test begin with those of the request before, byte for byte. */
function growsAtItsEnd(): boolean {
  const texts = model.calls.slice(requestCount).map(({ body: { tools } }) => JSON.stringify(tools).slice(0, -1))
  return texts.every((text, index) => text.startsWith(texts[index - 1] ?? ''))
}

const OFFERED_NAMES = ['tool_search', 'forecast']
const SEARCHED = [['tool_search'], OFFERED_NAMES, OFFERED_NAMES]
/** In a conversation, what is put aside to make room can be read. */
const IN_CONVERSATION = SEARCHED.map((names) => ['read_result', ...names])

describe('a question about the weather, for a model that is offered only the tool search,', () => {
  test('is answered in a run by searching for and calling the tool', async () => {
    requestCount = model.calls.length
    const run = (await (await stage.ask('/runs', { json: { input: QUESTION } })).json()) as Record<string, any>
    expect(offers()).toEqual(SEARCHED)
    expect(run).toMatchObject({ status: 'completed', answer: 'Mild, 18 degrees.', steps: 3 })
    expect(run['calls']).toMatchObject([
      { tool: 'tool_search', ok: true, structured: { tools: ['forecast'] } },
      { tool: 'forecast', ok: true, structured: { place: 'Amsterdam' } },
    ])
    expect(String(model.calls[requestCount]?.body.messages[0]?.['content'])).toContain('call tool_search first')
  })

  test('is answered in a stream with events of the search and of the tool in order', async () => {
    const runEvents = await events('/runs', { input: QUESTION })
    expect(offers()).toEqual(SEARCHED)
    const facts = runEvents.filter(({ type }) => !type.endsWith('.delta') && type !== 'call.progress')
    expect(facts.map(({ type, tool }) => (tool === undefined ? type : `${type} ${tool}`))).toEqual([
      'run.started',
      ...['tools.added', 'step.started', 'call.proposed tool_search', 'step.answered'],
      ...['call.started tool_search', 'call.settled tool_search', 'step.finished'],
      ...['step.started', 'call.proposed forecast', 'step.answered'],
      ...['call.started forecast', 'call.settled forecast', 'step.finished'],
      ...['step.started', 'step.answered', 'step.finished'],
      'run.finished',
    ])
    const steps = runEvents.filter(({ type }) => type === 'step.started')
    expect(steps.map(({ tools }) => tools)).toEqual(SEARCHED)
    expect(runEvents.at(-1)).toMatchObject({ status: 'completed', finish: 'stop', answer: 'Mild, 18 degrees.' })
  })

  test('is answered to an OpenAI client without showing the search or the call', async () => {
    const chunks = await events('/v1/chat/completions', {
      stream: true,
      messages: [{ role: 'user', content: QUESTION }],
    })
    expect(offers()).toEqual(SEARCHED)
    const choices = chunks.flatMap(({ choices = [] }) => choices)
    expect(choices.filter(({ delta }) => delta.tool_calls)).toEqual([])
    expect(choices.map(({ delta }) => delta.content ?? '').join('')).toBe('Let me look.\n\nMild, 18 degrees.')
    expect(choices.flatMap(({ finish_reason }) => finish_reason ?? [])).toEqual(['stop'])
    expect(chunks.at(-1)).toEqual({ done: true })
  })
})

test('tools found in a conversation are offered in its next turn, even after the object restarts', async () => {
  await stage.ask('/conversations', { json: { id: 'travel' } })
  await events('/conversations/travel/runs', { input: QUESTION })
  expect(offers()).toEqual(IN_CONVERSATION)
  await stage.server.getWorker('edgecall').evictDurableObject('Conversation', { name: 'v1/local/travel' })
  const runEvents = await events('/conversations/travel/runs', { input: 'And tomorrow?' })
  expect(offers()).toEqual(IN_CONVERSATION.slice(1))
  expect(runEvents.at(-1)).toMatchObject({ type: 'run.finished', answer: 'Mild, 18 degrees.' })
})

test('tools of several searches in one step add up, in their run and with those of later turns', async () => {
  await stage.ask('/conversations', { json: { id: 'several' } })
  const path = '/conversations/several/runs'
  const runEvents = await events(path, { input: 'Look for it all at once.' })
  const first = ['read_result', 'tool_search']
  const both = [...first, 'forecast', 'squareRoot']
  expect(offers()).toEqual([first, both, both])
  const searches = runEvents.filter(({ type, tool }) => type === 'call.settled' && tool === 'tool_search')
  expect(searches.map(({ structured }) => String(structured.tools)).toSorted()).toEqual(['', 'forecast', 'squareRoot'])
  await stage.ask('/tools/tideTable', { method: 'PUT', json: TIDES })
  await events(path, { input: 'When is high tide?' })
  expect(offers()).toEqual([both, [...both, 'tideTable'], [...both, 'tideTable']])
  requestCount -= 3
  expect(growsAtItsEnd()).toBe(true)
  await stage.ask('/tools/tideTable', { method: 'DELETE' })
})

test('a request that names its tools can find only these', async () => {
  const tools = ['squareRoot', 'currentTime']
  const runEvents = await events('/runs', { input: QUESTION, tools })
  expect(offers().flat().includes('forecast')).toBe(false)
  expect(offers()[0]).toEqual(['tool_search'])
  const searched = runEvents.find(({ type }) => type === 'call.settled')
  expect(tools).toEqual(expect.arrayContaining(searched?.['structured'].tools))
  expect(runEvents.at(-1)).toMatchObject({ type: 'run.finished', answer: 'I found nothing.' })
})

test('a stored definition that is not offered by default is found and called', async () => {
  const stored = await stage.ask('/tools/tideTable', {
    method: 'PUT',
    json: TIDES,
  })
  expect(stored.ok).toBe(true)
  const runEvents = await events('/runs', { input: 'When is high tide?' })
  expect(offers()).toEqual([['tool_search'], ['tool_search', 'tideTable'], ['tool_search', 'tideTable']])
  expect(runEvents.filter(({ type }) => type === 'call.settled')).toMatchObject([
    { tool: 'tool_search', ok: true },
    { tool: 'tideTable', ok: true, content: [{ type: 'text', text: 'High at 14:20.' }] },
  ])
})
