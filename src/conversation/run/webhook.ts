import { hmac, toBase64, webhookSecret } from '../../contract/bytes.ts'
import { isTerminal, type RunRecord, waitsBelow } from '../../contract/run.ts'
import type { Report } from '../../contract/setup.ts'
import { withTimeLimit } from '../../contract/time-limit.ts'
import type { MessageOutbox, OutboxMessage, Webhooks } from '../../contract/webhooks.ts'
import { inPool } from '../../loop/perform/act.ts'

/** The delays before the second attempt and those after it, in milliseconds. */
const RETRY_DELAYS_MS = [5000, 5 * 60_000, 30 * 60_000, 2 * 3_600_000, 5 * 3_600_000, 10 * 3_600_000]
/** How many messages are sent side by side: an invocation has six connections, of which others need one. */
const MOST_CONNECTIONS = 5
/** The time-out of one attempt, in milliseconds. */
const MOST_MS = 10_000

export interface WebhookOptions {
  /** Signs the messages. Default: none are sent. */
  readonly secret: string | undefined
  /** The exact names of the hosts that messages may go to. */
  readonly hosts: readonly string[]
  /** Whether the edge answers on loopback alone: then messages may go there too. */
  readonly isOpen: boolean
  readonly report: Report
}

/** Makes what notifies the URLs of conversations, as Standard Webhooks. */
export function webhookSender(options: WebhookOptions): Webhooks {
  return {
    refusal: (url) => {
      if (options.secret === undefined) return 'This edge sends no webhooks: WEBHOOK_SECRET is not set.'
      if (!webhookSecret(options.secret))
        return 'This edge sends no webhooks: after whsec_, WEBHOOK_SECRET is not base64.'
      return mayNotify(url, options) ? undefined : 'A webhook must be an https URL whose host is in WEBHOOK_HOSTS.'
    },
    bodyOf: webhookBody,
    send: (outbox, url) => sendWebhooks(outbox, url, options),
  }
}

/** Whether a webhook may go to a URL: https of an allowed host, or, if the edge is `open`, http of loopback. */
export function mayNotify(url: string, { hosts, isOpen }: Pick<WebhookOptions, 'hosts' | 'isOpen'>): boolean {
  const { protocol, hostname, username, password, port } = URL.parse(url) ?? {}
  if (isOpen && (hostname === 'localhost' || hostname === '127.0.0.1')) return protocol === 'http:'
  const isPlain = protocol === 'https:' && port === '' && username === '' && password === ''
  // Neither an IP address nor a name that resolves only in a private network.
  const isPublic = /\.[a-z][a-z0-9-]+$/.test(hostname ?? '') && !/\.(?:internal|local|localhost)$/.test(hostname ?? '')
  return isPlain && isPublic && hosts.includes(hostname ?? '')
}

function webhookBody(run: RunRecord, now: number): string | undefined {
  const {
    id,
    status,
    answer: _answer,
    preambles: _preambles,
    providerCalls: _providerCalls,
    citations: _citations,
    refusals: _refusals,
    calls,
    ...rest
  } = run
  const own = calls.filter((call) => call.status === 'approval').map((call) => ({ id: call.id, tool: call.tool }))
  const ofAgents = waitsBelow(run).map(({ call, tool, conversation, run: child, agents }) => {
    return { id: call, tool, conversation, run: child, agents }
  })
  const openCalls = [...own, ...ofAgents]
  const inDoubt = calls.flatMap(({ id: call, tool, error, inDoubt: isOwn, callsInDoubt = [], child }) => [
    ...(isOwn ? [{ id: call, tool, code: error?.code }] : []),
    ...callsInDoubt.map((each) => {
      const agents = [tool, ...(each.by?.split(' > ') ?? [])]
      return { id: call, tool: each.tool, agents, conversation: child?.conversation, run: child?.run }
    }),
  ])
  const needsApproval = status === 'waiting' && openCalls.length > 0
  if (!needsApproval && status !== 'parked' && !isTerminal(status)) return undefined
  const type = needsApproval ? 'run.waiting' : status === 'parked' ? 'run.parked' : 'run.finished'
  return JSON.stringify({
    type,
    timestamp: new Date(now).toISOString(),
    data: { run: id, status, ...rest, calls: openCalls, ...(inDoubt.length > 0 && { inDoubt }) },
  })
}

/**
 * Sends the messages that are due, each as a signed POST, side by side; those of one run one after another. A message that
 * was not accepted is sent again later with the same id, so a receiver may get it twice; after 410 or the last attempt it
 * is given up.
 */
async function sendWebhooks(outbox: MessageOutbox, url: string, options: WebhookOptions): Promise<void> {
  await inPool(outbox.dueMessages(Date.now()), {
    size: MOST_CONNECTIONS,
    groupOf: ({ id }) => ({ name: runOf(id), size: 1 }),
    work: (message) => sendWebhook(outbox, message, url, options),
  })
}

async function sendWebhook(
  outbox: MessageOutbox,
  message: OutboxMessage,
  url: string,
  options: WebhookOptions,
): Promise<void> {
  const { secret, report } = options
  const { id, body, attempt } = message
  const startedAt = Date.now()
  const status =
    secret !== undefined && mayNotify(url, options) ? await post(url, secret, { id, body, now: startedAt }) : 0
  if (status >= 200 && status < 300) return outbox.drop(message)
  const wait = status === 410 ? undefined : RETRY_DELAYS_MS[attempt]
  report({
    event: wait === undefined ? 'webhook.given_up' : 'webhook.failed',
    id,
    runId: runOf(id),
    status,
    attempt: attempt + 1,
    durationMs: Date.now() - startedAt,
  })
  if (wait === undefined) outbox.drop(message)
  else outbox.delay(message, Date.now() + wait)
}

/** Returns the run of a message from its id, which is that of an event. */
function runOf(id: string): string {
  return id.split('.')[0] ?? ''
}

/** Sends one message. Returns the status of the response; 0 if there was none. */
async function post(
  url: string,
  secret: string,
  { id, body, now }: { readonly id: string; readonly body: string; readonly now: number },
): Promise<number> {
  const key = webhookSecret(secret)
  if (!key) return 0
  const timestamp = String(Math.floor(now / 1000))
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${toBase64(await hmac(key, `${id}.${timestamp}.${body}`))}`,
  }
  try {
    return await withTimeLimit(MOST_MS, async (signal) => {
      const response = await fetch(url, { method: 'POST', redirect: 'manual', signal, headers, body })
      await response.body?.cancel()
      return response.status
    })
  } catch {
    return 0
  }
}
