import { isObject } from '../../contract/json.ts'

/** Removes known secrets from what a server sent back. */
export interface Redactor {
  /** The length of the longest text it looks for: that much of the end of a cut text may be a part of a secret. */
  readonly longest: number
  text(text: string): string
  /** Redacts the texts and keys of a JSON value, and numbers that are a secret. It recurses: bound the depth first. */
  json(value: unknown): unknown
}

const REDACTED = '[redacted]'

/** Makes a redactor that finds each secret as it is, and as it is encoded in JSON, URLs and base64. */
export function redactor(secrets: readonly string[]): Redactor {
  // A form that contains another is replaced first, or the rest of it would stay.
  const forms = secrets.flatMap(formsOf).sort((a, b) => b.length - a.length)
  const text = (value: string): string => forms.reduce((rest, form) => rest.replaceAll(form, REDACTED), value)
  const json = (value: unknown): unknown => {
    if (typeof value === 'string') return text(value)
    if (typeof value === 'number') return forms.includes(String(value)) ? REDACTED : value
    if (Array.isArray(value)) return value.map(json)
    return isObject(value)
      ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [text(key), json(inner)]))
      : value
  }
  return { longest: forms[0]?.length ?? 0, text, json }
}

function formsOf(secret: string): string[] {
  const base64 = btoa(String.fromCharCode(...new TextEncoder().encode(secret)))
  const url64 = base64.replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_')
  const url = encodeURIComponent(secret.toWellFormed())
  const small = url.replace(/%../g, (code) => code.toLowerCase())
  // Some JSON encoders escape all that is not ASCII, and some each slash.
  const json = JSON.stringify(secret).slice(1, -1)
  const ascii = json.replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const jsons = [json, ascii, ascii.replace(/(?<=\\u)[\da-f]{4}/g, (code) => code.toUpperCase())]
  const slashed = jsons.map((text) => text.replaceAll('/', '\\/'))
  return [...new Set([secret, ...jsons, ...slashed, url, small, base64, url64])]
}
