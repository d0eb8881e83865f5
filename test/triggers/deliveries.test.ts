import {
  createCipheriv,
  createHmac,
  generateKeyPairSync,
  type KeyObject,
  publicEncrypt,
  randomBytes,
  sign,
} from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import * as services from '../../src/triggers/services.ts'
import { type WebhookEvent, webhookTrigger } from '../../src/triggers/triggers.ts'
import type { SignedRequest, WebhookScheme } from '../../src/triggers/verify.ts'
import recorded from '../fixtures/webhook-deliveries.json' with { type: 'json' }
import { triggeredEdge } from './triggered-edge.ts'

/**
 * Deliveries of services: the bodies are those of their documentation, and the signatures those of its examples or made by
 * the library of the service (`source`). Each is accepted as it is, and refused once any byte of what is signed differs.
 */
interface Delivery {
  readonly service: string
  readonly delivery: string
  readonly source: string
  readonly scheme: string
  readonly secret: string
  /** When it was signed, in epoch milliseconds. */
  readonly now: number
  readonly method?: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** What the body says: its JSON, or its fields. */
  readonly content?: unknown
}
const DELIVERIES: readonly Delivery[] = recorded as never

const SCHEMES: Readonly<Record<string, (secret: string) => WebhookScheme>> = {
  discordWebhooks: services.discordWebhooks,
  githubWebhooks: services.githubWebhooks,
  graphWebhooks: services.graphWebhooks,
  metaWebhooks: (secret) => services.metaWebhooks(secret, 'HOOK_VERIFY_TOKEN'),
  shopifyWebhooks: services.shopifyWebhooks,
  slackWebhooks: services.slackWebhooks,
  standardWebhooks: services.standardWebhooks,
  stripeWebhooks: services.stripeWebhooks,
  twilioWebhooks: services.twilioWebhooks,
}
const schemeOf = (name: string): WebhookScheme => SCHEMES[name]?.('HOOK_SECRET') ?? expect.unreachable(name)

/** The headers that have a signature, and those that have its time. */
const SIGNATURES =
  /^(?:svix|webhook)-signature$|signature-256$|slack-signature$|hmac-sha256$|twilio-signature$|ed25519$/
const TIMES = /timestamp$/
const SIGN_URLS = ['twilioWebhooks']
/** The schemes whose signatures are of a time. */
const TIMED = ['standardWebhooks', 'stripeWebhooks', 'slackWebhooks', 'discordWebhooks']

const requestOf = ({ method = 'POST', url, headers, body, now }: Delivery, changes: Partial<SignedRequest> = {}) => {
  const bytes = changes.bytes ?? Uint8Array.from(Buffer.from(body))
  return { method, url, headers: new Headers(headers), body: new TextDecoder().decode(bytes), now, ...changes, bytes }
}

/** Returns the text, once with each of its characters replaced by another. */
const changedTexts = (text: string) =>
  Array.from(text, (character, at) => {
    // A signature in hex has the same bytes in capitals.
    const others = new Set([character === 'A' ? 'B' : 'A', character.toUpperCase(), character.toLowerCase()])
    others.delete(character)
    return [...others].map((other) => text.slice(0, at) + other + text.slice(at + 1))
  }).flat()

const changedBytes = (bytes: Uint8Array) =>
  Array.from(bytes, (byte, at) => [1, 128].map((bit) => Uint8Array.from(bytes).fill(byte ^ bit, at, at + 1))).flat()

const fieldsOf = (form: string) => [...new URLSearchParams(form)].map(String).toSorted().join()

