import { expect, onTestFinished, test, vi } from 'vitest'
import { callerOfGrant } from '../../src/http/surfaces/sign-in.ts'
import { testEdge } from '../fixtures/edge.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { settle } from '../fixtures/settle.ts'

/** The library, as far as it is used here: it reads a token from the namespace. */
vi.mock('@cloudflare/workers-oauth-provider', () => ({
  OAuthAuthorizationServer: class {
    validateToken(
      _resource: string,
      token: string,
      { OAUTH_KV: namespace }: { OAUTH_KV: { get(key: string): Promise<unknown> } },
    ) {
      return namespace.get(`token:${token}`)
    }
  },
}))

test('a token is refused for now, after two seconds, if the namespace of grants does not answer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const grants = { get: () => new Promise(() => {}) } as unknown as KVNamespace
  const edge = testEdge({
    vars: withKeys(apiKey('app')),
    setup: { signIn: { grants, scopes: ['tools:read', 'chat'] }, identityTokens: callerOfGrant },
  })
  const answer = edge.ask('/mcp', { json: {}, headers: bearer('user:grant:secret') })
  await settle()
  await vi.advanceTimersByTimeAsync(2000)
  const { status, headers } = await answer
  expect([status, headers.get('retry-after')]).toEqual([503, '5'])
  expect(edge.reports).toEqual([{ event: 'sign_in.failed', detail: 'no answer within 2000 ms' }])
})
