import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { INDEX_KEY } from '../../src/host/stored/copy.ts'
import { readTexts, NO_TEXTS, TEXTS_KEY } from '../../src/host/stored/texts.ts'
import { chunksOf, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { readEvents, type Stage, startStage } from './stage.ts'
import { eventually } from '../fixtures/eventually.ts'

const QUESTION = "What's the weather in Amsterdam?"
const STORED = 60

let model: ModelServer
let stage: Stage

/** A model that searches, calls what it found, and says what that said. */
beforeAll(async () => {
  model = await startModelServer(({ body: { messages, tools = [] } }) => {
    const last = messages.at(-1)
    if (last?.['role'] === 'user') {
      return { chunks: chunksOf({ calls: [{ tool: 'tool_search', arguments: '{"query":"wether in a city"}' }] }) }
    }
    const weatherTool = tools.find(({ function: { name } }) => name === 'cityWeather')
    const isCalled = String(last?.['content']).includes('degrees')
    if (!weatherTool || isCalled) return { chunks: chunksOf({ text: `It said: ${String(last?.['content'])}` }) }
    return { chunks: chunksOf({ calls: [{ tool: 'cityWeather', arguments: '{"city":"Amsterdam"}' }] }) }
  })
  stage = await startStage({ AUTH: 'open', MODEL: 'openai/test', OPENAI_BASE_URL: model.baseUrl })
  const put = (name: string, description: string, property: string) => {
    const inputSchema = { type: 'object', properties: { [property]: { type: 'string' } } }
    const json = { description, inputSchema, static: { text: '18 degrees' } }
    return stage.ask(`/tools/${name}`, { method: 'PUT', json })
  }
  for (let index = 0; index < STORED; index++) await put(`ledger${index}`, `Posts ledger entry ${index}.`, 'amount')
  await put('cityWeather', 'Tells the weather of a city.', 'city')
})
afterAll(async () => {
  await stage?.close()
  await model?.close()
})

const offered = () => model.calls.map(({ body: { tools = [] } }) => tools.map(({ function: { name } }) => name))

describe('stored tools that are not offered are found', () => {
  const resultsOf = async () => {
    const [first, second] = offered().slice(-3)
    expect(first).toContain('tool_search')
    expect(first?.filter((name) => /^(ledger|cityWeather)/.test(name))).toEqual([])
    expect(second?.toSorted()).toEqual([...new Set([...(first ?? []), 'cityWeather'])].toSorted())
  }

  test('in a run without a conversation', async () => {
    const run = (await (await stage.ask('/runs', { json: { input: QUESTION } })).json()) as Record<string, unknown>
    expect(run['answer']).toBe('It said: 18 degrees')
    await resultsOf()
  })

  test('in a streamed run of a conversation, whose next turn has the tool at once', async () => {
    const ask = async (input: string) => {
      const headers = { accept: 'text/event-stream' }
      const events = await readEvents(await stage.ask('/conversations/amsterdam/runs', { headers, json: { input } }))
      return events.at(-1)
    }
    await stage.ask('/conversations', { json: { id: 'amsterdam' } })
    expect(await ask(QUESTION)).toMatchObject({ type: 'run.finished', answer: 'It said: 18 degrees' })
    await resultsOf()
    expect(await ask('And again?')).toMatchObject({ type: 'run.finished', answer: 'It said: 18 degrees' })
    expect(offered().at(-3)).toContain('cityWeather')
  })

  test('except by a request that names its tools', async () => {
    const json = { input: QUESTION, tools: ['squareRoot'] }
    const run = (await (await stage.ask('/runs', { json })).json()) as Record<string, any>
    expect(run['calls'][0]).toMatchObject({ tool: 'tool_search', ok: false, error: { code: 'unknown_tool' } })
    expect(offered().at(-1)).toEqual(['squareRoot'])
  })

  test('over HTTP, by relevance', async () => {
    const response = await stage.ask('/tools?query=wether+city&limit=1')
    expect(await response.json()).toMatchObject([{ name: 'cityWeather', source: 'kv' }])
  })
})

test('the search texts of stored tools are written to KV beside the index', async () => {
  const { TOOLS } = await stage.server.getWorker<{ TOOLS: KVNamespace }>('edgecall').getEnv()
  await eventually(async () => {
    const { tools } = readTexts((await TOOLS.get(TEXTS_KEY)) ?? '', NO_TEXTS)
    expect(tools).toHaveLength(STORED + 1)
  })
  expect(await TOOLS.get(INDEX_KEY)).toContain(`"size":${STORED + 1}`)
})
