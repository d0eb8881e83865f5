/** The first bytes of a body. `isComplete` tells whether they are all of it; the rest is never fetched. */
export interface Body {
  readonly bytes: Uint8Array
  readonly isComplete: boolean
}

/** Reads up to `most` bytes of a response, counted after decompression. */
export async function readBody(response: Response, most: number): Promise<Body> {
  const bytes = new Uint8Array(most)
  const reader = response.body?.getReader()
  let size = 0
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done) return { bytes: bytes.subarray(0, size), isComplete: true }
    bytes.set(value.subarray(0, most - size), size)
    size += value.length
    if (size <= most) continue
    await reader?.cancel()
    return { bytes, isComplete: false }
  }
}

const CHARSET = /charset\s*=\s*["']?([\w.:-]+)/i
/** The number of bytes at the start of a page in which a `<meta>` may name the charset. */
const PREFIX = 1024

/** Decodes a body in the charset of its content type, else in the one that the page itself names, else in UTF-8. */
export function decodeBody(bytes: Uint8Array, contentType: string): string {
  const prefix = new TextDecoder('latin1').decode(bytes.subarray(0, PREFIX))
  const label = (CHARSET.exec(contentType) ?? CHARSET.exec(prefix))?.[1] ?? 'utf-8'
  return decoderOf(label).decode(bytes)
}

function decoderOf(label: string): TextDecoder {
  try {
    return new TextDecoder(label)
  } catch {
    return new TextDecoder()
  }
}
