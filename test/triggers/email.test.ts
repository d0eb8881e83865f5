import PostalMime from 'postal-mime'
import { describe, expect, test, vi } from 'vitest'
import { type EmailOptions, type EmailStart, emailTrigger } from '../../src/triggers/email.ts'
import type { EmailEvent, IncomingEmail } from '../../src/triggers/triggers.ts'
import { eventually } from '../fixtures/eventually.ts'
import { apiKey, withKeys } from '../fixtures/keys.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { ctx, triggeredEdge } from './triggered-edge.ts'

const STAMP = 'Authentication-Results: mx.cloudflare.net;\r\n\tdkim=pass header.d=example.com; spf=pass; '
const PASS_STAMP = `${STAMP}dmarc=pass (p=reject) header.from=example.com policy.dmarc=reject`
const FROM = 'From: Ann <Ann@Example.com>'

/** A mail of these header lines, as the platform passes it on. */
function mail(
  lines: readonly string[],
  { body = 'Where is my order?', from = 'bounces@example.com', to = 'Desk@acme.test' } = {},
) {
  const text = [...lines, '', body].join('\r\n')
  // Characters up to U+00FF are bytes, others are in UTF-8.
  const raw = /[^\0-\xff]/.test(text)
    ? new TextEncoder().encode(text)
    : Uint8Array.from(text, (char) => char.charCodeAt(0))
  const rejections: string[] = []
  const message: IncomingEmail = {
    ...{ from, to, raw: new Blob([raw]).stream(), rawSize: raw.byteLength },
    setReject: (reason) => void rejections.push(reason),
  }
  return { message, rejections }
}

const LINES = [PASS_STAMP, 'Message-ID: <1@example.com>', FROM, 'Subject: Order 7', 'Received: by mail.example.com']

/** A desk that answers mail of one domain. */
function desk(options: Partial<EmailOptions> = {}, parts: Parameters<typeof triggeredEdge>[1] = {}) {
  const events: EmailEvent[] = []
  const start: EmailOptions['start'] = (event) => {
    events.push(event)
    return { run: { input: [{ role: 'user', content: event.content }] } }
  }
  const trigger = emailTrigger({ as: 'desk', from: ['@example.com'], start, ...options })
  const edge = triggeredEdge({ desk: trigger }, parts)
  const deliver = async (...mailed: Parameters<typeof mail>) => {
    const { message, rejections } = mail(...mailed)
    await edge.handlers.email(message, {}, ctx)
    return rejections
  }
  return { ...edge, events, deliver }
}

