import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ModelEvent } from '../../src/contract/model.ts'
import { type KeyNamespace, keyStates, keyStore } from '../../src/http/middleware/stored-keys.ts'
import { apiKey, bearer, sha256 } from '../fixtures/keys.ts'
import { tool } from '../fixtures/play.ts'
import { settle } from '../fixtures/settle.ts'
import { testCatalogue } from '../catalogue/object.ts'
import { controlledEdge } from './controlled-edge.ts'

/** The KV namespace of keys, with what is to go wrong. */
function memoryKeys() {
  const values = new Map<string, { readonly text: string; readonly metadata?: object }>()
  const state = { failure: undefined as Error | undefined, reads: 0, answers: true, refuses: (_name: string) => false }
  const reach = () => {
    state.reads += 1
    if (state.failure) throw state.failure
  }
  const namespace: Parameters<typeof keyStore>[0]['namespace'] & KeyNamespace & typeof state = Object.assign(state, {
    get: async (name: string) => {
      reach()
      if (name.length > 512) throw new Error('KV GET failed: 414 key too long')
      return state.answers ? (values.get(name)?.text ?? null) : new Promise<never>(() => {})
    },
    put: async (name: string, text: string, { metadata }: { metadata?: object } = {}) => {
      reach()
      if (state.refuses(name)) throw new Error('KV PUT failed: 429 Too Many Requests')
      if (JSON.stringify(metadata ?? {}).length > 1024) throw new Error('KV PUT failed: 413 metadata too large')
      values.set(name, { text, ...(metadata && { metadata }) })
    },
    delete: async (name: string) => void (reach(), values.delete(name)),
    list: async ({ prefix, limit, cursor = '' }: { prefix: string; limit: number; cursor?: string }) => {
      reach()
      const names = [...values.keys()].filter((name) => name.startsWith(prefix) && name > cursor).toSorted()
      const page = names.slice(0, limit)
      const last = page.at(-1)
      return {
        keys: page.map((name) => ({ name, metadata: values.get(name)?.metadata })),
        ...(names.length > limit && last !== undefined && { cursor: last }),
      }
    },
  })
  const store = (entry: any) => {
    values.set(`key:${entry.id}`, { text: JSON.stringify(entry) })
    for (const hash of [entry.sha256].flat()) values.set(`hash:${hash}`, { text: entry.id })
  }
  return { namespace, store, values }
}

const FINISH: ModelEvent = { type: 'finish', finish: 'stop', usage: { inputTokens: 10, outputTokens: 10 } }
const OPERATOR = { id: 'operator', scopes: ['keys', 'chat', 'tools:read', 'tools:write'], tenant: 'ops' }

/** An edge with these keys, which are in `API_KEYS` or stored, and an operator's key. */
function edgeWith(way: 'API_KEYS' | 'stored', keys: readonly object[], vars: object = {}) {
  const memory = memoryKeys()
  const operator = apiKey('operator', OPERATOR)
  const configured = way === 'API_KEYS' ? [...keys, operator] : [operator]
  if (way === 'stored') keys.forEach(memory.store)
  const edge = controlledEdge({
    workers: { TOOL_PAY: [tool('pay', () => 'paid'), tool('look', () => 'seen')] },
    model: {
      name: 'test/scripted',
      requests: [],
      stream: async function* () {
        yield { type: 'text', text: 'Done.' }
        yield FINISH
      },
    },
    vars: { ...vars, KEYS: memory.namespace, API_KEYS: JSON.stringify(configured) },
    keys: ['acme: chat'],
  })
  const as = (secret: string) => {
    const ask = edge.as('acme: chat')
    return (path: string, request: Parameters<typeof ask>[1] = {}) =>
      ask(path, { ...request, headers: { ...bearer(secret), ...request.headers } })
  }
  return { ...memory, as, operator: as('operator') }
}

const outcomeOf = ({ status, body }: { status: number; body: any }) =>
  status < 300 ? status : [status, body?.code ?? body?.error?.code]
const run = { json: { input: 'Hi' } }
const LIMITED = { id: 'limited', tenant: 'acme' }

interface Control {
  /** The terms of the key. */
  readonly terms: object
  readonly vars?: object
  /** What is asked with the key, and what each answer is. */
  readonly asks: readonly (readonly [path: string, request: object, outcome: unknown])[]
}

