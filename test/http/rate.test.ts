import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { RateLimit } from '../../src/contract/policy.ts'
import { edge as worker } from '../../src/http/app/edge.ts'
import { fullSetup, fullSurfaces } from '../fixtures/everything.ts'
import { testEdge } from '../fixtures/edge.ts'
import { settle } from '../fixtures/settle.ts'
import { apiKey, bearer, keyName, withKeys } from '../fixtures/keys.ts'

/** A binding that lets so many requests of each key in. */
function binding(limit: number): RateLimit & { readonly keys: string[] } {
  const keys: string[] = []
  return {
    keys,
    limit: async ({ key }) => {
      keys.push(key)
      return { success: keys.filter((each) => each === key).length <= limit }
    },
  }
}

function rated(rate: RateLimit) {
  const vars = withKeys(
    apiKey('one', { rate: 'RATE_SLOW' }),
    apiKey('two', { rate: 'RATE_SLOW' }),
    apiKey('free'),
    apiKey('old', { rate: 'RATE_SLOW', expires: '2020-01-01' }),
  )
  return testEdge({ vars, setup: { rates: { RATE_SLOW: rate } } })
}

describe('the rate of a key', () => {
  test('is per key, not per tenant, and counts every request', async () => {
    const rate = binding(2)
    const edge = rated(rate)
    const statuses = async (key: string, ...paths: string[]) => {
      const all = []
      for (const path of paths) all.push((await edge.ask(path, { headers: bearer(key) })).status)
      return all
    }
    expect(await statuses('one', '/v1/models', '/nope', '/v1/models')).toEqual([200, 404, 429])
    expect(await statuses('two', '/v1/models')).toEqual([200])
    expect(await statuses('free', '/v1/models', '/v1/models', '/v1/models')).toEqual([200, 200, 200])
    expect(rate.keys).toEqual([...Array(3).fill(keyName('one')), keyName('two')])
  })

  test('is not counted for requests without a valid key', async () => {
    const rate = binding(0)
    const edge = rated(rate)
    expect((await edge.ask('/v1/models', { headers: bearer('old') })).status).toBe(401)
    expect((await edge.ask('/v1/models', { headers: bearer('none') })).status).toBe(401)
    expect((await edge.ask('/health')).status).toBe(200)
    expect(rate.keys).toEqual([])
  })

  test('is refused in the form of each surface', async () => {
    const edge = rated(binding(0))
    const isRefused = async (path: string, json: unknown) => {
      const response = await edge.ask(path, { headers: bearer('one'), json })
      const { status, headers } = response
      expect([status, headers.get('retry-after')]).toEqual([429, '60'])
      return response.json()
    }
    const message = expect.stringContaining('too many requests')
    const type = 'rate_limit_error'
    const error = { message, type, param: null, code: 'rate_limit_exceeded', edgecall: 'rate_limited' }
    for (const path of ['/v1/chat/completions', '/v1/responses']) expect(await isRefused(path, {})).toEqual({ error })
    for (const path of ['/runs', '/conversations/c/runs', '/chat', '/ag-ui', '/tools/add/call'])
      expect(await isRefused(path, {})).toEqual({ status: 429, code: 'rate_limited', detail: message })
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    expect(await isRefused('/mcp', ping)).toEqual({ jsonrpc: '2.0', error: { code: -32600, message } })
  })

  test('refuses all requests while its binding fails, and reports that to operators', async () => {
    const failing = {
      limit: async () => {
        throw new Error('no counter')
      },
    }
    const edge = rated(failing)
    const statusOf = async (key: string) => (await edge.ask('/v1/models', { headers: bearer(key) })).status
    expect([await statusOf('one'), await statusOf('free')]).toEqual([500, 200])
    expect(edge.reports).toMatchObject([{ event: 'edge.failed', detail: expect.stringContaining('no counter') }])
  })

  test('refuses all requests if the setup lacks its binding', async () => {
    const edge = testEdge({ vars: withKeys(apiKey('one', { rate: 'RATE_SLOW' })) })
    expect((await edge.ask('/v1/models', { headers: bearer('one') })).status).toBe(429)
  })
})

describe('a configured rate limit without a binding', () => {
  const env = { ...withKeys(apiKey('one', { rate: 'RATE_SLOW' })), MODEL: 'openai/test' } as never

  test.each([undefined, 'RATE_SLOW', {}, { limit: 5 }])(
    '(%j) is named in a 503 for every request',
    async (hasBinding) => {
      vi.spyOn(console, 'error').mockReturnValue()
      const request = new Request('http://127.0.0.1/v1/models', { headers: bearer('one') })
      const response = await worker(fullSetup, fullSurfaces).fetch(request, {
        ...(env as object),
        RATE_SLOW: hasBinding,
      } as never)
      expect([response.status, await response.json()]).toEqual([
        503,
        {
          error: {
            message: 'RATE_SLOW must be a rate limit binding',
            type: 'server_error',
            param: null,
            code: 'misconfigured',
          },
        },
      ])
      vi.restoreAllMocks()
    },
  )

  test('is accepted once it is bound', async () => {
    const app = worker(fullSetup, fullSurfaces)
    const request = new Request('http://127.0.0.1/v1/models', { headers: bearer('one') })
    const response = await app.fetch(request, { ...(env as object), RATE_SLOW: binding(0) } as never)
    expect(response.status).toBe(429)
  })

  test('refuses requests while it does not answer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const log = vi.spyOn(console, 'error').mockReturnValue()
    onTestFinished(() => log.mockRestore())
    const app = worker(fullSetup, fullSurfaces)
    const request = new Request('http://127.0.0.1/v1/models', { headers: bearer('one') })
    const RATE_SLOW = { limit: () => new Promise<never>(() => {}) }
    const answer = app.fetch(request, { ...(env as object), RATE_SLOW } as never)
    await settle()
    await vi.advanceTimersByTimeAsync(2000)
    expect((await answer).status).toBe(500)
    expect(log.mock.calls.join()).toContain('no answer within 2000 ms')
  })
})
