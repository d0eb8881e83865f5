import { describe, expect, test } from 'vitest'
import { type OutboundGrant, sendOutbound } from '../../../src/definitions/code/outbound.ts'

const VALUE = 's3cr+t/"é'
const grant: OutboundGrant = {
  origins: { 'https://api.example.com': ['SECRET_A'], 'https://b.example.com:8443': [] },
  secrets: [{ name: 'SECRET_A', value: VALUE, standIn: 'SECRET_A.stand-in' }],
}
const NO_SECRETS = { ...grant, secrets: [] }

/** What went out for a request, and what came back for that answer. */
async function send(
  url: string,
  init: RequestInit = {},
  { as = grant, answer = new Response('fine') }: { as?: OutboundGrant; answer?: Response } = {},
) {
  const requests: Request[] = []
  const fetch = async (request: Request) => {
    requests.push(request)
    return answer
  }
  const back = await sendOutbound(new Request(url, init), as, fetch).catch((error: Error) => error.message)
  const [out] = requests
  return { back, out, body: await out?.text() }
}

describe('a request of code', () => {
  test.each(['https://api.example.com/v1?q=1', 'https://API.example.com:443/', 'https://b.example.com:8443/'])(
    'to a granted origin is sent: %s',
    async (url) => {
      for (const as of [grant, NO_SECRETS]) {
        const { back, out } = await send(url, { method: 'POST', body: 'x', redirect: 'follow' }, { as })
        expect([out?.url, out?.redirect, out?.method]).toEqual([new URL(url).href, 'manual', 'POST'])
        expect(back instanceof Response && (await back.text())).toBe('fine')
      }
    },
  )

  test.each([
    'http://api.example.com/',
    'https://api.example.com:444/',
    'https://api.example.com./',
    'https://x.api.example.com/',
    'https://127.0.0.1/',
    'https://constructor/',
  ])('to any other origin is refused: %s', async (url) => {
    const { back, out } = await send(url)
    expect([back, out]).toEqual([
      `This tool may not reach ${new URL(url).origin}: name the host in code.hosts.`,
      undefined,
    ])
  })

  test('is refused if the Worker was loaded without a grant', async () => {
    expect((await send('https://api.example.com/', {}, { as: {} as OutboundGrant })).out).toBeUndefined()
  })

  test('with a user name is refused', async () => {
    const request = { url: 'https://u:p@api.example.com/', headers: new Headers() } as Request
    await expect(sendOutbound(request, grant)).rejects.toThrow('A URL must not contain a user name; use a header.')
  })
})

describe('a stand-in for a secret', () => {
  test.each([
    ['application/json', '{"a":"SECRET_A.stand-in"}', '{"a":"s3cr+t/\\"é"}'],
    ['application/x-www-form-urlencoded', 'a=SECRET_A.stand-in', `a=${encodeURIComponent(VALUE)}`],
    ['text/plain', 'SECRET_A.stand-in SECRET_A.stand-in', `${VALUE} ${VALUE}`],
    ['image/png', 'SECRET_A.stand-in', 'SECRET_A.stand-in'],
  ])('in a body of %s is replaced by the secret, encoded for its place', async (type, body, filled) => {
    const response = await send('https://api.example.com/', { method: 'POST', headers: { 'content-type': type }, body })
    expect(response.body).toBe(filled)
  })

  test('in a header is replaced by the secret', async () => {
    const { out } = await send('https://api.example.com/', {
      headers: { 'x-key': 'Key SECRET_A.stand-in', 'x-b': 'b' },
    })
    expect([out?.headers.get('x-key'), out?.headers.get('x-b')]).toEqual([`Key ${VALUE}`, 'b'])
  })

  test('is refused in a URL, for a host without the grant, and in a header that cannot hold the value', async () => {
    const elsewhere = 'https://b.example.com:8443/'
    const header = { headers: { 'x-key': 'SECRET_A.stand-in' } }
    const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '"SECRET_A.stand-in"' }
    const many = { ...grant, secrets: grant.secrets.map((each) => ({ ...each, value: 'a\nb' })) }
    const refusals = [
      await send('https://api.example.com/?key=SECRET_A.stand-in'),
      await send(elsewhere, header),
      await send(elsewhere, json),
      await send('https://api.example.com/', header, { as: many }),
      await send('https://api.example.com/', { ...json, body: `"${'x'.repeat(1024 * 1024)}"` }),
    ]
    expect(refusals.map(({ back, out }) => [back, out])).toEqual([
      ['Put a secret in a header or the body: URLs end up in logs.', undefined],
      ['SECRET_A may not go to https://b.example.com:8443.', undefined],
      ['SECRET_A may not go to https://b.example.com:8443.', undefined],
      ['The value of the header "x-key" is not one line of Latin-1 text.', undefined],
      ['A tool with secrets sends at most 1048576 bytes of text.', undefined],
    ])
  })
})

describe('the response to a request of code', () => {
  test('has its secrets removed from text and headers', async () => {
    const headers = {
      'content-type': 'application/problem+json',
      'content-length': '9',
      'x-sent': encodeURIComponent(VALUE),
    }
    const answer = new Response(JSON.stringify({ key: VALUE }), { status: 401, headers })
    const { back } = await send('https://api.example.com/', {}, { answer })
    if (!(back instanceof Response)) throw new Error(back)
    expect([back.status, await back.text()]).toEqual([401, '{"key":"[redacted]"}'])
    expect(Object.fromEntries(back.headers)).toEqual({
      'content-type': 'application/problem+json',
      'x-sent': '[redacted]',
    })
  })

  test('is passed on unchanged if it is binary or empty', async () => {
    const bytes = new Uint8Array([0, 255, 10])
    const image = await send(
      'https://api.example.com/',
      {},
      { answer: new Response(bytes, { headers: { 'content-type': 'image/png' } }) },
    )
    const nothing = await send('https://api.example.com/', {}, { answer: new Response(null, { status: 204 }) })
    expect(image.back instanceof Response && new Uint8Array(await image.back.arrayBuffer())).toEqual(bytes)
    expect(nothing.back instanceof Response && nothing.back.status).toBe(204)
  })

  test('is streamed, whatever its length', async () => {
    const text = `${'x'.repeat(1024 * 1024)}${VALUE}`
    const { back } = await send('https://api.example.com/', {}, { answer: new Response(text) })
    expect(back instanceof Response && (await back.text()) === `${'x'.repeat(1024 * 1024)}[redacted]`).toBe(true)
  })
})
