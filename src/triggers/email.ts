import PostalMime, { addressParser, type Email, type Mailbox } from 'postal-mime'
import type { ReplyTarget, ToolTarget, WebhookTarget } from '../contract/answer-target.ts'
import { sha256 } from '../contract/json.ts'
import type { UserContent } from '../contract/message.ts'
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
/** How deep the parts of a message may be nested, and how many bytes its headers may have. */
const BOUNDS = { maxNestingDepth: 20, maxHeadersSize: 64 * 1024 }
/** The most lines that begin with `--`, as those between parts do: the parser compares each with all boundaries. */
const MOST_BOUNDARIES = 1000

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
 * must have authenticated it. Mail that programs send by themselves starts nothing. What a mail says is
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
  return {
    on: 'email',
    ...options,
    isFor: (address) => addresses?.includes(address) ?? true,
    read: async (message, raw) => {
      // The sender is checked by the headers alone: the rest is not parsed for just anyone.
      const headers = await parse(headersOf(raw))
      if (!headers) return rejected('invalid_message', 'The headers of the message cannot be read.')
      const fault = senderFault(message, headers, { from, authentication })
      if (fault) return fault
      if (hasTooManyBoundaries(raw))
        return rejected('too_many_parts', `The message has more than ${MOST_BOUNDARIES} lines that begin with "--".`)
      const body = await parse(raw)
      if (!body) return rejected('invalid_message', 'The message cannot be read.')
      const { text, html, attachments } = body
      return eventOf(message, { ...headers, text, html, attachments }, raw)
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

async function parse(raw: Uint8Array<ArrayBuffer> | undefined): Promise<Email | undefined> {
  return raw && new PostalMime({ ...BOUNDS, attachmentEncoding: 'base64' }).parse(raw).catch(() => undefined)
}

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const HYPHEN = 45

/** Returns the bytes before the first empty line; undefined if they are more than headers may have. */
function headersOf(raw: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined {
  let start = 0
  while (start < raw.length && start <= BOUNDS.maxHeadersSize) {
    const first = raw[start] === CARRIAGE_RETURN ? start + 1 : start
    if (raw[first] === LINE_FEED) return raw.subarray(0, start)
    const end = raw.indexOf(LINE_FEED, start)
    start = end === -1 ? raw.length : end + 1
  }
  return start <= BOUNDS.maxHeadersSize ? raw : undefined
}

function hasTooManyBoundaries(raw: Uint8Array): boolean {
  let count = 0
  let end = -1
  do {
    if (raw[end + 1] === HYPHEN && raw[end + 2] === HYPHEN) count += 1
    end = raw.indexOf(LINE_FEED, end + 1)
  } while (end !== -1 && count <= MOST_BOUNDARIES)
  return count > MOST_BOUNDARIES
}

function rejected(code: string, message: string): EmailRefusal {
  return { refusal: 'rejected', code, message }
}

/** Returns why the mail of a sender is not read; undefined if it is. */
function senderFault(
  { from: sender }: IncomingEmail,
  email: Email,
  { from, authentication }: Required<Pick<EmailOptions, 'from' | 'authentication'>>,
): EmailRefusal | undefined {
  // Answering programs is how two of them come to write to each other for ever.
  if (sender === '' || isAutomatic(email)) {
    return { refusal: 'ignored', code: 'automatic_message', message: 'A program has sent the message by itself.' }
  }
  const author = authorOf(email)
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

/** Whether a program has sent the message by itself (RFC 3834), or to a list. */
function isAutomatic({ headers }: Email): boolean {
  return headers.some(({ key, value }) => {
    if (key === 'auto-submitted') return value.trim().toLowerCase() !== 'no'
    return key === 'list-id' || (key === 'precedence' && /^\s*(?:bulk|list|junk|auto_reply)\s*$/i.test(value))
  })
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
  raw: Uint8Array<ArrayBuffer>,
): Promise<EmailEvent | EmailRefusal> {
  const { headers, subject = '', html = '', messageId, attachments } = email
  const text = (email.text ?? textOfHtml(html)).trim()
  if (attachments.length > MOST_ATTACHMENTS)
    return rejected('too_many_attachments', `The message has more than ${MOST_ATTACHMENTS} attachments.`)
  const files = attachments.map(({ filename, mimeType, content }, at) => ({
    name: filename ?? `attachment ${at + 1}`,
    mediaType: mimeType,
    // As `attachmentEncoding` says.
    data: typeof content === 'string' ? content : '',
  }))
  const { address: from, name } = authorOf(email) ?? { address: '', name: '' }
  return {
    ...{ id: messageId ?? (await sha256(new TextDecoder('latin1').decode(raw))), from, name, sender, subject },
    ...{ to: to.toLowerCase(), text },
    headers: headers.map(({ key, value }) => ({ name: key, value })),
    attachments: files.map((file) => ({
      ...{ name: file.name, mediaType: file.mediaType },
      bytes: bytesOf(file.data),
    })),
    content: [
      { type: 'text', text },
      ...files.flatMap(({ name: file, mediaType, data }): UserContent[] => [
        { type: 'text', text: `Attachment: ${file}` },
        { type: mediaType.startsWith('image/') ? 'image' : 'file', mediaType, data },
      ]),
    ],
  }
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

const LINE_TAG = /^<(?:br|\/(?:p|div|tr|li|h[1-6]|table|ul|ol|blockquote))(?![\w-])/i

/**
 * Returns the text in a document, in lines. It is for a model to read: nothing shows it as HTML. One pass: an element or
 * comment that does not end takes the rest with it, so that nothing is searched twice.
 */
function textOfHtml(html: string): string {
  const source = html.replaceAll(/\s+/g, ' ')
  const pieces: string[] = []
  // Whether a space that follows is left out.
  let skipsSpace = false
  let at = 0
  while (at < source.length) {
    const tag = source.indexOf('<', at)
    const end = tag === -1 ? -1 : source.indexOf('>', tag)
    const text = source.slice(at, end === -1 ? source.length : tag)
    if (text !== '') {
      pieces.push(skipsSpace && text.startsWith(' ') ? text.slice(1) : text)
      skipsSpace = text.endsWith(' ')
    }
    if (end === -1) break
    const start = source.slice(tag, tag + 16)
    const [, hidden] = /^<(script|style|head|title)(?![\w-])/i.exec(start) ?? []
    if (hidden !== undefined || start.startsWith('<!--')) {
      const close = hidden === undefined ? /-->/g : new RegExp(`</${hidden} ?>`, 'gi')
      close.lastIndex = hidden === undefined ? tag + 4 : end + 1
      at = close.test(source) ? close.lastIndex : source.length
      continue
    }
    if (LINE_TAG.test(start)) {
      pieces.push('\n')
      skipsSpace = true
    }
    at = end + 1
  }
  return pieces.join('').replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{1,32}));/gi, (entity, decimal, hex, name) => {
    const code = decimal ? Number(decimal) : hex ? Number.parseInt(hex, 16) : undefined
    if (code !== undefined) return code <= 0x10ffff ? String.fromCodePoint(code) : entity
    return ENTITIES[name.toLowerCase()] ?? entity
  })
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
