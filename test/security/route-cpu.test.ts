import { githubWebhooks, mailApprovers, slackApprovers, webhookTrigger } from 'edgecall'
import { describe, expect, test } from 'vitest'
import { routes } from '../../src/http/app/edge.ts'
import { reportAddresses } from '../../src/http/runs/take-report.ts'
import { ask, tool } from '../fixtures/play.ts'
import { allSurfaces, CALLBACK, signInEdge } from '../fixtures/sign-in.ts'
import { keptEdge } from '../http/kept-edge.ts'
import { askingEdge } from '../approvals/asking-edge.ts'
import { triggeredEdge } from '../triggers/triggered-edge.ts'
import { cpuTime } from './cpu-time.ts'
import { fill, WORST, worstBodies } from './worst-bodies.ts'
import { ROUTES } from './routes.ts'

/**
 * What anyone may have an edge compute, without a key: on each public route at most 125 ms of CPU, for the worst that it
 * reads. The paths come from the surfaces, so a new one is here by itself, and needs its worst requests.
 */

const MOST_MS = 125
/** What Cloudflare lets in: https://developers.cloudflare.com/workers/platform/limits. */
const MOST_URL = 16 * 1024
const MOST_HEADERS = 128 * 1024
/** The most bytes of a body without a key; of one to the authorization server. */
const MOST_BODY = 256 * 1024
const MOST_SIGN_IN = 16 * 1024

const PUBLIC = ['/health', ...allSurfaces.flatMap((each) => (each.isPublic ? Object.keys(each.routes) : []))]

const times = (count: number, piece: (at: number) => string) =>
  Array.from({ length: Math.floor(count) }, (_, at) => piece(at)).join('')
/** Returns a text of at most so many characters of such pieces. */
const full = (most: number, piece: (at: number) => string) => times(most / piece(99_999).length, piece)

type Send = (path: string, init?: RequestInit) => Response | Promise<Response>

/** Sends requests from an address of its own each, so that none is refused for its rate. */
function fromAnywhere(send: Send): Send {
  let count = 0
  return (path, init = {}) => {
    const headers = new Headers(init.headers)
    headers.set('cf-connecting-ip', `192.0.${Math.floor(count / 250)}.${count++ % 250}`)
    return send(path, { ...init, headers })
  }
}

async function expectCheap(requests: Readonly<Record<string, () => Response | Promise<Response>>>): Promise<void> {
  for (const [what, send] of Object.entries(requests)) {
    const { ms } = await cpuTime(MOST_MS, send)
    if (ms > MOST_MS) expect.soft(`${what}: ${ms} ms`).toBe(`at most ${MOST_MS} ms`)
  }
}

const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'
const post = (body: string, type: string, headers: object = {}): RequestInit => {
  return { method: 'POST', body, headers: { 'content-type': type, ...headers } }
}

