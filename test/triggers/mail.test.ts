import { describe, expect, test } from 'vitest'
import { binaryOf } from '../../src/contract/bytes.ts'
import { readMail } from '../../src/triggers/mail.ts'

/** What mail says, and what it may cost to read it. */

const read = (...lines: readonly string[]) => readMail(binaryOf(new TextEncoder().encode(lines.join('\r\n'))))
const part = (...lines: readonly string[]) => ['--b', ...lines]
const MIXED = 'Content-Type: multipart/mixed; boundary="b"'
const ALTERNATIVE = 'Content-Type: multipart/alternative; boundary=b'

describe('the text of a mail', () => {
  test.each<[string, readonly string[], string]>([
    ['is its body', ['Subject: x', '', 'Hello', '', 'Ann'], 'Hello\n\nAnn'],
    ['is empty without one', ['Subject: x'], ''],
    ['may be there without headers', ['', 'Hello'], 'Hello'],
    ['may be in UTF-8', ['Content-Type: text/plain; charset=utf-8', '', 'Grüße'], 'Grüße'],
    [
      'may be quoted-printable, in another charset',
      [
        'Content-Type: text/plain; charset="iso-8859-1"',
        'Content-Transfer-Encoding: quoted-printable',
        '',
        'Gr=fC=DFe =',
        'Ann=20=3D =G1 =',
      ],
      'Grüße Ann = =G1 =',
    ],
    [
      'may be in base64',
      ['content-type:text/plain;charset=utf-8', 'CONTENT-TRANSFER-ENCODING: Base64', '', 'R3LDvMOf', 'ZQ=='],
      'Grüße',
    ],
    ['may be padded line by line', ['Content-Transfer-Encoding: base64', '', 'QQ==', 'Qg==', 'QUI='], 'ABAB'],
    [
      'may be flowed',
      ['Content-Type: text/plain; format=flowed', '', 'One ', 'line', 'Two', '-- ', 'Ann'],
      'One line\nTwo\n-- \nAnn',
    ],
    ['may be flowed without spaces', ['Content-Type: text/plain; format=flowed; delsp=yes', '', 'Ei ', 'ner'], 'Einer'],
    ['is made of HTML', ['Content-Type: text/html', '', '<p>Hello</p><p>Ann</p>'], 'Hello\nAnn'],
    [
      'is the plain one of two',
      [
        ALTERNATIVE,
        '',
        'For old programs.',
        ...part('Content-Type: text/html', '', '<p>rich</p>'),
        ...part('', 'plain', ''),
        '--b--',
        'end',
      ],
      'plain',
    ],
    [
      'is the rich one if the plain one is empty',
      [ALTERNATIVE, '', ...part('', ' '), ...part('Content-Type: text/html', '', '<p>rich</p>'), '--b--'],
      'rich',
    ],
    ['is all of several', [MIXED, '', ...part('', 'one'), ...part('', 'two'), '--b--'], 'one\ntwo'],
    [
      'goes on after a line that is longer than the boundary',
      [MIXED, '', ...part('', 'one', '--bc', 'two'), '--b--'],
      'one\n--bc\ntwo',
    ],
    ['needs no end', [MIXED, '', ...part('', 'one')], 'one'],
    [
      'has forwarded messages',
      [
        MIXED,
        '',
        ...part('', 'See:'),
        ...part(
          'Content-Type: message/rfc822',
          '',
          'From: Bo <bo@b.c>',
          'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
          '',
          'Hi.',
        ),
        '--b--',
      ],
      'See:\nFrom: Bo <bo@b.c>\nSubject: Grüße\nDate: \n\nHi.',
    ],
    [
      'may be in parts of parts',
      [
        MIXED,
        '',
        ...part('Content-Type: multipart/alternative; boundary="b c"', '', '--b c', '', 'deep', '--b c--'),
        ...part('', 'after'),
        '--b--',
      ],
      'deep\nafter',
    ],
  ])('%s', async (_, lines, text) => {
    expect(await read(...lines)).toEqual({ text, files: [] })
  })
})

test('the files of a mail have their names and types, in base64', async () => {
  const lines = [
    ...[MIXED, '', ...part('', 'See:')],
    ...part('Content-Type: application/pdf; name="bill.pdf"', 'Content-Transfer-Encoding: base64', '', 'JVBE', 'Rg=='),
    ...part(
      "Content-Disposition: attachment; filename*=utf-8''Gr%C3%BC%C3%9Fe.txt",
      'Content-Type: text/plain',
      '',
      'Hi',
    ),
    ...part('Content-Type: image/png', 'Content-ID: <1>', 'Content-Transfer-Encoding: base64', '', 'cG5', 'n'),
    ...part('Content-Type: message/rfc822', 'Content-Disposition: attachment', '', 'Subject: x', '', 'Hi'),
    '--b--',
  ]
  expect(await read(...lines)).toEqual({
    text: 'See:',
    files: [
      { name: 'bill.pdf', mediaType: 'application/pdf', data: 'JVBERg==' },
      { name: 'Grüße.txt', mediaType: 'text/plain', data: btoa('Hi') },
      { name: 'attachment 3', mediaType: 'image/png', data: 'cG5n' },
      { name: 'attachment 4', mediaType: 'message/rfc822', data: btoa('Subject: x\r\n\r\nHi') },
    ],
  })
})

