import { fromBase64, fromHex, isHmac, webhookSecret } from '../contract/bytes.ts'
import { isObject, parseJson, sha256 } from '../contract/json.ts'

/** How far the time of a signature may be from now, in milliseconds. */
const MOST_AGE_MS = 5 * 60_000

/** A request of another service, whose signature is to be checked. */
export interface SignedRequest {
  readonly headers: Headers
  /** The body as it was sent. */
  readonly body: string
  /** Epoch milliseconds. */
  readonly now: number
}

/** How a service signs its requests. */
export interface WebhookScheme {
  /** The variable that has the secret, or a list of which any counts, as while it is replaced. */
  readonly secret: string
  /**
   * Returns what identifies the delivery, the same for one that is sent again; undefined unless one of the secrets has
   * signed it lately.
   */
  readonly verify: (request: SignedRequest, secrets: readonly string[]) => Promise<string | undefined>
  /** Answers a request that only asks whether this is the right address. Default: there are no such requests. */
  readonly challenge?: (body: unknown) => string | undefined
}

/**
 * Standard Webhooks (https://www.standardwebhooks.com), as Svix, Resend, Clerk and this edge sign.
 *
 * @example webhookTrigger({ scheme: standardWebhooks('RESEND_SECRET'), as: 'mail', start: ({ body }) => ({ run: { input: JSON.stringify(body) } }) })
 */
export function standardWebhooks(secret: string): WebhookScheme {
  return {
    secret,
    verify: async ({ headers, body, now }, secrets) => {
      const [id, timestamp] = [headers.get('webhook-id'), headers.get('webhook-timestamp') ?? '']
      const signatures = (headers.get('webhook-signature') ?? '').split(' ')
      if (!id || !isRecent(timestamp, now)) return undefined
      const signed = signatures.flatMap((each) => (each.startsWith('v1,') ? (fromBase64(each.slice(3)) ?? []) : []))
      const keys = secrets.flatMap((each) => webhookSecret(each) ?? [])
      return (await isSignedBy(keys, signed, `${id}.${timestamp}.${body}`)) ? id : undefined
    },
  }
}

/**
 * GitHub (`X-Hub-Signature-256`). It signs neither a time nor the id of a delivery, so a delivery is known by its body.
 *
 * @example webhookTrigger({ scheme: githubWebhooks('GITHUB_SECRET'), as: 'github', start: () => ({ run: { input: 'Look at the news.' } }) })
 */
export function githubWebhooks(secret: string): WebhookScheme {
  return {
    secret,
    verify: async ({ headers, body }, secrets) => {
      const signature = /^sha256=([0-9a-f]{64})$/.exec(headers.get('x-hub-signature-256') ?? '')?.[1]
      if (signature === undefined || !(await isSignedBy(textKeys(secrets), [fromHex(signature)], body)))
        return undefined
      return sha256(body)
    },
  }
}

/**
 * Stripe (`Stripe-Signature`). The id of an event is that of its body.
 *
 * @example webhookTrigger({ scheme: stripeWebhooks('STRIPE_SECRET'), as: 'billing', start: ({ body }) => ({ run: { input: JSON.stringify(body) } }) })
 */
export function stripeWebhooks(secret: string): WebhookScheme {
  return {
    secret,
    verify: async ({ headers, body, now }, secrets) => {
      const parts = (headers.get('stripe-signature') ?? '').split(',').map((part) => part.trim().split('='))
      const time = parts.find(([name]) => name === 't')?.[1] ?? ''
      const signed = parts.flatMap(([name, value = '']) => (name === 'v1' && HEX.test(value) ? [fromHex(value)] : []))
      if (!isRecent(time, now) || !(await isSignedBy(textKeys(secrets), signed, `${time}.${body}`))) return undefined
      const event = parseJson(body)
      return isObject(event) && typeof event['id'] === 'string' ? event['id'] : sha256(body)
    },
  }
}

/**
 * Slack (`X-Slack-Signature`): events, which are known by their `event_id`, and commands. It also answers the challenge
 * that Slack sends to a new address.
 *
 * @example webhookTrigger({ scheme: slackWebhooks('SLACK_SIGNING_SECRET'), as: 'slack', start: ({ text }) => ({ run: { input: text } }) })
 */
export function slackWebhooks(secret: string): WebhookScheme {
  return {
    secret,
    verify: async ({ headers, body, now }, secrets) => {
      const time = headers.get('x-slack-request-timestamp') ?? ''
      const signature = /^v0=([0-9a-f]{64})$/.exec(headers.get('x-slack-signature') ?? '')?.[1]
      if (signature === undefined || !isRecent(time, now)) return undefined
      if (!(await isSignedBy(textKeys(secrets), [fromHex(signature)], `v0:${time}:${body}`))) return undefined
      const event = parseJson(body)
      return isObject(event) && typeof event['event_id'] === 'string' ? event['event_id'] : sha256(body)
    },
    challenge: (body) => {
      const { type, challenge } = isObject(body) ? body : {}
      return type === 'url_verification' && typeof challenge === 'string' ? challenge : undefined
    },
  }
}

const HEX = /^[0-9a-f]{64}$/
const encoder = new TextEncoder()

function textKeys(secrets: readonly string[]): BufferSource[] {
  return secrets.map((secret) => encoder.encode(secret))
}

/** Whether a time in epoch seconds is at most five minutes from now. */
function isRecent(seconds: string, now: number): boolean {
  return /^\d{1,12}$/.test(seconds) && Math.abs(now - Number(seconds) * 1000) <= MOST_AGE_MS
}

/** Whether one of the signatures is the HMAC-SHA256 of a text with one of the keys. */
async function isSignedBy(
  keys: readonly BufferSource[],
  signatures: readonly Uint8Array<ArrayBuffer>[],
  text: string,
): Promise<boolean> {
  if (signatures.length === 0) return false
  for (const key of keys) if (key.byteLength > 0 && (await isHmac(key, signatures, text))) return true
  return false
}
