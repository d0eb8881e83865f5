/**
 * Markdown as models write it, parsed to a tree: paragraphs, headings, lists, quotes, tables and code, and in them
 * emphasis, links and images. Markup of HTML is text. The time grows with the length of the text, whatever it contains.
 */

/** A block of a text. */
export type MarkdownBlock =
  | { readonly type: 'paragraph'; readonly text: string }
  | { readonly type: 'heading'; readonly level: number; readonly text: string }
  | { readonly type: 'code'; readonly language: string; readonly text: string }
  | { readonly type: 'quote'; readonly blocks: readonly MarkdownBlock[] }
  | { readonly type: 'list'; readonly start: number | undefined; readonly items: readonly ListItem[] }
  | {
      readonly type: 'table'
      readonly aligns: readonly Align[]
      readonly head: readonly string[]
      readonly rows: readonly (readonly string[])[]
    }
  | { readonly type: 'rule' }

export interface ListItem {
  readonly blocks: readonly MarkdownBlock[]
  /** Whether its box is ticked; absent if it has none. */
  readonly isDone?: boolean
}

export type Align = 'left' | 'right' | 'center'

/** A piece of a line. */
export type Inline =
  | { readonly type: 'text' | 'code'; readonly text: string }
  | { readonly type: 'break' }
  | { readonly type: 'strong' | 'emphasis' | 'deleted'; readonly inlines: readonly Inline[] }
  | { readonly type: 'link'; readonly url: string; readonly inlines: readonly Inline[] }
  | { readonly type: 'image'; readonly url: string; readonly alt: string }

/** Deeper than this, markup is text. */
const MOST_DEPTH = 8

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([\w+#.-]*)[^`]*$/
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*)$/
const RULE = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?:[ \t]+(.*))?$/
const QUOTE = /^ {0,3}> ?/
const DIVIDER = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/

/** Splits a text into its blocks. */
export function parseBlocks(text: string, depth = 0): MarkdownBlock[] {
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  const blocks: MarkdownBlock[] = []
  for (let at = 0; at < lines.length;) {
    if (lines[at]?.trim() === '') {
      at++
      continue
    }
    const { block, next } = blockAt(lines, at, depth)
    blocks.push(block)
    at = next
  }
  return blocks
}

interface FoundBlock {
  readonly block: MarkdownBlock
  /** The line after it. */
  readonly next: number
}

function blockAt(lines: readonly string[], at: number, depth: number): FoundBlock {
  const line = lines[at] ?? ''
  const [, fence, language = ''] = FENCE.exec(line) ?? []
  if (fence !== undefined) return codeAt(lines, at, { fence, language })
  const [, marks, title = ''] = HEADING.exec(line) ?? []
  if (marks !== undefined) {
    return { block: { type: 'heading', level: marks.length, text: withoutClosing(title) }, next: at + 1 }
  }
  if (RULE.test(line)) return { block: { type: 'rule' }, next: at + 1 }
  if (depth < MOST_DEPTH && QUOTE.test(line)) return quoteAt(lines, at, depth)
  if (depth < MOST_DEPTH && ITEM.test(line)) return listAt(lines, at, depth)
  if (isTableAt(lines, at)) return tableAt(lines, at)
  let next = at + 1
  while (next < lines.length && !endsParagraph(lines, next)) next++
  const text = lines
    .slice(at, next)
    .map((each) => each.trimStart())
    .join('\n')
  return { block: { type: 'paragraph', text: text.trimEnd() }, next }
}

function endsParagraph(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? ''
  if (line.trim() === '' || FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line)) return true
  const [, , marker, content] = ITEM.exec(line) ?? []
  // A number in the middle of a sentence begins no list, unless it is the first.
  if (marker !== undefined && content !== undefined) return /^[-*+]$|^1[.)]$/.test(marker)
  return isTableAt(lines, at)
}