describe.each(DELIVERIES)('$service: $delivery', (delivery) => {
  const scheme = schemeOf(delivery.scheme)
  const verify = (changes?: Partial<SignedRequest>, secrets = [delivery.secret]) =>
    scheme.verify(requestOf(delivery, changes), secrets, {})

  test('is accepted with its secret, also beside another one, and with no other', async () => {
    const id = await verify()
    expect(id).toEqual(expect.any(String))
    expect(await verify({}, ['another secret', delivery.secret])).toBe(id)
    expect(await verify({}, [delivery.secret, 'another secret'])).toBe(id)
    const refusals = [[], [''], ['another secret'], [`${delivery.secret}x`]].map((secrets) => verify({}, secrets))
    expect(await Promise.all(refusals)).toEqual([undefined, undefined, undefined, undefined])
  })

  test('is refused if any byte of its body differs', async () => {
    const { body, secret } = delivery
    const bytes = Buffer.from(body)
    // Microsoft Graph signs nothing: its secret is in the body.
    const start = delivery.scheme === 'graphWebhooks' ? body.indexOf(secret) : 0
    const end = delivery.scheme === 'graphWebhooks' ? start + secret.length : bytes.length
    const changes = changedBytes(bytes.subarray(start, end)).map((part) =>
      Uint8Array.from([...bytes.subarray(0, start), ...part, ...bytes.subarray(end)]),
    )
    expect(changes.length).toBe(2 * (end - start))
    for (const changed of changes) {
      // Twilio signs the fields, in which `%2b` and `%2B` are the same.
      const isForm = delivery.scheme === 'twilioWebhooks' && !delivery.url.includes('bodySHA256')
      if (isForm && fieldsOf(body) === fieldsOf(new TextDecoder().decode(changed))) continue
      if ((await verify({ bytes: changed })) !== undefined) expect.soft(Buffer.from(changed).toString()).toBe('refused')
    }
  })

  test('is refused if any character of its signature or its time differs', async () => {
    const names = Object.keys(delivery.headers)
    const isStripe = delivery.scheme === 'stripeWebhooks'
    const signing = names.filter((name) => SIGNATURES.test(name) || TIMES.test(name) || name === 'stripe-signature')
    expect(signing.length).toBe(
      { graphWebhooks: 0, standardWebhooks: 2, slackWebhooks: 2, discordWebhooks: 2 }[delivery.scheme] ?? 1,
    )
    for (const name of signing) {
      const value = delivery.headers[name] ?? ''
      // Stripe's header has other signatures after the one that counts.
      const [counts = ''] = isStripe ? (/^t=\d+,v1=[0-9a-f]+/.exec(value) ?? []) : [value]
      for (const changed of changedTexts(counts)) {
        const headers = new Headers({
          ...delivery.headers,
          [name]: isStripe ? changed : value.replace(counts, changed),
        })
        if ((await verify({ headers })) !== undefined) expect.soft(`${name}: ${changed}`).toBe('refused')
      }
      const { [name]: _, ...others } = delivery.headers
      expect(await verify({ headers: new Headers(others) })).toBeUndefined()
    }
  })

  test.runIf(SIGN_URLS.includes(delivery.scheme))('is refused if any character of its URL differs', async () => {
    for (const url of changedTexts(delivery.url)) {
      // These are no other URLs: a scheme and a host have no capitals.
      if (!URL.canParse(url) || new URL(url).href === new URL(delivery.url).href) continue
      if ((await verify({ url })) !== undefined) expect.soft(url).toBe('refused')
    }
    expect(await verify({ url: `${delivery.url}&x=1` })).toBeUndefined()
  })

  test('counts for five minutes, if its time is signed, and else for the one run of its body', async () => {
    const at = async (ms: number) => (await verify({ now: delivery.now + ms })) !== undefined
    const isTimed = TIMED.includes(delivery.scheme)
    const ages = [-301_000, -299_000, 299_000, 301_000, 365 * 24 * 3600_000]
    expect(await Promise.all(ages.map(at))).toEqual(isTimed ? [false, true, true, false, false] : ages.map(() => true))
    expect(await verify({ now: delivery.now + 200_000 })).toBe(await verify())
  })

  test.runIf(delivery.url.includes('/triggers/hook'))('starts one run, with what its body says', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: delivery.now })
    const events: WebhookEvent[] = []
    const start = (event: WebhookEvent) => {
      events.push(event)
      return { run: { input: event.text || 'x' } }
    }
    const { own, send } = triggeredEdge(
      { hook: webhookTrigger({ scheme, as: 'hook', start }) },
      { env: { HOOK_SECRET: `old secret, ${delivery.secret}` } },
    )
    const { method = 'POST', headers, body } = delivery
    for (let time = 0; time < 2; time++) {
      const answer = await send(delivery.url, { method, headers, ...(method === 'POST' && { body }) })
      expect(answer.status).toBe(scheme.acknowledge?.(requestOf(delivery)).status ?? 202)
    }
    expect(events.map((event) => event.body)).toEqual([delivery.content, delivery.content])
    expect(Buffer.from(events[0]?.bytes ?? []).toString()).toBe(body)
    expect(own.objects.size).toBe(1)
    const tampered = await send(delivery.url, { method: 'POST', headers, body: `${body} ` })
    expect(tampered.status).toBe(delivery.scheme === 'graphWebhooks' ? 202 : 401)
  })
})

