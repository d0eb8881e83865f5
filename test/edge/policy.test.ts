import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test as anyTest } from 'vitest'
import { chunksOf, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { hasSamples, type Stage, startStage } from './stage.ts'

/** These tests are about sample tools, and are skipped when one of them is deleted. */
const test = anyTest.runIf(hasSamples('clock', 'mail', 'web', 'customers', 'weather'))

/** What the model asks for next, by how many results this turn has. */
const PLAN = [
  ['readPage', { url: 'https://news.stand-in.example/moved' }],
  ['getCustomer', { id: 42 }],
  ['forecast', { place: 'Copenhagen' }],
] as const

let model: ModelServer
/** What the decision model answers. */
let judgement = {}
let stage: Stage
let host: Server
const keys: (string | undefined)[] = []

beforeAll(async () => {
  model = await startModelServer(({ path, body }) => {
    if (path === '/v1/systemone') return { body: { answers: { decision: { type: 'choice', ...judgement } } } }
    const { messages } = body
    const turn = messages.slice(messages.findLastIndex(({ role }) => role === 'user'))
    const [first] = turn.map(({ content }) => String(content))
    const plan = first === 'weather' ? PLAN.slice(2) : PLAN
    const next = plan[turn.filter(({ role }) => role === 'tool').length]
    if (!next) return { chunks: chunksOf({ text: 'Done.' }) }
    return { chunks: chunksOf({ calls: [{ tool: next[0], arguments: JSON.stringify(next[1]) }] }) }
  })
  host = createServer((request, response) => {
    keys.push(request.url)
    response.writeHead(200, { 'content-type': 'text/plain' }).end('there')
  })
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(host.address() as AddressInfo).port}`
  stage = await startStage(
    {
      AUTH: 'open',
      MODEL: 'openai/any',
      OPENAI_BASE_URL: model.baseUrl,
      DECISION_MODEL: 'systemone/nimble',
      SYSTEMONE_BASE_URL: model.baseUrl,
      TOOL_POLICY: JSON.stringify({
        sendMail: { timeoutMs: 5000 },
        forecast: { approval: 'decide' },
        '@TOOL_CLOCK': { scopes: ['time'] },
        '#nothing': { scopes: ['nobody'] },
        '#near': { hosts: [origin] },
        '#far': { hosts: ['api.example.com'] },
      }),
      HTTP_TOOL_HOSTS: JSON.stringify({ [origin]: [], 'api.example.com': [] }),
    },
    { samples: true },
  )
})
afterAll(async () => {
  await stage?.close()
  await model?.close()
  host?.close()
})

test('the policy of a deployment holds in workerd', async () => {
  const tools: any = await (await stage.ask('/tools')).json()
  expect(tools.find(({ name }: any) => name === 'sendMail')).toMatchObject({ timeoutMs: 5000, available: true })
  expect(tools.filter(({ place }: any) => place === 'TOOL_CLOCK')).toEqual([])
})

test('a stored tool reaches only those of the deployment’s hosts that all its policies name', async () => {
  const { port } = host.address() as AddressInfo
  const call = async (name: string, tags: string[]) => {
    const http = { method: 'GET', url: `http://127.0.0.1:${port}/${name}` }
    const json = { description: 'Asks.', inputSchema: { type: 'object' }, tags, http }
    expect((await stage.ask(`/tools/${name}`, { method: 'PUT', json })).status).toBe(201)
    return (await stage.ask(`/tools/${name}/call`, { json: { arguments: {} } })).json()
  }
  expect(await call('free', [])).toMatchObject({ ok: true })
  expect(await call('near', ['near'])).toMatchObject({ ok: true })
  const refusal = { ok: false, error: { code: 'tool_misconfigured' } }
  expect(await call('far', ['far'])).toMatchObject(refusal)
  expect(await call('neither', ['near', 'far'])).toMatchObject(refusal)
  expect(keys).toEqual(['/free', '/near'])
})

test('untrusted and private data cannot leave together without approval, in this turn or in a later one', async () => {
  await stage.ask('/conversations', { json: { id: 'leak' } })
  const ask = async (input: string) =>
    (await (await stage.ask('/conversations/leak/runs', { json: { input } })).json()) as any
  const waiting = await ask('all')
  expect(waiting.status).toBe('waiting')
  expect(waiting.calls.map(({ tool, status }: any) => [tool, status])).toEqual([
    ['readPage', 'settled'],
    ['getCustomer', 'settled'],
    ['forecast', 'approval'],
  ])
  const toolMessage = model.calls.at(-1)?.body.messages.find(({ role }) => role === 'tool')
  expect(JSON.parse(String(toolMessage?.content))).toMatchObject({ tool: 'readPage', data: expect.any(String) })
  const [, , call] = waiting.calls
  const decided = await stage.ask(`/conversations/leak/runs/${waiting.id}/calls/${call.id}`, {
    json: { decision: 'approve' },
  })
  expect(decided.ok).toBe(true)
  await stage.ask(`/conversations/leak/runs/${waiting.id}/events`).then((events) => events.text())
  expect(await ask('weather')).toMatchObject({ status: 'waiting', calls: [{ tool: 'forecast', status: 'approval' }] })
})

test('a decision model approves a call in a person’s place where it is sure, over HTTP from workerd', async () => {
  const shares = { not_requested: 0, harmful: 0, unclear: 0 }
  const run = async (id: string) => {
    await stage.ask('/conversations', { json: { id } })
    return (await (await stage.ask(`/conversations/${id}/runs`, { json: { input: 'weather' } })).json()) as any
  }
  judgement = { choice: 'go_ahead', probabilities: { ...shares, go_ahead: 1 } }
  const before = model.calls.length
  expect(await run('sure')).toMatchObject({
    status: 'completed',
    calls: [{ tool: 'forecast', ok: true, judgement: { ok: true, model: 'systemone/nimble' } }],
  })
  const question = model.calls.slice(before).find(({ path }) => path === '/v1/systemone')
  expect(question?.body).toMatchObject({
    model: 'nimble',
    state: { user: ['weather'], tool: { name: 'forecast' }, arguments: { place: 'Copenhagen' } },
  })
  judgement = { choice: 'unclear', probabilities: { ...shares, go_ahead: 0.2, unclear: 0.8 } }
  expect(await run('unsure')).toMatchObject({
    status: 'waiting',
    calls: [{ status: 'approval', judgement: { ok: false, answer: 'unclear' } }],
  })
})