/** A title may end in the marks that it begins with. */
function withoutClosing(title: string): string {
  const text = title.trimEnd()
  let end = text.length
  while (end > 0 && text[end - 1] === '#') end--
  return end < text.length && (end === 0 || text[end - 1] === ' ') ? text.slice(0, end).trimEnd() : text
}

function codeAt(
  lines: readonly string[],
  at: number,
  { fence, language }: { fence: string; language: string },
): FoundBlock {
  let end = at + 1
  while (end < lines.length) {
    const line = lines[end]?.trim() ?? ''
    if (line.length >= fence.length && line === (fence[0] ?? '').repeat(line.length)) break
    end++
  }
  // Code that is still being written has no end yet.
  return { block: { type: 'code', language, text: lines.slice(at + 1, end).join('\n') }, next: end + 1 }
}

function quoteAt(lines: readonly string[], at: number, depth: number): FoundBlock {
  let next = at
  while (next < lines.length && QUOTE.test(lines[next] ?? '')) next++
  const text = lines
    .slice(at, next)
    .map((line) => line.replace(QUOTE, ''))
    .join('\n')
  return { block: { type: 'quote', blocks: parseBlocks(text, depth + 1) }, next }
}

function listAt(lines: readonly string[], at: number, depth: number): FoundBlock {
  const [, indent = '', first = ''] = ITEM.exec(lines[at] ?? '') ?? []
  const isOrdered = /\d/.test(first)
  const items: ListItem[] = []
  let next = at
  while (next < lines.length) {
    const [, own = '', marker = '', content = ''] = ITEM.exec(lines[next] ?? '') ?? []
    const isSibling =
      marker !== '' &&
      own.length <= indent.length + 1 &&
      own.length + 1 >= indent.length &&
      /\d/.test(marker) === isOrdered
    if (!isSibling) break
    const width = own.length + marker.length + 1
    const end = itemEnd(lines, next + 1, width)
    const inner = lines.slice(next + 1, end).map((line) => line.slice(Math.min(width, indentOf(line))))
    items.push(itemOf([content, ...inner].join('\n'), depth))
    next = end
    // Blank lines may stand between items.
    let after = next
    while (lines[after]?.trim() === '') after++
    if (after > next && after < lines.length && ITEM.test(lines[after] ?? '')) next = after
  }
  return {
    block: { type: 'list', start: isOrdered ? Number.parseInt(first, 10) : undefined, items },
    next: Math.max(next, at + 1),
  }
}

/** Returns the line after an item: its lines are indented, or continue its paragraph. */
function itemEnd(lines: readonly string[], at: number, width: number): number {
  let end = at
  while (end < lines.length) {
    const line = lines[end] ?? ''
    if (line.trim() === '') {
      const following = lines[end + 1] ?? ''
      if (following.trim() === '' || indentOf(following) < Math.min(width, 2)) break
    } else if (indentOf(line) < Math.min(width, 2) && endsParagraph(lines, end)) break
    else if (indentOf(line) < Math.min(width, 2) && lines[end - 1]?.trim() === '') break
    else if (indentOf(line) < Math.min(width, 2) && ITEM.test(line)) break
    end++
  }
  return end
}

function itemOf(text: string, depth: number): ListItem {
  const [box, tick] = /^\[([ xX])\][ \t]+/.exec(text) ?? []
  if (box === undefined) return { blocks: parseBlocks(text, depth + 1) }
  return { blocks: parseBlocks(text.slice(box.length), depth + 1), isDone: tick !== ' ' }
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}

function isTableAt(lines: readonly string[], at: number): boolean {
  const [head = '', divider = ''] = [lines[at], lines[at + 1]]
  return (
    head.includes('|') &&
    divider.includes('-') &&
    DIVIDER.test(divider) &&
    cellsOf(head).length === cellsOf(divider).length
  )
}