afterEach(() => void vi.useRealTimers())

test('there are deliveries of ten services and more, of every scheme', () => {
  expect([...new Set(DELIVERIES.map(({ service }) => service))].toSorted()).toEqual([
    'Clerk',
    'Discord',
    'GitHub',
    'Meta',
    'Microsoft Graph',
    'Resend',
    'Shopify',
    'Slack',
    'Standard Webhooks',
    'Stripe',
    'Svix',
    'Twilio',
  ])
  expect([...new Set(DELIVERIES.map(({ scheme }) => scheme))].toSorted()).toEqual(Object.keys(SCHEMES))
})

test('a body with a byte order mark, or that is not UTF-8, counts as it was sent', async () => {
  const scheme = schemeOf('githubWebhooks')
  for (const start of [[0xef, 0xbb, 0xbf], [0xff], [0xef, 0xbf, 0xbd]]) {
    const bytes = Uint8Array.from([...start, ...Buffer.from('{"a":1}')])
    const signature = createHmac('sha256', 's').update(bytes).digest('hex')
    const headers = new Headers({ 'x-hub-signature-256': `sha256=${signature}` })
    const request = { method: 'POST', url: 'https://x.example/', headers, body: '', now: 0 }
    expect(await scheme.verify({ ...request, bytes }, ['s'], {})).toEqual(expect.any(String))
    const others = [bytes.subarray(1), Uint8Array.from([0x20, ...bytes]), bytes.subarray(start.length)]
    for (const other of others)
      expect(await scheme.verify({ ...request, bytes: Uint8Array.from(other) }, ['s'], {})).toBeUndefined()
    // With a time before the body.
    const timed = createHmac('sha256', 's').update('0.').update(bytes).digest('hex')
    const stripe = { ...request, headers: new Headers({ 'stripe-signature': `t=0,v1=${timed}` }) }
    expect(await schemeOf('stripeWebhooks').verify({ ...stripe, bytes }, ['s'], {})).toEqual(expect.any(String))
  }
})

test('each notification of Microsoft Graph must name the secret', async () => {
  const verify = async (value: unknown) => {
    const body = JSON.stringify({ value })
    const bytes = Uint8Array.from(Buffer.from(body))
    const request = { method: 'POST', url: 'https://x.example/', headers: new Headers(), body, bytes, now: 0 }
    return schemeOf('graphWebhooks').verify(request, ['s'], {})
  }
  const ours = { clientState: 's', resource: 'me' }
  expect(await verify([ours, ours])).toEqual(expect.any(String))
  for (const value of [
    [ours, { ...ours, clientState: 't' }],
    [{ resource: 'me' }, ours],
    [ours, null],
    [],
    's',
    undefined,
  ])
    expect(await verify(value)).toBeUndefined()
})

