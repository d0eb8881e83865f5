import PostalMime, { addressParser, type Email, type Mailbox } from 'postal-mime'
import type { ReplyTarget, ToolTarget, WebhookTarget } from '../contract/answer-target.ts'
import { binaryOf } from '../contract/bytes.ts'
import { sha256 } from '../contract/json.ts'
import type { UserContent } from '../contract/message.ts'
import { RateWindow } from '../contract/rate-window.ts'
import { decodeMail, headersOf, type MailContent, MOST_PARTS, readMail } from './mail.ts'
import type {
  EmailEvent,
  EmailRefusal,
  IncomingEmail,
  StartedRun,
  Trigger,
  TriggerOptions,
  TriggerStart,
} from './triggers.ts'

/** The server of the platform that receives mail, which writes the results of its checks above all other headers. */
const RECEIVER = 'mx.cloudflare.net'
const MOST_ATTACHMENTS = 20
/** The most bytes of headers, and the most of their lines, addresses and parameters: they are parsed one by one. */
const MOST_HEADERS = 64 * 1024
const MOST_MARKS = 3000
const MARK = /[\n,;:<]/

/** The most mails of one author that an isolate takes in an hour. */
const MOST_MAILS = 30
const HOUR_MS = 60 * 60 * 1000

/** The run that a mail starts. */
export interface EmailStart extends Omit<TriggerStart, 'answerTo'> {
  /** As of other events; or `reply`: a mail to the author, by the binding that the trigger names. */
  readonly answerTo?: WebhookTarget | ToolTarget | 'reply'
}

export interface EmailOptions extends TriggerOptions<EmailEvent, EmailStart> {
  /** The addresses that it receives mail for. Default: all that the platform routes to this Worker. */
  readonly to?: readonly string[]
  /** The authors whose mail is read: addresses such as `ann@example.com`, domains such as `@example.com`, or anyone. */
  readonly from: readonly string[] | 'anyone'
  /**
   * `dmarc`: the platform must have found that the domain of the author has sent the message. `none`: anyone may pretend to
   * be any author. Default: `dmarc`.
   */
  readonly authentication?: 'dmarc' | 'none'
  /** The `[[send_email]]` binding for replies, and their sender. Default of the sender: the address that got the mail. */
  readonly reply?: { readonly binding: string; readonly from?: string }
}

/**
 * Starts a run for each mail that Email Routing passes to this Worker. The author must be one of `from`, and the platform
 * must have authenticated it. Mail that programs send by themselves starts nothing, unless they only have an address such as
 * `noreply@`, and `from` lists that. An author has at most 30 runs an hour, counted in each isolate. What a mail says is
 * `untrusted`, unless `start` returns other `marks`.
 *
 * @example
 * emailTrigger({
 *   as: 'desk',
 *   from: ['@example.com'],
 *   reply: { binding: 'MAIL' },
 *   start: ({ subject, content }) => ({ run: { system: subject, input: [{ role: 'user', content }] }, answerTo: 'reply' }),
 * })
 */
