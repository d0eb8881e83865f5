import { fromHex, isEqualText, toBase64, toHex } from '../contract/bytes.ts'
import { parseJson, parseShallow, sha256 } from '../contract/json.ts'
import { listVar } from '../contract/vars.ts'
import { fieldsOf } from '../wire/fields.ts'
import { decryptNotifications } from './graph-content.ts'
import {
  isForm,
  isRecent,
  isSigned,
  isSignedByOwner,
  joinMessage,
  readBodyContent,
  type SignedRequest,
  standardKeys,
  strictBase64,
  textKeys,
  type WebhookScheme,
} from './verify.ts'

const HEX = { encode: toHex }
const BASE64 = { encode: toBase64 }

/**
 * Standard Webhooks (https://www.standardwebhooks.com), as Svix, Resend, Clerk and this edge sign, with headers `webhook-*`
 * or `svix-*`. The secret may begin with `whsec_` or not; one that begins with `whpk_` is the public key of a service that
 * signs with its private one (`v1a`).
 *
 * @example webhookTrigger({ scheme: standardWebhooks('RESEND_SECRET'), as: 'mail', start: ({ body }) => ({ run: { input: JSON.stringify(body) } }) })
 */
export function standardWebhooks(secret: string): WebhookScheme {
  return {
    secret,
    verify: async ({ headers, bytes, now }, secrets) => {
      const kind = headers.has('webhook-id') ? 'webhook' : 'svix'
      const [id, time, signature] = ['id', 'timestamp', 'signature'].map((name) => headers.get(`${kind}-${name}`) ?? '')
      if (!id || !time || !isRecent(time, now)) return undefined
      const signatures = (signature ?? '').split(' ')
      const message = joinMessage(`${id}.${time}.`, bytes)
      const of = (version: string) =>
        signatures.flatMap((each) => (each.startsWith(version) ? each.slice(version.length) : []))
      const publicKeys = secrets.flatMap((each) =>
        each.startsWith('whpk_') ? (strictBase64(each.slice(5)) ?? []) : [],
      )
      const shared = standardKeys(secrets.filter((each) => !each.startsWith('whpk_')))
      if (await isSigned(shared, of('v1,'), message, BASE64)) return id
      if (publicKeys.length === 0) return undefined
      for (const each of of('v1a,')
        .slice(0, MOST_SIGNATURES)
        .flatMap((text) => strictBase64(text) ?? []))
        if (await isSignedByOwner(publicKeys, each, message)) return id
      return undefined
    },
  }
}

/** The most signatures of a private key that are tried: of each, the whole message is read again. */
const MOST_SIGNATURES = 4

/**
 * Stripe (`Stripe-Signature`). The id of an event is that of its body.
 *
 * @example webhookTrigger({ scheme: stripeWebhooks('STRIPE_SECRET'), as: 'billing', start: ({ body }) => ({ run: { input: JSON.stringify(body) } }) })
 */
export function stripeWebhooks(secret: string): WebhookScheme {
  return {
    secret,
    verify: async ({ headers, body, bytes, now }, secrets) => {
      const parts = (headers.get('stripe-signature') ?? '').split(',').map((part) => part.trim().split('='))
      const time = parts.find(([name]) => name === 't')?.[1] ?? ''
      const signatures = parts.flatMap(([name, value = '']) => (name === 'v1' ? value : []))
      if (!isRecent(time, now)) return undefined
      if (!(await isSigned(textKeys(secrets), signatures, joinMessage(`${time}.`, bytes), HEX))) return undefined
      return idOfBody({ body, bytes }, 'id')
    },
  }
}

/**
 * GitHub (`X-Hub-Signature-256`). It signs neither a time nor the id of a delivery, so a delivery is known by its body.
 *
 * @example webhookTrigger({ scheme: githubWebhooks('GITHUB_SECRET'), as: 'github', start: () => ({ run: { input: 'Look at the news.' } }) })
 */
export function githubWebhooks(secret: string): WebhookScheme {
  return { secret, verify: verifyHubSignature }
}

async function verifyHubSignature(
  { headers, bytes }: SignedRequest,
  secrets: readonly string[],
): Promise<string | undefined> {
  const signature = /^sha256=(.*)$/.exec(headers.get('x-hub-signature-256') ?? '')?.[1]
  if (signature === undefined || !(await isSigned(textKeys(secrets), [signature], bytes, HEX))) return undefined
  return hashOf(bytes)
}

/**
 * Slack (`X-Slack-Signature`): events, which are known by their `event_id`, commands and buttons. The `body` of a button's
 * request is its `payload`. Answers the challenge that Slack sends to a new address, and its checks of certificates.
 *
 * @example webhookTrigger({ scheme: slackWebhooks('SLACK_SIGNING_SECRET'), as: 'slack', start: ({ text }) => ({ run: { input: text } }) })
 */
