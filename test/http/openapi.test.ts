import { readFileSync } from 'node:fs'
import { Validator } from '@cfworker/json-schema'
import { describe, expect, test } from 'vitest'
import { edge } from '../../src/http/app/edge.ts'
import { definitionsWorker } from '../fixtures/definitions.ts'
import { scripted } from '../fixtures/scripted.ts'
import { testSetup } from '../fixtures/setup.ts'
import { testEdge } from '../fixtures/edge.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'

const document = JSON.parse(
  readFileSync(new URL('../../src/http/openapi.txt', import.meta.url).pathname, 'utf8'),
) as Record<string, any>

function fits(schema: object, value: unknown): boolean {
  return new Validator({ ...schema, components: document.components }, '2020-12').validate(value).valid
}

function bodySchema(path: string, method = 'post'): object {
  return document.paths[path][method].requestBody.content['application/json'].schema
}

test('the OpenAPI document is public JSON', async () => {
  const response = await testEdge({ vars: { AUTH: 'keys' } }).ask('/openapi.json')
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(await response.json()).toEqual(document)
})

test('an edge without the surface has no document', async () => {
  const worker = edge(() => testSetup(scripted([], 'test/scripted'), {}))
  const response = await worker.fetch(new Request('http://127.0.0.1/openapi.json'), {})
  expect([response.status, await response.json()]).toMatchObject([404, { code: 'not_found' }])
})

const user = { role: 'user', content: 'Hello' }
const chat = (more: object) => ({ messages: [user], ...more })
const ui = (more: object = {}) => ({
  id: 'c1',
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
  ...more,
})
const agUi = (more: object = {}) => ({
  threadId: 't1',
  runId: 'r1',
  messages: [{ id: 'm', role: 'user', content: 'Hi' }],
  ...more,
})
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
const functionTool = (parameters: object) => ({ type: 'function', function: { name: 'pick', parameters } })

