import OpenAI, { APIError } from 'openai'
import { describe, expect, test } from 'vitest'
import type { Handling } from '../../src/wire/client/members.ts'
import { EMBEDDING_MEMBERS } from '../../src/wire/client/embeddings.ts'
import type { ModelReply } from '../fixtures/model-server.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { say } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'
import { UPSTREAMS, upstreamEdge } from './upstream-edge.ts'

/** This does not compile when the vendor's schema has a member of which the table says nothing. */
EMBEDDING_MEMBERS satisfies Readonly<Record<keyof OpenAI.EmbeddingCreateParams, Handling>>

const model = 'test/scripted'
const PATH = '/v1/embeddings'
const vectors = [
  [0.5, -1, 2],
  [0, 0.25, 8],
]

/** What a provider answers: its usage last, as all known ones have it. */
function embeddingsReply(encoding: unknown, usage: object = { prompt_tokens: 7, total_tokens: 7 }): ModelReply {
  const encode = (vector: number[]) =>
    encoding === 'base64' ? Buffer.from(new Float32Array(vector).buffer).toString('base64') : vector
  const data = vectors.map((vector, index) => ({ object: 'embedding', index, embedding: encode(vector) }))
  return { body: { object: 'list', data, model: 'probe', usage } }
}

async function open(reply?: ModelReply, vars: Record<string, string> = {}, apiKeyText = 'key') {
  const answer = reply
    ? () => reply
    : ({ body }: { body: Readonly<Record<string, unknown>> }) => embeddingsReply(body['encoding_format'])
  const edge = await upstreamEdge(answer, UPSTREAMS.chat.provider, { script: [], vars })
  const options = { baseURL: 'http://127.0.0.1:8787/v1', apiKey: apiKeyText, maxRetries: 0, fetch: edge.fetch }
  return { edge, client: new OpenAI(options) }
}

describe('embeddings', () => {
  test('are those of the provider of the model, for OpenAI’s SDK, which asks for base64', async () => {
    const { edge, client } = await open()
    const { data, model: name, usage } = await client.embeddings.create({ model, input: ['a', 'b'], dimensions: 3 })
    expect([data.map(({ embedding }) => [...embedding]), name, usage]).toEqual([
      vectors,
      'probe',
      { prompt_tokens: 7, total_tokens: 7 },
    ])
    const body = { input: ['a', 'b'], dimensions: 3, encoding_format: 'base64', model: 'probe' }
    expect(edge.calls.map(({ path, body }) => [path, body])).toEqual([['/v1/embeddings', body]])
  })

  test('are numbers where they are asked for as such, or the provider knows no base64', async () => {
    const floats = await open()
    const { data } = await floats.client.embeddings.create({ model, input: 'a', encoding_format: 'float' })
    const plain = await open(embeddingsReply('float'))
    const answer = await plain.client.embeddings.create({ model, input: [[1, 2]] })
    expect([data, answer.data].map((each) => each.map(({ embedding }) => embedding))).toEqual([vectors, vectors])
  })

  test('may be asked for with members that are ignored, and named', async () => {
    const { edge, client } = await open()
    const request = { model, input: 'a', user: 'u', ...{ input_type: 'query' } }
    const { response } = await client.embeddings.create(request).withResponse()
    expect(response.headers.get('edgecall-ignored')).toBe('input_type, user')
    expect(edge.calls[0]?.body).toEqual({ input: 'a', encoding_format: 'base64', model: 'probe' })
    const strict = await open(undefined, { CLIENT_MEMBERS: 'strict' })
    const refusal = await strict.edge.post(PATH, { model, input: 'a', input_type: 'query' })
    expect([refusal.status, strict.edge.calls]).toEqual([400, []])
  })

  test.each([
    ['Anthropic Messages', UPSTREAMS.anthropic.provider, 'model_not_found'],
    ['Responses', UPSTREAMS.responses.provider, undefined],
  ])('need a provider that speaks a format of OpenAI’s: %s', async (_, provider, code) => {
    const edge = await upstreamEdge(() => embeddingsReply('float'), provider)
    const response = await edge.post(PATH, { model, input: 'a' })
    const { error } = await response.json<{ error?: object }>()
    expect([response.status, error]).toMatchObject(code ? [404, { code, param: 'model' }] : [200, undefined])
  })

  test('need a model that the edge serves', async () => {
    const edge = keptEdge({ script: [say('Hi.')] })
    const response = await edge.post(PATH, { model: 'test/other', input: 'a' })
    expect([response.status, await response.json()]).toMatchObject([404, { error: { code: 'model_not_found' } }])
  })

  test.each([
    [{ input: 'a' }, 'missing_required_parameter', 'model'],
    [{ model }, 'missing_required_parameter', 'input'],
    [{ model, input: 7 }, 'invalid_value', 'input'],
    [{ model, input: 'a', dimensions: 'many' }, 'invalid_value', 'dimensions'],
  ])('need a valid request: %j', async (body, code, param) => {
    const { edge } = await open()
    const response = await edge.post(PATH, body)
    expect([response.status, await response.json(), edge.calls]).toMatchObject([400, { error: { code, param } }, []])
  })

  test('may not be asked for with a body over the limit', async () => {
    const { edge } = await open(undefined, { MAX_BODY_BYTES: '2000' })
    const response = await edge.post(PATH, { model, input: 'a'.repeat(3000) })
    expect([response.status, edge.calls]).toEqual([413, []])
  })
})

