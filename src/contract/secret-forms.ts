/** A shorter piece of base64 says too little of a secret, and is found everywhere. */
export const LEAST_PIECE = 6

/** Returns a secret as texts have it once their escapes are undone (`escape-view.ts`). */
export function plainForms(secret: string): string[] {
  const bytes = binaryOf(new TextEncoder().encode(secret))
  // A backslash at the end may be taken for the escape of what follows the secret.
  const trimmed = [secret, bytes].map((text) => text.replace(/\\+$/, ''))
  return [...new Set([secret, bytes, ...trimmed, secret.replaceAll(' ', '+')])]
}

/**
 * Returns a secret in hexadecimal and in base64, also as it is inside a longer encoded text, and either of these of these
 * or of its escaped forms.
 */
export function encodedForms(secret: string): string[] {
  const firstForms = [...base64Forms(secret), ...hexForms(secret)]
  const texts = [...firstForms, ...escapesOf(secret)].filter((text) => text !== secret && text.length >= LEAST_PIECE)
  const secondForms = [...new Set(texts)].flatMap((text) => [...base64Forms(text), ...hexForms(text)])
  return [...new Set([...firstForms, ...secondForms])].filter((form) => form.length >= LEAST_PIECE)
}

/** The forms of a text in UTF-16, as the characters that its bytes are, in both orders. */
export function wideForms(text: string): string[] {
  const units = text.split('').map((unit) => unit.charCodeAt(0))
  return [0, 8].map((first) =>
    units.map((unit) => String.fromCharCode((unit >> first) & 255, (unit >> (8 - first)) & 255)).join(''),
  )
}

/** Returns bytes as one character each. */
export function binaryOf(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return text
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
    entities((char) => `&#${char.charCodeAt(0)};`),
    entities((char) => `&${NAMES[char]};`),
    entities((char) => (char === "'" ? '&#39;' : `&${NAMES[char]};`)),
  ]
}

/** The base64 of a text in both alphabets, alone and wherever it stands in a longer text. */
function base64Forms(text: string): string[] {
  const bytes = new TextEncoder().encode(text)
  const pieces = [0, 1, 2].map((shift) => {
    const shifted = binaryOf(new Uint8Array([...new Uint8Array(shift), ...bytes]))
    const from = Math.ceil((shift * 8) / 6)
    return btoa(shifted).slice(from, Math.floor((shifted.length * 8) / 6))
  })
  const full = btoa(binaryOf(bytes))
  const forms = [...pieces, full.replace(/=+$/, ''), full]
  return [...forms, ...forms.map((piece) => piece.replaceAll('+', '-').replaceAll('/', '_'))]
}

function hexForms(text: string): string[] {
  const hex = hexOf(new TextEncoder().encode(text))
  return [hex, hex.toUpperCase()]
}

export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
