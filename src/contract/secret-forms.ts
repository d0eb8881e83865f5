import { binaryOf, toBase64, toHex } from './bytes.ts'

/** A shorter piece of base64 says too little of a secret, and is found everywhere. */
const LEAST_PIECE = 6

/** Returns a secret as texts have it once their escapes are undone (`escape-view.ts`). */
export function plainForms(secret: string): string[] {
  const bytes = binaryOf(new TextEncoder().encode(secret))
  // A backslash at the end may be taken for the escape of what follows the secret.
  const trimmed = [secret, bytes].map((text) => text.replace(/\\+$/, ''))
  return [...new Set([secret, bytes, ...trimmed, secret.replaceAll(' ', '+')])]
}

/** Returns a secret in base64, also as it is inside a longer encoded text, and its encoded and escaped forms in base64. */
export function base64OfForms(secret: string): string[] {
  const bytes = [utf8(secret), ...wideBytes(secret), ...encodedTexts(secret).map(utf8)]
  return bytes.flatMap(base64Forms).filter((form) => form.length >= LEAST_PIECE)
}

/** Returns a secret, and its encoded and escaped forms, in hexadecimal, in lower case; its bytes also apart. */
export function hexOfForms(secret: string): string[] {
  const bytes = [utf8(secret), ...wideBytes(secret)]
  const apart = bytes.flatMap((each) => {
    const pairs = toHex(each).match(/../g) ?? []
    return [pairs.join(':'), pairs.join(' ')]
  })
  const forms = [...bytes, ...encodedTexts(secret).map(utf8)].map(toHex)
  return [...forms, ...apart].filter((form) => form.length >= LEAST_PIECE)
}

/** The texts of a secret that may be encoded once more. */
function encodedTexts(secret: string): string[] {
  const hex = toHex(utf8(secret))
  const texts = [...base64Forms(utf8(secret)), hex, hex.toUpperCase(), ...escapesOf(secret)]
  return [...new Set(texts)].filter((text) => text !== secret && text.length >= LEAST_PIECE)
}

/** The bytes of a text in UTF-16, in both orders. */
function wideBytes(text: string): Uint8Array[] {
  const units = text.split('').map((unit) => unit.charCodeAt(0))
  return [0, 8].map((first) =>
    Uint8Array.from(units.flatMap((unit) => [(unit >> first) & 255, (unit >> (8 - first)) & 255])),
  )
}

const NAMES: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' }

/** The ways in which a text is commonly escaped before it is encoded. */
function escapesOf(secret: string): string[] {
  const url = encodeURIComponent(secret.toWellFormed())
  const json = JSON.stringify(secret).slice(1, -1)
  const ascii = (of: RegExp) => secret.replace(of, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const entities = (of: (char: string) => string) => secret.replace(/[&<>"']/g, of)
  return [
    url,
    url.replace(/%../g, (code) => code.toLowerCase()),
    json,
    json.replaceAll('/', '\\/'),
    ascii(/[^ -~]/g),
    ascii(/[^\w]/g),
    ascii(/[^]/g),
    [...utf8(secret)].map((byte) => `%${toHex(Uint8Array.of(byte))}`).join(''),
    entities((char) => `&#${char.charCodeAt(0)};`),
    entities((char) => `&${NAMES[char]};`),
    entities((char) => (char === "'" ? '&#39;' : `&${NAMES[char]};`)),
  ]
}

/** The base64 of a text in both alphabets, alone and wherever it stands in a longer text. */
function base64Forms(bytes: Uint8Array): string[] {
  const pieces = [0, 1, 2].map((shift) => {
    const shifted = binaryOf(new Uint8Array([...new Uint8Array(shift), ...bytes]))
    const from = Math.ceil((shift * 8) / 6)
    return btoa(shifted).slice(from, Math.floor((shifted.length * 8) / 6))
  })
  const full = toBase64(bytes)
  const forms = [...pieces, full.replace(/=+$/, ''), full]
  return [...forms, ...forms.map((piece) => piece.replaceAll('+', '-').replaceAll('/', '_'))]
}

/** A text in UTF-16, as the characters that its bytes are, and its bytes as JSON and lists print them. */
export function printedBytes(text: string): string[] {
  const bytes = utf8(text)
  return [...wideBytes(text).map(binaryOf), ...(bytes.length < LEAST_PIECE ? [] : [bytes.join(','), bytes.join(', ')])]
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