/** Bodies, and whether they may be sent there. */
const BODIES: readonly (readonly [path: string, may: boolean, body: unknown])[] = [
  ['/runs', true, { input: 'Hello' }],
  ['/runs', true, { input: [user], tools: { add: ['clock'] }, limits: { steps: 1, cost: 0.5, tools: { clock: 2 } } }],
  ['/runs', true, { input: 'Hello', tools: ['clock'], toolChoice: { tool: 'clock' }, context: { a: 1 }, eager: true }],
  ['/runs', true, { input: 'Hello', clientTools: [{ name: 'pick' }], responseFormat: { type: 'text' } }],
  ['/runs', false, {}],
  ['/runs', false, { input: '' }],
  ['/runs', false, { input: 'Hello', colour: 'red' }],
  ['/runs', false, { input: [{ role: 'user' }] }],
  ['/runs', false, { input: [{ role: 'robot', content: 'Hello' }] }],
  ['/runs', false, { input: 'Hello', limits: { steps: 0 } }],
  ['/runs', false, { input: 'Hello', limits: { steps: 1.5 } }],
  ['/runs', false, { input: 'Hello', tools: 'clock' }],
  ['/runs', false, { input: 'Hello', toolChoice: 'any' }],
  ['/runs', false, { input: 'Hello', clientTools: [{ name: 'no name' }] }],
  ['/runs', false, { input: 'Hello', clientTools: [{ name: 'pick', inputSchema: { type: 'array' } }] }],
  ['/runs', false, { input: 'Hello', responseFormat: { type: 'json_schema', name: 'x' } }],
  ['/conversations', true, {}],
  ['/conversations', true, { id: 'mine', system: 'Be brief.', window: { messages: 3 }, ttlSeconds: 60 }],
  ['/conversations', false, []],
  ['/conversations', false, { id: 'not an id' }],
  ['/conversations', false, { window: { show: 'some' } }],
  ['/v1/chat/completions', true, chat({})],
  ['/v1/chat/completions', true, chat({ model: null, temperature: 0.5, n: 1, stop: ['x'], metadata: { a: 'b' } })],
  ['/v1/chat/completions', true, { messages: [{ role: 'user', content: [{ type: 'text', text: 'See' }, image] }] }],
  ['/v1/chat/completions', true, chat({ tools: [functionTool({})], tool_choice: 'auto' })],
  ['/v1/chat/completions', true, chat({ edgecall: { rounds: 'all', tools: [] } })],
  ['/v1/chat/completions', false, {}],
  ['/v1/chat/completions', false, chat({ n: 2 })],
  ['/v1/chat/completions', false, chat({ functions: [] })],
  ['/v1/chat/completions', false, chat({ temperature: 'hot' })],
  ['/v1/chat/completions', false, chat({ tools: [functionTool({ type: 'string' })] })],
  ['/v1/chat/completions', false, chat({ edgecall: { rounds: 'some' } })],
  [
    '/v1/chat/completions',
    false,
    chat({ messages: [{ role: 'user', content: [{ ...image, image_url: { url: 'x' } }] }] }),
  ],
  ['/v1/responses', true, { input: 'Hello' }],
  ['/v1/responses', true, { input: [user], store: false, tools: [{ type: 'function', name: 'pick' }] }],
  ['/v1/responses', true, { input: [{ type: 'message', ...user }], text: { format: { type: 'text' } } }],
  ['/v1/responses', false, { input: [{ type: 'robot', ...user }] }],
  ['/v1/responses', false, { input: [{ role: 'tool', content: 'x' }] }],
  ['/v1/responses', true, { input: 'Hello', background: true }],
  ['/v1/responses', false, { input: 'Hello', truncation: 'disabled' }],
  ['/v1/responses', false, { input: 'Hello', prompt: { id: 'p' } }],
  ['/v1/responses', false, { input: 'Hello', conversation: 'not an id' }],
  ['/chat', true, ui()],
  ['/chat', true, ui({ edgecall: { model: 'test/scripted' }, trigger: 'submit-message' })],
  ['/chat', false, ui({ messages: [] })],
  ['/chat', false, ui({ edgecall: { colour: 'red' } })],
  ['/chat', false, ui({ id: 'not an id' })],
  ['/ag-ui', true, agUi()],
  ['/ag-ui', true, agUi({ tools: [], context: [], state: {}, forwardedProps: {} })],
  ['/ag-ui', false, agUi({ threadId: 7 })],
  ['/ag-ui', false, agUi({ tools: [{ name: 'no name' }] })],
  ['/tools/{name}/call', true, { arguments: {} }],
  ['/tools/{name}/call', true, { arguments: { a: 1 }, context: { tenantId: 'acme' } }],
  ['/tools/{name}/call', false, {}],
  ['/tools/{name}/call', false, { arguments: [] }],
  ['/tools/{name}/rollback', true, { hash: 'abc' }],
  ['/tools/{name}/rollback', false, { hash: 1 }],
  ['/conversations/{id}/runs/{run}/calls/{call}', true, { decision: 'approve', reason: 'fine' }],
  ['/conversations/{id}/runs/{run}/calls/{call}', true, { result: [1], ok: false }],
  ['/conversations/{id}/runs/{run}/calls/{call}', false, { decision: 'perhaps' }],
  ['/conversations/{id}/runs/{run}/calls/{call}', false, {}],
  ['/outcomes/{token}', true, { progress: { message: 'half', fraction: 0.5 } }],
  ['/outcomes/{token}', true, { result: [1] }],
  ['/outcomes/{token}', true, { error: { code: 'no_disk', message: 'Full.' } }],
]

describe('the OpenAPI schemas accept exactly the bodies that the edge accepts', () => {
  test.each(BODIES)('%s %s %j', async (path, may, body) => {
    expect(fits(bodySchema(path), body)).toBe(may)
    const edge = keptEdge({ script: [say('Hello.')], tools: [tool('clock')] })
    const place = path.replace('{name}', 'clock').replaceAll(/\{\w+\}/g, 'none')
    const response = await edge.post(place, body)
    await response.body?.cancel()
    // What is well said may still be about something that there is not.
    expect([400, 422].includes(response.status)).toBe(!may)
  })

  const definition = { name: 'answer', description: 'Answers.', inputSchema: { type: 'object' } }
  const http = { method: 'GET', url: 'https://api.example.com/answer' }
  test.each([
    { ...definition, static: { text: '42' } },
    { ...definition, http, tags: ['demo'], default: true },
    { ...definition, binding: 'TOOL_CLOCK', call: 'clock' },
    { ...definition },
    { ...definition, http, static: { text: '42' } },
    { ...definition, name: 'no name', static: { text: '42' } },
    { ...definition, description: '', static: { text: '42' } },
    { ...definition, http: { ...http, method: 'TRACE' } },
    { ...definition, binding: 'CLOCK', call: 'clock' },
    { ...definition, static: { text: 42 } },
  ])('a definition %j', async (value) => {
    const { ok } = await definitionsWorker().write(value.name, value, { 'https://api.example.com': [] })
    expect(fits(bodySchema('/tools/{name}', 'put'), value)).toBe(ok)
  })
})