describe('a mail', () => {
  test('starts one run, however often it is delivered', async () => {
    const { own, deliver, events } = desk()
    expect(await deliver(LINES)).toEqual([])
    expect(await deliver(LINES)).toEqual([])
    expect(own.objects.size).toBe(1)
    expect(own.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual([
      [{ type: 'text', text: 'Where is my order?' }],
    ])
    const { headers, ...event } = events[0] ?? { headers: [] }
    expect(headers.map(({ name }) => name)).toEqual([
      'authentication-results',
      'message-id',
      'from',
      'subject',
      'received',
    ])
    expect(event).toEqual({
      ...{ id: '<1@example.com>', from: 'ann@example.com', name: 'Ann', sender: 'bounces@example.com' },
      ...{ to: 'desk@acme.test', subject: 'Order 7', text: 'Where is my order?', attachments: [] },
      content: [{ type: 'text', text: 'Where is my order?' }],
    })
    // The id of another author’s message is another message.
    const bob = LINES.map((line) => line.replace('Ann@Example.com', 'bob@example.com'))
    await deliver(bob)
    expect(own.objects.size).toBe(2)
  })

  test('brings its attachments as files, and its HTML as text', async () => {
    const { own, deliver, events } = desk()
    const part = (...lines: readonly string[]) => ['--b', ...lines].join('\r\n')
    const body = [
      part(
        'Content-Type: text/html; charset=utf-8',
        '',
        '<style>p {}</style><p>See the <b>bill</b> &amp; pay\r\nit&#33;</p>\r\n<p>Ann</p>',
      ),
      part('Content-Type: application/pdf; name="bill.pdf"', 'Content-Transfer-Encoding: base64', '', btoa('%PDF')),
      part('Content-Type: image/png', 'Content-Transfer-Encoding: base64', '', btoa('png')),
      '--b--',
    ].join('\r\n')
    expect(await deliver([...LINES, 'Content-Type: multipart/mixed; boundary="b"'], { body })).toEqual([])
    expect(events[0]?.attachments).toEqual([
      { name: 'bill.pdf', mediaType: 'application/pdf', bytes: 4 },
      { name: 'attachment 2', mediaType: 'image/png', bytes: 3 },
    ])
    expect(own.requests[0]?.messages.at(-1)?.content).toEqual([
      { type: 'text', text: 'See the bill & pay it!\nAnn' },
      { type: 'text', text: 'Attachment: bill.pdf' },
      { type: 'file', mediaType: 'application/pdf', data: btoa('%PDF') },
      { type: 'text', text: 'Attachment: attachment 2' },
      { type: 'image', mediaType: 'image/png', data: btoa('png') },
    ])
  })

  test('is for the trigger of its address', async () => {
    const { own, deliver } = desk({ to: ['Desk@Acme.test'] })
    expect(await deliver(LINES, { to: 'other@acme.test' })).toEqual(['There is no such address.'])
    expect(own.objects.size).toBe(0)
    expect(await deliver(LINES)).toEqual([])
    expect(own.objects.size).toBe(1)
  })

  test('that is too large, or has too many attachments, is rejected', async () => {
    const { own, deliver } = desk({}, { vars: { MAX_BODY_BYTES: '4000' } })
    expect(await deliver(LINES, { body: 'x'.repeat(4000) })).toEqual(['The message is larger than 4000 bytes.'])
    const parts = Array.from({ length: 21 }, () => '--b\r\nContent-Type: image/png\r\n\r\nx').join('\r\n')
    const lines = [...LINES, 'Content-Type: multipart/mixed; boundary="b"']
    expect(await deliver(lines, { body: `${parts}\r\n--b--` })).toEqual(['The message has more than 20 attachments.'])
    expect(own.objects.size).toBe(0)
  })
})

describe('the sender of a mail', () => {
  const [, ...rest] = LINES
  const unauthenticated = 'The domain of the author has not authenticated the message (DMARC).'

  test.each([
    ['without results of the platform', rest],
    ['with results of another server', [PASS_STAMP.replace('mx.cloudflare.net', 'mx.example.net'), ...rest]],
    ['that failed', [PASS_STAMP.replace('dmarc=pass', 'dmarc=fail'), ...rest]],
    [
      'that failed, with results of its own below',
      [PASS_STAMP.replace('dmarc=pass', 'dmarc=none'), PASS_STAMP, ...rest],
    ],
    [
      'that continues the results',
      [`${STAMP}dmarc=none header.from=example.com`, ' ; dmarc=pass header.from=example.com', ...rest],
    ],
    [
      'that hides a result in a comment which the header of the platform begins',
      [
        `${STAMP}spf=none smtp.helo=(x; dmarc=fail header.from=example.com`,
        ' ); dmarc=pass header.from=example.com',
        ...rest,
      ],
    ],
    [
      'that hides a result in a quoted string',
      [`${STAMP}spf=none smtp.helo="x; dmarc=fail`, ' "; dmarc=pass header.from=example.com', ...rest],
    ],
    ['with a comment that does not end', [`${PASS_STAMP} (x`, ...rest]],
    ['with two domains', [`${PASS_STAMP} header.from=evil.test`, ...rest]],
    ['with two headers of the platform', [PASS_STAMP, PASS_STAMP, ...rest]],
    ['that nests 28,000 comments', [`${STAMP}dmarc=pass ${'('.repeat(28_000)}${')'.repeat(28_000)}`, ...rest]],
    ['that hides results in a comment', [`${STAMP}(x; dmarc=pass header.from=example.com)`, ...rest]],
    ['of another domain', [PASS_STAMP.replace('from=example.com', 'from=evil.test'), ...rest]],
    ['whose domain was not said', [PASS_STAMP.replace('header.from=example.com', ''), ...rest]],
  ])('%s is not authenticated', async (_, lines) => {
    const { own, deliver, reports } = desk()
    expect(await deliver(lines)).toEqual([unauthenticated])
    expect(own.objects.size).toBe(0)
    expect(reports).toEqual([
      {
        ...{ event: 'trigger.not_started', source: 'triggers/desk', because: 'forbidden' },
        ...{ code: 'sender_not_authenticated', detail: unauthenticated },
      },
    ])
  })

  test('is trusted as it says with `authentication: none`', async () => {
    const { own, deliver } = desk({ authentication: 'none' })
    expect(await deliver(rest)).toEqual([])
    expect(own.objects.size).toBe(1)
  })

  test.each([
    ['another domain', LINES.map((line) => line.replace('Ann@Example.com', 'ann@other.test'))],
    ['a subdomain', LINES.map((line) => line.replace('Ann@Example.com', 'ann@x.example.com'))],
    ['two authors', [...LINES, 'From: eve@example.com']],
    ['two authors in one header', LINES.map((line) => (line === FROM ? `${FROM}, <eve@example.com>` : line))],
    ['a group', LINES.map((line) => (line === FROM ? 'From: Team: ann@example.com;' : line))],
    ['no author', LINES.filter((line) => line !== FROM)],
  ])('must be one of those that are allowed, not %s', async (_, lines) => {
    const { own, deliver } = desk()
    expect(await deliver(lines)).toHaveLength(1)
    expect(own.objects.size).toBe(0)
  })

  test('may be anyone if the trigger says so', async () => {
    const { own, deliver } = desk({ from: 'anyone' })
    await deliver(LINES)
    expect(own.objects.size).toBe(1)
  })

  const from = (author: string) => LINES.map((line) => (line === FROM ? `From: ${author}` : line))
  const about = (subject: string) => [...LINES.filter((line) => !line.startsWith('Subject:')), `Subject: ${subject}`]

  test.each<[string, readonly string[], Partial<EmailOptions>?]>([
    ['an answer', [...LINES, 'Auto-Submitted: auto-replied (vacation)']],
    ['a message', [...LINES, 'Auto-Submitted: auto-generated; owner-email="a@example.com"']],
    ['a bulk message', [...LINES, 'Precedence: bulk']],
    ['a list', [...LINES, 'List-Id: <x.example.com>']],
    ['a newsletter', [...LINES, 'List-Unsubscribe: <https://example.com/off>']],
    ['a report', [...LINES, 'Content-Type: multipart/report; report-type=delivery-status; boundary="b"']],
    ['a failure', [...LINES, 'X-Failed-Recipients: bo@example.com']],
    ['an older auto-responder', [...LINES, 'X-Autoreply: yes']],
    ['Exchange', [...LINES, 'X-Auto-Response-Suppress: DR, OOF, AutoReply']],
    ['an envelope without a sender', [...LINES, 'Return-Path: <>']],
    ['a daemon', from('Mail <MAILER-DAEMON@example.com>')],
    ['an address that nobody reads', from('Shop <no-reply+7@example.com>')],
    ['an address for one bounce', from('Mail <bounce-123-ann=acme.test@example.com>')],
    ['an auto-responder', from('Shop <auto-reply@example.com>')],
    ['a list without the headers of one', [...LINES, 'X-BeenThere: news@example.com']],
    ['the owner of a list', from('List <owner-news@example.com>')],
    ['its subject', about('Automatic reply: Order 7')],
    ['its subject in German', about('Abwesenheitsnotiz: Bestellung')],
    ['the address of the trigger', from('Desk <desk@acme.test>'), { from: 'anyone', authentication: 'none' }],
    [
      'the address of its replies',
      from('Desk <answers@acme.test>'),
      { from: 'anyone', authentication: 'none', reply: { binding: 'MAIL', from: 'Answers@acme.test' } },
    ],
  ])('that a program has sent by %s starts nothing, and is not answered', async (_, lines, options) => {
    const { own, deliver } = desk(options)
    expect(await deliver(lines)).toEqual([])
    expect(own.objects.size).toBe(0)
  })

  test.each<[string, readonly string[], Partial<EmailOptions>?]>([
    ['says so', [...LINES, 'Auto-Submitted: no']],
    ['writes of programs', about('The automatic reply: it is wrong')],
    ['has an address like that of a program', from('Ann <noreplyann@example.com>')],
    ['is a program that the trigger names', from('Shop <noreply@example.com>'), { from: ['noreply@example.com'] }],
  ])('of an author who %s starts a run', async (_, lines, options) => {
    const { own, deliver } = desk(options)
    expect(await deliver(lines)).toEqual([])
    expect(own.objects.size).toBe(1)
  })

  test('without a sender in its envelope starts nothing', async () => {
    const { own, deliver } = desk()
    expect(await deliver(LINES, { from: '' })).toEqual([])
    expect(own.objects.size).toBe(0)
  })

  test('starts at most 30 runs an hour for an author', async () => {
    const { own, deliver } = desk({ from: 'anyone', authentication: 'none' })
    const send = (author: string, id: number) =>
      deliver([`From: ${author}`, `Message-ID: <${id}@example.com>`, 'Subject: Order'])
    for (let id = 0; id < 30; id += 1) expect(await send('ann@example.com', id)).toEqual([])
    expect(await send('Ann@example.com', 30)).toEqual(['This address takes at most 30 messages an hour from you.'])
    expect(await send('bo@example.com', 31)).toEqual([])
    expect(own.objects.size).toBe(31)
  })

  test('has a name and a subject in another charset, and text that says so if there is none', async () => {
    const { events, deliver } = desk({ from: 'anyone', authentication: 'none' })
    await deliver(['From: J\xf6rg <j@example.com>', 'Subject: Gr\xfc\xdfe'], { body: '' })
    expect(events.map(({ name, subject, text, content }) => ({ name, subject, text, content }))).toEqual([
      { name: 'Jörg', subject: 'Grüße', text: '', content: [{ type: 'text', text: 'The message has no text.' }] },
    ])
  })

  test('is told if its run cannot be accepted, and what may be accepted later fails', async () => {
    const { deliver } = desk({}, { vars: withKeys(apiKey('d', { id: 'desk', scopes: [] })) })
    expect(await deliver(LINES)).toEqual(['The message cannot be accepted.'])
    const busy = { RATE: { limit: async () => ({ success: false }) } }
    const vars = withKeys(apiKey('d', { id: 'desk', scopes: ['chat'], rate: 'RATE' }))
    const limited = desk({}, { vars, setup: { rates: busy } })
    await expect(limited.deliver(LINES)).rejects.toThrow('rate_limited')
  })
})

/** Counts the characters that searches in texts pass while it works. */
async function scannedCharacters(work: () => Promise<void>): Promise<number> {
  let count = 0
  const indexOf: (this: string, piece: string, from?: number) => number = Reflect.get(String.prototype, 'indexOf')
  const exec: (this: RegExp, text: string) => RegExpExecArray | null = Reflect.get(RegExp.prototype, 'exec')
  function countedIndexOf(this: string, piece: string, from?: number): number {
    const index = indexOf.call(this, piece, from)
    count += Math.max(0, (index === -1 ? this.length : index) - (from ?? 0))
    return index
  }
  // The other methods of patterns, and those of texts that take patterns, call this one.
  function countedExec(this: RegExp, value: unknown): RegExpExecArray | null {
    const text = String(value)
    const from = this.global || this.sticky ? this.lastIndex : 0
    const match = exec.call(this, text)
    count += Math.max(0, (match ? match.index + match[0].length : text.length) - from)
    return match
  }
  Object.assign(String.prototype, { indexOf: countedIndexOf })
  Object.assign(RegExp.prototype, { exec: countedExec })
  try {
    await work()
  } finally {
    Object.assign(String.prototype, { indexOf })
    Object.assign(RegExp.prototype, { exec })
  }
  return count
}

describe('the work for a mail', () => {
  const lines = [...LINES, 'Content-Type: multipart/mixed; boundary="b"']
  const body = '--b\r\n\r\n'.repeat(20_000)

  test('of a sender who is not allowed ends with its headers', async () => {
    const parse = vi.spyOn(PostalMime.prototype, 'parse')
    const { deliver } = desk({ from: ['@other.test'] })
    expect(await deliver(lines, { body })).toEqual(['This address accepts no mail from you.'])
    const bytes = new TextEncoder().encode(lines.map((line) => `${line}\r\n`).join('')).byteLength
    expect(parse.mock.calls.map(([raw]) => (raw as Uint8Array).byteLength)).toEqual([bytes])
    parse.mockRestore()
  })

  test('is bounded by its parts and its headers, before they are parsed', async () => {
    const parse = vi.spyOn(PostalMime.prototype, 'parse')
    const { deliver } = desk()
    expect(await deliver(lines, { body })).toEqual([
      'The message has more than 200 parts, parts in too many levels, or base64 in too many pieces.',
    ])
    expect(parse).toHaveBeenCalledTimes(1)
    for (const header of [`X: ${'x'.repeat(70_000)}`, `To: ${'a:;'.repeat(1500)}`])
      expect(await deliver([...LINES, header])).toEqual(['The headers of the message cannot be read.'])
    expect(parse).toHaveBeenCalledTimes(1)
    parse.mockRestore()
  })

  test.each<[string, string]>([
    ['many headers', 'a:\r\n'],
    ['many lines', 'X: x\r\n '],
    ['many addresses', 'To: a@b,'],
    ['groups of addresses', 'To: a:;'],
    ['quoted names', 'To: "a'],
    ['encoded words', 'Subject: =?utf-8?q?a?= '],
    ['comments', 'To: ('],
    ['parameters', 'Content-Type: text/plain;a*0=b'],
  ])('with %s takes at most 200 ms for 64 kB of headers', async (_, header) => {
    const { deliver } = desk({ from: ['@other.test'] })
    const [, start = '', piece = ''] = /^(\S+: (?:text\/plain)?)?([^]*)$/.exec(header) ?? []
    const lines = [...LINES, start + piece.repeat((64 * 1024 - 500) / piece.length)]
    let least = Infinity
    for (let count = 0; count < 3 && least > 200; count += 1) {
      const before = process.threadCpuUsage()
      expect(await deliver(lines)).toHaveLength(1)
      const { user, system } = process.threadCpuUsage(before)
      least = Math.min(least, (user + system) / 1000)
    }
    expect(least).toBeLessThan(200)
  })

  test.each(['<br ', '</p ', '<!--', '<script>', '<style ', '</', '&a'])(
    'in HTML that repeats %j is in proportion to its size',
    async (piece) => {
      const texts: string[] = []
      const start: EmailOptions['start'] = ({ text }) => void texts.push(text)
      const { deliver } = desk({ start })
      const html = [...LINES, 'Content-Type: text/html']
      const body = `Hi.${piece.repeat(20_000 / piece.length)}`
      const replies: unknown[] = []
      const scanned = await scannedCharacters(async () => void replies.push(await deliver(html, { body })))
      expect(replies).toEqual([[]])
      // What searches the rest from each start scans some thousand times the size.
      expect(scanned).toBeGreaterThan(body.length)
      expect(scanned).toBeLessThan(100 * body.length)
      expect(texts.map((text) => text.slice(0, 3))).toEqual(['Hi.'])
    },
  )
})

describe('a reply to a mail', () => {
  const replying = (
    send: (message: unknown) => Promise<unknown>,
    script?: NonNullable<Parameters<typeof triggeredEdge>[1]>['script'],
  ) =>
    desk(
      {
        reply: { binding: 'MAIL' },
        start: ({ content }) => ({ run: { input: [{ role: 'user', content }] }, answerTo: 'reply' }),
      },
      { env: { MAIL: { send } }, ...(script && { script }) },
    )

  test('is sent to the author once the run has ended, in its thread', async () => {
    const replies: unknown[] = []
    const { own, deliver } = replying(async (message) => void replies.push(message))
    await deliver([...LINES, 'References: <0@example.com>'])
    await eventually(async () => {
      await own.settle()
      expect(replies).toHaveLength(1)
    })
    expect(replies).toEqual([
      {
        ...{ from: 'desk@acme.test', to: 'ann@example.com', subject: 'Re: Order 7', text: 'Done.' },
        headers: {
          'In-Reply-To': '<1@example.com>',
          References: '<0@example.com> <1@example.com>',
          'Auto-Submitted': 'auto-replied',
        },
      },
    ])
  })

  test('has no headers that the author of the mail has written into others', async () => {
    const replies: unknown[] = []
    const { own, deliver } = replying(async (message) => void replies.push(message))
    const subject = 'Subject: =?utf-8?Q?hi=0D=0ABcc:_all=40evil.test?='
    const references = 'References: =?utf-8?Q?=3C0=40x=3E=0D=0ABcc:_all=40evil.test?='
    await deliver([...LINES.map((line) => (line.startsWith('Subject') ? subject : line)), references])
    await eventually(async () => {
      await own.settle()
      expect(replies).toHaveLength(1)
    })
    expect(replies).toMatchObject([{ subject: 'Re: hi Bcc: all@evil.test' }])
    expect(JSON.stringify(replies)).not.toMatch(/\\[rn]/)
  })

  test('is not sent if the run has failed', async () => {
    const { own, deliver, reports } = replying(
      async () => expect.unreachable(),
      [[{ type: 'error', error: { code: 'model_error', message: 'x', retryable: false } }] as never],
    )
    await deliver(LINES)
    await eventually(async () => {
      await own.settle()
      expect(reports).toContainEqual(expect.objectContaining({ event: 'answer.not_sent', to: 'reply' }))
    })
  })

  test('is not sent of private data that the run has read for a mail, unless the trigger trusts what mails say', async () => {
    const card = tool('card', () => 'no. 1', { annotations: { private: true, openWorld: false } })
    const replies: unknown[] = []
    const send = async (message: unknown) => void replies.push(message)
    const go = async (options: Pick<EmailStart, 'marks'>, vars = {}) => {
      const started = { run: { input: 'Which card?', tools: ['card'] }, answerTo: 'reply' as const }
      const { own, deliver, reports } = desk(
        { reply: { binding: 'MAIL' }, start: () => ({ ...started, ...options }) },
        { env: { MAIL: { send } }, script: [ask(['card']), say('It is no. 1.')], tools: [card], vars },
      )
      await deliver(LINES)
      await eventually(async () => {
        await own.settle()
        expect(reports.length + replies.length).toBe(1)
      })
      return [...reports.splice(0), ...replies.splice(0)]
    }
    expect(await go({})).toMatchObject([
      {
        ...{ event: 'answer.not_sent', to: 'reply' },
        detail: 'The run has read both untrusted and private data, and no person has seen the answer.',
      },
    ])
    const answers = [{ to: 'ann@example.com', text: 'It is no. 1.' }]
    expect(await go({ marks: [] })).toMatchObject(answers)
    expect(await go({}, { TAINT_RULE: 'off' })).toMatchObject(answers)
  })

  test('needs a binding', async () => {
    const { own, deliver, reports } = desk({
      start: () => ({ run: { input: 'x' }, answerTo: 'reply' }),
    })
    await expect(deliver(LINES)).rejects.toThrow('The trigger failed.')
    expect(reports).toMatchObject([{ event: 'trigger.failed', source: 'triggers/desk' }])
    expect(own.objects.size).toBe(0)
  })
})
