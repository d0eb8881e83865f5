/** A text without its escapes and line breaks, with the part of the source that each of its characters comes from. */
export interface EscapeView {
  readonly text: string
  /** Where in the source each character begins, and where it ends. */
  readonly starts: readonly number[]
  readonly ends: readonly number[]
}

/**
 * Matches escapes of JSON, JavaScript, URLs and HTML, where a number may have zeros in front.
 * Backslashes in a row count as one, however often they were escaped.
 */
const ESCAPE =
  /\\+(?:u[0-9a-f]{4}|u\{0{0,8}[0-9a-f]{1,6}\}|x[0-9a-f]{2}|[0-3][0-7]{2}|["'/nrtbf])?|%u[0-9a-f]{4}|%[0-9a-f]{2}|&#x0{0,16}[0-9a-f]{1,6}(?:;|(?=[^\da-f;]))|&#0{0,16}\d{1,7}(?:;|(?=[^\d;]))|&(?:amp|lt|gt|quot|apos|sol|bsol|plus|equals|percnt|colon|lowbar|num|excl|commat|dollar|ast|quest);/gi

/**
 * Matches escapes of quoted-printable. They are undone in a view of their own, since `=` often stands before other text.
 */
const QUOTED = /=(?:[0-9a-f]{2}|\r?\n)/gi
export const SIGN_OF_QUOTED = /=(?:[0-9a-f]{2}|\\*[\rrn\n])/i
const SIGN_OF_ESCAPE = /[\\%&\r\n]/
/** Matches what every escape has, and every beginning of one. */
export const SIGN_OF_ANY = /[\\%&=\r\n]/
/** How often a text is read again for escapes of escapes. */
const ROUNDS = 5
const LINE_BREAK = /[\r\n]+[ \t]*/g
/** Matches an end of a text that an escape may begin with. */
const ESCAPE_AT_END =
  /(?:\\+(?:u(?:[0-9a-f]{0,3}|\{[0-9a-f]{0,14})|x[0-9a-f]?|[0-3][0-7]?)?|%(?:u[0-9a-f]{0,3}|[0-9a-f])?|=[0-9a-f\r]?|&(?:#(?:\d{0,23}|x[0-9a-f]{0,22})|[a-z]{0,6})?)$/i

const LETTERS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }
const ENTITIES: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", sol: '/', bsol: '\\', plus: '+', equals: '=', percnt: '%' },
  ...{ colon: ':', lowbar: '_', num: '#', excl: '!', commat: '@', dollar: '$', ast: '*', quest: '?' },
}

/** Undoes the escapes of JSON, URLs and HTML in a text, those of escapes too, and removes line breaks. */
export function unescaped(text: string, isQuoted = false): string {
  if (!(isQuoted ? SIGN_OF_QUOTED : SIGN_OF_ESCAPE).test(text)) return text
  // A line break ends an entity at the end of the text.
  let view = `${text}\n`
  for (let round = 0; round < ROUNDS; round++) {
    const next = view.replace(ESCAPE, decodeEscape)
    if (next === view) break
    view = next
  }
  return (isQuoted ? view.replace(QUOTED, decodeEscape) : view).replace(LINE_BREAK, '')
}

/** Does as `unescaped`, and keeps where each character comes from. */
export function escapeView(text: string, isQuoted: boolean): EscapeView {
  let view: EscapeView = {
    text,
    starts: Array.from({ length: text.length }, (_, at) => at),
    ends: Array.from({ length: text.length }, (_, at) => at + 1),
  }
  for (let round = 0; round < ROUNDS; round++) {
    const next = replaceIn(view, ESCAPE, decodeEscape)
    if (next.text === view.text) break
    view = next
  }
  return replaceIn(isQuoted ? replaceIn(view, QUOTED, decodeEscape) : view, LINE_BREAK, () => '')
}

/** Returns where the end of a text begins that may be the beginning of an escape; its length if there is none. */
export function begunEscape(text: string): number {
  return ESCAPE_AT_END.exec(text)?.index ?? text.length
}

function decodeEscape(escape: string): string {
  const [, hex] = /^(?:%u?|=|&#x|\\+[ux]\{?)([0-9a-f]+)[;}]?$/i.exec(escape) ?? []
  const [, octal] = /^\\+(\d+)$/.exec(escape) ?? []
  const [, decimal] = /^&#(\d+);?$/.exec(escape) ?? []
  const digits = hex ?? octal ?? decimal
  if (digits !== undefined) {
    const code = parseInt(digits, hex === undefined ? (octal === undefined ? 10 : 8) : 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : escape
  }
  if (escape.startsWith('=')) return ''
  if (escape.startsWith('&')) return ENTITIES[escape.slice(1, -1).toLowerCase()] ?? escape
  const end = escape.replace(/^\\+/, '')
  return end === '' ? '\\' : (LETTERS[end] ?? end)
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
