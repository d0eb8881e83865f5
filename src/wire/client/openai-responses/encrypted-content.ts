import { isObject, parseShallow } from '../../../contract/json.ts'
import type { Opaque } from '../../../contract/message.ts'

/** The opaque data of one answer of a model, as the `encrypted_content` of a reasoning item holds it. */
export interface EncryptedContent {
  readonly opaque: Opaque
  /** Whether the reasoning item follows the text of its answer, which was streamed before the data was known. */
  readonly isLate: boolean
}

/** The prefix of content that an edge made. */
const PREFIX = 'edgecall.'

/**
 * Encodes the data that a provider wants back with an answer, so that a caller whose responses are not stored can
 * return it. The edge does not encrypt it: it is the provider's data, and belongs to an answer that the caller has.
 */
export function encodeEncryptedContent({ opaque, isLate }: EncryptedContent): string {
  const { codec, data } = opaque
  return PREFIX + btoa(JSON.stringify({ codec, data, ...(isLate && { isLate }) }).replace(NOT_ASCII, escapeCode))
}

/** Decodes content that an edge made. Undefined for any other, such as OpenAI's own. */
export function decodeEncryptedContent(content: string): EncryptedContent | undefined {
  const value = content.startsWith(PREFIX) ? parseShallow(textOf(content.slice(PREFIX.length))) : undefined
  if (!isObject(value) || typeof value['codec'] !== 'string') return undefined
  const { codec, data, isLate } = value
  return { opaque: { codec, data }, isLate: isLate === true }
}

/** `btoa` takes no other characters. */
const NOT_ASCII = /[\u0080-\uffff]/g

function escapeCode(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Decodes base64; '' if it is not valid. */
function textOf(base64: string): string {
  try {
    return atob(base64)
  } catch {
    return ''
  }
}
