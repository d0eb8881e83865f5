import { describe, expect, test } from 'vitest'
import { readConfig } from '../../src/contract/config.ts'
import { reportAddresses } from '../../src/http/runs/take-report.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'

const vars = {
  ...withKeys(
    apiKey('eu', { id: 'eu', scopes: ['chat', 'approve'], jurisdiction: 'eu', location: 'weur' }),
    apiKey('far', { id: 'far', location: 'apac' }),
    apiKey('any', { id: 'any' }),
  ),
}

/** An edge with keys that say where conversations are stored. */
function placedEdge() {
  const script = Array.from({ length: 9 }, () => say('Hi.'))
  const edge = keptEdge({ script, tools: [tool('pay', () => 'paid', { approval: 'always' })], vars, listsRuns: true })
  const post = async (key: string, path: string, json: object, headers = {}): Promise<any> => {
    const response = await edge.post(path, json, { ...bearer(key), ...headers })
    await edge.settle()
    return { status: response.status, ...(await response.json<object>()) }
  }
  const get = async (key: string, path: string): Promise<any> => {
    const response = await edge.fetch(path, { headers: bearer(key) })
    return response.json()
  }
  return { ...edge, post, get }
}

describe('a key with a jurisdiction', () => {
  test('creates conversations in it, which other keys of the tenant find by their ids', async () => {
    const { post, get, objects, locations } = placedEdge()
    const { id } = await post('eu', '/conversations', {})
    expect(id).toMatch(/^eu__conv_/)
    expect(await post('eu', `/conversations/${id}/runs`, { input: 'Hello' })).toMatchObject({ answer: 'Hi.' })
    expect(await get('any', `/conversations/${id}/messages`)).toHaveLength(2)
    expect([...objects.keys()]).toEqual([`eu: v1/acme/${id}`])
    expect([...locations.values()]).toEqual(['weur'])
  })

  test('stores nothing elsewhere, whichever API stores it', async () => {
    const { post, get, objects } = placedEdge()
    const first = await post('eu', '/v1/responses', { input: 'Hello' })
    expect(await post('eu', '/v1/responses', { input: 'And?', previous_response_id: first.id })).toMatchObject({
      status: 'completed',
    })
    // Both continue the first one, so this one is a branch.
    expect(await post('eu', '/v1/responses', { input: 'Or?', previous_response_id: first.id })).toMatchObject({
      status: 'completed',
    })
    expect(await get('any', `/v1/responses/${first.id}`)).toMatchObject({ id: first.id, status: 'completed' })
    const once = { 'idempotency-key': 'a' }
    const run = await post('eu', '/runs', { input: 'Hello' }, once)
    expect(await post('eu', '/runs', { input: 'Hello' }, once)).toEqual(run)
    const names = [...objects.keys()]
    expect(names.filter((name) => !name.startsWith('eu: v1/acme/eu__'))).toEqual([])
    expect(names).toContain(`eu: v1/acme/eu__~${run.id}`)
  })

  test('is refused where an id, a header or a field names another place', async () => {
    const { post, get, objects } = placedEdge()
    const refusal = {
      status: 403,
      code: 'other_jurisdiction',
      detail: 'This key may only use conversations in the jurisdiction "eu", whose ids begin with "eu__".',
    }
    expect(await post('eu', '/conversations', { id: 'here' })).toEqual(refusal)
    expect(await post('eu', '/conversations', { jurisdiction: 'us' })).toEqual(refusal)
    expect(await get('eu', '/conversations/here/messages')).toEqual(refusal)
    const body = { messages: [{ role: 'user', content: 'Hi' }] }
    const { status, error } = await post('eu', '/v1/chat/completions', body, { 'x-conversation-id': 'here' })
    expect([status, error.code]).toEqual([403, 'other_jurisdiction'])
    expect(objects.size).toBe(0)
  })

  test('shows no content of its conversations in lists, which are stored elsewhere', async () => {
    const { post, get, settle } = placedEdge()
    const { id } = await post('eu', '/conversations', {})
    await post('eu', `/conversations/${id}/runs`, { input: 'My secret' })
    await settle()
    expect(await get('eu', '/runs')).toMatchObject([{ conversation: id, question: '' }])
    const edge = keptEdge({
      ...{ script: [ask(['pay', { euros: 7 }])], vars, listsRuns: true },
      tools: [tool('pay', () => 'paid', { approval: 'always' })],
    })
    await edge.post('/conversations', { id: 'eu__a' }, bearer('eu'))
    await edge.post('/conversations/eu__a/runs', { input: 'Pay my secret' }, bearer('eu'))
    await edge.settle()
    const calls = await (await edge.fetch('/approvals', { headers: bearer('eu') })).text()
    expect(JSON.parse(calls)).toMatchObject([{ tool: 'pay', conversation: 'eu__a' }])
    expect(calls).not.toMatch(/secret|euros/)
  })
})

describe('a key with a location', () => {
  test('creates objects there, unless a conversation names another one', async () => {
    const { post, locations } = placedEdge()
    await post('far', '/conversations', { id: 'a' })
    await post('far', '/conversations', { id: 'b', location: 'weur' })
    await post(
      'far',
      '/v1/chat/completions',
      { messages: [{ role: 'user', content: 'Hi' }] },
      { 'x-conversation-id': 'c' },
    )
    await post('any', '/conversations', { id: 'd' })
    expect([...locations]).toEqual([
      ['v1/acme/a', 'apac'],
      ['v1/acme/b', 'weur'],
      ['v1/acme/c', 'apac'],
    ])
  })

  test.each([{ location: 'Frankfurt' }, { jurisdiction: 'de' }, { location: 5 }, { jurisdiction: null }])(
    'that does not exist is refused, as is such a jurisdiction: %j',
    (terms) => {
      const API_KEYS = JSON.stringify([{ sha256: 'a'.repeat(64), tenant: 'acme', scopes: ['chat'], ...terms }])
      expect(() => readConfig({ AUTH: 'keys', API_KEYS })).toThrow(
        /"location"\?: wnam or enam or .* or me, "jurisdiction"\?: eu or us or fedramp or fedramp-high/,
      )
    },
  )
})

test('the outcome of a call that is answered later reaches its run in a jurisdiction, though no key comes with it', async () => {
  const urls: string[] = []
  const render = tool(
    'render',
    (_args, { reportTo }) => {
      urls.push(reportTo?.url ?? '')
      return { ok: false, error: { code: 'later', message: 'Later.' }, later: { within: 60_000 } }
    },
    { later: true },
  )
  const addresses = reportAddresses({ secrets: ['a secret'], edgeUrl: 'https://edge.example.com', filter: undefined })
  const script = [ask(['render']), say('Here it is.')]
  const edge = keptEdge({ script, tools: [render], vars, setup: { reportAddresses: addresses } })
  const once = { ...bearer('eu'), 'idempotency-key': 'a' }
  await edge.post('/runs', { input: 'Render it' }, once)
  const outcome = await edge.post(new URL(urls[0] ?? '').pathname, { result: 'film' })
  expect([outcome.status, await outcome.json()]).toEqual([200, { ok: true }])
  expect([...edge.objects.keys()]).toEqual([expect.stringMatching(/^eu: v1\/acme\/eu__~run_/)])
})
