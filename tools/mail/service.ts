/**
 * Hands mails to the mail service, over HTTP. Its contract:
 *
 *     POST {MAIL_URL}/messages
 *     Authorization: Bearer {MAIL_TOKEN}                 if that secret is set
 *     Idempotency-Key: <key>
 *     { "to": "friend@example.com", "subject": "News", "text": "…" }
 *
 *     2xx        accepted: { "id"?: "m-1", "source"?: "smtp" }
 *     429, 503   nothing was sent; a later try may succeed
 *     4xx        nothing was sent: { "message"?: "No such mailbox." }
 *
 * Without a `source`, the service's host is the source. After any other status, or without an answer in time, it is
 * unknown whether the mail was sent. A key is sent once, unless the answer was 4xx or 503.
 */
import * as v from 'valibot'
import { ToolError, wholeNumber, withTimeLimit } from 'edgecall/tool'
import { standIn } from './stand-in.ts'

export interface MailService {
  readonly MAIL_URL?: string
  readonly MAIL_TOKEN?: string
  readonly MAIL_TIMEOUT_MS?: string
}

export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** The service's answer for a mail that it has accepted. */
export interface Receipt {
  readonly id: string
  readonly source: string
}

export interface PostOptions {
  readonly key: string
  /** The time after which the mail must not be sent any more, in epoch milliseconds. */
  readonly deadline: number
  readonly service: MailService
}

const STAND_IN_URL = 'http://stand-in'
const TIMEOUT_MS = 10_000

// A model reads these texts, so a faulty service must not be able to fill its context window.
const text = v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(200)))
const Answer = v.fallback(v.object({ id: text, source: text, message: text }), {})

/**
 * Hands a mail to the service of MAIL_URL, or to the stand-in if it is not set. Throws a ToolError for every failure:
 * with the code `in_doubt` if the mail may have been sent; with any other code, nothing was sent.
 */
export async function postMail(mail: Mail, { key, deadline, service }: PostOptions): Promise<Receipt> {
  const timeoutMs = Math.min(deadline - Date.now(), timeoutOf(service))
  if (timeoutMs <= 0) throw new ToolError('Nothing was sent: the time limit was reached.', { code: 'mail_too_late' })
  const request = requestOf(mail, key, service)
  const post = service.MAIL_URL ? fetch : standIn
  const { ok, status, answer } = await withTimeLimit(timeoutMs, async (signal) => {
    const response = await post(new Request(request, { signal }))
    return { ok: response.ok, status: response.status, answer: await readAnswer(response) }
  }).catch((error: unknown) => {
    throw inDoubt('gave no answer', error)
  })
  const { id = crypto.randomUUID(), source = new URL(request.url).host, message } = answer
  if (ok) return { id, source }
  throw sendError(status, message)
}

function timeoutOf(service: MailService): number {
  try {
    return wholeNumber({ ...service }, 'MAIL_TIMEOUT_MS', TIMEOUT_MS)
  } catch (cause) {
    throw misconfigured(cause)
  }
}

function requestOf(mail: Mail, key: string, { MAIL_URL, MAIL_TOKEN }: MailService): Request {
  try {
    return new Request(`${(MAIL_URL || STAND_IN_URL).replace(/\/+$/, '')}/messages`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': key,
        ...(MAIL_TOKEN && { authorization: `Bearer ${MAIL_TOKEN}` }),
      },
      body: JSON.stringify(mail),
      redirect: 'manual',
    })
  } catch (cause) {
    throw misconfigured(cause)
  }
}

function misconfigured(cause: unknown): ToolError {
  const message = 'Nothing was sent: the mail service is misconfigured. Trying again will not help.'
  return new ToolError(message, { code: 'mail_misconfigured', cause })
}

/** Reads the body, or nothing of a malformed one: the status alone tells what became of the mail. */
async function readAnswer(response: Response): Promise<v.InferOutput<typeof Answer>> {
  try {
    return v.parse(Answer, await response.json())
  } catch {
    return {}
  }
}

function sendError(status: number, message: string | undefined): ToolError {
  if (status === 429 || status === 503) {
    const text = 'Nothing was sent: the mail service does not accept mail now. Try again later.'
    return new ToolError(text, { code: 'mail_unavailable', retryable: true })
  }
  if (status >= 400 && status < 500) {
    const why = message ?? `it answered HTTP ${status}`
    return new ToolError(`Nothing was sent: the mail service refused the mail: ${why}`, { code: 'mail_refused' })
  }
  return inDoubt(`answered HTTP ${status}`)
}

function inDoubt(why: string, cause?: unknown): ToolError {
  const message =
    `The mail service ${why}: whether the mail was sent is unknown. It is not sent again automatically. Tell the person who ` +
    'asked, and send it again only if they want to risk a second one.'
  return new ToolError(message, { code: 'in_doubt', cause })
}