/** The controls of a key, which hold wherever the key is. */
const CONTROLS: Readonly<Record<string, Control>> = {
  'what it may do': {
    terms: {},
    asks: [
      ['/runs', run, 200],
      ['/conversations', { json: { id: 'talk' } }, 201],
      ['/conversations/talk/runs', run, 200],
    ],
  },
  expiry: { terms: { expires: '2020-01-01' }, asks: [['/runs', run, [401, 'key_expired']]] },
  scopes: {
    terms: { scopes: ['chat'] },
    asks: [
      ['/runs', run, 200],
      ['/tools', {}, [403, 'missing_scope']],
    ],
  },
  tools: {
    terms: { scopes: ['chat', 'tools:read'] },
    vars: { TOOL_POLICY: JSON.stringify({ pay: { scopes: ['finance'] } }) },
    asks: [
      ['/tools/look/call', { json: { arguments: {} } }, 200],
      ['/tools/pay/call', { json: { arguments: {} } }, [404, 'unknown_tool']],
    ],
  },
  'the budget': {
    terms: { budget: { tokens: 20, per: 'month' } },
    asks: [
      ['/runs', run, 200],
      ['/runs', run, [429, 'budget_exhausted']],
      ['/conversations/talk/runs', run, [429, 'budget_exhausted']],
    ],
  },
  'the rate': {
    terms: { rate: 'RATE_NONE' },
    vars: { RATE_NONE: { limit: async () => ({ success: false }) } },
    asks: [['/runs', run, [429, 'rate_limited']]],
  },
  'the jurisdiction': {
    terms: { jurisdiction: 'eu' },
    asks: [['/conversations/talk/runs', run, [403, 'other_jurisdiction']]],
  },
}

describe.each(['API_KEYS', 'stored'] as const)('a key in %s is bound by', (way) => {
  test.each(Object.entries(CONTROLS))('%s', async (_, { terms, vars, asks }) => {
    const { as } = edgeWith(way, [apiKey('limited', { ...LIMITED, ...terms })], vars)
    const ask = as('limited')
    const outcomes: unknown[] = []
    for (const [path, request] of asks) outcomes.push(outcomeOf(await ask(path, request)))
    expect(outcomes).toEqual(asks.map(([, , outcome]) => outcome))
  })

  test('its tenant', async () => {
    const { as } = edgeWith(way, [apiKey('limited', LIMITED), apiKey('other', { id: 'other', tenant: 'other' })])
    expect(outcomeOf(await as('limited')('/conversations', { json: { id: 'talk' } }))).toBe(201)
    expect((await as('limited')('/conversations')).body).toEqual([{ id: 'talk' }])
    expect((await as('other')('/conversations')).body).toEqual([])
  })

  test('the list of disabled keys', async () => {
    const { as, values } = edgeWith(way, [apiKey('limited', LIMITED)])
    values.set('disabled', { text: '["limited"]' })
    expect(outcomeOf(await as('limited')('/runs', run))).toEqual([401, 'key_disabled'])
  })
})

