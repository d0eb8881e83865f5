import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestHarness, type TestHarness } from 'wrangler'
import { chunksOf, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'

let model: ModelServer
let server: TestHarness
let url: URL

beforeAll(async () => {
  model = await startModelServer(({ body }) => {
    const last: any = body.messages.at(-1)
    if (last.role === 'tool') return { chunks: chunksOf({ text: `It is ${last.content}` }) }
    return { chunks: chunksOf({ calls: [{ tool: 'root', arguments: '{"number":9}' }] }) }
  })
  server = createTestHarness({
    root: new URL('../..', import.meta.url).pathname,
    workers: [
      {
        configPath: 'test/fixtures/dispatch-edge/wrangler.toml',
        vars: {
          MODEL: 'openai/test',
          OPENAI_BASE_URL: model.baseUrl,
          TOOL_POLICY: JSON.stringify({ held: { approval: 'always' } }),
          ...withKeys(
            apiKey('operator', { tenant: 'operator', scopes: ['chat', 'tools:read', 'tools:admin'] }),
            apiKey('acme', { scopes: ['chat', 'tools:read', 'tools:write'] }),
          ),
        },
      },
      { configPath: 'test/fixtures/dispatch-namespace/wrangler.toml' },
      { configPath: 'test/fixtures/basic-calculator/wrangler.toml' },
      { configPath: 'tools/definitions/wrangler.toml' },
    ],
  })
  url = (await server.listen()).url
})
afterAll(async () => {
  await server?.close()
  await model?.close()
})

async function send(method: string, path: string, key: string, json?: object): Promise<[number, any]> {
  const response = await fetch(new URL(path, url), {
    method,
    headers: { 'content-type': 'application/json', ...bearer(key) },
    ...(json && { body: JSON.stringify(json) }),
  })
  const body = await response.text()
  return [response.status, body === '' ? undefined : JSON.parse(body)]
}

const ROOT = { worker: { script: 'calculator', tool: 'squareRoot' } }

test('a tool of a Worker in a dispatch namespace is added, called, bound by policies and removed at run time', async () => {
  expect(await send('PUT', '/tools/root', 'operator', { ...ROOT, default: true })).toMatchObject([
    201,
    { name: 'root' },
  ])
  expect(await send('PUT', '/tools/held', 'operator', ROOT)).toMatchObject([201, { name: 'held' }])
  expect(await send('POST', '/tools/root/call', 'acme', { arguments: { number: 16 } })).toMatchObject([
    200,
    { ok: true, structured: { value: 4 } },
  ])
  expect(await send('GET', '/tools/held', 'acme')).toMatchObject([200, { approval: 'always', source: 'kv' }])
  const chat = { messages: [{ role: 'user', content: 'What is the square root of 9?' }] }
  expect(await send('POST', '/v1/chat/completions', 'acme', chat)).toMatchObject([
    200,
    { choices: [{ message: { content: expect.stringContaining('"data":"{\\"value\\":3}"') } }] },
  ])
  expect(await send('DELETE', '/tools/root', 'operator')).toEqual([204, undefined])
  expect(await send('POST', '/tools/root/call', 'acme', { arguments: { number: 16 } })).toMatchObject([404, {}])
})

test('a tenant stores tools of its own scripts, and of no others', async () => {
  const own = { worker: { script: 'acme--calculator', tool: 'squareRoot' } }
  expect(await send('PUT', '/tools/mine', 'acme', own)).toMatchObject([201, { name: 'mine' }])
  expect(await send('POST', '/tools/mine/call', 'acme', { arguments: { number: 4 } })).toMatchObject([
    200,
    { ok: true, structured: { value: 2 } },
  ])
  expect(await send('GET', '/tools/mine', 'operator')).toMatchObject([404, {}])
  expect(await send('PUT', '/tools/other', 'acme', ROOT)).toMatchObject([
    422,
    { code: 'invalid_definition', issues: [{ path: 'worker.script' }] },
  ])
  expect(await send('PUT', '/tools/none', 'operator', { worker: { script: 'none' } })).toMatchObject([
    422,
    {
      detail:
        'The definition was not stored: worker.script: expected a tool Worker, received "none": the dispatch namespace has none',
    },
  ])
})
