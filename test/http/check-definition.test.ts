import { expect, test } from 'vitest'
import { controlledEdge } from '../security/controlled-edge.ts'

const READER = 'acme: chat tools:read'
const WRITER = 'acme: chat tools:read tools:write'
const ADMIN = 'ops: chat tools:read tools:admin'
const HOST = 'api.example.com'

const common = { description: 'Reads a page.', inputSchema: { type: 'object', properties: { id: { type: 'string' } } } }
const http = { method: 'GET', url: `https://${HOST}/pages`, query: { id: '{id}' } }

function setup() {
  const urls: string[] = []
  const edge = controlledEdge({
    workers: {},
    keys: [READER, WRITER, ADMIN],
    vars: { HTTP_TOOL_HOSTS: { [HOST]: [] }, TOOL_POLICY: { '@tenant:acme/secret': { scopes: ['finance'] } } },
    fetch: async (url) => {
      urls.push(url)
      return Response.json('the page')
    },
  })
  const check = async (key: string, name: string, json: object) => {
    const { status, body } = await edge.as(key)(`/tools/${name}/check`, { json })
    return [status, body]
  }
  const call = async (key: string, name: string, json: object) => {
    const { status, body } = await edge.as(key)(`/tools/${name}/call`, { json })
    return [status, body]
  }
  return { edge, urls, check, call }
}

test('a definition is checked without being stored, with what it would change', async () => {
  const { edge, check } = setup()
  expect(await check(ADMIN, 'page', { ...common, http })).toEqual([
    200,
    {
      valid: true,
      change: 'created',
      breaks: [],
      warnings: [],
      definition: expect.objectContaining({ name: 'page', annotations: { untrusted: true, openWorld: true } }),
    },
  ])
  expect((await edge.as(READER)('/tools/page')).status).toBe(404)
  await edge.as(ADMIN)('/tools/page', { method: 'PUT', json: { ...common, http } })
  const narrow = { ...common, inputSchema: { ...common.inputSchema, required: ['id'] }, http }
  expect(await check(ADMIN, 'page', narrow)).toMatchObject([
    200,
    { change: 'breaking', breaks: [{ path: 'inputSchema.properties.id', message: 'is required now' }] },
  ])
  expect(await check(ADMIN, 'page', { ...common, http })).toMatchObject([200, { change: 'unchanged' }])
})

test('a definition whose schema is mended says so, and is stored as it is meant', async () => {
  const { edge, check } = setup()
  const id = { ...common.inputSchema.properties.id, required: true }
  const definition = { ...common, inputSchema: { ...common.inputSchema, properties: { id } }, http }
  const path = 'inputSchema.properties.id.required'
  const message = 'expected the names of required properties: moved to the object around it'
  expect(await check(ADMIN, 'page', definition)).toMatchObject([200, { valid: true, warnings: [{ path, message }] }])
  const stored = await edge.as(ADMIN)('/tools/page', { method: 'PUT', json: definition })
  expect(stored.body).toMatchObject({ warnings: [{ path, message }] })
  expect((await edge.as(ADMIN)('/tools/page')).body).toMatchObject({
    inputSchema: { required: ['id'], properties: { id: common.inputSchema.properties.id } },
  })
})

test('a definition that could not be stored is refused with the paths of its faults', async () => {
  const { check, call, urls } = setup()
  const elsewhere = { ...common, http: { method: 'GET', url: 'https://other.example.com/' } }
  const issues = [{ path: 'http.url', message: expect.stringContaining('other.example.com') }]
  expect(await check(ADMIN, 'page', elsewhere)).toEqual([200, { valid: false, issues }])
  expect(await call(ADMIN, 'page', { arguments: {}, definition: elsewhere })).toMatchObject([
    422,
    { code: 'invalid_definition', issues },
  ])
  expect(urls).toEqual([])
})

test('a definition is called without being stored, with its arguments checked', async () => {
  const { edge, call, urls } = setup()
  const definition = { ...common, http }
  expect(await call(WRITER, 'page', { arguments: { id: '7' }, definition })).toMatchObject([
    200,
    { ok: true, content: [{ type: 'text', text: 'the page' }] },
  ])
  expect(await call(WRITER, 'page', { arguments: { id: {} }, definition })).toMatchObject([
    422,
    { code: 'invalid_arguments' },
  ])
  expect(urls).toEqual([`https://${HOST}/pages?id=7`])
  expect((await edge.as(WRITER)('/tools/page')).status).toBe(404)
})

test('only a key that may store a definition may check or call it, and policies hold for it', async () => {
  const { check, call, urls } = setup()
  const definition = { ...common, http }
  const refusal = [403, expect.objectContaining({ code: 'missing_scope' })]
  expect(await check(READER, 'page', definition)).toEqual(refusal)
  expect(await call(READER, 'page', { arguments: { id: '7' }, definition })).toEqual(refusal)
  expect(await call(WRITER, 'secret', { arguments: { id: '7' }, definition })).toMatchObject([
    404,
    { code: 'unknown_tool' },
  ])
  expect(urls).toEqual([])
})