describe('a provider that fails', () => {
  async function errorOf(reply: ModelReply): Promise<object> {
    const { client } = await open(reply)
    const error: unknown = await client.embeddings.create({ model, input: 'a' }).catch((error: unknown) => error)
    if (!(error instanceof APIError)) throw error
    const { status, code, type, message, headers } = error
    return { status, code, type, message, retryAfter: headers.get('retry-after') }
  }
  const error = (message: string, code?: string) => ({ error: { message, code } })

  test.each<[ModelReply, object]>([
    [
      { status: 400, body: error('Too long.') },
      { status: 400, code: 'model_refused_request', type: 'invalid_request_error', message: '400 Too long.' },
    ],
    [
      { status: 401, body: error('Wrong key sk-1.') },
      { status: 424, code: 'model_unauthorized', type: 'server_error' },
    ],
    [
      { status: 404, body: error('No such model.') },
      { status: 404, code: 'model_not_found' },
    ],
    [
      { status: 429, body: error('Slow down.'), headers: { 'retry-after': '7' } },
      { status: 429, code: 'rate_limit_exceeded', retryAfter: '7' },
    ],
    [
      { status: 500, body: 'gone' },
      { status: 502, code: 'model_unavailable', type: 'server_error' },
    ],
    [
      { status: 200, body: '<html>' },
      { status: 502, code: 'model_bad_response' },
    ],
    [
      { status: 307, headers: { location: 'https://example.com' }, body: {} },
      { status: 502, code: 'model_bad_response' },
    ],
  ])('is reported in the form of the vendor: %j', async (reply, expected) => {
    expect(await errorOf(reply)).toMatchObject(expected)
  })

  test('or that cannot be reached, too', async () => {
    const { edge } = await open()
    const { models } = edge.setup
    const resolution = models.resolve(model)
    if (!resolution.ok) throw new Error('there is no model')
    const embed = async () => Promise.reject(new TypeError('connect to http://secret.example'))
    const broken = { ...models, resolve: () => ({ ...resolution, model: { ...resolution.model, embed } }) }
    const response = await keptEdge({ script: [], setup: { models: broken } }).post(PATH, { model, input: 'a' })
    const { error } = await response.json<{ error: object }>()
    const message = 'The model server cannot be reached.'
    expect([response.status, error]).toMatchObject([502, { code: 'model_unreachable', message }])
  })
})

describe('the budget of a key', () => {
  const vars = withKeys(
    apiKey('one', { budget: { tokens: 10, per: 'day' } }),
    apiKey('other', { scopes: ['tools:read'] }),
  )
  const ask = { model, input: 'some words here' }

  test('counts the tokens that the provider reports, and is then used up', async () => {
    const priced = (baseUrl: string) => (name: string) => {
      return { ...UPSTREAMS.chat.provider(baseUrl)(name), price: { input: 2_000_000, output: 0 } }
    }
    const reply = embeddingsReply('float', { prompt_tokens: 12, total_tokens: 12 })
    const edge = await upstreamEdge(() => reply, priced, { script: [], vars })
    await (await edge.post(PATH, ask, bearer('one'))).text()
    await edge.settle()
    const usage = await (await edge.fetch('/usage', { headers: bearer('one') })).json()
    expect(usage).toMatchObject({ tokens: 12, cost: 24, runs: 1 })
    const response = await edge.post(PATH, ask, bearer('one'))
    const refusal = { error: { code: 'insufficient_quota', edgecall: 'budget_exhausted' } }
    expect([response.status, await response.json(), edge.calls.length]).toMatchObject([429, refusal, 1])
  })

  test('is not spared by leaving before the end', async () => {
    const { edge } = await open(embeddingsReply('float', { prompt_tokens: 12, total_tokens: 12 }), vars)
    await (await edge.post(PATH, ask, bearer('one'))).body?.cancel()
    await edge.settle()
    expect((await edge.post(PATH, ask, bearer('one'))).status).toBe(429)
  })

  test('counts an estimate if the provider reports nothing', async () => {
    const { edge } = await open(embeddingsReply('float', {}), vars)
    const long = { model, input: Array.from({ length: 20 }, () => 'some words here') }
    await (await edge.post(PATH, long, bearer('one'))).text()
    await edge.settle()
    expect((await edge.post(PATH, ask, bearer('one'))).status).toBe(429)
  })

  test('is asked of a key with the scope alone', async () => {
    const { edge } = await open(undefined, vars)
    const statuses = [await edge.post(PATH, ask), await edge.post(PATH, ask, bearer('other'))].map(
      ({ status }) => status,
    )
    expect([statuses, edge.calls]).toEqual([[401, 403], []])
  })
})
