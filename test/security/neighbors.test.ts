import { describe, expect, test } from 'vitest'
import { controlledEdge } from './controlled-edge.ts'

const ACME = 'acme: chat tools:read tools:write'
const GLOBEX = 'globex: chat tools:read tools:write'
const OVERLOADED = Object.assign(new Error('Durable Object is overloaded.'), { overloaded: true })

const lookUp = (path: string) => ({
  description: 'Looks something up.',
  inputSchema: { type: 'object' },
  annotations: { readOnly: true },
  http: { method: 'GET', url: `https://api.example.com/${path}` },
})

/** An edge on which both tenants store a definition of the name `look`; `answer` answers its requests, by their path. */
async function sharedEdge(answer: (path: string) => Promise<Response>, vars: object = {}) {
  const edge = controlledEdge({
    workers: {},
    keys: [ACME, GLOBEX],
    vars: { TOOL_SEARCH: 'off', HTTP_TOOL_HOSTS: '{ "api.example.com": [] }', ...vars },
    fetch: (url) => answer(new URL(url).pathname.slice(1)),
  })
  const write = (key: string, name: string, path: string) =>
    edge.as(key)(`/tools/${name}`, { method: 'PUT', json: lookUp(path) })
  const call = async (key: string) => (await edge.as(key)('/tools/look/call', { json: { arguments: {} } })).body
  expect([(await write(ACME, 'look', 'acme')).status, (await write(GLOBEX, 'look', 'globex')).status]).toEqual([
    201, 201,
  ])
  return { ...edge, write, call }
}

const text = (body: string) => new Response(body, { headers: { 'content-type': 'text/plain' } })

describe('a stored tool of another tenant', () => {
  test.each([
    ['never answers', () => new Promise<Response>(() => {}), 'timeout'],
    ['breaks the connection', () => Promise.reject(new TypeError('connection reset')), 'http_unreachable'],
    ['answers with 50 MB', async () => text('x'.repeat(50_000_000)), 'result_too_large'],
  ])('that %s fails its own calls alone', async (_, answer, code) => {
    // Calls of the other tenant must not reach their time limit on a slow machine.
    const vars = code === 'timeout' ? { CALL_TIMEOUT_MS: '3000' } : {}
    const edge = await sharedEdge(async (path) => (path === 'acme' ? answer() : text('seen')), vars)
    const broken = Array.from({ length: 4 }, () => edge.call(ACME))
    const others = await Promise.all(Array.from({ length: 4 }, () => edge.call(GLOBEX)))
    expect(others.map(({ ok, content }) => [ok, content])).toEqual(
      Array.from({ length: 4 }, () => [true, [{ type: 'text', text: 'seen' }]]),
    )
    expect((await Promise.all(broken)).map(({ error }) => error?.code)).toEqual(Array.from({ length: 4 }, () => code))
  })

  test('that is paused after failures does not pause the tool of the same name', async () => {
    const edge = await sharedEdge(async (path) => (path === 'acme' ? new Response('', { status: 503 }) : text('seen')))
    const codes: string[] = []
    for (let count = 0; count < 6; count++) codes.push((await edge.call(ACME)).error.code)
    expect(codes.at(-1)).toBe('tool_paused')
    expect(await edge.call(GLOBEX)).toMatchObject({ ok: true })
    expect((await edge.as(GLOBEX)('/tools/look')).body).toMatchObject({ available: true })
  })
})

describe('the catalog of another tenant', () => {
  test('that is overloaded refuses its own writes alone, and its stored tools are still called', async () => {
    const edge = await sharedEdge(async (path) => text(path))
    const catalog = edge.catalogs.getByName('tenant:acme')
    Object.assign(catalog, { write: () => Promise.reject(OVERLOADED) })
    const refusal = await edge.write(ACME, 'second', 'acme')
    expect([refusal.status, refusal.body.code]).toEqual([503, 'overloaded'])
    expect((await edge.write(GLOBEX, 'second', 'globex')).status).toBe(201)
    expect([(await edge.call(ACME)).content[0].text, (await edge.call(GLOBEX)).content[0].text]).toEqual([
      'acme',
      'globex',
    ])
  })

  test('that is full leaves room for the definitions of others', async () => {
    const edge = await sharedEdge(async (path) => text(path), { MAX_DEFINITIONS: '3' })
    const statuses: number[] = []
    for (let count = 0; count < 3; count++) statuses.push((await edge.write(ACME, `more${count}`, 'acme')).status)
    expect(statuses.at(-1)).toBe(507)
    expect((await edge.write(GLOBEX, 'second', 'globex')).status).toBe(201)
  })

  test('that has many writes at once shows none of them to others', async () => {
    const edge = await sharedEdge(async (path) => text(path))
    const writes = Array.from({ length: 30 }, (_, count) => edge.write(ACME, `tool${count}`, `acme/${count}`))
    const [own] = await Promise.all([edge.write(GLOBEX, 'own', 'globex'), ...writes])
    expect(own.status).toBe(201)
    const names = async (key: string) => (await edge.as(key)('/tools')).body.map(({ name }: any) => name).toSorted()
    expect(await names(GLOBEX)).toEqual(['look', 'own'])
    expect(await names(ACME)).toHaveLength(31)
    expect((await edge.as(GLOBEX)('/tools/tool1/versions')).status).toBe(404)
  })
})