export function emailTrigger({ to, from, authentication = 'dmarc', reply, start, ...options }: EmailOptions): Trigger {
  const addresses = to?.map((address) => address.toLowerCase())
  const mails = new RateWindow({ most: MOST_MAILS, windowMs: HOUR_MS })
  return {
    on: 'email',
    ...options,
    isFor: (address) => addresses?.includes(address) ?? true,
    read: async (message, raw) => {
      // The sender is checked by the headers alone: the rest is not parsed for just anyone.
      const headers = await parseHeaders(raw)
      if (!headers) return rejected('invalid_message', 'The headers of the message cannot be read.')
      const own = [message.to, reply?.from ?? '', ...(addresses ?? [])].map((address) => address.toLowerCase())
      const fault = senderFault(message, headers, { from, authentication, own })
      if (fault) return fault
      // Two programs that answer each other without saying that they are programs come to an end here.
      const author = authorOf(headers)?.address ?? ''
      if (mails.waitMs(author) > 0)
        return rejected('rate_limited', `This address takes at most ${MOST_MAILS} messages an hour from you.`)
      mails.count(author)
      const content = await readMail(binaryOf(raw)).catch(() => undefined)
      if (!content) return rejected('invalid_message', 'The message cannot be read.')
      if (content === 'too_many_parts')
        return rejected(
          content,
          `The message has more than ${MOST_PARTS} parts, parts in too many levels, or base64 in too many pieces.`,
        )
      return eventOf(message, headers, content, raw)
    },
    start: async (event, env): Promise<StartedRun | undefined> => {
      const started = await start(event, env)
      if (!started) return undefined
      const { answerTo, ...run } = started
      if (answerTo !== 'reply') return answerTo ? { ...run, answerTo } : run
      if (!reply) throw new Error('The trigger has no `reply`, which names the binding for replies.')
      return { ...run, answerTo: replyTo(event, reply) }
    },
  }
}

/** Returns the headers of a message; undefined if they are too many or cannot be read. */
async function parseHeaders(raw: Uint8Array<ArrayBuffer>): Promise<Email | undefined> {
  const headers = headersOf(binaryOf(raw.subarray(0, MOST_HEADERS + 4)))
  return headers === undefined || headers.length > MOST_HEADERS || headers.split(MARK, MOST_MARKS).length >= MOST_MARKS
    ? undefined
    : new PostalMime({ maxHeadersSize: MOST_HEADERS }).parse(raw.subarray(0, headers.length)).catch(() => undefined)
}

/**
 * Returns the subject and the author's name of a message whose headers are not in UTF-8. They alone are read in another
 * charset: in one, bytes can hide a quotation mark or backslash, by which results of checks end.
 */
async function readableNames(raw: Uint8Array<ArrayBuffer>, { subject = '', from }: Email): Promise<[string, string]> {
  const headers = headersOf(binaryOf(raw.subarray(0, MOST_HEADERS)))
  const own = from && !from.group ? from.name : ''
  if (/^[\s\x20-\x7e]*$/.test(headers)) return [subject, own]
  const bytes = new TextEncoder().encode(decodeMail(raw.subarray(0, headers.length)))
  const decoded = await new PostalMime({ maxHeadersSize: 4 * MOST_HEADERS }).parse(bytes)
  return [decoded.subject ?? subject, decoded.from && !decoded.from.group ? decoded.from.name : own]
}

function rejected(code: string, message: string): EmailRefusal {
  return { refusal: 'rejected', code, message }
}

interface SenderRules extends Required<Pick<EmailOptions, 'from' | 'authentication'>> {
  /** The addresses of the trigger itself, in lower case. */
  readonly own: readonly string[]
}

/** Returns why the mail of a sender is not read; undefined if it is. */
function senderFault(
  { from: sender }: IncomingEmail,
  email: Email,
  { from, authentication, own }: SenderRules,
): EmailRefusal | undefined {
  const author = authorOf(email)
  // Answering programs is how two of them come to write to each other for ever.
  if (sender === '' || isAutomatic(email) || (author && isProgram(author, { from, own }))) {
    return { refusal: 'ignored', code: 'automatic_message', message: 'A program has sent the message by itself.' }
  }
  if (!author) return rejected('sender_not_allowed', 'The message must have one author, in one header From.')
  const domain = author.address.slice(author.address.lastIndexOf('@'))
  const isAllowed = from === 'anyone' || from.some((each) => [author.address, domain].includes(each.toLowerCase()))
  if (!isAllowed) return rejected('sender_not_allowed', 'This address accepts no mail from you.')
  if (authentication === 'dmarc' && !isAuthenticated(email, domain.slice(1)))
    return rejected('sender_not_authenticated', 'The domain of the author has not authenticated the message (DMARC).')
  return undefined
}