function tableAt(lines: readonly string[], at: number): FoundBlock {
  const head = cellsOf(lines[at] ?? '')
  const aligns = cellsOf(lines[at + 1] ?? '').map((cell): Align => {
    if (!cell.endsWith(':')) return 'left'
    return cell.startsWith(':') ? 'center' : 'right'
  })
  let next = at + 2
  while (next < lines.length && lines[next]?.includes('|') && lines[next]?.trim() !== '') next++
  const rows = lines.slice(at + 2, next).map((line) => {
    const cells = cellsOf(line)
    return head.map((_, column) => cells[column] ?? '')
  })
  return { block: { type: 'table', aligns, head, rows }, next }
}

/** The cells of a row. A `\|` is part of a cell. */
function cellsOf(line: string): string[] {
  const cells: string[] = ['']
  const text = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? ''
    if (char === '\\' && text[at + 1] === '|') {
      cells[cells.length - 1] += '|'
      at++
    } else if (char === '|') cells.push('')
    else cells[cells.length - 1] += char
  }
  return cells.map((cell) => cell.trim())
}

/** Splits the text of a block into its pieces. */
export function parseInlines(text: string, depth = 0): Inline[] {
  return new InlineParser(text, depth).parse()
}

const PAIRS = [
  ['**', 'strong'],
  ['__', 'strong'],
  ['~~', 'deleted'],
  ['*', 'emphasis'],
  ['_', 'emphasis'],
] as const

