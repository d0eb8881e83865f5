export interface Body {
  readonly text: string
  /** False if the body is longer than the limit; the rest was not read. */
  readonly isComplete: boolean
}

/** Reads at most `most` bytes of a body as text, whatever length its headers claim; an unknown charset as UTF-8. */
export async function readBody(response: Response, most: number, charset = 'utf-8'): Promise<Body> {
  if (!response.body) return { text: '', isComplete: true }
  const reader = response.body.getReader()
  const decoder = decoderOf(charset)
  let text = ''
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return { text: text + decoder.decode(), isComplete: true }
    const chunk: Uint8Array = value
    bytes += chunk.byteLength
    if (bytes > most) {
      await reader.cancel()
      return { text: text + decoder.decode(chunk.subarray(0, most - bytes)), isComplete: false }
    }
    text += decoder.decode(chunk, { stream: true })
  }
}

function decoderOf(charset: string): TextDecoder {
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder()
  }
}