describe('an operator', () => {
  const json = { id: 'app', tenant: 'acme', scopes: ['chat'], budget: { tokens: 20, per: 'month' } }
  const summary = { ...json, disabled: false }

  test('makes a key, which is shown once, works at once, and is stored as a hash alone', async () => {
    const { operator, as, values } = edgeWith('stored', [])
    const { status, body } = await operator('/keys', { json })
    expect([status, body]).toEqual([201, { ...summary, key: expect.stringMatching(/^ek_\w{20,}$/) }])
    expect(outcomeOf(await as(body.key)('/runs', run))).toBe(200)
    expect((await operator('/keys')).body).toEqual({ keys: [summary] })
    expect(JSON.stringify([...values])).not.toContain(body.key)
    expect(outcomeOf(await operator('/keys', { json }))).toEqual([409, 'key_exists'])
    expect(outcomeOf(await operator('/keys', { json: { ...json, id: 'operator' } }))).toEqual([409, 'key_exists'])
  })

  test('changes, disables, rotates and removes a key', async () => {
    const { operator, as } = edgeWith('stored', [])
    const { key } = (await operator('/keys', { json })).body
    const change = (body: object) => operator('/keys/app', { method: 'PATCH', json: body })
    expect((await change({ disabled: true })).body).toEqual({ ...summary, disabled: true })
    expect(outcomeOf(await as(key)('/runs', run))).toEqual([401, 'key_disabled'])
    const { body } = await change({ disabled: false, budget: null, expires: '2999-01-01' })
    expect(body).toEqual({ id: 'app', tenant: 'acme', scopes: ['chat'], disabled: false, expires: Date.UTC(2999, 0) })
    expect(outcomeOf(await as(key)('/runs', run))).toBe(200)

    const second = (await operator('/keys/app/rotate', { json: { keepOld: true } })).body.key
    for (const each of [key, second]) expect(outcomeOf(await as(each)('/runs', run))).toBe(200)
    const third = (await operator('/keys/app/rotate', { json: {} })).body.key
    for (const each of [key, second]) expect(outcomeOf(await as(each)('/runs', run))).toEqual([401, 'unauthorized'])
    expect(outcomeOf(await as(third)('/runs', run))).toBe(200)

    expect((await operator('/keys/app', { method: 'DELETE' })).status).toBe(204)
    expect(outcomeOf(await as(third)('/runs', run))).toEqual([401, 'unauthorized'])
    expect((await operator('/keys')).body).toEqual({ keys: [] })
    expect(outcomeOf(await change({ disabled: true }))).toEqual([404, 'unknown_key'])
  })

  test('needs the scope for it, and gives no scope that its own key lacks', async () => {
    const strong = apiKey('strong', { id: 'strong', scopes: ['chat', 'backup'], tenant: 'acme' })
    const { operator, as } = edgeWith('stored', [apiKey('limited', LIMITED), strong])
    const change = (body: object) => operator('/keys/strong', { method: 'PATCH', json: body })
    const asOther = as('limited')
    for (const answer of [
      await asOther('/keys'),
      await asOther('/keys', { json }),
      await asOther('/keys/strong', { method: 'PATCH', json: { disabled: true } }),
      await asOther('/keys/strong/rotate', { json: {} }),
      await asOther('/keys/strong', { method: 'DELETE' }),
    ]) {
      expect(outcomeOf(answer)).toEqual([403, 'missing_scope'])
    }
    for (const answer of [
      await operator('/keys', { json: { ...json, scopes: ['chat', 'backup'] } }),
      await operator('/keys/strong/rotate', { json: {} }),
      await change({ expires: null }),
      await change({ scopes: ['chat'] }),
      await operator('/keys/limited', { method: 'PATCH', json: { scopes: ['chat', 'approve'] } }),
    ]) {
      expect(outcomeOf(answer)).toEqual([403, 'scope_not_held'])
    }
    expect((await change({ disabled: true })).body).toMatchObject({ scopes: ['chat', 'backup'], disabled: true })
  })

  test.each([
    ['no id', { id: undefined }],
    ['an id that is none', { id: 'a b' }],
    ['no tenant', { tenant: undefined }],
    ['a hash', { sha256: sha256('known') }],
    ['an unknown rate', { rate: 'RATE_UNKNOWN' }],
    ['a budget that is none', { budget: { tokens: -1, per: 'month' } }],
    ['a date that is none', { expires: 'soon' }],
    ['a text that says whether it is disabled', { disabled: 'true' }],
    ['more terms than KV lists', { scopes: Array(200).fill('chat') }],
  ])('cannot make a key with %s', async (_, change) => {
    const { operator, values } = edgeWith('stored', [])
    expect(outcomeOf(await operator('/keys', { json: { ...json, ...change } }))).toEqual([400, 'invalid_request'])
    expect([...values.keys()].filter((name) => /^(?:key|hash):/.test(name))).toEqual([])
  })

  test('cannot disable a key by a value that is neither true nor false, and is told so', async () => {
    const { operator, as } = edgeWith('stored', [])
    const { key } = (await operator('/keys', { json })).body
    for (const disabled of ['true', 1, {}]) {
      const answer = await operator('/keys/app', { method: 'PATCH', json: { disabled } })
      expect(outcomeOf(answer)).toEqual([400, 'invalid_request'])
    }
    expect(outcomeOf(await as(key)('/runs', run))).toBe(200)
  })

  test('is told that no key has an id that is none', async () => {
    const { operator } = edgeWith('stored', [])
    const answer = await operator(`/keys/${'a'.repeat(600)}`, { method: 'PATCH', json: { disabled: true } })
    expect(outcomeOf(answer)).toEqual([404, 'unknown_key'])
  })

  const change = { method: 'PATCH', json: { disabled: true } }
  const requests = [
    ['/keys', {}],
    ['/keys', { json: { ...json, id: 'other' } }],
    ['/keys/app', change],
    ['/keys/app/rotate', { json: {} }],
    ['/keys/app', { method: 'DELETE' }],
  ] as const

  test('gets 503 while KV fails', async () => {
    const { operator, namespace } = edgeWith('stored', [apiKey('app', json)])
    await operator('/keys')
    namespace.failure = new Error('KV is down')
    for (const [path, request] of requests)
      expect(outcomeOf(await operator(path, request))).toEqual([503, 'keys_unavailable'])
  })

  test('gets 503 while KV hangs', async () => {
    const { operator, namespace } = edgeWith('stored', [apiKey('app', json)])
    await operator('/keys')
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const hang = async () => new Promise<never>(() => {})
    Object.assign(namespace, { get: hang, put: hang, delete: hang, list: hang })
    const outcomes: unknown[] = requests.map(() => 'none')
    for (const [at, [path, request]] of requests.entries())
      void operator(path, request).then((answer) => (outcomes[at] = outcomeOf(answer)))
    while (outcomes.includes('none')) {
      await settle()
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(outcomes).toEqual(requests.map(() => [503, 'keys_unavailable']))
  })

  test.each(['hash:', 'key:'])('has changed nothing if KV refuses to write a value of %s', async (prefix) => {
    const { operator, as, namespace } = edgeWith('stored', [])
    const { key } = (await operator('/keys', { json })).body
    namespace.refuses = (name) => name.startsWith(prefix)
    const failed = [503, 'keys_unavailable']
    expect(outcomeOf(await operator('/keys/app/rotate', { json: {} }))).toEqual(failed)
    expect(outcomeOf(await operator('/keys', { json: { ...json, id: 'other' } }))).toEqual(failed)
    namespace.refuses = () => false
    expect(outcomeOf(await as(key)('/runs', run))).toBe(200)
    expect(outcomeOf(await operator('/keys', { json: { ...json, id: 'other' } }))).toBe(201)
  })

  test('undoes no change that is made at the same time, nor one that KV does not show yet', async () => {
    const { operator, namespace, values } = edgeWith('stored', [])
    const { key } = (await operator('/keys', { json })).body
    const change = (body: object) => operator('/keys/app', { method: 'PATCH', json: body })
    const changes = [{ disabled: true }, { expires: '2999-01-01' }, { scopes: ['chat', 'tools:read'] }]
    const answers = await Promise.all(changes.map(change))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    const stored = { ...summary, disabled: true, expires: Date.UTC(2999, 0), scopes: ['chat', 'tools:read'] }
    expect((await operator('/keys')).body).toEqual({ keys: [stored] })

    const before = values.get('key:app')
    expect((await operator('/keys/app/rotate', { json: {} })).status).toBe(200)
    const get = namespace.get
    Object.assign(namespace, {
      get: async (name: string) => (name === 'key:app' ? (before?.text ?? null) : get(name, { type: 'text' })),
    })
    expect((await change({ disabled: false })).status).toBe(200)
    Object.assign(namespace, { get })
    expect(JSON.parse(values.get('key:app')?.text ?? '')).toMatchObject({
      disabled: false,
      sha256: [expect.any(String)],
    })
    expect(values.get('key:app')?.text).not.toContain(sha256(key))
  })

  test('makes one key of two requests for the same id', async () => {
    const { operator } = edgeWith('stored', [])
    const answers = await Promise.all([operator('/keys', { json }), operator('/keys', { json })])
    expect(answers.map(outcomeOf)).toEqual([201, [409, 'key_exists']])
  })

  test('lists thousands of keys by pages', async () => {
    const { operator } = edgeWith('stored', [])
    for (let at = 0; at < 250; at++) {
      await operator('/keys', { json: { ...json, id: `key${String(at).padStart(3, '0')}`, tenant: `tenant${at}` } })
    }
    const ids: string[] = []
    let after = ''
    for (;;) {
      const { keys, next } = (await operator(`/keys${after}`)).body
      ids.push(...keys.map(({ id }: { id: string }) => id))
      if (next === undefined) break
      after = `?after=${encodeURIComponent(next)}`
    }
    expect(ids).toEqual(Array.from({ length: 250 }, (_, at) => `key${String(at).padStart(3, '0')}`))
  })
})

describe('stored keys', () => {
  test('are read at most every five seconds, and count as they were read last while KV fails', async () => {
    const { namespace, store } = memoryKeys()
    const clock = { now: 0 }
    const reports: object[] = []
    const keys = keyStore({ namespace, report: (entry) => void reports.push(entry), now: () => clock.now })
    const entry = apiKey('app', { id: 'app' })
    store(entry)
    const disabledOf = async () => (await keys.find(sha256('app')))?.disabled
    expect([await disabledOf(), await disabledOf(), namespace.reads]).toEqual([false, false, 2])
    store({ ...entry, disabled: true })
    clock.now = 4999
    expect([await disabledOf(), namespace.reads]).toEqual([false, 2])
    clock.now = 5000
    expect([await disabledOf(), namespace.reads]).toEqual([true, 4])
    namespace.failure = new Error('KV is down')
    clock.now = 10_000
    expect(await disabledOf()).toBe(true)
    await expect(keys.find(sha256('another'))).rejects.toMatchObject({ details: { code: 'keys_unavailable' } })
    expect(reports).toContainEqual({ event: 'keys.unreadable', detail: 'KV is down' })
  })

  test('count as they were read last while KV hangs, and those that were never read are refused after two seconds', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { namespace, store } = memoryKeys()
    const keys = keyStore({ namespace, report: () => {} })
    store(apiKey('app', { id: 'app' }))
    const find = async (secret: string) => (await keys.find(sha256(secret)))?.id
    expect(await find('app')).toBe('app')
    namespace.answers = false
    await vi.advanceTimersByTimeAsync(5000)
    const requests = Promise.all([find('app'), find('app')])
    const refusal = expect(find('another')).rejects.toMatchObject({ details: { code: 'keys_unavailable' } })
    await vi.advanceTimersByTimeAsync(2000)
    // Of the two, one waits for the id of the hash and the other for the key: each goes by what the other has read last.
    expect([await requests, namespace.reads]).toEqual([['app', 'app'], 5])
    await refusal
  })

  test('stay disabled after a read that began before they were, however late that ends', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { namespace, store } = memoryKeys()
    const keys = keyStore({ namespace, report: () => {} })
    const disable = async (id: string) => {
      const key = await keys.read(id)
      if (key) await keys.change({ id, before: key, after: { ...key, disabled: true } })
    }
    for (const id of ['hung', 'slow']) {
      store(apiKey(id, { id }))
      expect(await keys.load(id)).toHaveProperty('disabled', false)
    }
    await vi.advanceTimersByTimeAsync(10_000)
    namespace.answers = false
    const hungRead = keys.load('hung')
    namespace.answers = true
    const earlier = await namespace.get('key:slow', { type: 'text' })
    const answer = Promise.withResolvers<string | null>()
    const reading = vi.spyOn(namespace, 'get').mockReturnValueOnce(answer.promise)
    const slowRead = keys.load('slow')
    reading.mockRestore()
    await disable('hung')
    await disable('slow')
    answer.resolve(earlier)
    await vi.advanceTimersByTimeAsync(2000)
    expect([await hungRead, await slowRead, await keys.load('hung'), await keys.load('slow')]).toEqual(
      ['hung', 'slow', 'hung', 'slow'].map((id) => expect.objectContaining({ id, disabled: true })),
    )
  })

  test('that were never read have no terms, and not none', () => {
    const keys = keyStore({ namespace: memoryKeys().namespace, report: () => {} })
    expect(() => keys.recent('app')).toThrow('the key "app" has not been read')
  })
})

describe('the list of disabled keys', () => {
  test('is what other isolates have read last, for an isolate that finds KV failing or hanging', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { namespace, values } = memoryKeys()
    const { object: order } = testCatalogue()
    const isolate = () => keyStates({ namespace, order, report: () => {} })
    const isDisabled = async (states: ReturnType<typeof isolate>) => {
      const answers = Promise.all(['leaked', 'app'].map((id) => states.isDisabled(id))).catch(
        (error: any) => error.details.code,
      )
      await vi.advanceTimersByTimeAsync(2000)
      return answers
    }
    namespace.failure = new Error('KV is down')
    expect(await isDisabled(isolate())).toBe('keys_unavailable')

    namespace.failure = undefined
    const warm = isolate()
    for (const ids of ['[]', '["leaked"]']) {
      values.set('disabled', { text: ids })
      await vi.advanceTimersByTimeAsync(5000)
      await warm.isDisabled('app')
      await warm.used('app')
      namespace.failure = new Error('KV is down')
      expect(await isDisabled(isolate())).toEqual([ids !== '[]', false])
      namespace.failure = undefined
    }
    namespace.answers = false
    expect(await isDisabled(isolate())).toEqual([true, false])
  })
})