test('the OpenAPI schemas of responses fit the responses of the edge', async () => {
  const edge = keptEdge({
    script: [ask(['clock']), say('Noon.'), say('Noon.'), ask(['clock']), say('Noon.'), say('Noon.')],
    tools: [tool('clock')],
  })
  async function check(method: string, path: string, response: Response): Promise<any> {
    const [template = '', ...others] = Object.keys(document.paths).filter((each) =>
      new RegExp(`^${each.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path.replace(/\?.*/, '')),
    )
    expect(others).toEqual([])
    const { responses } = document.paths[template][method]
    const { $ref, content } = responses[response.status] ?? responses.default
    const media = content ?? document.components.responses[String($ref).split('/').at(-1) ?? ''].content
    const [type = ''] = (response.headers.get('content-type') ?? '').split(';')
    const value: unknown = await response.json()
    expect(fits(media[type].schema, value), `${path}: ${JSON.stringify(value)}`).toBe(true)
    return value
  }
  const post = async (path: string, json: unknown) => check('post', path, await edge.post(path, json))
  const get = async (path: string) => check('get', path, await edge.fetch(path))

  await post('/runs', { input: 'What time is it?' })
  await post('/runs', { input: 7 })
  await post('/conversations', { id: 'mine' })
  const run = await post('/conversations/mine/runs', { input: 'What time is it?' })
  await post('/v1/chat/completions', { messages: [user] })
  await post('/v1/chat/completions', { messages: [] })
  await post('/v1/responses', { input: 'Hello' })
  await post('/tools/clock/call', { arguments: {} })
  for (const path of ['', '/mine/runs', '/mine/messages', '/mine/usage', `/mine/runs/${run.id}`, '/mine/runs/none'])
    await get(`/conversations${path}`)
  for (const path of ['/tools', '/tools/clock', '/tools/none', '/v1/models', '/health']) await get(path)
})

describe('types that are generated from the document', () => {
  test('have the complete answers of the OpenAI surfaces', async () => {
    const edge = keptEdge({ script: [ask(['clock']), say('Noon.'), say('Noon.')], tools: [tool('clock')] })
    const completion = await (await edge.post('/v1/chat/completions', chat({}))).json<any>()
    const response = await (await edge.post('/v1/responses', { input: 'Hello' })).json<any>()
    const { ChatCompletion, OpenAIResponse, ChatUsage, ResponseItem } = document.components.schemas
    for (const [schema, value] of [
      [ChatCompletion, completion],
      [ChatUsage, completion.usage],
      [OpenAIResponse, response],
      [ResponseItem, response.output[0]],
    ])
      expect(fits(schema, value)).toBe(true)
    expect(fits(ChatCompletion, { ...completion, choices: [{}] })).toBe(false)
    expect(fits(OpenAIResponse, { ...response, output: [{ type: 'message' }] })).toBe(false)
  })

  test('have names that are those of no global, and no constant beside members of any name', () => {
    const { schemas } = document.components
    expect(Object.keys(schemas).filter((name) => name in globalThis)).toEqual([])
    const hasBoth = (schema: any) =>
      schema.additionalProperties === true &&
      Object.values(schema.properties ?? {}).some((member) => Object.hasOwn(Object(member), 'const'))
    expect(Object.keys(schemas).filter((name) => hasBoth(schemas[name]))).toEqual([])
  })

  test('have optional members for defaults, and a number for the size of a page', () => {
    // A stored definition has a member of this name.
    expect(JSON.stringify(document.components.schemas)).not.toMatch(/"default":(?!\{"type":"boolean")/)
    const { parameters } = document.paths['/tools'].get
    expect(parameters).toContainEqual(
      expect.objectContaining({ name: 'limit', schema: { type: 'integer', minimum: 1, maximum: 1000 } }),
    )
  })
})
