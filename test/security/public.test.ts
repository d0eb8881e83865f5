import { beforeEach, afterEach, describe, expect, test, vi } from 'vitest'
import { reportAddresses } from '../../src/http/runs/take-report.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { keptEdge } from '../http/kept-edge.ts'
import { ROUTES } from './routes.ts'

/** What anyone can send without a key. The routes come from the OpenAPI document, so a new one is here by itself. */

const MINUTE = 60_000
const PUBLIC = ROUTES.filter(({ scopes }) => scopes === undefined)

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

/** A body that notes whether it was read. */
function observedBody(text: string) {
  const observed = { isRead: false }
  const body = new ReadableStream(
    {
      pull: (controller) => {
        observed.isRead = true
        controller.enqueue(new TextEncoder().encode(text))
        controller.close()
      },
    },
    { highWaterMark: 0 },
  )
  return { observed, body }
}

/** An edge with two calls that wait for reports. */
async function publicEdge() {
  const tokens: string[] = []
  const lateTool = tool(
    'render',
    (_, { reportTo }) => {
      tokens.push(reportTo?.token ?? '')
      return { ok: false, error: { code: 'later', message: 'Later.' }, later: { within: 60 * MINUTE } }
    },
    { later: true },
  )
  const addresses = reportAddresses({ secrets: ['a secret of the deployment'], filter: undefined })
  const edge = keptEdge({
    script: [ask(['render'], ['render', '{"n":1}']), say('Done.')],
    tools: [lateTool],
    setup: { reportAddresses: addresses },
  })
  await edge.post('/conversations', { id: 'one' })
  await edge.post('/conversations/one/runs', { input: 'Render it', tools: ['render'] })
  const [token = '', other = ''] = tokens
  const send = (path: string, init: RequestInit & { from?: string } = {}) => {
    const headers = { 'content-type': 'application/json', 'cf-connecting-ip': init.from ?? '192.0.2.1' }
    return edge.fetch(path, { ...init, headers: { ...headers, ...(init.headers as Record<string, string>) } })
  }
  return { ...edge, token, other, send }
}

describe.each(PUBLIC.map((route) => [`${route.method} ${route.path}`, route] as const))('%s', (_, route) => {
  const path = route.path.replace('{token}', 'wrong')
  const init = { method: route.method, ...(route.method === 'POST' && { body: '{}' }) }

  test('is answered 300 times a minute for an address, and not more', async () => {
    const { send } = await publicEdge()
    const statuses = new Set<number>()
    for (let count = 0; count < 300; count++) statuses.add((await send(path, init)).status)
    expect(statuses.has(429)).toBe(false)
    const response = await send(path, init)
    expect([response.status, response.headers.get('retry-after'), await response.json()]).toEqual([
      429,
      '60',
      { status: 429, code: 'rate_limited', detail: 'This address has sent too many requests without a key.' },
    ])
    expect((await send(path, { ...init, from: '192.0.2.2' })).status).not.toBe(429)
    vi.setSystemTime(Date.now() + MINUTE)
    expect((await send(path, init)).status).not.toBe(429)
  })

  test('counts all addresses of an IPv6 network together', async () => {
    const { send } = await publicEdge()
    for (let count = 0; count < 300; count++) await send(path, { ...init, from: `2001:db8::${count.toString(16)}` })
    expect((await send(path, { ...init, from: '2001:db8:0:0:ffff::1' })).status).toBe(429)
    expect((await send(path, { ...init, from: '2001:db8:0:1::1' })).status).not.toBe(429)
  })
})

test('requests with a key are not counted by their address', async () => {
  const { send } = await publicEdge()
  for (let count = 0; count < 301; count++) await send('/health')
  expect((await send('/health')).status).toBe(429)
  expect((await send('/conversations')).status).toBe(200)
})

