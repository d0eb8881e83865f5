import { describe, expect, test } from 'vitest'
import { decodeBody } from './body.ts'
import { decodeEntities } from './entity.ts'
import { readHtml } from './html.ts'

const textOf = (html: string) => readHtml(html).text

describe('the text of a page', () => {
  test('becomes its title and its lines', () => {
    const html = `<!doctype html><html><head><title>
      Fish &amp; chips</title><style>p { color: red }</style></head>
      <body><h1>Fish</h1><p>Cod,
      <b>haddock</b> and<i> hake</i>.</p><ul><li>one<li>two</ul><p>End.<br>Really.</p></body></html>`
    expect(readHtml(html)).toEqual({
      title: 'Fish & chips',
      text: 'Fish\n\nCod, haddock and hake.\n\n- one\n- two\n\nEnd.\nReally.',
    })
  })

  test('without a title has none', () => {
    expect(readHtml('Just words')).toEqual({ title: '', text: 'Just words' })
    expect(readHtml('')).toEqual({ title: '', text: '' })
  })

  test('with a table has a line for each row', () => {
    expect(textOf('<table><tr><th>City<th>°C</tr><tr><td>Oslo<td>3</tr></table>')).toBe('City °C\n\nOslo 3')
  })

  test('keeps the lines of preformatted text', () => {
    expect(textOf('<p>So:</p><pre>if a:\n  b &lt; c</pre>')).toBe('So:\n\nif a:\n  b < c')
  })

  test('with a main element is reduced to it', () => {
    expect(textOf('<div>Skip to content</div><main><p>News</p></main><div>More</div>')).toBe('News')
    expect(textOf('<div>Before</div><main> </main><div>After</div>')).toBe('Before\n\nAfter')
  })

  test('loses its frame, unless the frame is never closed', () => {
    expect(textOf('<nav>Home <nav>Sub</nav> About</nav><p>News</p><footer>Imprint</footer>')).toBe('News')
    expect(textOf('<nav>Home<p>News</p>')).toBe('Home\n\nNews')
    expect(textOf('<form>Only a form</form>')).toBe('Only a form')
  })
})

describe('content that is not text is removed:', () => {
  test.each([
    '<script>if (a < b) alert("<p>x</p>")</script>',
    '<SCRIPT type="a>b">x</SCRIPT >',
    '<style>p::after { content: "</p>" }</style>',
    '<noscript>Switch it on</noscript>',
    '<svg><title>Icon</title><text>x</text></svg>',
    '<!-- a comment with <p>tags</p> and > -->',
    '<!DOCTYPE html><?xml version="1.0"?><![CDATA[x]]>',
    '<a title="1 > 0" href=\'>\'></a>',
    '<img alt="x"/>',
    '</>',
  ])('%s', (html) => {
    expect(textOf(`one ${html}two`)).toBe('one two')
  })

  test.each([
    ['one <script>two', 'one'],
    ['one <!-- two', 'one'],
    ['one <a href="two', 'one'],
    ['one <scripture>two', 'one two'],
    ['1 < 2 and 3 <4', '1 < 2 and 3 <4'],
    ['a<', 'a<'],
  ])('ends where it is broken: %s', (html, text) => {
    expect(textOf(html)).toBe(text)
  })
})

// Work that grew faster than the page would outlast the time of the test.
test.each(['<', '<!--', '<a ', '<a "', '<a "\'', '<script>', '</script', '<p>', '<nav>', '&', '&#', ' ', '\n'])(
  'a large page of only %j is read',
  (piece) => {
    expect(readHtml(piece.repeat(300_000)).title).toBe('')
    expect(readHtml(`<title>x</title><pre>${piece.repeat(300_000)}`).title).toBe('x')
  },
)

test.each([
  ['&amp;lt; &lt;b&gt; &quot;&apos;', `&lt; <b> "'`],
  ['caf&eacute; &Uuml;&yuml;&nbsp;&euro;&hellip;', 'café Üÿ\u00a0€…'],
  ['&#65;&#x42;&#X43; &#x1F600;', 'ABC 😀'],
  ['&#150;&#x93;', '–“'],
  ['&#0;&#xD800;&#9999999;&#x110000;', '\ufffd\ufffd\ufffd\ufffd'],
  ['&unknown; AT&T &; &#; &#x; fish&chips', '&unknown; AT&T &; &#; &#x; fish&chips'],
])('references of %s are decoded', (text, decoded) => {
  expect(decodeEntities(text)).toBe(decoded)
})

describe('the charset of a page', () => {
  const latin = Uint8Array.of(0x63, 0x61, 0x66, 0xe9)
  const utf8 = new TextEncoder().encode('café')
  const meta = new TextEncoder().encode('<meta charset="gbk">')

  test('is that of its header', () => {
    expect(decodeBody(latin, 'text/html; charset=ISO-8859-1')).toBe('café')
    expect(decodeBody(utf8, 'text/html; Charset="utf-8"')).toBe('café')
    expect(decodeBody(Uint8Array.of(...meta, 0xc3, 0xa9), 'text/html; charset=utf-8')).toBe('<meta charset="gbk">é')
  })

  test('is else that in the page, else UTF-8', () => {
    expect(decodeBody(Uint8Array.of(...meta, 0xd0, 0xc2), 'text/html')).toBe('<meta charset="gbk">新')
    expect(decodeBody(utf8, 'text/html')).toBe('café')
    expect(decodeBody(utf8, 'text/html; charset=klingon')).toBe('café')
    expect(decodeBody(latin, '')).toBe('caf\ufffd')
  })
})
