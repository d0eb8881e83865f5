import PostalMime, { type Email, type Mailbox } from 'postal-mime'
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
 * must have authenticated it. Mail that programs send by themselves starts nothing. What a mail says is data from outside.
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
      const email = await new PostalMime({ ...BOUNDS, attachmentEncoding: 'base64' }).parse(raw).catch(() => undefined)
      if (!email) return rejected('invalid_message', 'The message cannot be read.')
      return senderFault(message, email, { from, authentication }) ?? eventOf(message, email, raw)
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
  const isOne = headers.filter(({ key }) => key === 'from').length === 1
  if (!isOne || !from || from.group || !/^[^@\s]+@[^@\s]+$/.test(from.address)) return undefined
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
 * the sender, so those of the first header count alone. A sender can continue the last line of that header: contradicting
 * results count as a failure.
 */
function isAuthenticated({ headers }: Email, domain: string): boolean {
  const first = headers.find(({ key }) => key === 'authentication-results')?.value ?? ''
  const [receiver = '', ...results] = withoutComments(first).split(';')
  if (receiver.trim().split(/\s+/)[0]?.toLowerCase() !== RECEIVER) return false
  const dmarc = results.map((result) => result.trim()).filter((result) => /^dmarc\s*=/i.test(result))
  const [, result, checked] = /^dmarc\s*=\s*(\w+)\b(?:.*\bheader\.from=([^\s;]+))?/is.exec(dmarc[0] ?? '') ?? []
  return dmarc.length === 1 && result?.toLowerCase() === 'pass' && checked?.toLowerCase() === domain
}

/** Removes comments, the innermost first. */
function withoutComments(text: string): string {
  const shorter = text.replaceAll(/\([^()]*\)/g, ' ')
  return shorter === text ? text : withoutComments(shorter)
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

/** Returns the text in a document, in lines. It is for a model to read: nothing shows it as HTML. */
function textOfHtml(html: string): string {
  return html
    .replaceAll(/<(script|style|head|title)\b[^]*?<\/\1\s*>|<!--[^]*?-->/gi, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/<(?:br|\/(?:p|div|tr|li|h[1-6]|table|ul|ol|blockquote))\b[^>]*> ?/gi, '\n')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w+));/gi, (entity, decimal, hex, name) => {
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
  const earlier = event.headers.find(({ name }) => name === 'references')?.value ?? ''
  const isNamed = event.id.startsWith('<')
  const subject = /^re:/i.test(event.subject) ? event.subject : `Re: ${event.subject}`
  const headers: Record<string, string> = isNamed
    ? { 'In-Reply-To': event.id, References: `${earlier} ${event.id}`.trim() }
    : {}
  // A program that answers by itself must not answer this.
  headers['Auto-Submitted'] = 'auto-replied'
  return { reply: { binding, from, to: event.from, subject, headers } }
}
