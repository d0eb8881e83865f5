/**
 * Gives the memory of bytes back that nobody needs any more. It is outside of the heap of JavaScript, and otherwise up to
 * 64 MB of such garbage stay in memory before it is collected.
 */
export function releaseBytes({ buffer }: Uint8Array<ArrayBuffer>): void {
  if (!buffer.detached) buffer.transfer(0)
}

const FIRST_BYTES = 64 * 1024
const encoder = new TextEncoder()

/** Bytes that are added one after the other, in one buffer that grows, and that can be used again. */
export class ByteBuffer {
  #buffer = new ArrayBuffer(FIRST_BYTES)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** What was added, until more is. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#buffer, 0, this.#length)
  }

  add(part: string | Uint8Array): void {
    if (typeof part === 'string') {
      // UTF-8 has at most three bytes for each UTF-16 unit.
      this.#length += encoder.encodeInto(part, this.#room(3 * part.length)).written
    } else {
      this.#room(part.byteLength).set(part)
      this.#length += part.byteLength
    }
  }

  /** Returns the free bytes at the end, of which there are at least so many. */
  #room(bytes: number): Uint8Array {
    const most = this.#length + bytes
    if (most > this.#buffer.byteLength) this.#buffer = this.#buffer.transfer(Math.ceil(1.25 * most))
    return new Uint8Array(this.#buffer, this.#length)
  }

  /** Begins again. */
  clear(): void {
    this.#length = 0
  }

  /** Returns the bytes in the buffer itself, cut to their length. Nothing can be added afterwards. */
  end(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#buffer.transfer(this.#length))
  }
}
