import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sign } from 'hono/utils/jwt/jwt'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type KeyNamespace, keyStates } from '../../src/http/middleware/stored-keys.ts'
import { memoryDirectories } from '../fixtures/directories.ts'
import { testEdge } from '../fixtures/edge.ts'
import { apiKey, bearer, keyName, sha256, withKeys } from '../fixtures/keys.ts'

/** The KV namespace of key states, with what is to go wrong. */
function memoryKeys(values: Record<string, string> = {}): KeyNamespace & {
  values: Record<string, string>
  reads: number
  failure: Error | undefined
  answers: boolean
} {
  const namespace = {
    values,
    reads: 0,
    failure: undefined as Error | undefined,
    answers: true,
    get: async (key: string) => {
      namespace.reads += 1
      if (!namespace.answers) return new Promise<never>(() => {})
      if (namespace.failure) throw namespace.failure
      return namespace.values[key] ?? null
    },
    put: async (key: string, value: string) => void (namespace.values[key] = value),
  }
  return namespace
}

const answerOf = async (response: Response) => {
  const { error, code }: any = await response.json()
  return [response.status, code ?? error?.edgecall ?? error?.code ?? 'ok']
}

describe('a key', () => {
  test('is refused from five seconds after it was disabled in KV, and accepted again after it was enabled', async () => {
    const namespace = memoryKeys()
    const clock = { now: 0 }
    const report = () => {}
    const states = keyStates({ namespace, report, now: () => clock.now })
    const vars = withKeys(apiKey('ours', { id: 'ours' }), apiKey('theirs'))
    const edge = testEdge({ vars, setup: { keyStates: states } })
    const ask = async (key: string) => answerOf(await edge.ask('/v1/models', { headers: bearer(key) }))
    expect(await ask('ours')).toEqual([200, 'ok'])
    namespace.values['disabled'] = JSON.stringify(['ours'])
    clock.now = 4999
    expect([await ask('ours'), namespace.reads]).toEqual([[200, 'ok'], 1])
    clock.now = 5000
    expect(await ask('ours')).toEqual([401, 'key_disabled'])
    expect(await ask('theirs')).toEqual([200, 'ok'])
    namespace.values['disabled'] = JSON.stringify([keyName('theirs')])
    clock.now = 10_000
    expect([await ask('ours'), await ask('theirs')]).toEqual([
      [200, 'ok'],
      [401, 'key_disabled'],
    ])
    // The last list counts while KV fails.
    namespace.failure = new Error('KV is down')
    clock.now = 20_000
    expect([await ask('ours'), await ask('theirs')]).toEqual([
      [200, 'ok'],
      [401, 'key_disabled'],
    ])
  })

  test('is refused while it cannot be told whether it is disabled', async () => {
    const namespace = memoryKeys({ disabled: '{"not":"a list"}' })
    const reports: object[] = []
    const states = keyStates({ namespace, report: (entry) => void reports.push(entry) })
    const edge = testEdge({ vars: withKeys(apiKey('ours')), setup: { keyStates: states } })
    const ask = async () => answerOf(await edge.ask('/v1/models', { headers: bearer('ours') }))
    expect(await ask()).toEqual([503, 'keys_unavailable'])
    expect(reports).toMatchObject([{ event: 'keys.unreadable' }])
    namespace.values['disabled'] = '[]'
    expect(await ask()).toEqual([200, 'ok'])
  })

  test('is accepted in each of the first requests of an isolate, which come at once', async () => {
    const states = keyStates({ namespace: memoryKeys({ disabled: '["theirs"]' }), report: () => {} })
    expect(await Promise.all(['ours', 'theirs', 'ours'].map((id) => states.isDisabled(id)))).toEqual([
      false,
      true,
      false,
    ])
  })

  test('is refused after two seconds if KV hangs, and the last list counts once there is one', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const namespace = memoryKeys({ disabled: '["theirs"]' })
    namespace.answers = false
    const reports: object[] = []
    const states = keyStates({ namespace, report: (entry) => void reports.push(entry) })
    const refusal = expect(states.isDisabled('ours')).rejects.toMatchObject({ details: { code: 'keys_unavailable' } })
    await vi.advanceTimersByTimeAsync(2000)
    await refusal
    expect(reports).toEqual([{ event: 'keys.unreadable', detail: 'no answer within 2000 ms' }])
    namespace.answers = true
    expect(await states.isDisabled('theirs')).toBe(true)
    await vi.advanceTimersByTimeAsync(5000)
    namespace.answers = false
    const reading = states.isDisabled('theirs')
    // Only one request waits for KV: the others go by the last list.
    expect([await states.isDisabled('theirs'), namespace.reads]).toEqual([true, 3])
    await vi.advanceTimersByTimeAsync(2000)
    expect(await reading).toBe(true)
  })

  test('that is unknown is refused before its state is read', async () => {
    const namespace = memoryKeys()
    const edge = testEdge({
      vars: withKeys(apiKey('ours')),
      setup: { keyStates: keyStates({ namespace, report: () => {} }) },
    })
    expect(await answerOf(await edge.ask('/v1/models', { headers: bearer('wrong') }))).toEqual([401, 'unauthorized'])
    expect(namespace.reads).toBe(0)
  })

  test('has its last use recorded, to ten minutes', async () => {
    const namespace = memoryKeys()
    const clock = { now: Date.parse('2026-03-01T10:00:00Z') }
    const states = keyStates({ namespace, report: () => {}, now: () => clock.now })
    const edge = testEdge({ vars: withKeys(apiKey('ours', { id: 'ours' })), setup: { keyStates: states } })
    const use = async () => {
      await edge.ask('/v1/models', { headers: bearer('ours') })
      await Promise.all(edge.afterwards)
      return namespace.values['used:ours']
    }
    expect(await use()).toBe('2026-03-01T10:00:00.000Z')
    clock.now += 599_999
    expect(await use()).toBe('2026-03-01T10:00:00.000Z')
    clock.now += 1
    expect(await use()).toBe('2026-03-01T10:10:00.000Z')
  })

  test('is accepted by either of two secrets while it is rotated, under one id', async () => {
    const both = {
      ...apiKey('old', { id: 'billing', budget: { tokens: 10, per: 'day' } }),
      sha256: ['old', 'new'].map(sha256),
    }
    const edge = testEdge({ vars: withKeys(both), setup: { directories: memoryDirectories() } })
    for (const secret of ['old', 'new']) {
      const usage: any = await (await edge.ask('/usage', { headers: bearer(secret) })).json()
      expect(usage).toMatchObject({ key: 'billing', budget: { tokens: 10, per: 'day' } })
    }
    const rotated = testEdge({ vars: withKeys({ ...both, sha256: sha256('new') }) })
    expect(await answerOf(await rotated.ask('/v1/models', { headers: bearer('old') }))).toEqual([401, 'unauthorized'])
  })

  test.each([
    [[apiKey('a', { id: 'same' }), apiKey('b', { id: 'same' })]],
    [[apiKey('a', { id: 'not an id' })]],
    [[apiKey('a', { sha256: ['a', 'b', 'c'].map(sha256) })]],
    [[apiKey('a', { sha256: [] })]],
  ])('must be configured unambiguously: %j', async (keys) => {
    expect(await answerOf(await testEdge({ vars: withKeys(...keys) }).ask('/health'))).toEqual([503, 'misconfigured'])
  })
})