export function slackWebhooks(secret: string): WebhookScheme {
  return {
    secret,
    verify: async ({ headers, body, bytes, now }, secrets) => {
      const time = headers.get('x-slack-request-timestamp') ?? ''
      const signature = /^v0=(.*)$/.exec(headers.get('x-slack-signature') ?? '')?.[1]
      if (signature === undefined || !isRecent(time, now)) return undefined
      if (!(await isSigned(textKeys(secrets), [signature], joinMessage(`v0:${time}:`, bytes), HEX))) return undefined
      if (isForm(headers)) return new URLSearchParams(body).get('ssl_check') === '1' ? new Response() : hashOf(bytes)
      const { type, challenge } = fieldsOf(parseShallow(body))
      if (type === 'url_verification' && typeof challenge === 'string') return textAnswer(challenge)
      return idOfBody({ body, bytes }, 'event_id')
    },
    // It shows people any other answer to a command as a failure.
    acknowledge: () => new Response(),
  }
}

/**
 * Shopify (`X-Shopify-Hmac-Sha256`), with the client secret of the app. It signs neither a time nor the topic, so a delivery
 * is known by its body: give each topic a trigger of its own.
 *
 * @example webhookTrigger({ scheme: shopifyWebhooks('SHOPIFY_SECRET'), as: 'shop', start: ({ body }) => ({ run: { input: JSON.stringify(body) } }) })
 */
export function shopifyWebhooks(secret: string): WebhookScheme {
  return {
    secret,
    verify: async ({ headers, bytes }, secrets) => {
      const signature = headers.get('x-shopify-hmac-sha256') ?? ''
      return (await isSigned(textKeys(secrets), [signature], bytes, BASE64)) ? hashOf(bytes) : undefined
    },
  }
}

/**
 * Twilio (`X-Twilio-Signature`), with the auth token of the account, or a shared key. It signs the URL that it was given,
 * with the fields of a form after it: set `EDGE_URL` if the edge is behind another address. It signs no time, so a delivery
 * is known by all that is signed.
 *
 * @example webhookTrigger({ scheme: twilioWebhooks('TWILIO_AUTH_TOKEN'), as: 'sms', start: ({ body }) => ({ run: { input: JSON.stringify(body) } }) })
 */
export function twilioWebhooks(secret: string): WebhookScheme {
  return {
    secret,
    verify: async ({ headers, url, body, bytes }, secrets) => {
      const bodyHash = new URL(url).searchParams.get('bodySHA256')
      if (bodyHash !== null && !isEqualText(bodyHash.toLowerCase(), await hashOf(bytes))) return undefined
      // A body whose hash is not in the URL counts as a form, whatever it is said to be: all of it is signed then.
      const fields = bodyHash === null ? signedFields(body) : ''
      if (fields === undefined) return undefined
      const signature = headers.get('x-twilio-signature') ?? ''
      const isNewer = /(?:^|,)\s*algorithm=HMAC_SHA256\s*(?:,|$)/i.test(
        headers.get('x-twilio-webhooks-signature-settings') ?? '',
      )
      const form = { ...BASE64, hash: isNewer ? ('SHA-256' as const) : ('SHA-1' as const) }
      for (const address of withAndWithoutPort(url)) {
        const message = `${address}${fields}`
        if (await isSigned(textKeys(secrets), [signature], message, form)) return sha256(`${signature} ${message}`)
      }
      return undefined
    },
    acknowledge: () => new Response('<Response/>', { headers: { 'content-type': 'text/xml' } }),
  }
}

/** The most fields of a form of Twilio, which sends some twenty: they are read before the signature is checked. */
const MOST_FIELDS = 1000

/**
 * Returns the fields of a form as Twilio signs them: sorted, each name before its value, equal values once. Undefined if
 * there are too many.
 */
function signedFields(form: string): string | undefined {
  if (form.split('&', MOST_FIELDS + 1).length > MOST_FIELDS) return undefined
  const byName = Map.groupBy(new URLSearchParams(form), ([name]) => name)
  return [...byName]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, all]) => [...new Set(all.map(([, value]) => value))].toSorted().map((value) => name + value))
    .join('')
}

