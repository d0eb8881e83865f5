import PostalMime from 'postal-mime'
import { decodeStrictly, decodeText } from '../contract/bytes.ts'
import { textOfHtml } from './mail-html.ts'

/**
 * Reads the content of mail, in time that grows with its size alone: the library, which reads the headers of each part, takes
 * lines one by one, and seconds for a megabyte of short ones. Texts here have a character for each byte.
 */

export interface MailContent {
  readonly text: string
  readonly files: readonly MailFile[]
}

export interface MailFile {
  readonly name: string
  readonly mediaType: string
  /** In base64. */
  readonly data: string
}

/** The most parts of a message, and the most levels of parts in parts. */
export const MOST_PARTS = 200
const MOST_LEVELS = 20
/** The most bytes of the headers of a part. */
const MOST_HEADERS = 16 * 1024
/** The most pieces of base64 that end with a padding of their own, as some programs write each line. */
const MOST_PIECES = 20_000

/** A part of a message: its text, of which `isHtml` tells what it was made of, and the files in it. */
interface Part extends MailContent {
  readonly isHtml?: boolean
}

class TooManyParts extends Error {}

/** Reads a message, without its own headers. Returns a code for one of too many parts. */
export async function readMail(message: string): Promise<MailContent | 'too_many_parts'> {
  const room = { parts: MOST_PARTS }
  try {
    const { text, files } = await readPart(message, room, MOST_LEVELS)
    return {
      text: text.trim(),
      files: files.map((file, at) => ({ ...file, name: file.name || `attachment ${at + 1}` })),
    }
  } catch (error) {
    if (error instanceof TooManyParts) return 'too_many_parts'
    throw error
  }
}

/** Returns what is before the first empty line, all of it if there is none. */
export function headersOf(message: string): string {
  const [start = ''] = /^\r?\n/.exec(message) ?? []
  if (start !== '') return ''
  const end = /\n\r?\n/.exec(message)
  return end ? message.slice(0, end.index + 1) : message
}

async function readPart(part: string, room: { parts: number }, levels: number): Promise<Part> {
  room.parts -= 1
  if (room.parts < 0 || levels < 0) throw new TooManyParts()
  const headers = headersOf(part)
  const body = part.slice(headers.length).replace(/^\r?\n/, '')
  const type = structuredHeader(headers, 'content-type')
  const boundary = type.parameters.get('boundary')
  const kind =
    type.value.startsWith('multipart/') && boundary !== undefined ? type.value.slice('multipart/'.length) : ''
  // A program that forwards a message may have cut it at its boundaries: what is left is text.
  if (kind !== '' && boundary && body.includes(`--${boundary}`)) {
    const parts: Part[] = []
    for (const child of partsOf(body, boundary)) parts.push(await readPart(child, room, levels - 1))
    return kind === 'alternative' ? bestOf(parts) : joined(parts)
  }
  const [encoding = ''] = /[\w-]+/.exec(structuredHeader(headers, 'content-transfer-encoding').value) ?? []
  const isFile = structuredHeader(headers, 'content-disposition').value === 'attachment'
  if (type.value === 'message/rfc822' && !isFile) {
    const inner = decodeBody(body, encoding)
    const [heading, content] = [await headingOf(inner), await readPart(inner, room, levels - 1)]
    return { ...content, text: `${heading}\n\n${content.text}`, isHtml: false }
  }
  const { attachments, html } = await parseHeaders(headers)
  const [file] = attachments
  if (file)
    return {
      text: '',
      files: [{ name: file.filename ?? '', mediaType: file.mimeType, data: base64Of(body, encoding) }],
    }
  const bytes = bytesOf(decodeBody(body, encoding))
  const decoded = decodeMail(
    bytes,
    type.parameters.get('charset') ?? (html === undefined ? undefined : charsetIn(bytes)),
  )
  if (html !== undefined) return { text: await textOfHtml(decoded), files: [], isHtml: true }
  const isFlowed = type.parameters.get('format')?.toLowerCase() === 'flowed'
  const text = isFlowed ? unfold(decoded, type.parameters.get('delsp')?.toLowerCase() === 'yes') : decoded
  return { text: text.replaceAll('\r\n', '\n'), files: [] }
}