describe('resource data of Microsoft Graph', () => {
  const keyPair = () => generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString()
  /** Encrypts a resource as https://learn.microsoft.com/graph/change-notifications-with-resource-data says. */
  const encrypt = (resource: string, owner: KeyObject) => {
    const key = randomBytes(32)
    const cipher = createCipheriv('aes-256-cbc', key, key.subarray(0, 16))
    const data = Buffer.concat([cipher.update(resource), cipher.final()])
    return {
      data: data.toString('base64'),
      dataSignature: createHmac('sha256', key).update(data).digest('base64'),
      dataKey: publicEncrypt({ key: owner, oaepHash: 'sha1' }, key).toString('base64'),
      encryptionCertificateId: 'mine',
    }
  }
  const [old, own, foreign] = [keyPair(), keyPair(), keyPair()]
  const RESOURCE = '{"body":{"content":"Grüße"},"id":9007199254740993}'

  const deliver = async (content: unknown, keys: string) => {
    const events: WebhookEvent[] = []
    const start = (event: WebhookEvent) => {
      events.push(event)
      return { run: { input: 'x' } }
    }
    const scheme = services.graphWebhooks('HOOK_SECRET', 'GRAPH_KEY')
    const { send } = triggeredEdge(
      { hook: webhookTrigger({ scheme, as: 'x', start }) },
      { env: { HOOK_SECRET: 's', GRAPH_KEY: keys } },
    )
    const plain = { clientState: 's', resource: 'users/2', resourceData: { id: '2' } }
    const value = [{ clientState: 's', resource: 'chats/1', encryptedContent: content }, plain]
    const body = JSON.stringify({ value, validationTokens: ['x'] })
    const headers = { 'content-type': 'application/json' }
    const { status } = await send('https://edge.example.com/triggers/hook', { method: 'POST', body, headers })
    return { status, value: (events[0]?.body as { value: unknown } | undefined)?.value }
  }
  const right = {
    status: 202,
    value: [
      {
        clientState: 's',
        resource: 'chats/1',
        resourceData: { body: { content: 'Grüße' }, id: '9007199254740993' },
      },
      { clientState: 's', resource: 'users/2', resourceData: { id: '2' } },
    ],
  }
  const refusal = { status: 401, value: undefined }

  test('is decrypted with the private key, or with one of several while it is replaced', async () => {
    expect(await deliver(encrypt(RESOURCE, own.publicKey), pem(own.privateKey))).toEqual(right)
    const both = `${pem(old.privateKey)},${pem(own.privateKey).replaceAll('\n', '\\n')}`
    expect(await deliver(encrypt(RESOURCE, own.publicKey), both)).toEqual(right)
    expect(await deliver(encrypt(RESOURCE, old.publicKey), both)).toEqual(right)
  })

  test('is refused if it was encrypted for another key, or changed', async () => {
    const content = encrypt(RESOURCE, own.publicKey)
    const key = pem(own.privateKey)
    expect(await deliver(encrypt(RESOURCE, foreign.publicKey), key)).toEqual(refusal)
    const other = encrypt(RESOURCE, own.publicKey)
    for (const name of ['data', 'dataSignature', 'dataKey'] as const)
      expect(await deliver({ ...content, [name]: other[name] }, key)).toEqual(refusal)
    expect(await deliver({}, key)).toEqual(refusal)
    expect(await deliver('x', key)).toEqual(refusal)
  })
})

