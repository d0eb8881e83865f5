import { markdownTable } from './table.ts'

/** What becomes of a mail that starts no run, as the page on events says it. */
interface MailRule {
  readonly mail: string
  /** By what it is known. */
  readonly sign: string
  /** Header lines of such mails, each of which has the sign. */
  readonly examples: readonly (readonly string[])[]
  /** The code in the log. A sender who is a person is told why; a program is not answered. */
  readonly code: string
  readonly isTold: boolean
}

const FROM = 'From: Ann <ann@example.com>'
const from = (address: string): readonly string[] => [`From: ${address}`]
const withHeader = (line: string): readonly string[] => [FROM, line]

/** The mail that starts no run, in the order in which it is recognised. */
export const MAIL_RULES: readonly MailRule[] = [
  {
    mail: 'automatic answers and messages',
    sign: '`Auto-Submitted`, unless it is `no`',
    examples: ['auto-replied (vacation)', 'auto-generated', 'auto-notified'].map((value) =>
      withHeader(`Auto-Submitted: ${value}`),
    ),
    code: 'automatic_message',
    isTold: false,
  },
  {
    mail: 'those of older programs',
    sign: '`Precedence`: `bulk`, `list`, `junk`, `auto_reply`; `X-Auto-Response-Suppress`: `All`, `OOF`, `AutoReply`; `X-Autoreply`, `X-Autorespond` and the like',
    examples: [
      'Precedence: bulk',
      'Precedence: junk',
      'X-Auto-Response-Suppress: DR, OOF',
      'X-Autoreply: yes',
      'X-Autorespond: Re: Order',
    ].map(withHeader),
    code: 'automatic_message',
    isTold: false,
  },
  {
    mail: 'automatic answers that only their subject tells',
    sign: 'it begins with “Automatic reply:”, “Out of office:” or the same in German, Dutch, French, Spanish or Italian',
    examples: [
      'Automatic reply: Order 7',
      'Out of the office: Ann',
      'Abwesenheitsnotiz: x',
      'Réponse automatique : x',
    ].map((subject) => withHeader(`Subject: ${subject}`)),
    code: 'automatic_message',
    isTold: false,
  },
  {
    mail: 'lists and newsletters',
    sign: '`List-Id`, `List-Unsubscribe` and the other headers of lists; `Precedence: list`',
    examples: ['List-Id: <x.example.com>', 'List-Unsubscribe: <https://example.com/off>', 'Precedence: list'].map(
      withHeader,
    ),
    code: 'automatic_message',
    isTold: false,
  },
  {
    mail: 'reports of what was not delivered, or was read',
    sign: 'an envelope without a sender, `multipart/report`, `X-Failed-Recipients`',
    examples: [
      'Return-Path: <>',
      'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
      'X-Failed-Recipients: bo@example.com',
    ].map(withHeader),
    code: 'automatic_message',
    isTold: false,
  },
  {
    mail: 'mail of daemons, lists and `noreply@`',
    sign: 'the address of the author, unless `from` lists it',
    examples: [
      from('MAILER-DAEMON@example.com'),
      from('noreply@example.com'),
      from('do-not-reply+7@example.com'),
      from('owner-news@example.com'),
      from('news-request@example.com'),
    ],
    code: 'automatic_message',
    isTold: false,
  },
  {
    mail: 'mail of the trigger itself',
    sign: 'the author has an address of its `to`, or of its replies',
    examples: [from('desk@acme.test'), from('answers@acme.test')],
    code: 'automatic_message',
    isTold: false,
  },
  {
    mail: 'mail without one author',
    sign: 'no header `From`, two of them, or several addresses in it',
    examples: [['Subject: x'], [FROM, 'From: bo@example.com'], from('ann@example.com, bo@example.com')],
    code: 'sender_not_allowed',
    isTold: true,
  },
  {
    mail: 'mail of others',
    sign: 'neither the address nor the domain of the author is in `from`',
    examples: [from('eve@other.example')],
    code: 'sender_not_allowed',
    isTold: true,
  },
  {
    mail: 'mail that the domain of its author has not sent',
    sign: 'no `dmarc=pass` for it in the first `Authentication-Results`',
    examples: [
      withHeader('Authentication-Results: mx.cloudflare.net; dmarc=fail header.from=example.com'),
      withHeader('Authentication-Results: mx.example.com; dmarc=pass header.from=example.com'),
    ],
    code: 'sender_not_authenticated',
    isTold: true,
  },
]

const HEAD = ['Mail', 'Known by', 'Code in the log', 'Its sender is told']

/** Returns docs/events.md with the table of the mail that starts no run. */
export function withMailRules(page: string): string {
  const rows = MAIL_RULES.map(({ mail, sign, code, isTold }) => [mail, sign, `\`${code}\``, isTold ? 'yes' : 'no'])
  return page.replace(/(?<=### Mail that starts nothing\n\n)(?:\|.*\n)*/, markdownTable([HEAD, ...rows]))
}