/** A character that is shown: no space, and none of those without width, of which newsletters have hundreds. */
const VISIBLE = /[^\s\p{Cf}\u034f]/u

/** Returns the one of several forms of the same that models read best. */
function bestOf(parts: readonly Part[]): Part {
  const withText = parts.filter(({ text }) => VISIBLE.test(text))
  const { text = '', isHtml } = withText.find((each) => !each.isHtml) ?? withText.at(-1) ?? {}
  return { text, files: parts.flatMap(({ files }) => files), ...(isHtml && { isHtml }) }
}

function joined(parts: readonly Part[]): Part {
  const withText = parts.filter(({ text }) => VISIBLE.test(text))
  const text = withText.map((each) => each.text).join('\n')
  const isHtml = withText.length > 0 && withText.every((each) => each.isHtml)
  return { text, files: parts.flatMap(({ files }) => files), isHtml }
}

/** Returns the parts between the lines of a boundary (RFC 2046). */
function partsOf(body: string, boundary: string): string[] {
  const parts: string[] = []
  const line = `\n--${boundary}`
  // The first line may be one.
  const text = `\n${body}`
  let start = -1
  for (let at = text.indexOf(line); at !== -1; at = text.indexOf(line, at + line.length)) {
    const end = text.indexOf('\n', at + line.length)
    const rest = text.slice(at + line.length, end === -1 ? undefined : Math.min(end, at + line.length + 80))
    const [, last] = /^(--)?[ \t]*\r?$/.exec(rest) ?? []
    if (last === undefined && !/^[ \t]*\r?$/.test(rest)) continue
    if (start !== -1) parts.push(text.slice(start, text[at - 1] === '\r' ? at - 1 : at))
    if (last !== undefined || end === -1) return parts
    start = end + 1
    if (parts.length > MOST_PARTS) throw new TooManyParts()
    // An empty part ends with the line after this one.
    at = end - line.length
  }
  if (start !== -1) parts.push(text.slice(start))
  return parts
}

/** Has the library read the headers of a part, with a body of one character. */
function parseHeaders(headers: string): ReturnType<typeof PostalMime.parse> {
  const bytes = bytesOf(`${headers.slice(0, MOST_HEADERS).trimEnd()}\r\n\r\nQQ==\r\n`)
  return PostalMime.parse(bytes, { maxRfc822NestingDepth: 0 })
}

/** Returns the lines by which a message that is a part of another one begins. */
async function headingOf(message: string): Promise<string> {
  const { from, date, subject } = await parseHeaders(headersOf(message))
  const author = from && !from.group ? `${from.name} <${from.address}>`.trim() : ''
  return [`From: ${author}`, `Subject: ${subject ?? ''}`, `Date: ${date ?? ''}`].join('\n')
}

interface StructuredHeader {
  /** In lower case. */
  readonly value: string
  readonly parameters: ReadonlyMap<string, string>
}

