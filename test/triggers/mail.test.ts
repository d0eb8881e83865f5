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
    [
      'may be flowed with quotations, each by itself',
      ['Content-Type: text/plain; format=flowed', '', '> One ', '> line ', '>> deep ', 'mine ', '-- ', 'Ann'],
      '> One line \n>> deep \nmine \n-- \nAnn',
    ],
    ['may be flowed without spaces', ['Content-Type: text/plain; format=flowed; delsp=yes', '', 'Ei ', 'ner'], 'Einer'],
    ['is made of HTML', ['Content-Type: text/html', '', '<p>Hello</p><p>Ann</p>'], 'Hello\nAnn'],
    [
      'has the links of HTML with their addresses',
      [
        'Content-Type: text/html',
        '',
        'See <a class=x href="https://a.b/?c=1&amp;d=2">our\nterms</a>. <a href=https://a.b>https://a.b</a>',
      ],
      'See our terms (https://a.b/?c=1&d=2) . https://a.b',
    ],
    [
      'has the cells of a table in columns, and the items of a list',
      [
        'Content-Type: text/html',
        '',
        'A<table><tr><th>Item<th>Price</th></tr> <tr><td>Tea</td> <td>3</td></tr></table>B<ul><li>c<li>d</ul>',
      ],
      'A\nItem\tPrice\nTea\t3\nB\n- c\n- d',
    ],
    [
      'has the cells of a row in one line, whatever is in them, and empty ones',
      [
        'Content-Type: text/html',
        '',
        '<table><tr><td><p>Tea</p></td><td></td><td><div>3</div><div>of 5</div></td></tr><tr><td></td><td>x</td></tr></table>end',
      ],
      'Tea\t\t3\nof 5\n\tx\nend',
    ],
    [
      'has the lines of what is formatted',
      ['Content-Type: text/html', '', 'a', 'b<pre class=x>at c', '  at d</pre>e', 'f'],
      'a b\nat c\nat d\ne f',
    ],
    [
      'has nothing that no browser shows',
      [
        'Content-Type: text/html',
        '',
        '<div class=p style="display:none !important;max-height:0"><div>Preview</div>ignore</div>a<span hidden>b</span>',
        "<p style='color:red; display : none'>c</p>d<p data-hidden=1 style='display:block'>e</p><div hidden>f",
      ],
      'a\nd\ne\nf',
    ],
    [
      'has no part of a tag that has its end in quotes',
      [
        'Content-Type: text/html',
        '',
        `<a title="a > b" href='https://a.b/?x=">"'>c</a><img alt="d > e"><b title="f>g</b><i x='>h</i>`,
      ],
      `c (https://a.b/?x=">") d > egh`,
    ],
    [
      'has the characters that HTML names',
      [
        'Content-Type: text/html',
        '',
        '&Eacute;t&eacute; &hellip; &#8364;&#x20AC;&#146; R&amp;D &lt;b&gt; &nbsp;&copy;&NotEqualTilde; &unknown; &#0; &#xD800;',
      ],
      'Été … €€’ R&D <b>  ©≂̸ &unknown; \ufffd \ufffd',
    ],
    [
      'has no styles, scripts and comments, and the descriptions of images',
      [
        'Content-Type: text/html',
        '',
        '<style>p { a: b }</style>Hi<!-- <p>no --><img src=x alt="a cat"><script>no()</script><div>there</div>you',
      ],
      'Hia cat\nthere\nyou',
    ],
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
    [
      'is the rich one if the plain one has characters without width alone',
      [
        ALTERNATIVE,
        '',
        ...part('', '\u200c \u034f\ufeff\u00a0'),
        ...part('Content-Type: text/html', '', '<p>rich</p>'),
        '--b--',
      ],
      'rich',
    ],
    ['is all of several', [MIXED, '', ...part('', 'one'), ...part('', 'two'), '--b--'], 'one\ntwo'],
    [
      'goes on after a line that is longer than the boundary',
      [MIXED, '', ...part('', 'one', '--bc', 'two'), '--b--'],
      'one\n--bc\ntwo',
    ],
    ['is there without its boundaries', ['Content-Type: multipart/mixed; boundary=c', '', 'one', '--b'], 'one\n--b'],
    ['is empty without parts', [MIXED, '', '--b--'], ''],
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

describe('the text of a mail without a charset', () => {
  const japanese = 'お問い合わせ、テスト'
  const headers = 'Content-Type: text/plain\r\n\r\n'
  test.each<[string, string, readonly number[], string]>([
    ['may be in UTF-8', headers, [...new TextEncoder().encode(japanese)], japanese],
    ['may be in Latin-1', headers, [0x47, 0x72, 0xfc, 0xdf, 0x65, 0x20, 0xe9], 'Grüße é'],
    ['may be in Shift_JIS', headers, [0x82, 0xa8, 0x96, 0xe2, 0x82, 0xa2], 'お問い'],
    ['may be in EUC-JP', headers, [0xa4, 0xaa, 0xcc, 0xe4, 0xa4, 0xa4], 'お問い'],
    [
      'may be in ISO-2022-JP',
      headers,
      [0x1b, 0x24, 0x42, 0x24, 0x2a, 0x4c, 0x64, 0x24, 0x24, 0x1b, 0x28, 0x42],
      'お問い',
    ],
    ['may be in another than it says', 'Content-Type: text/plain; charset=utf-8\r\n\r\n', [0xfc], 'ü'],
    ['may be in one that nobody knows', 'Content-Type: text/plain; charset=unknown-8bit\r\n\r\n', [0xfc], 'ü'],
    [
      'may be in that of its HTML',
      'Content-Type: text/html\r\n\r\n<meta http-equiv=x content="text/html; charset=koi8-r">',
      [0xf0, 0xd2],
      'Пр',
    ],
  ])('%s', async (_, start, bytes, text) => {
    expect(await readMail(start + String.fromCharCode(...bytes))).toEqual({ text, files: [] })
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
    ['of ampersands', full('Content-Type: text/html\r\n\r\n', '&a')],
    [
      'of names',
      `Content-Type: text/html\r\n\r\n${Array.from({ length: 140_000 }, (_, at) => `&a${at};`).join('')}`.slice(
        0,
        MOST,
      ),
    ],
    ['of links', full('Content-Type: text/html\r\n\r\n', '<a href="http://a">')],
    ['of open links', full('Content-Type: text/html\r\n\r\n', '<a href="http://a" ')],
    ['of images', full('Content-Type: text/html\r\n\r\n', '<img alt=')],
    ['of hidden elements', full('Content-Type: text/html\r\n\r\n', '<p hidden>')],
    ['of quotes in tags', full('Content-Type: text/html\r\n\r\n', '<a "')],
    ['of quotes in one tag', full('Content-Type: text/html\r\n\r\n<a ', '"a"')],
    ['of open formatted texts', full('Content-Type: text/html\r\n\r\n', '<pre ')],
    ['of cells', full('Content-Type: text/html\r\n\r\n', '</td>')],
    ['of styles that do not end', full('Content-Type: text/html\r\n\r\n', '<style>')],
    ['of bytes in no charset', full('\r\n', '\xe9 ')],
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
  ])('%s takes at most half a second', async (_, text) => {
    expect(text.length).toBeGreaterThan(MOST - 100)
    let least = Infinity
    // The first time, code is compiled.
    for (let count = 0; count < 3 && least > 500; count += 1) {
      const start = process.threadCpuUsage()
      await readMail(text)
      const { user, system } = process.threadCpuUsage(start)
      least = Math.min(least, (user + system) / 1000)
    }
    expect(least).toBeLessThan(500)
  })
})
