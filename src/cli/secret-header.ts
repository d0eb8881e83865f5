import { Failure } from './failure.ts'

/** A header that calls send, with secrets in its value. */
export interface SecretHeader {
  readonly name: string
  /** With placeholders for the secrets: `Bearer {SECRET_PETS}`. */
  readonly value: string
  readonly secrets: readonly string[]
}

/** Reads `--header`, such as `x-api-key=SECRET_PETS` or `authorization=Bearer SECRET_PETS`. Throws a Failure. */
export function readSecretHeader(text: string): SecretHeader {
  const [, name, value] = /^([\w!#$%&'*+.^`|~-]+)\s*[=:]\s*(.+)$/.exec(text) ?? []
  const secrets = [...new Set(value?.match(/\bSECRET_[A-Z0-9_]+/g))]
  if (name === undefined || value === undefined || secrets.length === 0) {
    throw new Failure(
      `--header ${text} does not name a header and a secret.`,
      'Write it as x-api-key=SECRET_PETS, or "authorization=Bearer SECRET_PETS". The value itself is set as a secret.',
    )
  }
  return { name, value: value.replace(/\{?\b(SECRET_[A-Z0-9_]+)\}?/g, '{$1}'), secrets }
}