/** Returns the one author, with the address in lower case; undefined if there are none or several. */
function authorOf({ headers, from }: Email): Mailbox | undefined {
  const [first, ...others] = headers.filter(({ key }) => key === 'from')
  const isOne = first && others.length === 0 && addressParser(first.value).length === 1
  if (!isOne || !from || from.group || !/^[^@\s\p{Cc}]+@[^@\s\p{Cc}]+$/u.test(from.address)) return undefined
  return { name: from.name, address: from.address.toLowerCase() }
}

/** Headers that programs alone write: what older auto-responders say, and what servers add to reports of a failure. */
const HEADERS_OF_PROGRAMS = new Set(
  'x-autoreply x-autorespond x-auto-respond x-auto-reply x-autoreply-from x-autogenerated x-mail-autoreply x-failed-recipients x-ms-exchange-generated-message-source x-beenthere x-mailing-list'.split(
    ' ',
  ),
)
/** The headers of lists (RFC 2369, RFC 2919). */
const LIST_HEADER = /^list-(?:id|help|unsubscribe|subscribe|post|owner|archive)$/
/** How the subjects of automatic replies begin, where no header tells. */
const AUTOMATIC_SUBJECT =
  /^\s*(?:auto(?:matic)?[ -]?(?:reply|response)|out of (?:the )?office|automatische (?:antwort|reactie)|abwesenheitsnotiz|réponse automatique|respuesta automática|risposta automatica)\s*:/i

/** Whether a program has sent the message by itself (RFC 3834), or to a list, or reports on one that was sent (RFC 6522). */
function isAutomatic({ headers, subject = '' }: Email): boolean {
  const isSaid = headers.some(({ key, value }) => {
    const text = value.trim().toLowerCase()
    if (key === 'auto-submitted') return !/^no(?![\w-])/.test(text)
    if (key === 'precedence') return /^(?:bulk|list|junk|auto_reply)(?![\w-])/.test(text)
    if (key === 'x-auto-response-suppress') return /(?:^|[\s,;])(?:all|oof|autoreply)(?![\w-])/.test(text)
    if (key === 'return-path') return text === '<>'
    if (key === 'content-type') return text.startsWith('multipart/report')
    return LIST_HEADER.test(key) || HEADERS_OF_PROGRAMS.has(key)
  })
  return isSaid || AUTOMATIC_SUBJECT.test(subject)
}

/** The addresses of programs: of mail servers and lists (RFC 2142, RFC 3834), and those that say that nobody reads them. */
const ADDRESS_OF_PROGRAM =
  /^(?:mailer-daemon|postmaster|majordomo|listserv|mdaemon|bounces?|(?:no|do-?not|auto)[-_.]?reply|owner-.*|.*-(?:request|bounces|owner))(?:[-_+=][^@]*)?@/

/** Whether an author is a program by the address, unless the trigger names it, or the trigger itself. */
function isProgram({ address }: Mailbox, { from, own }: Pick<SenderRules, 'from' | 'own'>): boolean {
  if (own.includes(address)) return true
  const isNamed = from !== 'anyone' && from.some((each) => each.toLowerCase() === address)
  return ADDRESS_OF_PROGRAM.test(address) && !isNamed
}

/**
 * Whether the platform has found that a domain has sent the message (RFC 8601). It writes its results above the headers of
 * the sender, so those of the first header count alone. Senders choose some of the values in it, and can continue its last
 * line: contradicting results, a second header in the name of the platform, and comments or quoted strings that reach
 * over a semicolon, behind which a result may be hidden, count as a failure.
 */