describe('a token of an identity provider', () => {
  const AUDIENCE = 'the-application'
  let pair: CryptoKeyPair
  let jwk: JsonWebKey & { kid: string }
  let other: CryptoKeyPair

  beforeAll(async () => {
    const rsa = {
      name: 'RSASSA-PKCS1-v1_5',
      modulusLength: 2048,
      publicExponent: new Uint8Array([1, 0, 1]),
      hash: 'SHA-256',
    }
    ;[pair, other] = await Promise.all([
      crypto.subtle.generateKey(rsa, true, ['sign', 'verify']) as Promise<CryptoKeyPair>,
      crypto.subtle.generateKey(rsa, true, ['sign', 'verify']) as Promise<CryptoKeyPair>,
    ])
    const exported = (await crypto.subtle.exportKey('jwk', pair.publicKey)) as JsonWebKey
    jwk = { ...exported, kid: 'k1', alg: 'RS256' }
  })

  /** An identity provider on a free port, and an edge that knows it. */
  async function provided(more: object = {}, vars: object = {}) {
    const keys = {
      list: [jwk] as object[] | undefined,
      asked: 0,
      status: 200,
      holds: undefined as undefined | Promise<void>,
    }
    const server = createServer(async (_, response) => {
      keys.asked += 1
      await keys.holds
      response.writeHead(keys.status, { connection: 'close' }).end(JSON.stringify({ keys: keys.list }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const provider = { id: 'access', issuer, audience: AUDIENCE, tenant: 'acme', scopes: ['chat'], ...more }
    const edge = testEdge({ vars: { ...withKeys(), IDENTITY_PROVIDERS: JSON.stringify([provider]), ...vars } })
    const now = Math.floor(Date.now() / 1000)
    const claims = { iss: issuer, aud: [AUDIENCE], sub: 'person-1', iat: now, exp: now + 600 }
    const token = async (change: object = {}, key = pair.privateKey, kid = 'k1') =>
      sign(
        { ...claims, ...change },
        Object.assign({}, await crypto.subtle.exportKey('jwk', key), { alg: 'RS256', kid }) as never,
      )
    const ask = async (text: string, header = 'authorization') =>
      answerOf(
        await edge.ask('/v1/models', { headers: { [header]: header === 'authorization' ? `Bearer ${text}` : text } }),
      )
    return { edge, issuer, keys, claims, token, ask }
  }

  test('is accepted as a bearer and as Cloudflare Access sends it, and its keys are read once', async () => {
    const { ask, token, keys } = await provided()
    expect(await ask(await token())).toEqual([200, 'ok'])
    expect(await ask(await token(), 'cf-access-jwt-assertion')).toEqual([200, 'ok'])
    expect(keys.asked).toBe(1)
  })

  test('is refused if its signature, algorithm, key, issuer, audience or time is wrong', async () => {
    const { ask, token, claims, keys } = await provided()
    const now = Math.floor(Date.now() / 1000)
    const [head = '', body = '', signature = ''] = (await token()).split('.')
    const none = `${btoa('{"alg":"none","typ":"JWT"}').replaceAll('=', '')}.${body}.${signature}`
    const { n = '' } = jwk
    const symmetric = await sign(claims, n, 'HS256')
    const forged = btoa(JSON.stringify({ ...claims, sub: 'admin' })).replaceAll('=', '')
    const refusals = [
      await token({}, other.privateKey),
      await token({ aud: 'another' }),
      await token({ aud: undefined }),
      await token({ iss: 'https://evil.example' }),
      await token({ exp: now - 1 }),
      await token({ exp: undefined }),
      await token({ nbf: now + 600 }),
      await token({ sub: undefined }),
      await token({}, pair.privateKey, 'k2'),
      `${head}.${forged}.${signature}`,
      none,
      symmetric,
      `${head}.${body}.`,
      'a.b.c',
    ]
    for (const text of refusals) expect(await ask(text)).toEqual([401, 'unauthorized'])
    // Unknown keys do not make the edge ask again and again.
    expect(keys.asked).toBe(1)
  })

  test('is refused if it is signed with another algorithm than its provider’s, by a key of the provider', async () => {
    const { ask, claims, keys } = await provided()
    const curve = { name: 'ECDSA', namedCurve: 'P-256' }
    const ec = (await crypto.subtle.generateKey(curve, true, ['sign', 'verify'])) as CryptoKeyPair
    const jwkOf = async (key: CryptoKey) =>
      Object.assign({}, await crypto.subtle.exportKey('jwk', key), { alg: 'ES256', kid: 'k2' })
    keys.list = [jwk, await jwkOf(ec.publicKey)]
    expect(await ask(await sign(claims, (await jwkOf(ec.privateKey)) as never))).toEqual([401, 'unauthorized'])
  })

  test('gets its tenant and its scopes from claims, and nothing from those that are not mapped', async () => {
    const scopes = { claim: 'groups', map: { staff: ['chat'], admins: ['chat', 'tools:read'] } }
    const { edge, ask, token } = await provided({ tenant: { claim: 'org' }, scopes })
    const statusOf = async (path: string, change: object) =>
      (await edge.ask(path, { headers: bearer(await token(change)) })).status
    expect(await statusOf('/tools', { org: 'acme', groups: ['staff', 'admins'] })).toBe(200)
    expect(await statusOf('/tools', { custom: { org: 'acme', groups: ['admins'] } })).toBe(200)
    expect(await statusOf('/tools', { org: 'acme', groups: ['staff'] })).toBe(403)
    expect(await statusOf('/v1/models', { org: 'acme', groups: ['constructor', '__proto__'] })).toBe(403)
    expect(await ask(await token({ groups: ['staff'] }))).toEqual([403, 'no_tenant'])
    expect(await ask(await token({ org: 'a/b', groups: ['staff'] }))).toEqual([403, 'no_tenant'])
  })

  test('names its caller, who can be disabled', async () => {
    const namespace = memoryKeys()
    const { issuer, token } = await provided()
    const provider = { id: 'access', issuer, audience: AUDIENCE, tenant: 'acme', scopes: ['chat'] }
    const edge = testEdge({
      vars: { ...withKeys(), IDENTITY_PROVIDERS: JSON.stringify([provider]) },
      setup: { keyStates: keyStates({ namespace, report: () => {} }), directories: memoryDirectories() },
    })
    const usage: any = await (await edge.ask('/usage', { headers: bearer(await token()) })).json()
    expect(usage.key).toMatch(/^access:[0-9a-f]{12}$/)
    namespace.values['disabled'] = JSON.stringify([usage.key])
    const repeat = testEdge({
      vars: { ...withKeys(), IDENTITY_PROVIDERS: JSON.stringify([provider]) },
      setup: { keyStates: keyStates({ namespace, report: () => {} }), directories: memoryDirectories() },
    })
    const headers = bearer(await token())
    expect(await answerOf(await repeat.ask('/usage', { headers }))).toEqual([401, 'key_disabled'])
    const someone = bearer(await token({ sub: 'person-2' }))
    expect((await repeat.ask('/usage', { headers: someone })).status).toBe(200)
  })

  test('that a browser brings by its cookie is of no use to the page of another site', async () => {
    const { edge, token } = await provided({}, { CORS_ORIGINS: 'https://app.example.com' })
    const assertion = await token()
    const post = async (headers: Record<string, string>) =>
      answerOf(
        await edge.ask('/v1/chat/completions', {
          headers: { 'cf-access-jwt-assertion': assertion, ...headers },
          json: {},
        }),
      )
    expect(await post({ origin: 'https://evil.example' })).toEqual([403, 'cross_site'])
    expect(await post({ 'sec-fetch-site': 'cross-site' })).toEqual([403, 'cross_site'])
    expect(await post({ origin: 'http://127.0.0.1:8787' })).not.toEqual([403, 'cross_site'])
    expect(await post({ origin: 'https://app.example.com' })).not.toEqual([403, 'cross_site'])
  })

  test('is refused with 503 while the keys of its provider cannot be read', async () => {
    const { ask, token, keys, edge } = await provided()
    keys.status = 500
    expect(await ask(await token())).toEqual([503, 'identity_unavailable'])
    expect(edge.reports).toMatchObject([{ event: 'identity_provider.failed', provider: 'access' }])
    keys.status = 200
    expect(await ask(await token())).toEqual([200, 'ok'])
  })

  describe('while its provider', () => {
    const HOUR = 60 * 60 * 1000

    /** Lets the keys of a provider grow old: the next token causes another read. */
    async function oldKeys() {
      const scene = await provided()
      expect(await scene.ask(await scene.token())).toEqual([200, 'ok'])
      vi.useFakeTimers({ toFake: ['Date'] })
      onTestFinished(() => void vi.useRealTimers())
      const later = (ms: number) => void vi.setSystemTime(Date.now() + ms)
      const token = (...[change, ...key]: Parameters<typeof scene.token>) =>
        scene.token({ exp: Math.floor(Date.now() / 1000) + 600, ...change }, ...key)
      later(HOUR)
      return { ...scene, token, later }
    }

    test('fails, is accepted by its last keys, and tokens with unknown keys cause one read in five seconds', async () => {
      const { ask, token, keys, later } = await oldKeys()
      keys.status = 500
      expect(await ask(await token())).toEqual([200, 'ok'])
      for (let count = 0; count < 3; count++)
        expect(await ask(await token({}, other.privateKey, 'k2'))).toEqual([401, 'unauthorized'])
      expect(keys.asked).toBe(2)
      later(5000)
      keys.status = 200
      keys.list = [
        Object.assign({}, await crypto.subtle.exportKey('jwk', other.publicKey), { kid: 'k2', alg: 'RS256' }),
      ]
      expect(await ask(await token({}, other.privateKey, 'k2'))).toEqual([200, 'ok'])
    })

    test('answers without keys, is accepted by its last ones', async () => {
      const { ask, token, keys } = await oldKeys()
      keys.list = undefined
      expect(await ask(await token())).toEqual([200, 'ok'])
    })

    test('is slow, is accepted by its last keys, except in the request that waits, and with an unknown key', async () => {
      const { ask, token, keys } = await oldKeys()
      const hold = Promise.withResolvers<void>()
      keys.holds = hold.promise
      const [known, unknown] = [await token(), await token({}, other.privateKey, 'k2')]
      const first = ask(known)
      expect(await ask(known)).toEqual([200, 'ok'])
      const second = ask(unknown)
      keys.list = [
        jwk,
        Object.assign({}, await crypto.subtle.exportKey('jwk', other.publicKey), { kid: 'k2', alg: 'RS256' }),
      ]
      hold.resolve()
      expect([await first, await second]).toEqual([
        [200, 'ok'],
        [200, 'ok'],
      ])
      expect(keys.asked).toBe(3)
    })
  })
})
