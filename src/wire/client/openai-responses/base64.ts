/** `btoa` takes no other characters. */
const NOT_ASCII = /[\u0080-\uffff]/g

/** Encodes a value as the base64 of its JSON. */
export function base64Of(value: unknown): string {
  return btoa(JSON.stringify(value).replace(NOT_ASCII, escapeCode))
}

function escapeCode(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Decodes base64; '' if it is not valid. */
export function textOfBase64(base64: string): string {
  try {
    return atob(base64)
  } catch {
    return ''
  }
}
