import { ByteBuffer, releaseBytes } from '../../contract/byte-buffer.ts'
import { isObject, type JsonObject, parseJson } from '../../contract/json.ts'

/**
 * The most bytes of a text that becomes a string. SQLite makes JSON of longer ones, and reads it: of such strings, V8 kept
 * about 100 MB in memory before it collected them.
 */
export const SHORT_BYTES = 16 * 1024

/** A text of a copy that stays the bytes of a JSON string, with its quotes. */
export class LongText {
  readonly json: Uint8Array<ArrayBuffer>

  constructor(json: Uint8Array<ArrayBuffer>) {
    this.json = json
  }
}

/** What a row of a copy has in a column. */
export type CopiedValue = string | number | null | LongText

/** Makes the lines of a copy, as bytes. */
export class LineWriter {
  readonly #buffer = new ByteBuffer()

  get bytes(): number {
    return this.#buffer.length
  }

  push(line: object): void {
    this.#buffer.add(`${JSON.stringify(line)}\n`)
  }

  pushRow(table: string, values: readonly unknown[]): void {
    this.#add(`{"type":"row","table":"${table}","values":[`, values, ']}')
  }

  /** `more`: whether the text continues in the next line. */
  pushText(text: LongText, more: boolean): void {
    this.#add('{"type":"text","text":', [text], more ? ',"more":true}' : '}')
  }

  /** The bytes of long texts are released. */
  #add(start: string, values: readonly unknown[], end: string): void {
    let text = start
    for (const [index, value] of values.entries()) {
      if (index > 0) text += ','
      if (!(value instanceof LongText)) {
        text += JSON.stringify(value)
        continue
      }
      this.#buffer.add(text)
      this.#buffer.add(value.json)
      releaseBytes(value.json)
      text = ''
    }
    this.#buffer.add(`${text}${end}\n`)
  }

  /** Returns the bytes of all lines. No line can be added afterwards. */
  end(): Uint8Array<ArrayBuffer> {
    return this.#buffer.end()
  }
}

const NEWLINE = 10
const QUOTE = 34
const AT = 64
const BACKSLASH = 92
const decoder = new TextDecoder()

/** Returns the lines of a text one by one, without those that are empty. */
export function* linesOf(bytes: Uint8Array<ArrayBuffer>): Generator<Uint8Array<ArrayBuffer>> {
  for (let at = 0; at < bytes.byteLength;) {
    const newline = bytes.indexOf(NEWLINE, at)
    const end = newline === -1 ? bytes.byteLength : newline
    if (end > at) yield bytes.subarray(at, end)
    at = end + 1
  }
}

/**
 * Reads a line of a copy; undefined if it has no JSON object. Long texts, in `text` and `values`, are parts of its
 * bytes.
 */
export function readLine(line: Uint8Array<ArrayBuffer>): JsonObject | undefined {
  const texts: LongText[] = []
  // An array with its index takes the place of each. A line that has such an array of its own only gets its text again.
  let [short, from] = ['', 0]
  for (let start = line.byteLength > SHORT_BYTES ? line.indexOf(QUOTE) : -1; start !== -1;) {
    const end = endOfString(line, start)
    if (end - start > SHORT_BYTES && mayStayBytes(line[start + 1])) {
      short += `${decoder.decode(line.subarray(from, start))}[${texts.length}]`
      texts.push(new LongText(line.subarray(start, end)))
      from = end
    }
    start = line.indexOf(QUOTE, end)
  }
  const value = parseJson(short + decoder.decode(line.subarray(from)))
  if (!isObject(value) || texts.length === 0) return isObject(value) ? value : undefined
  const longText = (member: unknown) =>
    (Array.isArray(member) && typeof member[0] === 'number' && texts[member[0]]) || member
  const { text, values } = value
  return {
    ...value,
    ...(text !== undefined && { text: longText(text) }),
    ...(Array.isArray(values) && { values: values.map(longText) }),
  }
}

/** Whether a text cannot be the name of the parts of one (`chunkName`), however its first character is written. */
function mayStayBytes(first: number | undefined): boolean {
  return first !== AT && first !== BACKSLASH
}

/** Returns the place after the JSON string that begins at a place. */
function endOfString(line: Uint8Array, start: number): number {
  for (let at = line.indexOf(QUOTE, start + 1); at !== -1; at = line.indexOf(QUOTE, at + 1)) {
    let backslashes = 0
    while (line[at - 1 - backslashes] === BACKSLASH) backslashes += 1
    if (backslashes % 2 === 0) return at + 1
  }
  return line.byteLength
}
