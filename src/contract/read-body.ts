/** The first bytes of a body. `isComplete` tells whether they are all of it; the rest is not read. */
export interface BodyStart {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly isComplete: boolean
}

/**
 * Reads at most `most` bytes of the body of a request or a response, whatever length its headers claim, counted after
 * decompression. Rejects if the body breaks off.
 *
 * @example
 * const { bytes } = await readBody(await fetch(url), 1_000_000)
 */
export async function readBody(message: Pick<Response, 'body'>, most: number): Promise<BodyStart> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of message.body ?? []) {
    chunks.push(chunk.subarray(0, most - size))
    size += chunk.byteLength
    // Leaving the loop cancels the stream.
    if (size > most) break
  }
  const bytes = new Uint8Array(Math.min(size, most))
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return { bytes, isComplete: size <= most }
}

/** Decodes bytes as text, in UTF-8 if the charset is unknown. */
export function decodeText(bytes: Uint8Array, charset = 'utf-8'): string {
  return makeDecoder(charset).decode(bytes)
}

function makeDecoder(charset: string): TextDecoder {
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder()
  }
}
