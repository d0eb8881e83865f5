import { isObject } from './json.ts'

/** Removes known secrets from texts and JSON values. What contains none is returned as it is. */
export interface SecretFilter {
  readonly text: (text: string) => string
  /** Returns a value of the same shape, in which texts and keys are clean. */
  readonly json: <Value>(value: Value) => Value
  /** Returns a filter for a text that comes in pieces. It finds a secret wherever the pieces cut it. */
  readonly pieces: () => TextPieces
}

export interface TextPieces {
  /** Takes the next piece. Returns what can be passed on: all but an end in which a secret may begin. */
  readonly add: (piece: string) => string
  /** Returns what was held back, at the end of the text. */
  readonly rest: () => string
}

const REDACTED = '[redacted]'
/** Shorter secrets are not looked for: they may be words, such as those of a test. */
const LEAST_CHARACTERS = 12

/**
 * Makes a filter that finds each secret as it is, escaped as in JSON and URLs, in hexadecimal, and in base64, also
 * inside a longer encoded text. Undefined if there is no secret of at least 12 characters.
 */
export function secretFilter(secrets: readonly string[]): SecretFilter | undefined {
  const forms = [...new Set(secrets.filter(({ length }) => length >= LEAST_CHARACTERS).flatMap(formsOf))]
  if (forms.length === 0) return undefined
  // A longer form may contain a shorter one, of which it would leave the rest.
  forms.sort((a, b) => b.length - a.length)
  const [longest, shortest] = [forms[0]?.length ?? 0, forms.at(-1)?.length ?? 0]
  const formsByFirst = Map.groupBy(forms, (form) => form.charCodeAt(0))
  const text = (value: string): string => {
    if (value.length < shortest) return value
    let clean = value
    for (const form of forms) if (clean.includes(form)) clean = clean.replaceAll(form, REDACTED)
    return clean
  }
  function json<Value>(value: Value): Value
  function json(value: unknown): unknown {
    if (typeof value === 'string') return text(value)
    if (Array.isArray(value)) {
      const items = value.map((item: unknown) => json(item))
      return items.some((item, index) => item !== value[index]) ? items : value
    }
    if (!isObject(value)) return value
    const entries = Object.entries(value)
    const clean = entries.map(([key, inner]) => [text(key), json(inner)] as const)
    const isChanged = clean.some(([key, inner], index) => key !== entries[index]?.[0] || inner !== entries[index]?.[1])
    return isChanged ? Object.fromEntries(clean) : value
  }
  /** Returns where the end of a text begins that may be the beginning of a secret. */
  const endOfSafe = (value: string): number => {
    for (let at = Math.max(0, value.length - longest + 1); at < value.length; at++) {
      const candidates = formsByFirst.get(value.charCodeAt(at))
      if (candidates?.some((form) => form.startsWith(value.slice(at)))) return at
    }
    return value.length
  }
  const pieces = (): TextPieces => {
    let tail = ''
    return {
      add: (piece) => {
        const value = text(tail + piece)
        const end = endOfSafe(value)
        tail = value.slice(end)
        return value.slice(0, end)
      },
      rest: () => {
        const value = tail
        tail = ''
        return value
      },
    }
  }
  return { text, json, pieces }
}

function formsOf(secret: string): string[] {
  const base64 = base64Pieces(secret)
  const hex = hexOf(secret)
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret.toWellFormed()),
    ...base64,
    ...base64.map((piece) => piece.replaceAll('+', '-').replaceAll('/', '_')),
    hex,
    hex.toUpperCase(),
  ]
}

/** The base64 of a text wherever it stands in a longer one: the characters that follow from this text alone. */
export function base64Pieces(text: string): string[] {
  const bytes = new TextEncoder().encode(text)
  return [0, 1, 2].map((shift) => {
    const shifted = String.fromCharCode(...new Uint8Array(shift), ...bytes)
    const from = Math.ceil((shift * 8) / 6)
    return btoa(shifted).slice(from, Math.floor((shifted.length * 8) / 6))
  })
}

export function hexOf(text: string): string {
  return [...new TextEncoder().encode(text)].map(byteHex).join('')
}

export function byteHex(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}