describe('a report on a call', () => {
  const report = (text: string, headers: Record<string, string> = {}) => {
    const { observed, body } = observedBody(text)
    return { observed, init: { method: 'POST', body, duplex: 'half', headers } as RequestInit }
  }

  test('is not read before its token is checked', async () => {
    const { send, token } = await publicEdge()
    const [payload = ''] = token.split('.')
    for (const wrong of ['wrong', `${payload}.${'A'.repeat(43)}`]) {
      const { observed, init } = report('{"result":1}')
      const response = await send(`/outcomes/${wrong}`, init)
      expect([response.status, observed.isRead]).toEqual([404, false])
    }
    vi.setSystemTime(Date.now() + 8 * 24 * 60 * MINUTE)
    const { observed, init } = report('{"result":1}')
    expect([(await send(`/outcomes/${token}`, init)).status, observed.isRead]).toEqual([410, false])
  })

  test('has at most 256 KiB, announced or not', async () => {
    const { send, token } = await publicEdge()
    const text = JSON.stringify({ result: 'x'.repeat(256 * 1024) })
    for (const headers of [{ 'content-length': String(text.length) }, {}] as Record<string, string>[]) {
      const response = await send(`/outcomes/${token}`, report(text, headers).init)
      expect([response.status, ((await response.json()) as any).code]).toEqual([413, 'body_too_large'])
    }
    const fitting = JSON.stringify({ result: 'x'.repeat(255 * 1024) })
    expect((await send(`/outcomes/${token}`, { method: 'POST', body: fitting })).status).toBe(200)
  })

  test('on progress has at most 16 KiB', async () => {
    const { send, token } = await publicEdge()
    const progress = async (length: number) => {
      const body = JSON.stringify({ progress: { data: 'x'.repeat(length) } })
      return (await send(`/outcomes/${token}`, { method: 'POST', body })).status
    }
    expect([await progress(16 * 1024 - 11), await progress(16 * 1024 - 10)]).toEqual([200, 413])
  })

  test('is refused unread once 4 MiB were reported on the call within a minute', async () => {
    const { send, token, other } = await publicEdge()
    const text = '{"progress":{"message":"half"}}'
    const send1 = (to: string) => {
      const { observed, init } = report(text, { 'content-length': String(128 * 1024) })
      return send(`/outcomes/${to}`, init).then(({ status }) => [status, observed.isRead])
    }
    for (let count = 0; count < 32; count++) expect((await send1(token))[1]).toBe(true)
    expect(await send1(token)).toEqual([429, false])
    expect((await send1(other))[1]).toBe(true)
    vi.setSystemTime(Date.now() + MINUTE)
    expect((await send1(token))[1]).toBe(true)
  })

  test('counts as 1 KiB if it is smaller, whatever its address is', async () => {
    const { send, token } = await publicEdge()
    const body = '{"progress":{"fraction":0.5}}'
    const headers = { 'content-length': String(body.length) }
    for (let count = 0; count < 4096; count++) {
      const { status } = await send(`/outcomes/${token}`, { method: 'POST', body, headers })
      if (status !== 200) expect([count, status]).toEqual([count, 200])
    }
    expect((await send(`/outcomes/${token}`, { method: 'POST', body, headers })).status).toBe(429)
  })
})

test('a body with half of a character is parsed as fast as any other, without a function for each value', async () => {
  const { fetch } = keptEdge({ script: [], tools: [tool('echo', ({ text }) => String(text))] })
  const echo = async (escaped: string) => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' } }
    const response = await fetch('/tools/echo/call', { ...init, body: `{"arguments":{"text":"${escaped}"}}` })
    return ((await response.json()) as any).content[0].text
  }
  const parse = vi.spyOn(JSON, 'parse')
  const texts = {
    [String.raw`\ud83d`]: '\ufffd',
    [String.raw`\ude00`]: '\ufffd',
    [String.raw`\ud83d\ude00`]: '😀',
    [String.raw`\uD83D\uDE00\ude00`]: '😀\ufffd',
    [String.raw`\ud83d\ud83d\ude00`]: '\ufffd😀',
    [String.raw`\\ud83d`]: String.raw`\ud83d`,
    [String.raw`\\\ud83d`]: '\\\ufffd',
  }
  for (const [escaped, text] of Object.entries(texts)) expect([escaped, await echo(escaped)]).toEqual([escaped, text])
  expect(parse.mock.calls.filter(([, reviver]) => reviver)).toEqual([])
  parse.mockRestore()
})
