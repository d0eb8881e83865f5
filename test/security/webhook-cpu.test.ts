import {
  discordWebhooks,
  githubWebhooks,
  graphWebhooks,
  metaWebhooks,
  shopifyWebhooks,
  slackWebhooks,
  standardWebhooks,
  stripeWebhooks,
  twilioWebhooks,
  type WebhookScheme,
  webhookTrigger,
} from 'edgecall'
import { expect, test } from 'vitest'
import { triggeredEdge } from '../triggers/triggered-edge.ts'
import { cpuTime } from './cpu-time.ts'

/**
 * What anyone may have the scheme of a service compute before a signature is found to be wrong: at most 100 ms of CPU, for the
 * worst that it reads. `route-cpu.test.ts` has the other public routes.
 */
const MOST_MS = 100
/** What Cloudflare lets in: https://developers.cloudflare.com/workers/platform/limits. */
const MOST_URL = 16 * 1024

const times = (count: number, piece: (at: number) => string) =>
  Array.from({ length: Math.floor(count) }, (_, at) => piece(at)).join('')
/** Returns a text of at most so many characters of such pieces. */
const full = (most: number, piece: (at: number) => string) => times(most / piece(99_999).length, piece)
const megabyte = (piece: string) => piece.repeat(1024 ** 2 / Buffer.byteLength(piece))

const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'

const now = String(Math.floor(Date.now() / 1000))
const public32 = 'ab'.repeat(32)
const schemes = {
  github: githubWebhooks('HOOK_SECRET'),
  standard: standardWebhooks('HOOK_KEYS'),
  stripe: stripeWebhooks('HOOK_SECRET'),
  slack: slackWebhooks('HOOK_SECRET'),
  shopify: shopifyWebhooks('HOOK_SECRET'),
  twilio: twilioWebhooks('HOOK_SECRET'),
  discord: discordWebhooks('HOOK_PUBLIC'),
  graph: graphWebhooks('HOOK_SECRET'),
  meta: metaWebhooks('HOOK_SECRET', 'HOOK_SECRET'),
}
const env = {
  HOOK_SECRET: 'a secret, another one',
  HOOK_KEYS: `whsec_${btoa('a secret')}, whpk_${btoa('k'.repeat(32))}, text`,
  HOOK_PUBLIC: `${public32}, ${public32}`,
}

/** An edge with a trigger of each scheme. */
const edge = () => {
  const hook = (scheme: WebhookScheme) => webhookTrigger({ as: 'desk', scheme, start: () => undefined })
  return triggeredEdge(Object.fromEntries(Object.entries(schemes).map(([name, scheme]) => [name, hook(scheme)])), {
    env,
  })
}

/** Signatures that are read to their ends: of the right form and time, and wrong. */
const headers = {
  github: { 'x-hub-signature-256': `sha256=${'a'.repeat(64)}` },
  standard: {
    'webhook-id': 'm',
    'webhook-timestamp': now,
    'webhook-signature': full(100_000, () => `v1,${'A'.repeat(43)}= v1a,${'A'.repeat(86)}== `),
  },
  stripe: { 'stripe-signature': `t=${now}${full(100_000, () => `,v1=${'a'.repeat(64)}`)}` },
  slack: { 'x-slack-request-timestamp': now, 'x-slack-signature': `v0=${'a'.repeat(64)}` },
  shopify: { 'x-shopify-hmac-sha256': `${'A'.repeat(43)}=` },
  twilio: {
    'x-twilio-signature': `${'A'.repeat(27)}=`,
    'x-twilio-webhooks-signature-settings': full(90_000, () => 'a,'),
  },
  discord: { 'x-signature-timestamp': now, 'x-signature-ed25519': 'a'.repeat(128) },
  graph: {},
  meta: { 'x-hub-signature-256': `sha256=${'a'.repeat(64)}` },
}
const bodies = {
  'a large text': megabyte('é'),
  'many fields': megabyte('a&'),
  'a thousand long fields': times(999, (at) => `${at}=${'%C3%A9'.repeat(170)}&`),
  'many numbers': `{"value":[${megabyte('1.2345678901234567,').slice(0, -20)}1]}`,
  'many objects': `{"value":[${megabyte('{},').slice(0, -20)}{}]}`,
  levels: megabyte('['),
}

test.each(Object.entries(headers))(
  'a delivery of %s costs little until its signature is found to be wrong',
  async (name, own) => {
    const query = full(MOST_URL - 100, (at) => `${at}=%C3%A9&`)
    const url = `https://edge.example.com/triggers/${name}`
    const requests: [string, string, RequestInit][] = [
      ...Object.entries(bodies).flatMap(([what, body]) =>
        [JSON_TYPE, FORM].map((type): [string, string, RequestInit] => {
          return [`${what}, as ${type}`, url, { method: 'POST', body, headers: { 'content-type': type, ...own } }]
        }),
      ),
      ...['GET', 'POST'].map((method): [string, string, RequestInit] => {
        return [`a long query by ${method}`, `${url}?hub.mode=subscribe&validationToken=x&${query}`, { method }]
      }),
    ]
    for (const [what, address, init] of requests) {
      const { ms } = await cpuTime(MOST_MS, () => edge().send(address, init))
      if (ms > MOST_MS) expect.soft(`${what}: ${ms} ms`).toBe(`at most ${MOST_MS} ms`)
    }
  },
)
