import { describe, expect, test } from 'vitest'
import { highlight } from '../../src/studio/part/highlight.ts'
import { parseBlocks, parseInlines, safeUrl } from '../../src/studio/part/markdown.ts'

describe('the blocks of a text in Markdown', () => {
  test('are headings, paragraphs, rules, quotes and code, also code that is still being written', () => {
    expect(parseBlocks('# Title #\n\nOne\ntwo.\n***\n> Said\n> so\n\n```ts\nlet a = 1\n```\n~~~\nopen')).toEqual([
      { type: 'heading', level: 1, text: 'Title' },
      { type: 'paragraph', text: 'One\ntwo.' },
      { type: 'rule' },
      { type: 'quote', blocks: [{ type: 'paragraph', text: 'Said\nso' }] },
      { type: 'code', language: 'ts', text: 'let a = 1' },
      { type: 'code', language: '', text: 'open' },
    ])
  })

  test('are lists, which may be nested, numbered from any number, and have boxes', () => {
    const paragraph = (text: string) => ({ type: 'paragraph', text })
    expect(parseBlocks('- a\n  - b\n- [x] c\n- [ ] d\n\n3. e\n4. f')).toEqual([
      {
        type: 'list',
        start: undefined,
        items: [
          { blocks: [paragraph('a'), { type: 'list', start: undefined, items: [{ blocks: [paragraph('b')] }] }] },
          { blocks: [paragraph('c')], isDone: true },
          { blocks: [paragraph('d')], isDone: false },
        ],
      },
      { type: 'list', start: 3, items: [{ blocks: [paragraph('e')] }, { blocks: [paragraph('f')] }] },
    ])
  })

  test('are tables with the sides of their columns; rows have as many cells as the head', () => {
    expect(parseBlocks('| Order | Days |\n| :-- | --: |\n| a \\| b | 6 |\n| c |')).toEqual([
      {
        type: 'table',
        aligns: ['left', 'right'],
        head: ['Order', 'Days'],
        rows: [
          ['a | b', '6'],
          ['c', ''],
        ],
      },
    ])
    expect(parseBlocks('no | table\n---')[0]?.type).toBe('paragraph')
  })
})

describe('the pieces of a line', () => {
  const text = (each: string) => ({ type: 'text', text: each })

  test('are emphasis, code, links, images and breaks; what is not closed is text', () => {
    expect(parseInlines('**b *i* b** `a*b` ~~d~~ 2 * 3 snake_case_name **open')).toEqual([
      { type: 'strong', inlines: [text('b '), { type: 'emphasis', inlines: [text('i')] }, text(' b')] },
      text(' '),
      { type: 'code', text: 'a*b' },
      text(' '),
      { type: 'deleted', inlines: [text('d')] },
      text(' 2 * 3 snake_case_name **open'),
    ])
    expect(
      parseInlines('See [the *page*](https://a.example/x) or https://b.example/y.\n![logo](https://c.example/l.png)'),
    ).toEqual([
      text('See '),
      {
        type: 'link',
        url: 'https://a.example/x',
        inlines: [text('the '), { type: 'emphasis', inlines: [text('page')] }],
      },
      text(' or '),
      { type: 'link', url: 'https://b.example/y', inlines: [text('https://b.example/y')] },
      text('.'),
      { type: 'break' },
      { type: 'image', url: 'https://c.example/l.png', alt: 'logo' },
    ])
  })

  test('are text where they are escaped, and HTML is text', () => {
    expect(parseInlines('\\*a\\* <img src=x onerror=alert(1)>')).toEqual([text('*a* <img src=x onerror=alert(1)>')])
  })

  test('lead to pages and mailboxes alone', () => {
    const urls = [
      'https://a.example/',
      'mailto:a@b.example',
      'javascript:alert(1)',
      'data:text/html,x',
      '/relative',
      'vbscript:x',
    ]
    expect(urls.map(safeUrl)).toEqual([
      'https://a.example/',
      'mailto:a@b.example',
      ...Array.from({ length: 4 }, () => undefined),
    ])
  })
})

test('no text makes the parser nest without end, or look for a close again and again', () => {
  const count = 20_000
  for (const piece of ['*', '_a', '[', '![', '`', '**a', '> ', '- ', '[a](', '<https://', '|', '~~a ', '\\']) {
    const [long, short] = [piece.repeat(count), piece.repeat(50)]
    expect(parseBlocks(short).length).toBeGreaterThan(0)
    expect(parseBlocks(long).length).toBeGreaterThan(0)
    expect(parseInlines(long).length).toBeGreaterThan(0)
  }
})

test('code has keywords, strings, numbers and comments, and loses no character', () => {
  const code = "const a = 'x' // note\nreturn 12"
  const tokens = highlight(code, 'js')
  expect(tokens.map(({ text }) => text).join('')).toBe(code)
  expect(tokens.filter(({ kind }) => kind !== '').map(({ kind, text }) => [kind, text])).toEqual([
    ['k', 'const'],
    ['s', "'x'"],
    ['c', '// note'],
    ['k', 'return'],
    ['n', '12'],
  ])
  expect(highlight('a -- b', 'sql').at(-1)).toEqual({ kind: 'c', text: '-- b' })
})