function isAuthenticated({ headers }: Email, domain: string): boolean {
  const all = headers.filter(({ key }) => key === 'authentication-results').map(({ value }) => value.split(';'))
  const [isFirst, ...areOthers] = all.map(([server = '']) => {
    return plainResult(server)?.trim().split(/\s+/)[0]?.toLowerCase() === RECEIVER
  })
  if (!isFirst || areOthers.includes(true)) return false
  const results = (all[0] ?? []).slice(1).map(plainResult)
  if (results.includes(undefined)) return false
  const dmarc = results.filter((result) => /^\s*dmarc\s*[=/]/i.test(result ?? ''))
  const [, result] = /^\s*dmarc\s*=\s*(\w+)(?:\s|$)/i.exec(dmarc[0] ?? '') ?? []
  const domains = [...(dmarc[0] ?? '').matchAll(/\sheader\.from=(\S+)/gi)].map(([, checked]) => checked?.toLowerCase())
  return dmarc.length === 1 && result?.toLowerCase() === 'pass' && domains.length === 1 && domains[0] === domain
}

/** Returns a result without comments and what is quoted; undefined if one of these does not end or begin in it. */
function plainResult(result: string): string | undefined {
  let plain = ''
  let depth = 0
  let isQuoted = false
  for (let at = 0; at < result.length; at += 1) {
    const char = result.charAt(at)
    if (char === '\\') {
      at += 1
    } else if (char === '"' && depth === 0) {
      isQuoted = !isQuoted
      plain += '"'
    } else if (isQuoted) {
      continue
    } else if (char === '(') {
      depth += 1
      plain += ' '
    } else if (char === ')') {
      depth -= 1
      if (depth < 0) return undefined
    } else if (depth === 0) {
      plain += char
    }
  }
  return depth === 0 && !isQuoted ? plain : undefined
}

async function eventOf(
  { to, from: sender }: IncomingEmail,
  email: Email,
  { text, files }: MailContent,
  raw: Uint8Array<ArrayBuffer>,
): Promise<EmailEvent | EmailRefusal> {
  const { headers, messageId } = email
  if (files.length > MOST_ATTACHMENTS)
    return rejected('too_many_attachments', `The message has more than ${MOST_ATTACHMENTS} attachments.`)
  const { address: from = '' } = authorOf(email) ?? {}
  const [subject, name] = await readableNames(raw, email)
  return {
    ...{ id: messageId ?? (await sha256(new TextDecoder('latin1').decode(raw))), from, name, sender, subject },
    ...{ to: to.toLowerCase(), text },
    headers: headers.map(({ key, value }) => ({ name: key, value })),
    attachments: files.map((file) => ({
      ...{ name: file.name, mediaType: file.mediaType },
      bytes: bytesOf(file.data),
    })),
    content: [
      { type: 'text', text: text === '' ? 'The message has no text.' : text },
      ...files.flatMap(({ name: file, mediaType, data }): UserContent[] => [
        { type: 'text', text: `Attachment: ${file}` },
        { type: mediaType.startsWith('image/') ? 'image' : 'file', mediaType, data },
      ]),
    ],
  }
}

/** Returns the number of bytes that base64 stands for. */
function bytesOf(base64: string): number {
  return (base64.length * 3) / 4 - (/=*$/.exec(base64)?.[0].length ?? 0)
}

/** Returns the reply to a mail, in its thread. */
function replyTo(
  event: EmailEvent,
  { binding, from = event.to }: { readonly binding: string; readonly from?: string },
): ReplyTarget {
  const earlier = headerValue(event.headers.find(({ name }) => name === 'references')?.value ?? '')
  const id = headerValue(event.id)
  const isNamed = id.startsWith('<')
  const title = headerValue(event.subject)
  const subject = /^re:/i.test(title) ? title : `Re: ${title}`
  const headers: Record<string, string> = isNamed ? { 'In-Reply-To': id, References: `${earlier} ${id}`.trim() } : {}
  // A program that answers by itself must not answer this.
  headers['Auto-Submitted'] = 'auto-replied'
  return { reply: { binding, from, to: event.from, subject, headers } }
}

/** Returns a value without control characters, with which a sender could add headers to the reply. */
function headerValue(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ').trim()
}