/** The worst bodies and queries of each public path. Those of `anyRequest` are tried on all. */
const WORST_PUBLIC: Readonly<Record<string, () => Promise<Record<string, () => Response | Promise<Response>>>>> = {
  '/': async () => ({}),
  '/health': async () => ({}),
  '/openapi.json': async () => ({}),
  '/.well-known/oauth-protected-resource': async () => ({}),
  '/.well-known/oauth-authorization-server': async () => ({}),
  '/connections/callback': async () => ({}),
  '/oauth/token': async () => {
    const edge = signInEdge()
    const client = await edge.register()
    const send = fromAnywhere(edge.send)
    const fields = `client_id=${client}&grant_type=refresh_token&refresh_token=`
    const bodies = {
      'many fields': full(MOST_SIGN_IN, (at) => `${at}=&`),
      'many fields, 199 kB': times(40_000, (at) => `${at}=&`),
      'equal fields': full(MOST_SIGN_IN, () => 'resource=a&'),
      'a long token': `${fields}a:b:${full(16_000, () => '%41')}`,
      'a token of colons': `${fields}${':'.repeat(16_000)}`,
      'many scopes': `${fields}a:b:c&scope=${'a+'.repeat(8000)}`,
      'a long assertion': `client_id=${client}&client_assertion_type=x&client_assertion=${'a.'.repeat(7000)}`,
    }
    return Object.fromEntries(
      Object.entries(bodies).map(([what, body]) => [what, () => send('/oauth/token', post(body, FORM))]),
    )
  },
  '/oauth/register': async () => {
    const send = fromAnywhere(signInEdge().send)
    const uris = (make: (at: number) => string) =>
      fill(MOST_SIGN_IN, (parts) => ({ redirect_uris: Array.from({ length: parts }, (_, at) => make(at)) }))
    const bodies = {
      'many redirect URIs': uris(() => 'a:b'),
      'many loopback URIs': uris((at) => `http://[::1]:${at % 65_536}`),
      'many fields': `{${full(MOST_SIGN_IN - 8, (at) => `"a${at}":1,`)}"b":1}`,
      'many names': `{"redirect_uris":["a:b"],${full(15_000, (at) => `"logo_uri#${at}":"http://a/",`)}"b":1}`,
      levels: '['.repeat(8000) + ']'.repeat(8000),
      'a large body': `{"redirect_uris":["a:b"],"client_name":"${'a'.repeat(MOST_BODY)}"}`,
    }
    return Object.fromEntries(
      Object.entries(bodies).map(([what, body]) => [what, () => send('/oauth/register', post(body, JSON_TYPE))]),
    )
  },
  '/oauth/authorize': async () => {
    const edge = signInEdge()
    const many = JSON.parse(
      fill(MOST_SIGN_IN - 200, (parts) => Array.from({ length: parts }, (_, at) => `http://[::1]:${at % 65_536}/a`)),
    ) as string[]
    const client = await edge.register({ redirect_uris: [...many, 'http://127.0.0.1/a'] })
    const send = fromAnywhere(edge.send)
    const challenge = { response_type: 'code', code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' }
    const query = (redirect: string) =>
      new URLSearchParams({ client_id: client, redirect_uri: redirect, ...challenge }).toString()
    const address = `/oauth/authorize?${query('http://127.0.0.1/a')}`
    const most = MOST_URL - address.length - 40
    return {
      'many redirect URIs': () => send(address),
      'a long redirect URI': () => send(`/oauth/authorize?${query(CALLBACK)}${'a.'.repeat(7000)}`),
      'many scopes': () => send(`${address}&scope=${full(most, () => 'a+')}`),
      'many fields': () => send(`${address}${full(most, (at) => `&${at}=`)}`),
      'a long state': () => send(`${address}&state=${full(most, () => '%ff')}`),
      'many resources': () => send(`${address}${full(most, (at) => `&resource=${at}`)}`),
      'a form of many fields': () =>
        send(
          '/oauth/authorize',
          post(
            full(MOST_SIGN_IN, (at) => `${at}=&`),
            FORM,
          ),
        ),
      'a form of many scopes': () =>
        send(
          '/oauth/authorize',
          post(
            full(MOST_BODY, () => 'scope=a&'),
            FORM,
          ),
        ),
      'many cookies': () =>
        send('/oauth/authorize', post('handle=a', FORM, { cookie: full(MOST_HEADERS, (at) => `${at}=a;`) })),
    }
  },
  '/outcomes': async () => {
    const tokens: string[] = []
    const render = tool(
      'render',
      (_, { reportTo }) => {
        tokens.push(reportTo?.token ?? '')
        return { ok: false, error: { code: 'later', message: 'Later.' }, later: { within: 3_600_000 } }
      },
      { later: true },
    )
    const route = ROUTES.find(({ body }) => body === 'OutcomeReport')
    const texts = [...worstBodies(route?.body ?? '', {} as never, MOST_BODY)]
    const calls = texts.map((_, at): [string, object] => ['render', { at }])
    const edge = keptEdge({
      script: [ask(...calls)],
      tools: [render],
      vars: { MAX_CALLS_PER_TOOL: '500', MAX_CALLS: '500' },
      setup: { reportAddresses: reportAddresses({ secrets: ['a secret of the deployment'], filter: undefined }) },
    })
    await edge.post('/conversations', { id: 'one' })
    await edge.post('/conversations/one/runs', { input: 'Render it', tools: ['render'] })
    return Object.fromEntries(
      texts.map(([what, body], at) => [what, () => edge.fetch(`/outcomes/${tokens[at]}`, post(body, JSON_TYPE))]),
    )
  },
  '/triggers': async () => {
    const trigger = webhookTrigger({ as: 'desk', scheme: githubWebhooks('HOOK_SECRET'), start: () => undefined })
    const edge = triggeredEdge({ hook: trigger })
    const send = async (headers: Record<string, string> = {}) => {
      const { status } = await edge.post('hook', body, headers)
      return new Response(null, { status })
    }
    const body = 'é'.repeat(512 * 1024)
    return {
      'a body that nobody has signed': () => send(),
      'a body with a wrong signature': () => send({ 'x-hub-signature-256': `sha256=${'a'.repeat(64)}` }),
    }
  },
  '/approvers': async () => {
    const finance = slackApprovers({
      token: 'T',
      signingSecret: 'SECRET',
      channel: 'C',
      team: 'T',
      people: { U: 'ann' },
    })
    const board = mailApprovers({ binding: 'MAIL', from: 'edge@example.com', people: { 'ann@example.com': 'ann' } })
    const send = fromAnywhere(askingEdge({ finance, board }, { env: { SECRET: 'a, b' } }).send)
    const time = String(Math.floor(Date.now() / 1000))
    const signature = { 'x-slack-request-timestamp': time, 'x-slack-signature': `v0=${'a'.repeat(64)}` }
    const bodies = {
      'a large text': 'é'.repeat(MOST_BODY / 2),
      'many fields': full(MOST_BODY, () => 'a&'),
      'a long payload': `payload=${full(MOST_BODY - 10, () => '%5B')}`,
      'a body that is too large': 'a'.repeat(4 * MOST_BODY),
    }
    const token = `${'A'.repeat(4000)}.${'A'.repeat(43)}`
    return {
      ...Object.fromEntries(
        Object.entries(bodies).flatMap(([what, body]) => [
          [`${what}, signed by nobody`, () => send('/approvers/finance', post(body, FORM, signature))],
          [`${what}, for a link`, () => send(`/approvers/board/${token}`, post(body, FORM))],
        ]),
      ),
      'a long token': () => send(`/approvers/board/${'A'.repeat(MOST_URL - 100)}.${'A'.repeat(43)}`),
      'a token of the greatest length': () => send(`/approvers/board/${token}`),
      'a token of dots': () => send(`/approvers/board/${'.'.repeat(MOST_URL - 100)}`),
    }
  },
}

/** What is bad for any route: paths, queries, cookies and keys of the greatest length. */
function anyRequest(path: string, send: Send): Record<string, () => Response | Promise<Response>> {
  const start = path === '/' ? '' : path
  const header = (name: string, value: string) => () => send(path, { headers: { [name]: value } })
  return {
    'a path of wrong escapes': () => send(`${start}/${full(MOST_URL - start.length, () => '%ff/')}`),
    'a path of slashes': () => send(`${start}/a${'/'.repeat(MOST_URL - start.length)}`),
    'a query of many fields': () => send(`${path}?${full(MOST_URL, (at) => `${at}=&`)}`),
    'many cookies': header(
      'cookie',
      full(MOST_HEADERS, (at) => `${at}=a;`),
    ),
    'a long key': header('authorization', `Bearer ${'a'.repeat(MOST_HEADERS)}`),
    'a key of spaces': header('authorization', `Bearer ${' '.repeat(MOST_HEADERS)}x x`),
    'a key of parts': header('authorization', `Bearer ${full(MOST_HEADERS, () => 'a.')}`),
    'a long token': header('authorization', `Bearer ${'a'.repeat(1000)}.${'A'.repeat(MOST_HEADERS)}.a`),
    'a token of a sign-in': header('authorization', `Bearer a:b:${'a'.repeat(MOST_HEADERS)}`),
    'long credentials': header('authorization', `Basic ${full(MOST_HEADERS, () => 'QUFB')}`),
    'a long content type': header('content-type', `application/${full(MOST_HEADERS, () => '+a;')}`),
    'a long list of headers': () =>
      send(path, { method: 'OPTIONS', headers: { 'access-control-request-headers': full(MOST_HEADERS, () => 'a, ') } }),
  }
}

test('each public path has its worst requests', () => {
  expect(PUBLIC.filter((path) => !Object.hasOwn(WORST_PUBLIC, path))).toEqual([])
  // Whatever is served without a key is on one of these paths.
  const served = routes(allSurfaces).routes.map(({ path }) => path)
  expect(PUBLIC.filter((path) => !served.some((each) => each === path || each.startsWith(`${path}/`)))).toEqual([])
  expect(ROUTES.filter(({ scopes, body }) => !scopes && body !== undefined && !WORST[body])).toEqual([])
})

describe.each(PUBLIC)('%s', (path) => {
  test('takes at most 125 ms of CPU for whatever anyone sends', async () => {
    await expectCheap({ ...anyRequest(path, fromAnywhere(signInEdge().send)), ...(await WORST_PUBLIC[path]?.()) })
  })
})

test('a request without a key, or with a wrong one, costs at most 125 ms on every other route', async () => {
  const send = fromAnywhere(signInEdge().send)
  const body = 'x'.repeat(1024 * 1024)
  for (const { method, path, scopes } of ROUTES)
    if (scopes)
      await expectCheap({
        [`${method} ${path}`]: () =>
          send(path, {
            method,
            ...(method !== 'GET' && { body }),
            headers: { authorization: `Bearer ${'a'.repeat(MOST_HEADERS)}` },
          }),
      })
})

describe('a request to the authorization server', () => {
  const statusOf = async (body: string, path = '/oauth/token') =>
    (await signInEdge().send(path, post(body, FORM))).status

  test('has at most 20 fields, and is refused before they are compared', async () => {
    const edge = signInEdge()
    const fields = (count: number) => times(count, (at) => `${at === 0 ? '' : '&'}f${at}=a`)
    const refusal = await edge.send('/oauth/token', post(fields(21), FORM))
    expect([refusal.status, await refusal.json()]).toEqual([
      400,
      { error: 'invalid_request', error_description: 'A form has at most 20 fields.' },
    ])
    expect(await statusOf(fields(20))).toBe(401)
    expect(await (await edge.send('/oauth/authorize', post(fields(24), FORM))).text()).toContain('at most 23 fields')
  })

  test('has at most 16 kB', async () => {
    expect([await statusOf('a'.repeat(16 * 1024)), await statusOf('a'.repeat(16 * 1024 + 1))]).toEqual([401, 413])
    expect(await statusOf('a'.repeat(16 * 1024 + 1), '/oauth/authorize')).toBe(413)
    expect(await statusOf('a'.repeat(16 * 1024 + 1), '/oauth/register')).toBe(413)
  })
})
