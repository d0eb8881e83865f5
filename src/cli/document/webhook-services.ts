import { markdownTable } from './table.ts'

/** How a service signs what it sends to `/triggers/{name}`, as the page on webhooks says it. */
interface WebhookService {
  readonly services: string
  /** What the variable of its scheme has. */
  readonly secret: string
  /** The header without which a delivery is refused; absent if nothing is signed. */
  readonly header?: string
  readonly signs: string
  /** Whether a signature counts for five minutes only. */
  readonly isTimed: boolean
  /** What makes a delivery that is sent again the same. */
  readonly id: string
  /** What is answered, beside 202 with the run and 204. */
  readonly answers: string
}

/** The services that have a scheme, by the names of the schemes. */
export const WEBHOOK_SERVICES = {
  standardWebhooks: {
    services: 'Svix, Resend, Clerk, Standard Webhooks',
    secret: 'the signing secret, or the public key (`whpk_…`)',
    header: 'svix-signature',
    signs: 'id, time, body: HMAC-SHA256, base64; or Ed25519',
    isTimed: true,
    id: 'its id',
    answers: '',
  },
  stripeWebhooks: {
    services: 'Stripe',
    secret: 'the secret of the endpoint',
    header: 'stripe-signature',
    signs: 'time, body: HMAC-SHA256, hex',
    isTimed: true,
    id: 'the id of the event',
    answers: '',
  },
  githubWebhooks: {
    services: 'GitHub',
    secret: 'the secret of the webhook',
    header: 'x-hub-signature-256',
    signs: 'body: HMAC-SHA256, hex',
    isTimed: false,
    id: 'its body',
    answers: '',
  },
  slackWebhooks: {
    services: 'Slack: events, commands, buttons',
    secret: 'the signing secret of the app',
    header: 'x-slack-signature',
    signs: 'time, body: HMAC-SHA256, hex',
    isTimed: true,
    id: '`event_id`, or its body',
    answers: 'the challenge of an address; an empty 200',
  },
  shopifyWebhooks: {
    services: 'Shopify',
    secret: 'the client secret of the app',
    header: 'x-shopify-hmac-sha256',
    signs: 'body: HMAC-SHA256, base64',
    isTimed: false,
    id: 'its body',
    answers: '',
  },
  twilioWebhooks: {
    services: 'Twilio: messages, calls',
    secret: 'the auth token, or a shared key',
    header: 'x-twilio-signature',
    signs: 'URL, fields, or the hash of the body in the URL: HMAC-SHA1, or SHA256, base64',
    isTimed: false,
    id: 'URL and fields',
    answers: 'an empty TwiML',
  },
  discordWebhooks: {
    services: 'Discord: interactions, events of apps',
    secret: 'the public key of the app',
    header: 'x-signature-ed25519',
    signs: 'time, body: Ed25519, hex',
    isTimed: true,
    id: 'the id of the interaction, or its body',
    answers: 'pings; an interaction: “answered later”',
  },
  graphWebhooks: {
    services: 'Microsoft Graph',
    secret: '`clientState` of the subscription',
    signs: 'nothing: `clientState` is in the body',
    isTimed: false,
    id: 'its body',
    answers: 'the validation of an address',
  },
  metaWebhooks: {
    services: 'Meta: WhatsApp, Messenger, Instagram',
    secret: 'the secret of the app; a second variable has the verify token',
    header: 'x-hub-signature-256',
    signs: 'body: HMAC-SHA256, hex',
    isTimed: false,
    id: 'its body',
    answers: 'the verification of an address; an empty 200',
  },
} as const satisfies Readonly<Record<string, WebhookService>>

const HEAD = ['Scheme', 'For', 'The variable has', 'Header', 'Signed', 'Counts for', 'Known by', 'Answers']

/** Returns docs/webhooks.md with the table of the services that have a scheme. */
export function withWebhookServices(page: string): string {
  const rows = Object.entries<WebhookService>(WEBHOOK_SERVICES).map(([name, service]) => {
    const { services, secret, header, signs, isTimed, id, answers } = service
    const window = isTimed ? '5 minutes' : 'its one run'
    return [`\`${name}\``, services, secret, header ? `\`${header}\`` : '–', signs, window, id, answers || '–']
  })
  return page.replace(/(?<=## Services\n\n)(?:\|.*\n)*/, markdownTable([HEAD, ...rows]))
}
