import { mayNotify, type WebhookSetup } from '../../contract/conversation.ts'
import type { Report } from '../../contract/setup.ts'
import type { RunState } from '../../loop/state.ts'
import { isTerminal } from '../../contract/run.ts'
import { withTimeLimit } from '../../contract/time-limit.ts'
import { recordOf } from '../../loop/record.ts'
import type { Outbox } from '../store/outbox.ts'

/** The delays before the second attempt and those after it, in milliseconds. */
const RETRY_DELAYS_MS = [5000, 5 * 60_000, 30 * 60_000, 2 * 3_600_000, 5 * 3_600_000, 10 * 3_600_000]
/** The time-out of one attempt, in milliseconds. */
const MOST_MS = 10_000

/** Returns the body of the message on a run that has ended or waits for an approval; undefined for any other run. */
export function webhookBody(state: RunState, now: number): string | undefined {
  const { status, step } = state
  const needsApproval = status === 'waiting' && step?.calls.some((call) => call.status === 'awaiting_approval')
  if (!needsApproval && !isTerminal(status)) return undefined
  const { id, answer: _answer, preambles: _preambles, calls, ...record } = recordOf(state)
  const openCalls = calls.filter((call) => call.status === 'approval').map((call) => ({ id: call.id, tool: call.tool }))
  const type = needsApproval ? 'run.waiting' : 'run.finished'
  return JSON.stringify({
    type,
    timestamp: new Date(now).toISOString(),
    data: { run: id, ...record, calls: openCalls },
  })
}

/**
 * Sends the messages that are due, each as a signed POST as in Standard Webhooks. A message that was not accepted is
 * sent again later with the same id, so a receiver may get it twice; after 410 or the last attempt it is given up.
 */
export async function sendWebhooks(outbox: Outbox, { url, webhook, isOpen, now, report }: WebhookPorts): Promise<void> {
  for (const notice of outbox.dueMessages(now())) {
    const { id, body, attempt } = notice
    const startedAt = now()
    const status =
      webhook && mayNotify(url, webhook, isOpen) ? await post(url, webhook.secret, { id, body, now: now() }) : 0
    if (status >= 200 && status < 300) {
      outbox.drop(notice)
      continue
    }
    const wait = status === 410 ? undefined : RETRY_DELAYS_MS[attempt]
    const [runId] = id.split('.')
    report({
      event: wait === undefined ? 'webhook.given_up' : 'webhook.failed',
      id,
      runId,
      status,
      attempt: attempt + 1,
      durationMs: now() - startedAt,
    })
    if (wait === undefined) outbox.drop(notice)
    else outbox.delay(notice, now() + wait)
  }
}

export interface WebhookPorts {
  readonly url: string
  readonly webhook: WebhookSetup | undefined
  /** Whether the edge answers on loopback alone. */
  readonly isOpen: boolean
  readonly now: () => number
  readonly report: Report
}

/** Sends one message. Returns the status of the response; 0 if there was none. */
async function post(
  url: string,
  secret: string,
  { id, body, now }: { readonly id: string; readonly body: string; readonly now: number },
): Promise<number> {
  const timestamp = String(Math.floor(now / 1000))
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${await sign(secret, `${id}.${timestamp}.${body}`)}`,
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

/** Returns the HMAC-SHA256 in base64. A secret `whsec_…` is base64 after that prefix; any other is text. */
async function sign(secret: string, text: string): Promise<string> {
  const encoder = new TextEncoder()
  const [, base64] = /^whsec_(.+)$/.exec(secret) ?? []
  const bytes =
    base64 === undefined ? encoder.encode(secret) : Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(text)))
  return btoa(String.fromCharCode(...signature))
}