/** Returns a URL as it is, and with the port that it has or does not need: Twilio signs some with it. */
function withAndWithoutPort(url: string): readonly string[] {
  const [, start = '', port, rest = ''] = /^(https?:\/\/[^/?#]*?)(:\d+)?([/?#].*)?$/.exec(url) ?? []
  const other = port ? `${start}${rest}` : `${start}:${start.startsWith('https:') ? 443 : 80}${rest}`
  return [url, other]
}

/**
 * Discord: interactions, and events of apps (`X-Signature-Ed25519`). The variable has the public key of the app. Answers its
 * pings. A command that has no answer of its own is answered later: the app shows that it is thinking.
 *
 * @example webhookTrigger({ scheme: discordWebhooks('DISCORD_PUBLIC_KEY'), as: 'discord', start: ({ body }) => ({ run: { input: JSON.stringify(body) } }) })
 */
export function discordWebhooks(publicKey: string): WebhookScheme {
  return {
    secret: publicKey,
    verify: async ({ headers, body, bytes, now }, keys) => {
      const time = headers.get('x-signature-timestamp') ?? ''
      const signature = headers.get('x-signature-ed25519') ?? ''
      if (!/^[0-9a-f]{128}$/.test(signature) || !isRecent(time, now)) return undefined
      const owners = keys.flatMap((key) => (/^[0-9a-f]{64}$/i.test(key) ? fromHex(key) : []))
      if (!(await isSignedByOwner(owners, fromHex(signature), joinMessage(time, bytes)))) return undefined
      const { type, event } = fieldsOf(parseShallow(body))
      // The pings of interactions and of events: an event has the same type as the ping of interactions.
      if (type === 1 && event === undefined) return Response.json({ type: 1 })
      if (type === 0) return new Response(null, { status: 204 })
      return idOfBody({ body, bytes }, 'id')
    },
    acknowledge: ({ body }) => {
      const { type, event } = fieldsOf(parseShallow(body))
      if (event !== undefined) return new Response(null, { status: 204 })
      if (type === 4) return Response.json({ type: 8, data: { choices: [] } })
      return Response.json({ type: type === 3 ? 6 : 5 })
    },
  }
}

/** The most objects and lists in a body of Microsoft Graph, which has two for each notification. */
const MOST_OBJECTS = 10_000

/**
 * Microsoft Graph: change notifications. It signs nothing, and says in each notification the `clientState` of the
 * subscription, which is the secret: 128 characters at most, of letters and digits. Answers its validation of a new address.
 * `privateKey` is the variable with the private key of the certificate, in PEM (PKCS #8), that the resource data of notifications is
 * encrypted for: it is their \`resourceData\` then. Their tokens are not checked.
 *
 * @example webhookTrigger({ scheme: graphWebhooks('GRAPH_CLIENT_STATE'), as: 'office', start: ({ body }) => ({ run: { input: JSON.stringify(body) } }) })
 */
export function graphWebhooks(secret: string, privateKey?: string): WebhookScheme {
  return {
    secret,
    ...(privateKey !== undefined && {
      content: async (request, env) =>
        decryptNotifications(await readBodyContent(request), listVar(env, privateKey) ?? []),
    }),
    verify: async ({ url, body, bytes }, secrets) => {
      const token = new URL(url).searchParams.get('validationToken')
      if (token !== null) return textAnswer(token)
      // Nobody has been recognised yet, so it is parsed in the way that takes the least time.
      if (body.split(/[[{]/, MOST_OBJECTS + 1).length > MOST_OBJECTS) return undefined
      const { value } = fieldsOf(parseJson(body))
      const states = secrets.filter((each) => each !== '')
      const isKnown = (state: unknown) => states.some((each) => typeof state === 'string' && isEqualText(each, state))
      const areKnown =
        Array.isArray(value) && value.length > 0 && value.every((each) => isKnown(fieldsOf(each)['clientState']))
      return areKnown ? hashOf(bytes) : undefined
    },
  }
}

/**
 * Meta: WhatsApp, Messenger, Instagram, Threads and Pages (`X-Hub-Signature-256`), with the secret of the app. It signs no
 * time, so a delivery is known by its body. `verifyToken` is the variable with the token that the app names when its address
 * is verified, which is answered.
 *
 * @example webhookTrigger({ scheme: metaWebhooks('META_SECRET', 'META_VERIFY_TOKEN'), as: 'chat', start: ({ body }) => ({ run: { input: JSON.stringify(body) } }) })
 */
export function metaWebhooks(secret: string, verifyToken: string): WebhookScheme {
  return {
    secret,
    verify: async (request, secrets, env) => {
      if (request.method !== 'GET') return verifyHubSignature(request, secrets)
      const { searchParams: query } = new URL(request.url)
      const token = query.get('hub.verify_token') ?? ''
      const isKnown = (listVar(env, verifyToken) ?? []).some((each) => isEqualText(each, token))
      const challenge = query.get('hub.mode') === 'subscribe' && isKnown ? query.get('hub.challenge') : null
      return challenge === null ? undefined : textAnswer(challenge)
    },
    // It sends again what is not answered with 200.
    acknowledge: () => new Response(),
  }
}

/** Answers with a text that a service has sent, which no browser shows as a page. */
function textAnswer(text: string): Response {
  return new Response(text, { headers: { 'content-type': 'text/plain', 'x-content-type-options': 'nosniff' } })
}

/** Returns the SHA-256 of a body, in lower-case hex: all that is signed of a delivery that has no id. */
async function hashOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)))
}

/** Returns the id that a body names; its hash if it names none. */
async function idOfBody({ body, bytes }: Pick<SignedRequest, 'body' | 'bytes'>, name: string): Promise<string> {
  const { [name]: id } = fieldsOf(parseShallow(body))
  return typeof id === 'string' ? id : hashOf(bytes)
}
