import { decodeText } from 'edgecall/tool'

const CHARSET = /charset\s*=\s*["']?([\w.:-]+)/i
/** The number of bytes at the start of a page in which a `<meta>` may name the charset. */
const PREFIX = 1024

/** Decodes a body in the charset of its content type, else in the one that the page itself names, else in UTF-8. */
export function decodeBody(bytes: Uint8Array, contentType: string): string {
  const prefix = new TextDecoder('latin1').decode(bytes.subarray(0, PREFIX))
  const label = (CHARSET.exec(contentType) ?? CHARSET.exec(prefix))?.[1] ?? 'utf-8'
  return decodeText(bytes, label)
}