/** Returns the first header of a name: its value and parameters (RFC 2045). */
function structuredHeader(headers: string, name: string): StructuredHeader {
  const [, text = ''] =
    new RegExp(`(?:^|\\n)${name}[ \\t]*:((?:[^\\n]|\\n[ \\t])*)`, 'i').exec(headers.slice(0, MOST_HEADERS)) ?? []
  const [, value = ''] = /^\s*("?[^\s;(]*)/.exec(text) ?? []
  const parameters = new Map<string, string>()
  for (const [, key = '', quoted, token = ''] of text.matchAll(PARAMETER)) {
    const parameter = key.toLowerCase()
    if (!parameters.has(parameter)) parameters.set(parameter, quoted?.replaceAll(/\\(.)/g, '$1') ?? token)
  }
  return { value: value.replaceAll('"', '').toLowerCase(), parameters }
}

const PARAMETER = /;\s*([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/g

function decodeBody(body: string, encoding: string): string {
  switch (encoding.toLowerCase()) {
    case 'base64':
      return piecesOf(body)
        .map((piece) => atob(piece))
        .join('')
    case 'quoted-printable':
      return decodeQuoted(body)
    default:
      return body
  }
}

/** Decodes a quoted-printable body (RFC 2045). Anything but escapes is left as it is. */
function decodeQuoted(body: string): string {
  const [start = '', ...pieces] = body.replaceAll(/=[ \t]{0,10}\r?\n/g, '').split('=')
  const texts = pieces.map((piece) => {
    const code = 16 * hexDigit(piece.charCodeAt(0)) + hexDigit(piece.charCodeAt(1))
    return Number.isNaN(code) ? `=${piece}` : String.fromCharCode(code) + piece.slice(2)
  })
  return start + texts.join('')
}

/** Returns what the code of a digit stands for; NaN for any other. */
function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  const letter = code | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : NaN
}

/** Returns a body in base64. One that is already is not decoded. */
function base64Of(body: string, encoding: string): string {
  if (encoding.toLowerCase() !== 'base64') return btoa(decodeBody(body, encoding))
  const [piece = '', ...others] = piecesOf(body)
  if (others.length > 0) return btoa(decodeBody(body, encoding))
  return piece.padEnd(Math.ceil(piece.length / 4) * 4, '=')
}

/** Returns the texts of base64 in a body, without their padding. */
function piecesOf(body: string): string[] {
  const pieces = body.replaceAll(/[^a-zA-Z0-9+/=]+/g, '').split(/=+/, MOST_PIECES + 1)
  if (pieces.length > MOST_PIECES) throw new TooManyParts()
  // A character by itself stands for nothing.
  return pieces.map((piece) => (piece.length % 4 === 1 ? piece.slice(0, -1) : piece)).filter((piece) => piece !== '')
}

/** Hiragana and katakana. */
const KANA = /[\u3041-\u30ff]/

/** Charsets that a text without one is tried in, with what it must have then: a script that no other charset has there. */
const OTHER_CHARSETS: readonly (readonly [string, RegExp])[] = [
  ['iso-2022-jp', /[^\0-\x7f]/],
  ['utf-8', /(?:)/],
  ['euc-jp', KANA],
  ['shift-jis', KANA],
]

/**
 * Decodes a text in its charset. Mail without one, or in one that is not known or cannot be, may be in UTF-8, in one of
 * Japan's charsets, or in that of Western Europe.
 */
export function decodeMail(bytes: Uint8Array, charset?: string): string {
  const label = charset?.toLowerCase()
  if (label !== undefined && !/^(?:us-ascii|utf-?8)$/.test(label) && isCharset(label)) return decodeText(bytes, label)
  for (const [other, sign] of OTHER_CHARSETS) {
    const text = decodeStrictly(bytes, other)
    if (text !== undefined && sign.test(text)) return text
  }
  return decodeText(bytes, 'windows-1252')
}

function isCharset(label: string): boolean {
  try {
    return new TextDecoder(label).encoding !== ''
  } catch {
    return false
  }
}

/** Returns the charset that a document of HTML names at its beginning. */
function charsetIn(bytes: Uint8Array): string | undefined {
  const [, charset] =
    /<meta[^>]{1,200}charset ?= ?["']?([\w-]{1,40})/i.exec(decodeText(bytes.subarray(0, 1024), 'latin1')) ?? []
  return charset
}

/** Joins the lines of a text that is `format=flowed` (RFC 3676), those of a quotation to one of as many marks. */
function unfold(text: string, deletesSpace: boolean): string {
  let before: string | undefined
  const lines = text.split(/\r?\n/).map((line) => {
    const [marks = ''] = /^>*/.exec(line) ?? []
    const own = line.slice(marks.length).replace(/^ /, '')
    const isOpen = own.endsWith(' ') && own !== '-- '
    const start = before === undefined ? '' : before === marks && own !== '-- ' ? undefined : '\n'
    before = isOpen ? marks : undefined
    const content = isOpen && deletesSpace ? own.slice(0, -1) : own
    return (start === undefined ? '' : start + marks + (marks && ' ')) + content + (isOpen ? '' : '\n')
  })
  return lines.join('')
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length)
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at)
  return bytes
}