test('a message has at most 200 parts, in 20 levels', async () => {
  const many = (count: number) => read(MIXED, '', ...Array.from({ length: count }, () => part('', 'x')).flat(), '--b--')
  expect([await many(199), await many(200)]).toEqual([
    { text: Array(199).fill('x').join('\n'), files: [] },
    'too_many_parts',
  ])
  const nested = (levels: number): string =>
    levels === 0
      ? '\r\nx'
      : `Content-Type: multipart/mixed; boundary=b${levels}\r\n\r\n--b${levels}\r\n${nested(levels - 1)}\r\n--b${levels}--`
  expect([await readMail(nested(20)), await readMail(nested(21))]).toEqual([{ text: 'x', files: [] }, 'too_many_parts'])
  const forwarded = (levels: number): string =>
    levels === 0 ? 'x' : `Content-Type: message/rfc822\r\n\r\n${forwarded(levels - 1)}`
  expect(await readMail(forwarded(21))).toBe('too_many_parts')
})

describe('a mail of 1 MiB', () => {
  const MOST = 1024 * 1024
  const full = (start: string, piece: string) => start + piece.repeat((MOST - start.length) / piece.length)
  const base64 = 'Content-Transfer-Encoding: base64\r\n\r\n'
  const mixed = `${MIXED}\r\n\r\n`
  const deep = Array.from(
    { length: 19 },
    (_, at) => `Content-Type: multipart/mixed; boundary="b${at}"\r\n\r\n--b${at}\r\n`,
  ).join('')
  const forwarded = 'Content-Type: message/rfc822\r\n\r\n'.repeat(19)

  test.each<[string, string]>([
    ['of empty lines', full('\r\n', '\n')],
    ['of short lines', full('\r\n', 'a\r\n')],
    ['of flowed lines', full('Content-Type: text/plain; format=flowed\r\n\r\n', ' \n')],
    ['of flowed words', full('Content-Type: text/plain; format=flowed; delsp=yes\r\n\r\n', 'a \n')],
    ['of soft line breaks', full('Content-Transfer-Encoding: quoted-printable\r\n\r\n', '=\n')],
    ['of escapes', full('Content-Transfer-Encoding: quoted-printable\r\n\r\n', '=41')],
    ['of spaces before line breaks', full('Content-Transfer-Encoding: quoted-printable\r\n\r\n', '= ')],
    ['of base64', full(base64, 'QUJD')],
    ['of short lines of base64', full(base64, 'A\n')],
    ['of padded base64', full(base64, 'QQ==')],
    ['of an attachment in padded base64', full(`Content-Type: image/png\r\n${base64}`, 'A=')],
    ['of HTML', full('Content-Type: text/html\r\n\r\n', '<br>\n')],
    ['of entities', full('Content-Type: text/html\r\n\r\n', '&#65;')],
    ['of parts', full(mixed, '--b\r\n\r\n')],
    ['of forwarded messages', full(mixed, '--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: x\r\n\r\nx\r\n')],
    ['of lines that nearly end a part', full(`${mixed}--b\r\n\r\n`, '\n--bc')],
    ['of lines that end a part after spaces', full(`${mixed}--b\r\n\r\n`, '\n--b            x')],
    ['of lines in parts of parts', full(`${deep}\r\n`, '--b\n')],
    ['of lines in messages of messages', full(`${forwarded}\r\n`, 'a\n')],
    ['of headers in messages of messages', full(forwarded, 'a: b\r\n')],
    ['of one header', full('Content-Type: text/plain', ';a=b')],
    ['of quotes in a header', full('Content-Type: text/plain', ';a="\\')],
    ['of spaces in a header', full('Content-Type: text/plain;', ' ')],
    ['of folds in a header', full('Content-Type: text/plain', '\r\n ')],
    ['of headers', full('', 'Content-Type:\r\n')],
  ])('%s takes at most 200 ms', async (_, text) => {
    expect(text.length).toBeGreaterThan(MOST - 100)
    let least = Infinity
    // The first time, code is compiled.
    for (let count = 0; count < 3 && least > 200; count += 1) {
      const start = process.threadCpuUsage()
      await readMail(text)
      const { user, system } = process.threadCpuUsage(start)
      least = Math.min(least, (user + system) / 1000)
    }
    expect(least).toBeLessThan(200)
  })
})
