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
let stage: Stage
let host: Server
const keys: (string | undefined)[] = []

beforeAll(async () => {
  model = await startModelServer(({ body: { messages } }) => {
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
      TOOL_POLICY: JSON.stringify({
        sendMail: { timeoutMs: 5000 },
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