describe('a request that only asks whether this is the right address', () => {
  const NOW = Date.parse('2026-03-02T10:20:30Z')
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOW }))
  const seconds = String(NOW / 1000)
  const hooked = (scheme: string, env: Record<string, unknown>) =>
    triggeredEdge(
      { hook: webhookTrigger({ scheme: schemeOf(scheme), as: 'x', start: () => expect.unreachable() }) },
      { env },
    )
  const HOOK = 'https://edge.example.com/triggers/hook'
  const answerOf = async (answer: Response) => [answer.status, answer.headers.get('content-type'), await answer.text()]

  test('is answered to Slack, if it is signed', async () => {
    const { send } = hooked('slackWebhooks', { HOOK_SECRET: 's' })
    const ask = (body: string, type: string, secret = 's') => {
      const signature = createHmac('sha256', secret).update(`v0:${seconds}:${body}`).digest('hex')
      const headers = {
        'content-type': type,
        'x-slack-request-timestamp': seconds,
        'x-slack-signature': `v0=${signature}`,
      }
      return send(HOOK, { method: 'POST', body, headers })
    }
    const challenge = '{"token":"Jhj5dZrVaK7ZwHHjRyZWjbDl","challenge":"3eZbrw1aB","type":"url_verification"}'
    expect(await answerOf(await ask(challenge, 'application/json'))).toEqual([200, 'text/plain', '3eZbrw1aB'])
    expect((await ask(challenge, 'application/json', 'other')).status).toBe(401)
    const form = 'application/x-www-form-urlencoded'
    expect(await answerOf(await ask('ssl_check=1&token=x', form))).toEqual([200, null, ''])
  })

  test('is answered to Discord, if it is signed', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const HOOK_SECRET = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex')
    const { send } = hooked('discordWebhooks', { HOOK_SECRET })
    const ask = (body: string, signed = body) => {
      const signature = sign(null, Buffer.from(seconds + signed), privateKey).toString('hex')
      const headers = { 'x-signature-timestamp': seconds, 'x-signature-ed25519': signature }
      return send(HOOK, { method: 'POST', body, headers })
    }
    const ping = '{"id":"1","application_id":"2","token":"t","type":1,"version":1}'
    expect(await answerOf(await ask(ping))).toEqual([200, 'application/json', '{"type":1}'])
    expect((await ask(ping, '{}')).status).toBe(401)
    expect(await answerOf(await ask('{"version":1,"application_id":"2","type":0}'))).toEqual([204, null, ''])
  })

  test('is answered to Microsoft Graph, with the token as it was before it was encoded', async () => {
    const { send } = hooked('graphWebhooks', { HOOK_SECRET: 's' })
    const token = 'Validation: Testing client application <b>reachability</b> + 100%'
    const answer = await send(`${HOOK}?validationToken=${encodeURIComponent(token)}`, { method: 'POST' })
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(await answerOf(answer)).toEqual([200, 'text/plain', token])
  })

  test('is answered to Meta, if it names one of the tokens', async () => {
    const { send } = hooked('metaWebhooks', { HOOK_SECRET: 's', HOOK_VERIFY_TOKEN: 'old, meatyhamhock' })
    const ask = (query: Record<string, string>) => send(`${HOOK}?${new URLSearchParams(query).toString()}`)
    const query = { 'hub.mode': 'subscribe', 'hub.challenge': '1158201444', 'hub.verify_token': 'meatyhamhock' }
    expect(await answerOf(await ask(query))).toEqual([200, 'text/plain', '1158201444'])
    const { 'hub.challenge': _, ...without } = query
    const refusals = [
      { ...query, 'hub.verify_token': 's' },
      { ...query, 'hub.verify_token': '' },
      { ...query, 'hub.mode': 'x' },
      without,
      {},
    ]
    for (const each of refusals) expect((await ask(each)).status).toBe(401)
    const { send: other } = hooked('metaWebhooks', { HOOK_SECRET: 's' })
    expect(
      (await other(`${HOOK}?${new URLSearchParams({ ...query, 'hub.verify_token': '' }).toString()}`)).status,
    ).toBe(401)
  })

  test('counts against the requests of its address', async () => {
    const { send } = hooked('graphWebhooks', { HOOK_SECRET: 's' })
    const ask = () =>
      send(`${HOOK}?validationToken=x`, { method: 'POST', headers: { 'cf-connecting-ip': '192.0.2.1' } })
    for (let count = 0; count < 300; count++) expect((await ask()).status).toBe(200)
    expect((await ask()).status).toBe(429)
  })
})
