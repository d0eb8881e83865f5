/** A text without its escapes and line breaks, with the part of the source that each of its characters comes from. */
export interface EscapeView {
  readonly text: string
  /** Where in the source each character begins, and where it ends. */
  readonly starts: readonly number[]
  readonly ends: readonly number[]
}

/** Matches escapes of JSON, URLs and HTML. Backslashes in a row count as one, however often they were escaped. */
const ESCAPE =
  /\\+(?:u[0-9a-fA-F]{4}|["'/nrtbf])?|%[0-9a-fA-F]{2}|&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|amp|lt|gt|quot|apos);/g
const LINE_BREAK = /[\r\n]+[ \t]*/g
const IS_ESCAPED = /[\\%&\r\n]/
/** Matches an end of a text that an escape may begin with. */
const ESCAPE_AT_END = /(?:\\+(?:u[0-9a-fA-F]{0,3})?|%[0-9a-fA-F]?|&(?:#(?:\d{0,7}|[xX][0-9a-fA-F]{0,6})|[a-z]{0,4})?)$/
/** How often a text is read again for escapes of escapes. */
const ROUNDS = 5

const LETTERS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Undoes the escapes of JSON, URLs and HTML in a text, those of escapes too, and removes line breaks. */
export function unescaped(text: string): string {
  if (!IS_ESCAPED.test(text)) return text
  let view = text
  for (let round = 0; round < ROUNDS; round++) {
    const next = view.replace(ESCAPE, charOf)
    if (next === view) break
    view = next
  }
  return view.replace(LINE_BREAK, '')
}

/** Does as `unescaped`, and keeps where each character comes from. */
export function escapeView(text: string): EscapeView {
  let view: EscapeView = {
    text,
    starts: Array.from({ length: text.length }, (_, at) => at),
    ends: Array.from({ length: text.length }, (_, at) => at + 1),
  }
  for (let round = 0; round < ROUNDS; round++) {
    const next = replaceIn(view, ESCAPE, charOf)
    if (next.text === view.text) break
    view = next
  }
  return replaceIn(view, LINE_BREAK, () => '')
}

/** Returns where the end of a text begins that may be the beginning of an escape; its length if there is none. */
export function begunEscape(text: string): number {
  return ESCAPE_AT_END.exec(text)?.index ?? text.length
}

function charOf(escape: string): string {
  if (escape.startsWith('%')) return String.fromCharCode(parseInt(escape.slice(1), 16))
  if (escape.startsWith('&#')) {
    const code = /[xX]/.test(escape) ? parseInt(escape.slice(3), 16) : parseInt(escape.slice(2), 10)
    return code <= 0x10ffff ? String.fromCodePoint(code) : escape
  }
  if (escape.startsWith('&')) return ENTITIES[escape.slice(1, -1)] ?? escape
  const end = escape.replace(/^\\+/, '')
  if (end === '') return '\\'
  return end.length === 5 ? String.fromCharCode(parseInt(end.slice(1), 16)) : (LETTERS[end] ?? end)
}

function replaceIn(view: EscapeView, pattern: RegExp, replace: (match: string) => string): EscapeView {
  const starts: number[] = []
  const ends: number[] = []
  let text = ''
  let at = 0
  const copyTo = (end: number) => {
    text += view.text.slice(at, end)
    for (; at < end; at++) {
      starts.push(view.starts[at] ?? 0)
      ends.push(view.ends[at] ?? 0)
    }
  }
  for (const match of view.text.matchAll(pattern)) {
    copyTo(match.index)
    const [start, end] = [view.starts[at] ?? 0, view.ends[at + match[0].length - 1] ?? 0]
    const replacement = replace(match[0])
    text += replacement
    for (let unit = 0; unit < replacement.length; unit++) {
      starts.push(start)
      ends.push(end)
    }
    at += match[0].length
  }
  copyTo(view.text.length)
  return { text, starts, ends }
}