const ADDRESS = /https?:\/\/[^\s<>"'`\]]+/y
const BRACKETED = /<(https?:\/\/[^\s<>]+)>/y
const TARGET = /\(\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+(?:"[^"\n]*"|'[^'\n]*'))?\s*\)/y

class InlineParser {
  readonly #text: string
  readonly #depth: number
  readonly #inlines: Inline[] = []
  /** Marks for which nothing closes any more, so that they are not looked for again. */
  readonly #unclosed = new Set<string>()
  #at = 0
  #plain = ''

  constructor(text: string, depth: number) {
    this.#text = text
    this.#depth = depth
  }

  parse(): Inline[] {
    while (this.#at < this.#text.length) {
      if (!this.#next()) {
        this.#plain += this.#text[this.#at]
        this.#at++
      }
    }
    this.#flush()
    return this.#inlines
  }

  /** Takes the piece that begins here; returns false if none does. */
  #next(): boolean {
    const char = this.#text[this.#at] ?? ''
    switch (char) {
      case '\\':
        return this.#escape()
      case '\n':
        this.#plain = this.#plain.trimEnd()
        return this.#add({ type: 'break' }, this.#at + 1)
      case '`':
        return this.#code()
      case '!':
        return this.#text[this.#at + 1] === '[' && this.#bracket(this.#at + 1, true)
      case '[':
        return this.#bracket(this.#at, false)
      case '<': {
        const [match, url] = this.#match(BRACKETED) ?? []
        return match !== undefined && url !== undefined && this.#link(url, url, this.#at + match.length)
      }
      case 'h': {
        const url = this.#match(ADDRESS)?.[0].replace(/[.,;:!?)*_~]+$/, '')
        return url !== undefined && this.#link(url, url, this.#at + url.length)
      }
      case '*':
      case '_':
      case '~':
        return this.#pair()
      default:
        return false
    }
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at
    return pattern.exec(this.#text)
  }

  #escape(): boolean {
    const next = this.#text[this.#at + 1] ?? ''
    if (!/[!-/:-@[-`{-~]/.test(next)) return false
    this.#plain += next
    this.#at += 2
    return true
  }

  #code(): boolean {
    let end = this.#at
    while (this.#text[end] === '`') end++
    const fence = this.#text.slice(this.#at, end)
    const close = this.#unclosed.has(fence) ? -1 : this.#closeOf(fence, end)
    if (close < 0) {
      this.#unclosed.add(fence)
      this.#plain += fence
      this.#at = end
      return true
    }
    const code = this.#text.slice(end, close)
    const text = /^ .*[^ ].* $/s.test(code) ? code.slice(1, -1) : code
    return this.#add({ type: 'code', text }, close + fence.length)
  }

  /** Where a run of exactly these backticks stands. */
  #closeOf(fence: string, from: number): number {
    let at = this.#text.indexOf(fence, from)
    while (at >= 0) {
      let end = at
      while (this.#text[end] === '`') end++
      if (end - at === fence.length) return at
      at = this.#text.indexOf(fence, end)
    }
    return -1
  }

  #pair(): boolean {
    if (this.#depth >= MOST_DEPTH) return false
    for (const [mark, type] of PAIRS) {
      if (!this.#text.startsWith(mark, this.#at) || !this.#opens(mark)) continue
      const from = this.#at + mark.length
      const close = this.#unclosed.has(mark) ? -1 : this.#closerOf(mark, from)
      if (close < 0) {
        this.#unclosed.add(mark)
        continue
      }
      const inlines = parseInlines(this.#text.slice(from, close), this.#depth + 1)
      return this.#add({ type, inlines }, close + mark.length)
    }
    return false
  }

  /** Whether a mark can begin a piece here: text follows, and an underscore is not inside a word. */
  #opens(mark: string): boolean {
    const before = this.#text[this.#at - 1] ?? ' '
    const after = this.#text[this.#at + mark.length] ?? ' '
    return !/\s/.test(after) && (mark[0] !== '_' || !/[\p{L}\p{N}]/u.test(before))
  }

  #closerOf(mark: string, from: number): number {
    let at = this.#text.indexOf(mark, from + 1)
    while (at >= 0) {
      const before = this.#text[at - 1] ?? ' '
      const after = this.#text[at + mark.length] ?? ' '
      const isDouble = mark.length === 1 && (after === mark || before === mark)
      const isInWord = mark[0] === '_' && /[\p{L}\p{N}]/u.test(after)
      if (!/\s/.test(before) && before !== '\\' && !isDouble && !isInWord) return at
      at = this.#text.indexOf(mark, at + (isDouble && after === mark ? 2 : 1))
    }
    return -1
  }

  /** A link or an image: a text in brackets, and where it leads in parentheses. */
  #bracket(open: number, isImage: boolean): boolean {
    if (this.#unclosed.has(']') || this.#depth >= MOST_DEPTH) return false
    const close = this.#bracketEnd(open)
    if (close < 0) return false
    TARGET.lastIndex = close + 1
    const [target, url] = TARGET.exec(this.#text) ?? []
    if (target === undefined || url === undefined || url === '') return false
    const text = this.#text.slice(open + 1, close)
    const end = close + 1 + target.length
    if (isImage) return this.#add({ type: 'image', url, alt: text }, end)
    return this.#add({ type: 'link', url, inlines: parseInlines(text, this.#depth + 1) }, end)
  }

  #bracketEnd(open: number): number {
    let nesting = 0
    for (let at = open; at < this.#text.length; at++) {
      const char = this.#text[at]
      if (char === '\\') at++
      else if (char === '[') nesting++
      else if (char === ']' && --nesting === 0) return at
      // A link's text is short; what is longer is none.
      if (at - open > 2000) return -1
    }
    this.#unclosed.add(']')
    return -1
  }

  #link(url: string, text: string, end: number): boolean {
    return this.#add({ type: 'link', url, inlines: [{ type: 'text', text }] }, end)
  }

  #add(inline: Inline, end: number): true {
    this.#flush()
    this.#inlines.push(inline)
    this.#at = end
    return true
  }

  #flush(): void {
    if (this.#plain !== '') this.#inlines.push({ type: 'text', text: this.#plain })
    this.#plain = ''
  }
}

/** Returns an address that a page may lead to: of the web or a mailbox. Undefined for any other. */
export function safeUrl(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  return ['https:', 'http:', 'mailto:'].includes(new URL(url).protocol) ? url : undefined
}
