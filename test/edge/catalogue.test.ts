import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EmbeddingService } from '../../src/contract/model.ts'
import { INDEX_KEY, readIndex, versionKey } from '../../src/host/stored/copy.ts'
import { chunksOf, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { type Stage, startStage } from './stage.ts'
import { eventually } from '../fixtures/eventually.ts'

const KEY = 'ek_test'
const sha256 = createHash('sha256').update(KEY).digest('hex')
const by = { tenant: 'acme', key: sha256.slice(0, 12) }

let model: ModelServer
let stage: Stage
/** Done before the model asks for a tool. */
let meanwhile = async () => {}

beforeAll(async () => {
  model = await startModelServer(async ({ body }) => {
    const last: any = body.messages.at(-1)
    if (last.role === 'tool') return { chunks: chunksOf({ text: `It said ${last.content}` }) }
    await meanwhile()
    return { chunks: chunksOf({ calls: [{ tool: last.content, arguments: '{}' }] }) }
  })
  stage = await startStage({
    API_KEYS: JSON.stringify([{ sha256, tenant: 'acme', scopes: ['chat', 'tools:read', 'tools:admin', 'approve'] }]),
    MODEL: 'openai/test',
    OPENAI_BASE_URL: model.baseUrl,
  })
})
afterAll(async () => {
  await stage?.close()
  await model?.close()
})

async function ask(path: string, { headers, ...rest }: Parameters<Stage['ask']>[1] = {}) {
  const response = await stage.ask(path, { ...rest, headers: { authorization: `Bearer ${KEY}`, ...headers } })
  const text = await response.text()
  return { status: response.status, etag: response.headers.get('etag'), body: text === '' ? null : JSON.parse(text) }
}

const says = (text: string, rest: object = {}) => ({
  description: 'Says it.',
  inputSchema: { type: 'object', properties: {} },
  static: { text },
  ...rest,
})
const put = (name: string, json: object, headers = {}) => ask(`/tools/${name}`, { method: 'PUT', json, headers })
const versions = async (name: string) => (await ask(`/tools/${name}/versions`)).body

test('concurrent writes of one name and of many are all kept and reach KV in one index', async () => {
  const texts = Array.from({ length: 20 }, (_, index) => `text ${index}`)
  const many = texts.map((text, index) => put(`many${index}`, says(text)))
  const one = texts.map((text) => put('one', says(text)))
  const replies = await Promise.all([...many, ...one])
  expect(replies.filter(({ status }) => status === 201)).toHaveLength(21)
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(19)
  const history = await versions('one')
  const hashes = replies.slice(20).map(({ body }) => body.hash)
  expect(new Set(history.map(({ hash }: any) => hash))).toEqual(new Set(hashes))
  expect(history).toHaveLength(texts.length)

  const { TOOLS } = await stage.server.getWorker<{ TOOLS: KVNamespace }>('edgecall').getEnv()
  await eventually(async () => {
    const index = readIndex((await TOOLS.get(INDEX_KEY)) ?? '')
    expect(index.names()).toEqual(['one', ...texts.map((_, at) => `many${at}`)].sort())
    expect(index.hashOf('one')).toBe(history[0].hash)
    expect(await TOOLS.get(versionKey('one', history[0].hash))).toContain('"text ')
  })
})

test('concurrent writes, rollbacks and removals are one history entry each, and the last one is current', async () => {
  const { body: first } = await put('mixed', says('first'))
  const replies = await Promise.all(
    Array.from({ length: 24 }, async (_, index) => {
      if (index % 3 === 0) return put('mixed', says(`mixed ${index}`))
      if (index % 3 === 1) return ask('/tools/mixed/rollback', { json: { hash: first.hash } })
      return ask('/tools/mixed', { method: 'DELETE' })
    }),
  )
  // What was so already, and what was gone already, is no entry.
  const writes = replies.filter(({ status, body }) => status < 300 && body?.change !== 'unchanged')
  const history = await versions('mixed')
  expect(replies.filter(({ status }) => status >= 400 && status !== 404)).toEqual([])
  expect(history).toHaveLength(1 + writes.length)
  expect(history.map(({ revision }: any) => revision)).toEqual(
    history.map(({ revision }: any) => revision).toSorted((a: number, b: number) => b - a),
  )
  const hashes = (of: any[]): string[] => of.flatMap(({ hash }) => hash ?? [])
  expect(hashes(history).toSorted()).toEqual(hashes([first, ...writes.map(({ body }) => body ?? {})]).toSorted())

  const { hash } = history[0]
  expect((await ask('/tools/mixed')).etag).toBe(hash === undefined ? null : `"${hash}"`)
  const { TOOLS } = await stage.server.getWorker<{ TOOLS: KVNamespace }>('edgecall').getEnv()
  await eventually(async () => {
    const index = readIndex((await TOOLS.get(INDEX_KEY)) ?? '')
    expect(index.revision).toBeGreaterThanOrEqual(history[0].revision)
    expect(index.hashOf('mixed')).toBe(hash)
  })
})

describe('a stored definition has versions', () => {
  test('with author, time and change, of which each can be restored', async () => {
    const before = Date.now()
    const first = await put('news', says('old', { version: '1.0' }))
    expect(first).toMatchObject({ status: 201, body: { name: 'news', change: 'created', breaks: [], warnings: [] } })
    expect(await put('news', says('old', { version: '1.0' }))).toMatchObject({
      status: 200,
      body: { change: 'unchanged' },
    })
    const wider = { type: 'object', properties: { topic: { type: 'string' } } }
    expect((await put('news', says('old', { inputSchema: wider }))).body.change).toBe('compatible')
    const narrower = await put('news', says('new', { inputSchema: { ...wider, required: ['topic'] } }))
    const breaks = [{ path: 'inputSchema.properties.topic', message: 'is required now' }]
    expect(narrower.body).toMatchObject({ change: 'breaking', breaks })
    expect((await ask('/tools/news', { method: 'DELETE' })).status).toBe(204)
    expect((await ask('/tools/news')).status).toBe(404)

    const { hash } = first.body
    const stored = await ask(`/tools/news/versions/${hash}`)
    expect(stored.body).toEqual({ name: 'news', ...says('old', { version: '1.0' }) })
    const back = await ask('/tools/news/rollback', { json: { hash } })
    expect(back).toMatchObject({ status: 201, etag: `"${hash}"`, body: { hash, change: 'created' } })
    expect(await ask('/tools/news')).toMatchObject({ etag: `"${hash}"`, body: { version: '1.0', hash } })

    const history = await versions('news')
    expect(history.map((each: any) => [each.action, each.change])).toEqual([
      ['rollback', 'created'],
      ['delete', undefined],
      ['put', 'breaking'],
      ['put', 'compatible'],
      ['put', 'created'],
    ])
    expect(history[2]).toMatchObject({ hash: narrower.body.hash, by, breaks })
    expect(Date.parse(history[0].at)).toBeGreaterThanOrEqual(before)
    const [next] = (await ask(`/tools/news/versions?limit=1&before=${history[1].revision}`)).body
    expect(next).toEqual(history[2])
  })

  test('of which a write may name the one that it replaces', async () => {
    const { etag, body } = await put('terms', says('a'), { 'if-none-match': '*' })
    expect((await put('terms', says('b'), { 'if-match': etag ?? '' })).status).toBe(200)
    for (const headers of [{ 'if-match': etag ?? '' }, { 'if-match': body.hash }, { 'if-none-match': '*' }]) {
      const current = (await versions('terms'))[0].hash
      expect(await put('terms', says('c'), headers)).toMatchObject({
        status: 412,
        body: { code: 'version_mismatch', current },
      })
    }
    expect(await put('nothing', says('c'), { 'if-match': '*' })).toMatchObject({ status: 412, body: { current: null } })
    expect(await versions('terms')).toHaveLength(2)
    const repeat = { json: { hash: body.hash }, headers: { 'if-match': etag ?? '' } }
    expect((await ask('/tools/terms/rollback', repeat)).status).toBe(412)
  })

  test('and unknown ones are errors', async () => {
    await put('here', says('a'))
    expect(await ask('/tools/gone/versions')).toMatchObject({ status: 404, body: { code: 'unknown_tool' } })
    expect(await ask('/tools/here/versions/abc')).toMatchObject({ status: 404, body: { code: 'unknown_version' } })
    const rollback = (json: object) => ask('/tools/here/rollback', { json })
    expect(await rollback({ hash: 'abc' })).toMatchObject({ status: 404, body: { code: 'unknown_version' } })
    expect(await rollback({})).toMatchObject({ status: 422, body: { param: 'hash' } })
  })
})

test('a run calls the version that it was offered even if another has become current', async () => {
  await put('pinned', says('one'))
  meanwhile = async () => void (await put('pinned', says('two')))
  const run = async () => (await ask('/runs', { json: { input: 'pinned', tools: ['pinned'] } })).body.answer
  expect(await run()).toBe('It said one')
  meanwhile = async () => {}
  expect(await run()).toBe('It said two')
})

test('a run does not call a tool whose definition changed while the run waited', async () => {
  await put('moved', says('one', { approval: 'always' }))
  await ask('/conversations', { json: { id: 'moving' } })
  const path = '/conversations/moving/runs'
  const { status, body } = await ask(path, { json: { input: 'moved', tools: ['moved'] } })
  expect([status, body.status]).toEqual([202, 'waiting'])
  await put('moved', says('two', { approval: 'always' }))
  await stage.server.getWorker('edgecall').evictDurableObject('Conversation', { name: 'v1/acme/moving' })
  const call = `${path}/${body.id}/calls/${body.calls[0].id}`
  expect((await ask(call, { json: { decision: 'approve' } })).status).toBe(200)
  await eventually(async () => {
    const run = (await ask(`${path}/${body.id}`)).body
    expect(run.answer).toContain('The tool "moved" has changed since it was offered; it was not called.')
  })
})

test('vectors of tool texts are kept over RPC, those of a key that is stored again replaced', async () => {
  interface Env {
    readonly CATALOG: { getByName(name: string): EmbeddingService }
  }
  const { CATALOG } = await stage.server.getWorker<Env>('edgecall').getEnv()
  const service = CATALOG.getByName('embeddings')
  expect(await service.embeddings('m', ['a'])).toEqual([null])
  const values = (...numbers: number[]) => new Uint8Array(numbers)
  const keys = Array.from({ length: 200 }, (_, index) => `key ${index}`)
  await service.storeEmbeddings(
    'm',
    keys.map((key, index) => ({ key, values: values(index, 255) })),
  )
  await service.storeEmbeddings('m', [{ key: 'key 0', values: values(7) }])
  const stored = await service.embeddings('m', [...keys, 'none'])
  expect(stored.map((each) => each && [...each])).toEqual([[7], ...keys.slice(1).map((_, at) => [at + 1, 255]), null])
  expect(await service.embeddings('other', ['key 0'])).toEqual([null])
})
