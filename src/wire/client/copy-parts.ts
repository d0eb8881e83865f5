import { PARTS_FORMAT } from '../../contract/backup.ts'
import { ByteBuffer } from '../../contract/byte-buffer.ts'
import { isObject, parseJson } from '../../contract/json.ts'

/** How the last line of a part begins. */
const END = new TextEncoder().encode('{"type":"end"')
const NEWLINE = 10

/** What the first and the last line of a part of a copy say of its place in the copy. */
interface PartPlace {
  /** The number of the part, from 1. */
  readonly part: number
  /** What `?after=` takes to have the next part; absent for the last. */
  readonly next?: string
}

/** Reads the place of a part in its copy; undefined of a part that is not complete. A copy in one part is the part 1. */
export function placeOfPart(bytes: Uint8Array): PartPlace | undefined {
  const head = fieldsOf(bytes.subarray(0, bytes.indexOf(NEWLINE) + 1))
  const end = fieldsOf(bytes.subarray(bytes.lastIndexOf(NEWLINE, bytes.byteLength - 2) + 1))
  if (head['type'] !== 'conversation' || end['type'] !== 'end') return undefined
  const { next } = end
  return { part: Number(head['part'] ?? 1), ...(typeof next === 'string' && { next }) }
}

function fieldsOf(line: Uint8Array): Readonly<Record<string, unknown>> {
  const value = parseJson(new TextDecoder().decode(line))
  return isObject(value) ? value : {}
}

/**
 * Reads a copy part by part, from the pieces that come of it. A copy in one part, of whatever format, is given whole. A
 * part is given once another one begins, or the pieces end, and then as far as it has come. `most`: the most bytes of a
 * part; for a longer one, what `tooLong` returns is thrown.
 */
export async function* copyParts(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { most, tooLong }: { readonly most: number; readonly tooLong: () => Error },
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const part = new PartBytes()
  let isInParts: boolean | undefined
  for await (const piece of pieces) {
    for (const line of linesOf(piece)) {
      if (part.isComplete && isInParts) yield part.take()
      part.add(line)
      if (part.bytes > most) throw tooLong()
      if (isInParts === undefined && part.firstLine) isInParts = fieldsOf(part.firstLine)['format'] === PARTS_FORMAT
    }
  }
  if (part.bytes > 0 || isInParts === undefined) yield part.take()
}

/** Returns the lines of a piece; the first and the last may be parts of one. */
function* linesOf(piece: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < piece.byteLength;) {
    const newline = piece.indexOf(NEWLINE, at)
    const end = newline === -1 ? piece.byteLength : newline + 1
    yield piece.subarray(at, end)
    at = end
  }
}

/** The bytes of a part that have come so far, in a buffer that all parts use. */
class PartBytes {
  readonly #buffer = new ByteBuffer()
  /** Where the first line ends, once it has come completely. */
  #head = 0
  /** Where the line begins that has not come completely. */
  #line = 0
  /** Whether the last line has come. */
  isComplete = false

  get bytes(): number {
    return this.#buffer.length
  }

  /** The first line, once it has come completely. */
  get firstLine(): Uint8Array | undefined {
    return this.#head > 0 ? this.#buffer.bytes.subarray(0, this.#head) : undefined
  }

  /** Adds a line, or a piece of one. */
  add(piece: Uint8Array): void {
    this.#buffer.add(piece)
    if (piece.at(-1) !== NEWLINE) return
    const start = this.#buffer.bytes.subarray(this.#line, this.#line + END.byteLength)
    this.isComplete = this.#head > 0 && start.length === END.length && start.every(isOfEnd)
    this.#line = this.bytes
    if (this.#head === 0) this.#head = this.bytes
  }

  /** Returns a copy of the bytes, and begins again. */
  take(): Uint8Array<ArrayBuffer> {
    const all = this.#buffer.bytes.slice()
    this.#buffer.clear()
    this.#head = 0
    this.#line = 0
    this.isComplete = false
    return all
  }
}

function isOfEnd(byte: number, at: number): boolean {
  return byte === END[at]
}
